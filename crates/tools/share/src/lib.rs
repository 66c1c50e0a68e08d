//! `fairwave share`: this host's uplink for hosts near by.
//!
//! The crate has the commands, their options and their reports: `lend` lends an interface, `pair`
//! makes a key file, `list` shows the lenders on the network. Lender and borrower are in
//! `fairwave_share_host`, and the rules of lending in `fairwave_cluster`. A borrower is no command
//! of this crate: `fairwave shake connect --borrow` has it.
//!
//! # The driver's contract
//!
//! [`command::run`] does one command and returns at its end. It prints results by the
//! `fairwave_console::Console` that its caller hands over, and ends early when the flag of
//! `Console::stop` is set. It makes its own tokio runtime, so that it must not be called within
//! one. Started as root, `lend` becomes an ordinary user once its socket is open, and refuses to
//! start in a process that has further threads.
//!
//! The options are types of clap, so that another program can take them as its own:
//!
//! ```
//! use clap::Parser;
//! use fairwave_share_tool::command::{Share, Task};
//! use fairwave_units::BitRate;
//!
//! #[derive(Parser)]
//! struct Program {
//!     #[command(flatten)]
//!     share: Share,
//! }
//!
//! let words = "program lend --via wwan0 --key share.key --rate 10M --hours 22:00-06:30";
//! let Task::Lend(lend) = Program::try_parse_from(words.split_whitespace())?.share.task else {
//!     panic!("it lends")
//! };
//! assert_eq!((lend.via.as_str(), lend.rate), ("wwan0", Some(BitRate::mbps(10))));
//! assert_eq!(Some("22:00-06:30".parse()?), lend.hours);
//! let wrong = words.replace("06:30", "22:00");
//! assert!(Program::try_parse_from(wrong.split_whitespace()).is_err(), "no span of time");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg(target_os = "linux")]

pub mod command;
mod hours;
mod lend;
pub mod report;
