//! Packets on their way, from inside.

use super::*;
use crate::routes::tests::{FAR, HOST, NEAR, SERVER, world};
use fairwave_trace::Discard;

/// Packets that each direction of each link took, after one went from the host by way of `via`.
fn taken(via: NodeId) -> Vec<u64> {
    let world = world();
    let mut sink = Discard;
    let mut simulation = Simulation::new(&world, &mut sink).expect("the world is right");
    let flow = &mut simulation.cx.owners.flows[0];
    let packet = flow.next_datagram(Instant::ZERO).expect("one is due at once");
    assert_eq!(packet.via, SERVER);
    simulation.forward(HOST, Packet { via, ..packet });
    simulation.advance_to(Instant::ZERO + Duration::from_millis(9));
    assert_eq!(simulation.cx.owners.flows[0].delivery.bytes, 100, "it arrived once");
    simulation.network.lines.queues().map(|queue| queue.sample().enqueued).collect()
}

#[test]
fn a_packet_passes_the_node_that_it_is_sent_by() {
    // Both directions of each link, in the order of `world`.
    assert_eq!(taken(SERVER), [1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], "the fewest hops");
    assert_eq!(taken(NEAR), taken(SERVER));
    assert_eq!(taken(FAR), [0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0]);
}
