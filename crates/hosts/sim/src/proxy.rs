//! Proxies that flows pass on their way.

use crate::actors::{Actor, Actors, Ids};
use crate::context::Context;
use crate::error::Error;
use crate::flow::{self, End};
use crate::packet::Packet;
use crate::routes;
use crate::world::{self, World};
use fairwave_machine::Machine;
use fairwave_tcp::split::{Proxy, ProxyConfig, Side};
use fairwave_tcp::{Segment, Virtual};
use fairwave_trace::{FlowId, NodeId, ProxySample};
use fairwave_units::{Instant, Seed, Seq32};
use fairwave_wire::datagram::Transport;

/// The proxy of one flow.
#[derive(Debug)]
struct Relay {
    flow: usize,
    /// Destination of the flow's data: packets towards it come from the near side.
    sink: NodeId,
    node: NodeId,
    proxy: Proxy<Virtual>,
}

/// Every flow's proxy, in the flows' order.
#[derive(Debug)]
pub(crate) struct Relays {
    all: Vec<Relay>,
    ids: Ids,
    /// Each flow's place among them; empty where no flow has one.
    places: Vec<Option<usize>>,
}

impl Relays {
    pub(crate) fn new(world: &World, actors: &mut Actors) -> Self {
        let (mut all, mut places) = (Vec::new(), Vec::new());
        for (i, spec) in world.flows.iter().enumerate() {
            let Some(proxy) = &spec.proxy else { continue };
            places.resize(world.flows.len(), None);
            places[i] = Some(all.len());
            let (sink, node) = (spec.sink, proxy.at);
            debug_assert!(node != sink && node != spec.source, "worlds are checked");
            let proxy = build(FlowId(i as u32), &spec.name, proxy, world.seed);
            all.push(Relay { flow: i, sink, node, proxy });
        }
        Self { ids: actors.enlist(all.len(), Actor::Relay), all, places }
    }

    /// The proxy that a packet of `flow` meets at `node`.
    pub(crate) fn at(&self, node: NodeId, flow: FlowId) -> Option<usize> {
        let place = (*self.places.get(flow.0 as usize)?)?;
        (self.all[place].node == node).then_some(place)
    }

    /// Hands a packet to a proxy.
    pub(crate) fn take(&mut self, place: usize, packet: &Packet, now: Instant) {
        let Transport::Tcp(header) = packet.datagram.transport else { return };
        let Relay { sink, proxy, .. } = &mut self.all[place];
        let side = if packet.destination == *sink { Side::Near } else { Side::Far };
        let (ecn, payload) = (packet.datagram.ecn(), Virtual(packet.datagram.payload_len));
        proxy.handle(now, (side, Segment { header, ecn, payload }));
    }

    /// A timer of a proxy expired.
    pub(crate) fn wake(&mut self, place: usize, now: Instant) {
        self.all[place].proxy.wake(now);
    }

    /// The next packet that a proxy has to send, under the addresses of the flow's ends, and the
    /// node where it is.
    pub(crate) fn poll(&mut self, place: usize, cx: &mut Context<'_>) -> Option<(NodeId, Packet)> {
        let Relay { flow, node, proxy, .. } = &mut self.all[place];
        let (side, segment) = proxy.poll(cx.now)?;
        let end = if side == Side::Far { End::Source } else { End::Sink };
        Some((*node, cx.owners.flows[*flow].wrap(end, &segment, cx.now)))
    }

    /// Sets the deadline of a proxy that has been polled.
    pub(crate) fn arm(&mut self, place: usize, cx: &mut Context<'_>) {
        let proxy = &mut self.all[place].proxy;
        while proxy.event().is_some() {}
        cx.set(self.ids, place, proxy.deadline());
    }

    /// The state of the proxy of a flow that has one.
    pub(crate) fn sample(&self, flow: usize) -> Option<ProxySample> {
        let place = (*self.places.get(flow)?)?;
        let proxy = &self.all[place].proxy;
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
    let algorithm = || flow::controller(&spec.congestion_control);
    let config = ProxyConfig { near, far, opening: spec.opening };
    Proxy::new(config, (draw(), draw()), (algorithm(), algorithm()))
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
    proxy.congestion_control.check().or_else(|why| refuse(&why.to_string()))?;
    match routes::passes_by(world, routes, spec.source, spec.sink, proxy.at) {
        true => Ok(()),
        false => refuse("its proxy is not on its way"),
    }
}
