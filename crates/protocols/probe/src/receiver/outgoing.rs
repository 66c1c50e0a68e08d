//! The packets that a receiver was asked to send.

use crate::pace::Pace;
use fairwave_units::{Duration, Instant};
use fairwave_wire::probe::{MAX_FETCHED_LEN, MIN_DATA_LEN, Order};

/// For so long after an order was last repeated, its packets are sent. Whoever does not get them
/// any more, or never wanted them, is left alone after that.
const LEASE: Duration = Duration::from_secs(2);

/// A train that is being sent.
#[derive(Debug)]
pub(super) struct Outgoing {
    order: Order,
    /// Time at which the next packet is due, the session's pace aside.
    next: Instant,
    lease: Instant,
}

impl Outgoing {
    pub(super) fn new(order: Order, now: Instant) -> Self {
        Self { order, next: now, lease: now + LEASE }
    }

    /// The order was repeated.
    pub(super) fn renew(&mut self, now: Instant) {
        self.lease = now + LEASE;
    }

    /// Returns the time at which packet `number` is to be sent, if the session lasts `until` then.
    pub(super) fn next(&self, number: u32, pace: &Pace, until: Instant) -> Option<Instant> {
        let at = pace.at_earliest(self.next);
        (number < self.order.packets && at < self.lease.min(until)).then_some(at)
    }

    /// Packet `number` is sent: its length as UDP payload.
    pub(super) fn take(&mut self, number: u32, now: Instant, header_bytes: u64) -> usize {
        let len = usize::from(self.order.payload_bytes).clamp(MIN_DATA_LEN, MAX_FETCHED_LEN);
        self.next = if number < self.order.spaced {
            now + self.order.interval
        } else {
            now + self.order.rate.time_for(len as u64 + header_bytes)
        };
        len
    }
}
