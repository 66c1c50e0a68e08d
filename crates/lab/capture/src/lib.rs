//! Captures from files: reading them, analysing what is in them, and reports of it.

pub mod file;
pub mod text;
pub mod trace;
