//! `fairwave cc`: congestion control algorithms in the kernel.
//!
//! The crate has the command and its reports: load and unload algorithms, list them and their
//! connections, set target rates, measure their cost, and trace windows. `fairwave_bpf` loads and
//! watches the algorithms; they are not implemented here, and connections of applications choose
//! them by the kernel's own means.
//!
//! # The driver's contract
//!
//! [`command::run`] does one command and returns at its end. It prints results by the
//! `fairwave_console::Console` that its caller hands over, and ends early when the flag of
//! `Console::stop` is set. Loading needs root. Algorithms that were loaded before an error stay
//! loaded, and a warning names them, but not those of `load --for`. [`report`] has the types of the
//! JSON outputs.
//!
//! The options are types of clap, so that another program can take them as its own:
//!
//! ```
//! use clap::Parser;
//! use fairwave_cc_tool::command::options::{Cc, CcTask};
//! use fairwave_units::Duration;
//!
//! #[derive(Parser)]
//! struct Program {
//!     #[command(flatten)]
//!     cc: Cc,
//! }
//!
//! let program = Program::try_parse_from(["program", "load", "fw_tcp_av", "--for", "10m"])?;
//! let CcTask::Load { names, lasts, .. } = program.cc.task else { panic!("it loads") };
//! assert_eq!((names, lasts), (vec!["fw_tcp_av".to_owned()], Some(Duration::from_secs(600))));
//! assert!(Program::try_parse_from(["program", "load"]).is_err(), "no algorithm is named");
//! # Ok::<(), clap::Error>(())
//! ```
#![cfg(target_os = "linux")]

pub mod command;
mod keep;
mod outcome;
pub mod report;
mod status;
mod target;
mod trace;

/// Programs, maps and links of this kernel: tests of the command compare them before and after.
pub use fairwave_bpf::objects;
pub use trace::Progress;
