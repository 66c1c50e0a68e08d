//! What is made of reports, by hand.

use super::super::log::Entry;
use super::*;
use fairwave_wire::dccp::LossInterval;

/// The option data of RFC 4342, section 8.6.2, without Skip Length, and its loss intervals.
const EXAMPLE: [u8; 36] = [
    0, 0, 10, 128, 0, 1, 0, 0, 10, 0, 0, 8, 0, 0, 5, 0, 0, 10, 0, 0, 8, 0, 0, 1, 0, 0, 8, 0, 0, 10,
    128, 0, 0, 0, 0, 15,
];

/// Lossless, lossy and data lengths, newest first.
fn bytes(intervals: &[(u32, u32, u32)]) -> Vec<u8> {
    let wire = |(lossless, lossy, data)| LossInterval::new(lossless, lossy, data, false).to_bytes();
    intervals.iter().flat_map(|interval| wire(*interval)).collect()
}

fn loss_report(ack: u64, skip: u8, bytes: &[u8]) -> ReportedIntervals<'_> {
    let intervals = LossIntervals::from_bytes(bytes).unwrap();
    ReportedIntervals { ack, intervals: Some((skip, intervals)), dropped: &[] }
}

fn take(reported: &mut Reported, ack: u64, intervals: &[(u32, u32, u32)], rules: &Rules) -> bool {
    reported.take(&loss_report(ack, 0, &bytes(intervals)), &Log::new(), rules)
}

fn mean(reported: &Reported, rules: &Rules) -> f64 {
    reported.average(rules).map_or(0.0, |average| average.interval)
}

fn starts(reported: &Reported) -> Vec<u64> {
    reported.known.iter().map(|interval| interval.start).collect()
}

#[test]
fn the_example_is_read() {
    let mut reported = Reported::new();
    assert!(reported.take(&loss_report(44, 2, &EXAMPLE), &Log::new(), &Rules::default()));
    assert_eq!(starts(&reported), [0, 10, 19, 32]);
    // Closed: (10 + 8 + 15)/3 = 11; with the open one (10 + 10 + 8)/3.
    assert!((mean(&reported, &Rules::default()) - 11.0).abs() < 1e-12);
}

#[test]
fn growth_is_no_new_loss() {
    let mut reported = Reported::new();
    let rules = Rules::default();
    assert!(!take(&mut reported, 49, &[(50, 0, 0)], &rules));
    assert_eq!(mean(&reported, &rules), 0.0);
    assert!(take(&mut reported, 99, &[(49, 1, 50), (50, 0, 30)], &rules));
    assert!(!take(&mut reported, 199, &[(149, 1, 150), (50, 0, 30)], &rules));
    assert!((mean(&reported, &rules) - 150.0).abs() < 1e-12);
    assert!(take(&mut reported, 209, &[(9, 1, 10), (149, 1, 150), (50, 0, 30)], &rules));
    assert!((mean(&reported, &rules) - 90.0).abs() < 1e-12);
    assert_eq!(reported.events(), 2);
}

/// A loss that a late packet undid is in the report no more.
#[test]
fn what_is_not_reported_any_more_is_gone() {
    let mut reported = Reported::new();
    let rules = Rules::default();
    take(&mut reported, 209, &[(9, 1, 10), (149, 1, 150), (50, 0, 30)], &rules);
    take(&mut reported, 219, &[(169, 1, 170), (50, 0, 30)], &rules);
    assert_eq!(starts(&reported), [0, 50]);
    assert!((mean(&reported, &rules) - 170.0).abs() < 1e-12);
}

/// A receiver may leave out what was reported before (RFC 4342, section 8.6.1).
#[test]
fn older_intervals_are_remembered() {
    let mut reported = Reported::new();
    let rules = Rules::default();
    take(&mut reported, 209, &[(9, 1, 10), (149, 1, 150), (50, 0, 30)], &rules);
    take(&mut reported, 309, &[(9, 1, 10), (99, 1, 100)], &rules);
    assert_eq!(starts(&reported), [0, 50, 200, 300]);
}

/// Remedy B': the interval that the gap began joins the one before, less the gap.
#[test]
fn losses_of_a_gap_are_left_out() {
    let rules = Rules::default();
    let mut reported = Reported::new();
    reported.leave_out(195, u64::MAX);
    reported.leave_out(400, 600);
    // Losses at 50 and 100, then 400 packets from 200 on.
    take(&mut reported, 649, &[(50, 400, 450), (99, 1, 100), (49, 1, 50), (50, 0, 30)], &rules);
    // Closed: (50 + 30)/2; with the open one (150 + 50)/2.
    assert!((mean(&reported, &rules) - 100.0).abs() < 1e-12);
    assert_eq!(reported.events(), 2, "the gap is none");
    reported.leave_out(0, 199);
    assert_eq!(reported.average(&rules), None, "no loss but those of gaps");
}

/// A receiver goes on reporting the losses of earlier gaps. Those without a loss take no room.
#[test]
fn losses_of_earlier_gaps_stay_left_out() {
    let rules = Rules::default();
    let mut reported = Reported::new();
    let mut intervals = vec![(100, 0, 100)];
    for gap in 0..40 {
        let first = 100 + 100 * gap;
        reported.leave_out(first, u64::MAX);
        reported.leave_out(first, first + 49);
        if gap % 4 == 0 {
            intervals.insert(0, (90, 10, 100));
        } else {
            let (lossless, lossy, data) = intervals[0];
            intervals[0] = (lossless + 100, lossy, data + 100);
        }
        intervals.truncate(9);
        assert!(!take(&mut reported, first + 99, &intervals, &rules), "gap {gap}");
        assert_eq!(reported.average(&rules), None, "gap {gap}");
    }
    assert_eq!(reported.events(), 0);
}

/// Remedy E: what began before is forgotten; the first interval after has a length of its own.
#[test]
fn losses_before_are_forgotten() {
    let mut reported = Reported::new();
    take(&mut reported, 649, &[(50, 400, 450), (99, 1, 100), (100, 0, 30)], &Rules::default());
    let rules = Rules { forgotten: Some((601, 70.0)), ..Rules::default() };
    assert_eq!(reported.average(&rules), None);
    take(&mut reported, 699, &[(39, 1, 40), (60, 400, 460), (99, 1, 100), (100, 0, 30)], &rules);
    assert!((mean(&reported, &rules) - 70.0).abs() < 1e-12);
}

/// Remedy C, by discounting: 8 intervals of 100 from before at a quarter of their weight.
#[test]
fn old_intervals_weigh_less() {
    let mut reported = Reported::new();
    let mut intervals = vec![(9, 1, 10), (19, 1, 20)];
    intervals.extend([(99, 1, 100); 7]);
    take(&mut reported, 729, &intervals, &Rules::default());
    assert!((mean(&reported, &Rules::default()) - 520.0 / 6.0).abs() < 1e-9);
    let rules = Rules { old: Some((700, 0.25)), ..Rules::default() };
    // (20 + 100 * 5/4) / (1 + 5/4)
    assert!((mean(&reported, &rules) - 145.0 / 2.25).abs() < 1e-9);
}

fn sent_every_10_ms(count: u64) -> Log {
    let mut log = Log::new();
    for seq in 0..count {
        let at = Instant::ZERO + Duration::from_millis(10 * seq);
        log.push(seq, Entry { at, counter: 0, data: true });
    }
    log
}

/// RFC 4342, section 9.2: a gap of 400 packets, 10 ms apart, is 37 events of 11 packets at a
/// round trip of 100 ms; the sixteen last are remembered.
#[test]
fn a_gap_may_be_split_by_sending_times() {
    let mut reported = Reported::new();
    let log = sent_every_10_ms(700);
    let rules = Rules { split: Some(Duration::from_millis(100)), ..Rules::default() };
    let report = bytes(&[(100, 400, 500), (200, 0, 150)]);
    assert!(reported.take(&loss_report(699, 0, &report), &log, &rules));
    assert_eq!(reported.events(), 37);
    let last = reported.known.back().unwrap();
    assert_eq!((last.start, last.data), (200 + 36 * 11, 104));
    assert!(reported.known.iter().rev().skip(1).all(|interval| interval.data == 11));
    assert!((mean(&reported, &rules) - (104.0 + 11.0 * 5.0) / 6.0).abs() < 1e-9);
    // The same again, grown by 10: no new event.
    let report = bytes(&[(110, 400, 510), (200, 0, 150)]);
    assert!(!reported.take(&loss_report(709, 0, &report), &log, &rules));
    assert_eq!(reported.known.back().unwrap().data, 114);
}

/// RFC 4828, section 4.4: N/K for intervals of at most two round trips, and a short open one
/// does not count.
#[test]
fn short_intervals_count_their_losses() {
    let mut reported = Reported::new();
    let log = sent_every_10_ms(700);
    let rules = Rules { short: Some(Duration::from_millis(100)), ..Rules::default() };
    let report = bytes(&[(5, 1, 6), (10, 9, 19), (97, 3, 100), (100, 0, 40)]);
    let dropped = [0, 0, 1, 0, 0, 5, 0, 0, 2, 0, 0, 0];
    let loss_report = ReportedIntervals { dropped: &dropped, ..loss_report(224, 0, &report) };
    reported.take(&loss_report, &log, &rules);
    // 19/5, 100 (longer than 200 ms) and 40.
    assert!((mean(&reported, &rules) - (19.0 / 5.0 + 140.0) / 3.0).abs() < 1e-9);
}
