//! The Datagram Congestion Control Protocol (RFC 4340): datagrams with congestion control.
//!
//! [`Connection`] is one end of a connection as a sans-IO state machine: handshake, feature
//! negotiation, sequence validity, acknowledgements, a send queue. The profile that both ends agree
//! on decides when data may go: [`ccid`] is its interface. [`tfrc`] is the rate control of CCID 3
//! and 4, usable without a connection.

mod ack_vector;
pub mod ccid;
pub mod ccid2;
pub mod ccid3;
pub mod ccid4;
mod config;
mod connection;
mod features;
mod path;
mod payload;
mod profiles;
mod queue;
mod sequence;
pub mod tfrc;

pub use ccid::Ccid;
pub use config::{Config, Profiles};
pub use connection::{Connection, Event, Input, Packet, State, Stats};
pub use features::Feature;
pub use path::PathLimits;
pub use payload::{Payload, Virtual};
pub use profiles::Standard;
pub use queue::{QueueLimits, Unsent, Waiting, WhenFull};
