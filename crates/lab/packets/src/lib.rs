//! Packet scripts: one end of a TCP connection, and a peer that a text file plays.
//!
//! A [`Script`] has arriving packets, calls of the application and expected departures, each at its
//! time; the language is documented in `docs/packets.md`. [`simulate`] plays it against our
//! endpoint in virtual time, exactly. On Linux a [`Field`] plays it on real TUN devices, against
//! our endpoint or against the kernel's, by the clock: departures may be as late as timers and
//! threads are.
//!
//! ```
//! use fairwave_packets::{Script, simulate};
//!
//! let script = "\
//! ## RFC 9293 section 3.10.5: an abort resets the peer, and nothing is sent again.
//! 0 establish
//! 100 write 1000
//! +0 > P. 1:1001(1000) ack 1
//! +0 abort
//! +0 > R. 1001 ack 1
//! +0 expect state=CLOSED event=Closed
//! 10000 expect timeouts=0
//! ";
//! simulate(&Script::read("abort.pkt", script)?)?;
//! # Ok::<(), String>(())
//! ```

#[cfg(target_os = "linux")]
mod endpoint;
#[cfg(target_os = "linux")]
mod field;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod line;
mod parse;
#[cfg(target_os = "linux")]
mod played;
mod player;
mod report;
mod script;
mod segment;
mod settings;
mod simulated;
#[cfg(target_os = "linux")]
mod socket;
mod verdict;
mod world;

#[cfg(target_os = "linux")]
pub use field::{Against, Field};
pub use parse::Remark;
#[cfg(target_os = "linux")]
pub use played::{PacketsOutput, Played, PlayedScript, Side, SideVerdict, play};
pub use script::Script;
pub use simulated::simulate;
pub use verdict::Verdict;
