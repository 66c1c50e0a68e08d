//! The Datagram Congestion Control Protocol (RFC 4340): datagrams with congestion control.
//!
//! [`Connection`] is one end of a connection as a sans-IO state machine: handshake, feature
//! negotiation, sequence validity, acknowledgements, a send queue. The profile that both ends agree
//! on decides when data may go: [`ccid`] is its interface. [`tfrc`] is the rate control of CCID 3
//! and 4, usable without a connection.
//!
//! There is no retransmission, no order and no socket here: `fairwave-dccp-host` runs connections
//! on real networks. A host passes packets whose checksums and addresses it has checked, and drains
//! a connection as any [`fairwave_machine::Machine`]:
//!
//! ```
//! use fairwave_dccp::{Config, Connection, Event, Input, Standard, Virtual};
//! use fairwave_machine::Machine;
//! use fairwave_units::{Duration, Instant};
//! use fairwave_wire::dccp::Seq48;
//!
//! let end = |local_port, remote_port, first| {
//!     let config = Config { local_port, remote_port, ..Config::default() };
//!     Connection::<Virtual>::new(config, Seq48::new(first), Box::new(Standard::default()))
//! };
//! let (mut client, mut server) = (end(5000, 5001, 1000), end(5001, 0, 9000));
//! let mut now = Instant::ZERO;
//! server.handle(now, Input::Listen);
//! client.handle(now, Input::Open);
//! client.handle(now, Input::Send(Virtual(1200)));
//! let mut received = None;
//! while received.is_none() {
//!     // A network that takes a millisecond.
//!     let (up, down) = (packets(&mut client, now), packets(&mut server, now));
//!     now += Duration::from_millis(1);
//!     up.into_iter().for_each(|packet| server.handle(now, Input::Packet(packet)));
//!     down.into_iter().for_each(|packet| client.handle(now, Input::Packet(packet)));
//!     [&mut client, &mut server].into_iter().for_each(|end| end.wake(now));
//!     while let Some(event) = server.event() {
//!         if let Event::Data { payload, .. } = event {
//!             received = Some(payload);
//!         }
//!     }
//!     assert!(now < Instant::ZERO + Duration::from_secs(1));
//! }
//! assert_eq!(received, Some(Virtual(1200)));
//!
//! fn packets(
//!     end: &mut Connection<Virtual>,
//!     now: Instant,
//! ) -> Vec<fairwave_dccp::Packet<Virtual>> {
//!     std::iter::from_fn(|| end.poll(now)).collect()
//! }
//! ```

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
mod wait;

pub use ccid::Ccid;
pub use config::{Config, Profiles};
pub use connection::{Connection, Event, Input, Packet, State, Stats};
pub use features::Feature;
pub use path::PathLimits;
pub use payload::{Payload, Virtual};
pub use profiles::Standard;
pub use queue::{QueueLimits, Unsent, Waiting, WhenFull};
