//! The retransmission timer, and how long the peer has been silent (RFC 6298 section 5).

use super::rtt::RttEstimator;
use crate::Config;
use fairwave_units::{Duration, Instant};

/// Time for which a sender waits at least before it believes that the peer has reneged.
const MIN_RENEGE_WAIT: Duration = Duration::from_millis(10);

/// The round-trip time and the timers that depend on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    rtt: RttEstimator,
    /// Time at which the retransmission timer expires.
    timer: Option<Instant>,
    /// Time at which a segment with data left last.
    last_sent: Option<Instant>,
    /// Expiries since the peer's last segment.
    silent_expiries: u32,
    /// Whether the congestion window restarts after idleness.
    restarts: bool,
}

impl Timing {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            rtt: RttEstimator::new(config),
            timer: None,
            last_sent: None,
            silent_expiries: 0,
            restarts: config.slow_start_after_idle,
        }
    }

    pub(super) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    pub(super) fn sample(&mut self, rtt: Duration) {
        self.rtt.sample(rtt);
    }

    /// Takes the age of an echoed timestamp, in whole ticks, where the departure is not known.
    pub(super) fn sample_echo(&mut self, now: Instant, age: Duration) {
        self.rtt.sample_echo(now, age);
    }

    /// Ends back-off; before the first sample the timeout becomes at least `floor`.
    pub(super) fn restart_rtt(&mut self, floor: Duration) {
        self.rtt.restart(floor);
    }

    /// Time at which the retransmission timer expires.
    pub(super) fn timer(&self) -> Option<Instant> {
        self.timer
    }

    pub(super) fn start_timer(&mut self, now: Instant) {
        self.timer = Some(self.rtt.expiry(now));
    }

    /// Starts the timer for data that the peer has dropped after reporting it. ACKs in flight may
    /// show otherwise, so it is given half a round-trip time, and at least 10 ms (Linux,
    /// `tcp_check_sack_reneging`).
    pub(super) fn start_renege_timer(&mut self, now: Instant) {
        let half = self.rtt.srtt().map_or(Duration::ZERO, |srtt| srtt / 2);
        self.timer = Some(now + half.max(MIN_RENEGE_WAIT));
    }

    pub(super) fn stop_timer(&mut self) {
        self.timer = None;
    }

    /// Handles an expired timer: backs off and starts it anew. Returns the expiries since the
    /// peer's last segment.
    pub(super) fn expire(&mut self, now: Instant) -> u32 {
        self.expire_after(now, 0)
    }

    /// The same, but the first `linear` expiries in a row do not back off.
    pub(super) fn expire_after(&mut self, now: Instant, linear: u32) -> u32 {
        if self.silent_expiries >= linear {
            self.rtt.back_off();
        }
        self.silent_expiries += 1;
        self.start_timer(now);
        self.silent_expiries
    }

    /// Records a segment of the peer.
    pub(super) fn note_segment_received(&mut self) {
        self.silent_expiries = 0;
    }

    pub(super) fn silent_expiries(&self) -> u32 {
        self.silent_expiries
    }

    /// A segment with data leaves: the timer runs from then on (RFC 6298 (5.1)).
    pub(super) fn note_sent(&mut self, now: Instant) {
        self.last_sent = Some(now);
        if self.timer.is_none() {
            self.start_timer(now);
        }
    }

    /// Returns the time since the last departure, if the congestion window restarts after it: if it
    /// is longer than the RTO (RFC 5681 section 4.1).
    pub(super) fn idle(&self, now: Instant) -> Option<Duration> {
        let idle = now.since(self.last_sent?);
        (self.restarts && idle > self.rtt.base_rto()).then_some(idle)
    }
}
