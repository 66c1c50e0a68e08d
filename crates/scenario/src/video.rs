//! Keys of flows that somebody watches: `flow.playout`, and `flow.video` of streams.

use super::reader::{self, Read, Reader, nested};
use super::value::{Data, Value};
use super::words;
use fairwave_sim::world;
use fairwave_traffic::{self as traffic, Source};
use fairwave_units::{BitRate, Duration};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// The viewer at `to` (`docs/models/video.md`). What it saw is in the flow's summary. Frames are
/// those of a video; of every other source each datagram is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Playout {
    /// From a frame's capture to its showing, for "skip"; for "stall" what is buffered before the
    /// first frame is shown; up to 60 s. Default: "200 ms".
    #[schemars(with = "String")]
    pub delay: Duration,
    /// What to do about a frame that is not there in time: "skip" it, as a call does, or "stall"
    /// until it is there, as a stream does. Default: "skip".
    #[serde(serialize_with = "policy")]
    #[schemars(with = "String", extend("enum" = ["skip", "stall"]))]
    pub policy: world::Policy,
}

/// Frames of a video.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Video {
    /// Mean rate of payload, 1 kbps to 10 Gbps. Required.
    #[schemars(with = "String")]
    pub rate: BitRate,
    /// Between frames, 1 ms to 10 s. Default: "40 ms".
    #[schemars(with = "String")]
    pub interval: Duration,
    /// Frames of a group of pictures, the first an I frame; 1 to 1000. Default: 12.
    pub group: u32,
    /// Mean size of an I frame over that of a P frame, 0.1 to 100. Default: 4.
    pub intra_ratio: f64,
    /// Standard deviation of a frame's size over its mean, 0 to 10. Default: 0.25.
    pub spread: f64,
}

fn policy<S: Serializer>(value: &world::Policy, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(reader::word(words::POLICIES, value))
}

/// Reads the table `playout`.
pub(super) fn playout(value: &Value) -> Read<Playout> {
    let Data::Table(table) = &value.data else {
        return Err(
            reader::wrong_type(value, "a table").help("write playout = {} for its defaults")
        );
    };
    let most = Duration::from_secs(60);
    nested(table, value, |r| Playout {
        delay: r.or("delay", Duration::from_millis(200), reader::within(Duration::ZERO, most)),
        policy: r.or("policy", world::Policy::Skip, reader::choice(words::POLICIES)),
    })
}

/// Reads the table `video`.
pub(super) fn table(value: &Value) -> Read<Video> {
    let Data::Table(table) = &value.data else {
        let help = "write video = { rate = \"2 Mbps\" }";
        return Err(reader::wrong_type(value, "a table").help(help));
    };
    nested(table, value, |r| video(r).unwrap_or(Video::unread()))
}

/// Reads the keys of a video, which stand in a table of their own or beside others.
pub(super) fn video(r: &Reader<'_>) -> Option<Video> {
    let rates = reader::within(BitRate(1_000), BitRate::mbps(10_000));
    let rate = r.required("rate", "rate = \"2 Mbps\"", rates);
    let video = frames(r, Video { rate: rate.unwrap_or_default(), ..Video::unread() });
    rate.map(|_| video)
}

/// Reads the keys of a video but for its rate; `d` are the defaults.
pub(super) fn frames(r: &Reader<'_>, d: Video) -> Video {
    let frames = reader::within(Duration::from_millis(1), Duration::from_secs(10));
    Video {
        rate: d.rate,
        interval: r.or("interval", d.interval, frames),
        group: r.or("group", d.group, reader::count(1, 1000)),
        intra_ratio: r.or("intra_ratio", d.intra_ratio, reader::real(0.1, 100.0)),
        spread: r.or("spread", d.spread, reader::real(0.0, 10.0)),
    }
}

impl Playout {
    pub(super) fn to_world(self) -> world::Playout {
        world::Playout { delay: self.delay, policy: self.policy }
    }
}

impl Video {
    /// The defaults, and no rate.
    pub(super) const fn unread() -> Self {
        Self {
            rate: BitRate(0),
            interval: Duration::from_millis(40),
            group: 12,
            intra_ratio: 4.0,
            spread: 0.25,
        }
    }

    /// As a source; a datagram, where there are any, carries at most `payload_bytes`.
    pub(super) fn to_world(self, payload_bytes: u32) -> Source {
        let Self { rate, interval, group, intra_ratio, spread } = self;
        Source::Video(traffic::Video { rate, interval, group, intra_ratio, spread, payload_bytes })
    }
}
