//! Division of a large segment into packets on the wire.

use super::{Gso, Header};
use fairwave_wire::checksum::Sum;
use fairwave_wire::ip::{self, Part};
use fairwave_wire::ipv4::{PROTOCOL_TCP, PROTOCOL_UDP};

/// Offsets in an IPv4 header.
const V4_TOTAL: usize = 2;
const V4_ID: usize = 4;
const V4_FRAGMENT: usize = 6;
const V4_SUM: usize = 10;
/// Offset of the payload length in an IPv6 header, and the header's length.
const V6_PAYLOAD: usize = 4;
const V6_HEADER_LEN: usize = 40;
/// Offsets in a TCP header.
const TCP_SEQ: usize = 4;
const TCP_DATA_OFFSET: usize = 12;
const TCP_FLAGS: usize = 13;
const TCP_SUM: usize = 16;
const TCP_HEADER_LEN: usize = 20;
/// Offsets in a UDP header, and its length.
const UDP_LENGTH: usize = 4;
const UDP_SUM: usize = 6;
const UDP_HEADER_LEN: usize = 8;
/// Offset of the checksum in an SCTP header; no other that a kernel leaves incomplete has it.
const SCTP_SUM: usize = 8;

const FIN_AND_PSH: u8 = 0x09;
const CWR: u8 = 0x80;
const MORE_FRAGMENTS: u16 = 0x2000;

/// Errors of a packet that cannot be sent on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The incomplete checksum is outside the packet.
    #[error("the checksum at {start} + {offset} is outside a packet of {len} bytes")]
    Checksum {
        /// Offset of the first byte that the checksum covers.
        start: u16,
        /// Offset of the checksum's field from there.
        offset: u16,
        /// Length of the packet in bytes.
        len: usize,
    },
    /// The packet does not match the kind of division in its header.
    #[error("the packet does not match its segmentation type {0:?}")]
    Mismatch(Gso),
    /// The kind of division is unknown to Fairwave.
    #[error("offload {0:?} is unknown")]
    Unknown(Gso),
    /// The pieces would have no payload.
    #[error("its segment size is {0} bytes")]
    Size(u16),
}

/// The packets of one frame from a kernel. [`Self::next_into`] returns them in order.
#[derive(Debug)]
pub struct Segments<'a> {
    frame: &'a [u8],
    how: CutKind,
    /// Offset of the transport header.
    transport: usize,
    /// Length of the headers that each piece begins with, in bytes.
    headers: usize,
    /// Payload bytes of a piece.
    size: usize,
    /// Payload bytes returned so far.
    done: usize,
    /// Packets returned so far.
    count: u16,
    is_v6: bool,
    /// For an undivided packet, the offsets of the first byte of its incomplete checksum, and of
    /// the checksum's field.
    unfinished: Option<(usize, usize)>,
}

/// Kind of division of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CutKind {
    Whole,
    Tcp,
    Udp,
    Fragments,
}

impl<'a> Segments<'a> {
    /// Divides `frame`, whose `header` was written by a kernel.
    ///
    /// # Errors
    /// An [`Error`] if header and frame are inconsistent; no part of the frame is then usable.
    pub fn new(header: &Header, frame: &'a [u8]) -> Result<Self, Error> {
        let unfinished = header.needs_checksum.then(|| unfinished(header, frame)).transpose()?;
        let (how, is_v6) = match header.gso {
            Gso::None => return Ok(Self::whole(frame, unfinished)),
            Gso::Tcp4 => (CutKind::Tcp, false),
            Gso::Tcp6 => (CutKind::Tcp, true),
            Gso::Udp => (CutKind::Udp, frame.first().is_some_and(|byte| byte >> 4 == 6)),
            Gso::Fragments => (CutKind::Fragments, false),
            other @ Gso::Other(_) => return Err(Error::Unknown(other)),
        };
        let (transport, headers) = layout(frame, how, is_v6).ok_or(Error::Mismatch(header.gso))?;
        let size = match how {
            // Fragments begin at multiples of eight bytes (RFC 791 section 3.1).
            CutKind::Fragments => usize::from(header.gso_size & !7),
            _ => usize::from(header.gso_size),
        };
        if size == 0 {
            return Err(Error::Size(header.gso_size));
        }
        let (done, count) = (0, 0);
        Ok(Self { frame, how, transport, headers, size, done, count, is_v6, unfinished })
    }

    /// A single packet, unchanged except for its checksum.
    pub fn whole(frame: &'a [u8], unfinished: Option<(usize, usize)>) -> Self {
        Self {
            frame,
            how: CutKind::Whole,
            transport: 0,
            headers: 0,
            size: frame.len().max(1),
            done: 0,
            count: 0,
            is_v6: false,
            unfinished,
        }
    }

    /// Number of packets that remain.
    pub fn left(&self) -> usize {
        let rest = self.frame.len() - self.headers - self.done;
        if self.count == 0 { rest.div_ceil(self.size).max(1) } else { rest.div_ceil(self.size) }
    }

    /// Replaces the content of `out` by the next packet; `false` if none remains.
    pub fn next_into(&mut self, out: &mut Vec<u8>) -> bool {
        let left = self.left();
        if left == 0 {
            return false;
        }
        let from = self.headers + self.done;
        let to = (from + self.size).min(self.frame.len());
        out.clear();
        out.extend_from_slice(&self.frame[..self.headers]);
        out.extend_from_slice(&self.frame[from..to]);
        match self.how {
            CutKind::Whole => self.finish_sum(out),
            CutKind::Tcp => self.finish_tcp(out, left == 1),
            CutKind::Udp => self.finish_udp(out),
            CutKind::Fragments => self.finish_fragment(out, left == 1),
        }
        self.done += to - from;
        self.count += 1;
        true
    }

    /// Completes a checksum whose field contains the sum of the pseudo header.
    fn finish_sum(&self, packet: &mut [u8]) {
        let Some((start, field)) = self.unfinished else { return };
        if field - start == SCTP_SUM {
            return finish_crc(&mut packet[start..]);
        }
        let sum = Sum::default().add(&packet[start..]).finish();
        // A UDP checksum of zero would mean that there is none (RFC 768).
        let sum = if sum == 0 && field - start == UDP_SUM { 0xffff } else { sum };
        put(packet, field, sum);
    }

    fn finish_tcp(&self, packet: &mut [u8], is_last: bool) {
        self.finish_ip(packet, self.count);
        let segment = &mut packet[self.transport..];
        let seq = u32::from_be_bytes([4, 5, 6, 7].map(|at| segment[at]));
        let seq = seq.wrapping_add(self.done as u32);
        segment[TCP_SEQ..TCP_SEQ + 4].copy_from_slice(&seq.to_be_bytes());
        if !is_last {
            segment[TCP_FLAGS] &= !FIN_AND_PSH;
        }
        if self.count > 0 {
            segment[TCP_FLAGS] &= !CWR;
        }
        put(segment, TCP_SUM, 0);
        let sum = self.transport_sum(packet, PROTOCOL_TCP);
        put(packet, self.transport + TCP_SUM, sum);
    }

    fn finish_udp(&self, packet: &mut [u8]) {
        self.finish_ip(packet, self.count);
        let len = (packet.len() - self.transport) as u16;
        put(packet, self.transport + UDP_LENGTH, len);
        put(packet, self.transport + UDP_SUM, 0);
        let sum = self.transport_sum(packet, PROTOCOL_UDP);
        put(packet, self.transport + UDP_SUM, if sum == 0 { 0xffff } else { sum });
    }

    /// Completes a fragment of an IPv4 datagram. The datagram's checksum is in the first fragment.
    fn finish_fragment(&self, packet: &mut [u8], is_last: bool) {
        if let (0, Some((start, field))) = (self.count, self.unfinished) {
            let sum = Sum::default().add(&self.frame[start..]).finish();
            put(packet, field, if sum == 0 { 0xffff } else { sum });
        }
        let more = if is_last { 0 } else { MORE_FRAGMENTS };
        put(packet, V4_FRAGMENT, (self.done / 8) as u16 | more);
        self.finish_ip(packet, 0);
    }

    /// Sets length, identification and checksum of the IP header of the `count`th packet.
    fn finish_ip(&self, packet: &mut [u8], count: u16) {
        let len = packet.len();
        if self.is_v6 {
            put(packet, V6_PAYLOAD, (len - V6_HEADER_LEN) as u16);
            return;
        }
        put(packet, V4_TOTAL, len as u16);
        put(packet, V4_ID, word(packet, V4_ID).wrapping_add(count));
        put(packet, V4_SUM, 0);
        let header_len = usize::from(packet[0] & 0xf) * 4;
        put(packet, V4_SUM, Sum::default().add(&packet[..header_len]).finish());
    }

    fn transport_sum(&self, packet: &[u8], protocol: u8) -> u16 {
        pseudo(packet, protocol, packet.len() - self.transport)
            .add(&packet[self.transport..])
            .finish()
    }
}

/// Computes the checksum of an SCTP packet, a CRC32c (RFC 9260 appendix A).
fn finish_crc(packet: &mut [u8]) {
    let field = SCTP_SUM..SCTP_SUM + 4;
    packet[field.clone()].fill(0);
    let crc = crc32c::crc32c(packet);
    packet[field].copy_from_slice(&crc.to_le_bytes());
}

/// The sum of the pseudo header of a packet whose transport segment has `len` bytes (RFC 9293
/// section 3.1, RFC 8200 section 8.1).
pub(super) fn pseudo(packet: &[u8], protocol: u8, len: usize) -> Sum {
    let addresses = if packet[0] >> 4 == 6 { &packet[8..40] } else { &packet[12..20] };
    let len = (len as u32).to_be_bytes();
    Sum::default().add(addresses).add(&[0, protocol]).add(&len)
}

pub(super) fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Offsets of the first byte of `frame`'s incomplete checksum, and of the checksum's field.
fn unfinished(header: &Header, frame: &[u8]) -> Result<(usize, usize), Error> {
    let (start, offset) = (header.checksum_start, header.checksum_offset);
    let field = usize::from(start) + usize::from(offset);
    let len = if usize::from(offset) == SCTP_SUM { 4 } else { 2 };
    match field + len <= frame.len() {
        true => Ok((usize::from(start), field)),
        false => Err(Error::Checksum { start, offset, len: frame.len() }),
    }
}

/// Offsets of a frame's transport header and of the payload to divide; `None` if the frame is not a
/// whole packet of this kind.
fn layout(frame: &[u8], how: CutKind, is_v6: bool) -> Option<(usize, usize)> {
    if frame.first()? >> 4 != if is_v6 { 6 } else { 4 } {
        return None;
    }
    let packet = ip::parse(frame, 0).ok()?;
    if packet.part() != Part::Whole || packet.len as usize != frame.len() {
        return None;
    }
    let transport = packet.body.as_ptr().addr() - frame.as_ptr().addr();
    let protocol = if is_v6 { None } else { Some(frame[9]) };
    let headers = match (how, packet.transport) {
        (CutKind::Tcp, ip::Transport::Tcp(_)) => {
            let len = usize::from(frame.get(transport + TCP_DATA_OFFSET)? >> 4) * 4;
            (len >= TCP_HEADER_LEN).then_some(transport + len)?
        }
        (CutKind::Udp, ip::Transport::Udp(_)) => transport + UDP_HEADER_LEN,
        (CutKind::Fragments, ip::Transport::Udp(_)) if protocol == Some(PROTOCOL_UDP) => transport,
        _ => return None,
    };
    (headers <= frame.len()).then_some((transport, headers))
}
