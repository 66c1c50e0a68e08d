//! Reports on algorithms, connections, costs, targets and traces: JSON, tables, metrics.

mod output;
mod prometheus;
mod words;

pub use output::{
    CcAlgorithm, CcConnection, CcCost, CcEvent, CcOutput, CcTarget, CcTotals, CcTraced,
};
pub(crate) use prometheus::{PREFIX, metrics};
pub(crate) use words::{algorithms, connections, costs, done, event, targets};
