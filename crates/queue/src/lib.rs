//! Packet queues and their limits.

use fairwave_units::Bytes;

/// The bound of a queue. What would exceed it is dropped at the tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most so many packets wait.
    Packets(u32),
    /// At most so many bytes wait, counted from the IP header on.
    Bytes(Bytes),
}
