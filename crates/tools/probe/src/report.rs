//! Reports of a measurement: JSON, sentences, a page.

mod output;
mod page;
mod words;

pub use output::{CarriedOutput, LatencyOutput, LossOutput, OneWayOutput, ProbeOutput};
pub(crate) use page::page;
pub(crate) use words::words;
