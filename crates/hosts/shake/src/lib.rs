//! TCP SHAKE on real links: one session between two hosts over all their links, with a stream for
//! each connection of an application.
//!
//! [`Host`] is the interface for programs: it runs on tokio, takes sockets and paths from its
//! owner, and its streams are [`tokio::io::AsyncRead`] and [`tokio::io::AsyncWrite`].
//! [`endpoint::Endpoint`] is the machine inside, which knows no socket and no clock.
//!
//! [`Host`] has an example that runs: a stream over two paths, each a UDP socket.
#![cfg(target_os = "linux")]

mod datagram;
mod driver;
pub mod endpoint;
mod host;
pub mod noise;
mod shared;
mod stream;

pub use endpoint::{Config, DatagramError, Mode, SetConfig};
pub use fairwave_sockets::Udp;
pub use host::{ConnectError, Host, Session};
pub use noise::Psk;
pub use stream::{Monitor, Stream};
