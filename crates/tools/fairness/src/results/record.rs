//! Record of a run: the counts.

use fairwave_lab::stats::mean;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All repetitions of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// Length of an interval.
    #[schemars(extend("unit" = "seconds"))]
    pub interval_s: f64,
    /// Time at which it began; null if it is not known.
    #[schemars(extend("unit" = "seconds since 1970"))]
    pub begun_unix_s: Option<u64>,
    /// Target rate of each station; null for none.
    #[schemars(extend("unit" = "bits per second"))]
    pub target_bps: Option<u64>,
    /// Capacity of the network, if it was stated; else null.
    #[schemars(extend("unit" = "bits per second"))]
    pub effective_bps: Option<u64>,
    /// Flows that had the network for themselves, measured before the repetitions: one of one
    /// station in each. Empty where the target was not given, or the capacity was.
    #[serde(default)]
    pub single: Vec<Repetition>,
    /// The repetitions in their order.
    pub repetitions: Vec<Repetition>,
}

/// One repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Repetition {
    /// Its stations.
    pub stations: Vec<Station>,
}

/// Measurements of a station in a repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Station {
    /// Its name.
    pub name: String,
    /// Its address; null if it is not known.
    pub address: Option<String>,
    /// Maximum error of its clock against the server's; null if clocks were not compared.
    #[schemars(extend("unit" = "milliseconds"))]
    pub clock_error_ms: Option<f64>,
    /// Delay of its start after the agreed time, by its own clock; null if none was agreed.
    #[schemars(extend("unit" = "milliseconds"))]
    pub late_ms: Option<f64>,
    /// Its ending.
    pub ending: Ending,
    /// Its flows.
    pub flows: Vec<Flow>,
    /// Samples of its radio by interval; empty without a radio, or if it was not sampled.
    #[serde(default)]
    pub radio: Vec<RadioSample>,
}

/// Sample of a station's radio at the end of an interval; null for values that its driver does not
/// report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RadioSample {
    /// Signal strength of the last frame of the access point.
    #[schemars(extend("unit" = "dBm"))]
    pub signal_dbm: Option<f64>,
    /// Rate of the last frame sent.
    #[schemars(extend("unit" = "megabits per second"))]
    pub tx_mbps: Option<f64>,
    /// Rate of the last frame received.
    #[schemars(extend("unit" = "megabits per second"))]
    pub rx_mbps: Option<f64>,
    /// Retries of frames in the interval.
    pub retries: Option<u32>,
    /// Frames that were abandoned in the interval.
    pub failed: Option<u32>,
    /// Airtime of frames from and to the access point in the interval.
    #[schemars(extend("unit" = "milliseconds"))]
    pub airtime_ms: Option<f64>,
}

/// Ending of a station's repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It ended as agreed.
    Complete,
    /// Its user interrupted it.
    Left,
    /// It fell silent.
    Gone,
    /// The bytes that the server grants were used up.
    UsedUp,
    /// It was cut off with the server or the measurement.
    Open,
}

/// Transport of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// TCP of the kernel.
    Tcp,
    /// Datagrams.
    Udp,
}

/// End of a flow that counted its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// Its receiver.
    AtReceiver,
    /// Its sender, when it passed them to its kernel: more bytes than arrived.
    AtSender,
}

/// A flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// From the station to the server.
    pub is_up: bool,
    /// Its transport.
    pub carrier: Carrier,
    /// Congestion control algorithm of its sender; null if it is not known, and for datagrams.
    pub algorithm: Option<String>,
    /// The end that counted.
    pub counted: Counted,
    /// Payload by interval.
    #[schemars(extend("unit" = "bytes"))]
    pub bytes: Vec<u64>,
    /// Datagrams that were sent; null for TCP.
    pub datagrams: Option<u64>,
    /// Datagrams that did not arrive; null for TCP.
    pub lost: Option<u64>,
    /// Whether it broke before the end.
    pub is_broken: bool,
    /// Segments that the sender retransmitted, by interval; empty for datagrams.
    #[serde(default)]
    pub retransmitted: Vec<u32>,
    /// Smoothed round-trip time of the sender at the end of each interval; empty for datagrams.
    #[serde(default)]
    #[schemars(extend("unit" = "milliseconds"))]
    pub rtt_ms: Vec<f64>,
    /// Datagrams that are missing, by interval; empty for TCP.
    #[serde(default)]
    pub lost_by_interval: Vec<u32>,
    /// Interarrival jitter of datagrams (RFC 3550) at the end of each interval; empty for TCP.
    #[serde(default)]
    #[schemars(extend("unit" = "milliseconds"))]
    pub jitter_ms: Vec<f64>,
}

impl Flow {
    /// Whether it is a flow of datagrams that all arrived, as far as their numbers show: a flow of
    /// which none arrived shows none.
    pub(super) fn is_without_loss(&self) -> bool {
        self.lost == Some(0) && self.datagrams != Some(0)
    }

    /// Its mean rate in Mbps over its first `bins` intervals of `interval_s` seconds each.
    pub(super) fn mbps(&self, interval_s: f64, bins: usize) -> f64 {
        let bytes = self.bytes.iter().take(bins);
        let rates: Vec<f64> = bytes.map(|bytes| mbps(*bytes, interval_s)).collect();
        mean(&rates).unwrap_or(0.0)
    }
}

impl Station {
    /// The mean rate of its flows of one direction, or of all, in Mbps; `None` if there are none.
    pub fn mbps(&self, interval_s: f64, is_up: Option<bool>) -> Option<f64> {
        self.mbps_of(interval_s, is_up, usize::MAX)
    }

    /// The same over the first `bins` intervals.
    fn mbps_of(&self, interval_s: f64, is_up: Option<bool>, bins: usize) -> Option<f64> {
        let mut flows =
            self.flows.iter().filter(|flow| is_up.is_none_or(|up| flow.is_up == up)).peekable();
        flows.peek()?;
        Some(flows.map(|flow| flow.mbps(interval_s, bins)).sum())
    }

    /// The payload of all its flows by interval, in bytes.
    pub fn bytes(&self) -> Vec<u64> {
        let longest = self.flows.iter().map(|flow| flow.bytes.len()).max().unwrap_or(0);
        let at = |bin| self.flows.iter().filter_map(|flow| flow.bytes.get(bin)).sum();
        (0..longest).map(at).collect()
    }
}

impl Repetition {
    /// Number of intervals from the start in which all flows took part: a station that leaves has
    /// fewer than the others. Flows without any interval do not count.
    pub fn shared(&self) -> usize {
        self.lengths().min().unwrap_or(0)
    }

    /// Number of intervals of the longest flow.
    pub fn whole(&self) -> usize {
        self.lengths().max().unwrap_or(0)
    }

    fn lengths(&self) -> impl Iterator<Item = usize> {
        let flows = self.stations.iter().flat_map(|station| &station.flows);
        flows.map(|flow| flow.bytes.len()).filter(|length| *length > 0)
    }

    /// The rate of each station in Mbps, over the time that all shared: rates over different times
    /// may add up to more than a link carries.
    pub fn rates(&self, interval_s: f64) -> Vec<f64> {
        let shared = self.shared();
        let stations = self.stations.iter();
        stations.filter_map(|station| station.mbps_of(interval_s, None, shared)).collect()
    }

    /// The rate of each flow of a station in Mbps, over the time that all shared.
    pub fn flow_rates(&self, station: &Station, interval_s: f64) -> Vec<f64> {
        let shared = self.shared();
        station.flows.iter().map(|flow| flow.mbps(interval_s, shared)).collect()
    }
}

impl Record {
    /// Names of all stations, in the order of their first appearance.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for station in self.repetitions.iter().flat_map(|repetition| &repetition.stations) {
            if !names.contains(&station.name.as_str()) {
                names.push(&station.name);
            }
        }
        names
    }

    /// The measurements of a station, by repetition.
    pub fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Station> {
        let stations = self.repetitions.iter().flat_map(|repetition| &repetition.stations);
        stations.filter(move |station| station.name == name)
    }

    /// Flows of a station in all repetitions.
    pub fn flows<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Flow> {
        self.of(name).flat_map(|station| &station.flows)
    }
}

/// Bytes of an interval as a rate in Mbps.
pub(super) fn mbps(bytes: u64, interval_s: f64) -> f64 {
    bytes as f64 * 8.0 / 1e6 / interval_s
}
