//! `fairwave trace`: analysis of a capture.

use crate::args::Common;
use crate::outcome::Failure;
use crate::place::Place;
use crate::progress::Progress;
use crate::{output, place};
use clap::Args;
use fairwave_capture::file::Error;
use fairwave_capture::text::visible;
use fairwave_capture::trace::{Request, RequestError, Selection, StreamName, terminal, words};
use fairwave_units::Duration;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  fairwave trace capture.pcapng
  fairwave trace capture.pcap.gz --host 192.168.1.20 --port 443
  fairwave trace capture.pcapng --connection 3
  fairwave trace capture.pcapng --out out/trace --interval '100 ms'
  fairwave trace sent.pcap received.pcap --same-clock
  tcpdump -i wlan0 -s 128 -w - | fairwave trace - --json

Of a capture that is cut or damaged, the packets before the damage are analysed, and a warning names
its place; the exit code is 0. Exit code 2: the file is no capture at all.";

/// Analyse a capture of tcpdump, Wireshark or Fairwave: which flow was slow, and for which
/// reason
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Trace {
    /// The capture: pcap or pcapng, also compressed with gzip or zstd; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A second capture of the same traffic, made elsewhere: shows the packets lost, delayed or
    /// reordered between the two
    #[arg(value_name = "FILE2")]
    second: Option<PathBuf>,
    /// With FILE2: the same clock timed both captures, so that delays can be computed
    #[arg(long, requires = "second")]
    same_clock: bool,
    /// Show this connection in detail: its number in the table, udp:N or dccp:N; may be repeated
    #[arg(long, short, value_name = "N", conflicts_with = "second")]
    connection: Vec<StreamName>,
    /// Only streams of this address; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    host: Vec<IpAddr>,
    /// Only streams of this port; may be repeated
    #[arg(long, value_name = "PORT")]
    port: Vec<u16>,
    /// With --out: length of the intervals in which packets are counted [default: 1 s]
    #[arg(long, value_name = "DURATION")]
    interval: Option<Duration>,
}

/// Analyses a capture, or compares two, and shows the results.
pub(super) fn run(common: &Common, args: &Trace) -> Result<(), Failure> {
    if args.interval.is_some_and(Duration::is_zero) {
        return Err(Failure::Usage("--interval has to be more than 0".to_owned()));
    }
    let place = common.out.as_ref().map(|_| place::choose(common, "trace")).transpose()?;
    if args.interval.is_some() && place.is_none() {
        return Err(Failure::Usage("--interval has no effect without --out".to_owned()));
    }
    let selection = Selection {
        streams: args.connection.clone(),
        hosts: args.host.clone(),
        ports: args.port.clone(),
    };
    let out = place.as_ref().map(Place::path);
    let request = Request {
        file: &args.file,
        selection: &selection,
        interval: args.interval,
        out,
        explorer: fairwave_show::explorer(),
    };
    if let Some(second) = &args.second {
        return between(common, args, second, &request);
    }
    let progress = Progress::new(common);
    let summary = request.analyse(&mut |share| progress.set(share))?;
    drop(progress);
    let capture = &summary.capture;
    let warnings = terminal::warnings(&capture.file, capture.carried, capture.broken.as_ref());
    warnings.iter().for_each(|warning| output::warn(warning));
    if let Some(name) = summary.missing(&args.connection) {
        let file = visible(&args.file.to_string_lossy());
        return Err(Failure::Usage(format!("{file}: there is no connection {name} to be shown")));
    }
    words::unmatched(&selection, &summary).into_iter().for_each(|none| output::warn(&none));
    let text = || terminal::summary(&summary, !args.connection.is_empty());
    show(common, &summary, text, out)
}

/// Compares two captures.
fn between(
    common: &Common,
    args: &Trace,
    second: &Path,
    request: &Request<'_>,
) -> Result<(), Failure> {
    if [&args.file, second].iter().all(|file| *file == Path::new("-")) {
        return Err(Failure::Usage("only one of the captures can be standard input".to_owned()));
    }
    let progress = Progress::new(common);
    let summary = request.compare(second, args.same_clock, &mut |share| progress.set(share))?;
    drop(progress);
    for capture in &summary.captures {
        let warnings = terminal::warnings(&capture.file, capture.carried, capture.broken.as_ref());
        warnings.iter().for_each(|warning| output::warn(warning));
    }
    let none = words::unmatched_between(request.selection, &summary);
    none.into_iter().for_each(|none| output::warn(&none));
    show(common, &summary, || terminal::comparison(&summary), request.out)
}

/// Prints a result in the requested form.
fn show(
    common: &Common,
    summary: &impl serde::Serialize,
    text: impl FnOnce() -> String,
    place: Option<&Path>,
) -> Result<(), Failure> {
    if common.json {
        let value = serde_json::to_value(summary).map_err(Failure::run)?;
        return Ok(output::print_json(&value)?);
    }
    let report = place.map_or_else(String::new, |place| {
        format!("Report: {}\n", visible(&place.join("report.html").to_string_lossy()))
    });
    Ok(output::print(&(text() + &report))?)
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Capture(Error::NoCapture { .. }) => Self::Usage(error.to_string()),
            _ => Self::Run(error.to_string()),
        }
    }
}
