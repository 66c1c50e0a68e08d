//! An IP packet as a capture holds it: IPv4 or IPv6, perhaps cut, perhaps with wrong sums.
//!
//! [`crate::ipv4`] and its neighbours read packets that a receiver would accept. A capture also has
//! packets that an analyst needs although a receiver would refuse them: packets cut at the snap
//! length, checksums that the card would have filled in, segments larger than the MSS that the card
//! would have cut (TSO) or has joined (GRO), a total length of zero on those (Linux writes it where
//! 16 bits are too few), and fragments. Here lengths come from the headers where these state them,
//! and checksums are not verified.

use crate::ipv4::{PROTOCOL_TCP, PROTOCOL_UDP};
use crate::pseudo::Pseudo;
use crate::reader::{Reader, Truncated};
use core::net::{IpAddr, Ipv4Addr};
use packet::{transport, up_to};

mod packet;
mod v6;

pub use packet::{Datagram, Error, Fragment, Packet, Part, Segment, Transport};

/// Longest packet whose header does not state its length, in bytes: above the 524,280 that Linux
/// joins at most (`GSO_MAX_SIZE`). A capture may state any length on the wire.
const UNSTATED_LEN_MAX: u32 = 1 << 19;

/// Whether the sum of a TCP segment or UDP datagram is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// It is.
    Right,
    /// It is not: damaged, or left to the card (offloaded) where the capture was made.
    Wrong,
    /// Unknown: none was sent, the packet is cut or a fragment, or it is neither.
    Unknown,
}

/// Reads the packet of which `bytes` were captured and `wire_len` were on the wire, padding and
/// all (0 if not known). Where its header states no length, it has at most 512 KiB.
pub fn parse(bytes: &[u8], wire_len: u32) -> Result<Packet<'_>, Error> {
    let captured = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let wire_len = wire_len.max(captured).min(UNSTATED_LEN_MAX);
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
    let body_len = len - header_len as u32;
    let fragment = Fragment::new(word & 0x1fff, word & 0x2000 != 0, body_len);
    let body = up_to(reader.rest(), body_len);
    let transport = transport(protocol, Part::of(fragment), body, body_len);
    Ok(Packet {
        source,
        destination,
        id,
        traffic_class,
        hops,
        len,
        fragment,
        transport,
        body,
        body_len,
    })
}

impl Packet<'_> {
    /// Whether the transport checksum is right. It costs a pass over the packet's bytes.
    pub fn checksum(&self) -> Checksum {
        let (protocol, at) = match self.transport {
            Transport::Tcp(_) => (PROTOCOL_TCP, 16),
            Transport::Udp(_) => (PROTOCOL_UDP, 6),
            // What a DCCP sum covers, the packet says (RFC 4340 section 9.2); nobody asks.
            Transport::Dccp(_) | Transport::Other(_) | Transport::Unreadable(_) => {
                return Checksum::Unknown;
            }
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
        if self.part() != Part::Whole || !whole || absent {
            return Checksum::Unknown;
        }
        let pseudo = Pseudo::between(self.source, self.destination);
        match pseudo.map(|pseudo| pseudo.sum(protocol, body.len()).add(body).finish()) {
            Some(0) => Checksum::Right,
            Some(_) => Checksum::Wrong,
            None => Checksum::Unknown,
        }
    }
}

#[cfg(test)]
mod tests;
