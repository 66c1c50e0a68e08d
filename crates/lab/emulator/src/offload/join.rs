//! Joining of a flow's packets that arrive together.
//!
//! The rules are those of the kernel's GRO: only segments that are equal except for their sequence
//! numbers, and datagrams of one length that are equal except for their payload. A receiver thus
//! loses no information. Identifications of IPv4 packets that must not be fragmented have no
//! meaning (RFC 6864 section 4.1): Linux sends zero from unconnected sockets, and the kernel that
//! divides joined packets increments them.

use super::cut::{pseudo, put, word};
use super::{Gso, Header};
use fairwave_wire::checksum::Sum;
use fairwave_wire::ip::{self, Part};
use fairwave_wire::ipv4::{PROTOCOL_TCP, PROTOCOL_UDP};

/// Maximum length of a packet in bytes that a length field can hold.
const MAX_BYTES: usize = 65_535;

/// Flag in the byte at offset 6 of an IPv4 header.
const DONT_FRAGMENT: u8 = 0x40;

const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
/// Offsets of TCP flags and checksum.
const FLAGS: usize = 13;
const SUM: usize = 16;
/// Offsets of length and checksum of UDP, and the length of its header.
const UDP_LENGTH: usize = 4;
const UDP_SUM: usize = 6;
const UDP_HEADER_LEN: usize = 8;

/// Joins segments. Its buffer is reused.
#[derive(Debug, Default)]
pub struct Joiner {
    bytes: Vec<u8>,
    shape: Shape,
    /// Number of segments in it.
    count: usize,
    /// Payload bytes of the first segment, which is the longest.
    size: usize,
    /// Whether no further segment can be added: the last was shorter or had PSH.
    is_closed: bool,
}

/// Layout of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Shape {
    is_v6: bool,
    is_udp: bool,
    transport: usize,
    payload: usize,
}

impl Joiner {
    /// Adds a packet whose transport checksum is correct. Returns `false` if it cannot be joined
    /// with the present ones, which must then be [taken](Self::take) first. UDP datagrams are
    /// joined if `joins_udp`.
    pub fn offer(&mut self, packet: &[u8], joins_udp: bool) -> bool {
        let shape = shape(packet).filter(|shape| joins_udp || !shape.is_udp);
        if self.count == 0 {
            self.bytes.clear();
            self.bytes.extend_from_slice(packet);
            self.shape = shape.unwrap_or_default();
            self.size = shape.map_or(0, |shape| packet.len() - shape.payload);
            self.is_closed = shape.is_none_or(|shape| shape.is_pushed(packet));
            self.count = 1;
            return true;
        }
        if self.is_closed || shape != Some(self.shape) || !self.continues(packet) {
            return false;
        }
        let Shape { transport, payload, .. } = self.shape;
        self.bytes.extend_from_slice(&packet[payload..]);
        let is_pushed = self.shape.is_pushed(packet);
        if is_pushed {
            self.bytes[transport + FLAGS] |= PSH;
        }
        // As in the kernel's GRO, a segment with PSH or a shorter one ends the group: only the last
        // piece of a divided packet may be shorter, and only it keeps PSH.
        self.is_closed = is_pushed || packet.len() - payload < self.size;
        self.count += 1;
        true
    }

    /// Whether it has no packet.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Number of packets in it.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the joined packet with its header for a TUN device, and empties the joiner.
    pub fn take(&mut self) -> (Header, &[u8]) {
        let count = core::mem::take(&mut self.count);
        if count < 2 {
            return (Header { is_verified: count == 1, ..Header::default() }, &self.bytes);
        }
        let Shape { is_v6, is_udp, transport, payload } = self.shape;
        let len = self.bytes.len();
        if is_v6 {
            put(&mut self.bytes, 4, (len - 40) as u16);
        } else {
            put(&mut self.bytes, 2, len as u16);
            put(&mut self.bytes, 10, 0);
            let sum = Sum::default().add(&self.bytes[..transport]).finish();
            put(&mut self.bytes, 10, sum);
        }
        let (gso, protocol, sum) = match (is_udp, is_v6) {
            (true, _) => (Gso::Udp, PROTOCOL_UDP, UDP_SUM),
            (false, true) => (Gso::Tcp6, PROTOCOL_TCP, SUM),
            (false, false) => (Gso::Tcp4, PROTOCOL_TCP, SUM),
        };
        if is_udp {
            put(&mut self.bytes, transport + UDP_LENGTH, (len - transport) as u16);
        }
        // As in a large segment from a sender, the field contains the sum of the pseudo header.
        let partial = !pseudo(&self.bytes, protocol, len - transport).finish();
        put(&mut self.bytes, transport + sum, partial);
        let header = Header {
            needs_checksum: true,
            is_verified: false,
            gso,
            header_len: payload as u16,
            gso_size: self.size as u16,
            checksum_start: transport as u16,
            checksum_offset: sum as u16,
        };
        (header, &self.bytes)
    }

    /// Whether a packet of the same layout can follow as the next of the flow.
    fn continues(&self, packet: &[u8]) -> bool {
        let Shape { is_v6, is_udp, transport, payload } = self.shape;
        let (ours, len) = (&self.bytes, packet.len() - payload);
        let same = |range: core::ops::Range<usize>| ours[range.clone()] == packet[range];
        let follows = if is_v6 {
            same(0..4) && same(6..40)
        } else {
            let (first, id) = (word(ours, 4), word(packet, 4));
            let is_constant = id == first && packet[6] & DONT_FRAGMENT != 0;
            let continues = is_constant || id == first.wrapping_add(self.count as u16);
            same(0..2) && continues && same(6..10) && same(12..20)
        };
        let fits = len <= self.size && ours.len() + len <= MAX_BYTES;
        let ports = transport..transport + 4;
        follows && fits && same(ports) && (is_udp || self.continues_segment(packet))
    }

    /// Whether a TCP header is equal, with the next sequence number.
    fn continues_segment(&self, packet: &[u8]) -> bool {
        let Shape { transport, payload, .. } = self.shape;
        let ours = &self.bytes;
        let same = |range: core::ops::Range<usize>| ours[range.clone()] == packet[range];
        let sent = (ours.len() - payload) as u32;
        let seq = |bytes: &[u8]| u32::from_be_bytes([4, 5, 6, 7].map(|at| bytes[transport + at]));
        let flags = |bytes: &[u8]| bytes[transport + FLAGS] & !PSH;
        seq(packet) == seq(ours).wrapping_add(sent)
            && same(transport + 8..transport + FLAGS)
            && flags(packet) == flags(ours)
            && same(transport + FLAGS + 1..transport + SUM)
            && same(transport + SUM + 2..payload)
    }
}

impl Shape {
    /// Whether a packet of this layout is a segment with PSH.
    fn is_pushed(self, packet: &[u8]) -> bool {
        !self.is_udp && packet[self.transport + FLAGS] & PSH != 0
    }
}

/// The layout of a packet that may be joined: a data segment of an open connection without urgent
/// data, or a UDP datagram with payload and checksum; without IP options or extension headers.
fn shape(packet: &[u8]) -> Option<Shape> {
    let read = ip::parse(packet, 0).ok()?;
    let is_v6 = packet[0] >> 4 == 6;
    let transport = if is_v6 { 40 } else { 20 };
    let body = read.body.as_ptr().addr() - packet.as_ptr().addr();
    let is_plain =
        read.part() == Part::Whole && body == transport && read.len as usize == packet.len();
    let (is_udp, payload) = match read.transport {
        ip::Transport::Tcp(segment) => {
            let is_data = packet.get(transport + FLAGS)? & !PSH == ACK && segment.payload_len > 0;
            (false, is_data.then(|| packet.len().checked_sub(segment.payload_len as usize))??)
        }
        ip::Transport::Udp(_) => {
            let payload = transport + UDP_HEADER_LEN;
            let stated = packet.get(transport + UDP_LENGTH..payload).map(|field| word(field, 0))?;
            let has_all = usize::from(stated) == packet.len() - transport;
            // A sum of zero means that there is no checksum (RFC 768); a joined packet would have
            // one.
            let has_sum = word(packet, transport + UDP_SUM) != 0;
            (true, (has_all && has_sum && packet.len() > payload).then_some(payload)?)
        }
        _ => return None,
    };
    is_plain.then_some(Shape { is_v6, is_udp, transport, payload })
}
