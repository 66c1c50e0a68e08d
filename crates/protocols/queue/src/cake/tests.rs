//! Sharing, shaping and overflow of CAKE.

use super::*;
use crate::testing::{Thing, drain, dropped, full, ms, random};
use proptest::prelude::*;

const NOW: Instant = Instant::ZERO;

fn config() -> CakeConfig {
    CakeConfig::of(Limit::Packets(10_240))
}

/// Fills a queue with 200 packets of each flow, given by its ends; returns how many of the first
/// half that comes out are of each.
fn served(isolation: Isolation, flows: &[(u32, u32)]) -> Vec<usize> {
    let mut queue = Cake::new(CakeConfig { isolation, ..config() }, random());
    for _ in 0..200 {
        for (flow, (from, to)) in (0..).zip(flows) {
            queue.push(NOW, Thing { from: *from, to: *to, ..full(u64::from(flow), flow) });
        }
    }
    let mut served = vec![0; flows.len()];
    for _ in 0..1000 {
        // Without waits there are no drops.
        let thing = queue.pop(NOW).expect("enough waits");
        served[usize::from(thing.flow)] += 1;
    }
    served
}

/// Nine flows to one host and one to another, each from a server of its own.
fn downloads() -> Vec<(u32, u32)> {
    (0..10).map(|flow| (flow, u32::from(flow == 9))).collect()
}

#[test]
fn hosts_share_equally_whatever_the_number_of_their_flows() {
    let one = |isolation| served(isolation, &downloads())[9];
    assert!((95..=105).contains(&one(Isolation::Flows)), "{}", one(Isolation::Flows));
    // Its 200 packets, in the time in which the others of together 200 to 210 come out, and then
    // nothing: half as long as it has anything.
    for isolation in [Isolation::Destinations, Isolation::Triple] {
        assert_eq!(one(isolation), 200);
    }
    assert!((95..=105).contains(&one(Isolation::Sources)), "{}", one(Isolation::Sources));
    let uploads: Vec<(u32, u32)> = downloads().iter().map(|(from, to)| (*to, *from)).collect();
    assert_eq!(served(Isolation::Sources, &uploads)[9], 200);
    assert_eq!(served(Isolation::Triple, &uploads)[9], 200);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Three hosts with any numbers of downloads from servers of their own: each gets a third.
    #[test]
    fn hosts_have_the_same_share(counts in prop::array::uniform3(1..20u32)) {
        let hosts = counts.iter().enumerate();
        let to: Vec<u32> = hosts.flat_map(|(to, n)| (0..*n).map(move |_| to as u32)).collect();
        let mut queue = Cake::new(config(), random());
        let mut shares = [0u32; 3];
        let thing = |flow: usize| Thing {
            from: flow as u32,
            to: to[flow],
            ..full(0, flow as u16)
        };
        (0..to.len()).for_each(|flow| (0..4).for_each(|_| queue.push(NOW, thing(flow))));
        for served in 0..4000 {
            let flow = usize::from(queue.pop(NOW).expect("it is refilled").flow);
            queue.push(NOW, thing(flow));
            // At the beginning every flow is new.
            shares[to[flow] as usize] += u32::from(served >= 400);
        }
        for share in shares {
            prop_assert!((1080..=1320).contains(&share), "{shares:?} of {counts:?}");
        }
    }

    /// Packets leave at the rate or slower, between any two of them.
    #[test]
    fn the_shaper_never_exceeds_its_rate(
        arrivals in prop::collection::vec((0..30_000u64, 40..1500u32, 0..5u16), 1..200),
        kbps in 100..50_000u64,
        overhead in 0..60u32,
        min_packet in 0..100u32,
    ) {
        let rate = BitRate(kbps * 1000);
        let config = CakeConfig { rate: Some(rate), overhead, min_packet, ..config() };
        let (mut queue, mut now) = (Cake::new(config, random()), NOW);
        let mut left: Vec<(Instant, u64)> = Vec::new();
        let mut give = |queue: &mut Cake<Thing>, until: Instant| {
            while let Some(at) = queue.deadline().filter(|at| *at <= until) {
                let early = at.as_nanos().checked_sub(1).map(Instant::from_nanos);
                assert!(early.is_none_or(|early| queue.pop(early).is_none()));
                let thing = queue.pop(at).expect("it is time");
                left.push((at, u64::from(config.on_link(thing.bytes))));
            }
        };
        for (after, bytes, flow) in arrivals {
            let next = now + Duration::from_micros(after);
            give(&mut queue, next);
            now = next;
            queue.push(now, Thing { bytes, ..full(0, flow) });
        }
        give(&mut queue, ms(1_000_000_000));
        prop_assert!(queue.is_empty());
        for first in 0..left.len() {
            let mut bytes = 0;
            for last in first + 1..left.len() {
                bytes += left[last - 1].1;
                prop_assert!(left[last].0.since(left[first].0) >= rate.time_for(bytes));
            }
        }
    }
}

#[test]
fn a_packet_of_a_new_flow_passes_those_that_wait() {
    let mut queue = Cake::new(config(), random());
    (0..50).for_each(|id| queue.push(NOW, full(id, 1)));
    assert!((0..10).all(|_| queue.pop(NOW).is_some()));
    queue.push(NOW, full(77, 2));
    let next: Vec<u64> = (0..2).map(|_| queue.pop(NOW).unwrap().id).collect();
    assert!(next.contains(&77), "{next:?}");
}

#[test]
fn eight_flows_of_a_set_have_queues_of_their_own_and_a_ninth_shares_one() {
    let mut queue = Cake::new(config(), random());
    let in_set = |flow: &u16| full(0, *flow).flow().hash() % QUEUES as u64 / 8 == 5;
    let flows: Vec<u16> = (0..).filter(in_set).take(9).collect();
    let mut at = Vec::new();
    for flow in &flows {
        let thing = Thing { receiver: 0, ..full(0, *flow) };
        at.push(queue.classify(&thing));
        queue.push(NOW, thing);
    }
    let ninth = at.pop().unwrap();
    assert!(at.contains(&ninth));
    at.sort_unstable();
    assert_eq!(at, (40..48).collect::<Vec<_>>());
    // To another receiver it would have a queue of its own.
    let thing = Thing { receiver: 1, ..full(0, (flows[8] + 1..).find(in_set).unwrap()) };
    assert_eq!(queue.classify(&thing), QUEUES as u32);
    assert_eq!(drain(&mut queue, NOW).len(), 9);
}

#[test]
fn the_longest_queue_pays_for_an_overflow_with_its_oldest() {
    let mut queue = Cake::new(CakeConfig { limit: Limit::Packets(10), ..config() }, random());
    (0..8).for_each(|id| queue.push(NOW, full(id, 1)));
    (8..13).for_each(|id| queue.push(NOW, full(id, 2)));
    let cause = DropCause::QueueFull;
    assert_eq!(dropped(&mut queue), [(0, cause), (1, cause), (2, cause)]);
    assert_eq!(queue.len(), 10);
}

/// 1500 bytes at 1 Mbps are 12 ms; the target is one and a half of that, and the interval longer
/// by as much.
#[test]
fn the_times_follow_the_rate() {
    let at = |kbps: u64| CakeConfig { rate: Some(BitRate(kbps * 1000)), ..config() };
    let Times { target, interval, mtu } = at(1000).times();
    assert_eq!([target, interval, mtu].map(Duration::as_millis), [18, 113, 12]);
    let Times { target, interval, .. } = at(50_000).times();
    assert_eq!([target, interval].map(Duration::as_millis), [5, 100]);
    assert_eq!([1000, 10_000, 100_000].map(|kbps| at(kbps).quantum()), [300, 305, 1514]);
    assert_eq!(config().quantum(), 1514);
}

#[test]
fn what_is_taken_ahead_of_the_shaper_is_paid_for() {
    // 1500 bytes at 12 Mbps are a millisecond.
    let mut queue = Cake::new(CakeConfig { rate: Some(BitRate::mbps(12)), ..config() }, random());
    (0..5).for_each(|id| queue.push(NOW, full(id, 1)));
    assert!((0..4).all(|_| queue.pop_to(NOW, 1).is_some()));
    assert_eq!(queue.pop(NOW), None);
    assert_eq!(queue.deadline(), Some(ms(4)));
    assert_eq!(queue.pop(ms(4)).map(|thing| thing.id), Some(4));
    assert_eq!(queue.deadline(), None);
}

#[test]
fn the_shaper_does_not_pay_for_what_was_withdrawn() {
    let rate = Some(BitRate::mbps(20));
    let mut queue = Cake::new(CakeConfig { rate, ..config() }, random());
    (0..100).for_each(|id| queue.push(NOW, full(id, 1)));
    queue.push(NOW, full(100, 2));
    let withdraw = || queue.withdraw(NOW, 1, &|_| true).map(|thing| thing.id);
    assert!(core::iter::from_fn(withdraw).eq(0..100));
    assert_eq!((queue.deadline(), queue.len()), (Some(NOW), 1));
    assert_eq!(drain(&mut queue, NOW), [100]);
}
