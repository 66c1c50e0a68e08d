//! The keys of a scenario file with everything decided: what [`super::Scenario`] is made of.
//!
//! One field is one key of the same name; the doc comment of a field is its documentation in
//! the JSON schema, and names its default.

use super::air::{Fading, Shadowing};
use super::dccp::Dccp;
use super::link::Link;
use super::multi::MultiTcp;
use super::node::Node;
use super::phy::Generation;
use super::probe::Probe;
use super::proxy::{Av, Proxy};
use super::reader::word;
use super::rtc::Rtc;
use super::shake::Shake;
use super::soc::{LinkMonitor, Soc};
use super::traffic::{Udp, Web};
use super::video::{Playout, Video};
use super::words;
use fairwave_dot11::{AccessCategory, Standard};
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

/// A flow, or one flow for each node that a pattern matches.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Flow {
    /// Its name, unique among flows. With a pattern the flows are called `name-node`. Required.
    pub name: String,
    /// The node whose data it carries. `"sta*"` makes a flow for each node whose name begins
    /// with `sta`. Required.
    pub from: String,
    /// The node that the data goes to; may be a pattern instead of `from`. Required.
    pub to: String,
    /// When it starts. Default: "0 s".
    #[schemars(with = "String")]
    pub start: Duration,
    /// Each flow starts up to this much later, uniformly, from a random stream of its own.
    /// Default: "0 s".
    #[schemars(with = "String")]
    pub start_spread: Duration,
    /// When its application stops sending, or "never". Default: "never".
    #[serde(serialize_with = "or_never")]
    #[schemars(with = "String")]
    pub stop: Option<Duration>,
    /// Access category of its packets in both directions, where a cell has EDCA. Default:
    /// "best-effort".
    #[serde(serialize_with = "category")]
    #[schemars(with = "String", extend(
        "enum" = ["background", "best-effort", "video", "voice"]
    ))]
    pub category: AccessCategory,
    /// Who watches what arrives: a table. It needs a source of datagrams or `video`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub playout: Option<Playout>,
    /// How it sends. Default: "tcp".
    #[serde(flatten)]
    pub transport: Transport,
}

/// What carries a flow.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "transport", rename_all = "lowercase")]
pub enum Transport {
    /// TCP: one connection opened by `from`, or those of a user of the web.
    Tcp(Tcp),
    /// UDP datagrams.
    Udp(Udp),
    /// The buffer probe: numbered trains from `from` to `to`, and what they say of the queue
    /// between.
    Probe(Probe),
    /// A DCCP connection opened by `from`.
    Dccp(Dccp),
    /// Real-time media over RTP, with the congestion control of browsers.
    Rtc(Rtc),
    /// One connection opened by `from` over several paths.
    Shake(Shake),
    /// Several TCP connections opened by `from`, one for each path, which carry one stream.
    #[serde(rename = "multi-tcp")]
    MultiTcp(MultiTcp),
}

/// A TCP flow. Every key but `size`, `web` and `video` may also stand in the table `[tcp]`, as a
/// default for all.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Tcp {
    /// How much to send, or "unlimited". Default: "unlimited".
    #[serde(serialize_with = "or_unlimited")]
    #[schemars(with = "String")]
    pub size: Option<Bytes>,
    /// The flow is a user at `to` who fetches pages from `from`: a table. Not in `[tcp]`.
    /// Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web: Option<Box<Web>>,
    /// What the application sends, frame by frame, instead of as much as fits: a table. Not in
    /// `[tcp]`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub video: Option<Box<Video>>,
    /// Whose choices the keys below default to, for both ends. Default: "default".
    pub stack: String,
    /// The receiving end's stack, if it is another: then the keys beside it are the sender's
    /// alone. Default: "same".
    #[serde(serialize_with = "or_same")]
    #[schemars(with = "String")]
    pub receiver_stack: Option<String>,
    /// The law, possibly with the remedy around it: "ack-loss+reno". Default: the stack's usual
    /// one; "reno".
    pub congestion_control: String,
    /// What the law `tcp-av` aims at: a table. Default: nothing, which is NewReno.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub av: Option<Box<Av>>,
    /// A proxy that splits the connection on its way: a table. Not in `[tcp]`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Box<Proxy>>,
    /// Largest segment payload, 64 B to 2256 B. Default: "1460 B".
    #[serde(serialize_with = "bytes")]
    #[schemars(with = "String")]
    pub mss: u32,
    /// Send buffer, up to 1 GiB. Default: "4 MiB".
    #[serde(serialize_with = "bytes")]
    #[schemars(with = "String")]
    pub send_buffer: u32,
    /// Lets the send buffer grow to twice the congestion window, at most to this, or "off".
    /// Default: "off".
    #[serde(serialize_with = "bytes_or_off")]
    #[schemars(with = "String")]
    pub send_buffer_most: Option<u32>,
    /// Receive buffer, up to 1 GiB; bounds the advertised window. Default: "4 MiB".
    #[serde(serialize_with = "bytes")]
    #[schemars(with = "String")]
    pub receive_buffer: u32,
    /// Lets the receive buffer grow with what is read in a round trip, at most to this, or
    /// "off". Default: "off".
    #[serde(serialize_with = "bytes_or_off")]
    #[schemars(with = "String")]
    pub receive_buffer_most: Option<u32>,
    /// Offer window scaling (RFC 7323). Default: true.
    pub window_scaling: bool,
    /// Offer timestamps (RFC 7323). Default: false.
    pub timestamps: bool,
    /// Tick of the timestamp clock, 1 us to 1 s. Default: "1 ms".
    #[schemars(with = "String")]
    pub timestamp_tick: Duration,
    /// Offer selective acknowledgements (RFC 2018). Default: true.
    pub sack: bool,
    /// Report data that arrived twice (RFC 2883), with `sack`. Default: false.
    pub dsack: bool,
    /// Offer explicit congestion notification (RFC 3168). Default: false.
    pub ecn: bool,
    /// With SACK, spread the reduction of a recovery over its ACKs (RFC 6937). Default: false.
    pub prr: bool,
    /// With SACK, find losses by time, and probe for lost tails (RFC 8985). Default: false.
    pub rack: bool,
    /// With timestamps, undo timeouts and recoveries that were needless (RFC 3522, RFC 4015).
    /// Default: false.
    pub eifel: bool,
    /// See by what arrives after a timeout whether it was needless, and undo it (F-RTO, RFC
    /// 5682). Default: false.
    pub frto: bool,
    /// Delayed acknowledgements: "on", "off" or a table. Default: "on".
    pub delayed_ack: DelayedAck,
    /// Segments acknowledged at once before ACKs are delayed, at the start, after idleness and
    /// around gaps, up to 64. Default: 0.
    pub quick_acks: u32,
    /// Hold back small segments while anything is outstanding (RFC 9293 section 3.7.4). Default:
    /// false.
    pub nagle: bool,
    /// Initial window, 1 to 1000. Default: "3 segments".
    #[serde(serialize_with = "segments")]
    #[schemars(with = "String")]
    pub initial_window: u32,
    /// Initial slow start threshold, or "unlimited". Default: "unlimited".
    #[serde(serialize_with = "bytes_or_unlimited")]
    #[schemars(with = "String")]
    pub initial_ssthresh: Option<u32>,
    /// Congestion avoidance counts acknowledged bytes (RFC 3465) rather than ACKs (RFC 5681
    /// equation 3). Default: true.
    pub byte_counting: bool,
    /// Duplicate ACKs that mean a loss, 1 to 255. Default: 3.
    pub duplicate_ack_threshold: u32,
    /// RTO before the first sample. Default: "1 s".
    #[schemars(with = "String")]
    pub initial_rto: Duration,
    /// Least RTO. Default: "1 s".
    #[schemars(with = "String")]
    pub min_rto: Duration,
    /// Greatest RTO. Default: "60 s".
    #[schemars(with = "String")]
    pub max_rto: Duration,
    /// Expiries in a row before the connection is given up, 1 to 255. Default: 15.
    pub max_retries: u32,
    /// How long TIME-WAIT lasts. Default: "60 s".
    #[schemars(with = "String")]
    pub time_wait: Duration,
}

/// When the receiver acknowledges (RFC 9293 section 3.8.6.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DelayedAck {
    /// At once, every segment.
    Off,
    /// Delayed.
    #[serde(untagged)]
    Delayed {
        /// At the latest with this many segments, 2 to 64. Default: 2.
        every: u32,
        /// At the latest after this time, up to 500 ms. Default: "200 ms".
        #[schemars(with = "String")]
        timeout: Duration,
    },
}

fn standard<S: Serializer>(value: &Standard, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(word(words::STANDARDS, value))
}

fn category<S: Serializer>(value: &AccessCategory, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(word(words::CATEGORIES, value))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
pub(super) fn bytes<S: Serializer>(value: &u32, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&Bytes(u64::from(*value)).to_string())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
pub(super) fn segments<S: Serializer>(value: &u32, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&format!("{value} segments"))
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

pub(super) fn or_never<S: Serializer>(v: &Option<Duration>, s: S) -> Result<S::Ok, S::Error> {
    or(*v, "never", s)
}

fn or_same<S: Serializer>(v: &Option<String>, s: S) -> Result<S::Ok, S::Error> {
    or(v.as_ref(), "same", s)
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

pub(super) fn bytes_or_unlimited<S: Serializer>(v: &Option<u32>, s: S) -> Result<S::Ok, S::Error> {
    or(v.map(|b| Bytes(u64::from(b))), "unlimited", s)
}
