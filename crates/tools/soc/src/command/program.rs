//! `fairwave soc`: stations that report their SoC, and an access point that schedules by it.

use super::options::{Ap, Join, Pair, Station, StationKey};
use super::tasks::{self, CommandResult, Console as TaskConsole, status_result};
use crate::Error;
use crate::report::{serve, watch};
use clap::{Args, Subcommand};
use fairwave_console::{Console, Failure, Listening};
use std::net::SocketAddr;

/// Examples at the end of the help.
pub const EXAMPLES: &str = "\
Examples:
  (umask 077; head -c 32 /dev/urandom | base64 > net.key)     at the access point, once, and a key
  (umask 077; fairwave soc key --key net.key --station 02:00:00:00:00:07 > my.key)   for one station
  sudo fairwave soc pair --interface wlan0 --key net.key      or so: at the access point, and
  sudo fairwave soc join --interface wlan0 --write my.key     at the station, at the same time
  sudo fairwave soc ap --interface wlan0 --key net.key --rate '20 Mbps' --policy pw
  sudo fairwave soc ap --interface wlan0 --plan               the steps that it would take, and why
  sudo fairwave soc station --interface wlan0 --key my.key    level read from its radio
  sudo fairwave soc station --interface eth0 --key my.key --snr 25
  sudo fairwave soc ap --interface wlan0 --key net.key --rate '20 Mbps' --policy-for voice=equal
  sudo fairwave soc ap --interface wlan0 --key net.key --rate '20 Mbps' --udp '[::]:9437'
  fairwave soc station --interface eth0 --key my.key --snr 25 --to 192.168.1.1
  fairwave soc status --watch                      a table that follows
  fairwave soc status --interface wlan0 --json
  fairwave soc status --prometheus 127.0.0.1:9438  for packaging/grafana/fairwave-soc.json

`soc ap` and `soc station` need root, a station with --to does not. The access point leaves a qdisc
of another program alone, and restores the interface when it ends, also by SIGKILL.
docs/soc.md says how the loop works.

Exit code 1: the kernel refuses a step, or the interface goes away; 2: the options are wrong.";

/// Options of `fairwave soc`.
#[derive(Args, Debug)]
pub struct Soc {
    /// The command.
    #[command(subcommand)]
    pub task: SocTask,
}

/// Commands of `fairwave soc`.
#[derive(Debug, Subcommand)]
pub enum SocTask {
    /// Report this station's SoC to its access point, until interrupted
    Station(Station),
    /// Share an interface by the SoC of its stations, until interrupted
    Ap(Ap),
    /// Show the state of the access points on this machine
    Status(Watching),
    /// Print the key of one station, which speaks for no other
    Key(StationKey),
    /// Give a station its key, after the user has confirmed that both show the same code
    Pair(Pair),
    /// Ask an access point for this station's key, and write it into a file
    Join(Join),
}

/// Options of `fairwave soc status`.
#[derive(Args, Clone, Debug)]
pub struct Watching {
    /// The access point's interface; without it, all that run here
    #[arg(long, short, value_name = "IF")]
    pub interface: Option<String>,
    /// Keep showing them, until interrupted: a table on a terminal, else every second anew; with
    /// --json, a line each
    #[arg(long)]
    pub watch: bool,
    /// Serve them to Prometheus at this address, under /metrics
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["watch"])]
    pub prometheus: Option<SocketAddr>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Usage(text) => Self::Usage(text),
            _ => Self::run(error),
        }
    }
}

/// The console of a task.
struct Terminal<'a>(&'a dyn Console);

impl TaskConsole for Terminal<'_> {
    fn note(&self, text: &str) {
        if !self.0.is_quiet() {
            self.0.note(text);
        }
    }

    fn warn(&self, text: &str) {
        self.0.warn(text);
    }

    fn serving(&self, interface: &str, listen: Option<SocketAddr>) {
        let listens = Listening::at("soc ap", listen.as_slice());
        let listening = Listening { interfaces: vec![interface.to_owned()], ..listens };
        // An access point serves on after the reader of standard output has closed it.
        let _ = listening.print(self.0);
    }

    fn ask(&self, question: &str) {
        self.0.note(&format!("{question} [yes/no]"));
    }
}

/// Runs the command.
///
/// # Errors
/// If a task fails, or its options are wrong.
pub fn run(console: &dyn Console, soc: &Soc) -> Result<(), Failure> {
    let tasks = Terminal(console);
    let reported = match &soc.task {
        SocTask::Station(station) => tasks::report(station, &*console.stop()?, &tasks)?,
        SocTask::Ap(ap) => tasks::serve(ap, &*console.stop()?, &tasks)?,
        SocTask::Pair(pair) => tasks::pair(pair, &*console.stop()?, &tasks)?,
        SocTask::Join(join) => tasks::join(join, &*console.stop()?, &tasks)?,
        SocTask::Status(watching) => return status(console, watching),
        SocTask::Key(key) => return console.print(&tasks::key(key)?),
    };
    show(console, &reported)
}

fn show(
    console: &dyn Console,
    CommandResult { words, value }: &CommandResult,
) -> Result<(), Failure> {
    console.show(value, words)
}

/// Shows the status once, repeatedly until interrupted, or to Prometheus.
fn status(console: &dyn Console, watching: &Watching) -> Result<(), Failure> {
    let interface = watching.interface.clone();
    let find = move || tasks::found(interface.as_deref());
    let found = find()?;
    if let Some(at) = watching.prometheus {
        return serve(console, at, find);
    }
    if console.is_json() && found.len() > 1 {
        let names: Vec<&str> = found.iter().map(|one| one.interface.as_str()).collect();
        let several = format!("access points serve {}", names.join(", "));
        return Err(Failure::Usage(format!("{several}: name one by --interface")));
    }
    if watching.watch {
        return watch(console, find);
    }
    found.iter().try_for_each(|status| show(console, &status_result(status)))
}
