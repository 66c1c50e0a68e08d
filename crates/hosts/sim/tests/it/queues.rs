//! Queue disciplines in the network: conservation, causes, and what each is for.

use crate::common::{AP, flow, server, tcp, uploads, world};
use fairwave_dot11::{Phy, Standard, rate_control};
use fairwave_queue::{ALL, CakeConfig, Limit, Spec};
use fairwave_sim::world::{Cell, LinkMonitor, Monitor, RateChoice, Source, Traffic, World};
use fairwave_sim::{Outcome, run};
use fairwave_trace::{Discard, DropCause, NodeId};
use fairwave_units::{BitRate, Duration};

fn simulate(world: &World) -> Outcome {
    run(world, &mut Discard, &mut |_| {}).expect("the world is right")
}

fn spec(name: &str, packets: u32) -> Spec {
    let kind = ALL.iter().find(|kind| kind.name == name).expect("it is listed");
    (kind.spec)(Limit::Packets(packets))
}

fn set_ap_queue(world: &mut World, queue: Spec) {
    world.nodes[AP.0 as usize].radio.as_mut().expect("an AP has a radio").queue = queue;
}

/// Eight uploads and a download, 20 ms away, over an access point with `packets` of room.
fn busy(name: &str, packets: u32) -> World {
    let mut world = world(Standard::A, 54, 8, Duration::from_millis(20));
    world.duration = Duration::from_secs(6);
    set_ap_queue(&mut world, spec(name, packets));
    let mut world = uploads(world, &tcp("newreno", 1));
    let server = server(&world);
    world.flows.push(flow("down", server, NodeId(1), Traffic::Tcp(tcp("newreno", 1))));
    world
}

#[test]
fn under_every_discipline_packets_are_conserved() {
    for kind in ALL {
        let outcome = simulate(&busy(kind.name, 30));
        let (queue, mac) = (outcome.queues[0].at_end, outcome.stations[0].at_end);
        let left = queue.enqueued - u64::from(queue.packets);
        // What entered and was neither sent nor given up, apart from the frames at the MAC. Of
        // several that one arrival pushes out, all but one had entered before.
        let drops_arrivals = ["red", "pie"].contains(&kind.name);
        let inside = if drops_arrivals { 0 } else { queue.drops[DropCause::Aqm as usize] };
        let pushed_out = queue.drops[DropCause::QueueFull as usize];
        let open = left - mac.successes - mac.retry_drops;
        let name = kind.name;
        assert!(open >= inside && open <= inside + pushed_out + 2, "{name}: {open} of {queue:?}");
        let total: u64 = outcome.flows.iter().map(|flow| flow.goodput.0).sum();
        assert!(total > 4_000_000, "{name}: {total} bps");
    }
}

/// A download through an access point that shapes to 2 Mbps.
#[test]
fn a_shaper_at_a_radio_keeps_its_rate() {
    let mut world = world(Standard::A, 54, 1, Duration::from_millis(2));
    world.duration = Duration::from_secs(6);
    let rate = Some(BitRate::mbps(2));
    let cake = CakeConfig { rate, ..CakeConfig::of(Limit::Packets(1000)) };
    set_ap_queue(&mut world, Spec::Cake(cake));
    let server = server(&world);
    world.flows.push(flow("down", server, NodeId(1), Traffic::Tcp(tcp("newreno", 2))));
    let goodput = simulate(&world).flows[0].goodput.0;
    assert!((1_700_000..2_000_000).contains(&goodput), "{goodput} bps");
}

#[test]
fn filtered_acks_are_counted_apart_from_lost_ones() {
    let plain = simulate(&busy("drop-tail", 30));
    let filtered = simulate(&busy("ack-filter", 30));
    let sum = |outcome: &Outcome, which: fn(&fairwave_trace::FlowSample) -> u64| {
        outcome.flows.iter().map(|flow| which(&flow.at_end)).sum::<u64>()
    };
    assert_eq!(sum(&plain, |f| f.acks_filtered), 0);
    let cause = filtered.queues[0].at_end.drops[DropCause::AckFiltered as usize];
    assert_eq!(sum(&filtered, |f| f.acks_filtered), cause);
    assert!(cause > 0);
    let lost = (sum(&plain, |f| f.acks_dropped), sum(&filtered, |f| f.acks_dropped));
    assert!(10 * lost.1 < lost.0, "lost ACKs: {lost:?}");
}

/// Pilosof et al.: windows of B/n segments cannot overflow B packets.
#[test]
fn clamped_windows_do_not_overflow_the_buffer() {
    let full = |name| {
        let outcome = simulate(&busy(name, 45));
        let queue = outcome.queues[0].clone();
        (queue.at_end.drops[DropCause::QueueFull as usize], queue.peak_packets)
    };
    let (dropped, _) = full("drop-tail");
    assert!(dropped > 100, "without the clamp {dropped} packets are dropped");
    let (dropped, peak) = full("window-clamp");
    assert_eq!(dropped, 0, "after the start all windows fit; the peak was {peak}");
}

/// Saturating datagrams to two stations, of which one is out of reach: every frame to it is retried
/// to the limit, and takes most of the time. Schedulers that look at links send it one a fade.
#[test]
fn two_state_schedulers_spare_the_others_a_lost_link() {
    let near = |name| {
        let mut world = world(Standard::A, 54, 2, Duration::from_millis(2));
        world.duration = Duration::from_secs(6);
        set_ap_queue(&mut world, spec(name, 200));
        let far = world.nodes[2].radio.as_mut().expect("a station has a radio");
        far.position.0.0 += 3000.0;
        for node in [1, 2] {
            let interval = Duration::from_micros(400);
            let cbr = Traffic::Datagrams(Source::Cbr { payload_bytes: 1000, interval });
            world.flows.push(flow(&format!("down{node}"), AP, NodeId(node), cbr));
        }
        let monitor = Monitor::Failures { back_off: Duration::from_millis(20) };
        world.monitors = vec![LinkMonitor { ap: AP, monitor }];
        let outcome = simulate(&world);
        assert_eq!(outcome.flows[1].goodput.0, 0, "{name}: it is out of reach");
        outcome.flows[0].goodput.0
    };
    let wfq = near("wfq");
    for name in ["csdps", "iwfq", "cif-q"] {
        let spared = near(name);
        assert!(spared > 3 * wfq / 2, "{name}: {spared} bps, wfq {wfq} bps");
    }
}

/// Two downloads, and 2 Mbps of UDP sent at a rate of 6 Mbps by the station of the second: that
/// takes a third of the time, and where airtime is shared its download pays for it.
#[test]
fn a_slow_uploader_pays_in_airtime() {
    let first_over_second = |name| {
        let mut world = world(Standard::A, 54, 2, Duration::from_millis(2));
        world.duration = Duration::from_secs(6);
        set_ap_queue(&mut world, spec(name, 1000));
        let slow = world.cells[0].phy.mode(BitRate::mbps(6)).expect("802.11a has it");
        world.nodes[2].radio.as_mut().expect("a station has a radio").mode = slow;
        let (server, newreno) = (server(&world), || Traffic::Tcp(tcp("newreno", 2)));
        world.flows.push(flow("down1", server, NodeId(1), newreno()));
        world.flows.push(flow("down2", server, NodeId(2), newreno()));
        let interval = Duration::from_millis(4);
        let slow = Traffic::Datagrams(Source::Cbr { payload_bytes: 1000, interval });
        world.flows.push(flow("up2", NodeId(2), server, slow));
        let outcome = simulate(&world);
        outcome.flows[0].goodput.0 as f64 / outcome.flows[1].goodput.0 as f64
    };
    let (flows, airtime) = (first_over_second("fq-codel"), first_over_second("airtime-drr"));
    assert!((0.5..2.0).contains(&flows), "flow queueing shares bytes: {flows}");
    assert!(airtime > 2.0 * flows, "{airtime} against {flows}");
}

/// A download to one station and a call to another, at MCS 0. A radio with limits takes up to 12 ms
/// of airtime over, and one without a PPDU of 5.5 ms: the call waits longer, but never for more.
#[test]
fn airtime_limits_bound_what_a_call_waits_for_a_radio() {
    let delay = |name| {
        let mut world = world(Standard::A, 54, 2, Duration::from_millis(2));
        world.duration = Duration::from_secs(12);
        let phy = Phy::new(Standard::N);
        world.cells = vec![Cell { beacon_interval: None, ..Cell::new(phy) }];
        let modes = phy.modes(1);
        for node in 0..3 {
            let radio = world.nodes[node].radio.as_mut().expect("it has one");
            radio.mode = modes[0];
            radio.capabilities.mcs = 0;
        }
        let ap = world.nodes[AP.0 as usize].radio.as_mut().expect("an AP has a radio");
        let algorithm = *rate_control::find("arf").expect("it is in the list");
        ap.rates = Some(RateChoice { algorithm: algorithm.into(), initial: None });
        set_ap_queue(&mut world, spec(name, 8192));
        let server = server(&world);
        world.flows.push(flow("down", server, NodeId(1), Traffic::Tcp(tcp("newreno", 2))));
        let interval = Duration::from_millis(20);
        let call = Traffic::Datagrams(Source::Cbr { payload_bytes: 172, interval });
        world.flows.push(flow("call", server, NodeId(2), call));
        let outcome = simulate(&world);
        (outcome.flows[1].delay.as_ref().expect("some arrive").mean, outcome.flows[0].goodput)
    };
    let ((unlimited, without), (limited, with)) = (delay("airtime-drr"), delay("mac80211"));
    let high = Duration::from_millis(12);
    assert!(limited < unlimited + high, "{limited} with limits, {unlimited} without");
    assert!(with.0 * 10 > without.0 * 9, "{with} with limits, {without} without");
}
