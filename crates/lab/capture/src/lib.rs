//! Captures from files: reading, analysis, and reports.

pub mod file;
pub mod text;
pub mod trace;
