//! Whether a sender sent all it was allowed to (RFC 5348, section 8.2.1).

use fairwave_units::{Duration, Instant};

/// Two instants at which the sender was *not* limited by its data: one for the interval that the
/// next feedback covers, one for the interval after it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DataLimited {
    first: Option<Instant>,
    second: Option<Instant>,
    /// The newest packet that feedback covered, and when that feedback came.
    covered: Option<Instant>,
    next: Option<Instant>,
}

impl DataLimited {
    /// The sender has sent all that is allowed by `now`.
    pub(super) fn sent_all(&mut self, now: Instant) {
        if self.first <= self.covered {
            self.first = Some(now);
        } else if self.second <= self.next {
            self.second = Some(now);
        }
    }

    /// Whether the sender was limited by its data all through the interval that feedback of `now`
    /// covers: `rtt` seconds up to the time `newest` that the newest packet was sent.
    pub(super) fn covered(&mut self, now: Instant, newest: Instant, rtt: f64) -> bool {
        let oldest = newest - Duration::from_secs_f64(rtt);
        let inside = |at: Option<Instant>| at.is_some_and(|at| oldest < at && at <= newest);
        let limited = !inside(self.first) && !inside(self.second);
        self.covered = Some(newest);
        self.next = Some(now);
        if self.first <= self.covered && self.second > self.covered {
            self.first = self.second;
        }
        limited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn an_instant_of_sending_all_frees_the_interval_it_lies_in() {
        let mut limited = DataLimited::default();
        limited.sent_all(at(50));
        assert!(!limited.covered(at(150), at(100), 0.1), "50 lies in (0, 100]");
        // Nothing since: the next interval is limited by data.
        assert!(limited.covered(at(250), at(200), 0.1));
    }

    #[test]
    fn the_second_instant_serves_the_next_feedback() {
        let mut limited = DataLimited::default();
        limited.sent_all(at(50));
        assert!(!limited.covered(at(150), at(100), 0.1));
        limited.sent_all(at(140));
        limited.sent_all(at(180));
        assert!(!limited.covered(at(250), at(200), 0.1), "140 lies in (100, 200]");
        assert!(!limited.covered(at(350), at(250), 0.1), "180 lies in (150, 250]");
        assert!(limited.covered(at(500), at(450), 0.1));
    }
}
