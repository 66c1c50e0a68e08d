//! Results of a run: totals per flow, queue and station, before any aggregation.

use fairwave_probe::diagnosis::{self, Diagnosis, Finding, Sharing};
use fairwave_probe::estimate::{self, SizeEstimate};
use fairwave_probe::{Account, Failure};
use fairwave_shake::Stats;
use fairwave_trace::{FlowSample, PairSample, PathSample, QueueSample, StationSample, Times};
use fairwave_traffic::playout::Quality;
use fairwave_units::{BitRate, Duration};
use fairwave_wire::shake::Reason;

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Simulated time.
    pub simulated: Duration,
    /// The span over which the `measured` fields count: from the warm-up's end.
    pub measured: Duration,
    /// Length of the bins of [`FlowOutcome::bins`].
    pub bin: Option<Duration>,
    /// Per flow, in the world's order.
    pub flows: Vec<FlowOutcome>,
    /// Per queue: first every radio's in node order, then each link's two in link order.
    pub queues: Vec<QueueOutcome>,
    /// Per radio, in node order.
    pub stations: Vec<StationOutcome>,
    /// Per transmitter and receiver on the air, in the order of both; everybody is last.
    pub pairs: Vec<PairOutcome>,
    /// Frames put on the air, control frames included.
    pub frames: u64,
    /// Events handled.
    pub events: u64,
}

/// A flow's result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowOutcome {
    /// Its name.
    pub name: String,
    /// Bytes delivered to the application after the warm-up, over the measured span.
    pub goodput: BitRate,
    /// Counters at the end of the warm-up.
    pub at_warm_up: FlowSample,
    /// Counters and state at the end.
    pub at_end: FlowSample,
    /// Bytes delivered in each whole bin of [`crate::world::World::bins`], from the start.
    pub bins: Vec<u64>,
    /// Longest time between two deliveries to the application after the warm-up (to the ends of
    /// the measured span too).
    pub longest_silence: Duration,
    /// Time at which the last byte of a sized flow was delivered.
    pub completed: Option<Duration>,
    /// One-way delays of data delivered after the warm-up. Of datagrams: from the application that
    /// made each to the one that got it. Of TCP and SHAKE: from the first departure of a segment's
    /// bytes from the source until the sink's application got its last one in order. `None` without
    /// any delivery, and of transports that measure none.
    pub delay: Option<Times>,
    /// Round-trip times of a ping flow whose replies arrived after the warm-up.
    pub round_trips: Option<Times>,
    /// Observations of the receiver of a datagram flow after the warm-up: of a ping flow those of
    /// its source, about replies.
    pub datagrams: Option<DatagramOutcome>,
    /// Observations of the user of a web flow after the warm-up.
    pub web: Option<WebOutcome>,
    /// Observations of a viewer after the warm-up.
    pub playout: Option<VideoOutcome>,
    /// Findings of a buffer probe, over the whole run.
    pub probe: Option<ProbeOutcome>,
    /// Result of a SHAKE connection, over the whole run.
    pub shake: Option<ShakeOutcome>,
    /// Its paths by their numbers, where it may have several.
    pub paths: Vec<PathOutcome>,
}

/// Result of a SHAKE connection at its source, beside its paths and the flow's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShakeOutcome {
    /// Segments found lost before a timer expired.
    pub losses_found: u64,
    /// Segments repeated because another path held them back.
    pub reinjections: u64,
    /// Segments that tried a path in doubt, or a shut window.
    pub probes: u64,
    /// Reason for which it was over before its end, at whichever end.
    pub reset: Option<Reason>,
}

impl ShakeOutcome {
    /// Result by the counts of the source's end.
    pub fn of(stats: &Stats, reset: Option<Reason>) -> Self {
        let Stats { losses_found, reinjections, probes, .. } = *stats;
        Self { losses_found, reinjections, probes, reset }
    }
}

/// A path's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathOutcome {
    /// The node that it passes.
    pub name: String,
    /// Counters at the end of the warm-up.
    pub at_warm_up: PathSample,
    /// Counters and state at the end.
    pub at_end: PathSample,
}

/// Findings of a buffer probe.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeOutcome {
    /// Per packet size.
    pub sizes: Vec<SizeEstimate>,
    /// Kind of buffer.
    pub diagnosis: Diagnosis,
    /// Whether its receiver shares a queue with that of the flow it watches.
    pub sharing: Option<Finding<Sharing>>,
    /// End of the session, if it ended before the run.
    pub ended: Option<Result<(), Failure>>,
}

impl ProbeOutcome {
    /// Findings from the accounts of a session with this end.
    pub fn of(accounts: &[Account], ended: Option<Result<(), Failure>>) -> Self {
        let diagnosis = diagnosis::diagnose(accounts);
        Self { sizes: estimate::by_size(accounts), diagnosis, sharing: None, ended }
    }
}

/// Observations of a receiver that knows the datagrams' numbers and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramOutcome {
    /// Datagrams received.
    pub received: u64,
    /// Datagrams missing before the last one received.
    pub lost: u64,
    /// Interarrival jitter at the end (RFC 3550 section 6.4.1).
    pub jitter: Duration,
}

/// Observations of a viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VideoOutcome {
    /// Frames shown and not shown, freezes and stalls.
    pub quality: Quality,
    /// From a frame's capture until it was there whole, of all that came.
    pub latency: Option<Times>,
}

/// Observations of a user of the web.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebOutcome {
    /// Times from a page's first request to its last byte.
    pub pages: Option<Times>,
    /// Times from an object's request to its last byte, the opening of its connection included.
    pub objects: Option<Times>,
    /// Objects that were lost with their connection.
    pub objects_lost: u64,
}

/// A queue's result.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueOutcome {
    /// `"ap"` for a radio's queue, `"ap>server"` for a link's.
    pub name: String,
    /// Counters at the end of the warm-up.
    pub at_warm_up: QueueSample,
    /// Counters and state at the end.
    pub at_end: QueueSample,
    /// Largest number of packets waiting after the warm-up.
    pub peak_packets: u32,
    /// Time-weighted mean number of packets waiting after the warm-up.
    pub mean_packets: f64,
}

/// A radio's result.
#[derive(Clone, Debug, PartialEq)]
pub struct StationOutcome {
    /// Its node's name.
    pub name: String,
    /// Counters at the end of the warm-up.
    pub at_warm_up: StationSample,
    /// Counters at the end.
    pub at_end: StationSample,
}

/// Transmissions of a radio to one receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct PairOutcome {
    /// Name of the transmitter's node.
    pub transmitter: String,
    /// Name of the receiver's; `None` is everybody.
    pub receiver: Option<String>,
    /// Counters at the end of the warm-up.
    pub at_warm_up: PairSample,
    /// Counters and last mode at the end.
    pub at_end: PairSample,
}
