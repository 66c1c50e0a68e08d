//! An IPv4 datagram as a value: headers in full, payload by its length.
//!
//! This is what the simulator carries: small, `Copy`, and complete enough to be written out as
//! real bytes (with a recognisable payload pattern) when a capture is asked for.

use crate::tcp;
use std::net::Ipv4Addr;

/// IPv4 header length without options, in bytes.
pub const IPV4_HEADER_LEN: u32 = 20;
/// UDP header length in bytes.
pub const UDP_HEADER_LEN: u32 = 8;

/// The transport header of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A TCP segment.
    Tcp(tcp::Header),
    /// A UDP datagram: source port, destination port.
    Udp {
        /// Source port.
        source_port: u16,
        /// Destination port.
        destination_port: u16,
    },
}

/// An IPv4 datagram without fragmentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Identification field.
    pub id: u16,
    /// Time to live.
    pub ttl: u8,
    /// Differentiated services and ECN byte.
    pub tos: u8,
    /// Transport header.
    pub transport: Transport,
    /// Transport payload in bytes.
    pub payload_len: u32,
}

impl Datagram {
    /// Total length on the wire from the IPv4 header on, in bytes.
    pub fn wire_len(&self) -> u32 {
        let transport = match &self.transport {
            Transport::Tcp(header) => header.wire_len() as u32,
            Transport::Udp { .. } => UDP_HEADER_LEN,
        };
        IPV4_HEADER_LEN + transport + self.payload_len
    }
}
