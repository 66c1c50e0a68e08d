//! An IPv4 datagram as a value: headers in full, payload by its length.
//!
//! The simulator carries datagrams of this type: small, `Copy`, and complete enough to be written
//! out as real bytes (with a recognisable payload pattern) when a capture is asked for.
//!
//! The pattern spells positions: the payload is cut into words of four bytes at positions
//! divisible by four, and each word is its own position in big-endian order. For TCP the position
//! is the sequence number, so a hex dump of a segment shows the sequence numbers it carries and a
//! retransmission carries the same bytes. For UDP it starts at the identification times 65536, for
//! DCCP at the sequence number times 65536.
//!
//! The options of a DCCP packet vary from nothing to 1008 bytes, and a message in the payload has
//! any length; every packet of every flow would pay for the room. A datagram therefore knows only
//! their length on the wire; a host that needs the true bytes keeps them aside as [`Contents`] and
//! gives them to [`Datagram::write_with`].

mod contents;

pub use contents::{Contents, Piece};

use crate::ipv4::Ecn;
use crate::{dccp, ipv4, tcp, udp};
use std::net::Ipv4Addr;
use thiserror::Error;

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
    /// A DCCP packet without its options.
    Dccp(dccp::Header),
}

impl Transport {
    /// Its number in the protocol field.
    pub const fn protocol(&self) -> u8 {
        match self {
            Self::Tcp(_) => ipv4::PROTOCOL_TCP,
            Self::Udp { .. } => ipv4::PROTOCOL_UDP,
            Self::Dccp(_) => ipv4::PROTOCOL_DCCP,
        }
    }

    /// Source and destination port.
    pub const fn ports(&self) -> (u16, u16) {
        match self {
            Self::Tcp(header) => (header.source_port, header.destination_port),
            Self::Udp { source_port, destination_port } => (*source_port, *destination_port),
            Self::Dccp(header) => (header.source_port, header.destination_port),
        }
    }

    /// Its name in lower case.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Tcp(_) => "tcp",
            Self::Udp { .. } => "udp",
            Self::Dccp(_) => "dccp",
        }
    }
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
    /// Its ECN field (RFC 3168 section 5).
    pub const fn ecn(&self) -> Ecn {
        Ecn::of(self.tos)
    }

    /// Marks it "congestion experienced" instead of dropping it; false, and nothing is done, if
    /// its transport does not take part (RFC 3168 section 5).
    pub const fn mark_ce(&mut self) -> bool {
        let capable = self.ecn().is_capable();
        if capable {
            self.tos = Ecn::Ce.put(self.tos);
        }
        capable
    }

    /// Whether it is a TCP segment that carries nothing but its acknowledgement.
    pub fn is_pure_ack(&self) -> bool {
        match &self.transport {
            Transport::Tcp(header) => {
                let flags = header.flags;
                self.payload_len == 0 && flags.ack && !(flags.syn || flags.fin || flags.rst)
            }
            Transport::Udp { .. } | Transport::Dccp(_) => false,
        }
    }

    /// Total length on the wire from the IPv4 header on, in bytes.
    #[inline]
    pub fn wire_len(&self) -> u32 {
        let transport = match &self.transport {
            Transport::Tcp(header) => header.wire_len() as u32,
            Transport::Udp { .. } => UDP_HEADER_LEN,
            Transport::Dccp(header) => header.wire_len() as u32,
        };
        IPV4_HEADER_LEN + transport + self.payload_len
    }
}

/// Reason for which bytes are no datagram for us, or one cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The IPv4 header.
    #[error("ipv4: {0}")]
    Ipv4(#[from] ipv4::Error),
    /// The TCP segment.
    #[error("tcp: {0}")]
    Tcp(#[from] tcp::Error),
    /// The UDP datagram.
    #[error("udp: {0}")]
    Udp(#[from] udp::Error),
    /// The DCCP packet.
    #[error("dccp: {0}")]
    Dccp(#[from] dccp::Error),
    /// Contents that are not those of the datagram.
    #[error("contents of {len} bytes in a datagram of {payload_len}")]
    Contents {
        /// Its length.
        len: u32,
        /// Length of the payload in bytes.
        payload_len: u32,
    },
    /// None of TCP, UDP and DCCP.
    #[error("protocol at offset 9 is {protocol}, none of tcp (6), udp (17) and dccp (33)")]
    Protocol {
        /// The protocol number.
        protocol: u8,
    },
}

/// Reads a datagram, both checksums checked; returns its payload, without link padding.
///
/// Whether the payload follows the pattern is for [`Datagram::first_mismatch`] to say.
pub fn parse(bytes: &[u8]) -> Result<(Datagram, &[u8]), Error> {
    let (header, segment) = ipv4::parse(bytes)?;
    let (transport, payload) = match header.protocol {
        ipv4::PROTOCOL_TCP => {
            let (tcp, payload) = tcp::parse(segment, header.pseudo())?;
            (Transport::Tcp(tcp), payload)
        }
        ipv4::PROTOCOL_UDP => {
            let (udp, payload) = udp::parse(segment, header.pseudo())?;
            let udp::Header { source_port, destination_port } = udp;
            (Transport::Udp { source_port, destination_port }, payload)
        }
        ipv4::PROTOCOL_DCCP => {
            let packet = dccp::parse(segment, header.pseudo())?;
            (Transport::Dccp(packet.header), packet.payload)
        }
        protocol => return Err(Error::Protocol { protocol }),
    };
    let ipv4::Header { source, destination, id, ttl, tos, .. } = header;
    let payload_len = payload.len() as u32;
    Ok((Datagram { source, destination, id, ttl, tos, transport, payload_len }, payload))
}

/// The byte of the payload pattern at a position.
pub const fn pattern(position: u32) -> u8 {
    (position & !3).to_be_bytes()[(position & 3) as usize]
}

/// Returns this number of bytes of the pattern, from a position on and around.
pub fn patterned(position: u32, len: u32) -> Vec<u8> {
    // By words: captures are full of it, and builds that do not optimise write them, too.
    let (first, ahead) = (position & !3, (position & 3) as usize);
    let end = ahead + len as usize;
    let mut bytes = Vec::with_capacity(end.next_multiple_of(4));
    for word in 0..end.div_ceil(4) as u32 {
        bytes.extend_from_slice(&first.wrapping_add(4 * word).to_be_bytes());
    }
    bytes.truncate(end);
    bytes.drain(..ahead);
    bytes
}

impl Datagram {
    /// Appends the datagram with checksums, don't-fragment bit and patterned payload. Where DCCP
    /// options would be there is padding.
    ///
    /// # Errors
    /// Options or payload that do not fit; then nothing is appended.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.write_with(None, out)
    }

    /// As [`Datagram::write`], with its contents. Options of another transport are ignored. A whole
    /// packet is written instead of the datagram, with the marks that this bears.
    ///
    /// # Errors
    /// Contents, options or payload that do not fit; then nothing is appended.
    pub fn write_with(&self, contents: Option<&Contents>, out: &mut Vec<u8>) -> Result<(), Error> {
        if contents.is_some_and(|contents| contents.write_packet(self, out)) {
            return Ok(());
        }
        let none = dccp::Options::new();
        let options = contents.and_then(Contents::options).unwrap_or(&none);
        let payload = match contents.and_then(Contents::payload) {
            Some(payload) => payload,
            None => self.payload(),
        };
        if payload.len() != self.payload_len as usize {
            let len = payload.len() as u32;
            return Err(Error::Contents { len, payload_len: self.payload_len });
        }
        let header = self.ipv4();
        let start = out.len();
        header.write(out)?;
        let written = match self.transport {
            Transport::Tcp(tcp) => tcp.write(out, header.pseudo(), &payload).map_err(Error::from),
            Transport::Udp { source_port, destination_port } => {
                let udp = udp::Header { source_port, destination_port };
                udp.write(out, header.pseudo(), &payload).map_err(Error::from)
            }
            Transport::Dccp(dccp) => {
                dccp.write(out, header.pseudo(), options, &payload).map_err(Error::from)
            }
        };
        if written.is_err() {
            out.truncate(start);
        }
        written
    }

    /// Its IPv4 header; routers may not fragment it.
    fn ipv4(&self) -> ipv4::Header {
        ipv4::Header {
            source: self.source,
            destination: self.destination,
            id: self.id,
            ttl: self.ttl,
            tos: self.tos,
            dont_fragment: true,
            protocol: self.transport.protocol(),
            payload_len: self.wire_len() - IPV4_HEADER_LEN,
        }
    }

    /// The payload that [`Datagram::write`] gives it.
    pub fn payload(&self) -> Vec<u8> {
        patterned(self.position(0), self.payload_len)
    }

    /// Offset of the first byte that is not as the pattern has it, or that is missing or surplus.
    pub fn first_mismatch(&self, payload: &[u8]) -> Option<u32> {
        let differs = |(offset, &byte)| {
            let offset = offset as u32;
            (offset >= self.payload_len || byte != pattern(self.position(offset))).then_some(offset)
        };
        let missing = payload.len() < self.payload_len as usize;
        let end = missing.then_some(payload.len() as u32);
        payload.iter().enumerate().find_map(differs).or(end)
    }

    /// Position of the payload byte at `offset`: after the SYN, which takes a sequence number.
    fn position(&self, offset: u32) -> u32 {
        let start = match &self.transport {
            Transport::Tcp(tcp) => (tcp.seq + u32::from(tcp.flags.syn)).0,
            Transport::Udp { .. } => u32::from(self.id) << 16,
            Transport::Dccp(dccp) => (dccp.seq.value() as u32) << 16,
        };
        start.wrapping_add(offset)
    }
}

#[cfg(test)]
mod tests;
