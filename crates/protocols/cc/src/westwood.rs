//! Westwood+ (Grieco, Mascolo 2004): Reno that falls to the measured capacity of the path.
//!
//! Once per round trip the bytes delivered give a sample b of the bandwidth, which the filter
//! `B = 0.9 B + 0.1 (b + previous b) / 2` smooths (Tustin's approximation of a low-pass). A loss
//! takes the window to `B * RTTmin`, the data that would fill the path without a queue. Growth is
//! [`Reno`]'s.
//!
//! A sample spans at least 50 ms and the first one starts the filter, as in Linux.

use crate::{AckEvent, Controller, Fraction, Initial, LossEvent, Reno, RtoEvent};
use fairwave_units::{BitRate, Duration, Instant};

#[cfg(test)]
mod tests;

/// Shortest span of a sample (TCP_WESTWOOD_RTT_MIN of Linux).
const MIN_SPAN: Duration = Duration::from_millis(50);

/// The algorithm of Westwood+.
#[derive(Clone, Debug)]
pub struct Westwood {
    reno: Reno,
    rtt: Option<Duration>,
    min_rtt: Option<Duration>,
    /// B in bits per second; `None` before the first sample.
    bandwidth: Option<u64>,
    /// The last b in bits per second.
    sample: u64,
    /// Time at which the current sample began, and the data delivered by then.
    since: Option<(Instant, u64)>,
}

impl Westwood {
    /// A connection's algorithm at its start.
    pub fn new(initial: Initial) -> Self {
        let reno = Reno::new(initial);
        Self { reno, rtt: None, min_rtt: None, bandwidth: None, sample: 0, since: None }
    }

    fn observe(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt {
            self.rtt = Some(rtt);
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |minimum| minimum.min(rtt)));
        }
        let (start, delivered) = *self.since.get_or_insert((ack.now, ack.delivered));
        let span = ack.now.since(start);
        if span >= self.rtt.unwrap_or(MIN_SPAN).max(MIN_SPAN) {
            self.since = Some((ack.now, ack.delivered));
            self.filter(BitRate::over(ack.delivered.saturating_sub(delivered), span));
        }
    }

    fn filter(&mut self, BitRate(sample): BitRate) {
        let smooth = |old: u64| {
            let twentieths = u128::from(old) * 18 + u128::from(sample) + u128::from(self.sample);
            // At most the largest of the three.
            (twentieths / 20) as u64
        };
        self.bandwidth = Some(self.bandwidth.map_or(sample, smooth));
        self.sample = sample;
    }

    /// B * RTTmin in bytes, but no more than cwnd; `otherwise` before anything was measured.
    fn target(&self, otherwise: u32) -> u32 {
        let (Some(rate), Some(rtt)) = (self.bandwidth, self.min_rtt) else { return otherwise };
        let bytes = u128::from(rate) * u128::from(rtt.as_nanos()) / 8_000_000_000;
        u32::try_from(bytes).unwrap_or(u32::MAX).min(self.reno.cwnd())
    }
}

impl Controller for Westwood {
    fn name(&self) -> String {
        "westwood".into()
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.observe(ack);
        self.reno.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &LossEvent) {
        self.reno.loss_to(loss, self.target(loss.flight / 2));
    }

    fn on_rto(&mut self, rto: &RtoEvent) {
        self.reno.timeout_to(rto, self.target(rto.flight / 2));
    }

    fn on_ecn(&mut self, loss: &LossEvent) {
        self.reno.mark_to(loss, self.target(loss.flight / 2));
    }

    fn on_spurious(&mut self, now: Instant) {
        self.reno.on_spurious(now);
    }

    /// As a lost segment.
    fn on_ack_loss(&mut self, _loss: &LossEvent, part: Fraction) {
        let before = self.reno.cwnd();
        self.reno.ack_loss_to(part.of_way(before, self.target(before / 2)));
    }

    /// The idle time must not count as a low bandwidth.
    fn on_idle_restart(&mut self, idle: Duration) {
        self.since = None;
        self.reno.on_idle_restart(idle);
    }

    fn on_path_change(&mut self, _now: Instant) {
        (self.rtt, self.min_rtt, self.bandwidth, self.since) = (None, None, None, None);
    }

    fn cwnd(&self) -> u32 {
        self.reno.cwnd()
    }

    fn ssthresh(&self) -> u32 {
        self.reno.ssthresh()
    }
}
