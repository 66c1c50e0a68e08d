//! The analysis that a user requests of one capture, or of two.

use super::out::{self, Drawings, Tables};
use super::{
    Collector, ComparisonSummary, Selection, StreamName, TraceSummary, analyse, compare, words,
};
use crate::file::{self, Capture};
use fairwave_lab::plot::Explorer;
use fairwave_trace::analysis::compare::{Bins, Config as CompareConfig};
use fairwave_trace::analysis::{Config, Ignore, Points};
use fairwave_units::Duration;
use std::path::Path;

/// Reason why an analysis failed.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The file cannot be read, or is no capture.
    #[error(transparent)]
    Capture(#[from] file::Error),
    /// The tables, figures or the page could not be written.
    #[error(transparent)]
    Results(#[from] out::Error),
}

/// A request for an analysis.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The capture; `-` is standard input.
    pub file: &'a Path,
    /// The streams to report. Those that are named are drawn, and kept with their events.
    pub selection: &'a Selection,
    /// Length of the intervals in which packets are counted; by default one that suits the capture.
    pub interval: Option<Duration>,
    /// Directory for tables, figures and the page, if they are to be written.
    pub out: Option<&'a Path>,
    /// Script and style by which the figures of the page can be explored.
    pub explorer: Explorer,
}

impl Request<'_> {
    /// Analyses the capture. `report` receives the share of it that is done.
    ///
    /// # Errors
    /// If the file is no capture, or the results cannot be written.
    pub fn analyse(&self, report: &mut dyn FnMut(f64)) -> Result<TraceSummary, RequestError> {
        match self.out {
            Some(place) => self.write(place, report),
            None => self.read(&mut Ignore, report),
        }
    }

    /// Compares the capture with a second one of the same traffic. With `same_clock` both were
    /// timed by one clock, so that delays are known.
    ///
    /// # Errors
    /// As those of [`Self::analyse`].
    pub fn compare(
        &self,
        second: &Path,
        same_clock: bool,
        report: &mut dyn FnMut(f64),
    ) -> Result<ComparisonSummary, RequestError> {
        let mut captures = [Capture::open(self.file)?, Capture::open(second)?];
        let offset_ns = same_clock.then_some(0);
        let config = CompareConfig { offset_ns, ..CompareConfig::default() };
        let mut bins = Bins::new(self.config().interval);
        let found = compare(&mut captures, config, &mut bins, report)?;
        let names = [self.file, second].map(|file| file.display().to_string());
        let [first, other] = captures.each_ref().map(Capture::facts);
        let files = [(&*names[0], first), (&*names[1], other)];
        let summary = ComparisonSummary::new(files, &found, &config, self.selection);
        if let Some(place) = self.out {
            out::between(&summary, &bins, self.explorer, place)?;
        }
        Ok(summary)
    }

    /// Reads the capture and also passes everything to `also`.
    fn read(
        &self,
        also: &mut impl Points,
        report: &mut dyn FnMut(f64),
    ) -> Result<TraceSummary, RequestError> {
        let mut capture = Capture::open(self.file)?;
        let mut both = (Collector::new(self.selection.clone()), also);
        let counts = analyse(&mut capture, self.config(), &mut both, report)?;
        let file = self.file.display().to_string();
        let mut summary = TraceSummary::new(&file, &capture.facts(), &counts, both.0);
        summary.answer = words::answer(&summary);
        Ok(summary)
    }

    /// Reads the capture and writes tables, figures and the page. The worst connections and
    /// suitable intervals for the figures are only known after reading it. Therefore a capture is
    /// read a second time to draw them, unless it is standard input or a pipe.
    fn write(
        &self,
        place: &Path,
        report: &mut dyn FnMut(f64),
    ) -> Result<TraceSummary, RequestError> {
        let mut tables = Tables::create(place)?;
        let named = &self.selection.streams;
        let drawings = |names: &[StreamName], interval| Drawings::create(place, names, interval);
        if file::is_read_once(self.file) {
            let mut both = (tables, drawings(named, self.config().interval)?);
            let summary = self.read(&mut both, report)?;
            both.0.finish()?;
            both.1.finish(&summary, self.explorer, place)?;
            return Ok(summary);
        }
        let summary = self.read(&mut tables, report)?;
        tables.finish()?;
        let length = Duration::from_nanos(summary.capture.duration_ns);
        let interval = self.interval.unwrap_or_else(|| out::interval_for(length));
        let names = match named.is_empty() {
            true => summary.worst(out::DRAWN),
            false => named.clone(),
        };
        let mut drawings = drawings(&names, interval)?;
        let mut capture = Capture::open(self.file)?;
        let config = Config { interval, ..self.config() };
        analyse(&mut capture, config, &mut drawings, report)?;
        drawings.finish(&summary, self.explorer, place)?;
        Ok(summary)
    }

    /// The configuration. Packets are counted in intervals of the length that the tables have.
    fn config(&self) -> Config {
        let default = Config::default();
        Config { interval: self.interval.unwrap_or(default.interval), ..default }
    }
}
