//! Opening of the advertised window up to the buffer.
//!
//! After Linux (`net/ipv4/tcp_input.c`, `tcp_grow_window`; `rcv_ssthresh`): each segment that
//! arrives opens the window by two segments, so that a peer does not fill a large buffer at once,
//! and its ACK is quick.

/// Segments with less payload do not open the window.
const MIN: u32 = 128;

/// The window that may be advertised, whatever the buffer has free.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    /// The limit in bytes, `None` without one.
    limit: Option<u64>,
    /// Bytes by which a segment raises it at least.
    step: u64,
}

impl Opening {
    /// Makes a window that begins with `window` bytes, at most the limit of a SYN.
    pub(super) fn new(is_gradual: bool, window: u32, mss: u32) -> Self {
        let first = u64::from(window.min(0xffff));
        Self { limit: is_gradual.then_some(first), step: 2 * u64::from(mss) }
    }

    /// A segment of `len` bytes arrived while `free` bytes of the buffer were free. Whether the
    /// window opens for it.
    pub(super) fn arrived(&mut self, len: u32, free: u64) -> bool {
        let Some(limit) = self.limit.as_mut().filter(|limit| len >= MIN && **limit < free) else {
            return false;
        };
        *limit = free.min(*limit + self.step.max(2 * u64::from(len)));
        true
    }

    /// Returns the part of `free` bytes that may be advertised.
    pub(super) fn bound(&self, free: u64) -> u64 {
        self.limit.map_or(free, |limit| free.min(limit))
    }
}
