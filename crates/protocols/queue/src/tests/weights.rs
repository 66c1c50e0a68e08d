//! Schedulers of hosts: what weights, their changes and the limits do.

use super::fluid::roomy;
use crate::testing::{Thing, drain, dropped};
use crate::{ALL, Discipline, HfscConfig, HostConfig, Limit, SocpsConfig, Spec, Weight, WfqConfig};
use fairwave_trace::DropCause::QueueFull;
use fairwave_units::Instant;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const NOW: Instant = Instant::ZERO;

/// The schedulers that know weights, with these hosts' settings.
fn schedulers(hosts: HostConfig) -> Vec<(&'static str, Spec)> {
    let with = |kind: &crate::Kind| (kind.spec)(hosts.limit).with_hosts(hosts);
    let over_hfsc =
        Spec::Socps(SocpsConfig::Hfsc(HfscConfig { hosts, ..HfscConfig::of(hosts.limit) }));
    let listed = ALL.iter().filter_map(|kind| Some((kind.name, with(kind)?)));
    listed.chain([("socps over h-fsc", over_hfsc)]).collect()
}

fn to(id: u64, receiver: u32, bytes: u32) -> Thing {
    Thing { id, receiver, bytes, flow: receiver as u16, ..Thing::default() }
}

const fn tenths(tenths: u32) -> Weight {
    Weight(tenths * Weight::ONE.0 / 10)
}

#[test]
fn weights_are_followed_within_a_percent_in_a_second() {
    // 100 Mbps for a second.
    const BYTES: u64 = 12_500_000;
    let weights = [1, 2, 5, 8, 10];
    for (name, spec) in schedulers(roomy()) {
        if !spec.follows_weights() {
            continue;
        }
        let mut queue = spec.build(crate::testing::random());
        let mut got = [0; 5];
        for (host, weight) in (0..).zip(weights) {
            queue.set_weight(NOW, host, tenths(weight));
            (0..3).for_each(|id| queue.push(NOW, to(id, host, 1500)));
        }
        while got.iter().sum::<u64>() < BYTES {
            let thing = queue.pop(NOW).expect("all are backlogged");
            got[thing.receiver as usize] += u64::from(thing.bytes);
            queue.push(NOW, thing);
        }
        for (got, weight) in got.iter().zip(weights) {
            let wanted = BYTES as f64 * f64::from(weight) / 26.0;
            let off = *got as f64 / wanted - 1.0;
            assert!(off.abs() < 0.01, "{name}: weight {weight} is {off} off");
        }
    }
}

#[test]
fn without_weight_nothing_is_sent_and_the_queue_keeps_its_limit() {
    let hosts = HostConfig { host_limit: Limit::Packets(3), ..roomy() };
    for (name, spec) in schedulers(hosts) {
        let mut queue = spec.build(crate::testing::random());
        queue.set_weight(NOW, 1, Weight::ZERO);
        (0..5).for_each(|id| queue.push(NOW, to(id, 1, 100)));
        assert_eq!(dropped(&mut *queue), [(3, QueueFull), (4, QueueFull)], "{name}");
        queue.push(NOW, to(10, 2, 100));
        assert_eq!((drain(&mut *queue, NOW), queue.len()), (vec![10], 3), "{name}");
        assert_eq!((queue.peek_to(1), queue.pop_to(NOW, 1)), (None, None), "{name}");
        // What needs no wait, waits here.
        assert_eq!(queue.pass(NOW, to(11, 3, 100)).map(|thing| thing.id), Some(11), "{name}");
        // Whoever empties the queue gets them all the same.
        assert_eq!(queue.withdraw(NOW, 1, &|_| true).map(|thing| thing.id), Some(0), "{name}");
        queue.set_weight(NOW, 1, tenths(3));
        assert_eq!(queue.peek_to(1), Some(100), "{name}");
        assert_eq!(drain(&mut *queue, NOW), [1, 2], "{name}");
    }
}

#[test]
fn idle_service_takes_turns_when_nobody_else_has_anything() {
    for (name, spec) in schedulers(HostConfig { idle_serve: true, ..roomy() }) {
        let mut queue = spec.build(crate::testing::random());
        queue.set_weight(NOW, 1, Weight::ZERO);
        (0..3).for_each(|id| queue.push(NOW, to(id, 1, 100)));
        (10..12).for_each(|id| queue.push(NOW, to(id, 2, 100)));
        queue.push(NOW, to(20, 3, 100));
        queue.set_weight(NOW, 2, Weight::ZERO);
        assert_eq!(drain(&mut *queue, NOW), [20, 0, 10, 1, 11, 2], "{name}");
        assert!(queue.is_empty());
    }
}

#[test]
fn a_full_buffer_takes_from_the_longest_queue() {
    let hosts = HostConfig { limit: Limit::Packets(5), ..roomy() };
    for (name, spec) in schedulers(hosts) {
        let mut queue = spec.build(crate::testing::random());
        (0..5).for_each(|id| queue.push(NOW, to(id, 1, 100)));
        queue.push(NOW, to(10, 2, 100));
        queue.push(NOW, to(11, 2, 100));
        assert_eq!(dropped(&mut *queue), [(4, QueueFull), (3, QueueFull)], "{name}");
        // Host 1 still has three, and its own arrival is the newest.
        queue.push(NOW, to(5, 1, 100));
        assert_eq!(dropped(&mut *queue), [(5, QueueFull)], "{name}");
        let mut left = drain(&mut *queue, NOW);
        left.sort_unstable();
        assert_eq!(left, [0, 1, 2, 10, 11], "{name}");
    }
}

/// Tags by hand: at weight one, ten packets of 100 bytes for host 1 have the tags 100, 200, ...
/// After two, V = 200; with half the weight, the others have 400, 600, ... Host 2 comes with
/// packets of 100, whose tags are 300, 400, ..., and of equal tags the lower number's is sent.
#[test]
fn a_changed_weight_restamps_what_waits() {
    for (name, spec) in [
        ("wfq", Spec::Wfq(WfqConfig { hosts: roomy(), rate: None })),
        ("wf2q+", Spec::Wf2qPlus(roomy())),
    ] {
        let mut queue = spec.build(crate::testing::random());
        (0..10).for_each(|id| queue.push(NOW, to(id, 1, 100)));
        assert_eq!([queue.pop(NOW), queue.pop(NOW)].map(|t| t.map(|t| t.id)), [Some(0), Some(1)]);
        queue.set_weight(NOW, 1, tenths(5));
        (20..24).for_each(|id| queue.push(NOW, to(id, 2, 100)));
        let order: Vec<u64> = drain(&mut *queue, NOW).into_iter().take(6).collect();
        assert_eq!(order, [20, 2, 21, 22, 3, 23], "{name}");
    }
}

/// Host 1 has packets of 100 bytes, host 2 of 400, both of weight one. WFQ sends what the tags 100
/// to 400 name, then the first of host 2, whose tag is 400; then V = 400, and host 1 has been
/// served up to 400 itself. WF2Q+ lets host 2 begin as soon as host 1 has more than the fluid
/// system. Then host 1 is behind, and would lose its claim to what it has missed.
#[test]
fn weightless_for_an_instant_changes_nothing() {
    let wfq = Spec::Wfq(WfqConfig { hosts: roomy(), rate: None });
    for (name, spec, instants, expected) in [
        ("wfq", wfq, 0..8, [0, 1, 2, 3, 20, 4, 5, 6]),
        ("wf2q+", Spec::Wf2qPlus(roomy()), 0..3, [0, 20, 1, 2, 3, 4, 21, 5]),
    ] {
        for toggled in instants {
            let mut queue = spec.build(crate::testing::random());
            (0..10).for_each(|id| queue.push(NOW, to(id, 1, 100)));
            (20..24).for_each(|id| queue.push(NOW, to(id, 2, 400)));
            let mut order = Vec::new();
            for taken in 0..expected.len() {
                if taken == toggled {
                    queue.set_weight(NOW, 1, Weight::ZERO);
                    queue.set_weight(NOW, 1, Weight::ONE);
                }
                order.extend(queue.pop(NOW).map(|thing| thing.id));
            }
            assert_eq!(order, expected, "{name}, after {toggled}");
        }
    }
}

#[derive(Clone, Debug)]
enum Call {
    Push { host: u32, bytes: u32 },
    Pop,
    PopTo(u32),
    Weigh(u32, u32),
    Link(u32, bool),
    Wait(u64),
}

fn call() -> impl Strategy<Value = Call> {
    let weight = prop::sample::select(vec![0, 0, 1, 30_000, 65_536, 1 << 20]);
    prop_oneof![
        5 => (0..6u32, 40..1500u32).prop_map(|(host, bytes)| Call::Push { host, bytes }),
        3 => Just(Call::Pop),
        1 => (0..7u32).prop_map(Call::PopTo),
        1 => (0..6u32, weight).prop_map(|(host, weight)| Call::Weigh(host, weight)),
        1 => (0..6u32, any::<bool>()).prop_map(|(host, is_good)| Call::Link(host, is_good)),
        1 => (0..20_000u64).prop_map(Call::Wait),
    ]
}

/// What a queue should hold: its hosts' packets and weights.
#[derive(Default)]
struct Model {
    next: u64,
    hosts: BTreeMap<u32, (Vec<u64>, u32)>,
    /// Hosts whose link is bad, for schedulers that look at it.
    bad: BTreeSet<u32>,
}

impl Model {
    fn host(&mut self, host: u32) -> &mut (Vec<u64>, u32) {
        self.hosts.entry(host).or_insert((Vec::new(), Weight::ONE.0))
    }

    fn may_be_served(&self) -> bool {
        let mut good = self.hosts.iter().filter(|(host, _)| !self.bad.contains(host));
        good.any(|(_, (packets, weight))| !packets.is_empty() && *weight > 0)
    }

    fn came_out(&mut self, thing: &Thing, idle_serve: bool) -> Result<(), TestCaseError> {
        let may = self.may_be_served();
        let is_bad = self.bad.contains(&thing.receiver);
        let (packets, weight) = self.host(thing.receiver);
        prop_assert_eq!(packets.first(), Some(&thing.id), "in order, and once");
        prop_assert!((*weight > 0 && !is_bad) || (idle_serve && !may));
        packets.remove(0);
        Ok(())
    }

    fn drop(&mut self, queue: &mut dyn Discipline<Thing>) -> Result<(), TestCaseError> {
        while let Some((thing, _)) = queue.dropped() {
            let (packets, _) = self.host(thing.receiver);
            prop_assert_eq!(packets.pop(), Some(thing.id), "the newest");
        }
        Ok(())
    }
}

fn obey(spec: &Spec, calls: &[Call], idle_serve: bool) -> Result<(), TestCaseError> {
    let (mut queue, mut model, mut now) =
        (spec.build(crate::testing::random()), Model::default(), NOW);
    for call in calls {
        match *call {
            Call::Push { host, bytes } => {
                let id = model.next;
                model.next += 1;
                model.host(host).0.push(id);
                queue.push(now, to(id, host, bytes));
                model.drop(&mut *queue)?;
            }
            Call::Pop => match queue.pop(now) {
                Some(thing) => model.came_out(&thing, idle_serve)?,
                None => prop_assert!(!model.may_be_served(), "work is conserved"),
            },
            Call::PopTo(host) => {
                let (packets, weight) = model.host(host);
                let served = *weight > 0 || idle_serve;
                let first = packets.first().copied().filter(|_| served);
                prop_assert_eq!(queue.pop_to(now, host).map(|thing| thing.id), first);
                packets.retain(|&id| Some(id) != first);
            }
            Call::Weigh(host, weight) => {
                model.host(host).1 = weight;
                queue.set_weight(now, host, Weight(weight));
            }
            Call::Link(host, is_good) => {
                if spec.watches_links() && !is_good {
                    model.bad.insert(host);
                } else {
                    model.bad.remove(&host);
                }
                queue.set_link(now, host, is_good);
            }
            Call::Wait(us) => now += fairwave_units::Duration::from_micros(us),
        }
        let held: usize = model.hosts.values().map(|(packets, _)| packets.len()).sum();
        prop_assert_eq!(queue.len() as usize, held);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_the_weights_do_packets_are_conserved_in_order(
        calls in prop::collection::vec(call(), 1..300),
        idle_serve in any::<bool>(),
    ) {
        let (limit, host_limit) = (Limit::Packets(20), Limit::Packets(8));
        for (name, spec) in schedulers(HostConfig { limit, host_limit, idle_serve }) {
            let named = |error| TestCaseError::fail(format!("{name}: {error}"));
            obey(&spec, &calls, idle_serve).map_err(named)?;
        }
    }

    /// Whoever weighs something is served: in DRR and in virtual time alike, within what the
    /// others may send while the fluid serves one packet of the lightest.
    #[test]
    fn nobody_with_weight_starves(light in 1..1000u32, others in 1..8u32, bytes in 40..1500u32) {
        for (name, spec) in schedulers(roomy()) {
            let mut queue = spec.build(crate::testing::random());
            queue.set_weight(NOW, 0, Weight(light * 64));
            queue.push(NOW, to(0, 0, bytes));
            for host in 1..=others {
                (0..2).for_each(|id| queue.push(NOW, to(id, host, 1500)));
            }
            // The fluid needs bytes / light of each other's; and a quantum for each in DRR.
            let max = u64::from(bytes) * 1024 / u64::from(light) + 2 * 1514 + 1500;
            let mut sent = 0;
            loop {
                let thing = queue.pop(NOW).expect("all are backlogged");
                if thing.receiver == 0 {
                    break;
                }
                sent += u64::from(thing.bytes);
                queue.push(NOW, thing);
                prop_assert!(sent <= max * u64::from(others), "{name}: {sent} sent to others");
            }
        }
    }
}

#[test]
fn nobody_is_charged_for_what_was_withdrawn() {
    for (name, spec) in schedulers(roomy()) {
        let order = |withdraws: bool| {
            let mut queue = spec.build(crate::testing::random());
            if withdraws {
                (0..30).for_each(|id| queue.push(NOW, to(id, 1, 1500)));
                let withdraw = || queue.withdraw(NOW, 1, &|_| true).map(|thing| thing.id);
                assert!(core::iter::from_fn(withdraw).eq(0..30), "{name}");
                assert!(queue.is_empty() && queue.deadline().is_none(), "{name}");
            }
            (100..140).for_each(|id| queue.push(NOW, to(id, 1 + id as u32 % 2, 1500)));
            drain(&mut *queue, NOW)
        };
        assert_eq!(order(true), order(false), "{name}");
    }
}

#[test]
fn packets_behind_a_withdrawn_one_move_up() {
    for (name, spec) in schedulers(roomy()) {
        let order = |first: u64| {
            let mut queue = spec.build(crate::testing::random());
            (first..10).for_each(|id| queue.push(NOW, to(id, 1, 1500)));
            (10..20).for_each(|id| queue.push(NOW, to(id, 2, 1500)));
            while queue.withdraw(NOW, 1, &|thing| thing.id < 5).is_some() {}
            drain(&mut *queue, NOW)
        };
        assert_eq!(order(0), order(5), "{name}");
    }
}

#[test]
fn wfq_gives_back_nothing_that_its_fluid_system_has_served() {
    // A byte takes one microsecond.
    let rate = Some(fairwave_units::BitRate(8_000_000));
    let mut queue = Spec::Wfq(WfqConfig { hosts: roomy(), rate }).build(crate::testing::random());
    (0..2).for_each(|id| queue.push(NOW, to(id, 1, 1500)));
    (10..20).for_each(|id| queue.push(NOW, to(id, 2, 1500)));
    // After 6 ms the fluid system has served 3000 bytes of each, and then host 2 alone: V is 4000.
    let now = Instant::from_nanos(7_000_000);
    let withdraw = || queue.withdraw(now, 1, &|_| true).map(|thing| thing.id);
    assert!(core::iter::from_fn(withdraw).eq(0..2));
    queue.push(now, to(2, 1, 1500));
    let sent = drain(&mut *queue, now);
    assert_eq!(sent[..5], [10, 11, 12, 2, 13], "its tag is 5500");
}
