//! `fairwave share`: this host's uplink for hosts near by.

use crate::hours::Hours;
use crate::lend::{self, Plan, has_address};
use crate::report::{LenderOutput, ShareListOutput, lend_words, list_words};
use clap::{Args, Subcommand};
use fairwave_cluster::Limits;
use fairwave_console::peer::{Pair, Secret, listen, prefix};
use fairwave_console::{Console, Failure, Listening};
use fairwave_linux::become_ordinary_user;
use fairwave_shake_host::Udp;
use fairwave_shake_host::noise::{Protocol, Psk};
use fairwave_share_host::discovery::{self, Announcement};
use fairwave_share_host::{MAX_NAME, PORT};
use fairwave_units::{BitRate, Bytes, Duration};
use ipnet::IpNet;
use serde_json::json;
use std::net::{IpAddr, SocketAddr};
use tokio::runtime::Builder;

/// Examples at the end of the help.
pub const EXAMPLES: &str = "\
Examples:
  fairwave share pair --key share.key                     on one host; prints the code for the other
  fairwave share pair --key share.key --code CODE         on the other
  fairwave share lend --key share.key --via wwan0         lends without limits
  fairwave share lend --key share.key --via wwan0 --rate 10M --per-day 2GB --hours 08:00-22:00
  fairwave share list                                     lenders on this network
  fairwave shake connect HOST --key shake.key --via wlan0 --borrow NAME --borrow-key share.key

A borrower's datagrams go over the local network to `lend`, and from there over the lent interface
to the one SHAKE server that the borrower named. The lender can neither read nor change them; the
borrower reaches no private address and no network of the lender. docs/shake.md has more.

Exit code 1: the socket or the interface cannot be used; 2: the options are wrong.";

/// Options of `fairwave share`.
#[derive(Args, Debug)]
pub struct Share {
    /// The command.
    #[command(subcommand)]
    pub task: Task,
}

/// Commands of `fairwave share`.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Lend an interface of this host to hosts with the key, until interrupted
    Lend(Lend),
    /// Make a key file for lenders and borrowers
    Pair(Pair),
    /// List the lenders that announce themselves on this network
    List(List),
}

/// Options of `fairwave share lend`.
#[derive(Args, Debug)]
pub struct Lend {
    /// The secret.
    #[command(flatten)]
    pub secret: Secret,
    /// Lend this interface
    #[arg(long, value_name = "IF")]
    pub via: String,
    /// Rate of all borrowers together, each way; they share it equally [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = BitRate::above_zero)]
    pub rate: Option<BitRate>,
    /// Bytes of all borrowers in a day of the local time, both ways together; a restart of the
    /// command begins a new count [default: no limit]
    #[arg(long, value_name = "BYTES")]
    pub per_day: Option<Bytes>,
    /// Lend only at these times of the day, in local time: FROM-UNTIL [default: always]
    #[arg(long, value_name = "HH:MM-HH:MM")]
    pub hours: Option<Hours>,
    /// Announce this name [default: the host's]
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub name: Option<String>,
    /// Port of UDP
    #[arg(long, short, value_name = "PORT", default_value_t = PORT)]
    pub port: u16,
    /// Listen at this address of the host [default: all]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<IpAddr>,
    /// Also carry datagrams to servers in this prefix, private or of this host's networks; may be
    /// repeated [default: only to public addresses]
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    pub allow: Vec<IpNet>,
    /// Do not announce the name on the network
    #[arg(long, conflicts_with = "name")]
    pub unannounced: bool,
    /// Print the leases in this interval [default: only at the end]
    #[arg(long, value_name = "DURATION")]
    pub interval: Option<Duration>,
    /// End after this time [default: when interrupted]
    #[arg(long = "for", value_name = "DURATION")]
    pub lasts: Option<Duration>,
}

/// Options of `fairwave share list`.
#[derive(Args, Debug)]
pub struct List {
    /// Time in which lenders answer
    #[arg(long = "for", value_name = "DURATION", default_value = "2 s")]
    pub lasts: Duration,
}

fn name(text: &str) -> Result<String, String> {
    // DNS-SD escapes dots and backslashes, so that users would have to write them otherwise.
    let fits = |one: char| !one.is_control() && one != '.' && one != '\\';
    let fits = (1..=MAX_NAME).contains(&text.len()) && text.chars().all(fits);
    let expected = || format!("expected a name of 1 to {MAX_NAME} bytes without dots");
    fits.then(|| text.to_owned()).ok_or_else(expected)
}

/// Lends, makes a key, or lists lenders.
///
/// # Errors
/// If the options are wrong, or the kernel refuses a step.
pub fn run(console: &dyn Console, share: &Share) -> Result<(), Failure> {
    match &share.task {
        Task::Lend(lend) => run_lender(console, lend),
        Task::Pair(pair) => pair.make(console, "fairwave share"),
        Task::List(list) => run_list(console, list),
    }
}

fn run_lender(console: &dyn Console, lend: &Lend) -> Result<(), Failure> {
    let times = [("--interval", lend.interval), ("--for", lend.lasts)];
    if let Some((name, _)) = times.iter().find(|(_, time)| time.is_some_and(Duration::is_zero)) {
        return Err(Failure::Usage(format!("{name} has to be more than 0")));
    }
    let (key, code) = lend.secret.of_server()?;
    if !has_address(&lend.via) {
        return Err(Failure::Run(format!("--via {}: no such interface with an address", lend.via)));
    }
    let stop = console.stop()?;
    let address = lend.listen.map(|address| SocketAddr::new(address, lend.port));
    let open = |address| {
        Udp::bind(address).map_err(|error| Failure::Run(format!("UDP at {address}: {error}")))
    };
    let socket = listen(address, lend.port, open)?;
    let at = socket.address().map_err(Failure::run)?;
    become_ordinary_user(&[]).map_err(Failure::run)?;
    let name = lend.name.clone().unwrap_or_else(host_name);
    let announcement = match lend.unannounced {
        true => None,
        false => match Announcement::new(&name, at.port(), lend.rate, &lend.via) {
            Ok(announcement) => Some(announcement),
            Err(error) => {
                console.warn(&format!("the name is not announced: {error}"));
                None
            }
        },
    };
    let pairing = code.clone().filter(|_| !lend.secret.is_given());
    let interfaces = vec![lend.via.clone()];
    Listening { pairing, interfaces, ..Listening::at("share lend", &[at]) }.print(console)?;
    let secret = match &code {
        Some(code) => format!("a key file with the code {code}"),
        None => "the same key file".to_owned(),
    };
    console.inform(&format!(
        "Lending {} at UDP {at} as {name}. On the other host, with {secret}:\n  fairwave shake \
         connect HOST --key FILE --borrow {} --borrow-key FILE\n",
        lend.via,
        fairwave_text::quoted(&name)
    ))?;
    let plan = Plan {
        psk: Psk::new(&key, Protocol::Share),
        socket,
        via: lend.via.clone(),
        limits: Limits {
            rate: lend.rate,
            day_bytes: lend.per_day.map(|bytes| bytes.0),
            ..Limits::default()
        },
        allow: lend.allow.clone(),
        hours: lend.hours,
        interval: lend.interval,
        lasts: lend.lasts,
    };
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::run)?;
    let output = runtime.block_on(lend::run(console, plan, &stop))?;
    drop(announcement);
    console.show(&json!(output), &lend_words(&output))
}

fn run_list(console: &dyn Console, list: &List) -> Result<(), Failure> {
    let within = std::time::Duration::from_nanos(list.lasts.as_nanos());
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::run)?;
    let found = runtime.block_on(discovery::list(within)).map_err(Failure::run)?;
    let output = ShareListOutput { lenders: found.iter().map(LenderOutput::of).collect() };
    console.show(&json!(output), &list_words(&output))
}

/// The host's name, as much of it as a label of DNS takes.
fn host_name() -> String {
    let whole = rustix::system::uname();
    let name = whole.nodename().to_string_lossy();
    let first = name.split('.').next().unwrap_or_default();
    let short: String = first.chars().take(MAX_NAME).collect();
    if short.is_empty() || short.len() > MAX_NAME { "lender".to_owned() } else { short }
}
