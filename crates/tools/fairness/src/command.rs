//! `fairwave fairness`: how stations share a real network.

pub mod options;

use crate::message::LONGEST_NAME;
use crate::report::{FairnessOutput, page, words};
use crate::results::{Record, compare, flent, of_measurement, read};
use crate::{
    Error, Interval, Limits, PORT, Progress, Protocol, Request, ServeConfig, Server, ServerEvent,
    Terms, Traffic, measure,
};
use fairwave_console::peer::{self, resolve};
use fairwave_console::{Console, Failure};
use fairwave_lab::report::compare::{CompareOutput, table};
use fairwave_lab::results::write_file;
use fairwave_linux::clock::wall_ns;
use fairwave_text::printable;
use fairwave_units::{BitRate, several};
use fairwave_wire::seal::Key;
use options::{Fairness, FairnessTask, Judged, RunFairness, ServeFairness, ShowFairness};
use serde_json::json;
use std::fs::create_dir_all;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// The default rate of datagrams, as in iperf3.
const USUAL_UDP: BitRate = BitRate::mbps(1);

/// Serves, takes part, shows or compares; `out` is the directory for results.
///
/// # Errors
/// If the options are wrong, or a step fails.
pub fn run(console: &dyn Console, out: Option<&Path>, fairness: &Fairness) -> Result<(), Failure> {
    match &fairness.task {
        Some(FairnessTask::Serve(serve)) => run_server(console, serve),
        Some(FairnessTask::Run(run)) => run_station(console, out, run),
        Some(FairnessTask::Show(show)) => run_show(console, out, show),
        None => run_compare(console, &fairness.compare),
    }
}

fn run_server(console: &dyn Console, serve: &ServeFairness) -> Result<(), Failure> {
    let (key, code) = serve.secret.of_server()?;
    let limits = Limits {
        rate_bps: serve.max_rate.map(|rate| rate.0),
        bytes: serve.max_bytes.0,
        time_ns: serve.max_time.as_nanos(),
    };
    if limits.bytes == 0 || limits.time_ns == 0 {
        let text = "--max-time and --max-bytes have to be more than 0";
        return Err(Failure::Usage(text.to_owned()));
    }
    let stop = console.stop()?;
    let open = |listen| Server::open(ServeConfig { listen, key: key.clone(), limits });
    let mut server = peer::listen(serve.listen, PORT, open).map_err(Failure::run)?;
    let address = server.address().map_err(Failure::run)?;
    serve.secret.announce(console, "fairness serve", address, PORT, code, |port, secret| {
        format!(
            "Listening at {address}, TCP and UDP. On each of N stations:\n  fairwave fairness run \
             HOST{port} --hosts N {secret}\n"
        )
    })?;
    let note = |event| {
        // The server also runs on after the reader of standard output has closed it.
        let _ = console.inform(&line(&event));
    };
    server.run(|| stop.load(Ordering::Relaxed), note).map_err(Failure::run)?;
    let rejected = several(server.rejected() as usize, "connection");
    let rejected = format!("{rejected} rejected: without the key, or during a flood.\n");
    console.inform(&rejected)
}

fn line(event: &ServerEvent) -> String {
    match event {
        ServerEvent::Joined(name, address, here, hosts) => {
            format!("{name} ({address}) has joined: {here} of {hosts}\n")
        }
        ServerEvent::Left(name) => format!("{name} has left\n"),
        ServerEvent::Alone(name) => format!("{name} has one flow alone\n"),
        ServerEvent::Started(repetition) => format!("Repetition {repetition} begins\n"),
        ServerEvent::Over => "The run is over\n".to_owned(),
    }
}

fn run_station(
    console: &dyn Console,
    out: Option<&Path>,
    run: &RunFairness,
) -> Result<(), Failure> {
    let key = run.secret.of_client("fairwave fairness serve")?;
    let request = request(run, key)?;
    // An error here should appear before the measurement, not after it.
    out.map_or(Ok(()), make)?;
    let stop = console.stop()?;
    let begun_unix_s = wall_ns() / 1_000_000_000;
    let (found, error) = measure(&request, &stop, |progress| {
        if !console.is_quiet() && !console.is_json() {
            console.note(&doing(progress, run));
        }
    });
    let refused = matches!(error, Some(Error::Algorithm { .. }));
    let error = error.as_ref().map(Error::to_string);
    if found.repetitions.is_empty() && !console.is_json() {
        return Err(match error {
            Some(error) if refused => Failure::Usage(error),
            error => Failure::Run(error.unwrap_or_default()),
        });
    }
    let record = judged(of_measurement(&found, &request.terms, begun_unix_s), &run.judged);
    let title = format!("How stations shared the way to {}", run.host);
    let files = Files { page: run.judged.page.as_deref(), out };
    deliver(console, files, &title, record, error)
}

fn request(run: &RunFairness, key: Key) -> Result<Request, Failure> {
    let protocol = if run.udp {
        Protocol::Udp { rate_bps: run.bitrate.unwrap_or(USUAL_UDP).0 }
    } else {
        Protocol::Tcp {
            algorithm: run.congestion.clone(),
            rate_bps: run.bitrate.map(|rate| rate.0),
            buffer_bytes: run.window.map(|size| u32::try_from(size.0).unwrap_or(u32::MAX)),
        }
    };
    let terms = Terms {
        hosts: run.hosts,
        duration_ns: run.time.as_nanos(),
        interval_ns: run.interval.as_nanos(),
        repetitions: run.repetitions,
    };
    let (up, down) = (!run.reverse, run.reverse || run.bidir);
    let traffic = Traffic { up, down, parallel: run.parallel, protocol };
    if let Some(fault) = terms.fault(&traffic) {
        return Err(Failure::Usage(fault.to_owned()));
    }
    let own = || usual_name(&rustix::system::uname().nodename().to_string_lossy());
    Ok(Request {
        server: resolve(&run.host, run.port, run.family)?,
        key,
        name: run.name.clone().unwrap_or_else(own),
        traffic,
        terms,
        alone: run.measures_effective(),
    })
}

/// Default name of a host: its own up to the first dot, as far as it fits.
fn usual_name(of_host: &str) -> String {
    let short = of_host.split('.').next().unwrap_or_default();
    let fits = |(at, sign): &(usize, char)| at + sign.len_utf8() <= LONGEST_NAME;
    short.char_indices().take_while(fits).map(|(_, sign)| sign).collect()
}

fn doing(progress: Progress, run: &RunFairness) -> String {
    match progress {
        Progress::Waiting(here) => format!("{here} of {} stations are there ...", run.hosts),
        Progress::Alone => format!("One flow alone: {} ...", run.time),
        Progress::Resting => format!("Another station has one flow alone: {} ...", run.time),
        Progress::Running(repetition) => {
            format!("Repetition {repetition} of {}: {} ...", run.repetitions, run.time)
        }
        Progress::Interval(interval) => ended(interval, run),
    }
}

/// An interval in words.
fn ended(interval: Interval, run: &RunFairness) -> String {
    let seconds = run.interval.as_secs_f64();
    let ms = |us: u32| f64::from(us) / 1e3;
    let rate = |way: &str, bytes: Option<u64>| {
        bytes.map(|bytes| format!("{way} {:.2} Mbps", bytes as f64 * 8.0 / 1e6 / seconds))
    };
    let words = [
        rate("up", interval.up),
        interval.retransmitted.map(|count| format!("{count} retransmitted")),
        interval.rtt_us.map(|us| format!("RTT {:.1} ms", ms(us))),
        rate("down", interval.down),
        interval.lost.map(|count| format!("{count} lost")),
        interval.jitter_us.map(|us| format!("jitter {:.2} ms", ms(us))),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    format!("{:.1} s: {}", interval.number as f64 * seconds, words.join(", "))
}

/// The record, with the target of the command line if there is one.
fn judged(record: Record, judged: &Judged) -> Record {
    Record {
        target_bps: judged.target.map(|target| target.0).or(record.target_bps),
        effective_bps: judged.effective.map(|effective| effective.0).or(record.effective_bps),
        ..record
    }
}

/// The files that a report is written to.
#[derive(Clone, Copy)]
struct Files<'a> {
    /// The page.
    page: Option<&'a Path>,
    /// The directory for all files.
    out: Option<&'a Path>,
}

/// Prints a record, and writes the requested files.
fn deliver(
    console: &dyn Console,
    files: Files<'_>,
    title: &str,
    record: Record,
    error: Option<String>,
) -> Result<(), Failure> {
    let printed = FairnessOutput::of(record, error);
    // Files come first, since the reader of standard output may be gone. If the disk is full, the
    // results are printed nevertheless.
    let kept = keep_wanted(files, title, &printed);
    if console.is_json() {
        console.print_json(&json!(printed))?;
    } else {
        console.print(&words(&printed.summary, &printed.record))?;
        printed.warnings.iter().for_each(|warning| console.warn(warning));
    }
    match (printed.error, kept) {
        // An error of the measurement takes precedence over one of the files.
        (Some(error), Err(Failure::Run(also))) => Err(Failure::Run(format!("{error}; {also}"))),
        (Some(error), _) => Err(Failure::Run(error)),
        (None, kept) => kept,
    }
}

/// Writes the requested files.
fn keep_wanted(files: Files<'_>, title: &str, printed: &FairnessOutput) -> Result<(), Failure> {
    if files.page.is_none() && files.out.is_none() {
        return Ok(());
    }
    let page = page(title, &printed.record, printed.error.as_deref()).map_err(Failure::Run)?;
    if let Some(file) = files.page {
        keep(file, page.as_bytes())?;
    }
    files.out.map_or(Ok(()), |directory| keep_all(directory, title, printed, &page))
}

fn keep_all(
    directory: &Path,
    title: &str,
    printed: &FairnessOutput,
    page: &str,
) -> Result<(), Failure> {
    make(directory)?;
    let text = serde_json::to_string_pretty(printed).map_err(Failure::run)? + "\n";
    keep(&directory.join("fairness.json"), text.as_bytes())?;
    keep(&directory.join("fairness.html"), page.as_bytes())?;
    for number in 0..printed.record.repetitions.len() {
        let bytes = flent(&printed.record, number, title).map_err(Failure::run)?;
        keep(&directory.join(format!("repetition-{}.flent.gz", number + 1)), &bytes)?;
    }
    Ok(())
}

fn make(directory: &Path) -> Result<(), Failure> {
    create_dir_all(directory).map_err(Failure::at(directory))
}

fn keep(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_file(file, bytes).map_err(Failure::run)
}

fn run_show(console: &dyn Console, out: Option<&Path>, show: &ShowFairness) -> Result<(), Failure> {
    let record = judged(read(&show.path).map_err(Failure::run)?, &show.judged);
    let title = format!("How stations shared a network: {}", show.path.display());
    let files = Files { page: show.judged.page.as_deref(), out };
    deliver(console, files, &title, record, None)
}

fn run_compare(console: &dyn Console, paths: &[PathBuf]) -> Result<(), Failure> {
    let [first, second] = paths else { unreachable!("clap demands two") };
    let records = [read(first).map_err(Failure::run)?, read(second).map_err(Failure::run)?];
    let comparisons = compare(&records[0], &records[1]);
    if console.is_json() {
        let [first, second] = [first, second].map(|path| path.display().to_string());
        return console.print_json(&json!(CompareOutput { first, second, comparisons }));
    }
    let side = |name: &str, path: &Path, record: &Record| {
        let path = printable(&path.display().to_string());
        format!("{name}: {path}, {}\n", several(record.repetitions.len(), "repetition"))
    };
    let is_judged = comparisons.iter().any(|one| one.difference.p.is_some());
    let sides = side("first", first, &records[0]) + &side("second", second, &records[1]);
    let test = if is_judged { "Welch's test\n" } else { "" };
    console.print(&(table(&comparisons).render() + &sides + test))?;
    if !is_judged {
        console.warn("one repetition says nothing about chance: compare at least two of each");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_host_name_is_cut_to_a_valid_one() {
        assert_eq!(usual_name("ap-3.example.org"), "ap-3");
        let long = format!("{}ää.example.org", "x".repeat(31));
        assert_eq!(usual_name(&long), "x".repeat(31));
        assert!(crate::message::is_name(&usual_name(&long)));
    }
}
