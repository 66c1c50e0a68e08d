//! CoDel's algorithm by hand: RFC 8289 with a target of 5 ms and an interval of 100 ms.

use crate::testing::{Thing, drain, dropped, full, ms};
use crate::{CodelConfig, Discipline, FairConfig, FqCodel, Limit};
use fairwave_trace::DropCause::Aqm;
use fairwave_units::{Duration, Instant};

fn queue() -> FqCodel<Thing> {
    FqCodel::new(FairConfig::fq_codel(Limit::Packets(100_000)))
}

/// Takes a packet every millisecond of [from, to) from a queue in which every packet has
/// waited for a second; when something was dropped.
fn drops_at(queue: &mut FqCodel<Thing>, from: u64, to: u64) -> Vec<u64> {
    let mut times = Vec::new();
    for t in from..to {
        assert!(queue.pop(ms(t)).is_some());
        times.extend(dropped(queue).iter().map(|_| t));
    }
    times
}

fn fill(queue: &mut FqCodel<Thing>, ecn: bool) {
    for id in 0..5000 {
        queue.push(Instant::ZERO, Thing { ecn, ..full(id, 1) });
    }
}

#[test]
fn drops_come_after_an_interval_and_then_at_the_inverse_root() {
    let mut queue = queue();
    fill(&mut queue, false);
    // Above the target from 1000 ms on: the first drop an interval later, the next after
    // 100/sqrt(1), 100/sqrt(2), 100/sqrt(3), 100/sqrt(4) ms, at the next packet to leave:
    // 1200, 1270.71, 1328.45, 1378.45, 1423.17, 1463.99, 1501.79 ms.
    let expected = [1100, 1200, 1271, 1329, 1379, 1424, 1464, 1502];
    assert_eq!(drops_at(&mut queue, 1000, 1510), expected);
}

#[test]
fn a_queue_that_empties_under_the_target_is_left_alone() {
    let mut queue = queue();
    for t in 0..2000 {
        queue.push(ms(t), full(t, 1));
        queue.push(ms(t), full(t, 1));
        // Waits of up to 4 ms.
        if t % 5 == 4 {
            drain(&mut queue, ms(t));
        }
    }
    assert_eq!(dropped(&mut queue), []);
}

#[test]
fn one_packet_of_full_size_may_wait_for_ever() {
    let mut queue = queue();
    for t in (0..5000).step_by(500) {
        queue.push(ms(t), full(t, 1));
        assert!(queue.pop(ms(t + 499)).is_some());
    }
    assert_eq!(dropped(&mut queue), []);
}

#[test]
fn packets_that_take_part_in_ecn_are_marked_at_the_same_times() {
    let mut queue = queue();
    fill(&mut queue, true);
    let marked: Vec<u64> = (1000..1510).filter(|&t| queue.pop(ms(t)).unwrap().marked).collect();
    assert_eq!(marked, [1100, 1200, 1271, 1329, 1379, 1424, 1464, 1502]);
    assert_eq!(dropped(&mut queue), []);
    let codel = CodelConfig { ecn: false, ..FairConfig::fq_codel(Limit::Packets(1)).codel };
    let off = FairConfig { codel, ..FairConfig::fq_codel(Limit::Packets(100_000)) };
    let mut queue = FqCodel::new(off);
    fill(&mut queue, true);
    assert_eq!(drops_at(&mut queue, 1000, 1150), [1100]);
}

#[test]
fn dropping_that_is_taken_up_again_goes_on_at_the_rate_it_had() {
    let mut queue = queue();
    fill(&mut queue, false);
    // Drops at 1100, 1200, 1271, 1329: four, the next due at 1379.
    assert_eq!(drops_at(&mut queue, 1000, 1330).len(), 4);
    // The queue empties; ten milliseconds later another burst has waited for 50 ms.
    drain(&mut queue, ms(1330));
    dropped(&mut queue);
    for id in 0..1000 {
        queue.push(ms(1340), full(id, 1));
    }
    // count - lastcount = 4 - 1 = 3: after the first drop the next comes 100/sqrt(3) = 57.7 ms
    // later, then 100/sqrt(4) = 50.
    assert_eq!(drops_at(&mut queue, 1390, 1650), [1490, 1548, 1598, 1643]);
}

#[test]
fn what_codel_drops_is_the_oldest() {
    let mut queue = queue();
    fill(&mut queue, false);
    assert_eq!(queue.pop(ms(1000)).map(|thing| thing.id), Some(0));
    assert_eq!(queue.pop(ms(1100)).map(|thing| thing.id), Some(2));
    assert_eq!(dropped(&mut queue), [(1, Aqm)]);
}

#[test]
fn other_times_can_be_set() {
    let codel = CodelConfig {
        target: Duration::from_millis(20),
        interval: Duration::from_millis(400),
        ecn: true,
    };
    let fq = FairConfig { codel, ..FairConfig::fq_codel(Limit::Packets(100_000)) };
    let mut queue = FqCodel::new(fq);
    fill(&mut queue, false);
    assert_eq!(drops_at(&mut queue, 1000, 2100), [1400, 1800, 2083]);
}
