//! The laboratory: scenario files, plans and their jobs.

pub mod capture;
pub mod plan;
pub mod plot;
pub mod report;
pub mod results;
pub mod run;
pub mod scenario;
pub mod stats;
pub mod study;
pub mod target;
pub mod trace;
