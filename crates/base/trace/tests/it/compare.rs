//! Two captures of a simulated line tell what the line did.

use crate::common::{MS, Shot, Transfer};
use fairwave_machine::line::Wire;
use fairwave_tcp::Config;
use fairwave_trace::analysis::compare::{self, Bins, Comparison, Fates, Place, Report};
use fairwave_units::{Duration, Instant, Seed};

pub(crate) fn compared(
    config: compare::Config,
    captures: [&[Shot]; 2],
    to: &mut impl Fates,
) -> Report {
    let mut comparison = Comparison::new(config);
    let mut rest = captures.map(<[Shot]>::iter);
    while let Some(place) = comparison.wants() {
        match rest[place as usize].next() {
            Some(shot) => comparison.push(place, shot.frame(), to),
            None => comparison.ended(place),
        }
    }
    comparison.finish(to)
}

fn transfer(seed: u64, there: Wire, back: Wire) -> Transfer {
    let config = Config { timestamps: true, max_rto: MS(4_000), ..Config::default() };
    let config = Config { send_buffer: 60_000, ..config };
    Transfer::new(Seed(seed), config, [there, back], 1_000_000).run(Instant::MAX)
}

/// A capture by a clock that is ahead.
fn ahead(shots: &[Shot], by: Duration) -> Vec<Shot> {
    shots.iter().map(|shot| Shot { at: shot.at + by, ..shot.clone() }).collect()
}

fn wire(delay: u64, loss: f64) -> Wire {
    Wire { delay: MS(delay), loss, ..Wire::default() }
}

#[test]
fn loss_is_counted_exactly_and_delay_whatever_the_clocks_say() {
    for seed in 0..8 {
        let transfer = transfer(seed, wire(10, 0.02), wire(30, 0.1));
        let [there, back] = transfer.tallies();
        // The second clock is right, a little ahead, or was never set.
        for by in [0, 7_000, 20 * 365 * 86_400_000] {
            let second = ahead(&transfer.captures[1], MS(by));
            let captures = [&transfer.captures[0][..], &second];
            let report = compared(compare::Config::default(), captures, &mut ());
            let [flow] = &report.flows[..] else {
                panic!("seed {seed}: {} flows", report.flows.len())
            };
            let [a, b] = &flow.ways;
            assert_eq!(a.all.alone, [there.lost, 0], "seed {seed}, {by} ms");
            assert_eq!(a.all.crossed, there.sent - there.lost);
            assert_eq!(b.all.alone, [0, back.lost], "seed {seed}, {by} ms");
            // But for SYN and FIN, all that the receiver sends are ACKs.
            let others =
                b.all.crossed + b.all.alone[1] - b.pure_acks.crossed - b.pure_acks.alone[1];
            assert!((2..6).contains(&others), "seed {seed}: {b:?}");
            let offset = MS(by).as_nanos() as i64;
            assert_eq!(a.shift.range_ns(), Some((offset + 10_000_000, offset + 10_000_000)));
            assert_eq!(b.shift.range_ns(), Some((offset - 30_000_000, offset - 30_000_000)));
            assert_eq!(flow.begins_at(0, None), Some(Place::First));
            assert_eq!(flow.begins_at(1, None), Some(Place::Second));
            assert_eq!((a.reordered, a.duplicates, report.forgotten), (0, [0, 0], 0));
        }
    }
}

#[test]
fn duplicates_and_reordering_are_those_of_the_line() {
    let jitter = Wire { jitter: MS(3), duplicate: 0.05, ..wire(10, 0.0) };
    let transfer = transfer(3, jitter, wire(10, 0.0));
    let report = compared(compare::Config::default(), captures(&transfer), &mut ());
    let way = &report.flows[0].ways[0];
    assert_eq!(way.duplicates, [0, transfer.tallies()[0].duplicated]);
    assert_eq!(way.all.alone, [0, 0]);
    // By its own numbers: how many came behind one that was sent later (first copies only).
    let mut came: Vec<u16> = Vec::new();
    let sent_by_a = |shot: &&Shot| shot.bytes[12..16] == [10, 0, 0, 1];
    let (mut highest, mut late) = (0, 0);
    for shot in transfer.captures[1].iter().filter(sent_by_a) {
        let id = u16::from_be_bytes([shot.bytes[4], shot.bytes[5]]);
        if !came.contains(&id) {
            late += u64::from(id < highest);
            highest = highest.max(id);
            came.push(id);
        }
    }
    assert!(late > 50, "only {late} came late: the test asks little");
    assert_eq!(way.reordered, late);
}

fn captures(transfer: &Transfer) -> [&[Shot]; 2] {
    [&transfer.captures[0], &transfer.captures[1]]
}

#[test]
fn bins_hold_every_packet_once() {
    let transfer = transfer(5, wire(10, 0.05), wire(10, 0.0));
    for micros in [1, 100_000, 3_600_000_000] {
        let mut bins = Bins::new(Duration::from_micros(micros));
        let report = compared(compare::Config::default(), captures(&transfer), &mut bins);
        for (from, way) in report.flows[0].ways.iter().enumerate() {
            let bins = bins.of(0, from);
            assert!(bins.len() <= 4_096);
            assert!(bins.is_sorted_by(|(one, _), (next, _)| one < next));
            let bins: Vec<_> = bins.iter().map(|(_, bin)| bin).collect();
            assert_eq!(bins.iter().map(|bin| bin.crossed).sum::<u64>(), way.all.crossed);
            assert_eq!(bins.iter().map(|bin| bin.alone[0]).sum::<u64>(), way.all.alone[0]);
            let shifts = bins.iter().map(|bin| bin.shift_total_ns).sum::<i128>();
            assert_eq!((shifts / i128::from(way.all.crossed)) as i64, way.shift.mean_ns().unwrap());
        }
    }
}

#[test]
fn what_the_other_capture_was_not_running_for_is_not_lost() {
    for seed in 0..8 {
        let transfer = transfer(seed, wire(10, 0.05), wire(10, 0.0));
        let whole = compared(compare::Config::default(), captures(&transfer), &mut ());
        let second = &transfer.captures[1];
        let [from, to] = [second[second.len() / 4].at, second[second.len() / 2].at];
        let cut: Vec<_> =
            second.iter().filter(|shot| (from..=to).contains(&shot.at)).cloned().collect();
        let first = &transfer.captures[0];
        let report = compared(compare::Config::default(), [first, &cut], &mut ());
        let [there, back] = &report.flows[0].ways;
        // By the line: of those sent while the second point was watched, the ones that never came.
        let sent_by_a = |shot: &&Shot| shot.bytes[12..16] == [10, 0, 0, 1];
        let passed = |shot: &Shot| second.iter().any(|other| other.bytes == shot.bytes);
        let lost = first.iter().filter(sent_by_a).filter(|shot| !passed(shot));
        let watched = |at: Instant| (from..=to).contains(&(at + MS(10)));
        let lost = lost.filter(|shot| watched(shot.at)).count() as u64;
        assert_eq!(there.all.alone, [lost, 0], "seed {seed}");
        assert!(lost > 3, "seed {seed}: only {lost} lost: the test asks little");
        let [one, all] = [there, &whole.flows[0].ways[0]].map(|way| &way.all);
        let every = all.crossed + all.alone[0] + all.outside[0];
        assert_eq!(one.crossed + one.alone[0] + one.outside[0], every, "seed {seed}");
        assert_eq!(back.all.alone, [0, 0], "seed {seed}");
    }
}

#[test]
fn of_packets_that_all_got_lost_it_is_known_where_they_began() {
    let transfer = transfer(2, wire(10, 0.0), wire(10, 0.0));
    let sent_by_b = |shot: &Shot| shot.bytes[12..16] == [10, 0, 0, 2];
    let mut first = transfer.captures[0].clone();
    first.retain(|shot| !sent_by_b(shot));
    let report = compared(compare::Config::default(), [&first, &transfer.captures[1]], &mut ());
    let flow = &report.flows[0];
    assert_eq!(flow.begins_at(1, None), Some(Place::Second));
    assert!(flow.ways[1].all.lost_from(Place::Second).is_some_and(|share| share > 0.999));
}

#[test]
fn a_small_window_forgets_and_says_so() {
    let transfer = transfer(1, wire(50, 0.0), wire(50, 0.0));
    let config = compare::Config { window: 4, ..compare::Config::default() };
    let report = compared(config, captures(&transfer), &mut ());
    let [a, b] = &report.flows[0].ways;
    let alone: u64 = [a, b].iter().flat_map(|way| way.all.alone).sum();
    assert!(report.forgotten > 0 && report.forgotten <= alone, "{}", report.forgotten);
    // Every packet is somewhere.
    for way in [a, b] {
        for place in 0..2 {
            let once = way.all.crossed + way.all.alone[place] + way.all.outside[place];
            let known = once + way.duplicates[place];
            assert_eq!(known, way.packets[place]);
        }
    }
}

/// A packet without a total length in its header, of a record that states 4 GiB.
#[test]
fn a_length_of_four_gibibytes_is_cut_into_few_segments() {
    let mut shot = transfer(1, wire(10, 0.0), wire(10, 0.0)).captures[0][3].clone();
    shot.bytes[2..4].fill(0);
    shot.len = u32::MAX;
    let captures = [&[shot.clone()][..], &[shot]];
    let report = compared(compare::Config::default(), captures, &mut ());
    // 512 KiB, in segments of 1448 bytes.
    let packets = report.flows[0].ways.iter().map(|way| way.packets).max();
    assert_eq!(packets, Some([363; 2]));
}
