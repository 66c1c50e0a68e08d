//! Reports on algorithms, connections, costs, targets and traces: JSON, tables, metrics.

mod output;
mod prometheus;
mod words;

pub use output::{CcConnection, CcCost, CcLaw, CcOutput, CcTarget, CcTold, CcTotals, CcTraced};
pub(crate) use prometheus::{PREFIX, metrics};
pub(crate) use words::{connections, costs, done, event, laws, targets};
