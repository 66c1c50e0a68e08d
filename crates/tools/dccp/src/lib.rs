//! `fairwave dccp`: datagrams with congestion control between real hosts, and a relay for streams.
//!
//! The crate has the commands, their options and their reports. `serve` and `send` measure
//! connections of DCCP. `relay` carries a stream of UDP, such as RTP, and writes the rate for its
//! encoder; `watch` shows that rate. The protocol itself is in `fairwave_dccp`, and its sockets are
//! in `fairwave_dccp_host`, which programs of their own use. [`linux`] is the kernel's own DCCP,
//! for comparison.
//!
//! # The driver's contract
//!
//! [`command::run`] does one command and returns at its end. It prints results by the
//! `fairwave_console::Console` that its caller hands over, and ends early when the flag of
//! `Console::stop` is set. Packets of DCCP over IP need the capability `CAP_NET_RAW`; inside UDP
//! they need none. Started as root, a command that opens such a port becomes an ordinary user, and
//! it refuses to start in a process that has further threads.
//!
//! The options are types of clap, so that another program can take them as its own:
//!
//! ```
//! use clap::Parser;
//! use fairwave_dccp_tool::command::{Dccp, Task};
//! use fairwave_dccp_tool::place::Place;
//!
//! #[derive(Parser)]
//! struct Program {
//!     #[command(flatten)]
//!     dccp: Dccp,
//! }
//!
//! let words = ["program", "relay", "--from", "udp:127.0.0.1:5004", "--to", "dccp:laptop.lan:7"];
//! let Task::Relay(relay) = Program::try_parse_from(words)?.dccp.task else { panic!("a relay") };
//! assert_eq!(relay.from, Place::Udp(([127, 0, 0, 1], 5004).into()));
//! assert_eq!(relay.to, Place::Dccp { host: Some("laptop.lan".to_owned()), port: Some(7) });
//! assert_eq!(relay.ccid, 3, "TFRC is the default");
//! # Ok::<(), clap::Error>(())
//! ```
#![cfg(target_os = "linux")]

pub mod command;
pub mod linux;
mod open;
pub mod options;
pub mod place;
mod rates;
mod relay;
pub mod report;
mod session;
mod source;
mod tasks;
mod udp;
mod watch;

/// Default port of a server. Nobody has it from IANA.
pub const PORT: u16 = 17_983;
pub use fairwave_dccp_host::SERVICE;
