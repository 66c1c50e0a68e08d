//! Keys of a varying channel and of stations that move: what [`super::Scenario`] holds of them.

mod decode;
mod file;
mod world;

use super::model::{or_word_none, table_or_off};
use fairwave_dot11::Interpolation;
use fairwave_units::{Db, Duration, Metres};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::fmt;

pub(super) use decode::{bursts, fading, path, rate_control, roaming, shadowing, slope, snr_trace};
pub(super) use world::rates;

/// Small-scale fading of every pair of radios.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Fading {
    /// Power of the direct path over that of the scattered ones (Rice's K), or "none" for
    /// Rayleigh fading. Default: "none".
    #[serde(serialize_with = "or_word_none")]
    #[schemars(with = "String")]
    pub rice_k: Option<Db>,
    /// Greatest Doppler shift in hertz, speed over wavelength, up to 10 000: walking makes 12 Hz
    /// at 2.4 GHz. At 0 a pair keeps the gain that it drew. Required.
    pub doppler_hz: f64,
}

/// Log-normal shadowing of every pair of radios.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Shadowing {
    /// Standard deviation, up to 30 dB. Required.
    #[schemars(with = "String")]
    pub sigma: Db,
    /// Way after which the correlation has fallen to 1/e, or "none": a pair keeps what it drew
    /// wherever its ends go. Default: "none".
    #[serde(serialize_with = "or_word_none")]
    #[schemars(with = "String")]
    pub decorrelation: Option<Metres>,
}

/// A place that a station passes at a set time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WayPoint {
    /// When. Required.
    #[schemars(with = "String")]
    pub at: Duration,
    /// Where. Required.
    #[schemars(with = "[String; 2]")]
    pub position: [Metres; 2],
}

/// SNR over time between a station and access points. A file may be named instead of points:
/// `file`, a CSV file with lines of seconds and dB, sought beside the scenario.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SnrTrace {
    /// Times and ratios, in order: [["0 s", "20 dB"], ["5 s", "8 dB"]].
    #[schemars(with = "Vec<[String; 2]>")]
    pub points: Vec<(Duration, Db)>,
    /// What holds between two points: "linear" or "step". Default: "linear".
    #[serde(serialize_with = "interpolation")]
    #[schemars(with = "String", extend("enum" = ["linear", "step"]))]
    pub interpolation: Interpolation,
}

/// How a station changes its access point.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Roaming {
    /// Access points that it may use, on whatever channels; its `ap` is always one. Default: all.
    pub aps: Vec<String>,
    /// "named" begins with `ap`, "strongest" with the strongest. Default: "named".
    #[serde(rename = "begin", serialize_with = "begin")]
    #[schemars(with = "String", extend("enum" = ["named", "strongest"]))]
    pub begin_with_strongest: bool,
    /// Packets that its last access point keeps for it while it has none; the oldest stay, up to
    /// 100 000. Default: "50 packets".
    #[serde(serialize_with = "packets")]
    #[schemars(with = "String")]
    pub hold: u32,
    /// What it drops of its own waiting packets because it was away: "200 ms" all that were made
    /// longer ago, also while it is away; "25 packets" so many of the oldest once it is back; or
    /// "none". Default: "none".
    #[serde(serialize_with = "or_word_none")]
    #[schemars(with = "String")]
    pub discard: Option<Discard>,
    /// Handovers at set times, in order. Default: none.
    pub handovers: Vec<Handover>,
    /// Handovers to a stronger access point, or "off". Default: "off".
    #[serde(serialize_with = "table_or_off")]
    #[schemars(with = "super::model::Choice<BySignal>")]
    pub by_signal: Option<BySignal>,
}

/// What a station drops of its own waiting packets because it was away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// What was made longer ago.
    Older(Duration),
    /// So many of the oldest.
    Oldest(u32),
}

impl fmt::Display for Discard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Older(age) => age.fmt(f),
            Self::Oldest(packets) => write!(f, "{packets} packets"),
        }
    }
}

/// A handover at a set time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Handover {
    /// When the station leaves its access point. Required.
    #[schemars(with = "String")]
    pub at: Duration,
    /// The access point that it goes to. Required.
    pub to: String,
    /// How long it has none, up to 1 h. Default: "50 ms".
    #[schemars(with = "String")]
    pub disconnection: Duration,
}

/// When a station goes to a stronger access point, by mean levels every 100 ms.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BySignal {
    /// By how much the other must be stronger. Default: "6 dB".
    #[schemars(with = "String")]
    pub hysteresis: Db,
    /// For how long without a break. Default: "500 ms".
    #[schemars(with = "String")]
    pub dwell: Duration,
    /// How long the station has no access point then, up to 1 h. Default: "50 ms".
    #[schemars(with = "String")]
    pub disconnection: Duration,
}

const INTERPOLATIONS: &[(&str, Interpolation)] =
    &[("linear", Interpolation::Linear), ("step", Interpolation::Step)];

const BEGINNINGS: &[(&str, bool)] = &[("named", false), ("strongest", true)];

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn interpolation<S: Serializer>(value: &Interpolation, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(super::reader::word(INTERPOLATIONS, value))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn begin<S: Serializer>(value: &bool, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(super::reader::word(BEGINNINGS, value))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn packets<S: Serializer>(value: &u32, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&format!("{value} packets"))
}
