//! Captures from files: decoding, analysis of their packets, and reports.

pub mod file;
pub mod text;
pub mod trace;
