//! A train that the receiver sends, while it arrives.

use crate::Trial;
use fairwave_units::{BitRate, Duration, Instant};
use fairwave_wire::probe::{Message, Order, Record};

/// Interval of orders: the receiver sends while orders come. Enough of these orders arrive through
/// an upload that loses most packets.
const RENEWAL: Duration = Duration::from_millis(100);
/// After so long a silence, longer than packets are apart, nothing more is expected, not even word
/// that all were sent.
const QUIET: Duration = Duration::from_secs(2);

/// Arrivals of the train so far.
#[derive(Debug)]
pub(super) struct Incoming {
    order: Order,
    arrived: Vec<Record>,
    seen: Vec<bool>,
    /// The receiver reported that all were sent.
    closed: bool,
    next: Instant,
    last_received: Instant,
}

impl Incoming {
    pub(super) fn new(train: u16, trial: Trial, rate: BitRate, now: Instant) -> Self {
        let Trial { payload_bytes, spaced, interval, .. } = trial;
        let packets = trial.packets();
        let payload_bytes = u16::try_from(payload_bytes).unwrap_or(u16::MAX);
        let order = Order { train, payload_bytes, packets, spaced, interval, rate };
        let seen = vec![false; packets as usize];
        Self { order, arrived: Vec::new(), seen, closed: false, next: now, last_received: now }
    }

    /// The order, if it is due.
    pub(super) fn due(&mut self, now: Instant) -> Option<(Message, usize)> {
        if now < self.next {
            return None;
        }
        self.next = now + RENEWAL;
        Some((Message::Fetch(self.order), 0))
    }

    /// Handles a packet. One that was not ordered, or a duplicate, does not count.
    pub(super) fn note(&mut self, train: u16, number: u32, now: Instant) {
        let place = self.seen.get_mut(number as usize).filter(|_| train == self.order.train);
        if place.is_some_and(|seen| !std::mem::replace(seen, true)) {
            self.last_received = now;
            self.arrived.push(Record { number, arrived: now });
        }
    }

    /// The receiver says that it has sent all of a train; this came behind them.
    pub(super) fn close(&mut self, train: u16) {
        self.closed |= train == self.order.train;
    }

    /// Whether nothing more is expected.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.closed || self.arrived.len() == self.seen.len() || now >= self.quiet()
    }

    fn quiet(&self) -> Instant {
        self.last_received + self.order.interval + QUIET
    }

    /// Time at which an order is due, or the silence too long.
    pub(super) fn next(&self) -> Instant {
        self.next.min(self.quiet())
    }

    /// Returns the arrivals in their order.
    pub(super) fn take_arrived(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.arrived)
    }
}
