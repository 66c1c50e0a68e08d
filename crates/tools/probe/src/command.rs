//! `fairwave probe`: the buffer probe on real networks.

use crate::log::ServerLog;
use crate::report::{ProbeOutput, page, words};
use crate::{Error, Loaded, PORT, Progress, Request, ServeConfig, Server, Way, measure};
use clap::{Args, Subcommand};
use fairwave_console::peer::{self, Family, Secret, resolve};
use fairwave_console::{Console, Failure};
use fairwave_lab::results::write_file;
use fairwave_linux::clock::Clock;
use fairwave_units::{BitRate, Bytes, Duration};
use fairwave_wire::probe::Limits;
use serde_json::json;
use std::fs::create_dir_all;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Length of the IP packets that `--max-bytes` counts.
const PACKET_BYTES: u64 = 1_500;

/// Lengths of IP packets that `--packet-size` accepts.
const PACKET_SIZES: RangeInclusive<u64> = 600..=PACKET_BYTES;

/// Examples at the end of the help.
pub const EXAMPLES: &str = "\
Examples:
  fairwave probe serve                              on the host behind the access point
  fairwave probe laptop.lan --pairing CODE          on a wired host, with the code that serve prints
  fairwave probe 192.0.2.7 --pairing CODE --rate '300 Mbps' --page probe.html
  fairwave probe nas.lan --pairing CODE --reverse   the access point's own buffer, from a laptop
  fairwave probe 2001:db8::7 --key secret.txt --json
  fairwave probe serve --key secret.txt --max-rate '50 Mbps' --max-time '30 s' --max-bytes '40 MB'

The measured buffer is the narrowest on the path from this host to HOST, with --reverse on the path
back. Neither end needs root.
`fairwave explain probe` says what each figure means, as does docs/probe.md.

Exit code 1: something failed during the run; the measurements until then are printed.
Exit code 2: the options are wrong.";

/// Options of `fairwave probe`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Probe {
    /// The command.
    #[command(subcommand)]
    pub task: Option<ProbeTask>,
    /// Name or address of the host that runs `fairwave probe serve`
    #[arg(required = true, value_name = "HOST")]
    pub host: Option<String>,
    /// The server's UDP port
    #[arg(long, short, value_name = "PORT", default_value_t = PORT)]
    pub port: u16,
    /// The version of IP.
    #[command(flatten)]
    pub family: Family,
    /// The secret of both ends.
    #[command(flatten)]
    pub secret: Secret,
    /// Measure the buffer on the way from HOST to here instead of the way there
    #[arg(long, short = 'R')]
    pub reverse: bool,
    /// Maximum sending rate in each direction; must exceed the capacity of the narrowest link
    #[arg(long, short = 'b', value_name = "RATE", default_value = "100 Mbps")]
    pub rate: BitRate,
    /// Length of the large IP packets, 600 to 1500 B [default: the longest up to 1428 B (1448 B
    /// over IPv6) that the path carries]
    #[arg(long, value_name = "BYTES")]
    pub packet_size: Option<Bytes>,
    /// Send 10 trains of 10,000 packets, as Ando, Murase and Oguchi did. The unit of the buffer's
    /// limit stays unknown
    #[arg(long)]
    pub paper: bool,
    /// Write a page with plots to this file
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
}

/// Further commands of `fairwave probe`.
#[derive(Debug, Subcommand)]
pub enum ProbeTask {
    /// Answer the probes of hosts that have the key, until interrupted
    Serve(Serve),
}

/// Options of `fairwave probe serve`.
#[derive(Args, Debug)]
pub struct Serve {
    /// Address and UDP port to listen at [default: port 17980 of every address]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// The secret of both ends.
    #[command(flatten)]
    pub secret: Secret,
    /// Maximum sending rate of a session
    #[arg(long, value_name = "RATE", default_value = "1 Gbps")]
    pub max_rate: BitRate,
    /// Maximum length of a session
    #[arg(long, value_name = "DURATION", default_value = "120 s")]
    pub max_time: Duration,
    /// Maximum number of bytes of IP packets in a session, counted as packets of 1500 bytes
    #[arg(long, value_name = "BYTES", default_value = "500 MB")]
    pub max_bytes: Bytes,
}

/// Serves, or probes a host; `out` is the directory for results.
///
/// # Errors
/// If the options are wrong, or a measurement ends early.
pub fn run(console: &dyn Console, out: Option<&Path>, probe: &Probe) -> Result<(), Failure> {
    match (&probe.task, &probe.host) {
        (Some(ProbeTask::Serve(serve)), _) => run_server(console, serve),
        (None, Some(host)) => run_client(console, out, probe, host),
        (None, None) => unreachable!("clap demands a host or a subcommand"),
    }
}

fn run_server(console: &dyn Console, serve: &Serve) -> Result<(), Failure> {
    let (key, code) = serve.secret.of_server()?;
    let packets = u32::try_from(serve.max_bytes.0 / PACKET_BYTES).unwrap_or(u32::MAX);
    let limits = Limits { rate: serve.max_rate, packets, duration: serve.max_time };
    if limits.rate == BitRate(0) || packets == 0 || limits.duration.is_zero() {
        let text = "--max-rate, --max-time and --max-bytes have to leave at least one packet";
        return Err(Failure::Usage(text.to_owned()));
    }
    let stop = console.stop()?;
    let open = |listen| Server::open(ServeConfig { listen, key: key.clone(), limits });
    let mut server = peer::listen(serve.listen, PORT, open).map_err(Failure::run)?;
    let address = server.address().map_err(Failure::run)?;
    serve.secret.announce(console, "probe serve", address, PORT, code, |port, secret| {
        format!(
            "Listening at UDP {address}. On the other host:\n  fairwave probe HOST{port} {secret}\n"
        )
    })?;
    let (clock, mut log) = (Clock::start(), ServerLog::default());
    let note = |event| {
        if let Some(line) = log.line(clock.now(), event) {
            // The server also runs on after the reader of standard output has closed it.
            let _ = console.inform(&line);
        }
    };
    server.run(|| stop.load(Ordering::Relaxed), note).map_err(Failure::run)?;
    let (counts, rejected) = (server.counts(), server.rejected());
    console.inform(&format!(
        "{} datagrams arrived, {rejected} of them without the key or of no session, {} repeated or \
         not agreed to; {} left. {} found no room in the socket.\n",
        counts.received,
        server.surplus(),
        counts.sent,
        counts.dropped_here
    ))
}

fn run_client(
    console: &dyn Console,
    out: Option<&Path>,
    probe: &Probe,
    host: &str,
) -> Result<(), Failure> {
    let key = probe.secret.of_client("fairwave probe serve")?;
    if probe.rate == BitRate(0) {
        return Err(Failure::Usage("--rate has to be more than 0".to_owned()));
    }
    if let Some(bytes) = probe.packet_size.filter(|bytes| !PACKET_SIZES.contains(&bytes.0)) {
        let (min, max) = (PACKET_SIZES.start(), PACKET_SIZES.end());
        return Err(Failure::Usage(format!(
            "--packet-size is {bytes}, and has to be {min} to {max} B: the small packets have 428"
        )));
    }
    let server = resolve(host, probe.port, probe.family)?;
    // An error here should appear before the measurement, not after it.
    out.map_or(Ok(()), |out| create_dir_all(out).map_err(Failure::at(out)))?;
    let stop = console.stop()?;
    let way = if probe.reverse { Way::Back } else { Way::There };
    let Probe { rate, packet_size: packet, paper: is_paper, .. } = *probe;
    let request = Request { server, key, rate, way, packet, is_paper };
    let note = |progress| {
        if !console.is_quiet() && !console.is_json() {
            console.note(doing(progress));
        }
    };
    let (found, error) = measure(&request, &stop, note);
    let knows_something = found.rate.is_some() || found.idle.ms.is_some();
    let error = error.as_ref().map(Error::to_string);
    let printed = ProbeOutput::of(server.to_string(), &found, error.clone());
    if console.is_json() {
        console.print_json(&json!(printed))?;
    } else if knows_something {
        console.print(&words(host, &found))?;
        printed.warnings.iter().for_each(|warning| console.warn(warning));
    }
    if knows_something {
        let page = || page(host, &found, error.as_deref()).map_err(Failure::Run);
        if let Some(file) = &probe.page {
            keep(file, &page()?)?;
        }
        if let Some(directory) = out {
            let text = serde_json::to_string_pretty(&printed).map_err(Failure::run)? + "\n";
            keep(&directory.join("probe.json"), &text)?;
            keep(&directory.join("probe.html"), &page()?)?;
        }
    }
    error.map_or(Ok(()), |error| Err(Failure::Run(error)))
}

/// Writes a text to a file.
fn keep(file: &Path, text: &str) -> Result<(), Failure> {
    write_file(file, text.as_bytes()).map_err(Failure::run)
}

fn doing(progress: Progress) -> &'static str {
    match progress {
        Progress::Idle => "Round trips on the idle path ...",
        Progress::Search(_) => "Looking for a buffer that fills ...",
        Progress::Trains => "Measuring with trains of two packet sizes ...",
        Progress::OtherWay => "What the path carries the other way ...",
        Progress::Load(Loaded::Up) => "Round trips beside an upload ...",
        Progress::Load(Loaded::Down) => "Round trips beside a download ...",
        Progress::Load(Loaded::Both) => "Round trips beside both ...",
    }
}
