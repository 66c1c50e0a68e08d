//! Output files of `fairwave trace --out`: tables, figures and a page.
//!
//! ```text
//! summary.json         what `--json` prints
//! connections.parquet  what each end of each stream sent
//! intervals.parquet    packets per interval
//! points.parquet       segments, ACKs and round-trip times of the connections drawn
//! figures/             time-sequence graphs and their kind, as SVG
//! report.html          all of it on one page
//! ```
//! For two captures, `between.parquet` replaces the other tables.

mod between;
mod drawing;
pub(super) mod page;
mod tables;
mod thin;

pub use between::{BETWEEN, BinRow, between};
pub use tables::{ENDS, EndRow, INTERVALS, IntervalRow, POINTS};

use super::{StreamName, TraceSummary};
use drawing::Drawing;
use fairwave_lab::plot::{self, Explorer, Plots};
use fairwave_lab::results::{self, TableWriter, write_file};
use fairwave_trace::analysis::{Mark, Point, Points, Side, Stream, StreamId};
use fairwave_units::{Duration, Instant};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tables::Streams;

/// Maximum number of connections that are drawn by default.
pub const DRAWN: usize = 3;

/// Minimum number of intervals in a figure of a short capture.
const MIN_INTERVALS: u64 = 20;

/// Default length of intervals for a capture of some length: a second, or for a shorter capture 1,
/// 2 or 5 times a power of ten.
pub fn interval_for(length: Duration) -> Duration {
    let longest = (length.as_nanos() / MIN_INTERVALS).clamp(1_000, 1_000_000_000);
    let decade = 10u64.pow(longest.ilog10());
    let step = [5, 2, 1].into_iter().map(|n| n * decade).find(|step| *step <= longest);
    Duration::from_nanos(step.unwrap_or(decade))
}

/// Errors of writing results.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be written.
    #[error(transparent)]
    Results(#[from] results::Error),
    /// A figure cannot be drawn.
    #[error(transparent)]
    Plot(#[from] plot::Error),
    /// The summary cannot be written as JSON.
    #[error("summary.json: {0}")]
    Json(#[from] serde_json::Error),
}

/// Writes the tables of all streams while a capture is read.
pub struct Tables {
    streams: Streams,
}

impl Tables {
    /// Opens the tables in a directory, which is created if needed.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn create(directory: &Path) -> Result<Self, Error> {
        make(directory)?;
        Ok(Self { streams: Streams::create(directory)? })
    }

    /// Completes the files, or returns the first error of writing.
    ///
    /// # Errors
    /// If one could not be written.
    pub fn finish(self) -> Result<(), Error> {
        Ok(self.streams.finish()?)
    }
}

impl Points for Tables {
    fn stream(&mut self, stream: Stream) {
        self.streams.stream(&stream);
    }

    fn point(&mut self, point: &Point) {
        if let Mark::Interval(counts) = point.mark {
            self.streams.interval(point, counts);
        }
    }
}

/// Collects the drawings of some connections while a capture is read, and writes their points.
pub struct Drawings {
    drawings: BTreeMap<StreamId, Drawing>,
    points: TableWriter<Point>,
    failure: Option<results::Error>,
}

impl Drawings {
    /// Creates the drawings of these connections, with intervals of this length; `directory` is
    /// created if needed.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn create(
        directory: &Path,
        names: &[StreamName],
        interval: Duration,
    ) -> Result<Self, Error> {
        make(directory)?;
        let points = TableWriter::create(&POINTS, directory)?;
        let drawings = names.iter().map(|name| (name.0, Drawing::new(interval))).collect();
        Ok(Self { drawings, points, failure: None })
    }

    /// Completes the points, draws the figures, and writes page and summary. `explorer` is the
    /// script of the page. Returns the path of the page.
    ///
    /// # Errors
    /// If a figure cannot be drawn or a file cannot be written.
    pub fn finish(
        self,
        summary: &TraceSummary,
        explorer: Explorer,
        directory: &Path,
    ) -> Result<PathBuf, Error> {
        self.failure.map_or(Ok(()), Err)?;
        self.points.finish()?;
        let figures = directory.join("figures");
        make(&figures)?;
        let origin = Instant::from_nanos(summary.capture.start_unix_ns.unwrap_or(0));
        let mut plots = Plots::new(explorer);
        let mut drawn = BTreeMap::new();
        for connection in &summary.connections {
            let Some(drawing) = self.drawings.get(&StreamId::Tcp(connection.number)) else {
                continue;
            };
            let side = if connection.sender == 'a' { Side::A } else { Side::B };
            let name = format!("Connection {}", connection.number);
            let mut svgs = Vec::new();
            let start = connection.start_ns as f64 / 1e9;
            let seconds = (start, start + (connection.watched_ns as f64 / 1e9).max(1e-6) * 1.01);
            let made = drawing.figures(&name, side, origin, seconds);
            for (kind, figure) in FIGURES.iter().zip(made) {
                let axis = format!("connection-{}", connection.number);
                let id = format!("{axis}-{kind}");
                write_file(&figures.join(format!("{id}.svg")), figure.to_svg()?.as_bytes())?;
                let svg = plots.drawing(&figure, &id, &axis)?;
                svgs.push((figure.title, svg));
            }
            drawn.insert(connection.number, svgs);
        }
        let json = serde_json::to_string_pretty(summary)?;
        write_file(&directory.join("summary.json"), json.as_bytes())?;
        let path = directory.join("report.html");
        write_file(&path, page::page(summary, &drawn, &plots).as_bytes())?;
        Ok(path)
    }
}

/// Names of a connection's figures, in the order in which they are drawn.
const FIGURES: [&str; 4] = ["sequence", "packets", "rtt", "flight"];

impl Points for Drawings {
    fn stream(&mut self, _: Stream) {}

    fn point(&mut self, point: &Point) {
        let Some(drawing) = self.drawings.get_mut(&point.stream) else { return };
        drawing.add(point);
        if matches!(point.mark, Mark::Interval(_)) || self.failure.is_some() {
            return;
        }
        self.failure = self.points.push(*point).err();
    }
}

fn make(directory: &Path) -> Result<(), Error> {
    let refused = |source| results::Error::Io { path: directory.to_owned(), source };
    Ok(fs::create_dir_all(directory).map_err(refused)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_capture_has_twenty_intervals_or_more() {
        let ms = |ms: u64| interval_for(Duration::from_millis(ms)).as_nanos() / 1_000;
        let micros = [0, 1, 300, 482, 4_000, 19_999, 20_000, 3_600_000].map(ms);
        assert_eq!(micros, [1, 50, 10_000, 20_000, 200_000, 500_000, 1_000_000, 1_000_000]);
    }
}
