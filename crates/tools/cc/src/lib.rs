//! `fairwave cc`: congestion control algorithms in the kernel. `fairwave_bpf` loads and watches
//! them; this crate has the command and its reports.
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
