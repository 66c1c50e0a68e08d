//! `fairwave trace`: analysis of a capture.

use crate::args::{Common, Trace};
use crate::outcome::Failure;
use crate::place::Place;
use crate::progress::Progress;
use crate::{output, place, traced};
use fairwave_capture::file::{Capture, Error};
use fairwave_capture::text::visible;
use fairwave_capture::trace::out::{self, Drawings, Tables};
use fairwave_capture::trace::{
    self, BrokenSummary, Collector, ComparisonSummary, Selection, StreamName, TraceSummary,
};
use fairwave_trace::analysis::{Config, Ignore, Points, compare};
use fairwave_units::Duration;
use std::path::Path;

/// Analyses a capture, or compares two, and shows the results.
pub(crate) fn run(common: &Common, asked: &Trace) -> Result<(), Failure> {
    if let Some(second) = &asked.second {
        return between(common, asked, second);
    }
    let place = common.out.as_ref().map(|_| place::choose(common, "trace")).transpose()?;
    if asked.interval.is_some() && place.is_none() {
        return Err(Failure::Usage("--interval has no effect without --out".to_owned()));
    }
    let progress = Progress::new(common);
    let summary = match &place {
        Some(place) => write(asked, place.path(), &progress)?,
        None => read(asked, &mut Ignore, &progress)?,
    };
    drop(progress);
    let capture = &summary.capture;
    warn_of(&capture.file, capture.carried, capture.broken.as_ref());
    if let Some(name) = summary.missing(&asked.connection) {
        let file = visible(&asked.file.to_string_lossy());
        return Err(Failure::Usage(format!("{file}: there is no connection {name} to be shown")));
    }
    let text = || traced::summary(&summary, !asked.connection.is_empty());
    show(common, &summary, text, place.as_ref().map(Place::path))
}

/// Compares two captures.
fn between(common: &Common, asked: &Trace, second: &Path) -> Result<(), Failure> {
    let place = common.out.as_ref().map(|_| place::choose(common, "trace")).transpose()?;
    if asked.interval.is_some() && place.is_none() {
        return Err(Failure::Usage("--interval has no effect without --out".to_owned()));
    }
    if [&asked.file, second].iter().all(|file| *file == Path::new("-")) {
        return Err(Failure::Usage("only one of the captures can be standard input".to_owned()));
    }
    let progress = Progress::new(common);
    let mut captures = [Capture::open(&asked.file)?, Capture::open(second)?];
    let offset_ns = asked.same_clock.then_some(0);
    let config = compare::Config { offset_ns, ..compare::Config::default() };
    let mut bins = compare::Bins::new(self::config(asked).interval);
    let mut report = |share| progress.set(share);
    let found = trace::compare(&mut captures, config, &mut bins, &mut report)?;
    drop(progress);
    let names = [&asked.file, second].map(|file| file.display().to_string());
    let [first, other] = captures.each_ref().map(Capture::facts);
    let files = [(&*names[0], first), (&*names[1], other)];
    let summary = ComparisonSummary::new(files, &found, &config, &selection(asked));
    for capture in &summary.captures {
        warn_of(&capture.file, capture.carried, capture.broken.as_ref());
    }
    if let Some(place) = &place {
        out::between(&summary, &bins, place.path()).map_err(Failure::run)?;
    }
    show(common, &summary, || traced::comparison(&summary), place.as_ref().map(Place::path))
}

fn warn_of(file: &str, carried: u64, broken: Option<&BrokenSummary>) {
    let file = visible(file);
    if carried > 0 {
        let what = "have times with a second or more beside their seconds";
        output::warn(&format!("{file}: {carried} packets {what}; both were added"));
    }
    let Some(BrokenSummary { offset, packets, reason }) = broken else { return };
    let place = format!("byte {offset}, behind packet {packets}");
    output::warn(&format!("{file} is damaged at {place}: {reason}"));
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

/// Reads the capture and also passes everything to `also`.
fn read(
    asked: &Trace,
    also: &mut impl Points,
    progress: &Progress,
) -> Result<TraceSummary, Failure> {
    let mut capture = Capture::open(&asked.file)?;
    let mut both = (Collector::new(selection(asked)), also);
    let mut report = |share| progress.set(share);
    let counts = trace::analyse(&mut capture, config(asked), &mut both, &mut report)?;
    let file = asked.file.display().to_string();
    Ok(TraceSummary::new(&file, &capture.facts(), &counts, both.0))
}

/// Reads the capture and writes tables, figures and the page. The worst connections and suitable
/// intervals for the figures are only known after reading it. Therefore a capture that is not
/// standard input is read a second time to draw them.
fn write(asked: &Trace, place: &Path, progress: &Progress) -> Result<TraceSummary, Failure> {
    let mut tables = Tables::create(place).map_err(Failure::run)?;
    let drawings = |names: &[StreamName], interval| Drawings::create(place, names, interval);
    if asked.file == Path::new("-") {
        let interval = config(asked).interval;
        let drawings = drawings(&asked.connection, interval).map_err(Failure::run)?;
        let mut both = (tables, drawings);
        let summary = read(asked, &mut both, progress)?;
        both.0.finish().map_err(Failure::run)?;
        both.1.finish(&summary, place).map_err(Failure::run)?;
        return Ok(summary);
    }
    let summary = read(asked, &mut tables, progress)?;
    tables.finish().map_err(Failure::run)?;
    let length = Duration::from_nanos(summary.capture.duration_ns);
    let interval = asked.interval.unwrap_or_else(|| out::interval_for(length));
    let names = match asked.connection.is_empty() {
        true => summary.worst(out::DRAWN),
        false => asked.connection.clone(),
    };
    let mut drawings = drawings(&names, interval).map_err(Failure::run)?;
    let mut capture = Capture::open(&asked.file)?;
    let config = Config { interval, ..config(asked) };
    trace::analyse(&mut capture, config, &mut drawings, &mut |share| progress.set(share))?;
    drawings.finish(&summary, place).map_err(Failure::run)?;
    Ok(summary)
}

/// The configuration. Packets are counted in intervals of the length that the tables have.
fn config(asked: &Trace) -> Config {
    let default = Config::default();
    Config { interval: asked.interval.unwrap_or(default.interval), ..default }
}

fn selection(asked: &Trace) -> Selection {
    Selection {
        streams: asked.connection.clone(),
        hosts: asked.host.clone(),
        ports: asked.port.clone(),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Io { .. } => Self::Run(error.to_string()),
            Error::NoCapture { .. } => Self::Usage(error.to_string()),
        }
    }
}
