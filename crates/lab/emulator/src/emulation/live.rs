//! Published state of a run in progress.

use crate::drive::Turn;
use crate::meter::Lateness;
use core::cell::RefCell;
use fairwave_lab::results::Names;
use fairwave_sim::world::World;
use fairwave_trace::{
    FlowId, FlowSample, Kind, NodeId, QueueId, QueueSample, Sample, Sink, StationSample,
};
use fairwave_units::{Duration, Instant};
use fairwave_wire::datagram::{Contents, Datagram};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Period of its updates.
const EVERY: Duration = Duration::from_millis(100);

/// The most recent state of a run. Readers never block the loop.
#[derive(Debug, Default)]
pub struct Live {
    state: Mutex<State>,
    /// Number of running programs.
    pub(crate) programs: AtomicUsize,
}

/// State of a run.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Time since the start.
    pub now: Instant,
    /// Packets in the world.
    pub under_way: usize,
    /// Number of running programs.
    pub programs: usize,
    /// Lateness of events and of packets so far.
    pub lateness: Option<(Lateness, Lateness)>,
    /// The real nodes.
    pub nodes: Vec<NodeState>,
    /// The most recent samples of the world.
    pub newest: Newest,
}

/// Packets and bytes of a real node since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeState {
    /// Its name.
    pub name: String,
    /// Packets that its programs sent.
    pub packets_in: u64,
    /// Bytes that they sent.
    pub bytes_in: u64,
    /// Packets that they received.
    pub packets_out: u64,
    /// Bytes that they received.
    pub bytes_out: u64,
    /// Packets lost in the emulator.
    pub lost: u64,
}

/// The most recent sample of each object in the world, by name.
#[derive(Clone, Debug, Default)]
pub struct Newest {
    /// Queues.
    pub queues: BTreeMap<String, QueueSample>,
    /// Radios.
    pub stations: BTreeMap<String, StationSample>,
    /// Flows.
    pub flows: BTreeMap<String, FlowSample>,
}

impl Live {
    /// The most recent state.
    pub fn state(&self) -> State {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner).clone();
        State { programs: self.programs.load(Ordering::Relaxed), ..state }
    }
}

impl State {
    /// The answer of the control socket.
    pub fn to_json(&self) -> Value {
        let lateness = |of: &Lateness| {
            json!({
                "count": of.count,
                "p50_ns": of.p50.as_nanos(),
                "p99_ns": of.p99.as_nanos(),
                "max_ns": of.most.as_nanos(),
            })
        };
        let node = |node: &NodeState| {
            json!({
                "name": node.name,
                "packets_in": node.packets_in,
                "bytes_in": node.bytes_in,
                "packets_out": node.packets_out,
                "bytes_out": node.bytes_out,
                "lost_in_emulator": node.lost,
            })
        };
        let Newest { queues, stations, flows } = &self.newest;
        let queues = queues.iter().map(|(name, of)| queue(name, of));
        let stations = stations.iter().map(|(name, of)| station(name, of));
        let flows = flows.iter().map(|(name, of)| flow(name, of));
        json!({
            "ok": true,
            "at_ns": self.now.as_nanos(),
            "under_way": self.under_way,
            "programs": self.programs,
            "lateness": self.lateness.as_ref().map(|(events, _)| lateness(events)),
            "packet_lateness": self.lateness.as_ref().map(|(_, packets)| lateness(packets)),
            "nodes": self.nodes.iter().map(node).collect::<Vec<_>>(),
            "queues": queues.collect::<Vec<_>>(),
            "stations": stations.collect::<Vec<_>>(),
            "flows": flows.collect::<Vec<_>>(),
        })
    }
}

fn queue(name: &str, of: &QueueSample) -> Value {
    let drops: u64 = of.drops.iter().sum();
    json!({ "name": name, "packets": of.packets, "bytes": of.bytes, "enqueued": of.enqueued,
        "drops": drops })
}

fn station(name: &str, of: &StationSample) -> Value {
    json!({ "name": name, "attempts": of.attempts, "failures": of.failures,
        "retry_drops": of.retry_drops, "airtime_ns": of.airtime.as_nanos(),
        "control_airtime_ns": of.control_airtime.as_nanos(), "snr_db": of.snr.map(|snr| snr.0) })
}

fn flow(name: &str, of: &FlowSample) -> Value {
    json!({ "name": name, "delivered_bytes": of.delivered_bytes, "cwnd_bytes": of.cwnd,
        "retransmissions": of.retransmissions, "srtt_ns": of.srtt.map(Duration::as_nanos) })
}

/// Sink that keeps the most recent samples and passes them on.
pub(crate) struct Watching<'a> {
    pub(crate) sink: &'a mut dyn Sink,
    pub(crate) samples: &'a Samples,
}

/// Most recent samples; only the loop's thread uses them.
#[derive(Default)]
pub(crate) struct Samples(RefCell<ById>);

#[derive(Default)]
struct ById {
    queues: BTreeMap<QueueId, QueueSample>,
    stations: BTreeMap<NodeId, StationSample>,
    flows: BTreeMap<FlowId, FlowSample>,
}

impl Sink for Watching<'_> {
    fn wants(&self, kind: Kind) -> bool {
        self.sink.wants(kind)
    }

    fn taps(&self, node: NodeId) -> bool {
        self.sink.taps(node)
    }

    fn note_contents(&mut self, datagram: &Datagram, contents: Contents) {
        self.sink.note_contents(datagram, contents);
    }

    fn record(&mut self, at: Instant, sample: &Sample) {
        let mut by_id = self.samples.0.borrow_mut();
        match sample {
            Sample::Queue(id, sample) => drop(by_id.queues.insert(*id, *sample)),
            Sample::Station(id, sample) => drop(by_id.stations.insert(*id, *sample)),
            Sample::Flow(id, sample) => drop(by_id.flows.insert(*id, *sample)),
            _ => {}
        }
        self.sink.record(at, sample);
    }
}

/// Updates the published state periodically.
pub(crate) struct Publisher<'a> {
    live: &'a Live,
    samples: &'a Samples,
    names: Names,
    nodes: &'a [String],
    next: Instant,
}

impl<'a> Publisher<'a> {
    pub(crate) fn new(
        world: &World,
        nodes: &'a [String],
        live: &'a Live,
        samples: &'a Samples,
    ) -> Self {
        Self { live, samples, names: Names::of(world), nodes, next: Instant::ZERO }
    }

    /// Publishes the state of a turn, if it is due and no reader holds the lock.
    pub(crate) fn show(&mut self, turn: &Turn<'_>) {
        if turn.now < self.next {
            return;
        }
        let Ok(mut state) = self.live.state.try_lock() else { return };
        self.next = turn.now + EVERY;
        let node = |(name, ends): (&String, &crate::drive::EndCounts)| NodeState {
            name: name.clone(),
            packets_in: ends.packets_in,
            bytes_in: ends.bytes_in,
            packets_out: ends.packets_out,
            bytes_out: ends.bytes_out,
            lost: ends.lost(),
        };
        let by_id = self.samples.0.borrow();
        let names = &self.names;
        *state = State {
            now: turn.now,
            under_way: turn.under_way,
            programs: 0,
            lateness: Some((Lateness::of(&turn.meter.events), Lateness::of(&turn.meter.packets))),
            nodes: self.nodes.iter().zip(turn.ends).map(node).collect(),
            newest: Newest {
                queues: by_id
                    .queues
                    .iter()
                    .map(|(id, s)| (names.queue(*id).to_string(), *s))
                    .collect(),
                stations: by_id
                    .stations
                    .iter()
                    .map(|(id, s)| (names.node(*id).to_string(), *s))
                    .collect(),
                flows: by_id
                    .flows
                    .iter()
                    .map(|(id, s)| (names.flow(*id).to_string(), *s))
                    .collect(),
            },
        };
    }
}
