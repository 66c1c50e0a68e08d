//! Keys of flows with a viewer: `flow.playout`, and `flow.video` of streams.

use crate::keys::{Flat, keys};
use crate::kinds::{choice, count, real, within};
use fairwave_sim::world;
use fairwave_traffic::{self as traffic, Source};
use fairwave_units::{BitRate, Duration};

const POLICIES: &[(&str, world::Policy)] =
    &[("skip", world::Policy::Skip), ("stall", world::Policy::Stall)];

keys! {
    /// The viewer at `to` (`docs/models/video.md`). Its results are in the flow's summary.
    /// Frames are those of a video; of every other source each datagram is one.
    pub struct Playout [Copy, Eq] |r| {
        /// From a frame's capture to its display, for "skip"; for "stall" the buffer before the
        /// first frame is shown.
        delay: Duration =
            within(Duration::ZERO, Duration::from_secs(60)).or(Duration::from_millis(200));
        /// Treatment of a frame that is late: "skip" it, as a call does, or "stall" until it
        /// arrives, as a stream does.
        policy: world::Policy = choice(POLICIES).or(world::Policy::Skip);
    }
}

keys! {
    /// Frames of a video.
    pub struct Video [Copy] |r| {
        /// Mean rate of payload.
        rate: BitRate =
            within(BitRate(1_000), BitRate::mbps(10_000)).required("rate = \"2 Mbps\"");
        /// Its frames.
        frames: Frames = Flat(Frames::STREAM);
    }
}

keys! {
    /// Times and sizes of the frames of a video.
    pub struct Frames [Copy] |r| (usual: Frames = Frames::STREAM) {
        /// Time between frames.
        interval: Duration =
            within(Duration::from_millis(1), Duration::from_secs(10)).or(usual.interval);
        /// Frames of a group of pictures, the first an I frame.
        group: u32 = count(1, 1000).or(usual.group);
        /// Mean size of an I frame over that of a P frame.
        intra_ratio: f64 = real(0.1, 100.0).or(usual.intra_ratio);
        /// Standard deviation of a frame's size over its mean.
        spread: f64 = real(0.0, 10.0).or(usual.spread);
    }
}

impl Playout {
    pub(super) fn to_world(self) -> world::Playout {
        world::Playout { delay: self.delay, policy: self.policy }
    }
}

impl Frames {
    /// Output of encoders of streams.
    pub(super) const STREAM: Self =
        Self { interval: Duration::from_millis(40), group: 12, intra_ratio: 4.0, spread: 0.25 };

    /// Converts the frames to a source of `rate`. A datagram, if datagrams are used, carries at
    /// most `payload_bytes`.
    pub(super) fn to_world(self, rate: BitRate, payload_bytes: u32) -> Source {
        let Self { interval, group, intra_ratio, spread } = self;
        Source::Video(traffic::Video { rate, interval, group, intra_ratio, spread, payload_bytes })
    }
}

impl Video {
    /// Converts the video to a source. A datagram, if datagrams are used, carries at most
    /// `payload_bytes`.
    pub(super) fn to_world(self, payload_bytes: u32) -> Source {
        self.frames.to_world(self.rate, payload_bytes)
    }
}
