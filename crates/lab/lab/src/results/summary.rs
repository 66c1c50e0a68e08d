//! Results of a run by flow, queue and station, and totals over them.

use super::emulation::EmulationSummary;
use super::pairs::PairSummary;
use super::paths::{PathSummary, ShakeSummary};
use super::probe::ProbeSummary;
use super::times::TimesSummary;
use super::video::VideoSummary;
use super::{Direction, Names, Stretch, Stretches};
use crate::stats;
use fairwave_sim::{
    DatagramOutcome, FlowOutcome, Outcome, QueueOutcome, StationOutcome, Times, WebOutcome,
};
use fairwave_trace::{ProxySample, SCHEMA_VERSION};
use fairwave_units::{BitRate, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A flow below this fraction of the fair share counts as starved.
pub const STARVED_FRACTION: f64 = 0.1;
/// Maximum loss, in per cent, at which a flow of datagrams counts as getting the rate it offers.
const CONTENT_LOST_PERCENT: f64 = 10.0;

/// The content of `summary.json`. Counters and rates are of the measured span, after the
/// warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Version of the tables and summaries of run directories: [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Simulated time.
    pub simulated_ns: u64,
    /// The measured span of it.
    pub measured_ns: u64,
    /// Length of the bins of [`FlowSummary::bins_bps`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bin_ns: Option<u64>,
    /// Frames put on the air, from the start.
    pub frames: u64,
    /// Events handled, from the start.
    pub events: u64,
    /// Results by flow.
    pub flows: Vec<FlowSummary>,
    /// Results by queue.
    pub queues: Vec<QueueSummary>,
    /// Results by radio.
    pub stations: Vec<StationSummary>,
    /// Results by transmitter and receiver on the air, in the order of both; broadcasts come last.
    #[serde(default)]
    pub pairs: Vec<PairSummary>,
    /// Totals over all flows and queues.
    pub totals: Totals,
    /// Lateness of an emulation against real time; absent in simulations.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub emulation: Option<EmulationSummary>,
}

/// A flow's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowSummary {
    /// Its name.
    pub name: String,
    /// Direction of its data, seen from the radio.
    pub direction: Direction,
    /// Time at which it starts, from the start of the run.
    pub start_ns: u64,
    /// Mean rate of delivery to the application.
    pub goodput_bps: u64,
    /// Maximum rate of its application, for real-time media, which adapt to less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_bps: Option<u64>,
    /// Segments or datagrams sent, retransmissions included.
    pub sent_packets: u64,
    /// Retransmitted segments.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Entries into fast recovery; null where a kernel carries the flow, which does not count them.
    pub fast_recoveries: Option<u64>,
    /// Pure ACKs that its sink sent.
    pub acks_sent: u64,
    /// ACKs among them that were dropped on their way.
    pub acks_dropped: u64,
    /// ACKs dropped at an access point's full queue, from the start of the run.
    pub acks_dropped_at_ap_all_run: u64,
    /// ACKs that a queue replaced by later ones; they do not count as dropped.
    #[serde(default)]
    pub acks_filtered: u64,
    /// Lost ACKs that the sender inferred; null where a kernel carries the flow, which does not
    /// report them.
    pub acks_lost_inferred: Option<u64>,
    /// Smoothed round-trip time at the end.
    pub srtt_end_ns: Option<u64>,
    /// Longest time between two deliveries.
    pub longest_silence_ns: u64,
    /// Longest time with a window of at most two segments, over the whole run.
    pub collapsed: Stretch,
    /// Longest such time in which at least half of the ACKs were dropped at an access point's full
    /// queue; missing where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collapsed_by_ack_loss: Option<Stretch>,
    /// Time at which the last byte of a sized flow was delivered, from the start of the run.
    pub completed_ns: Option<u64>,
    /// Time from a sized flow's start to the delivery of its last byte.
    pub completion_ns: Option<u64>,
    /// One-way delays of the delivered data. Those of datagrams begin when the application makes
    /// them, those of TCP and SHAKE when a segment's bytes first leave the source; each ends when
    /// the sink's application gets it, in order. Null where nothing was delivered.
    #[serde(default)]
    pub delay: Option<TimesSummary>,
    /// Round-trip times of a ping, from each request until its reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<TimesSummary>,
    /// Counts at the receiver of datagrams.
    pub datagrams: Option<DatagramSummary>,
    /// Page times of a user of the web.
    pub web: Option<WebSummary>,
    /// Frames that a viewer was shown.
    #[serde(default, alias = "video", skip_serializing_if = "Option::is_none")]
    pub playout: Option<VideoSummary>,
    /// Mean rate of delivery in each whole bin from the start of the run, where bins are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bins_bps: Vec<u64>,
    /// Counts of its proxy as a sender; the fields above are the sender's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<ProxySummary>,
    /// Findings of a buffer probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeSummary>,
    /// Results of a SHAKE connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shake: Option<ShakeSummary>,
    /// Its paths by their numbers, where it has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathSummary>,
}

/// Counts of a proxy on its way to a flow's sink.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProxySummary {
    /// Segments sent, retransmissions included.
    pub sent_packets: u64,
    /// Retransmitted segments.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Entries into fast recovery.
    pub fast_recoveries: u64,
    /// Smoothed round-trip time at the end.
    pub srtt_end_ns: Option<u64>,
}

/// Counts at a receiver that knows the datagrams' numbers and times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatagramSummary {
    /// Datagrams received.
    pub received: u64,
    /// Datagrams missing before the last one received; all that were sent, if none was received.
    pub lost: u64,
    /// The same as [`FlowSummary::delay`].
    pub delay: Option<TimesSummary>,
    /// Interarrival jitter at the end (RFC 3550); null where fewer than two arrived.
    pub jitter_ns: Option<u64>,
}

/// Page times of a user of the web.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WebSummary {
    /// Time from a page's first request to its last byte; null without a whole page.
    pub pages: Option<TimesSummary>,
    /// Time from an object's request to its last byte.
    pub objects: Option<TimesSummary>,
    /// Objects that were lost with their connection.
    pub objects_lost: u64,
}

/// A queue's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueSummary {
    /// Its name.
    pub name: String,
    /// Whether it is an access point's transmit queue.
    pub access_point: bool,
    /// Packets that entered.
    pub enqueued: u64,
    /// Packets dropped because the queue was full.
    pub drops_queue_full: u64,
    /// Packets dropped at the retry limit of the MAC.
    pub drops_retry_limit: u64,
    /// Packets that the link lost.
    pub drops_link_loss: u64,
    /// Packets dropped without a route.
    pub drops_no_route: u64,
    /// Packets dropped by active queue management.
    #[serde(default)]
    pub drops_aqm: u64,
    /// ACKs dropped because later ones made them redundant.
    #[serde(default)]
    pub drops_ack_filtered: u64,
    /// Largest number of packets waiting.
    pub peak_packets: u32,
    /// Mean number of packets waiting, over time.
    pub mean_packets: f64,
}

/// A radio's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StationSummary {
    /// Its node's name.
    pub name: String,
    /// Attempts at data frames and A-MPDUs, retries and unanswered RTS included.
    pub attempts: u64,
    /// Attempts without an acknowledgement.
    pub failures: u64,
    /// Failed attempts that overlapped another transmission.
    pub collisions: u64,
    /// Data frames acknowledged.
    pub successes: u64,
    /// Data frames dropped at the retry limit.
    pub retry_drops: u64,
    /// Time spent transmitting, over the measured span.
    #[schemars(extend("unit" = "share of 1"))]
    pub airtime_share: f64,
}

/// Aggregates over all flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Sum of the flows' goodput.
    pub goodput_bps: u64,
    /// Sum over flows towards the access point.
    pub up_bps: u64,
    /// Sum over flows from the access point.
    pub down_bps: u64,
    /// Jain's index of the flows' goodput, from 1 / flows (one has all) to 1 (all equal); null
    /// without any goodput.
    #[schemars(extend("unit" = "index"))]
    pub jain: Option<f64>,
    /// Flows below a tenth ([`STARVED_FRACTION`]) of the fair share that would send more: not
    /// those of datagrams that arrive as they are offered, nor media that get nine tenths of the
    /// rate that they ask for, nor those of a size that are complete.
    pub starved_flows: usize,
    /// Packets dropped, all queues: queue full.
    pub drops_queue_full: u64,
    /// Packets dropped, all queues: retry limit.
    pub drops_retry_limit: u64,
    /// Packets dropped, all queues: link loss.
    pub drops_link_loss: u64,
    /// Packets dropped, all queues: no route.
    pub drops_no_route: u64,
    /// Packets dropped, all queues: active queue management.
    #[serde(default)]
    pub drops_aqm: u64,
    /// ACKs dropped, all queues: redundant.
    #[serde(default)]
    pub drops_ack_filtered: u64,
}

impl Summary {
    /// The summary of a finished run.
    pub fn new(names: &Names, outcome: &Outcome, stretches: &Stretches) -> Self {
        let flows: Vec<FlowSummary> = outcome
            .flows
            .iter()
            .enumerate()
            .map(|(i, flow)| flow_summary(names, i, flow, outcome.bin, stretches))
            .collect();
        let queue = |(i, q): (usize, &QueueOutcome)| queue_summary(names, i, q);
        let queues: Vec<QueueSummary> = outcome.queues.iter().enumerate().map(queue).collect();
        let station = |s| station_summary(s, outcome.measured.as_nanos());
        Self {
            schema_version: SCHEMA_VERSION,
            simulated_ns: outcome.simulated.as_nanos(),
            measured_ns: outcome.measured.as_nanos(),
            bin_ns: outcome.bin.map(Duration::as_nanos),
            frames: outcome.frames,
            events: outcome.events,
            totals: totals(&|i| names.is_paced(i), &flows, &queues),
            flows,
            queues,
            stations: outcome.stations.iter().map(station).collect(),
            emulation: None,
            pairs: outcome
                .pairs
                .iter()
                .map(|pair| PairSummary::of(pair, outcome.measured))
                .collect(),
        }
    }

    /// Removes the flows of these names. The totals are those of the others.
    #[must_use]
    pub fn without_flows(mut self, names: &[String]) -> Self {
        self.flows.retain(|flow| !names.contains(&flow.name));
        let is_paced =
            |i: usize| self.flows[i].datagrams.is_some() && self.flows[i].asked_bps.is_none();
        self.totals = totals(&is_paced, &self.flows, &self.queues);
        self
    }

    /// Each flow's goodput in bits per second.
    pub fn goodputs(&self) -> Vec<f64> {
        self.flows.iter().map(|flow| flow.goodput_bps as f64).collect()
    }

    /// The access points' queues.
    pub fn ap_queues(&self) -> impl Iterator<Item = &QueueSummary> {
        self.queues.iter().filter(|queue| queue.access_point)
    }
}

fn flow_summary(
    names: &Names,
    i: usize,
    flow: &FlowOutcome,
    bin: Option<Duration>,
    stretches: &Stretches,
) -> FlowSummary {
    let (from, to) = (&flow.at_warm_up, &flow.at_end);
    let known = |count: u64| (!to.is_of_kernel).then_some(count);
    FlowSummary {
        name: flow.name.clone(),
        direction: names.direction(i),
        start_ns: names.start_ns(i),
        goodput_bps: flow.goodput.0,
        sent_packets: to.sent_packets - from.sent_packets,
        retransmissions: to.retransmissions - from.retransmissions,
        timeouts: to.timeouts - from.timeouts,
        fast_recoveries: known(to.fast_recoveries - from.fast_recoveries),
        acks_sent: to.acks_sent - from.acks_sent,
        acks_dropped: to.acks_dropped - from.acks_dropped,
        acks_dropped_at_ap_all_run: stretches.acks_dropped_at_ap(i),
        acks_filtered: to.acks_filtered - from.acks_filtered,
        acks_lost_inferred: known(to.acks_lost_inferred - from.acks_lost_inferred),
        srtt_end_ns: to.srtt.map(Duration::as_nanos),
        longest_silence_ns: flow.longest_silence.as_nanos(),
        collapsed: stretches.longest(i),
        collapsed_by_ack_loss: stretches.longest_by_ack_loss(i),
        completed_ns: flow.completed.map(Duration::as_nanos),
        completion_ns: flow.completed.map(|at| at.as_nanos().saturating_sub(names.start_ns(i))),
        delay: flow.delay.map(TimesSummary::of),
        round_trips: flow.round_trips.map(TimesSummary::of),
        datagrams: flow
            .datagrams
            .as_ref()
            .map(|seen| DatagramSummary::of(seen, to.sent_packets - from.sent_packets, flow.delay)),
        asked_bps: names.asks(i).map(|rate| rate.0),
        web: flow.web.as_ref().map(WebSummary::of),
        playout: flow.playout.as_ref().map(VideoSummary::of),
        bins_bps: bin.map_or_else(Vec::new, |bin| {
            flow.bins.iter().map(|bytes| BitRate::over(*bytes, bin).0).collect()
        }),
        proxy: to.proxy.as_ref().map(|end| ProxySummary::of(&from.proxy.unwrap_or_default(), end)),
        probe: flow.probe.as_ref().map(ProbeSummary::of),
        shake: flow.shake.as_ref().map(ShakeSummary::of),
        paths: flow.paths.iter().map(PathSummary::of).collect(),
    }
}

impl FlowSummary {
    /// Datagrams that were sent and did not arrive, in per cent; `None` for flows of another kind,
    /// and where none were sent.
    pub fn lost_percent(&self) -> Option<f64> {
        let seen = self.datagrams.as_ref()?;
        let expected = seen.received + seen.lost;
        (expected > 0).then(|| 100.0 * seen.lost as f64 / expected as f64)
    }
}

impl ProxySummary {
    fn of(from: &ProxySample, to: &ProxySample) -> Self {
        Self {
            sent_packets: to.sent_packets - from.sent_packets,
            retransmissions: to.retransmissions - from.retransmissions,
            timeouts: to.timeouts - from.timeouts,
            fast_recoveries: to.fast_recoveries - from.fast_recoveries,
            srtt_end_ns: to.srtt.map(Duration::as_nanos),
        }
    }
}

impl DatagramSummary {
    /// The counts of a receiver of a flow that sent so many datagrams.
    fn of(seen: &DatagramOutcome, sent: u64, delay: Option<Times>) -> Self {
        let received = seen.received;
        let lost = if received == 0 { sent } else { seen.lost };
        let delay = delay.map(TimesSummary::of);
        let jitter_ns = (received > 1).then_some(seen.jitter.as_nanos());
        Self { received, lost, delay, jitter_ns }
    }
}

impl WebSummary {
    fn of(seen: &WebOutcome) -> Self {
        let times = |times: Option<Times>| times.map(TimesSummary::of);
        let (pages, objects) = (times(seen.pages), times(seen.objects));
        Self { pages, objects, objects_lost: seen.objects_lost }
    }
}

fn queue_summary(names: &Names, i: usize, queue: &QueueOutcome) -> QueueSummary {
    let (from, to) = (&queue.at_warm_up, &queue.at_end);
    let drops = |cause: usize| to.drops[cause] - from.drops[cause];
    QueueSummary {
        name: queue.name.clone(),
        access_point: names.is_ap_queue(fairwave_trace::QueueId(i as u32)),
        enqueued: to.enqueued - from.enqueued,
        drops_queue_full: drops(0),
        drops_retry_limit: drops(1),
        drops_link_loss: drops(2),
        drops_no_route: drops(3),
        drops_aqm: drops(4),
        drops_ack_filtered: drops(5),
        peak_packets: queue.peak_packets,
        mean_packets: queue.mean_packets,
    }
}

fn station_summary(station: &StationOutcome, measured_ns: u64) -> StationSummary {
    let (from, to) = (&station.at_warm_up, &station.at_end);
    let airtime =
        (to.airtime + to.control_airtime).saturating_sub(from.airtime + from.control_airtime);
    StationSummary {
        name: station.name.clone(),
        attempts: to.attempts - from.attempts,
        failures: to.failures - from.failures,
        collisions: to.collisions - from.collisions,
        successes: to.successes - from.successes,
        retry_drops: to.retry_drops - from.retry_drops,
        airtime_share: airtime.as_nanos() as f64 / measured_ns.max(1) as f64,
    }
}

/// A flow of datagrams at a pace of its own needs no more than it offers, and a sized flow no more
/// than its size: neither starves, however much others get. The fair share of a flow that asks for
/// less than the mean is the rate that it asks for (max-min fairness).
fn starved(is_paced: &dyn Fn(usize) -> bool, flows: &[FlowSummary], shares: &[f64]) -> usize {
    let fair = stats::mean(shares).unwrap_or(0.0);
    let is_content = |i: usize, flow: &FlowSummary| {
        let gets_its_pace = flow.lost_percent().is_none_or(|lost| lost <= CONTENT_LOST_PERCENT);
        let gets_its_share =
            |requested: u64| flow.goodput_bps as f64 >= STARVED_FRACTION * requested as f64;
        flow.completed_ns.is_some()
            || flow.asked_bps.is_some_and(gets_its_share)
            || (is_paced(i) && gets_its_pace)
    };
    let flows = shares.iter().zip(flows).enumerate();
    let starved = flows
        .filter(|(i, (share, flow))| **share < fair * STARVED_FRACTION && !is_content(*i, flow));
    starved.count()
}

fn totals(
    is_paced: &dyn Fn(usize) -> bool,
    flows: &[FlowSummary],
    queues: &[QueueSummary],
) -> Totals {
    let shares: Vec<f64> = flows.iter().map(|flow| flow.goodput_bps as f64).collect();
    let toward = |direction| {
        flows.iter().filter(|f| f.direction == direction).map(|f| f.goodput_bps).sum::<u64>()
    };
    Totals {
        goodput_bps: flows.iter().map(|flow| flow.goodput_bps).sum(),
        up_bps: toward(Direction::Up),
        down_bps: toward(Direction::Down),
        jain: stats::jain(&shares),
        starved_flows: starved(is_paced, flows, &shares),
        drops_queue_full: queues.iter().map(|q| q.drops_queue_full).sum(),
        drops_retry_limit: queues.iter().map(|q| q.drops_retry_limit).sum(),
        drops_link_loss: queues.iter().map(|q| q.drops_link_loss).sum(),
        drops_no_route: queues.iter().map(|q| q.drops_no_route).sum(),
        drops_aqm: queues.iter().map(|q| q.drops_aqm).sum(),
        drops_ack_filtered: queues.iter().map(|q| q.drops_ack_filtered).sum(),
    }
}
