//! Results of a run: counts and their evaluation.
//!
//! A [`Record`] contains the counts by station, flow and interval, from `fairwave fairness` or from
//! iperf3. Everything else is computed from records: a [`Summary`], a comparison of two, a file for
//! flent.

mod compare;
mod flent;
mod iperf3;
mod read;
mod record;
mod summary;

pub use compare::compare;
pub use flent::flent;
pub use read::{Error, read};
pub use record::{Carrier, Counted, Ending, Flow, RadioSample, Record, Repetition, Station};
pub use summary::{StarvedFlow, StationSummary, Summary, TargetSummary};

#[cfg(test)]
mod tests;
