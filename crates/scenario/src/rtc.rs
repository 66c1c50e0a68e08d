//! Flows of real-time media: their keys, and from those to what the simulator runs.

use super::diagnostic::Refusal;
use super::reader::{self, Reader};
use super::traffic;
use super::value::{Data, Value};
use super::video::{self, Video};
use fairwave_sim::world;
use fairwave_units::{BitRate, Duration};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// Keys of media flows that are not keys of all flows, and not of other kinds.
pub(super) const OWN_KEYS: &[&str] =
    &["adaptive", "min_rate", "start_rate", "max_rate", "feedback_interval", "threshold"];
/// Those that other kinds have too.
const SHARED_KEYS: &[&str] =
    &["rate", "interval", "group", "intra_ratio", "spread", "payload", "remedies"];

/// A video over RTP whose rate follows Google's congestion control, as in browsers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Rtc {
    /// Whether the encoder follows the congestion control; else it has a `rate` of its own, and
    /// what is too much waits at the sender. Default: true.
    pub adaptive: bool,
    /// Mean rate of the encoder, 1 kbps to 10 Gbps, where it does not adapt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub rate: Option<BitRate>,
    /// Least rate that the congestion control asks for, with all headers; 1 kbps to 10 Gbps.
    /// Default: "50 kbps".
    #[schemars(with = "String")]
    pub min_rate: BitRate,
    /// What it begins with. Default: "300 kbps".
    #[schemars(with = "String")]
    pub start_rate: BitRate,
    /// The most. Default: "10 Mbps".
    #[schemars(with = "String")]
    pub max_rate: BitRate,
    /// From the first packet that the receiver has not told of to its feedback, 10 ms to 1 s.
    /// Default: "100 ms".
    #[schemars(with = "String")]
    pub feedback_interval: Duration,
    /// How fast the threshold follows that delays are compared with: as the "draft" has it, or as
    /// "libwebrtc". Default: "draft".
    #[serde(serialize_with = "threshold")]
    #[schemars(with = "String", extend("enum" = ["draft", "libwebrtc"]))]
    pub threshold: world::Threshold,
    /// Most of a frame in a packet, 1 B to 2248 B. Default: "1200 B".
    #[serde(serialize_with = "traffic::bytes")]
    #[schemars(with = "String")]
    pub payload: u32,
    /// Between frames, 1 ms to 10 s. Default: "40 ms".
    #[schemars(with = "String")]
    pub interval: Duration,
    /// Frames of a group of pictures, the first an I frame; 1 to 1000. Default: 12.
    pub group: u32,
    /// Mean size of an I frame over that of a P frame, 0.1 to 100. Default: 1: encoders of
    /// calls keep frames even.
    pub intra_ratio: f64,
    /// Standard deviation of a frame's size over its mean, 0 to 10. Default: 0.1.
    pub spread: f64,
    /// What the congestion control does about handovers of the station `from`: "leave-out" ignores
    /// what was observed before and meanwhile. Default: none.
    #[serde(serialize_with = "remedies")]
    #[schemars(with = "Vec<String>")]
    pub remedies: LeaveOut,
}

const THRESHOLDS: &[(&str, world::Threshold)] =
    &[("draft", world::Threshold::Draft), ("libwebrtc", world::Threshold::Libwebrtc)];

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn threshold<S: Serializer>(value: &world::Threshold, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(reader::word(THRESHOLDS, value))
}

/// Whether the remedy "leave-out" is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeaveOut(pub bool);

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn remedies<S: Serializer>(value: &LeaveOut, s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(value.0.then_some("leave-out"))
}

fn listed(value: &Value) -> reader::Read<LeaveOut> {
    let Data::List(values) = &value.data else {
        return Err(reader::wrong_type(value, "a list such as [\"leave-out\"]"));
    };
    if values.len() > 1 {
        return Err(Refusal::new("media has but one remedy").help("write [\"leave-out\"]"));
    }
    let known = reader::choice(&[("leave-out", LeaveOut(true))]);
    values.first().map_or(Ok(LeaveOut(false)), known)
}

/// Every key of media flows that is not one of all flows.
pub(super) fn keys() -> Vec<&'static str> {
    [OWN_KEYS, SHARED_KEYS].concat()
}

/// Reads a media flow.
pub(super) fn rtc(r: &Reader<'_>) -> Option<Rtc> {
    let rates = || reader::within(BitRate(1_000), BitRate::mbps(10_000));
    let adaptive = r.or("adaptive", true, reader::boolean);
    let rate = if adaptive {
        r.meaningless(&["rate"], "the encoder follows the congestion control");
        r.know(&["rate"]);
        None
    } else {
        Some(r.required("rate", "rate = \"1 Mbps\"", rates())?)
    };
    let min_rate = r.or("min_rate", BitRate(50_000), rates());
    let max_rate = r.or("max_rate", BitRate::mbps(10), rates());
    let usual = BitRate(300_000).clamp(min_rate.min(max_rate), max_rate);
    let start_rate = r.or("start_rate", usual, rates());
    if min_rate > max_rate {
        let message = format!("min_rate is {min_rate}, which is more than max_rate, {max_rate}");
        r.refuse("min_rate", Refusal::new(message));
    } else if !(min_rate..=max_rate).contains(&start_rate) {
        let message = format!("start_rate is {start_rate}, not from {min_rate} to {max_rate}");
        r.refuse("start_rate", Refusal::new(message));
    }
    let second = Duration::from_secs(1);
    let intervals = reader::within(Duration::from_millis(10), second);
    let even = Video { intra_ratio: 1.0, spread: 0.1, ..Video::unread() };
    let Video { interval, group, intra_ratio, spread, .. } = video::frames(r, even);
    Some(Rtc {
        adaptive,
        rate,
        min_rate,
        start_rate,
        max_rate,
        feedback_interval: r.or("feedback_interval", second / 10, intervals),
        threshold: r.or("threshold", world::Threshold::Draft, reader::choice(THRESHOLDS)),
        payload: r.or("payload", 1200, reader::size(1, 2248)),
        interval,
        group,
        intra_ratio,
        spread,
        remedies: r.or("remedies", LeaveOut(false), listed),
    })
}

impl Rtc {
    pub(super) fn to_world(&self) -> world::Traffic {
        let Self { interval, group, intra_ratio, spread, .. } = *self;
        let rate = self.rate.unwrap_or(self.start_rate);
        let video = Video { rate, interval, group, intra_ratio, spread };
        world::Traffic::Rtc(world::RtcFlow {
            source: video.to_world(self.payload),
            adapts: self.adaptive,
            bounds: world::RtcBounds {
                min: self.min_rate,
                start: self.start_rate,
                max: self.max_rate,
            },
            threshold: self.threshold,
            feedback_interval: self.feedback_interval,
            hears_of_handovers: self.remedies.0,
        })
    }
}
