//! Reports on connections: JSON, words, comma-separated values.

mod output;
mod words;

pub use output::{ConnectionOutput, DccpOutput, KnownOutput, SampleOutput};
pub(crate) use output::{Watched, shown};
pub(crate) use words::{COLUMNS, line, row, summary};
