//! Results of fairness runs.
//!
//! A [`Record`] has the counts of `fairwave fairness` or of iperf3, by station, flow and interval.
//! Everything else is computed from records: a [`Summary`], a comparison of two, a file for flent.

mod compare;
mod flent;
mod iperf3;
mod measured;
mod read;
mod record;
mod summary;

pub use compare::compare;
pub use flent::flent;
pub(crate) use measured::of_measurement;
pub use read::{Error, read};
pub use record::{Carrier, Counted, Ending, Flow, RadioSample, Record, Repetition, Station};
pub use summary::{EffectiveFrom, SingleFlow, StarvedFlow, StationSummary, Summary, TargetSummary};

#[cfg(test)]
mod tests;
