//! The keys of a scenario file with everything decided: what [`super::Scenario`] is made of.
//!
//! One field is one key of the same name; the doc comment of a field is its documentation in
//! the JSON schema, and names its default.

use super::air::{Fading, Shadowing};
use super::flow::Flow;
use super::link::Link;
use super::node::Node;
use super::phy::Generation;
use super::reader::word;
use super::soc::{LinkMonitor, Soc};
use super::words;
use fairwave_dot11::Standard;
use fairwave_units::{Bytes, Db, Dbm, Duration, Hertz};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// A scenario with every default resolved: what is simulated, apart from the sweep around it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Scenario {
    /// One line for people. Default: empty.
    pub title: String,
    /// Simulated time, 1 ms to 24 h. Default: "60 s".
    #[schemars(with = "String")]
    pub duration: Duration,
    /// Statistics count from here on; less than the duration. Default: "0 s".
    #[schemars(with = "String")]
    pub warm_up: Duration,
    /// Master seed of every random stream, below 2^63. Default: 1.
    pub seed: u64,
    /// What is recorded.
    pub record: Record,
    /// Radio cells: a table `[cell]`, or several `[[cell]]` with names.
    pub cell: Vec<Cell>,
    /// Nodes and groups of them.
    pub node: Vec<Node>,
    /// Wired links, and groups of them.
    pub link: Vec<Link>,
    /// Flows, and groups of flows.
    pub flow: Vec<Flow>,
}

/// What is recorded in the run directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Record {
    /// Interval of the time series; at most 1,000,000 in a run. Default: "100 ms".
    #[schemars(with = "String")]
    pub sample_every: Duration,
    /// Write every frame on the air to a capture file. Default: false.
    pub pcap: bool,
    /// Write every dropped packet. Default: true.
    pub drops: bool,
    /// Nodes whose packets are written as tcpdump there would write them, each into a file
    /// `capture-NODE.pcapng`; patterns such as `"pc*"` may be among them. Default: [].
    pub taps: Vec<String>,
    /// Of each packet at a tap this much is kept, 64 B to 65535 B, or "all". Default: "all".
    #[serde(serialize_with = "bytes_or_all")]
    #[schemars(with = "String")]
    pub snap_length: Option<u32>,
    /// Length of the bins, from the start on, whose goodput the summary keeps for each flow, or
    /// "off". Default: "off".
    #[serde(serialize_with = "or_off")]
    #[schemars(with = "String")]
    pub bins: Option<Duration>,
}

/// One radio channel.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    /// Its name, unique among cells. Default: "cell".
    pub name: String,
    /// The PHY. Required.
    #[serde(serialize_with = "standard")]
    #[schemars(with = "String", extend(
        "enum" = ["802.11a", "802.11b", "802.11g", "802.11n", "802.11ac", "802.11ax"]
    ))]
    pub standard: Standard,
    /// What it uses of the standard.
    #[serde(flatten)]
    pub generation: Generation,
    /// Centre frequency; the number of a 20 MHz channel may be written as `channel` instead. Cells
    /// on one frequency share its medium. Default: "5180 MHz" or "2412 MHz", by the band.
    #[schemars(with = "String")]
    pub frequency: Hertz,
    /// Exponent of the log-distance path loss beyond one metre, 1 to 10. Default: 3.
    pub path_loss_exponent: f64,
    /// Receiver noise figure over thermal noise. Default: "7 dB".
    #[schemars(with = "String")]
    pub noise_figure: Db,
    /// A transmission at or above this level makes the medium busy. Default: "-82 dBm".
    #[schemars(with = "String")]
    pub carrier_sense: Dbm,
    /// Least SINR at which a preamble is detected, or "off". Default: "4 dB".
    #[serde(serialize_with = "or_off")]
    #[schemars(with = "String")]
    pub preamble_detection: Option<Db>,
    /// A frame stronger by this takes over the receiver, or "off". Default: "10 dB".
    #[serde(serialize_with = "or_off")]
    #[schemars(with = "String")]
    pub capture: Option<Db>,
    /// Frame errors besides collisions. Default: "snr".
    pub errors: Errors,
    /// How levels vary from frame to frame, or "off". Default: "off".
    #[serde(serialize_with = "table_or_off")]
    #[schemars(with = "Choice<Fading>")]
    pub fading: Option<Fading>,
    /// How path losses of pairs differ, or "off". Default: "off".
    #[serde(serialize_with = "table_or_off")]
    #[schemars(with = "Choice<Shadowing>")]
    pub shadowing: Option<Shadowing>,
    /// What stations report of their channels, by which they are weighed, or "off". Default: "off".
    #[serde(serialize_with = "table_or_off")]
    #[schemars(with = "Choice<Soc>")]
    pub soc: Option<Soc>,
    /// How access points tell good links from bad ones, for queues that pass over bad ones, or
    /// "off". Default: "off".
    #[serde(serialize_with = "table_or_off")]
    #[schemars(with = "Choice<LinkMonitor>")]
    pub link_monitor: Option<LinkMonitor>,
    /// Data frames of this MPDU size and above use RTS/CTS, or "off". Default: "off".
    #[serde(serialize_with = "bytes_or_off")]
    #[schemars(with = "String")]
    pub rts_threshold: Option<u32>,
    /// Attempts for frames without RTS, 1 to 255. Default: 7.
    pub short_retry_limit: u32,
    /// Attempts for frames with RTS, 1 to 255. Default: 4.
    pub long_retry_limit: u32,
    /// Beacon interval of the access points, or "off". Default: "102.4 ms".
    #[serde(serialize_with = "or_off")]
    #[schemars(with = "String")]
    pub beacon_interval: Option<Duration>,
}

/// How frames get lost besides collisions.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Errors {
    /// By signal to interference and noise.
    Snr,
    /// Each frame independently.
    #[serde(untagged)]
    Rate {
        /// Probability that a data frame is not decoded. Default: 0.
        data: f64,
        /// The same for ACK, RTS and CTS. Default: 0.
        control: f64,
    },
    /// Data frames in bursts, by the chain of Gilbert and Elliott, one for each transmitter and
    /// receiver. It moves with each frame.
    #[serde(untagged)]
    Bursts {
        /// Probability of going from the good to the bad state. Required.
        p: f64,
        /// Probability of going back. Required.
        r: f64,
        /// Probability that a data frame is lost in the good state. Default: 0.
        good: f64,
        /// The same in the bad state. Default: 1.
        bad: f64,
    },
    /// Data frames by their level over noise, along a slope; other frames are intact.
    #[serde(untagged)]
    Slope {
        /// The level over noise at which half of the frames arrive. Required.
        #[schemars(with = "String")]
        middle: Db,
        /// Over this to either side the odds of arriving change by a factor of e, 0.01 dB to 20
        /// dB. Required.
        #[schemars(with = "String")]
        width: Db,
    },
}

fn standard<S: Serializer>(value: &Standard, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(word(words::STANDARDS, value))
}

fn or<T: ToString, S: Serializer>(value: Option<T>, none: &str, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&value.map_or(none.to_owned(), |v| v.to_string()))
}

/// A table, or the word "off", for the schema.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum Choice<T> {
    /// Not at all.
    Off,
    /// As the table says.
    #[serde(untagged)]
    Table(T),
}

/// A table, or "off".
pub(super) fn table_or_off<T: Serialize, S: Serializer>(
    value: &Option<T>,
    s: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(table) => table.serialize(s),
        None => s.serialize_str("off"),
    }
}

pub(super) fn or_word_none<T: ToString + Copy, S: Serializer>(
    v: &Option<T>,
    s: S,
) -> Result<S::Ok, S::Error> {
    or(*v, "none", s)
}

pub(super) fn or_off<T: ToString + Copy, S: Serializer>(
    v: &Option<T>,
    s: S,
) -> Result<S::Ok, S::Error> {
    or(*v, "off", s)
}

pub(super) fn or_unlimited<T: ToString + Copy, S: Serializer>(
    v: &Option<T>,
    s: S,
) -> Result<S::Ok, S::Error> {
    or(*v, "unlimited", s)
}

fn bytes_or_off<S: Serializer>(v: &Option<u32>, s: S) -> Result<S::Ok, S::Error> {
    or(v.map(|b| Bytes(u64::from(b))), "off", s)
}

fn bytes_or_all<S: Serializer>(v: &Option<u32>, s: S) -> Result<S::Ok, S::Error> {
    or(v.map(|b| Bytes(u64::from(b))), "all", s)
}
