//! Reports of the proxy: JSON, words, metrics.

mod output;
mod prometheus;
mod words;

pub use output::{AchievedOutput, ProxyOutput, TargetOutput};
pub(crate) use prometheus::start;
pub(crate) use words::{greeting, summary};
