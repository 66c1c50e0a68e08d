//! The laboratory: jobs of a plan over worker threads, run directories, statistics and plots.
//!
//! A run of a scenario without files:
//!
//! ```
//! use fairwave_lab::run::{Output, execute};
//! use fairwave_scenario::plan::Plan;
//!
//! let scenario = r#"
//! duration = "1 s"
//! cell.standard = "802.11g"
//! node = [
//!     { name = "ap", kind = "access-point" },
//!     { name = "sta", kind = "station" },
//!     { name = "server", kind = "host" },
//! ]
//! link = [{ ends = ["ap", "server"], delay = "10 ms" }]
//! flow = [{ name = "up", from = "sta", to = "server" }]
//! "#;
//! let plan = Plan::parse("cell.toml", scenario, &[])?;
//! let run = execute(&plan, plan.jobs()[0], Output::Nothing, &mut |_| ())?;
//! assert!(run.summary.totals.goodput_bps > 1_000_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
pub mod place;
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
