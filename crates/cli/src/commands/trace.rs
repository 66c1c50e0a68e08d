//! `fairwave trace`: what happened in a capture.

use crate::args::{Common, Trace};
use crate::outcome::Failure;
use crate::progress::Progress;
use crate::{output, traced};
use fairwave_lab::capture::{Capture, Error};
use fairwave_lab::trace::{self, Collector, Selection, TraceSummary};
use fairwave_trace::analysis::Config;
use fairwave_units::Duration;

/// Analyses a capture and shows what came of it.
pub(crate) fn run(common: &Common, asked: &Trace) -> Result<(), Failure> {
    let summary = analyse(common, asked)?;
    if let Some(broken) = &summary.capture.broken {
        let (file, offset, packets) = (asked.file.display(), broken.offset, broken.packets);
        let (reason, place) = (&broken.reason, format!("byte {offset}, behind packet {packets}"));
        output::warn(&format!("{file} is damaged at {place}: {reason}"));
    }
    if let Some(name) = summary.missing(&asked.connection) {
        let file = asked.file.display();
        return Err(Failure::Usage(format!("{file}: there is no connection {name} to be shown")));
    }
    if common.json {
        let value = serde_json::to_value(&summary).map_err(Failure::run)?;
        return Ok(output::print_json(&value)?);
    }
    Ok(output::print(&traced::summary(&summary, !asked.connection.is_empty()))?)
}

fn analyse(common: &Common, asked: &Trace) -> Result<TraceSummary, Failure> {
    let mut capture = Capture::open(&asked.file)?;
    let mut collector = Collector::new(selection(asked));
    let progress = Progress::new(common);
    let mut report = |share| progress.set(share);
    let config = Config { interval: Duration::ZERO, ..Config::default() };
    let counts = trace::analyse(&mut capture, config, &mut collector, &mut report)?;
    let file = asked.file.display().to_string();
    Ok(TraceSummary::new(&file, &capture.facts(), &counts, collector))
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
