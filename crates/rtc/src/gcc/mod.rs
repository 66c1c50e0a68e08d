//! Google's congestion control for real-time media (draft-ietf-rmcat-gcc-02; Carlucci, De Cicco,
//! Holmer and Mascolo, *Congestion control for web real-time communication*, IEEE/ACM ToN 25(5),
//! 2017), with the trendline filter that libwebrtc has put in the place of the draft's Kalman
//! filter.
//!
//! The delay-based part looks at how the spacing of packet groups changes on the way ([`arrival`]),
//! fits a line to its sum and compares the slope with a threshold that adapts ([`trend`]), and
//! lowers or raises its rate ([`aimd`]). The loss-based part looks at losses ([`loss`]). The
//! target is the lesser of both.

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

/// Between which rates the target stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The least.
    pub min: BitRate,
    /// What it begins with.
    pub start: BitRate,
    /// The most.
    pub max: BitRate,
}

/// What feedback says of a packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// When it was sent.
    pub sent: Instant,
    /// When it arrived, in nanoseconds of the receiver's clock; `None`: not, as far as is known.
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
    last_feedback: Option<Instant>,
    usage: Usage,
}

impl Gcc {
    /// A rate is taken down by a fifth for every such time without feedback, while something is
    /// unanswered. The draft leaves this open; the number is Fairwave's.
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
            last_feedback: None,
            usage: Usage::Normal,
        }
    }

    /// What may be sent.
    pub fn target(&self) -> BitRate {
        let rate = self.aimd.rate().min(self.losses.limit());
        BitRate(rate as u64).clamp(self.bounds.min, self.bounds.max)
    }

    /// What the delay of the newest packets means.
    pub const fn usage(&self) -> Usage {
        self.usage
    }

    /// Hears what became of packets, in the order of their sending.
    pub fn on_feedback(&mut self, now: Instant, fates: &[Fate], rtt: Duration) {
        self.last_feedback = Some(now);
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
    }

    /// Nothing has been heard for [`Self::SILENCE`], though something was sent.
    pub fn on_silence(&mut self) {
        self.aimd.lower(0.8 * self.target().0 as f64);
        self.bound_aimd();
    }

    /// The path has changed: what was observed before says nothing of delays from now on. The rate
    /// stays.
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
