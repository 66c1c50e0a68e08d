//! DCCP on real networks: the connections of `fairwave_dccp` over IP with protocol number 33 or
//! inside UDP (RFC 6773).
//!
//! [`Endpoint`] is the interface for programs: it runs on tokio, and its [`Connection`]s send and
//! receive datagrams. [`blocking`] has the same without a runtime. [`machine`] has the state
//! machine inside, which knows no socket and no clock.
//!
//! [`Endpoint`] has an example that runs.
#![cfg(target_os = "linux")]

pub mod blocking;
mod carry;
mod driver;
mod endpoint;
mod forgotten;
mod line;
pub mod machine;
mod mtu;
mod replaceable;
mod shared;
mod silence;
mod socket;
#[cfg(test)]
mod tests;
mod watch;

pub use carry::{Over, Peer};
pub use endpoint::{ConnectError, Connection, Endpoint, SendError};
pub use line::{Account, Dropped, End};
pub use machine::{Cookies, Ignored};
pub use shared::{Change, Counts, Notice};
pub use socket::{Addressee, Error, Port, Request, SERVICE, remedies};
