//! The laboratory: a page in which one writes a scenario and runs it, with tours of five papers.
//!
//! Its runs are made by [`run`], either in the browser (the crate `fairwave-wasm`) or by a server
//! (`fairwave web`). Requests and answers are the same for both.

mod answer;
mod claims;
pub mod network;
mod page;
pub mod request;

pub use answer::{means, plan, run, size};
pub use page::{Engine, live, scenarios};
