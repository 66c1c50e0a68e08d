//! ACKs when the application reads: a segment with PSH is the end of something that the peer
//! wrote, so that its next data may wait for an ACK.
//!
//! After Linux (`net/ipv4/tcp_input.c`, `tcp_measure_rcv_mss`; `net/ipv4/tcp.c`,
//! `__tcp_cleanup_rbuf`): a read that empties the receive buffer sends the ACK that is still
//! delayed. A connection that sends data of its own ("pingpong") keeps it for that data, unless two
//! short segments wait for it.

use fairwave_units::{Duration, Instant};

/// Unacknowledged data that calls for an ACK when it is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pushed {
    is_wanted: bool,
    /// An answer to data within this time makes the connection interactive.
    answer_within: Duration,
    /// Time of the last data in order.
    last: Option<Instant>,
    /// A segment with PSH, or a short one, arrived since the last ACK (`ICSK_ACK_PUSHED`).
    once: bool,
    /// A short one arrived after that (`ICSK_ACK_PUSHED2`).
    twice: bool,
    is_interactive: bool,
}

impl Pushed {
    pub(super) fn new(is_wanted: bool, answer_within: Duration) -> Self {
        Self {
            is_wanted,
            answer_within,
            last: None,
            once: false,
            twice: false,
            is_interactive: false,
        }
    }

    /// Data arrived in order, in a segment that is shorter than a full one (`is_short`) or bears
    /// PSH.
    pub(super) fn arrived(&mut self, now: Instant, is_short: bool, psh: bool) {
        self.last = Some(now);
        self.twice |= is_short && self.once;
        self.once |= is_short || psh;
    }

    /// This end sends data.
    pub(super) fn data_was_sent(&mut self, now: Instant) {
        self.is_interactive |= self.last.is_some_and(|at| now.since(at) < self.answer_within);
    }

    /// No data came in time for an ACK to ride on, or the peer needs ACKs because of a gap.
    pub(super) fn end_interaction(&mut self) {
        self.is_interactive = false;
    }

    /// An ACK leaves.
    pub(super) fn acknowledged(&mut self) {
        (self.once, self.twice) = (false, false);
    }

    /// Whether a read that empties the buffer sends the ACK that is delayed.
    pub(super) fn wants_ack(&self) -> bool {
        self.is_wanted && (self.twice || (self.once && !self.is_interactive))
    }
}
