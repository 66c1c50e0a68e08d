//! Ways that pass a node, and packets that go there.

use super::*;
use crate::world::{DelayDistribution, Link, Loss, Node, Source, Traffic};
use fairwave_dot11::AccessCategory;
use fairwave_queue::Limit;
use fairwave_units::{BitRate, Duration, Instant, Seed};

pub(crate) const HOST: NodeId = NodeId(0);
pub(crate) const SERVER: NodeId = NodeId(1);
pub(crate) const NEAR: NodeId = NodeId(2);
pub(crate) const FAR: NodeId = NodeId(3);
const BEHIND: NodeId = NodeId(4);
const ALONE: NodeId = NodeId(5);

/// Two ways from the host to the server: over `near`, and over `far`, which is a hop longer. Behind
/// the server there is another node; one is joined to nothing.
pub(crate) fn world() -> World {
    let names = ["host", "server", "near", "far", "behind", "alone", "middle"];
    let middle = NodeId(6);
    let wires = [
        (HOST, NEAR),
        (NEAR, SERVER),
        (HOST, FAR),
        (FAR, middle),
        (middle, SERVER),
        (SERVER, BEHIND),
    ];
    let link = |ends| Link {
        ends,
        rate: Some(BitRate::mbps(10)),
        delay: Duration::from_millis(1),
        distribution: DelayDistribution::Fixed,
        tick: None,
        jitter: Duration::ZERO,
        loss: Loss::NONE,
        back: None,
        queue: Limit::Packets(10).into(),
        changes: Vec::new(),
    };
    let interval = Duration::from_millis(10);
    let flow = Flow {
        name: "up".into(),
        source: HOST,
        sink: SERVER,
        start: Instant::ZERO,
        stop: None,
        category: AccessCategory::BestEffort,
        traffic: Traffic::Datagrams(Source::Cbr { payload_bytes: 100, interval }),
        proxy: None,
        playout: None,
    };
    World {
        seed: Seed(1),
        duration: Duration::from_secs(1),
        warm_up: Duration::ZERO,
        sample_every: Duration::ZERO,
        bins: None,
        nodes: names.into_iter().map(|name| Node { name: name.into(), radio: None }).collect(),
        cells: Vec::new(),
        links: wires.into_iter().map(link).collect(),
        flows: vec![flow],
        soc: Vec::new(),
        monitors: Vec::new(),
    }
}

#[test]
fn a_node_off_every_way_is_told_from_one_on_a_longer_way() {
    let world = world();
    let detour = |via| detour(&world, &world.flows[0], via);
    assert_eq!(detour(NEAR), Ok(()));
    assert_eq!(detour(FAR), Ok(()));
    assert_eq!(detour(HOST), Err(Astray::IsEnd));
    assert_eq!(detour(SERVER), Err(Astray::IsEnd));
    assert_eq!(detour(ALONE), Err(Astray::NoWay(HOST, ALONE)));
    assert_eq!(detour(BEHIND), Err(Astray::PassesEnd(HOST, BEHIND, SERVER)));
}

#[test]
fn a_node_with_one_neighbour_has_the_hops_that_a_search_finds() {
    let world = world();
    let (table, neighbours) = (table(&world), neighbours(&world, &[]));
    for from in 0..world.nodes.len() {
        let hops = from_node(from, &neighbours);
        for (to, hop) in hops.into_iter().enumerate() {
            assert_eq!(table.hop(NodeId(from as u32), NodeId(to as u32)), hop, "{from} to {to}");
        }
    }
    assert!(matches!(table.rows[BEHIND.0 as usize], Row::Leaf(_)));
}
