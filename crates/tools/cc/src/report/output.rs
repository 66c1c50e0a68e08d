//! Types of the output of `fairwave cc` with `--json`.

use fairwave_bpf::bench::Cost;
use fairwave_bpf::{Connection, Happened, Listed, ReportedEvent, Totals};
use fairwave_units::BitRate;
use schemars::JsonSchema;
use serde::Serialize;

/// A congestion control algorithm, and its state in this kernel.
#[derive(Serialize, JsonSchema)]
pub struct CcAlgorithm {
    /// Its name, as sockets request it.
    pub name: String,
    /// Whether sockets may request it.
    pub loaded: bool,
    /// Whether it stays until it is unloaded; null without the permission to see that.
    pub pinned: Option<bool>,
    /// Connections that use it; null without the permission to see them, or if it is not loaded.
    pub connections: Option<u64>,
    /// Its counters since it was loaded; null if `connections` is null.
    pub totals: Option<CcTotals>,
    /// The simulator's algorithm with the same arithmetic.
    pub model: String,
    /// Description of the algorithm.
    pub summary: String,
}

impl CcAlgorithm {
    pub(crate) fn of(listed: &Listed) -> Self {
        Self {
            name: listed.algorithm.name.to_owned(),
            loaded: listed.loaded,
            pinned: listed.pinned,
            connections: listed.connections,
            totals: listed.totals.map(CcTotals::of),
            model: listed.algorithm.model.to_owned(),
            summary: listed.algorithm.summary.to_owned(),
        }
    }
}

/// Counters of an algorithm's connections since it was loaded.
#[derive(Serialize, JsonSchema)]
pub struct CcTotals {
    /// Connections that began to use it.
    pub opened: u64,
    /// Connections that ended, or switched to another algorithm.
    pub closed: u64,
    /// ACKs detected as lost by the closed connections.
    pub acks_lost: u64,
    /// Number of times the closed connections lowered their windows because of lost ACKs.
    pub answers: u64,
    /// Events that did not fit into the ring buffer while a `status --watch` was reading it.
    pub missed: u64,
}

impl CcTotals {
    fn of(totals: Totals) -> Self {
        let Totals { opened, closed, acks_lost, answers, missed } = totals;
        Self { opened, closed, acks_lost, answers, missed }
    }
}

/// A connection that uses an algorithm of Fairwave, as of its last ACK.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CcConnection {
    /// The algorithm's name.
    pub algorithm: String,
    /// Address and port of this end.
    pub local: String,
    /// Address and port of the other end.
    pub remote: String,
    /// Inode of its network namespace.
    pub namespace: u32,
    /// SO_COOKIE of its socket; null until a process has requested the cookie.
    pub cookie: Option<u64>,
    /// State of the connection, by the names of ss.
    pub state: String,
    /// Congestion window in segments.
    pub cwnd_segments: u32,
    /// Slow start threshold in segments; null while none is set.
    pub ssthresh_segments: Option<u32>,
    /// Maximum segment size in bytes.
    pub mss_bytes: u32,
    /// Smoothed round-trip time.
    pub srtt_us: u64,
    /// Bytes acknowledged since the connection began.
    pub acked_bytes: u64,
    /// ACKs detected as lost since the connection began.
    pub acks_lost: u64,
    /// Number of times the window was lowered because of lost ACKs.
    pub answers: u64,
    /// The target rate; null without a target.
    pub target_bps: Option<u64>,
    /// The mean rate since the target was set; null without a target.
    pub reached_bps: Option<u64>,
}

impl CcConnection {
    pub(crate) fn of(algorithm: &str, one: &Connection) -> Self {
        Self {
            algorithm: algorithm.to_owned(),
            local: one.local.to_string(),
            remote: one.remote.to_string(),
            namespace: one.namespace,
            cookie: one.cookie,
            state: one.state.to_owned(),
            cwnd_segments: one.cwnd,
            ssthresh_segments: one.ssthresh,
            mss_bytes: one.mss,
            srtt_us: one.srtt.as_micros(),
            acked_bytes: one.acked,
            acks_lost: one.acks_lost,
            answers: one.answers,
            target_bps: one.target.map(|rate| rate.0),
            reached_bps: one.reached.map(|rate| rate.0),
        }
    }
}

/// An event of a connection; `status --watch` prints it before the current connections.
#[derive(Serialize, JsonSchema)]
pub struct CcEvent {
    /// The event: began, answered (lowered its window because of lost ACKs) or ended.
    pub happened: &'static str,
    /// The connection at the time of the event.
    pub connection: CcConnection,
}

impl CcEvent {
    pub(crate) fn of(event: &ReportedEvent) -> Self {
        let happened = match event.happened {
            Happened::Began => "began",
            Happened::Answered => "answered",
            Happened::Ended => "ended",
        };
        Self { happened, connection: CcConnection::of(event.algorithm, &event.connection) }
    }
}

/// Cost of an algorithm.
#[derive(Serialize, JsonSchema)]
pub struct CcCost {
    /// The algorithm's name.
    pub algorithm: String,
    /// Description of the algorithm.
    pub summary: String,
    /// ACKs for which its BPF programs were called; zero for algorithms without BPF programs.
    pub acks: u64,
    /// Time in its BPF programs for each ACK; null for algorithms without BPF programs.
    pub per_ack_ns: Option<f64>,
    /// Calls of its programs; some algorithms need two for each ACK.
    pub calls: u64,
    /// `per_ack_ns` less the time of as many calls of a program that does nothing.
    pub work_ns: Option<f64>,
    /// Throughput of its connections: the median of the rounds.
    pub throughput_bps: u64,
    /// Throughput of each round.
    pub rounds_bps: Vec<u64>,
    /// ACKs that it wrongly detected as lost, since none was lost; null if it does not watch ACKs,
    /// or if a connection did not end.
    pub acks_lost: Option<u64>,
}

impl CcCost {
    pub(crate) fn of(cost: &Cost, floor: Option<f64>) -> Self {
        let per_ack_ns = cost.nanoseconds_per_ack();
        Self {
            algorithm: cost.name.clone(),
            summary: cost.summary.clone(),
            acks: cost.acks,
            per_ack_ns,
            calls: cost.calls,
            work_ns: floor.and_then(|floor| cost.work_per_ack(floor)),
            throughput_bps: median(&cost.throughput),
            rounds_bps: cost.throughput.iter().map(|rate| rate.0).collect(),
            acks_lost: cost.acks_lost,
        }
    }
}

/// The median; for an even number, the upper of the middle two.
fn median(rates: &[BitRate]) -> u64 {
    let mut sorted: Vec<u64> = rates.iter().map(|rate| rate.0).collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

/// A target rate of connections.
#[derive(Serialize, JsonSchema)]
pub struct CcTarget {
    /// Connections that the target applies to, in the syntax of `fairwave cc target`.
    pub whose: String,
    /// The rate of acknowledged payload to reach.
    pub rate_bps: u64,
    /// Whether windows do not grow beyond the size that the target needs.
    pub cap: bool,
    /// Whether a loss never lowers a window further than Reno would.
    pub floor_at_reno: bool,
}

/// Results of a trace of connections.
#[derive(Serialize, JsonSchema)]
pub struct CcTraced {
    /// The table that was written.
    pub file: String,
    /// Number of its rows: segments that reached traced connections.
    pub rows: u64,
    /// Rows that are missing since the buffer had no room for them.
    pub missed: u64,
    /// Length of the trace, in nanoseconds.
    pub lasted_ns: u64,
    /// Whether a signal ended it.
    pub interrupted: bool,
}

/// Output of `fairwave cc` with --json, by its command.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum CcOutput {
    /// Output of `list`.
    Algorithms(Vec<CcAlgorithm>),
    /// Output of `status`.
    Connections(Vec<CcConnection>),
    /// Output of `status --watch`: one line for each event, between those of `status`.
    ReportedEvent(CcEvent),
    /// Output of `bench`.
    Costs(Vec<CcCost>),
    /// Output of `target`.
    Targets(Vec<CcTarget>),
    /// Output of `trace`.
    Traced(CcTraced),
    /// Output of `load`: the algorithms that are now loaded.
    Loaded {
        /// Their names.
        loaded: Vec<String>,
    },
    /// Output of `unload`: the algorithms that were unloaded.
    Unloaded {
        /// Their names.
        unloaded: Vec<String>,
    },
}
