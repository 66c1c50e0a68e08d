//! Results of a decoder: packets, bytes without one, and faults.

use crate::pcapng::LinkType;
use fairwave_units::Instant;
use std::ops::Range;
use thiserror::Error;

/// Longest packet in bytes: libpcap takes no more than 262144 from a link, a kernel that merges
/// segments before it shows them makes up to 512 KiB of TCP over IPv6, and USB transfers a MiB.
pub const PACKET_LEN_MAX: u32 = 1 << 20;
/// Longest block of pcapng that is looked into, in bytes: a packet with its options.
pub const BLOCK_LEN_MAX: u32 = PACKET_LEN_MAX + (1 << 18);
/// Maximum number of interfaces of one section of a pcapng file.
pub const INTERFACES_MAX: usize = 1 << 16;

/// Place of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Length in the bytes shown, headers included.
    pub len: usize,
    /// Range of the packet's own bytes among those shown; the capture may have cut it.
    pub data: Range<usize>,
    /// Number of bytes that the packet had on the wire.
    pub original_len: u32,
    /// First header of the packet.
    pub link_type: LinkType,
    /// On which interface of its section it was seen, the first being 0.
    pub interface: u32,
    /// Time at which it was captured, from the epoch of the file; `None` where the file does not
    /// say (simple packet blocks), or says a time before 1970 or after 2554.
    pub at: Option<Instant>,
    /// Whether the part of a second beside its seconds is a second or more. It counts in full.
    pub is_carried: bool,
}

/// Result for the bytes shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing yet: this number of bytes is needed.
    More(usize),
    /// This number of bytes holds no packet. There may be more of them than were shown.
    Skip(u64),
    /// A packet.
    Packet(Record),
}

/// Faults of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// It ends within a record.
    #[error("the file ends {missing} bytes before the record does")]
    Truncated {
        /// Number of bytes that are missing, as far as is known.
        missing: u64,
    },
    /// A packet that cannot have been captured.
    #[error("a packet of {len} bytes, the limit is {PACKET_LEN_MAX}")]
    PacketLength {
        /// Its length in bytes.
        len: u32,
    },
    /// A block of packets or interfaces that is too long.
    #[error("a block of {len} bytes, the limit is {BLOCK_LEN_MAX}")]
    BlockLength {
        /// Its length in bytes.
        len: u32,
    },
    /// A block that is too short for its type, or no multiple of four.
    #[error("a block of type {kind:#x} with {len} bytes, which its kind cannot have")]
    BlockShape {
        /// Its type.
        kind: u32,
        /// Its length in bytes.
        len: u32,
    },
    /// The length at a block's end is not the one at its beginning.
    #[error("a block that is {first} bytes long at its beginning and {last} at its end")]
    BlockEnds {
        /// Length at the beginning, in bytes.
        first: u32,
        /// Length at the end, in bytes.
        last: u32,
    },
    /// More in a packet block than it is long.
    #[error("a packet of {len} bytes in a block that has room for {room}")]
    Overfull {
        /// Length of the packet in bytes.
        len: u32,
        /// Bytes of the block behind its fixed fields.
        room: u32,
    },
    /// A packet of an interface that the section does not describe.
    #[error("a packet of interface {interface}, of which the section describes {described}")]
    Interface {
        /// The interface.
        interface: u32,
        /// Their number.
        described: usize,
    },
    /// A section that describes too many interfaces.
    #[error("more than {INTERFACES_MAX} interfaces in a section")]
    Interfaces,
    /// A resolution of times that 64 bits cannot count.
    #[error("times with resolution {0:#x}, finer than 64 bits can count")]
    Resolution(u8),
    /// A section header without its mark of the byte order.
    #[error("a section header with the byte-order mark {0:#010x}")]
    ByteOrder(u32),
    /// An unknown version.
    #[error("version {major}.{minor} of the format")]
    Version {
        /// The part before the dot.
        major: u16,
        /// The part behind it.
        minor: u16,
    },
}
