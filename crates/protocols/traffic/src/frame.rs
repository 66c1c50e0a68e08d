//! One frame: data that is needed as a whole.

use fairwave_units::Duration;

/// Dependence of a frame on others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Nothing: it is coded by itself (an I frame).
    Intra,
    /// The frame before it, which was decoded (a P frame).
    Predicted,
}

/// One frame, as the encoder gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Counting from zero.
    pub number: u64,
    /// Its dependence.
    pub kind: FrameKind,
    /// Time at which it was captured, from the source's start.
    pub at: Duration,
    /// Its size in bytes; at least one.
    pub bytes: u64,
}

impl Frame {
    /// Returns the number of datagrams of at most `payload_bytes` that it fills.
    pub const fn datagrams(&self, payload_bytes: u32) -> u64 {
        self.bytes.div_ceil(if payload_bytes == 0 { 1 } else { payload_bytes as u64 })
    }
}
