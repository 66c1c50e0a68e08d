//! What flows send: the keys of sources of datagrams and of web pages.
//!
//! As in [`super::model`], one field is one key and its doc comment is its documentation.

mod decode;
mod file;
mod world;

use super::video::Video;
use fairwave_traffic::Emission;
use fairwave_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::sync::Arc;

pub(super) use decode::{TRAFFIC_KEYS, udp, web};

/// A UDP flow.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Udp {
    /// UDP payload of each datagram (the largest, for video), 1 B to 2268 B; not for a trace.
    /// Default: "1472 B"; "172 B" for voip, which is 20 ms of G.711 and an RTP header.
    #[serde(serialize_with = "maybe_bytes", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub payload: Option<u32>,
    /// How datagrams are made. Required.
    #[serde(flatten)]
    pub traffic: Traffic,
}

/// How datagrams are made. Where there is an `interval` between datagrams, a `rate` in bits of
/// payload per second may be written instead.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "traffic", rename_all = "kebab-case")]
pub enum Traffic {
    /// At a constant rate.
    Cbr {
        /// One every so often. Required, or `rate`.
        #[schemars(with = "String")]
        interval: Duration,
    },
    /// At exponential intervals.
    Poisson {
        /// Mean interval. Required, or `rate`.
        #[schemars(with = "String")]
        interval: Duration,
    },
    /// At a constant rate in periods of random length, and then silent.
    OnOff {
        /// Interval within a period. Required, or `rate`.
        #[schemars(with = "String")]
        interval: Duration,
        /// Mean length of a period. Default: "1 s".
        #[schemars(with = "String")]
        on: Duration,
        /// Mean length of silence. Default: "1 s".
        #[schemars(with = "String")]
        off: Duration,
        /// Periods and silences are Pareto distributed with this shape, above 1 to 10, or "off":
        /// exponential. Default: "off".
        #[serde(serialize_with = "number_or_off")]
        #[schemars(extend("type" = ["number", "string"]))]
        pareto_shape: Option<f64>,
    },
    /// Talk-spurts and pauses of one direction of a call, both exponential.
    Voip {
        /// Between datagrams of a talk-spurt. Default: "20 ms".
        #[schemars(with = "String")]
        interval: Duration,
        /// Mean talk-spurt. Default: "1004 ms" (ITU-T P.59).
        #[schemars(with = "String")]
        on: Duration,
        /// Mean pause. Default: "1587 ms" (ITU-T P.59).
        #[schemars(with = "String")]
        off: Duration,
    },
    /// Frames of a video, each cut into datagrams that are sent at once.
    Video(Video),
    /// Datagrams at the times and of the sizes of a list.
    Trace {
        /// Each `"<time> <bytes>"`, as in `"20 ms 160 B"`, in order of time; at most 30,000. In
        /// place of it, `file` names a CSV file with lines of seconds and bytes; a relative path
        /// is sought from the scenario's directory. Required.
        #[serde(serialize_with = "lines")]
        #[schemars(with = "Vec<String>")]
        emissions: Arc<[Emission]>,
        /// The list begins anew so often, or "never". Default: "never".
        #[serde(serialize_with = "super::model::or_never")]
        #[schemars(with = "String")]
        repeat_every: Option<Duration>,
    },
    /// As fast as the interface takes them.
    Saturate {},
}

/// Web pages that a user at `to` fetches from `from`, over TCP connections that `to` opens. The
/// defaults are those of 3GPP2 C.R1002-0.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Web {
    /// Connections at once, 1 to 32. Default: 6.
    pub connections: u32,
    /// Size of a request, up to 64 KiB. Default: "350 B".
    #[serde(serialize_with = "bytes")]
    #[schemars(with = "String")]
    pub request: u32,
    /// Mean time to read a page, exponential. Default: "30 s".
    #[schemars(with = "String")]
    pub reading: Duration,
    /// Mean time from the main object to the first embedded ones, exponential. Default: "130 ms".
    #[schemars(with = "String")]
    pub parsing: Duration,
    /// Embedded objects of a page: a number up to 1000, or a table. Default: the table's.
    pub objects: Objects,
    /// Size of the main object. Default: log-normal with a mean of 10710 B and a standard
    /// deviation of 25032 B, from 100 B to 2 MB.
    pub main_object: Size,
    /// Size of an embedded object. Default: log-normal with a mean of 7758 B and a standard
    /// deviation of 126168 B, from 50 B to 2 MB.
    pub embedded_object: Size,
}

/// How many embedded objects a page has.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Objects {
    /// Always so many.
    Constant(u32),
    /// A Pareto number up to `most`, less `least`.
    Pareto {
        /// Least value before it is taken off, from 1. Default: 2.
        least: u32,
        /// The exponent, 0.1 to 10. Default: 1.1.
        shape: f64,
        /// Greatest value before `least` is taken off, up to 1000. Default: 55.
        most: u32,
    },
}

/// Size of an object: a size, or a table with a mean (log-normal) or a shape (Pareto).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Size {
    /// Always the same.
    Constant(#[schemars(with = "String")] Bytes),
    /// Log-normal.
    LogNormal {
        /// Mean before truncation. Required.
        #[schemars(with = "String")]
        mean: Bytes,
        /// Standard deviation before truncation. Default: the mean.
        #[schemars(with = "String")]
        deviation: Bytes,
        /// Smaller ones are drawn again. Default: "1 B".
        #[schemars(with = "String")]
        least: Bytes,
        /// Greater ones are drawn again; up to 1 TB. Default: "2 MB".
        #[schemars(with = "String")]
        most: Bytes,
    },
    /// Pareto.
    Pareto {
        /// The exponent, 0.1 to 10. Required.
        shape: f64,
        /// Where the distribution begins. Required.
        #[schemars(with = "String")]
        least: Bytes,
        /// Where it is cut off; up to 1 TB. Default: "2 MB".
        #[schemars(with = "String")]
        most: Bytes,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
pub(super) fn bytes<S: Serializer>(value: &u32, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&Bytes(u64::from(*value)).to_string())
}

#[expect(clippy::ref_option, reason = "serde passes fields by reference")]
fn number_or_off<S: Serializer>(value: &Option<f64>, s: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(number) => s.serialize_f64(*number),
        None => s.serialize_str("off"),
    }
}

fn maybe_bytes<S: Serializer>(value: &Option<u32>, s: S) -> Result<S::Ok, S::Error> {
    bytes(&value.unwrap_or_default(), s)
}

fn lines<S: Serializer>(list: &Arc<[Emission]>, s: S) -> Result<S::Ok, S::Error> {
    let line = |e: &Emission| format!("{} {}", e.at, Bytes(u64::from(e.bytes)));
    s.collect_seq(list.iter().map(line))
}
