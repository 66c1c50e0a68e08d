//! The reason for which an end waits between two packets of new data.
//!
//! The idea is that of T-RAT (Zhang, Breslau, Paxson, Shenker 2002): a sender's last action shows
//! why it does not send. A segment that is not full was all the data of the application; one that
//! reaches the edge of the window must wait for the receiver; and a sender with nothing in flight
//! for longer than a round trip has nothing to send.

use crate::analysis::TcpWay;
use fairwave_units::{Duration, Instant};

/// Reason for which nothing new is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// Its congestion window, its pacing, its buffer: a capture does not distinguish them.
    Sender,
    /// The other end's window is full.
    Window,
    /// The application has given no more.
    Application,
}

/// Follows one end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waits {
    /// Since when, and why.
    now: Option<(Instant, Reason)>,
    /// Since when everything that it sent is acknowledged, here.
    drained: Option<Instant>,
    /// Longest payload of a single segment.
    full: u32,
    /// End of the last time that was counted. Clocks may go back, and no time counts twice.
    counted_to: Instant,
}

impl Waits {
    /// Counts no time before this one.
    pub(super) fn begin(&mut self, at: Instant) {
        self.counted_to = at;
    }

    /// New data of `len` bytes is sent, in pieces of at most `piece`; `fills` says whether it
    /// reaches the edge of the window. `far` is the round-trip time between here and this end.
    pub(super) fn data(
        &mut self,
        at: Instant,
        len: u32,
        piece: u32,
        fills: bool,
        far: Duration,
        tcp: &mut TcpWay,
    ) {
        self.finish(at, far, tcp);
        // On a path with a smaller MTU no segment is as long as the MSS allows.
        self.full = self.full.max(len.min(piece));
        let reason = if fills {
            Reason::Window
        } else if !len.is_multiple_of(self.full) {
            Reason::Application
        } else {
            Reason::Sender
        };
        self.now = Some((at, reason));
    }

    /// A retransmission: from now on the sender is busy with that.
    pub(super) fn repair(&mut self, at: Instant, far: Duration, tcp: &mut TcpWay) {
        if self.now.is_some() {
            self.finish(at, far, tcp);
            self.now = Some((at, Reason::Sender));
        }
    }

    /// Packets that it sent meanwhile are missing: it did have something to send.
    pub(super) fn outage(&mut self) {
        self.drained = None;
        self.now = self.now.map(|(from, _)| (from, Reason::Sender));
    }

    /// All that it sent is acknowledged.
    pub(super) fn drain(&mut self, at: Instant) {
        if self.now.is_some() {
            self.drained.get_or_insert(at);
        }
    }

    /// Whether its last segment was not full: all the data of the application.
    pub(super) const fn is_short(&self) -> bool {
        matches!(self.now, Some((_, Reason::Application)))
    }

    /// Whether the application has nothing to send, as far as is known.
    pub(super) fn is_application(&self) -> bool {
        self.drained.is_some() || matches!(self.now, Some((_, Reason::Application)))
    }

    /// It sends its FIN, or nothing more is seen of it.
    pub(super) fn end(&mut self, at: Instant, far: Duration, tcp: &mut TcpWay) {
        self.finish(at, far, tcp);
        self.now = None;
    }

    fn finish(&mut self, at: Instant, far: Duration, tcp: &mut TcpWay) {
        let drained = self.drained.take();
        let Some((from, reason)) = self.now else { return };
        let counted_to = self.counted_to;
        self.counted_to = counted_to.max(at);
        let (from, drained) = (from.max(counted_to), drained.map(|at| at.max(counted_to)));
        let (into, length) = match (reason, drained) {
            (Reason::Application, _) => (&mut tcp.application_limited, at.since(from)),
            (Reason::Window, _) => (&mut tcp.window_limited, at.since(from)),
            (Reason::Sender, Some(drained)) => {
                // Here the last ACK passes before its sender has it, and new data later.
                let length = at.since(drained).as_nanos().saturating_sub(far.as_nanos());
                (&mut tcp.application_limited, Duration::from_nanos(length))
            }
            (Reason::Sender, None) => return,
        };
        *into = Duration::from_nanos(into.as_nanos().saturating_add(length.as_nanos()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECE: u32 = 1_448;

    const fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// Application-limited and window-limited time in milliseconds.
    fn times(far_ms: u64, steps: impl FnOnce(&mut Waits, &mut TcpWay, Duration)) -> [u64; 2] {
        let (mut waits, mut tcp) = (Waits::default(), TcpWay::default());
        steps(&mut waits, &mut tcp, Duration::from_millis(far_ms));
        [tcp.application_limited, tcp.window_limited].map(|time| time.as_nanos() / 1_000_000)
    }

    #[test]
    fn a_short_segment_was_all_there_was() {
        let reported = times(0, |waits, tcp, far| {
            waits.data(ms(0), 45 * PIECE, PIECE, false, far, tcp);
            waits.data(ms(1), PIECE + 100, PIECE, false, far, tcp);
            waits.data(ms(500), PIECE, PIECE, false, far, tcp);
        });
        assert_eq!(reported, [499, 0]);
    }

    #[test]
    fn a_sender_without_anything_in_flight_has_nothing_to_send_at_either_end_of_the_path() {
        let far_20 = times(20, |waits, tcp, far| {
            waits.data(ms(0), PIECE, PIECE, false, far, tcp);
            waits.drain(ms(0));
            waits.data(ms(20), PIECE, PIECE, false, far, tcp);
            waits.drain(ms(20));
            waits.data(ms(100), PIECE, PIECE, false, far, tcp);
        });
        assert_eq!(far_20, [60, 0]);
        let near = times(0, |waits, tcp, far| {
            waits.data(ms(0), PIECE, PIECE, false, far, tcp);
            waits.data(ms(20), PIECE, PIECE, false, far, tcp);
            waits.drain(ms(40));
            waits.data(ms(100), PIECE, PIECE, false, far, tcp);
        });
        assert_eq!(near, [60, 0]);
    }

    #[test]
    fn a_full_window_and_a_repair_are_not_the_application() {
        let reported = times(0, |waits, tcp, far| {
            waits.data(ms(0), PIECE, PIECE, false, far, tcp);
            waits.data(ms(1), 700, PIECE, true, far, tcp);
            waits.data(ms(21), 700, PIECE, false, far, tcp);
            waits.repair(ms(31), far, tcp);
            waits.data(ms(231), PIECE, PIECE, false, far, tcp);
            waits.end(ms(300), far, tcp);
        });
        assert_eq!(reported, [10, 20]);
    }
}
