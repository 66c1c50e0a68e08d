//! One frame: data that is of use only as a whole.

use fairwave_units::Duration;

/// Frames that a frame depends on.
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
    /// Frames that it depends on.
    pub kind: FrameKind,
    /// Time at which it was captured, from the source's start.
    pub at: Duration,
    /// Its size in bytes; at least one.
    pub bytes: u64,
}

impl Frame {
    /// Number of datagrams of at most `payload_bytes` that it fills.
    pub const fn datagrams(&self, payload_bytes: u32) -> u64 {
        self.bytes.div_ceil(if payload_bytes == 0 { 1 } else { payload_bytes as u64 })
    }
}
