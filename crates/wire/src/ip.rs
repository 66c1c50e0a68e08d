//! An IP packet as a capture holds it: IPv4 or IPv6, perhaps cut, perhaps with wrong sums.
//!
//! [`crate::ipv4`] and its neighbours read what a receiver would accept. A capture also has what
//! no receiver should refuse an analyst: packets cut at the snap length, checksums that the card
//! would have filled in, segments larger than the MSS that the card would have cut (TSO) or has
//! joined (GRO), a total length of zero on those (Linux writes it where 16 bits are too few), and
//! fragments. Here lengths come from the headers where they say them, and no sum is asked for.

use crate::checksum::Sum;
use crate::ipv4::{PROTOCOL_TCP, PROTOCOL_UDP};
use crate::reader::{Reader, Truncated};
use crate::tcp;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use thiserror::Error;

mod v6;

/// Which part of a datagram a packet is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    #[default]
    Whole,
    /// The first fragment, with the transport header.
    First,
    /// A later fragment: bytes without a transport header.
    Later,
}

/// An IP packet; borrowed from the capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet<'a> {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// IPv4's identification, or that of an IPv6 fragment header; zero without one.
    pub id: u32,
    /// Differentiated services and ECN byte.
    pub traffic_class: u8,
    /// Time to live or hop limit.
    pub hops: u8,
    /// Bytes on the wire from the IP header on, without link padding.
    pub len: u32,
    /// Which part of a datagram it is.
    pub part: Part,
    /// What it carries.
    pub transport: Transport<'a>,
    /// The captured bytes of what it carries, transport header included.
    pub body: &'a [u8],
}

/// What an IP packet carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transport<'a> {
    /// A TCP segment.
    Tcp(Segment<'a>),
    /// A UDP datagram.
    Udp(Datagram<'a>),
    /// Another protocol, by its number, or a later fragment of any.
    Other(u8),
    /// TCP or UDP, by its number, whose header is cut or cannot be.
    Unreadable(u8),
}

/// A TCP segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment<'a> {
    /// The header; of options those before the first broken or cut one.
    pub header: tcp::Header,
    /// Payload bytes on the wire.
    pub payload_len: u32,
    /// Those that were captured.
    pub payload: &'a [u8],
}

/// A UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Datagram<'a> {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Payload bytes on the wire: of a first fragment those of the whole datagram.
    pub payload_len: u32,
    /// Those that were captured.
    pub payload: &'a [u8],
}

/// Why bytes are no IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The capture holds too little of it.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// Neither version 4 nor 6.
    #[error("version at offset 0 is {version}, neither 4 nor 6")]
    Version {
        /// The version found.
        version: u8,
    },
    /// An IPv4 header length below 20 bytes, or a total length below the header's.
    #[error("length at offset {offset} is {bytes} bytes, too little for the header")]
    Length {
        /// Where it stands.
        offset: usize,
        /// The length stated.
        bytes: usize,
    },
}

/// Whether the sum of a TCP segment or UDP datagram is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// It is.
    Right,
    /// It is not: damaged, or left to the card (offloaded) where the capture was made.
    Wrong,
    /// Nobody can say: none was sent, the packet is cut or a fragment, or it is neither.
    Unknown,
}

/// Reads the packet of which `bytes` were captured and `wire_len` were on the wire, padding and
/// all (0 if not known).
pub fn parse(bytes: &[u8], wire_len: u32) -> Result<Packet<'_>, Error> {
    let wire_len = wire_len.max(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    match bytes.first().map(|byte| byte >> 4) {
        Some(4) => v4(bytes, wire_len),
        Some(6) => v6::parse(bytes, wire_len),
        Some(version) => Err(Error::Version { version }),
        None => Err(Truncated { field: "version", offset: 0, need: 1, have: 0 }.into()),
    }
}

fn v4(bytes: &[u8], wire_len: u32) -> Result<Packet<'_>, Error> {
    let mut reader = Reader::new(bytes);
    let header_len = usize::from(reader.u8("header length")? & 0xf) * 4;
    if header_len < 20 {
        return Err(Error::Length { offset: 0, bytes: header_len });
    }
    let traffic_class = reader.u8("type of service")?;
    let total = usize::from(reader.u16_be("total length")?);
    let id = u32::from(reader.u16_be("identification")?);
    let word = reader.u16_be("flags and fragment offset")?;
    let hops = reader.u8("time to live")?;
    let protocol = reader.u8("protocol")?;
    reader.u16_be("header checksum")?;
    let source = IpAddr::V4(Ipv4Addr::from(reader.array::<4>("source address")?));
    let destination = IpAddr::V4(Ipv4Addr::from(reader.array::<4>("destination address")?));
    reader.take(header_len - 20, "options")?;
    if total > 0 && total < header_len {
        return Err(Error::Length { offset: 2, bytes: total });
    }
    let len = if total == 0 { wire_len } else { total as u32 };
    let part = match (word & 0x1fff, word & 0x2000) {
        (0, 0) => Part::Whole,
        (0, _) => Part::First,
        _ => Part::Later,
    };
    let body = up_to(reader.rest(), len - header_len as u32);
    let transport = transport(protocol, part, body, len - header_len as u32);
    Ok(Packet { source, destination, id, traffic_class, hops, len, part, transport, body })
}

/// The first `len` bytes, or as many as there are.
fn up_to(bytes: &[u8], len: u32) -> &[u8] {
    &bytes[..bytes.len().min(len as usize)]
}

fn transport(protocol: u8, part: Part, body: &[u8], len: u32) -> Transport<'_> {
    let read = match (protocol, part) {
        (_, Part::Later) => return Transport::Other(protocol),
        (PROTOCOL_TCP, _) => segment(body, len).map(Transport::Tcp),
        (PROTOCOL_UDP, _) => datagram(body, len).map(Transport::Udp),
        _ => return Transport::Other(protocol),
    };
    read.unwrap_or(Transport::Unreadable(protocol))
}

fn segment(body: &[u8], len: u32) -> Option<Segment<'_>> {
    let (header, header_len) = tcp::parse_captured(body).ok()?;
    let payload_len = len.checked_sub(header_len as u32)?;
    let payload = body.get(header_len..).unwrap_or_default();
    Some(Segment { header, payload_len, payload })
}

fn datagram(body: &[u8], len: u32) -> Option<Datagram<'_>> {
    let mut reader = Reader::new(body);
    let source_port = reader.u16_be("source port").ok()?;
    let destination_port = reader.u16_be("destination port").ok()?;
    // Zero says nothing: a jumbogram (RFC 2675), or left to the card.
    let stated = match reader.u16_be("length").ok()? {
        0 => len,
        stated => u32::from(stated),
    };
    reader.u16_be("checksum").ok()?;
    let payload_len = stated.checked_sub(8)?;
    let payload = up_to(reader.rest(), payload_len);
    Some(Datagram { source_port, destination_port, payload_len, payload })
}

impl Packet<'_> {
    /// Whether the transport checksum is right. It costs a pass over the packet's bytes.
    pub fn checksum(&self) -> Checksum {
        let (protocol, at) = match self.transport {
            Transport::Tcp(_) => (PROTOCOL_TCP, 16),
            Transport::Udp(_) => (PROTOCOL_UDP, 6),
            Transport::Other(_) | Transport::Unreadable(_) => return Checksum::Unknown,
        };
        let body = match self.transport {
            Transport::Udp(datagram) => up_to(self.body, datagram.payload_len + 8),
            _ => self.body,
        };
        let whole = match self.transport {
            Transport::Tcp(segment) => segment.payload.len() == segment.payload_len as usize,
            Transport::Udp(datagram) => datagram.payload.len() == datagram.payload_len as usize,
            _ => false,
        };
        let absent = protocol == PROTOCOL_UDP && body.get(at..at + 2) == Some(&[0, 0]);
        if self.part != Part::Whole || !whole || absent {
            return Checksum::Unknown;
        }
        match self.pseudo(protocol, body.len()).add(body).finish() {
            0 => Checksum::Right,
            _ => Checksum::Wrong,
        }
    }

    /// The sum over the pseudo header (RFC 9293 section 3.1, RFC 8200 section 8.1).
    fn pseudo(&self, protocol: u8, len: usize) -> Sum {
        let sum = match (self.source, self.destination) {
            (IpAddr::V4(a), IpAddr::V4(b)) => Sum::default().add(&a.octets()).add(&b.octets()),
            (a, b) => Sum::default().add(&octets(a)).add(&octets(b)),
        };
        sum.add(&[0, protocol]).add(&(len as u32).to_be_bytes())
    }
}

fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

#[cfg(test)]
mod tests;
