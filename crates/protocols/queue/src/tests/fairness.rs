//! Who is served when: flows by bytes, stations by airtime.

use crate::testing::{Thing, drain, dropped, full, ms};
use crate::{AirtimeConfig, AirtimeDrr, Discipline, FairConfig, FqCodel, Limit};
use fairwave_trace::DropCause::QueueFull;
use fairwave_units::{Bytes, Duration, Instant};

const NOW: Instant = Instant::ZERO;

fn fq(limit: u32) -> FqCodel<Thing> {
    FqCodel::new(FairConfig::fq_codel(Limit::Packets(limit)))
}

fn sized(id: u64, flow: u16, bytes: u32) -> Thing {
    Thing { bytes, ..full(id, flow) }
}

#[test]
fn flows_share_bytes_not_packets() {
    let mut queue = fq(10_000);
    (0..1000).for_each(|id| queue.push(NOW, sized(id, 1, 1500)));
    (1000..5000).for_each(|id| queue.push(NOW, sized(id, 2, 300)));
    let mut bytes = [0; 2];
    for _ in 0..1200 {
        let thing = queue.pop(NOW).unwrap();
        bytes[usize::from(thing.flow) - 1] += thing.bytes;
    }
    // Deficit round robin: never further apart than a quantum and a packet.
    assert!(bytes[0].abs_diff(bytes[1]) <= 1514 + 1500, "{bytes:?}");
}

#[test]
fn a_flow_that_comes_new_goes_before_the_busy() {
    let mut queue = fq(10_000);
    (0..100).for_each(|id| queue.push(NOW, full(id, 1)));
    (100..200).for_each(|id| queue.push(NOW, full(id, 2)));
    assert!((0..10).all(|_| queue.pop(NOW).is_some()));
    queue.push(NOW, sized(500, 3, 100));
    assert_eq!(queue.pop(NOW).map(|thing| thing.id), Some(500));
}

/// RFC 8290 section 4.2: an emptied new flow goes to the old ones, so that a trickle that is
/// just in time for each round does not keep others waiting.
#[test]
fn a_trickle_does_not_starve_the_others() {
    let mut queue = fq(10_000);
    (0..100).for_each(|id| queue.push(NOW, full(id, 1)));
    let mut of_one = 0;
    for id in 1000..1100 {
        queue.push(NOW, full(id, 2));
        of_one += u32::from(queue.pop(NOW).unwrap().flow == 1);
    }
    assert!((49..=51).contains(&of_one), "{of_one} of 100");
}

#[test]
fn the_longest_queue_loses_half_of_its_head_when_there_is_no_room() {
    let mut queue = fq(100);
    (0..10).for_each(|id| queue.push(NOW, full(id, 1)));
    (100..190).for_each(|id| queue.push(NOW, full(id, 2)));
    assert_eq!(dropped(&mut queue), []);
    queue.push(NOW, full(10, 1));
    let lost: Vec<_> = (100..145).map(|id| (id, QueueFull)).collect();
    assert_eq!(dropped(&mut queue), lost);
    assert_eq!((queue.len(), queue.bytes()), (56, Bytes(56 * 1500)));
}

#[test]
fn at_most_64_packets_are_dropped_at_once() {
    let mut queue = fq(1000);
    (0..1001).for_each(|id| queue.push(NOW, full(id, 1)));
    assert_eq!(dropped(&mut queue).len(), 64);
}

#[test]
fn receivers_whose_flows_meet_in_one_bucket_are_kept_apart() {
    let one = FairConfig { buckets: 1, ..FairConfig::fq_codel(Limit::Packets(100)) };
    let mut queue = FqCodel::new(one);
    (0..4).for_each(|id| queue.push(NOW, full(id, 1)));
    (10..14).for_each(|id| queue.push(NOW, full(id, 2)));
    assert_eq!(queue.pop_to(NOW, 2).map(|thing| thing.id), Some(10));
    assert_eq!(queue.peek_to(1), Some(1500));
    let rest = drain(&mut queue, NOW);
    let of = |low| rest.iter().copied().filter(move |id| (low..low + 10).contains(id));
    assert_eq!(of(0).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(of(10).collect::<Vec<_>>(), [11, 12, 13]);
}

#[test]
fn what_a_flow_gets_out_of_turn_it_gives_back() {
    let mut queue = fq(10_000);
    (0..200).for_each(|id| queue.push(NOW, full(id, 1)));
    (200..400).for_each(|id| queue.push(NOW, full(id, 2)));
    assert!((0..50).all(|_| queue.pop_to(NOW, 1).is_some()));
    let next: Vec<u16> = (0..50).map(|_| queue.pop(NOW).unwrap().flow).collect();
    let of_two = next.iter().filter(|&&flow| flow == 2).count();
    assert!(of_two >= 47, "{of_two} of 50");
}

fn airtime() -> AirtimeDrr<Thing> {
    AirtimeDrr::new(AirtimeConfig::mac80211(Limit::Packets(10_000)))
}

/// Serves the queue for `total`, a packet to station i taking `cost_us[i]`; airtime of each.
fn share(queue: &mut AirtimeDrr<Thing>, cost_us: &[u64], total: Duration) -> Vec<u64> {
    let mut used = vec![0; cost_us.len()];
    while used.iter().sum::<u64>() < total.as_micros() {
        let to = queue.pop(NOW).unwrap().receiver;
        let cost = cost_us[to as usize];
        used[to as usize] += cost;
        queue.charge(NOW, to, Duration::from_micros(cost));
    }
    used
}

/// Heusse's anomaly and its cure: a packet to the slow station takes ten times as long, and
/// each station gets a third of the time, not a third of the packets.
#[test]
fn stations_share_time_not_packets() {
    let mut queue = airtime();
    for id in 0..6000 {
        queue.push(NOW, full(id, id as u16 % 3));
    }
    let used = share(&mut queue, &[300, 300, 3000], Duration::from_millis(450));
    for (station, us) in used.iter().enumerate() {
        // To within a quantum and the longest packet.
        assert!(us.abs_diff(150_000) <= 3_300, "station {station}: {used:?}");
    }
}

#[test]
fn a_station_pays_for_what_it_sends_itself() {
    let mut queue = airtime();
    for id in 0..600 {
        queue.push(NOW, full(id, id as u16 % 2));
    }
    queue.charge(NOW, 0, Duration::from_millis(30));
    let used = share(&mut queue, &[300, 300], Duration::from_millis(60));
    assert!((used[1] - used[0]).abs_diff(30_000) <= 600, "{used:?}");
}

/// A TCP flow may empty its queue into a PPDU and be charged when the PPDU ends. What others use
/// until its next packets come is part of their share.
#[test]
fn a_station_without_packets_pays_while_others_are_served() {
    let mut queue = airtime();
    (0..10).for_each(|id| queue.push(NOW, full(id, 0)));
    (10..100).for_each(|id| queue.push(NOW, full(id, 1)));
    assert!((0..10).all(|_| queue.pop_to(NOW, 0).is_some()));
    queue.charge(NOW, 0, Duration::from_millis(6));
    let used = share(&mut queue, &[300, 300], Duration::from_millis(6));
    assert_eq!(used[0], 0);
    (100..200).for_each(|id| queue.push(NOW, full(id, 0)));
    let used = share(&mut queue, &[300, 300], Duration::from_millis(12));
    assert!(used[0].abs_diff(used[1]) <= 600, "{used:?}");
}

/// A debt is forgotten by nobody, but it does not grow while a station only sends.
#[test]
fn a_station_that_only_sends_is_charged_for_a_tenth_of_a_second() {
    let mut queue = airtime();
    queue.push(NOW, full(0, 0));
    assert!(queue.pop(NOW).is_some());
    for ms in 0..5000 {
        queue.charge(NOW + Duration::from_millis(ms), 0, Duration::from_millis(1));
    }
    let now = NOW + Duration::from_secs(5);
    (1..400).for_each(|id| queue.push(now, full(id, 1)));
    queue.push(now, full(400, 0));
    let before = (0..400).take_while(|_| {
        let to = queue.pop(now).unwrap().receiver;
        queue.charge(now, to, Duration::from_micros(300));
        to == 1
    });
    let before = before.count() as u64;
    assert!((300..350).contains(&before), "{before} packets, 101 ms of debt");
}

#[test]
fn a_stations_flows_share_its_time() {
    let mut queue = airtime();
    for id in 0..300 {
        let receiver = u32::from(id % 3 == 2);
        queue.push(NOW, Thing { receiver, ..full(id, id as u16 % 3) });
    }
    let mut flows = [0; 3];
    for _ in 0..120 {
        let thing = queue.pop(NOW).unwrap();
        flows[usize::from(thing.flow)] += 1;
        queue.charge(NOW, thing.receiver, Duration::from_micros(300));
    }
    assert_eq!(flows, [30, 30, 60]);
}

#[test]
fn waiting_too_long_is_a_matter_of_each_station() {
    let mut queue = airtime();
    for id in 0..1000 {
        queue.push(NOW, full(id, 1));
    }
    for t in 1000..1201 {
        // The other station's packets have just come.
        queue.push(ms(t), full(t, 2));
        assert_eq!(queue.pop_to(ms(t), 2).map(|thing| thing.id), Some(t));
        assert!(queue.pop_to(ms(t), 1).is_some());
    }
    let lost = dropped(&mut queue);
    assert_eq!(lost.len(), 2, "at 1100 and 1200 ms: {lost:?}");
    assert!(lost.iter().all(|(id, _)| *id < 1000));
}
