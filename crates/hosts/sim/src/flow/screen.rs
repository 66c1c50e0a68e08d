//! The viewer at a flow's sink.

use crate::outcome::VideoOutcome;
use crate::spread::Spread;
use fairwave_trace::VideoSample;
pub use fairwave_traffic::playout::Policy;
use fairwave_traffic::playout::{self, Config, Made};
use fairwave_units::{Duration, Instant};

/// A viewer at a flow's sink ([`fairwave_traffic::playout`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Playout {
    /// Time from capture to showing, or the initial buffer of a stream.
    pub delay: Duration,
    /// Treatment of late frames.
    pub policy: Policy,
}

/// A viewer, with the times that frames took.
#[derive(Debug)]
pub(crate) struct Screen {
    playout: playout::Playout,
    latency: Spread,
    /// Bytes of a stream that it has seen.
    seen: u64,
}

impl Screen {
    pub(super) fn new(spec: Playout, interval: Duration) -> Self {
        let Playout { delay, policy } = spec;
        let playout = playout::Playout::new(Config { delay, policy, interval });
        Self { playout, latency: Spread::default(), seen: 0 }
    }

    /// A frame was made.
    pub(super) fn made(&mut self, made: Made) {
        self.playout.made(made);
    }

    /// The datagram with this number of the source's arrived.
    pub(super) fn datagram(&mut self, number: u64, now: Instant) {
        self.playout.arrived(now, number..number + 1);
        self.note();
    }

    /// The application has read the stream up to here.
    pub(super) fn stream(&mut self, read: u64, now: Instant) {
        if read > self.seen {
            self.playout.arrived(now, self.seen..read);
            self.seen = read;
            self.note();
        }
    }

    fn note(&mut self) {
        while let Some(took) = self.playout.latency() {
            self.latency.add(took);
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.playout.deadline()
    }

    pub(super) fn wake(&mut self, now: Instant) {
        self.playout.wake(now);
    }

    pub(super) fn restart(&mut self, now: Instant) {
        self.playout.restart(now);
        self.latency.restart();
    }

    pub(super) fn outcome(&self, now: Instant) -> VideoOutcome {
        VideoOutcome { quality: self.playout.quality(now), latency: self.latency.times() }
    }

    pub(super) fn sample(&self, now: Instant) -> VideoSample {
        let quality = self.playout.quality(now);
        VideoSample {
            shown: quality.shown,
            undecodable: quality.undecodable,
            late: quality.late(),
            missed: quality.missed,
            freezes: quality.freezes,
            frozen: quality.frozen,
            stalled: quality.stalled,
        }
    }
}
