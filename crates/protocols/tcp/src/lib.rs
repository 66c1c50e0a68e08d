//! One TCP connection as a sans-IO state machine (RFC 9293, 5681, 6298, 6582, 6675, 7323).
//!
//! [`Connection`] is generic over its payload: [`bytes::Bytes`] on a live host, [`Virtual`], which
//! knows lengths only, in a simulation. It speaks in [`Segment`]s, whose header is the wire's own,
//! asks a [`fairwave_cc::Controller`] how much may be in flight, and keeps loss detection, fast
//! recovery and timers to itself.
//!
//! The host carries segments and has the time. Without a delay, a handshake is:
//!
//! ```
//! use fairwave_machine::Machine;
//! use fairwave_tcp::{Config, Connection, Input, State, Virtual};
//! use fairwave_units::{Instant, Seq32};
//!
//! let reno = |initial| fairwave_cc::build("reno", initial).expect("it is one of the list");
//! let end = |iss| Connection::<Virtual>::new(Config::default(), Seq32(iss), Box::new(reno));
//! let (mut client, mut server, now) = (end(1), end(2), Instant::ZERO);
//! server.handle(now, Input::Listen);
//! client.handle(now, Input::Open);
//! for _ in 0..3 {
//!     while let Some(segment) = client.poll(now) {
//!         server.handle(now, Input::Segment(segment));
//!     }
//!     while let Some(segment) = server.poll(now) {
//!         client.handle(now, Input::Segment(segment));
//!     }
//! }
//! assert_eq!((client.state(), server.state()), (State::Established, State::Established));
//! ```
//!
//! `examples/own_link.rs` has a link with delay and losses.

mod agreed;
mod config;
mod connection;
mod declare;
mod payload;
mod profile;
mod receiver;
mod sender;
pub mod split;

pub use config::{Config, ConfigOption, DelayedAck, OptionField, OptionKind, ReductionBound};
pub use connection::{BuildController, Connection, Event, Input, Segment, State, Stats};
pub use payload::{ByteStore, Payload, Store, Virtual, VirtualStore};
pub use profile::Profile;
pub use receiver::Reassembly;
