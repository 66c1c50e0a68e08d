//! Reports of runs, sweeps, comparisons and the store: values for JSON, and text for a terminal.
//!
//! Every JSON value is a type, from which its schema is derived ([`crate::schema`]).

pub mod answer;
pub mod compare;
pub mod cost;
pub mod explain;
#[cfg(not(target_arch = "wasm32"))]
pub mod plot;
mod probe;
mod refusal;
pub mod run;
pub mod store;
pub mod summary;
pub mod sweep;

pub use refusal::Refusal;
