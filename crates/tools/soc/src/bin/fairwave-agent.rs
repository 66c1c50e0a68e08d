//! `fairwave-agent`: the part of `fairwave soc` that routers need, as a small static executable.

#[cfg(target_os = "linux")]
mod agent {
    use clap::{Args, Parser, Subcommand};
    use fairwave_linux::keeper;
    use fairwave_soc_tool::Error;
    use fairwave_soc_tool::command::options::{Ap, Join, Pair, Station, StationKey};
    use fairwave_soc_tool::command::tasks::{self, CommandResult, Console, status_result};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use std::ffi::OsString;
    use std::io::{self, Write};
    use std::process::ExitCode;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    const EXAMPLES: &str = "\
Examples:
  (umask 077; head -c 32 /dev/urandom | base64 > net.key)
  (umask 077; fairwave-agent key --key net.key --station 02:00:00:00:00:07 > my.key)
  fairwave-agent pair --interface wlan0 --key net.key      at the access point, and
  fairwave-agent join --interface wlan0 --write my.key     at the station, at the same time
  fairwave-agent ap --interface wlan0 --key net.key --rate '20 Mbps' --policy pw
  fairwave-agent station --interface wlan0 --key my.key
  fairwave-agent status --json

Exit code 1: the kernel refuses a step, or the interface goes away; 2: the options are wrong.";

    /// Sharing a wireless LAN by the strength of its stations' connections (SoC)
    #[derive(Debug, Parser)]
    #[command(version, after_help = EXAMPLES)]
    struct Cli {
        #[command(subcommand)]
        task: Task,
        #[command(flatten)]
        common: Common,
    }

    #[derive(Args, Debug)]
    struct Common {
        /// Print JSON, and nothing else, to standard output
        #[arg(long, global = true)]
        json: bool,
        /// Print no messages unless something fails
        #[arg(long, short, global = true)]
        quiet: bool,
    }

    #[derive(Debug, Subcommand)]
    enum Task {
        /// Report this station's SoC to its access point, until interrupted
        Station(Station),
        /// Share an interface by the SoC of its stations, until interrupted
        Ap(Ap),
        /// Show the state of the access points on this machine
        Status {
            /// The access point's interface; without it, all that run here
            #[arg(long, short, value_name = "IF")]
            interface: Option<String>,
        },
        /// Print the key of one station, which is valid for that station only
        Key(StationKey),
        /// Give a station its key, after a person has confirmed that both show the same code
        Pair(Pair),
        /// Ask an access point for this station's key, and write it into a file
        Join(Join),
        /// Restores an interface when the access point is gone, which starts it
        #[command(name = keeper::COMMAND, hide = true)]
        Keep {
            #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
            task: Vec<OsString>,
        },
    }

    /// Console on standard error.
    struct Terminal {
        is_quiet: bool,
    }

    impl Console for Terminal {
        fn note(&self, text: &str) {
            if !self.is_quiet {
                say(text);
            }
        }

        fn warn(&self, text: &str) {
            say(&format!("warning: {text}"));
        }

        fn ask(&self, question: &str) {
            say(&format!("{question} [yes/no]"));
        }
    }

    /// If writing to standard error fails, no channel for messages is left.
    fn say(text: &str) {
        let text = text.replace(|c: char| c.is_control(), " ");
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// A flag that the first signal sets; the second one ends the process.
    fn stop() -> io::Result<Arc<AtomicBool>> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let flag = Arc::clone(&stop);
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, flag)?;
            signal_hook::flag::register(signal, Arc::clone(&stop))?;
        }
        Ok(stop)
    }

    fn run(cli: Cli) -> Result<Vec<CommandResult>, Error> {
        let console = Terminal { is_quiet: cli.common.quiet };
        let stop = stop().map_err(Error::at("signals"))?;
        match cli.task {
            Task::Station(station) => Ok(vec![tasks::report(&station, &stop, &console)?]),
            Task::Ap(ap) => Ok(vec![tasks::serve(&ap, &stop, &console)?]),
            Task::Status { interface } => {
                Ok(tasks::found(interface.as_deref())?.iter().map(status_result).collect())
            }
            Task::Key(key) => {
                let words = tasks::key(&key)?;
                Ok(vec![CommandResult { value: words.trim_end().into(), words }])
            }
            Task::Pair(pair) => Ok(vec![tasks::pair(&pair, &stop, &console)?]),
            Task::Join(join) => Ok(vec![tasks::join(&join, &stop, &console)?]),
            Task::Keep { .. } => Ok(Vec::new()),
        }
    }

    /// Prints results: a JSON value is a line.
    fn show(all: &[CommandResult], is_json: bool) -> io::Result<()> {
        let mut out = io::stdout().lock();
        for reported in all {
            match is_json {
                true => writeln!(out, "{}", reported.value)?,
                false => out.write_all(reported.words.as_bytes())?,
            }
        }
        out.flush()
    }

    pub(super) fn main() -> ExitCode {
        let cli = Cli::parse();
        if let Task::Keep { task } = &cli.task {
            return fairwave_soc_tool::keep(task).into();
        }
        let is_json = cli.common.json;
        let shown = run(cli).map(|all| show(&all, is_json));
        match shown {
            Ok(Ok(())) => ExitCode::SUCCESS,
            Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Ok(Err(error)) => {
                say(&format!("error: standard output: {error}"));
                ExitCode::FAILURE
            }
            Err(error) => {
                say(&format!("error: {error}"));
                ExitCode::from(if matches!(error, Error::Usage(_)) { 2 } else { 1 })
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    agent::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
