//! Google's congestion control for real-time media (draft-ietf-rmcat-gcc-02; Carlucci, De Cicco,
//! Holmer and Mascolo, *Congestion control for web real-time communication*, IEEE/ACM ToN 25(5),
//! 2017), with the trendline filter that libwebrtc has put in the place of the draft's Kalman
//! filter.
//!
//! The delay-based part looks at how the spacing of packet groups changes on the way ([`arrival`]),
//! fits a line to its sum and compares the slope with a threshold that adapts ([`trend`]), and
//! lowers or raises its rate ([`aimd`]). The loss-based part evaluates losses ([`loss`]). The
//! target is the smaller of both.

pub mod aimd;
pub mod arrival;
pub mod loss;
mod rate;
pub mod trend;

use aimd::Aimd;
use arrival::Groups;
use fairwave_units::{BitRate, Duration, Instant};
use loss::Losses;
use rate::Incoming;
use trend::{Threshold, Trendline, Usage};

/// Minimum jump of a receiver's clock that shows that it was set (as in libwebrtc `InterArrival`).
const CLOCK_JUMP_NS: i64 = 3_000_000_000;

/// Bounds of the target rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Minimum.
    pub min: BitRate,
    /// Initial value.
    pub start: BitRate,
    /// Maximum.
    pub max: BitRate,
}

/// Feedback on a packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// Time at which it was sent.
    pub sent: Instant,
    /// Time at which it arrived, in nanoseconds of the receiver's clock; `None` if it was reported
    /// missing.
    pub arrived: Option<i64>,
    /// Its length with headers.
    pub bytes: u32,
}

/// The controller of one sender.
#[derive(Clone, Debug)]
pub struct Gcc {
    bounds: Bounds,
    threshold: Threshold,
    groups: Groups,
    trendline: Trendline,
    incoming: Incoming,
    aimd: Aimd,
    losses: Losses,
    /// Time of the last feedback, and the newest arrival in it.
    newest: Option<(Instant, i64)>,
    usage: Usage,
}

impl Gcc {
    /// Time without feedback after which the rate is reduced by a fifth, again and again while
    /// packets are unanswered. The draft does not define this; the number is Fairwave's.
    pub const SILENCE: Duration = Duration::from_secs(1);

    /// A controller before any feedback. Bounds out of order are taken as `min` at most `max`.
    pub fn new(bounds: Bounds, threshold: Threshold) -> Self {
        let min = bounds.min.max(BitRate(1));
        let max = bounds.max.max(min);
        let bounds = Bounds { min, start: bounds.start.clamp(min, max), max };
        Self {
            bounds,
            threshold,
            groups: Groups::default(),
            trendline: Trendline::new(threshold),
            incoming: Incoming::default(),
            aimd: Aimd::new(bounds.start.0 as f64),
            losses: Losses::default(),
            newest: None,
            usage: Usage::Normal,
        }
    }

    /// Returns the permitted rate.
    pub fn target(&self) -> BitRate {
        let rate = self.aimd.rate().min(self.losses.limit());
        BitRate(rate as u64).clamp(self.bounds.min, self.bounds.max)
    }

    /// Returns the meaning of the newest packets' delay.
    pub const fn usage(&self) -> Usage {
        self.usage
    }

    /// Handles the fate of packets, in the order of their sending.
    pub fn on_feedback(&mut self, now: Instant, fates: &[Fate], rtt: Duration) {
        if self.clock_has_jumped(now, fates) {
            self.forget_delays();
        }
        let mut overused = false;
        for fate in fates {
            let Some(arrived) = fate.arrived else { continue };
            self.incoming.take(arrived, fate.bytes);
            if let Some(delta) = self.groups.take(fate.sent, arrived) {
                self.usage = self.trendline.take(&delta);
                overused |= self.usage == Usage::Over;
            }
        }
        if fates.iter().any(|fate| fate.arrived.is_some()) {
            let usage = if overused { Usage::Over } else { self.usage };
            self.aimd.update(now, usage, self.incoming.rate(), rtt);
            self.bound_aimd();
        }
        let lost = fates.iter().filter(|fate| fate.arrived.is_none()).count();
        let target = self.target().0 as f64;
        self.losses.take(now, lost as u64, fates.len() as u64, target, rtt);
        self.losses.keep_above(self.bounds.min.0 as f64);
    }

    /// Returns whether the receiver's clock is another than at the last feedback: [`CLOCK_JUMP_NS`]
    /// ahead of the sender's progress, or as much back. Feedback that was delayed on its way
    /// reports arrivals that advance more slowly than the sender's clock, so that is no jump.
    fn clock_has_jumped(&mut self, now: Instant, fates: &[Fate]) -> bool {
        let Some(newest) = fates.iter().filter_map(|fate| fate.arrived).max() else { return false };
        let Some((then, before)) = self.newest.replace((now, newest)) else { return false };
        let went = now.since(then).as_nanos().cast_signed();
        let came = newest - before;
        came - went >= CLOCK_JUMP_NS || came <= -CLOCK_JUMP_NS
    }

    /// Nothing has been received for [`Self::SILENCE`], though something was sent.
    pub fn on_silence(&mut self) {
        self.aimd.lower(0.8 * self.target().0 as f64);
        self.bound_aimd();
    }

    /// Handles a change of the path: earlier observations say nothing of delays from now on. The
    /// rate stays.
    pub fn forget_delays(&mut self) {
        self.groups = Groups::default();
        self.trendline = Trendline::new(self.threshold);
        self.incoming = Incoming::default();
        self.usage = Usage::Normal;
    }

    fn bound_aimd(&mut self) {
        self.aimd.clamp(self.bounds.min.0 as f64, self.bounds.max.0 as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Feedback on a packet of 1000 B.
    fn receive(gcc: &mut Gcc, sent_ms: u64, arrived_ms: u64) {
        let arrived = Some(1_000_000 * arrived_ms.cast_signed());
        let fate = Fate { sent: at(sent_ms), arrived, bytes: 1_000 };
        gcc.on_feedback(at(arrived_ms + 20), &[fate], Duration::from_millis(40));
    }

    /// Packets every 20 ms, each 2 ms later than the one before, are over-use. On another path with
    /// half a second of delay nothing of that is known, and the rate is not lowered any more.
    #[test]
    fn a_new_path_begins_with_nothing_known() {
        let (min, max) = (BitRate(50_000), BitRate(10_000_000));
        let bounds = Bounds { min, start: BitRate(1_000_000), max };
        let mut gcc = Gcc::new(bounds, Threshold::Draft);
        (0..100).for_each(|n| receive(&mut gcc, 20 * n, 22 * n));
        assert_eq!(gcc.usage(), Usage::Over);
        gcc.forget_delays();
        assert_eq!(gcc.usage(), Usage::Normal);
        let mut target = gcc.target();
        for n in 100..200 {
            receive(&mut gcc, 20 * n, 20 * n + 500);
            assert_eq!(gcc.usage(), Usage::Normal, "packet {n}");
            assert!(gcc.target() >= target, "packet {n}");
            target = gcc.target();
        }
    }
}
