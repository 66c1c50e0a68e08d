//! Switching by traffic: who keeps a weight, from when on, and that nothing else changes.

use super::fluid::roomy;
use crate::testing::{Thing, ack, drain, ms};
use crate::{Discipline, HfscConfig, Limit, Service, SocpsConfig, Spec, SwitchingConfig, Weight};
use fairwave_units::{Duration, Instant};
use proptest::prelude::*;
use std::collections::BTreeMap;

const QUARTER: Weight = Weight(Weight::ONE.0 / 4);

fn specs() -> [Spec; 2] {
    let usual = SwitchingConfig::of(Limit::Packets(1)).with_hosts(roomy());
    let over = SocpsConfig::Hfsc(HfscConfig { hosts: roomy(), ..HfscConfig::of(roomy().limit) });
    [Spec::Switching(usual), Spec::Switching(SwitchingConfig { over, ..usual })]
}

fn datagram(id: u64, receiver: u32, bytes: u32) -> Thing {
    Thing { id, receiver, bytes, flow: receiver as u16, ..Thing::default() }
}

fn segment(id: u64, receiver: u32, bytes: u32) -> Thing {
    Thing { bytes, ..ack(id, receiver as u16, 1) }
}

/// Bytes that each host gets of a million while it is always backlogged with a packet of a kind.
fn shares(queue: &mut dyn Discipline<Thing>, hosts: &[fn(u64, u32, u32) -> Thing]) -> Vec<f64> {
    let mut got = vec![0.0; hosts.len()];
    for (host, make) in (0..).zip(hosts) {
        (0..3).for_each(|id| queue.push(ms(0), make(id, host, 1000)));
    }
    for _ in 0..1000 {
        let thing = queue.pop(ms(0)).expect("all are backlogged");
        got[thing.receiver as usize] += f64::from(thing.bytes);
        queue.push(ms(0), thing);
    }
    got
}

#[test]
fn a_host_that_is_sent_tcp_weighs_one_whatever_it_is_told() {
    for spec in specs() {
        let mut queue = spec.build(crate::testing::random());
        (0..3).for_each(|host| queue.set_weight(ms(0), host, QUARTER));
        let got = shares(&mut *queue, &[segment, datagram, datagram]);
        // 1 : 1/4 : 1/4.
        for (got, share) in got.iter().zip([2.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0]) {
            assert!((got / 1e6 - share).abs() < 0.01, "{got} of {share}");
        }
    }
}

#[test]
fn what_was_agreed_counts_for_tcp_too() {
    for spec in specs() {
        let mut queue = spec.build(crate::testing::random());
        queue.set_weight(ms(0), 0, QUARTER);
        let service = Service { weight: Weight(3 * Weight::ONE.0), ..Service::default() };
        queue.set_service(ms(0), 0, &service);
        let got = shares(&mut *queue, &[segment, segment]);
        assert!((got[0] / got[1] - 3.0).abs() < 0.05, "{got:?}");
    }
}

#[test]
fn without_weight_tcp_is_sent_and_datagrams_are_not() {
    for spec in specs() {
        let mut queue = spec.build(crate::testing::random());
        (0..2).for_each(|host| queue.set_weight(ms(0), host, Weight::ZERO));
        queue.push(ms(0), segment(0, 0, 100));
        queue.push(ms(0), datagram(1, 1, 100));
        assert_eq!((drain(&mut *queue, ms(0)), queue.len()), (vec![0], 1));
        assert_eq!(queue.pass(ms(1), segment(2, 2, 100)).map(|thing| thing.id), Some(2));
    }
}

/// Windows of a second: of 1000 bytes, so many are TCP. From 60 % on the host is a TCP host, which
/// alone is served, as its weight is zero; it remains one until 40 %.
#[test]
fn between_the_thresholds_a_host_stays_what_it_was() {
    for spec in specs() {
        let mut queue = spec.build(crate::testing::random());
        queue.set_weight(ms(0), 0, Weight::ZERO);
        let windows = [(590, false), (600, false), (410, true), (400, true), (590, false)];
        for (second, (tcp, serves)) in (0..).zip(windows) {
            let now = ms(1000 * second);
            queue.push(now, datagram(0, 0, 1000 - tcp));
            assert_eq!(!drain(&mut *queue, now).is_empty(), serves, "in second {second}");
            queue.push(now, segment(0, 0, tcp));
            assert_eq!(!drain(&mut *queue, now).is_empty(), serves, "in second {second}");
        }
    }
}

/// Who counts as a TCP host, from the arrivals alone.
fn is_tcp(arrivals: &[(u64, u32, bool)]) -> bool {
    let Some(&(first, _, mut is)) = arrivals.first() else { return false };
    let (mut since, mut tcp, mut all) = (first, 0, 0);
    for &(at, bytes, kind) in arrivals {
        if at - since >= 1000 {
            is = if is { 100 * tcp > 40 * all } else { 100 * tcp >= 60 * all };
            (since, tcp, all) = (at, 0, 0);
        }
        all += bytes;
        tcp += if kind { bytes } else { 0 };
    }
    is
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Of hosts without weight those with TCP are served, and no others; nothing is lost.
    #[test]
    fn who_is_served_follows_from_what_arrived(
        arrivals in prop::collection::vec((0..700u64, 0..4u32, 40..1500u32, any::<bool>()), 1..80),
    ) {
        for spec in specs() {
            let mut queue = spec.build(crate::testing::random());
            (0..4).for_each(|host| queue.set_weight(Instant::ZERO, host, Weight::ZERO));
            let mut seen: BTreeMap<u32, Vec<(u64, u32, bool)>> = BTreeMap::new();
            let mut held: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
            let mut at = 0;
            for (id, &(gap, host, bytes, tcp)) in (0..).zip(&arrivals) {
                at += gap;
                let now = Instant::ZERO + Duration::from_millis(at);
                let make = if tcp { segment } else { datagram };
                queue.push(now, make(id, host, bytes));
                seen.entry(host).or_default().push((at, bytes, tcp));
                held.entry(host).or_default().push(id);
                let mut served: Vec<u64> = drain(&mut *queue, now);
                served.sort_unstable();
                let expected = if is_tcp(&seen[&host]) {
                    held.insert(host, Vec::new()).unwrap_or_default()
                } else {
                    Vec::new()
                };
                prop_assert_eq!(served, expected, "at {} ms", at);
            }
            let waiting: usize = held.values().map(Vec::len).sum();
            prop_assert_eq!(queue.len() as usize, waiting);
        }
    }
}
