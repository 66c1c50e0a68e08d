//! Attribution of dropped packets to flows on sockets, by addresses and ports.

use crate::address;
use fairwave_sim::FlowOutcome;
use fairwave_sim::ports;
use fairwave_sim::world::{Traffic, World};
use fairwave_trace::{DropCause, DropSample, FlowId, Kind, NodeId, Sample, Sink};
use fairwave_units::Instant;
use fairwave_wire::datagram::{Contents, Datagram, Transport};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Addresses and ports of a packet: of its source, and of its destination.
type Ends = ((Ipv4Addr, u16), (Ipv4Addr, u16));

/// Cumulative counts of a flow's ACKs that were dropped or filtered on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Acks {
    dropped: u64,
    filtered: u64,
}

impl Acks {
    fn add(&mut self, drop: &DropSample) {
        match drop.cause {
            DropCause::AckFiltered => self.filtered += 1,
            _ if drop.datagram.is_pure_ack() => self.dropped += 1,
            _ => {}
        }
    }
}

/// Adds the flow to samples of dropped packets, and counts ACKs as the simulator does for its own
/// flows.
pub(crate) struct Attributing<'a> {
    sink: &'a mut dyn Sink,
    flows: BTreeMap<Ends, FlowId>,
    /// Flows over paths, by the address of a path and the address of the sink, and those of DCCP:
    /// the kernel chooses the ports of their sources.
    paths: BTreeMap<(Ipv4Addr, (Ipv4Addr, u16)), FlowId>,
    acks: BTreeMap<FlowId, Acks>,
    /// The counts at the first drop after the warm-up.
    at_warm_up: Option<BTreeMap<FlowId, Acks>>,
    warm_up: Instant,
}

impl<'a> Attributing<'a> {
    /// For the flows `ids` of `world`, which use sockets.
    pub(crate) fn new(world: &World, ids: &[FlowId], sink: &'a mut dyn Sink) -> Self {
        let ends = |id: &FlowId| {
            let flow = &world.flows[id.0 as usize];
            let (client, server) = ports(*id);
            let source = (address::v4(flow.source), client);
            let sink = (address::v4(flow.sink), server);
            [((source, sink), *id), ((sink, source), *id)]
        };
        let paths = |id: &FlowId| {
            let flow = &world.flows[id.0 as usize];
            let (id, sink) = (*id, (address::v4(flow.sink), ports(*id).1));
            let vias = flow.traffic.vias().into_iter();
            let addresses = vias.filter_map(|via| address::on_path(flow.source, via));
            let is_dccp = matches!(flow.traffic, Traffic::Dccp(_));
            let own = is_dccp.then(|| address::v4(flow.source));
            addresses.chain(own).map(move |address| ((address, sink), id)).collect::<Vec<_>>()
        };
        Self {
            sink,
            paths: ids.iter().flat_map(paths).collect(),
            flows: ids.iter().flat_map(ends).collect(),
            acks: ids.iter().map(|id| (*id, Acks::default())).collect(),
            at_warm_up: None,
            warm_up: Instant::ZERO + world.warm_up,
        }
    }

    /// The flow of a packet that did not come from the simulator.
    fn flow_of(&self, datagram: &Datagram) -> Option<FlowId> {
        let (source, destination) = match &datagram.transport {
            Transport::Tcp(header) => (header.source_port, header.destination_port),
            Transport::Udp { source_port, destination_port } => (*source_port, *destination_port),
            Transport::Dccp(_) => return None,
        };
        let ends = ((datagram.source, source), (datagram.destination, destination));
        let (from, to) = ends;
        let of_path = || self.paths.get(&(from.0, to)).or_else(|| self.paths.get(&(to.0, from)));
        self.flows.get(&ends).or_else(of_path).copied()
    }

    /// Adds the counts to the outcomes of the flows.
    pub(crate) fn put_into(&self, outcomes: &mut [FlowOutcome]) {
        // If there was no drop after the warm-up, all of them were before it.
        let before = self.at_warm_up.as_ref().unwrap_or(&self.acks);
        for (id, acks) in &self.acks {
            let outcome = &mut outcomes[id.0 as usize];
            let before = before[id];
            for (sample, acks) in [(&mut outcome.at_warm_up, before), (&mut outcome.at_end, *acks)]
            {
                (sample.acks_dropped, sample.acks_filtered) = (acks.dropped, acks.filtered);
            }
        }
    }
}

impl Sink for Attributing<'_> {
    fn wants(&self, kind: Kind) -> bool {
        kind == Kind::Drop && !self.flows.is_empty() || self.sink.wants(kind)
    }

    fn taps(&self, node: NodeId) -> bool {
        self.sink.taps(node)
    }

    fn note_contents(&mut self, datagram: &Datagram, contents: Contents) {
        self.sink.note_contents(datagram, contents);
    }

    fn record(&mut self, at: Instant, sample: &Sample) {
        match sample {
            Sample::Drop(drop) if drop.flow.is_none() => {
                let flow = self.flow_of(&drop.datagram);
                if at >= self.warm_up {
                    self.at_warm_up.get_or_insert_with(|| self.acks.clone());
                }
                if let Some(acks) = flow.and_then(|id| self.acks.get_mut(&id)) {
                    acks.add(drop);
                }
                self.sink.record(at, &Sample::Drop(DropSample { flow, ..*drop }));
            }
            Sample::Flow(id, sample) if let Some(acks) = self.acks.get(id) => {
                let mut sample = *sample;
                (sample.acks_dropped, sample.acks_filtered) = (acks.dropped, acks.filtered);
                self.sink.record(at, &Sample::Flow(*id, sample));
            }
            _ => self.sink.record(at, sample),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_scenario::plan::Plan;
    use fairwave_trace::QueueId;
    use fairwave_units::Duration;
    use fairwave_wire::tcp::Flags;

    const SCENARIO: &str = r#"
        duration = "10 s"
        warm_up = "2 s"
        [[node]]
        name = "a"
        kind = "host"
        [[node]]
        name = "b"
        kind = "host"
        [[link]]
        ends = ["a", "b"]
        [[flow]]
        name = "up"
        from = "a"
        to = "b"
        [emulate]
        kernel_flows = ["up"]
    "#;

    const PATHS: &str = r#"
        duration = "10 s"
        node = [
            { name = "host", kind = "host" },
            { name = "server", kind = "host" },
            { name = "phone", kind = "host", count = 2 },
        ]
        link = [{ ends = ["host", "phone*"] }, { ends = ["phone*", "server"] }]
        emulate = { kernel_flows = ["up"], mptcp = true }
        [[flow]]
        name = "up"
        from = "host"
        to = "server"
        transport = "shake"
        paths = [{ via = "phone1" }, { via = "phone2" }]
    "#;

    #[derive(Default)]
    struct Kept(Vec<Sample>);

    impl Sink for Kept {
        fn wants(&self, kind: Kind) -> bool {
            kind == Kind::Flow
        }

        fn record(&mut self, _: Instant, sample: &Sample) {
            self.0.push(*sample);
        }
    }

    /// A sample of a pure ACK between these ends, dropped at a full queue.
    fn ack((source, destination): Ends) -> Sample {
        let header = fairwave_wire::tcp::Header {
            source_port: source.1,
            destination_port: destination.1,
            flags: Flags { ack: true, ..Flags::default() },
            ..fairwave_wire::tcp::Header::default()
        };
        let datagram = Datagram {
            source: source.0,
            destination: destination.0,
            id: 0,
            ttl: 64,
            tos: 0,
            transport: Transport::Tcp(header),
            payload_len: 0,
        };
        let (queue, cause) = (QueueId(0), DropCause::QueueFull);
        Sample::Drop(DropSample { queue, cause, flow: None, datagram })
    }

    #[test]
    fn what_was_dropped_in_the_warm_up_alone_is_not_measured() {
        let plan = Plan::parse("two.toml", SCENARIO, &[]).expect("it is valid");
        let world = plan.points[0].scenario.to_world(1);
        let (mut kept, id) = (Kept::default(), FlowId(0));
        let mut sink = Attributing::new(&world, &[id], &mut kept);
        let (client, server) = ports(id);
        let (a, b) = ((address::v4(NodeId(0)), client), (address::v4(NodeId(1)), server));
        sink.record(Instant::ZERO + Duration::from_secs(1), &ack((b, a)));
        let mut outcomes = vec![FlowOutcome::default()];
        sink.put_into(&mut outcomes);
        let dropped = (outcomes[0].at_warm_up.acks_dropped, outcomes[0].at_end.acks_dropped);
        assert_eq!(dropped, (1, 1));
    }

    #[test]
    fn dropped_acks_are_those_of_their_flow() {
        let plan = Plan::parse("two.toml", SCENARIO, &[]).expect("it is valid");
        let world = plan.points[0].scenario.to_world(1);
        let (mut kept, id) = (Kept::default(), FlowId(0));
        let mut sink = Attributing::new(&world, &[id], &mut kept);
        assert!(sink.wants(Kind::Drop) && sink.wants(Kind::Flow) && !sink.wants(Kind::Queue));
        let (client, server) = ports(id);
        let (a, b) = ((address::v4(NodeId(0)), client), (address::v4(NodeId(1)), server));
        let at = |s| Instant::ZERO + Duration::from_secs(s);
        sink.record(at(1), &ack((b, a)));
        sink.record(at(3), &ack((b, a)));
        sink.record(at(4), &ack((b, (a.0, client + 1))));
        sink.record(at(5), &Sample::Flow(id, fairwave_trace::FlowSample::default()));
        let mut outcomes = vec![FlowOutcome::default()];
        sink.put_into(&mut outcomes);
        let dropped = (outcomes[0].at_warm_up.acks_dropped, outcomes[0].at_end.acks_dropped);
        assert_eq!(dropped, (1, 2));
        let flow = |sample: &Sample| match sample {
            Sample::Drop(drop) => drop.flow,
            Sample::Flow(_, sample) => {
                assert_eq!(sample.acks_dropped, 2);
                Some(id)
            }
            _ => None,
        };
        let flows: Vec<_> = kept.0.iter().map(flow).collect();
        assert_eq!(flows, [Some(id), Some(id), None, Some(id)]);
    }

    /// The kernel chooses the ports of further subflows.
    #[test]
    fn dropped_acks_of_each_path_are_those_of_their_flow() {
        let plan = Plan::parse("paths.toml", PATHS, &[]).expect("it is valid");
        let world = plan.points[0].scenario.to_world(1);
        let (mut kept, id) = (Kept::default(), FlowId(0));
        let mut sink = Attributing::new(&world, &[id], &mut kept);
        let server = (address::v4(NodeId(1)), ports(id).1);
        for (via, port) in [(2, 40_001), (3, 40_002), (4, 40_003)] {
            let path = address::on_path(NodeId(0), NodeId(via)).expect("it has one");
            sink.record(Instant::ZERO, &ack((server, (path, port))));
        }
        let mut outcomes = vec![FlowOutcome::default()];
        sink.put_into(&mut outcomes);
        assert_eq!(outcomes[0].at_end.acks_dropped, 2, "no path passes node 4");
    }
}
