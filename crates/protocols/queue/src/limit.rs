//! The bound of a queue.

use fairwave_units::Bytes;

/// The bound of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Maximum number of packets that wait.
    Packets(u32),
    /// Maximum number of bytes that wait, counted from the IP header on.
    Bytes(Bytes),
}

impl Limit {
    /// Whether an item of `more` bytes may join `len` items of `bytes` together.
    pub const fn admits(self, len: u32, bytes: Bytes, more: u32) -> bool {
        match self {
            Self::Packets(max) => len < max,
            Self::Bytes(max) => bytes.0 + more as u64 <= max.0,
        }
    }

    /// Whether `len` items of `bytes` together are too many.
    pub const fn is_exceeded(self, len: u32, bytes: Bytes) -> bool {
        match self {
            Self::Packets(max) => len > max,
            Self::Bytes(max) => bytes.0 > max.0,
        }
    }
}
