//! The laboratory: scenario files, plans and their jobs.

pub mod plan;
pub mod scenario;
