//! Worlds for flows over several ways: a bottleneck each.

use crate::common::{flow, world};
use fairwave_dot11::Standard;
use fairwave_queue::Limit;
use fairwave_sim::world::{Link, Node, Traffic, World};
use fairwave_trace::NodeId;
use fairwave_units::{BitRate, Duration};

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
