//! `fairwave shake`: connections of applications over all links of a host.
//!
//! The crate has the commands, their options and their reports. `connect` accepts SOCKS5 clients,
//! forwarded ports or intercepted connections, and gives each a stream of a SHAKE session; `serve`
//! opens the connections to their targets; `diagnose` names the cause that limits the sum of the
//! links. Sessions, streams and paths are in `fairwave_shake_host`, which programs of their own
//! use. The crate is no VPN: it carries TCP connections and UDP associations of SOCKS5, and no
//! other packets of IP.
//!
//! # The driver's contract
//!
//! [`command::run`] does one command and returns at its end. It prints results by the
//! `fairwave_console::Console` that its caller hands over, and ends early when the flag of
//! `Console::stop` is set. It makes its own tokio runtime, so that it must not be called within
//! one. Only intercepted connections (`--tproxy`) need root. Started as root, `serve` becomes an
//! ordinary user once its socket is open, and refuses to start in a process that has further
//! threads.
//!
//! The options are types of clap, so that another program can take them as its own:
//!
//! ```
//! use clap::Parser;
//! use fairwave_shake_tool::command::{Shake, Task};
//! use fairwave_shake_tool::preset::Preset;
//! use fairwave_units::BitRate;
//!
//! #[derive(Parser)]
//! struct Program {
//!     #[command(flatten)]
//!     shake: Shake,
//! }
//!
//! let words = "program connect nas.lan --key nas.key --via wlan0,wwan0=20M --preset cheapest \
//!              --metered wwan0";
//! let program = Program::try_parse_from(words.split_whitespace())?;
//! let Task::Connect(connect) = program.shake.task else { panic!("it connects") };
//! let [wifi, mobile] = &connect.via[..] else { panic!("two interfaces") };
//! assert_eq!((wifi.name.as_str(), wifi.rate), ("wlan0", None));
//! assert_eq!((mobile.name.as_str(), mobile.rate), ("wwan0", Some(BitRate::mbps(20))));
//! assert_eq!(connect.preset, Some(Preset::Cheapest));
//! # Ok::<(), clap::Error>(())
//! ```
#![cfg(target_os = "linux")]

mod association;
mod board;
mod client;
pub mod command;
mod diagnose;
mod diagnosis;
mod limits;
mod live;
mod meter;
mod monitor;
mod names;
pub mod preset;
mod prometheus;
pub mod report;
mod risk;
mod server;
mod signs;
mod socks;
mod tasks;
pub mod transparent;
mod tunnel;
mod via;

/// Default port of a server, which IANA has not assigned.
pub const PORT: u16 = 17_995;
