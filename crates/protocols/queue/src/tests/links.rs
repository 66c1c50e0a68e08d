//! Schedulers that look at links: who is passed over, and what is made up for afterwards.

use super::fluid::roomy;
use crate::testing::{Thing, drain};
use crate::{CifQConfig, Discipline, IwfqConfig, Spec};
use fairwave_units::Instant;
use proptest::prelude::*;

const NOW: Instant = Instant::ZERO;

fn to(id: u64, receiver: u32) -> Thing {
    Thing { id, receiver, bytes: 100, ..Thing::default() }
}

fn csdps() -> Spec {
    Spec::Csdps(roomy())
}

fn iwfq(lag: u32, lead: u32) -> Spec {
    Spec::Iwfq(IwfqConfig { hosts: roomy(), lag, lead })
}

fn cif_q(alpha_percent: u32) -> Spec {
    Spec::CifQ(CifQConfig { hosts: roomy(), alpha_percent })
}

/// Two hosts with packets of 100 bytes and weight one; the link to host 1 is bad while host 2 is
/// sent ten. To whom the next ones go when it is good again, as one digit each.
fn after_a_fade(spec: &Spec, packets: usize) -> String {
    let mut queue = spec.build(crate::testing::random());
    for id in 0..50 {
        queue.push(NOW, to(id, 1));
        queue.push(NOW, to(100 + id, 2));
    }
    queue.set_link(NOW, 1, false);
    let served = |queue: &mut dyn Discipline<Thing>| queue.pop(NOW).map_or(0, |t| t.receiver);
    (0..10).for_each(|_| assert_eq!(served(&mut *queue), 2));
    queue.set_link(NOW, 1, true);
    (0..packets).map(|_| served(&mut *queue).to_string()).collect()
}

#[test]
fn csdps_makes_up_for_nothing() {
    assert_eq!(after_a_fade(&csdps(), 6), "212121");
}

/// Host 1's tags are 100, 200, ..., host 2's next is 1100, V = 500. Of equal tags host 1's comes
/// first.
#[test]
fn iwfq_lets_a_lagging_host_catch_up_within_its_bounds() {
    // 100 to 1100: the ten that it missed, and its turn.
    assert_eq!(after_a_fade(&iwfq(100_000, 100_000), 14), "11111111111212");
    // A lag of 200 bytes: 300, 400, ..., 1100.
    assert_eq!(after_a_fade(&iwfq(200, 100_000), 12), "111111111212");
    // A lead of 200 bytes: host 2 is served as if its tag were V + 200 = 700.
    assert_eq!(after_a_fade(&iwfq(100_000, 200), 8), "11111112");
}

#[test]
fn cif_q_repays_and_leaves_the_leading_host_its_share() {
    // Five of the ten were host 1's turns. Nothing kept: it gets host 2's turns, too, until it has
    // had five of those.
    assert_eq!(after_a_fade(&cif_q(0), 14), "11111111111212");
    let kept = after_a_fade(&cif_q(50), 40);
    let owed = |text: &str| text.matches('1').count() as i64 - text.matches('2').count() as i64;
    assert!(kept[..12].contains('2'), "it is not cut off: {kept}");
    assert!((9..=11).contains(&owed(&kept)), "in the end it is repaid: {kept}");
}

#[test]
fn while_all_links_are_bad_nothing_is_sent() {
    for spec in [csdps(), iwfq(1000, 1000), cif_q(50)] {
        let mut queue = spec.build(crate::testing::random());
        (0..3).for_each(|host| queue.push(NOW, to(host.into(), host)));
        (0..3).for_each(|host| queue.set_link(NOW, host, false));
        assert_eq!(drain(&mut *queue, NOW), [], "{}", spec.name());
        queue.set_link(NOW, 2, true);
        assert_eq!(drain(&mut *queue, NOW), [2], "{}", spec.name());
        (0..2).for_each(|host| queue.set_link(NOW, host, true));
        let mut others = drain(&mut *queue, NOW);
        others.sort_unstable();
        assert_eq!(others, [0, 1], "{}", spec.name());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// However links come and go, over a long time CIF-Q gives all hosts the same.
    #[test]
    fn cif_q_is_fair_in_the_long_run(
        fades in prop::collection::vec((0..3u32, 1..40u32), 1..10),
        alpha_percent in 0..=50u32,
    ) {
        let mut queue = cif_q(alpha_percent).build(crate::testing::random());
        let mut got = [0; 3];
        (0..3).for_each(|host| (0..2).for_each(|id| queue.push(NOW, to(id, host))));
        let mut serve = |queue: &mut dyn Discipline<Thing>, turns: u32| {
            for _ in 0..turns {
                let thing = queue.pop(NOW).expect("a link is good");
                got[thing.receiver as usize] += 1;
                queue.push(NOW, thing);
            }
        };
        for (host, turns) in fades {
            queue.set_link(NOW, host, false);
            serve(&mut *queue, turns);
            queue.set_link(NOW, host, true);
        }
        serve(&mut *queue, 2000);
        let (minimum, maximum) = (got.iter().min(), got.iter().max());
        prop_assert!(maximum <= minimum.map(|minimum: &i32| minimum + 2).as_ref(), "{got:?}");
    }
}
