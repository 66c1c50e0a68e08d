//! DCCP on real networks: the connections of `fairwave_dccp` over IP with protocol number 33 or
//! inside UDP (RFC 6773). [`Host`] runs a client that sends, or a server that receives.
#![cfg(target_os = "linux")]

mod carry;
pub mod command;
mod endpoint;
mod host;
pub mod linux;
pub mod report;
mod source;
#[cfg(test)]
mod tests;

pub use carry::Over;
pub use endpoint::{Account, End, Endpoint, EndpointEvent, Fact, Ignored, Peer, Settings};
pub use host::{Addressee, Error, Host, HostEvent, Request, Socket};
pub use source::Traffic;

/// Default port of a server. Nobody has it from IANA.
pub const PORT: u16 = 17_983;
/// The service code of RFC 4340 section 8.1.2, `FWAV`.
pub const SERVICE: u32 = u32::from_be_bytes(*b"FWAV");
