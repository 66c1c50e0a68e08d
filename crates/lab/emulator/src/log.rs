//! Record of the packets and commands that entered a world, and their times: enough to repeat the
//! run in virtual time.
//!
//! A file begins with `FWIN`, a version of 16 bits and 16 bits of zero. Records follow: length of
//! the body (32 bits), its CRC-32C, body. All numbers are little-endian. A body begins with its
//! kind:
//!
//! - 1, a packet: time in ns (64 bits); source node, destination node and length in bytes (32 bits
//!   each); the bytes that were kept.
//! - 2, the end: time in ns (64 bits), whether all packets are there (8 bits).
//! - 3, a command: time in ns (64 bits), its text in UTF-8.

mod read;
mod write;

pub use read::{Error, Reader, Record};
pub use write::{Keep, Recorded, Writer};

const MAGIC: [u8; 4] = *b"FWIN";
/// Version of the format that this program writes, and the only one that it reads.
pub const VERSION: u16 = 1;

const PACKET: u8 = 1;
const END: u8 = 2;
const CONTROL: u8 = 3;

/// Length of a packet's record before the packet, in bytes.
const PACKET_HEAD: usize = 1 + 8 + 4 + 4 + 4;
/// Maximum length of a command's text in bytes.
pub const MAX_CONTROL: usize = 65_000;
/// Maximum length of a body: that with the longest packet.
const MAX_BODY: usize = PACKET_HEAD + 65_535;

#[cfg(test)]
mod tests;
