//! What the literature says of the algorithms, over whole connections: orders and shares, not
//! numbers.

use crate::common::{AP, flow, tcp, uploads, world};
use fairwave_dot11::Standard;
use fairwave_queue::Limit;
use fairwave_sim::world::{DelayDistribution, Link, Loss, Node, Traffic, World};
use fairwave_sim::{Outcome, run};
use fairwave_trace::{Discard, DropCause, NodeId};
use fairwave_units::{BitRate, Duration};

/// One greedy flow over 10 Mbps and 40 ms with a queue of 50 packets, for 30 s.
fn wired(algorithm: &str, loss: f64) -> Outcome {
    let mut world = world(Standard::A, 54, 0, Duration::ZERO);
    world.nodes = ["left", "right"].map(|name| Node { name: name.into(), radio: None }).into();
    world.cells = Vec::new();
    let (rate, delay) = (Some(BitRate::mbps(10)), Duration::from_millis(20));
    let ends = (AP, NodeId(1));
    let queue = Limit::Packets(50).into();
    let (loss, jitter, changes) = (Loss::both(loss), Duration::ZERO, Vec::new());
    world.links = vec![Link {
        ends,
        rate,
        delay,
        distribution: DelayDistribution::Fixed,
        tick: None,
        jitter,
        loss,
        queue,
        back: None,
        changes,
    }];
    world.flows = vec![flow("greedy", AP, NodeId(1), Traffic::Tcp(tcp(algorithm, 2)))];
    world.duration = Duration::from_secs(30);
    simulate(&world)
}

fn simulate(world: &World) -> Outcome {
    run(world, &mut Discard, &mut |_| {}).expect("the world is right")
}

fn mbps(outcome: &Outcome) -> f64 {
    outcome.flows.iter().map(|flow| flow.goodput.as_mbps_f64()).sum()
}

fn drops(outcome: &Outcome) -> u64 {
    let full = DropCause::QueueFull as usize;
    outcome.queues.iter().map(|queue| queue.at_end.drops[full]).sum()
}

/// Cardwell, Cheng, Gunn, Yeganeh, Jacobson 2017 (CACM 60(2)): at 1 % loss BBR keeps the link, a
/// algorithm that takes loss as congestion does not. Westwood+ was made to stand between them.
#[test]
fn random_loss_takes_the_link_from_reno_but_not_from_bbr() {
    let [bbr, westwood, cubic, reno] =
        ["bbr", "westwood", "cubic", "newreno"].map(|algorithm| mbps(&wired(algorithm, 0.01)));
    assert!(bbr > 9.0, "{bbr} Mbps");
    assert!(reno < 4.0 && cubic < 5.0, "newreno {reno}, cubic {cubic} Mbps");
    assert!(westwood > 1.3 * reno, "westwood {westwood}, newreno {reno} Mbps");
}

/// Brakmo, Peterson 1995: no loss of its own making, and a link as full.
#[test]
fn vegas_fills_a_link_without_overflowing_its_queue() {
    let (vegas, reno) = (wired("vegas", 0.0), wired("newreno", 0.0));
    assert_eq!(drops(&vegas), 0);
    assert!(drops(&reno) > 0);
    assert!(mbps(&vegas) > 0.99 * mbps(&reno), "{} Mbps", mbps(&vegas));
}

/// RFC 9406: fewer losses at the end of slow start, here in a station's own queue too.
#[test]
fn hystart_spares_queues_that_plain_slow_start_floods() {
    let upload = |algorithm| {
        let cell = world(Standard::A, 54, 1, Duration::from_millis(20));
        simulate(&uploads(cell, &tcp(algorithm, 2)))
    };
    for simulate in
        [&upload as &dyn Fn(&'static str) -> Outcome, &|algorithm| wired(algorithm, 0.0)]
    {
        let (with, without) = (simulate("cubic"), simulate("cubic-no-hystart"));
        assert!(4 * drops(&with) < 3 * drops(&without), "{} {}", drops(&with), drops(&without));
        assert!(mbps(&with) > 0.98 * mbps(&without), "{} {}", mbps(&with), mbps(&without));
    }
}
