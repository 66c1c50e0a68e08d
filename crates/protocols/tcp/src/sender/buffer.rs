//! The send buffer: data that the application has written and the peer has not acknowledged.

use super::facts::Pick;
use crate::{Config, Payload, Store};

/// The stream between SND.UNA and the application's write position, and how far it was sent.
///
/// `una <= next <= end`, where the FIN adds one to `next` and `una`; the store holds the bytes
/// between `una` and `end`.
#[derive(Debug)]
pub(super) struct SendBuffer<P: Payload> {
    store: P::Store,
    /// Maximum number of bytes to keep, and how far that limit may grow.
    capacity: u32,
    max_capacity: u32,
    /// SND.UNA, SND.NXT and the application's write position.
    una: u64,
    next: u64,
    end: u64,
    /// The application has closed: a FIN follows the byte before `end`.
    fin: bool,
    /// The application waits for space.
    want_space: bool,
}

impl<P: Payload> SendBuffer<P> {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            store: P::Store::default(),
            capacity: config.send_buffer,
            max_capacity: config.send_buffer_max.unwrap_or(0),
            una: 0,
            next: 0,
            end: 0,
            fin: false,
            want_space: false,
        }
    }

    /// Returns this buffer with nothing sent: the application's data stays.
    pub(super) fn start_over(&mut self, config: &Config) -> Self {
        debug_assert_eq!(self.next, 0, "no data leaves before the handshake is over");
        let (store, end) = (core::mem::take(&mut self.store), self.end);
        Self { store, end, want_space: self.want_space, ..Self::new(config) }
    }

    /// Takes as much of `data` as there is space; the number of bytes taken.
    pub(super) fn write(&mut self, data: P) -> u32 {
        let len = data.len();
        let taken = len.min(self.space());
        if taken == len {
            self.store.push(data);
        } else if taken > 0 {
            self.store.push(data.slice(0, taken));
        }
        self.end += u64::from(taken);
        self.want_space |= taken < len || self.space() == 0;
        self.check();
        taken
    }

    /// Bytes that [`SendBuffer::write`] would take.
    pub(super) fn space(&self) -> u32 {
        if self.fin {
            return 0;
        }
        self.capacity.saturating_sub(self.store.len().min(u64::from(u32::MAX)) as u32)
    }

    /// Ends the data: a FIN follows the buffered bytes.
    pub(super) fn close(&mut self) {
        self.fin = true;
    }

    pub(super) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Lets the buffer follow the congestion window of `cwnd` bytes: one window in flight and
    /// one to replace it.
    pub(super) fn grow(&mut self, cwnd: u32) {
        if self.capacity < self.max_capacity {
            self.capacity = self.capacity.max(cwnd.saturating_mul(2).min(self.max_capacity));
        }
    }

    /// SND.UNA.
    pub(super) fn una(&self) -> u64 {
        self.una
    }

    /// SND.NXT.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the end of the data written so far; the FIN comes after it.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// FlightSize: outstanding bytes of sequence space.
    pub(super) fn flight(&self) -> u32 {
        (self.next - self.una) as u32
    }

    /// Whether anything is sent and not acknowledged.
    pub(super) fn has_outstanding(&self) -> bool {
        self.una < self.next
    }

    /// Bytes written and not sent yet.
    pub(super) fn waiting(&self) -> u64 {
        self.end.saturating_sub(self.next)
    }

    /// Whether a FIN is to follow them.
    pub(super) fn fin_waits(&self) -> bool {
        self.fin && self.next <= self.end
    }

    /// Whether data or a FIN was never sent.
    pub(super) fn has_unsent(&self) -> bool {
        self.waiting() > 0 || self.fin_waits()
    }

    /// The next `len` bytes of sequence space leave for the first time.
    pub(super) fn send(&mut self, len: u32) {
        self.next += u64::from(len);
        self.check();
    }

    /// SND.UNA becomes `una`. The bytes of data that this acknowledges, which are released.
    pub(super) fn acknowledge(&mut self, una: u64) -> u32 {
        let acked = una.min(self.end) - self.una.min(self.end);
        self.store.discard(acked);
        self.una = una;
        self.check();
        acked as u32
    }

    /// Frees the unacknowledged data.
    pub(super) fn discard(&mut self) {
        self.store = P::Store::default();
        (self.next, self.end) = (self.una, self.end.min(self.una));
        self.check();
    }

    /// Whether the peer has acknowledged the FIN.
    pub(super) fn fin_is_acked(&self) -> bool {
        self.fin && self.una > self.end
    }

    /// Whether the data written so far ends with this segment.
    pub(super) fn is_last(&self, pick: &Pick) -> bool {
        pick.start + u64::from(pick.payload) == self.end
    }

    /// The payload of `pick`, for a segment that covers nothing below SND.UNA.
    pub(super) fn payload(&self, pick: &Pick) -> P {
        if pick.payload == 0 {
            return P::default();
        }
        self.store.copy(pick.start - self.una, pick.payload)
    }

    /// Returns whether the application that waits for space should be notified that there is at
    /// least a segment of `smss` bytes again. It is notified once.
    pub(super) fn take_opened(&mut self, smss: u32) -> bool {
        let enough = smss.min(self.capacity / 2).max(1);
        let opened = self.want_space && self.space() >= enough;
        self.want_space &= !opened;
        opened
    }

    fn check(&self) {
        debug_assert!(self.una <= self.next, "SND.UNA {} > SND.NXT {}", self.una, self.next);
        let sendable = self.end + u64::from(self.fin);
        debug_assert!(self.next <= sendable, "SND.NXT {} > {sendable} written", self.next);
        let kept = self.end - self.una.min(self.end);
        debug_assert_eq!(self.store.len(), kept, "bytes kept from SND.UNA {} on", self.una);
    }
}
