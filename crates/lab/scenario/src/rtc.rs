//! Flows of real-time media: their keys, and the conversion to the simulator's inputs.

use crate::carrier::Carrier;
use crate::diagnostic::Refusal;
use crate::keys::{Flat, Kind, keys};
use crate::kinds::{boolean, choice, list, size, within};
use crate::reader::{self, Read, Reader};
use crate::value::{Data, Value};
use crate::video::Frames;
use fairwave_sim::world;
use fairwave_trace::NodeId;
use fairwave_units::{BitRate, Duration};
use serde_json::json;

keys! {
    /// A video over RTP whose rate follows Google's congestion control, as in browsers.
    pub struct Rtc |r| {
        /// Whether the encoder follows the congestion control. Otherwise it has a `rate` of its
        /// own, and excess data waits at the sender.
        adaptive: bool = boolean().or(true);
        /// Mean rate of the encoder, where it does not adapt.
        rate: Option<BitRate> = rates()
            .required("rate = \"1 Mbps\"")
            .when(!adaptive, "the encoder follows the congestion control");
        /// Minimum rate that the congestion control asks for, with all headers.
        min_rate: BitRate = rates().or(MIN);
        /// Rate that the congestion control begins with, between `min_rate` and `max_rate`.
        start_rate: BitRate = rates().or(within_bounds(r, min_rate));
        /// Greatest rate that the congestion control asks for.
        max_rate: BitRate = rates().or(MAX);
        /// Time from the first packet that the receiver has not reported to its feedback.
        feedback_interval: Duration =
            within(Duration::from_millis(10), Duration::from_secs(1))
                .or(Duration::from_millis(100));
        /// Adaptation speed of the threshold for delays: as in the "draft", or as in
        /// "libwebrtc".
        threshold: world::Threshold = choice(THRESHOLDS).or(world::Threshold::Draft);
        /// Largest part of a frame in a packet.
        payload: u32 = size(1, 2248).or(1200);
        /// Its frames, which encoders of calls keep even.
        frames: Frames = Flat(Frames { intra_ratio: 1.0, spread: 0.1, ..Frames::STREAM });
        /// Reaction of the congestion control to handovers of the station `from`: "leave-out"
        /// ignores observations from before and during the handover.
        remedies: LeaveOut = remedies().or(LeaveOut(false));
    }
    check Self::check;
}

const MIN: BitRate = BitRate(50_000);
const MAX: BitRate = BitRate::mbps(10);
const START: BitRate = BitRate(300_000);

const THRESHOLDS: &[(&str, world::Threshold)] =
    &[("draft", world::Threshold::Draft), ("libwebrtc", world::Threshold::Libwebrtc)];

fn rates() -> Kind<BitRate> {
    within(BitRate(1_000), BitRate::mbps(10_000))
}

/// The usual start rate, or the nearest to it that the bounds allow.
fn within_bounds(r: &Reader<'_>, min_rate: BitRate) -> BitRate {
    let max_rate = r.peek("max_rate", reader::quantity).unwrap_or(MAX);
    START.clamp(min_rate.min(max_rate), max_rate)
}

/// Whether the remedy "leave-out" is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeaveOut(pub bool);

fn remedies() -> Kind<LeaveOut> {
    let words = || json!({ "type": "string", "enum": ["leave-out"] });
    list(listed, |word| json!(word), words).map(
        |list| LeaveOut(!list.is_empty()),
        |LeaveOut(is_on)| is_on.then_some("leave-out").into_iter().collect(),
    )
}

fn listed(value: &Value) -> Read<Vec<&'static str>> {
    let Data::List(values) = &value.data else {
        return Err(reader::wrong_type(value, "a list such as [\"leave-out\"]"));
    };
    if values.len() > 1 {
        return Err(Refusal::new("media has but one remedy").help("write [\"leave-out\"]"));
    }
    values.iter().map(reader::choice(&[("leave-out", "leave-out")])).collect()
}

impl Rtc {
    fn check(&self, r: &Reader<'_>) {
        let Self { min_rate, start_rate, max_rate, .. } = self;
        if min_rate > max_rate {
            let message =
                format!("min_rate is {min_rate}, which is more than max_rate, {max_rate}");
            r.refuse("min_rate", Refusal::new(message));
        } else if !(min_rate..=max_rate).contains(&start_rate) {
            let message = format!("start_rate is {start_rate}, not from {min_rate} to {max_rate}");
            r.refuse("start_rate", Refusal::new(message));
        }
    }
}

impl Carrier for Rtc {
    fn to_world(&self, _: &dyn Fn(&str) -> NodeId) -> world::Traffic {
        let rate = self.rate.unwrap_or(self.start_rate);
        world::Traffic::Rtc(world::RtcFlow {
            source: self.frames.to_world(rate, self.payload),
            adapts: self.adaptive,
            bounds: world::RtcBounds {
                min: self.min_rate,
                start: self.start_rate,
                max: self.max_rate,
            },
            threshold: self.threshold,
            feedback_interval: self.feedback_interval,
            uses_handovers: self.remedies.0,
        })
    }

    fn remedies_at_source(&self) -> bool {
        self.remedies.0
    }
}
