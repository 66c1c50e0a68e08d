//! Fair service curves: promises kept, limits kept, the rest shared.

use super::fluid::{roomy, us};
use crate::testing::{Thing, ack};
use crate::{Discipline, HfscConfig, Limit, Service, ServiceCurve, Spec, Weight};
use fairwave_units::{BitRate, Bytes, Duration, Instant};
use proptest::prelude::*;

/// The link sends a byte in a microsecond.
const LINK_BPS: u64 = 8_000_000;
const LONGEST_US: f64 = 1500.0;

fn config() -> HfscConfig {
    HfscConfig { hosts: roomy(), ..HfscConfig::of(Limit::Packets(1)) }
}

fn datagram(id: u64, receiver: u32, bytes: u32) -> Thing {
    Thing { id, receiver, bytes, flow: receiver as u16, ..Thing::default() }
}

fn segment(receiver: u32) -> Thing {
    Thing { bytes: 1500, ..ack(0, receiver as u16, 1) }
}

/// When a class that began at `from` with `before` bytes has been promised `bytes`, in
/// microseconds.
fn promised(curve: ServiceCurve, from: f64, before: f64, bytes: f64) -> f64 {
    let per_us = |rate: BitRate| rate.0 as f64 / 8e6;
    let (lasts, wanted) = (curve.lasts.as_nanos() as f64 / 1e3, bytes - before);
    let first = lasts * per_us(curve.first);
    if wanted <= first {
        from + wanted / per_us(curve.first)
    } else {
        from + lasts + (wanted - first) / per_us(curve.then)
    }
}

/// One host's datagrams as the promise sees them.
#[derive(Clone, Default)]
struct Promise {
    /// When backlogs began, and the bytes sent before.
    starts: Vec<(f64, f64)>,
    sent: f64,
    waiting: u32,
}

/// The latest that a datagram leaves after its deadline, in microseconds, beside TCP without end.
fn lateness(curve: ServiceCurve, hosts: u32, arrivals: &[(u64, u32, u32)]) -> f64 {
    let mut queue = Spec::Hfsc(HfscConfig { realtime: Some(curve), ..config() })
        .build::<Thing>(crate::testing::random());
    (0..hosts).for_each(|host| queue.push(Instant::ZERO, segment(host)));
    let mut promises = vec![Promise::default(); hosts as usize];
    let (mut now, mut next, mut worst) = (0, 0, f64::MIN);
    while next < arrivals.len() || promises.iter().any(|promise| promise.waiting > 0) {
        while let Some(&(at, host, bytes)) = arrivals.get(next).filter(|arrival| arrival.0 <= now) {
            let promise = &mut promises[host as usize];
            if promise.waiting == 0 {
                promise.starts.push((at as f64, promise.sent));
            }
            promise.waiting += 1;
            queue.push(us(at), datagram(next as u64, host, bytes));
            next += 1;
        }
        let thing = queue.pop(us(now)).expect("TCP has no end");
        now += u64::from(thing.bytes);
        if thing.tcp.is_some() {
            queue.push(us(now - u64::from(thing.bytes)), segment(thing.receiver));
            continue;
        }
        let promise = &mut promises[thing.receiver as usize];
        promise.waiting -= 1;
        promise.sent += f64::from(thing.bytes);
        let due =
            promise.starts.iter().map(|&(from, sent)| promised(curve, from, sent, promise.sent));
        worst = worst.max(now as f64 - due.fold(0.0, f64::max));
    }
    worst
}

/// Curves of which `hosts` together are within the link's rate.
fn admissible(hosts: u64) -> impl Strategy<Value = ServiceCurve> {
    let rate = move || (1..=LINK_BPS / hosts / 1000).prop_map(|kbps| BitRate(kbps * 1000));
    (rate(), 0..50_000u64, rate()).prop_map(|(first, lasts, then)| {
        let lasts = Duration::from_micros(lasts);
        ServiceCurve { first, lasts, then }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Theorem 2 of the paper: no deadline is missed by more than a packet's time.
    #[test]
    fn deadlines_of_admissible_curves_are_met(
        (hosts, curve) in (1..5u32).prop_flat_map(|hosts| (Just(hosts), admissible(hosts.into()))),
        gaps in prop::collection::vec((0..6000u64, 0..5u32, 40..1500u32), 1..60),
    ) {
        let mut at = 0;
        let arrive = |(gap, host, bytes): (u64, u32, u32)| {
            at += if gap < 3000 { 0 } else { gap };
            (at, host % hosts, bytes)
        };
        let arrivals: Vec<_> = gaps.into_iter().map(arrive).collect();
        let late = lateness(curve, hosts, &arrivals);
        prop_assert!(late <= LONGEST_US + 1.0, "{late} us late");
    }
}

/// Voice of 200 bytes every 20 ms is 80 kbps, which alone promises a packet within 20 ms. A curve
/// of 200 bytes in 2 ms promises it within 2 ms and the packet on the link.
#[test]
fn a_concave_curve_parts_delay_from_rate() {
    let delay = Duration::from_millis(2);
    let curve = ServiceCurve::burst(Bytes(200), delay, BitRate(80_000));
    let voice: Vec<_> = (0..50).map(|i| (i * 20_000, 0, 200)).collect();
    assert!(lateness(curve, 1, &voice) <= LONGEST_US + 1.0);

    let mut queue = Spec::Hfsc(HfscConfig { realtime: Some(curve), ..config() })
        .build(crate::testing::random());
    (0..20).for_each(|_| queue.push(us(0), segment(0)));
    queue.push(us(10_000), datagram(1, 0, 200));
    // Eligible at once: it is chosen for its deadline though link sharing would take turns.
    assert_eq!(queue.pop(us(10_000)).map(|thing| thing.id), Some(1));
}

#[test]
fn an_upper_limit_holds_a_host_back_and_says_for_how_long() {
    // 1500 bytes a millisecond at 12 Mbps; at most 1.2 Mbps for host 1.
    let upper = Some(ServiceCurve::linear(BitRate(1_200_000)));
    let mut queue = Spec::Hfsc(HfscConfig { upper, ..config() }).build(crate::testing::random());
    (0..3).for_each(|id| queue.push(us(5000), datagram(id, 1, 1500)));
    assert_eq!(queue.pop(us(5000)).map(|thing| thing.id), Some(0));
    // 1500 bytes at 1.2 Mbps take 10 ms.
    assert_eq!(queue.pop(us(6000)).map(|thing| thing.id), None);
    let until = queue.deadline().expect("it holds something").as_nanos();
    assert!(until.abs_diff(15_000_000) < 100, "{until}");
    assert_eq!(queue.pop(Instant::from_nanos(until)).map(|thing| thing.id), Some(1));
    // Another host is not held back by it.
    queue.push(us(16_000), datagram(9, 2, 1500));
    assert_eq!(queue.pop(us(16_000)).map(|thing| thing.id), Some(9));
}

#[test]
fn an_upper_limit_does_not_count_what_was_withdrawn() {
    let upper = Some(ServiceCurve::linear(BitRate(1_200_000)));
    let mut queue = Spec::Hfsc(HfscConfig { upper, ..config() }).build(crate::testing::random());
    (0..100).for_each(|id| queue.push(us(5000), datagram(id, 1, 1500)));
    let withdraw = || queue.withdraw(us(5000), 1, &|_| true).map(|thing| thing.id);
    assert!(core::iter::from_fn(withdraw).eq(0..100));
    queue.push(us(6000), datagram(100, 1, 1500));
    assert_eq!(queue.pop(us(6000)).map(|thing| thing.id), Some(100));
}

#[test]
fn classes_of_a_host_share_what_the_host_gets() {
    let mut queue = Spec::Hfsc(config()).build(crate::testing::random());
    let mut got = [0; 4];
    queue.set_weight(us(0), 0, Weight(3 * Weight::ONE.0));
    for host in 0..2 {
        (0..2).for_each(|_| queue.push(us(0), segment(host)));
        (0..2).for_each(|id| queue.push(us(0), datagram(id, host, 500)));
    }
    for _ in 0..4000 {
        let thing = queue.pop(us(0)).expect("all are backlogged");
        got[(2 * thing.receiver) as usize + usize::from(thing.tcp.is_some())] += thing.bytes;
        queue.push(us(0), thing);
    }
    let total: u32 = got.iter().sum();
    for (got, eighths) in got.iter().zip([3.0, 3.0, 1.0, 1.0]) {
        let share = 8.0 * f64::from(*got) / f64::from(total) / eighths;
        assert!((share - 1.0).abs() < 0.01, "{share} of the share");
    }
}

/// Bytes that hosts get in a second of a link that sends a byte in a microsecond, always
/// backlogged with 1000-byte segments.
fn second_of_backlog(queue: &mut dyn Discipline<Thing>, hosts: u32) -> Vec<u64> {
    let mut got = vec![0; hosts as usize];
    for host in 0..hosts {
        (0..2).for_each(|_| queue.push(us(0), Thing { bytes: 1000, ..segment(host) }));
    }
    let mut now = 0;
    while now < 1_000_000 {
        let Some(thing) = queue.pop(us(now)) else {
            now = queue.deadline().expect("all are backlogged").as_nanos().div_ceil(1000);
            continue;
        };
        got[thing.receiver as usize] += u64::from(thing.bytes);
        now += u64::from(thing.bytes);
        queue.push(us(now), thing);
    }
    got
}

fn near(got: u64, wanted: f64) {
    assert!((got as f64 / wanted - 1.0).abs() < 0.01, "{got} bytes instead of {wanted}");
}

#[test]
fn each_host_has_its_own_curves() {
    let kbps = |kbps: u64| Some(ServiceCurve::linear(BitRate(1000 * kbps)));
    // 8 Mbps: host 0 at most 0.8, host 1 at most 1.6; of the rest host 2 gets two thirds.
    let mut queue = Spec::Hfsc(config()).build(crate::testing::random());
    let limited = |rate| Service { upper: kbps(rate), ..Service::default() };
    queue.set_service(us(0), 0, &limited(800));
    queue.set_service(us(0), 1, &limited(1600));
    queue.set_service(us(0), 2, &Service { share: kbps(200_000), ..Service::default() });
    let got = second_of_backlog(&mut *queue, 4);
    for (got, wanted) in got.into_iter().zip([100_000.0, 200_000.0, 466_667.0, 233_333.0]) {
        near(got, wanted);
    }
    // Alone, a limited host leaves the link idle.
    let mut queue = Spec::Hfsc(config()).build(crate::testing::random());
    queue.set_service(us(0), 0, &limited(800));
    near(second_of_backlog(&mut *queue, 1)[0], 100_000.0);
}

#[test]
fn curves_change_while_packets_wait() {
    let limited = |kbps: u64| {
        let upper = Some(ServiceCurve::linear(BitRate(1000 * kbps)));
        Service { upper, ..Service::default() }
    };
    let mut queue = Spec::Hfsc(config()).build(crate::testing::random());
    queue.set_service(us(0), 0, &limited(80));
    (0..3).for_each(|id| queue.push(us(0), datagram(id, 0, 1000)));
    assert_eq!(queue.pop(us(0)).map(|thing| thing.id), Some(0));
    // 1000 bytes at 80 kbps take 100 ms, at 800 kbps 10 ms: from the change on.
    assert_eq!(queue.pop(us(50_000)).map(|thing| thing.id), None);
    queue.set_service(us(50_000), 0, &limited(800));
    assert_eq!(queue.pop(us(50_000)).map(|thing| thing.id), Some(1));
    let until = queue.deadline().expect("it holds something").as_nanos();
    assert!(until.abs_diff(60_000_000) < 100, "{until}");
    queue.set_service(us(51_000), 0, &Service::default());
    assert_eq!(queue.pop(us(51_000)).map(|thing| thing.id), Some(2), "no limit any more");
}

/// Host 0's datagrams are promised 2 Mbps of 8; everybody else shares what is left.
#[test]
fn a_promise_to_one_host_is_kept_beside_others() {
    let realtime = Some(ServiceCurve::linear(BitRate::mbps(2)));
    let mut queue = Spec::Hfsc(config()).build(crate::testing::random());
    queue.set_service(us(0), 0, &Service { realtime, ..Service::default() });
    // A weight so light that sharing gives next to nothing.
    queue.set_weight(us(0), 0, Weight(1));
    (1..4).for_each(|host| (0..2).for_each(|_| queue.push(us(0), segment(host))));
    (0..2).for_each(|id| queue.push(us(0), datagram(id, 0, 1000)));
    let (mut now, mut got) = (0, 0);
    while now < 1_000_000 {
        let thing = queue.pop(us(now)).expect("all are backlogged");
        got += if thing.receiver == 0 { u64::from(thing.bytes) } else { 0 };
        now += u64::from(thing.bytes);
        queue.push(us(now), thing);
    }
    near(got, 250_000.0);
}
