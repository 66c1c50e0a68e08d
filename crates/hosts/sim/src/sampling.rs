//! The state of a world as others see it: samples now and then, and the outcome of a run.

use crate::actors::{Actor, Actors, Ids};
use crate::context::Context;
use crate::flow::FlowState;
use crate::network::Network;
use crate::network::metered::Metered;
use crate::network::radios::{PairState, pair_key};
use crate::observer::Observer;
use crate::outcome::{
    FlowOutcome, Outcome, PairOutcome, PathOutcome, QueueOutcome, StationOutcome,
};
use crate::proxy::Relays;
use crate::world::{Flow, Node, World};
use fairwave_probe::diagnosis;
use fairwave_trace::{
    FlowId, FlowSample, Kind, NodeId, PairSample, PathSample, QueueId, QueueSample, Sample,
    StationSample,
};
use fairwave_units::{BitRate, Duration, Instant};

/// Kinds of samples that are taken at intervals.
const SAMPLED: [Kind; 7] =
    [Kind::Flow, Kind::Queue, Kind::Station, Kind::Soc, Kind::Path, Kind::Pair, Kind::Delay];

/// Counters at one moment.
#[derive(Clone, Debug, Default)]
struct Snapshot {
    flows: Vec<FlowSample>,
    paths: Vec<Vec<PathSample>>,
    queues: Vec<QueueSample>,
    stations: Vec<StationSample>,
    pairs: Vec<PairState>,
}

impl Snapshot {
    fn take(network: &Network<'_>, relays: &Relays, cx: &Context<'_>) -> Self {
        let flows = &cx.owners.flows;
        Self {
            flows: (0..flows.len()).map(|i| flow_sample(i, relays, cx)).collect(),
            paths: flows.iter().map(|flow| flow.paths().collect()).collect(),
            queues: network.queue_samples().collect(),
            stations: network.access.station_samples().map(|(_, station)| station).collect(),
            pairs: network.access.radios.pair_samples(),
        }
    }
}

fn flow_sample(flow: usize, relays: &Relays, cx: &Context<'_>) -> FlowSample {
    FlowSample { proxy: relays.sample(flow), ..cx.owners.flows[flow].sample(cx.now) }
}

/// Sampling times, and the counters at the end of the warm-up.
#[derive(Debug)]
pub(crate) struct Sampling<'w> {
    world: &'w World,
    /// Interval of samples; `None` if none are wanted.
    every: Option<Duration>,
    sampler: Ids,
    warm_up: Ids,
    bin: Ids,
    warm: Snapshot,
}

impl<'w> Sampling<'w> {
    pub(crate) fn new(world: &'w World, observer: &Observer<'_>, actors: &mut Actors) -> Self {
        let is_wanted = SAMPLED.into_iter().any(|kind| observer.wants(kind));
        Self {
            world,
            every: (is_wanted && !world.sample_every.is_zero()).then_some(world.sample_every),
            sampler: actors.enlist(1, |_| Actor::Sampler),
            warm_up: actors.enlist(1, |_| Actor::WarmUp),
            bin: actors.enlist(1, |_| Actor::Bin),
            warm: Snapshot::default(),
        }
    }

    /// Sets the first deadlines, but for the bins'.
    pub(crate) fn begin(&self, cx: &mut Context<'_>) {
        if let Some(every) = self.every {
            cx.set(self.sampler, 0, Some(cx.now + every));
            if cx.observer.wants(Kind::Delay) {
                cx.owners.flows.iter_mut().for_each(|flow| flow.delivery.delays.keep_intervals());
            }
        }
        cx.set(self.warm_up, 0, Some(cx.now + self.world.warm_up));
    }

    /// Sets the end of the first bin.
    pub(crate) fn begin_bins(&self, cx: &mut Context<'_>) {
        let bin = self.world.bins.filter(|bin| !bin.is_zero());
        cx.set(self.bin, 0, bin.map(|bin| cx.now + bin));
    }

    /// A bin is over: records the data delivered in it.
    pub(crate) fn end_bin(&self, cx: &mut Context<'_>) {
        cx.owners.flows.iter_mut().for_each(|flow| flow.delivery.end_bin());
        cx.set(self.bin, 0, self.world.bins.map(|bin| cx.now + bin));
    }

    /// Counts from here, unless the warm-up ends later.
    pub(crate) fn note_warm(&mut self, network: &Network<'_>, relays: &Relays, cx: &Context<'_>) {
        self.warm = Snapshot::take(network, relays, cx);
    }

    /// The warm-up is over: counts from here.
    pub(crate) fn end_warm_up(
        &mut self,
        network: &mut Network<'_>,
        relays: &Relays,
        cx: &mut Context<'_>,
    ) {
        network.queues_mut().for_each(|queue| queue.restart_statistics(cx.now));
        cx.owners.flows.iter_mut().for_each(|flow| flow.restart_statistics(cx.now));
        cx.set(self.warm_up, 0, None);
        self.note_warm(network, relays, cx);
    }

    /// Whether a flow starts within the run. Another has no samples: where a host carries it, only
    /// the host's are to be seen.
    fn starts(&self, flow: usize) -> bool {
        self.world.flows[flow].start <= Instant::ZERO + self.world.duration
    }

    /// Records the state of everything the sink wants, and sets the next time to do so.
    pub(crate) fn sample(&self, network: &Network<'_>, relays: &Relays, cx: &mut Context<'_>) {
        let now = cx.now;
        sample_flows(&|i| self.starts(i), relays, cx);
        if cx.observer.wants(Kind::Queue) {
            for (queue, id) in network.queue_samples().zip((0..).map(QueueId)) {
                cx.observer.record(now, &Sample::Queue(id, queue));
            }
        }
        if cx.observer.wants(Kind::Station) {
            for (node, station) in network.access.station_samples() {
                cx.observer.record(now, &Sample::Station(node, station));
            }
        }
        if cx.observer.wants(Kind::Pair) {
            for (from, to, pair) in network.access.radios.pair_samples() {
                cx.observer.record(now, &Sample::Pair(from, to, pair));
            }
        }
        if let Some(soc) = cx.soc.as_deref().filter(|_| cx.observer.wants(Kind::Soc)) {
            for (node, sample) in
                soc.samples(|ap, node| network.access.radios.mean_snr(ap, node, now))
            {
                cx.observer.record(now, &Sample::Soc(node, sample));
            }
        }
        cx.set(self.sampler, 0, self.every.map(|every| now + every));
    }

    /// Returns the result of a run that ends at `end`.
    pub(crate) fn outcome(
        &self,
        mut network: Network<'_>,
        relays: &Relays,
        mut cx: Context<'_>,
        end: Instant,
        events: u64,
    ) -> Outcome {
        let simulated = end.since(Instant::ZERO);
        let measured = simulated.saturating_sub(self.world.warm_up);
        let last = Snapshot::take(&network, relays, &cx);
        record_delay_bins(end, &mut cx);
        Outcome {
            simulated,
            measured,
            bin: self.world.bins,
            flows: self.flow_outcomes(&last, &mut cx.owners.flows, end, measured),
            queues: self.queue_outcomes(&last, &mut network, end),
            stations: self.station_outcomes(&last),
            pairs: self.pair_outcomes(&last),
            frames: network.access.radios.frames(),
            events,
        }
    }

    fn flow_outcomes(
        &self,
        last: &Snapshot,
        flows: &mut [FlowState],
        end: Instant,
        measured: Duration,
    ) -> Vec<FlowOutcome> {
        let outcome = |(i, flow): (usize, &mut FlowState)| {
            flow.delivery.note_silence(end);
            let (at_warm_up, at_end) = (self.warm.flows[i], last.flows[i]);
            let bytes = at_end.delivered_bytes - at_warm_up.delivered_bytes;
            FlowOutcome {
                name: self.world.flows[i].name.clone(),
                goodput: BitRate::over(bytes, measured),
                at_warm_up,
                at_end,
                bins: core::mem::take(&mut flow.delivery.bins),
                longest_silence: flow.delivery.longest_silence,
                completed: flow.delivery.completed.map(|at| at.since(Instant::ZERO)),
                paths: path_outcomes(self.world, i, &self.warm.paths[i], &last.paths[i]),
                ..flow.outcome(end)
            }
        };
        let mut outcomes: Vec<_> = flows.iter_mut().enumerate().map(outcome).collect();
        for (watcher, watched) in watchers(self.world) {
            let (loading, watching) = (&flows[watched], &flows[watcher]);
            let sharing = diagnosis::sharing(loading.accounts(), watching.accounts());
            if let Some(probe) = &mut outcomes[watcher].probe {
                probe.sharing = Some(sharing);
            }
        }
        outcomes
    }

    fn queue_outcomes(
        &self,
        last: &Snapshot,
        network: &mut Network<'_>,
        end: Instant,
    ) -> Vec<QueueOutcome> {
        let names = queue_names(self.world);
        let outcome = |((i, queue), name): ((usize, &mut Metered), String)| QueueOutcome {
            name,
            at_warm_up: self.warm.queues[i],
            at_end: last.queues[i],
            peak_packets: queue.peak(),
            mean_packets: queue.mean(end),
        };
        network.queues_mut().enumerate().zip(names).map(outcome).collect()
    }

    fn station_outcomes(&self, last: &Snapshot) -> Vec<StationOutcome> {
        let radios = self.world.nodes.iter().filter(|node| node.radio.is_some());
        let counters = self.warm.stations.iter().zip(&last.stations);
        let outcome = |(node, (at_warm_up, at_end)): (&Node, (&StationSample, &StationSample))| {
            StationOutcome { name: node.name.clone(), at_warm_up: *at_warm_up, at_end: *at_end }
        };
        radios.zip(counters).map(outcome).collect()
    }

    fn pair_outcomes(&self, last: &Snapshot) -> Vec<PairOutcome> {
        let name = |node: NodeId| self.world.nodes[node.0 as usize].name.clone();
        let warm = &self.warm.pairs;
        let outcome = |pair: &PairState| {
            // To a receiver that came later nothing had been sent.
            let place = warm.binary_search_by_key(&pair_key(pair), pair_key);
            PairOutcome {
                transmitter: name(pair.0),
                receiver: pair.1.map(name),
                at_warm_up: place.map_or_else(|_| PairSample::default(), |place| warm[place].2),
                at_end: pair.2,
            }
        };
        last.pairs.iter().map(outcome).collect()
    }
}

/// Records the state of all flows.
fn sample_flows(starts: &dyn Fn(usize) -> bool, relays: &Relays, cx: &mut Context<'_>) {
    let now = cx.now;
    if cx.observer.wants(Kind::Flow) {
        for i in (0..cx.owners.flows.len()).filter(|&i| starts(i)) {
            let sample = Sample::Flow(FlowId(i as u32), flow_sample(i, relays, cx));
            cx.observer.record(now, &sample);
        }
    }
    if cx.observer.wants(Kind::Path) {
        for i in (0..cx.owners.flows.len()).filter(|&i| starts(i)) {
            for (path, number) in cx.owners.flows[i].paths().zip(0..) {
                cx.observer.record(now, &Sample::Path(FlowId(i as u32), number, path));
            }
        }
    }
    if cx.observer.wants(Kind::Delay) {
        for (flow, id) in cx.owners.flows.iter_mut().zip((0..).map(FlowId)) {
            let times = flow.delivery.delays.end_interval();
            if starts(id.0 as usize) {
                cx.observer.record(now, &Sample::Delay(id, times));
            }
        }
    }
}

/// Records the distribution of every flow's delays, at the end of the run.
fn record_delay_bins(end: Instant, cx: &mut Context<'_>) {
    if cx.observer.wants(Kind::Delay) {
        for (flow, id) in cx.owners.flows.iter().zip((0..).map(FlowId)) {
            for bin in flow.delivery.delays.bins() {
                cx.observer.record(end, &Sample::DelayBin(id, bin));
            }
        }
    }
}

/// Probes that watch another, and that one.
fn watchers(world: &World) -> impl Iterator<Item = (usize, usize)> {
    let watched = |flow: &Flow| {
        let name = flow.traffic.description().watches()?;
        world.flows.iter().position(|other| other.name == *name)
    };
    world.flows.iter().enumerate().filter_map(move |(i, flow)| Some((i, watched(flow)?)))
}

/// `"ap"` for a radio's queue, `"ap>server"` for a link's, in the order of [`QueueId`].
pub fn queue_names(world: &World) -> Vec<String> {
    let radios = world.nodes.iter().filter(|node| node.radio.is_some());
    let lines = world.links.iter().flat_map(|link| {
        let name = |node: NodeId| &world.nodes[node.0 as usize].name;
        let (a, b) = (name(link.ends.0), name(link.ends.1));
        [format!("{a}>{b}"), format!("{b}>{a}")]
    });
    radios.map(|node| node.name.clone()).chain(lines).collect()
}

/// Results of the paths of a flow, each under the name of the node that it passes.
fn path_outcomes(
    world: &World,
    flow: usize,
    warm: &[PathSample],
    last: &[PathSample],
) -> Vec<PathOutcome> {
    let counters = warm.iter().zip(last);
    let vias = world.flows[flow].traffic.vias();
    let outcome = |(via, (at_warm_up, at_end)): (NodeId, (&PathSample, &PathSample))| {
        let name = world.nodes[via.0 as usize].name.clone();
        PathOutcome { name, at_warm_up: *at_warm_up, at_end: *at_end }
    };
    vias.into_iter().zip(counters).map(outcome).collect()
}
