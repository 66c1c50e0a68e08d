//! Times of acknowledgements (RFC 4341 section 6, RFC 4340 section 11.3).

use crate::Ccid;
use crate::ccid::{Arrived, Receiver};
use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::{Options, Seq48};
use fairwave_wire::ipv4::Ecn;

/// Longest wait of an acknowledgement (RFC 4340 section 11.3).
const DELAY: Duration = Duration::from_millis(200);

/// The receiver's half of CCID 2. The Ack Vector of the connection reports arrivals.
#[derive(Debug)]
pub struct Ccid2Receiver {
    ack_ratio: u16,
    /// Data packets since the last acknowledgement.
    owed: u16,
    at_once: bool,
    greatest: Option<Seq48>,
    delayed_until: Option<Instant>,
}

impl Ccid2Receiver {
    /// A receiver with the Ack Ratio of new connections.
    pub const fn new() -> Self {
        Self { ack_ratio: 2, owed: 0, at_once: false, greatest: None, delayed_until: None }
    }
}

impl Default for Ccid2Receiver {
    fn default() -> Self {
        Self::new()
    }
}

impl Receiver for Ccid2Receiver {
    fn ccid(&self) -> Ccid {
        Ccid::TCP_LIKE
    }

    fn on_packet(&mut self, now: Instant, arrived: &Arrived<'_>) {
        let in_order = self.greatest.is_none_or(|greatest| arrived.seq == greatest + 1);
        self.greatest =
            Some(self.greatest.map_or(arrived.seq, |greatest| greatest.max(arrived.seq)));
        if arrived.data.is_none() {
            return;
        }
        self.owed = self.owed.saturating_add(1);
        self.at_once |= !in_order || arrived.ecn == Ecn::Ce;
        self.delayed_until.get_or_insert(now + DELAY);
    }

    fn is_due(&self, now: Instant) -> bool {
        let late = self.delayed_until.is_some_and(|at| at <= now);
        self.owed > 0 && (self.at_once || late || self.owed >= self.ack_ratio)
    }

    fn acknowledge(&mut self, _now: Instant, _ack: Seq48, _options: &mut Options) {
        self.owed = 0;
        self.at_once = false;
        self.delayed_until = None;
    }

    fn set_ack_ratio(&mut self, ratio: u16) {
        self.ack_ratio = ratio;
    }

    fn wake(&mut self, _now: Instant) {}

    fn deadline(&self) -> Option<Instant> {
        self.delayed_until
    }
}
