//! An IP packet of either version, and its payload.

use crate::dccp::Captured;
use crate::ipv4::{PROTOCOL_DCCP, PROTOCOL_TCP, PROTOCOL_UDP};
use crate::reader::{Reader, Truncated};
use crate::tcp;
use core::net::IpAddr;
use thiserror::Error;

/// Part of a datagram in a packet.
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
    /// Its place in the datagram, if it holds a part of one.
    pub fragment: Option<Fragment>,
    /// Its payload.
    pub transport: Transport<'a>,
    /// The captured bytes of its payload, transport header included.
    pub body: &'a [u8],
    /// Length of the payload on the wire in bytes.
    pub body_len: u32,
}

/// Place of a fragment in its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Offset in bytes.
    pub offset: u32,
    /// Length on the wire in bytes.
    pub len: u32,
    /// Whether the datagram ends with it.
    pub is_last: bool,
}

impl Fragment {
    /// Makes a fragment of its offset in units of eight bytes; `None` if it is a whole datagram.
    pub(super) fn new(units: u16, has_more: bool, len: u32) -> Option<Self> {
        let fragment = Self { offset: u32::from(units) * 8, len, is_last: !has_more };
        (units > 0 || has_more).then_some(fragment)
    }
}

impl Part {
    /// Returns the part that a fragment is; without a fragment, all of the datagram.
    pub(super) const fn of(fragment: Option<Fragment>) -> Self {
        match fragment {
            None => Self::Whole,
            Some(Fragment { offset: 0, .. }) => Self::First,
            Some(_) => Self::Later,
        }
    }
}

impl Packet<'_> {
    /// The part of a datagram that it holds.
    pub const fn part(&self) -> Part {
        Part::of(self.fragment)
    }

    /// A first fragment as the whole datagram, of which `len` bytes of payload were on the wire and
    /// only those of the fragment are shown.
    #[must_use]
    pub fn lengthened(mut self, len: u32) -> Self {
        let known = self.fragment.map_or(len, |fragment| fragment.len);
        let extra = len.saturating_sub(known);
        self.len = self.len.saturating_add(extra);
        self.body_len = self.body_len.saturating_add(extra);
        if let Transport::Tcp(segment) = &mut self.transport {
            segment.payload_len = segment.payload_len.saturating_add(extra);
        }
        self
    }
}

/// Payload of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transport<'a> {
    /// A TCP segment.
    Tcp(Segment<'a>),
    /// A UDP datagram.
    Udp(Datagram<'a>),
    /// A DCCP packet.
    Dccp(Captured),
    /// Another protocol, by its number, or a later fragment of any.
    Other(u8),
    /// TCP, UDP or DCCP, by its number, whose header is cut or cannot be.
    Unreadable(u8),
}

/// A TCP segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment<'a> {
    /// The header; of options those before the first broken or cut one.
    pub header: tcp::Header,
    /// Payload bytes on the wire.
    pub payload_len: u32,
    /// Captured bytes of the payload.
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
    /// Captured bytes of the payload.
    pub payload: &'a [u8],
}

/// Reason for which bytes are no IP packet.
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
        /// Its offset.
        offset: usize,
        /// The length stated.
        bytes: usize,
    },
}

/// Returns the first `len` bytes, or all if there are fewer.
pub(super) fn up_to(bytes: &[u8], len: u32) -> &[u8] {
    &bytes[..bytes.len().min(len as usize)]
}

/// Returns the payload of a packet of `protocol`, of which `len` bytes were on the wire.
pub(super) fn transport(protocol: u8, part: Part, body: &[u8], len: u32) -> Transport<'_> {
    let read = match (protocol, part) {
        (_, Part::Later) => return Transport::Other(protocol),
        (PROTOCOL_TCP, _) => segment(body, len).map(Transport::Tcp),
        (PROTOCOL_UDP, _) => datagram(body, len).map(Transport::Udp),
        (PROTOCOL_DCCP, _) => Captured::read(body, len).map(Transport::Dccp),
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
