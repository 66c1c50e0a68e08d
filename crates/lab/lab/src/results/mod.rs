//! Run directories: all results of a run, enough to redraw every figure.
//!
//! ```text
//! scenario.toml    the scenario with every default resolved
//! meta.json        version, schema, seed, sweep axes, machine
//! summary.json     results per flow, queue and station, then totals
//! flows.parquet    state of each flow every sample interval
//! paths.parquet    state of each path (only where flows have several)
//! windows.parquet  windows of kernel flows at each ACK (only where an emulation was asked)
//! queues.parquet   state of each queue
//! stations.parquet state of each radio
//! pairs.parquet    what each radio sent to each receiver (only where there are radios)
//! delays.parquet   one-way delays of each flow
//! delay_bins.parquet   their distribution in the measured span
//! associations.parquet each change of a station's access point
//! soc.parquet          what stations report of their channels (only where `cell.soc` is set)
//! drops.parquet    each dropped packet (on request)
//! capture.pcapng   each frame on the air, with radiotap (on request)
//! capture-*.pcapng each packet that a tapped node sent or received (on request)
//! ```
//! The bytes are a function of scenario, seed, version and machine: no clock, no worker count,
//! no build profile leaves a trace. Each file is written under a temporary name and renamed when
//! it is complete, so that a crash leaves no half file under a final name.

mod capture;
mod cell;
mod columns;
mod contents;
mod csv;
mod delays;
mod directory;
mod disk;
mod emulation;
mod file;
#[cfg(any(test, target_arch = "wasm32"))]
mod memory;
mod names;
mod pairs;
mod paths;
mod pieces;
mod probe;
mod read;
mod recorder;
mod recurring;
mod sides;
mod stretch;
mod summary;
mod table;
mod tap;
mod times;
mod video;
mod wanted;
mod windows;

pub use capture::CaptureError;
pub use cell::{Buffer, Cell, Cells, Kind};
pub use columns::{
    ASSOCIATIONS, AssociationRow, DROPS, DropRow, FLOWS, FlowRow, PATHS, PathRow, QUEUES, QueueRow,
    SOC, STATIONS, SocRow, StationRow,
};
pub use csv::CsvWriter;
pub(crate) use csv::field as csv_field;
pub use delays::{DELAY_BINS, DELAYS, DelayBinRow, DelayRow};
pub(crate) use directory::remove_run;
pub use directory::{Meta, RunDirectory, is_series, run_directories, series_in};
pub use emulation::{EmulationSummary, LatenessSummary, NodeSummary, ProgramSummary};
pub(crate) use file::write_from as write_file_from;
pub use file::{remove_unfinished, write as write_file};
#[cfg(target_arch = "wasm32")]
pub use memory::take_files;
pub use names::{Direction, Names};
pub use pairs::{PAIRS, PairRow, PairSummary};
pub use paths::{PathSummary, ShakeSummary};
pub use pieces::{Piece, Pieces};
pub use probe::{FindingSummary, IntervalSummary, ProbeSummary, SizeSummary};
pub(crate) use read::is_damaged;
pub use read::{Series, Values, read_meta, read_scenario, read_summary};
pub use recorder::Recorder;
pub use stretch::{COLLAPSED_SEGMENTS, Stretch, Stretches};
pub use summary::{
    DatagramSummary, FlowSummary, QueueSummary, STARVED_FRACTION, StationSummary, Summary, Totals,
    WebSummary,
};
pub use table::Writer as TableWriter;
pub use table::{Column, Table};
pub use tap::tap_file;
pub use times::TimesSummary;
pub use video::VideoSummary;
pub use wanted::Wanted;
pub use windows::{WINDOWS, WindowRow};

/// Parts that definitions of tables are made of.
pub mod column {
    pub use super::columns::{integer, nanos, nullable_integer, or_null, text, time};
}

use std::path::{Path, PathBuf};

/// Reason for which a run directory could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system reported an error.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// A Parquet file could not be written or is damaged.
    #[error("{path}: {source}")]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Error of the library.
        source: parquet::errors::ParquetError,
    },
    /// A JSON file could not be written or does not fit its type.
    #[error("{path}: {source}")]
    Json {
        /// The file.
        path: PathBuf,
        /// Error of the library.
        source: serde_json::Error,
    },
    /// A frame could not be captured.
    #[error("{path}: {source}")]
    Capture {
        /// The file.
        path: PathBuf,
        /// Error of the capture.
        source: CaptureError,
    },
    /// A file lacks requested content.
    #[error("{path}: {what}")]
    Content {
        /// The file.
        path: PathBuf,
        /// The content that is missing or wrong.
        what: String,
    },
    /// A table has no column of the requested name.
    #[error("{path}: there is no column {column:?}; {names}")]
    NoColumn {
        /// The file.
        path: PathBuf,
        /// The requested name.
        column: String,
        /// The nearest names, in words.
        names: String,
    },
}

impl Error {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    fn parquet(path: &Path) -> impl FnOnce(parquet::errors::ParquetError) -> Self + '_ {
        move |source| Self::Parquet { path: path.to_owned(), source }
    }

    fn json(path: &Path) -> impl FnOnce(serde_json::Error) -> Self + '_ {
        move |source| Self::Json { path: path.to_owned(), source }
    }

    fn capture<E: Into<CaptureError>>(path: &Path) -> impl FnOnce(E) -> Self + '_ {
        move |source| Self::Capture { path: path.to_owned(), source: source.into() }
    }

    fn content(path: &Path, what: impl Into<String>) -> Self {
        Self::Content { path: path.to_owned(), what: what.into() }
    }
}

#[cfg(test)]
mod tests;
