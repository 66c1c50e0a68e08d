//! Proxies that flows pass on their way.

use crate::flow::{self, End};
use crate::packet::Packet;
use crate::simulator::{Actor, Simulator};
use crate::world::{self, World};
use crate::{Error, routes};
use fairwave_machine::Machine;
use fairwave_proxy::{Proxy, ProxyConfig, Side};
use fairwave_tcp::{Segment, Virtual};
use fairwave_trace::{FlowId, NodeId, ProxySample, Sink};
use fairwave_units::{Seed, Seq32};
use fairwave_wire::datagram::Transport;

/// The proxy of one flow.
#[derive(Debug)]
pub(crate) struct Relay {
    flow: usize,
    node: NodeId,
    proxy: Proxy<Virtual>,
}

/// Every flow's proxy, in the flows' order.
#[derive(Debug, Default)]
pub(crate) struct Relays {
    relays: Vec<Relay>,
    /// Each flow's place among them; empty where no flow has one.
    places: Vec<Option<usize>>,
}

impl Relays {
    pub(crate) fn new(world: &World) -> Self {
        let mut all = Self::default();
        for (i, spec) in world.flows.iter().enumerate() {
            let Some(proxy) = &spec.proxy else { continue };
            all.places.resize(world.flows.len(), None);
            all.places[i] = Some(all.relays.len());
            let proxy = build(FlowId(i as u32), &spec.name, proxy, world.seed);
            let node = spec.proxy.as_ref().map_or(spec.source, |proxy| proxy.at);
            all.relays.push(Relay { flow: i, node, proxy });
        }
        all
    }

    pub(crate) fn len(&self) -> usize {
        self.relays.len()
    }

    /// The proxy that a packet of `flow` meets at `node`.
    fn at(&self, node: NodeId, flow: FlowId) -> Option<usize> {
        let place = (*self.places.get(flow.0 as usize)?)?;
        (self.relays[place].node == node).then_some(place)
    }

    /// The state of the proxy of a flow that has one.
    pub(crate) fn sample(&self, flow: usize) -> Option<ProxySample> {
        let place = (*self.places.get(flow)?)?;
        let proxy = &self.relays[place].proxy;
        let far = proxy.side(Side::Far).stats();
        Some(ProxySample {
            held_bytes: proxy.held(Side::Near),
            cwnd: far.cwnd,
            ssthresh: far.ssthresh,
            flight: far.flight,
            srtt: far.srtt,
            rto: far.rto,
            sent_packets: far.segments_sent,
            retransmissions: far.retransmissions,
            timeouts: far.timeouts,
            fast_recoveries: far.fast_recoveries,
        })
    }
}

fn build(id: FlowId, name: &str, spec: &world::Proxy, seed: Seed) -> Proxy<Virtual> {
    let (client, server) = flow::ports(id);
    let (mut near, mut far) = (spec.near, spec.far);
    (near.local_port, near.remote_port) = (server, client);
    (far.local_port, far.remote_port) = (client, server);
    let mut isn = seed.stream(&format!("isn/{name}/proxy"));
    let mut draw = || Seq32(isn.next_u64() as u32);
    let law = || flow::law(&spec.congestion_control);
    let config = ProxyConfig { near, far, opening: spec.opening };
    Proxy::new(config, (draw(), draw()), (law(), law()))
}

/// Refuses a proxy that its flow does not pass, or that it could not use.
pub(crate) fn check(
    world: &World,
    routes: &routes::Table,
    spec: &world::Flow,
) -> Result<(), Error> {
    let Some(proxy) = &spec.proxy else { return Ok(()) };
    let refuse = |why: &str| Err(Error::Invalid(format!("flow {}: {why}", spec.name)));
    if !matches!(spec.traffic, world::Traffic::Tcp(_)) {
        return refuse("only a TCP flow with one connection can pass a proxy");
    }
    flow::check_law(&spec.name, &proxy.congestion_control)?;
    match routes::passes_by(world, routes, (spec.source, spec.sink), proxy.at) {
        true => Ok(()),
        false => refuse("its proxy is not on its way"),
    }
}

impl Simulator<'_> {
    /// The proxy that a packet of `flow` meets at `node`.
    pub(crate) fn relay_at(&self, node: NodeId, flow: FlowId) -> Option<usize> {
        self.relays.at(node, flow)
    }

    /// Hands a packet to a proxy.
    pub(crate) fn relay(&mut self, place: usize, packet: &Packet, sink: &mut dyn Sink) {
        let Transport::Tcp(header) = packet.datagram.transport else { return };
        let relay = &mut self.relays.relays[place];
        let comes_near = packet.destination == self.world.flows[relay.flow].sink;
        let side = if comes_near { Side::Near } else { Side::Far };
        let (ecn, payload) = (packet.datagram.ecn(), Virtual(packet.datagram.payload_len));
        relay.proxy.handle(self.now, (side, Segment { header, ecn, payload }));
        self.flush_relay(place, sink);
    }

    /// A timer of a proxy expired.
    pub(crate) fn run_relay(&mut self, place: usize, sink: &mut dyn Sink) {
        self.relays.relays[place].proxy.wake(self.now);
        self.flush_relay(place, sink);
    }

    /// Sends on what a proxy has to send, under the addresses of the flow's ends.
    fn flush_relay(&mut self, place: usize, sink: &mut dyn Sink) {
        let (flow, node) = (self.relays.relays[place].flow, self.relays.relays[place].node);
        while let Some((side, segment)) = self.relays.relays[place].proxy.poll(self.now) {
            let end = if side == Side::Far { End::Source } else { End::Sink };
            let packet = self.flows[flow].wrap(end, &segment, self.now);
            self.send(node, packet, sink);
        }
        while self.relays.relays[place].proxy.event().is_some() {}
        let deadline = self.relays.relays[place].proxy.deadline();
        self.set_deadline(Actor::Relay(place), deadline);
    }
}
