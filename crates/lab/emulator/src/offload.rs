//! Offloads of a network card: division of large segments, and checksums.
//!
//! A TUN device with `IFF_VNET_HDR` puts a [`Header`] before each packet (virtio 1.2 section 5.1.6,
//! `linux/virtio_net.h`). The kernel leaves the checksum of such a packet incomplete and sends up
//! to 64 KiB as one segment; [`Segments`] divides it into the packets that a card would send.
//! [`Joiner`] does the opposite for packets that arrive at one instant.

mod cut;
mod join;

pub use cut::{Error, Segments};
pub use join::Joiner;

/// Length of the header of a TUN device in bytes (the kernel's default for `TUNSETVNETHDRSZ`).
pub const HEADER_LEN: usize = 10;

/// The checksum from [`Header::checksum_start`] on is incomplete (`VIRTIO_NET_HDR_F_NEEDS_CSUM`).
const NEEDS_CHECKSUM: u8 = 1;
/// The checksum has been verified (`VIRTIO_NET_HDR_F_DATA_VALID`).
const DATA_VALID: u8 = 2;

/// Kind of division of a large segment (`VIRTIO_NET_HDR_GSO_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gso {
    /// None: the packet has its form on the wire.
    #[default]
    None,
    /// TCP segments over IPv4 (TSO).
    Tcp4,
    /// Fragments of a UDP datagram over IPv4 (UFO).
    Fragments,
    /// TCP segments over IPv6.
    Tcp6,
    /// UDP datagrams (USO).
    Udp,
    /// Another kind, by its number.
    Other(u8),
}

impl Gso {
    const fn of(byte: u8) -> Self {
        // The highest bit means that the first segment has CWR set, as its flags also show.
        match byte & 0x7f {
            0 => Self::None,
            1 => Self::Tcp4,
            3 => Self::Fragments,
            4 => Self::Tcp6,
            5 => Self::Udp,
            other => Self::Other(other),
        }
    }

    const fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Tcp4 => 1,
            Self::Fragments => 3,
            Self::Tcp6 => 4,
            Self::Udp => 5,
            Self::Other(number) => number,
        }
    }
}

/// The header before a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Whether the checksum is incomplete: its field contains only the sum of the pseudo header.
    pub needs_checksum: bool,
    /// Whether the receiver need not verify the checksum.
    pub is_verified: bool,
    /// Kind of division.
    pub gso: Gso,
    /// Length of all headers in bytes; a hint.
    pub header_len: u16,
    /// Payload bytes of each piece except the last.
    pub gso_size: u16,
    /// Offset of the first byte that the checksum covers.
    pub checksum_start: u16,
    /// Offset of the checksum's field from there.
    pub checksum_offset: u16,
}

impl Header {
    /// Parses the header of a packet; `None` if it is truncated.
    pub fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (head, packet) = bytes.split_first_chunk::<HEADER_LEN>()?;
        let word = |at: usize| u16::from_ne_bytes([head[at], head[at + 1]]);
        let header = Self {
            needs_checksum: head[0] & NEEDS_CHECKSUM != 0,
            is_verified: head[0] & DATA_VALID != 0,
            gso: Gso::of(head[1]),
            header_len: word(2),
            gso_size: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        };
        Some((header, packet))
    }

    /// Its bytes, in the host's byte order.
    pub fn bytes(&self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        let verified = if self.is_verified { DATA_VALID } else { 0 };
        out[0] = verified | if self.needs_checksum { NEEDS_CHECKSUM } else { 0 };
        out[1] = self.gso.number();
        let words = [self.header_len, self.gso_size, self.checksum_start, self.checksum_offset];
        for (field, word) in out[2..].chunks_exact_mut(2).zip(words) {
            field.copy_from_slice(&word.to_ne_bytes());
        }
        out
    }
}

#[cfg(test)]
mod tests;
