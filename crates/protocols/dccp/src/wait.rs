//! Time for which feedback waits at its host before the sender acts on it.
//!
//! A round trip ends when the sender gets feedback (RFC 5348 section 4.3, step 1). Hosts state the
//! time at which a packet reached the socket, as the receiver's half of a connection needs it. A
//! program that runs late acts later than that, and its packets go later. With the time of the
//! socket as the end of the round trip, such a sender of TFRC may send a round trip's worth of
//! packets each time it runs, which is less than X, and X follows the receive rate down to a packet
//! per run. To CCID 2 the wait is a part of its loop, which its timeout has to allow for.

use fairwave_units::Instant;

/// Feedback that the sender has not acted on, as weights of its samples in a moving average.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wait {
    weight: f64,
    /// Weighted sum of the times waited up to `since`, in seconds.
    waited: f64,
    since: Instant,
}

impl Wait {
    /// Feedback arrived whose sample has this weight, from 0 to 1, in the average.
    pub(crate) fn arrived(&mut self, now: Instant, weight: f64) {
        self.waited += self.weight * now.since(self.since).as_secs_f64();
        self.waited *= 1.0 - weight;
        self.weight = self.weight * (1.0 - weight) + weight;
        self.since = now;
    }

    /// The sender acts. Returns the seconds by which the average grows.
    pub(crate) fn end(&mut self, now: Instant) -> f64 {
        let Self { weight, waited, since } = std::mem::take(self);
        if weight > 0.0 { waited + weight * now.since(since).as_secs_f64() } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::Duration;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn an_average_is_that_of_samples_up_to_the_action() {
        let (stamps, acts) = ([10, 30, 35], 50);
        let average = |ends: [u64; 3]| {
            let mut average = 0.2;
            for end in ends {
                average = 0.9 * average + 0.1 * (0.001 * end as f64);
            }
            average
        };
        let mut wait = Wait::default();
        stamps.iter().for_each(|stamp| wait.arrived(at(*stamp), 0.1));
        let grown = average(stamps) + wait.end(at(acts));
        assert!((grown - average([acts; 3])).abs() < 1e-12, "{grown}");
        assert_eq!(wait.end(at(1_000)), 0.0, "nothing waits");
    }

    #[test]
    fn the_first_sample_is_the_average() {
        let mut wait = Wait::default();
        wait.arrived(at(10), 1.0);
        assert!((wait.end(at(30)) - 0.02).abs() < 1e-12);
    }
}
