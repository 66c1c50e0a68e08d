//! The laboratory: jobs of a plan over worker threads, run directories, statistics and plots.

pub mod axes;
pub mod compare;
pub mod lints;
pub mod means;
pub mod merge;
pub mod metrics;
mod nearest;
pub mod over;
pub mod page;
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
