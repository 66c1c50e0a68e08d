//! One TCP connection as a sans-IO state machine (RFC 9293, 5681, 6298, 6582, 6675, 7323).
//!
//! [`Connection`] is generic over its payload: [`bytes::Bytes`] on a live host, [`Virtual`], which
//! knows lengths only, in a simulation. It speaks in [`Segment`]s, whose header is the wire's own,
//! asks a [`fairwave_cc::Controller`] how much may be in flight, and keeps loss detection, fast
//! recovery and timers to itself.

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
