//! `fairwave fairness`: how stations share a real network.

use super::probe::{given_key, keep, key_or_code, make, resolve};
use crate::args::Common;
use crate::args::fairness::{
    Fairness, FairnessTask, Judged, RunFairness, ServeFairness, ShowFairness,
};
use crate::outcome::Failure;
use crate::printed::CompareOutput;
use crate::printed_fairness::{FairnessOutput, record};
use crate::{clock, output, show_fairness, stop};
use fairwave_fairness::results::{Record, compare, flent, read};
use fairwave_fairness::{
    Error, Limits, News, PORT, Progress, Protocol, Request, ServeConfig, Server, Terms, Traffic,
    measure,
};
use fairwave_lab::results::write_file;
use fairwave_units::{BitRate, several};
use fairwave_wire::seal::Key;
use serde_json::json;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::Ordering;

/// The default rate of datagrams, as in iperf3.
const USUAL_UDP: BitRate = BitRate::mbps(1);

/// Serves, takes part, shows or compares.
pub(crate) fn run(common: &Common, fairness: &Fairness) -> Result<(), Failure> {
    match &fairness.task {
        Some(FairnessTask::Serve(serve)) => run_server(serve),
        Some(FairnessTask::Run(run)) => run_station(common, run),
        Some(FairnessTask::Show(show)) => run_show(common, show),
        None => run_compare(common, &fairness.compare),
    }
}

fn run_server(serve: &ServeFairness) -> Result<(), Failure> {
    let (key, code) = key_or_code(&serve.secret)?;
    let limits = Limits {
        rate_bps: serve.max_rate.map(|rate| rate.0),
        bytes: serve.max_bytes.0,
        time_ns: serve.max_time.as_nanos(),
    };
    if limits.bytes == 0 || limits.time_ns == 0 {
        let least = "--max-time and --max-bytes have to be more than 0";
        return Err(Failure::Usage(least.to_owned()));
    }
    let stop = stop::on(&stop::SIGNALS)?;
    let mut server = open(serve.listen, &key, limits)?;
    let address = server.address().map_err(Failure::run)?;
    output::print(&greeting(address, code.as_deref()))?;
    let mut closed = None;
    let told = server.run(
        || stop.load(Ordering::Relaxed),
        |news| closed = output::print(&line(&news)).err().or(closed.take()),
    );
    told.map_err(Failure::run)?;
    let rejected = several(server.rejected() as usize, "connection");
    Ok(output::print(&format!("{rejected} came from nobody with the key, or in a flood.\n"))?)
}

/// Opens the sockets. Without an address they serve IPv6 and IPv4, or only IPv4 if the host has no
/// IPv6.
fn open(listen: Option<SocketAddr>, key: &Key, limits: Limits) -> Result<Server, Failure> {
    let at = |listen| Server::open(ServeConfig { listen, key: key.clone(), limits });
    let opened = match listen {
        Some(address) => at(address),
        None => at((Ipv6Addr::UNSPECIFIED, PORT).into())
            .or_else(|_| at((Ipv4Addr::UNSPECIFIED, PORT).into())),
    };
    opened.map_err(Failure::run)
}

/// The command for the other hosts. A code that the user gave is not shown again.
fn greeting(address: SocketAddr, code: Option<&str>) -> String {
    let port = match address.port() {
        PORT => String::new(),
        port => format!(" --port {port}"),
    };
    let secret = code.map_or("--key FILE".to_owned(), |code| format!("--pairing {code}"));
    format!(
        "Listening at {address}, TCP and UDP. On each of N stations:\n  fairwave fairness run HOST\
         {port} --hosts N {secret}\n"
    )
}

fn line(news: &News) -> String {
    match news {
        News::Joined(name, address, here, hosts) => {
            format!("{name} ({address}) is there: {here} of {hosts}\n")
        }
        News::Left(name) => format!("{name} is not there any more\n"),
        News::Started(repetition) => format!("Repetition {repetition} begins\n"),
        News::Over => "The run is over\n".to_owned(),
    }
}

fn run_station(common: &Common, run: &RunFairness) -> Result<(), Failure> {
    let key = given_key(&run.secret, "fairwave fairness serve")?;
    let request = request(run, key)?;
    // An error here should appear before the measurement, not after it.
    common.out.as_deref().map_or(Ok(()), make)?;
    let stop = stop::on(&stop::SIGNALS)?;
    let begun_unix_s = clock::unix_s();
    let (found, error) = measure(&request, &stop, |progress| {
        if !common.quiet && !common.json {
            output::note(&doing(progress, run));
        }
    });
    let refused = matches!(error, Some(Error::Law { .. }));
    let told = error.as_ref().map(Error::to_string);
    if found.repetitions.is_empty() && !common.json {
        return Err(match told {
            Some(told) if refused => Failure::Usage(told),
            told => Failure::Run(told.unwrap_or_default()),
        });
    }
    let record = judged(record(&found, &request.terms, begun_unix_s), &run.judged);
    let title = format!("How stations shared the way to {}", run.host);
    deliver(common, &run.judged, &title, record, told)
}

fn request(run: &RunFairness, key: Key) -> Result<Request, Failure> {
    let protocol = if run.udp {
        Protocol::Udp { rate_bps: run.bitrate.unwrap_or(USUAL_UDP).0 }
    } else {
        Protocol::Tcp {
            law: run.congestion.clone(),
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
    let own = || rustix::system::uname().nodename().to_string_lossy().into_owned();
    Ok(Request {
        server: resolve(&run.host, run.port, run.four, run.six)?,
        key,
        name: run.name.clone().unwrap_or_else(own),
        traffic,
        terms,
    })
}

fn doing(progress: Progress, run: &RunFairness) -> String {
    match progress {
        Progress::Waiting(here) => format!("{here} of {} stations are there ...", run.hosts),
        Progress::Running(repetition) => {
            format!("Repetition {repetition} of {}: {} ...", run.repetitions, run.time)
        }
    }
}

/// The record, with the target of the command line if there is one.
fn judged(record: Record, judged: &Judged) -> Record {
    Record {
        target_bps: judged.target.map(|target| target.0).or(record.target_bps),
        effective_bps: judged.effective.map(|effective| effective.0).or(record.effective_bps),
        ..record
    }
}

/// Prints a record, and writes the requested files.
fn deliver(
    common: &Common,
    judged: &Judged,
    title: &str,
    record: Record,
    error: Option<String>,
) -> Result<(), Failure> {
    let printed = FairnessOutput::of(record, error);
    // Files come first, since the reader of standard output may be gone. If the disk is full, the
    // results are printed nevertheless.
    let kept = keep_wanted(common, judged, title, &printed);
    if common.json {
        output::print_json(&json!(printed))?;
    } else {
        output::print(&show_fairness::words(&printed.summary, &printed.record))?;
        printed.warnings.iter().for_each(|warning| output::warn(warning));
    }
    match (printed.error, kept) {
        // An error of the measurement takes precedence over one of the files.
        (Some(told), Err(Failure::Run(also))) => Err(Failure::Run(format!("{told}; {also}"))),
        (Some(told), _) => Err(Failure::Run(told)),
        (None, kept) => kept,
    }
}

/// Writes the requested files.
fn keep_wanted(
    common: &Common,
    judged: &Judged,
    title: &str,
    printed: &FairnessOutput,
) -> Result<(), Failure> {
    if judged.page.is_none() && common.out.is_none() {
        return Ok(());
    }
    let page = show_fairness::page(title, &printed.record, printed.error.as_deref())
        .map_err(Failure::Run)?;
    if let Some(file) = &judged.page {
        keep(file, &page)?;
    }
    common.out.as_ref().map_or(Ok(()), |directory| keep_all(directory, title, printed, &page))
}

fn keep_all(
    directory: &Path,
    title: &str,
    printed: &FairnessOutput,
    page: &str,
) -> Result<(), Failure> {
    make(directory)?;
    let text = serde_json::to_string_pretty(printed).map_err(Failure::run)? + "\n";
    keep(&directory.join("fairness.json"), &text)?;
    keep(&directory.join("fairness.html"), page)?;
    for number in 0..printed.record.repetitions.len() {
        let bytes = flent(&printed.record, number, title).map_err(Failure::run)?;
        let file = directory.join(format!("repetition-{}.flent.gz", number + 1));
        write_file(&file, &bytes).map_err(Failure::run)?;
    }
    Ok(())
}

fn run_show(common: &Common, show: &ShowFairness) -> Result<(), Failure> {
    let record = judged(read(&show.path).map_err(Failure::run)?, &show.judged);
    let title = format!("How stations shared a network: {}", show.path.display());
    deliver(common, &show.judged, &title, record, None)
}

fn run_compare(common: &Common, paths: &[std::path::PathBuf]) -> Result<(), Failure> {
    let [first, second] = paths else { unreachable!("clap demands two") };
    let records = [read(first).map_err(Failure::run)?, read(second).map_err(Failure::run)?];
    let comparisons = compare(&records[0], &records[1]);
    if common.json {
        let [first, second] = [first, second].map(|path| path.display().to_string());
        return Ok(output::print_json(&json!(CompareOutput { first, second, comparisons }))?);
    }
    let side = |name: &str, path: &Path, record: &Record| {
        let path = output::printable(&path.display().to_string());
        format!("{name}: {path}, {}\n", several(record.repetitions.len(), "repetition"))
    };
    let is_judged = comparisons.iter().any(|one| one.difference.p.is_some());
    let sides = side("first", first, &records[0]) + &side("second", second, &records[1]);
    let test = if is_judged { "Welch's test\n" } else { "" };
    output::print(&(super::compare::table(&comparisons).render() + &sides + test))?;
    if !is_judged {
        output::warn("one repetition says nothing about chance: compare at least two of each");
    }
    Ok(())
}
