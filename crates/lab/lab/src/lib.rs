//! The laboratory: jobs of a plan over worker threads, run directories, statistics and plots.

pub mod axes;
pub mod compare;
pub mod lints;
pub mod means;
pub mod merge;
pub mod metrics;
mod nearest;
#[cfg(not(target_arch = "wasm32"))]
pub mod over;
pub mod page;
#[cfg(not(target_arch = "wasm32"))]
pub mod plot;
pub mod points;
pub mod query;
pub mod report;
pub mod results;
pub mod run;
pub mod schema;
pub mod stats;
pub mod store;
pub mod target;
