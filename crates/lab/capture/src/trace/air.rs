//! Use of the air by transmitter and receiver, as JSON and as a table. Headers of 802.11 are
//! readable although the content is encrypted.

use fairwave_trace::analysis::RadioPair;
use fairwave_units::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;

/// Frames of one transmitter to one receiver.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AirSummary {
    /// The transmitter; null for ACK and CTS frames, which do not name it.
    pub transmitter: Option<String>,
    /// The receiver.
    pub receiver: String,
    /// Captured frames, retransmissions included.
    pub frames: u64,
    /// Data frames among them.
    pub data_frames: u64,
    /// Encrypted data frames.
    pub encrypted: u64,
    /// Frames with the retry bit.
    pub retries: u64,
    /// Percentage of the frames that can have the bit; null without such frames.
    pub retry_percent: Option<f64>,
    /// Bytes, check sequences included.
    pub bytes: u64,
    /// Frames whose rate the capturing radio states.
    pub timed_frames: u64,
    /// Time of these frames on the air, with one preamble for each PPDU.
    pub airtime_ns: u64,
    /// Percentage of the time of the capture.
    pub airtime_percent: f64,
    /// Bits of data frames over the time of these bits; null if no rate is known.
    pub rate_bps: Option<u64>,
    /// Lowest rate of a data frame.
    pub rate_min_bps: Option<u64>,
    /// Highest rate of a data frame.
    pub rate_max_bps: Option<u64>,
}

impl AirSummary {
    fn of(pair: &RadioPair, over: Duration) -> Self {
        let (bits, time) = pair.data_sent;
        let with_bit = pair.frames - pair.control;
        let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole as f64;
        let airtime = pair.airtime.as_nanos();
        Self {
            transmitter: pair.transmitter.map(|mac| mac.to_string()),
            receiver: pair.receiver.to_string(),
            frames: pair.frames,
            data_frames: pair.data,
            encrypted: pair.encrypted,
            retries: pair.retries,
            retry_percent: (with_bit > 0).then(|| percent(pair.retries, with_bit)),
            bytes: pair.bytes,
            timed_frames: pair.timed,
            airtime_ns: airtime,
            airtime_percent: if over.is_zero() { 0.0 } else { percent(airtime, over.as_nanos()) },
            rate_bps: (!time.is_zero()).then(|| (bits as f64 / time.as_secs_f64()) as u64),
            rate_min_bps: pair.rates.map(|(low, _)| low),
            rate_max_bps: pair.rates.map(|(_, high)| high),
        }
    }
}

/// Pairs in a capture of length `over`, in descending order of airtime, then of bytes.
pub(super) fn summaries(pairs: &[RadioPair], over: Duration) -> Vec<AirSummary> {
    let mut all: Vec<_> = pairs.iter().map(|pair| AirSummary::of(pair, over)).collect();
    all.sort_by_key(|pair| Reverse((pair.airtime_ns, pair.bytes)));
    all
}

/// Title of the table of pairs.
pub(super) const TITLE: &str = "802.11 frames by header, the most airtime first";

/// Headings of the columns of a pair, after its name.
pub(super) const COLUMNS: [&str; 8] =
    ["frames", "data", "encrypted", "retries %", "Mbps", "lowest", "highest", "air %"];

/// Name of a pair.
pub(super) fn name(pair: &AirSummary) -> String {
    let transmitter = pair.transmitter.as_deref().unwrap_or("(ACK or CTS)");
    format!("{transmitter} > {}", pair.receiver)
}

/// The cells of a pair, by [`COLUMNS`].
pub(super) fn row(pair: &AirSummary) -> [String; 8] {
    let unknown = || "-".to_owned();
    let mbps =
        |rate: Option<u64>| rate.map_or_else(unknown, |rate| format!("{:.1}", rate as f64 / 1e6));
    let is_timed = pair.timed_frames > 0;
    [
        pair.frames.to_string(),
        pair.data_frames.to_string(),
        pair.encrypted.to_string(),
        pair.retry_percent.map_or_else(unknown, |percent| format!("{percent:.2}")),
        mbps(pair.rate_bps),
        mbps(pair.rate_min_bps),
        mbps(pair.rate_max_bps),
        if is_timed { format!("{:.2}", pair.airtime_percent) } else { unknown() },
    ]
}
