//! Samples and outcomes: the simulator's state as others see it.

use crate::simulator::{Actor, Simulator};
use crate::world::{Flow, Traffic, World};
use crate::{FlowOutcome, Outcome, PathOutcome, QueueOutcome, StationOutcome};
use fairwave_dot11::channel::{FrameKind, FrameReport};
use fairwave_dot11::{AccessCategory, Format, Mode};
use fairwave_machine::Machine;
use fairwave_probe::diagnosis;
use fairwave_trace::{
    FlowId, FlowSample, FrameBody, FrameSample, Kind, NodeId, PathSample, Ppdu, PpduFormat,
    QueueId, QueueSample, Sample, Sink, StationSample,
};
use fairwave_units::{BitRate, Duration, Instant};
use fairwave_wire::soc;

use crate::packet::Packet;

/// Counters at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    flows: Vec<FlowSample>,
    paths: Vec<Vec<PathSample>>,
    queues: Vec<QueueSample>,
    stations: Vec<StationSample>,
}

impl Simulator<'_> {
    fn station_sample(&self, node: usize) -> Option<StationSample> {
        let port = self.ports[node].as_ref()?;
        if let Some(roamer) = self.roams[node] {
            return Some(self.roamers[roamer].stats(&self.cells));
        }
        Some(self.cells[port.cell].channel.stats(port.radio))
    }

    fn flow_sample(&self, flow: usize) -> FlowSample {
        FlowSample { proxy: self.relays.sample(flow), ..self.flows[flow].sample(self.now) }
    }

    /// A bin is over: what was delivered in it is noted.
    pub(crate) fn end_bin(&mut self) {
        self.flows.iter_mut().for_each(|flow| flow.delivery.end_bin());
        let next = self.world.bins.map(|bin| self.now + bin);
        self.set_deadline(Actor::Bin, next);
    }

    fn queue_samples(&self) -> impl Iterator<Item = QueueSample> + '_ {
        let radios = self.ports.iter().flatten().map(|port| port.queue.sample());
        radios.chain(self.lines.iter().map(|line| line.queue.sample()))
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            flows: (0..self.flows.len()).map(|i| self.flow_sample(i)).collect(),
            paths: self.flows.iter().map(|flow| flow.paths().collect()).collect(),
            queues: self.queue_samples().collect(),
            stations: (0..self.ports.len()).filter_map(|i| self.station_sample(i)).collect(),
        }
    }

    /// Records the state of everything the sink wants, and sets the next time to do so.
    pub(crate) fn sample(&mut self, sink: &mut dyn Sink) {
        if sink.wants(Kind::Flow) {
            for i in 0..self.flows.len() {
                sink.record(self.now, &Sample::Flow(FlowId(i as u32), self.flow_sample(i)));
            }
        }
        if sink.wants(Kind::Path) {
            for (flow, id) in self.flows.iter().zip((0..).map(FlowId)) {
                for (path, number) in flow.paths().zip(0..) {
                    sink.record(self.now, &Sample::Path(id, number, path));
                }
            }
        }
        if sink.wants(Kind::Queue) {
            for (i, queue) in self.queue_samples().enumerate() {
                sink.record(self.now, &Sample::Queue(QueueId(i as u32), queue));
            }
        }
        if sink.wants(Kind::Station) {
            for i in 0..self.ports.len() {
                if let Some(station) = self.station_sample(i) {
                    sink.record(self.now, &Sample::Station(NodeId(i as u32), station));
                }
            }
        }
        if sink.wants(Kind::Soc) {
            self.sample_soc(sink);
        }
        self.set_deadline(Actor::Sampler, Some(self.now + self.world.sample_every));
    }

    /// Passes on what a channel reported of its frames.
    pub(crate) fn report_frames(&mut self, cell: usize, sink: &mut dyn Sink) {
        while let Some(report) = self.cells[cell].channel.event() {
            let soc = report.payload.and_then(|packet| self.report_of(&packet));
            let sample = frame_sample(&self.cells[cell].nodes, &report, soc);
            sink.record(report.start, &Sample::Frame(sample));
        }
    }

    /// The warm-up is over: counts from here.
    pub(crate) fn end_warm_up(&mut self) -> Snapshot {
        let now = self.now;
        for queue in self.ports.iter_mut().flatten().map(|port| &mut port.queue) {
            queue.restart_statistics(now);
        }
        for line in &mut self.lines {
            line.queue.restart_statistics(now);
        }
        for flow in &mut self.flows {
            flow.restart_statistics(now);
        }
        self.set_deadline(Actor::WarmUp, None);
        self.snapshot()
    }

    pub(crate) fn outcome(&mut self, warm: &Snapshot) -> Outcome {
        let end = Instant::ZERO + self.world.duration;
        let measured = self.world.duration.saturating_sub(self.world.warm_up);
        let last = self.snapshot();
        Outcome {
            simulated: self.world.duration,
            measured,
            bin: self.world.bins,
            flows: self.flow_outcomes(warm, &last, end, measured),
            queues: self.queue_outcomes(warm, &last, end),
            stations: self.station_outcomes(warm, &last),
            frames: self.cells.iter().map(|cell| cell.channel.frames()).sum(),
            events: self.events,
        }
    }

    fn flow_outcomes(
        &mut self,
        warm: &Snapshot,
        last: &Snapshot,
        end: Instant,
        measured: Duration,
    ) -> Vec<FlowOutcome> {
        let outcome = |(i, flow): (usize, &mut crate::flow::FlowState)| {
            flow.delivery.note_silence(end);
            let (at_warm_up, at_end) = (warm.flows[i], last.flows[i]);
            let bytes = at_end.delivered_bytes - at_warm_up.delivered_bytes;
            FlowOutcome {
                name: self.world.flows[i].name.clone(),
                goodput: BitRate::over(bytes, measured),
                at_warm_up,
                at_end,
                bins: core::mem::take(&mut flow.delivery.bins),
                longest_silence: flow.delivery.longest_silence,
                completed: flow.delivery.completed.map(|at| at.since(Instant::ZERO)),
                datagrams: flow.datagrams(),
                web: flow.web(),
                video: flow.video(end),
                probe: flow.probe(),
                shake: flow.shake(),
                paths: path_outcomes(self.world, i, &warm.paths[i], &last.paths[i]),
            }
        };
        let mut outcomes: Vec<_> = self.flows.iter_mut().enumerate().map(outcome).collect();
        for (watcher, watched) in self.watchers() {
            let (loading, watching) = (&self.flows[watched], &self.flows[watcher]);
            let sharing = diagnosis::sharing(loading.accounts(), watching.accounts());
            if let Some(probe) = &mut outcomes[watcher].probe {
                probe.sharing = Some(sharing);
            }
        }
        outcomes
    }

    /// Probes that watch another, and that one.
    fn watchers(&self) -> Vec<(usize, usize)> {
        let flows = &self.world.flows;
        let watched = |flow: &Flow| {
            let Traffic::Probe(probe) = &flow.traffic else { return None };
            let name = probe.watches.as_ref()?;
            flows.iter().position(|other| other.name == *name)
        };
        let pair = |(i, flow)| Some((i, watched(flow)?));
        flows.iter().enumerate().filter_map(pair).collect()
    }

    fn queue_outcomes(
        &mut self,
        warm: &Snapshot,
        last: &Snapshot,
        end: Instant,
    ) -> Vec<QueueOutcome> {
        let names = queue_names(self.world);
        let radios = self.ports.iter_mut().flatten().map(|port| &mut port.queue);
        let queues = radios.chain(self.lines.iter_mut().map(|line| &mut line.queue));
        let outcome =
            |((i, queue), name): ((usize, &mut crate::metered::Metered), String)| QueueOutcome {
                name,
                at_warm_up: warm.queues[i],
                at_end: last.queues[i],
                peak_packets: queue.peak(),
                mean_packets: queue.mean(end),
            };
        queues.enumerate().zip(names).map(outcome).collect()
    }

    fn station_outcomes(&self, warm: &Snapshot, last: &Snapshot) -> Vec<StationOutcome> {
        let radios = self.world.nodes.iter().filter(|node| node.radio.is_some());
        let counters = warm.stations.iter().zip(&last.stations);
        let outcome = |(node, (at_warm_up, at_end)): (&crate::world::Node, _)| {
            let (at_warm_up, at_end): (&StationSample, &StationSample) = (at_warm_up, at_end);
            StationOutcome { name: node.name.clone(), at_warm_up: *at_warm_up, at_end: *at_end }
        };
        radios.zip(counters).map(outcome).collect()
    }
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

/// What the paths of a flow came to, each under the name of the node that it passes.
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

fn frame_sample(
    nodes: &[NodeId],
    report: &FrameReport<Packet>,
    soc: Option<[u8; soc::LEN]>,
) -> FrameSample {
    let node = |radio: fairwave_dot11::channel::RadioId| nodes[radio.0 as usize];
    let body = match (report.kind, report.payload) {
        (FrameKind::Data, Some(packet)) if packet.is_report() => FrameBody::Report,
        (FrameKind::Data, Some(packet)) => FrameBody::Data(packet.datagram),
        (FrameKind::Beacon | FrameKind::Data, _) => FrameBody::Beacon,
        (FrameKind::Ack, _) => FrameBody::Ack,
        (FrameKind::BlockAck, _) => FrameBody::BlockAck(report.scoreboard.unwrap_or_default()),
        (FrameKind::Rts, _) => FrameBody::Rts,
        (FrameKind::Cts, _) => FrameBody::Cts,
    };
    FrameSample {
        transmitter: node(report.from),
        receiver: report.to.map(node),
        ends: report.payload.map(|packet| (packet.source, packet.via)),
        rate: report.mode.rate(),
        ppdu: ppdu(report.mode),
        tid: report.category.map(user_priority),
        place: report.place,
        signal: report.signal,
        airtime: report.airtime,
        duration_us: u16::try_from(report.reserved.as_micros()).unwrap_or(u16::MAX),
        sequence: report.sequence,
        retry: report.retry,
        body,
        report: soc,
        received: report.received,
    }
}

fn ppdu(mode: Mode) -> Ppdu {
    Ppdu {
        format: match mode.format() {
            Format::Dsss => PpduFormat::Dsss,
            Format::Ofdm => PpduFormat::Ofdm,
            Format::Ht => PpduFormat::Ht,
            Format::Vht => PpduFormat::Vht,
            Format::He => PpduFormat::He,
        },
        mcs: mode.mcs(),
        streams: mode.streams(),
        width_mhz: mode.width().mhz() as u16,
        guard_ns: mode.guard().nanos() as u16,
        is_ldpc: mode.is_ldpc(),
    }
}

/// The user priority that stands for a category (802.11-2020 table 10-1): each has two.
const fn user_priority(category: AccessCategory) -> u8 {
    match category {
        AccessCategory::Background => 1,
        AccessCategory::BestEffort => 0,
        AccessCategory::Video => 5,
        AccessCategory::Voice => 6,
    }
}
