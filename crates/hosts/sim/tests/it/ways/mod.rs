//! Worlds for flows over several ways: a bottleneck each.

use crate::common::{flow, world};
use fairwave_dot11::Standard;
use fairwave_queue::Limit;
use fairwave_sim::world::{Link, Loss, Node, Traffic, World};
use fairwave_trace::NodeId;
use fairwave_units::{BitRate, Duration};
use proptest::strategy::Strategy;

/// Where a flow over several ways begins, in a world of [`bottlenecks`].
pub(crate) const HOST: NodeId = NodeId(0);
/// Where it goes.
pub(crate) const SERVER: NodeId = NodeId(1);

/// The node that the way with this number passes.
pub(crate) fn gateway(way: usize) -> NodeId {
    NodeId(2 + way as u32)
}

/// A host, a server, and between them a node for each bottleneck: rate in kbps and delay of one
/// way, with a queue of so many packets. The link from the host to that node is fast. One flow.
pub(crate) fn bottlenecks(
    ways: impl IntoIterator<Item = (u64, Duration)>,
    queue: u32,
    traffic: Traffic,
) -> World {
    let mut world = world(Standard::A, 54, 1, Duration::ZERO);
    let wire = world.links[0].clone();
    let mut names = vec!["host".to_owned(), "server".to_owned()];
    world.links.clear();
    for (i, (kbps, delay)) in ways.into_iter().enumerate() {
        names.push(format!("gateway{i}"));
        world.links.push(Link { ends: (HOST, gateway(i)), ..wire.clone() });
        world.links.push(Link {
            ends: (gateway(i), SERVER),
            rate: Some(BitRate(kbps * 1000)),
            delay,
            queue: Limit::Packets(queue).into(),
            ..wire.clone()
        });
    }
    world.nodes = names.into_iter().map(|name| Node { name, radio: None }).collect();
    world.cells.clear();
    world.warm_up = Duration::ZERO;
    world.flows = vec![flow("transfer", HOST, SERVER, traffic)];
    world
}

/// Loss, jitter in milliseconds, and queue in packets of a bottleneck.
pub(crate) type Disturbance = (f64, u64, u32);

pub(crate) fn any_disturbance() -> impl Strategy<Value = Disturbance> {
    (0.0f64..0.1, 0u64..20, 2u32..60)
}

/// Disturbs the bottleneck of each way.
pub(crate) fn disturb(world: &mut World, ways: impl IntoIterator<Item = Disturbance>) {
    for (way, (loss, jitter_ms, queue)) in ways.into_iter().enumerate() {
        let link = &mut world.links[2 * way + 1];
        link.loss = Loss::both(loss);
        link.jitter = Duration::from_millis(jitter_ms);
        link.queue = Limit::Packets(queue).into();
    }
}
