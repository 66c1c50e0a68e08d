//! Congestion marks from end to end: a queue that marks, and ends that answer.

use crate::common::{AP, flow, server, tcp, world};
use fairwave_dot11::Standard;
use fairwave_queue::{FairConfig, Limit, Spec};
use fairwave_sim::run;
use fairwave_sim::world::{Traffic, World};
use fairwave_trace::{Discard, DropCause, NodeId};
use fairwave_units::Duration;

/// A download over an access point with FQ-CoDel; both ends offer ECN, or not.
fn download(algorithm: &str, ecn: bool) -> World {
    let mut world = world(Standard::A, 54, 1, Duration::from_millis(20));
    world.duration = Duration::from_secs(8);
    let queue = Spec::FqCodel(FairConfig::fq_codel(Limit::Packets(10_240)));
    world.nodes[AP.0 as usize].radio.as_mut().expect("an AP has a radio").queue = queue;
    let mut traffic = tcp(algorithm, 2);
    (traffic.sender.ecn, traffic.receiver.ecn) = (ecn, ecn);
    world.flows = vec![flow("down", server(&world), NodeId(1), Traffic::Tcp(traffic))];
    world
}

/// RFC 3168 section 1: a mark does what a drop does, and nothing has to be sent again.
#[test]
fn marks_take_the_place_of_drops() {
    for algorithm in ["newreno", "cubic"] {
        let of = |ecn| {
            let outcome =
                run(&download(algorithm, ecn), &mut Discard, &mut |_| {}).expect("it is right");
            let flow = &outcome.flows[0];
            let dropped = outcome.queues[0].at_end.drops[DropCause::Aqm as usize];
            (dropped, flow.at_end.retransmissions, flow.goodput.0, flow.at_end.srtt)
        };
        let (without, with) = (of(false), of(true));
        assert!(without.0 > 0 && without.1 > 0, "{algorithm}: {without:?}");
        assert_eq!((with.0, with.1), (0, 0), "{algorithm}");
        assert!(with.2 * 10 > without.2 * 9, "{algorithm}: {without:?} {with:?}");
        assert!(
            with.3 < Some(Duration::from_millis(60)),
            "{algorithm}: the queue is short: {with:?}"
        );
    }
}
