//! Losses and loss events by hand, and that order and repetition change nothing they should not.

use super::*;
use proptest::prelude::*;

const RTT: Duration = Duration::from_millis(100);

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn packet(seq: u64, millis: u64) -> Arrival {
    Arrival { seq, at: at(millis), counter: 0, marked: false, data: true }
}

/// Packets 10 ms apart whose counter goes up every 25 ms, as with a round trip of 100 ms.
fn counted(seq: u64) -> Arrival {
    Arrival { counter: (seq * 10 / 25 % 16) as u8, ..packet(seq, 10 * seq) }
}

fn feed(history: &mut History, seqs: impl IntoIterator<Item = u64>) -> u64 {
    let mut began = 0;
    for seq in seqs {
        began += u64::from(history.arrive(counted(seq), RTT).began);
    }
    began
}

fn sizes(history: &History) -> Vec<LossInterval> {
    let mut into = [LossInterval::default(); 16];
    let count = history.intervals(&mut into);
    into[..count].to_vec()
}

/// RFC 5348, section 5.1: three packets with higher numbers make a loss.
#[test]
fn the_third_higher_packet_makes_the_loss() {
    let mut history = History::new(Rule::Time, None);
    assert_eq!(feed(&mut history, [0, 1, 3, 4]), 0);
    assert_eq!(history.skip(), 3);
    assert_eq!(feed(&mut history, [5]), 1);
    assert_eq!(history.skip(), 0);
    assert_eq!(sizes(&history)[0], LossInterval { lossless: 3, lossy: 1, data: 4, dropped: 1 });
}

#[test]
fn a_packet_that_comes_in_time_is_no_loss() {
    let mut history = History::new(Rule::Time, None);
    assert_eq!(feed(&mut history, [0, 1, 3, 4, 2, 5, 6, 7]), 0);
    assert_eq!(history.p(View::default()), 0.0);
}

/// RFC 5348, section 5.1: a late packet fills the hole, and p is computed again.
#[test]
fn a_late_packet_undoes_the_event() {
    let mut history = History::new(Rule::Time, None);
    feed(&mut history, [0, 1, 3, 4, 5]);
    history.seed(40.0);
    assert!((history.p(View::default()) - 1.0 / 40.0).abs() < 1e-12);
    let change = history.arrive(counted(2), RTT);
    assert!(change.filled && !change.began);
    assert_eq!(history.p(View::default()), 0.0);
    assert_eq!(history.events_so_far(), 0);
    assert!(history.arrive(counted(2), RTT).old, "a duplicate");
}

/// Of an event with two losses the first one comes late: the event begins at the second.
#[test]
fn a_late_packet_moves_the_start_of_its_event() {
    let mut history = History::new(Rule::Time, None);
    feed(&mut history, [0, 1, 3, 5, 6, 7]);
    history.seed(10.0);
    assert_eq!(sizes(&history)[0], LossInterval { lossless: 3, lossy: 3, data: 6, dropped: 2 });
    assert!(history.arrive(counted(2), RTT).filled);
    assert_eq!(sizes(&history)[0], LossInterval { lossless: 3, lossy: 1, data: 4, dropped: 1 });
}

/// RFC 5348, section 5.1: a mark is a congestion event at once, and so is what is missing below, if
/// the packet with the mark comes late itself. Of 2 to 59 one event.
#[test]
fn a_late_mark_gives_up_what_is_missing_below() {
    let mut history = History::new(Rule::Time, None);
    feed(&mut history, [0, 1, 4]);
    let change = history.arrive(Arrival { at: at(41), marked: true, ..counted(3) }, RTT);
    assert!(change.began && !change.filled);
    assert_eq!(feed(&mut history, 5..60), 0);
    assert_eq!((history.skip(), history.events_so_far()), (0, 1));
    let interval = LossInterval { lossless: 56, lossy: 2, data: 58, dropped: 2 };
    assert_eq!(sizes(&history)[0], interval);
}

/// RFC 5348, section 5.2: S_loss between S_before and S_after in proportion.
#[test]
fn times_of_loss_are_interpolated() {
    let hole = Hole::between(6, 9, packet(5, 100), packet(10, 200), 0);
    assert_eq!(hole.nominal(6), at(120));
    assert_eq!(hole.nominal(9), at(180));
    assert_eq!(hole.first_later_than(at(120), 6), Some(7));
    assert_eq!(hole.first_later_than(at(180), 6), None);
}

/// RFC 5348, section 5.2: T_old + R >= T_new is the same event.
#[test]
fn losses_within_a_round_trip_are_one_event() {
    let lost = |second: u64| {
        let mut history = History::new(Rule::Time, None);
        let all = (0..60).filter(|seq| *seq != 20 && *seq != second);
        feed(&mut history, all);
        history.events_so_far()
    };
    assert_eq!(lost(30), 1, "exactly R later");
    assert_eq!(lost(31), 2);
}

/// RFC 5348, section 5.3: S_B - S_A, and S_C - S_A + 1 for the open interval.
#[test]
fn interval_lengths_are_differences_of_first_losses() {
    let mut history = History::new(Rule::Time, None);
    feed(&mut history, (0..200).filter(|seq| ![20, 22, 60, 130].contains(seq)));
    history.seed(7.0);
    let lengths: Vec<u64> = sizes(&history).iter().map(|interval| interval.data).collect();
    assert_eq!(lengths, [70, 70, 40, 7]);
    // (70 + 40 + 7)/3 without the open interval, (70 + 70 + 40)/3 with it.
    assert!((history.p(View::default()) - 1.0 / 60.0).abs() < 1e-12);
}

/// RFC 5348, section 5.3: an interval of a single marked packet has the length 1.
#[test]
fn a_mark_counts_at_once_and_begins_with_the_loss_before_it() {
    let mut history = History::new(Rule::Time, None);
    feed(&mut history, 0..10);
    let marked = Arrival { marked: true, ..counted(10) };
    let change = history.arrive(marked, RTT);
    assert!(change.began && change.first);
    assert_eq!(sizes(&history)[0].data, 1);

    let mut history = History::new(Rule::Time, None);
    feed(&mut history, [0, 1, 3]);
    assert!(history.arrive(Arrival { marked: true, ..counted(4) }, RTT).began);
    assert_eq!(sizes(&history)[0], LossInterval { lossless: 0, lossy: 3, data: 3, dropped: 2 });
}

#[test]
fn a_late_packet_with_a_mark_stays_a_loss() {
    let mut history = History::new(Rule::Time, None);
    feed(&mut history, [0, 1, 3, 4, 5]);
    assert!(history.arrive(Arrival { marked: true, ..counted(2) }, RTT).filled);
    assert_eq!(history.events_so_far(), 1);
    assert_eq!(sizes(&history)[0].dropped, 1);
}

/// Otsuka et al., section 4.3: a run of losses is one event with CCID 3, however long it is
/// (RFC 4342, section 10.2), while times of arrival make an event of each round trip.
#[test]
fn a_gap_is_one_event_by_counters_and_many_by_time() {
    for lost in [30, 100, 200] {
        let gap = |rule| {
            let mut history = History::new(rule, None);
            feed(&mut history, (0..100).chain(100 + lost..200 + lost));
            history.events_so_far()
        };
        assert_eq!(gap(Rule::Counter), 1, "{lost} lost");
        // Each event takes 11 packets: the first later than 100 ms after its start.
        assert_eq!(gap(Rule::Time), lost.div_ceil(11), "{lost} lost");
    }
}

/// Only the events that are remembered are told of a very long gap.
#[test]
fn a_very_long_gap_costs_no_more() {
    let mut history = History::new(Rule::Time, None);
    feed(&mut history, (0..100).chain(1_000_000_000..1_000_000_010));
    assert!(history.events_so_far() < 30);
    let mut into = [LossInterval::default(); 9];
    assert_eq!(history.intervals(&mut into), 9);
    assert!(into[1..].iter().all(|interval| interval.data == 11), "{into:?}");
}

/// The gap stays in the interval it began: a run of 400 makes one long interval.
#[test]
fn a_gap_makes_the_interval_long() {
    let mut history = History::new(Rule::Counter, None);
    feed(&mut history, (0..100).chain(500..600));
    history.seed(100.0);
    assert_eq!(
        sizes(&history)[0],
        LossInterval { lossless: 100, lossy: 400, data: 500, dropped: 400 }
    );
    assert!((history.p(View::default()) - 1.0 / 500.0).abs() < 1e-12);
}

/// RFC 4342, section 10.2: more than four counters apart are different events.
#[test]
fn counters_tell_events_apart() {
    let events = |counters: [u8; 8]| {
        let mut history = History::new(Rule::Counter, None);
        let seqs = [0, 2, 3, 4, 6, 7, 8, 9];
        for (seq, counter) in seqs.into_iter().zip(counters) {
            history.arrive(Arrival { counter, ..packet(seq, seq) }, RTT);
        }
        history.events_so_far()
    };
    assert_eq!(events([0, 1, 2, 4, 4, 4, 4, 4]), 1, "C(S) - C(X_prev) = 4");
    assert_eq!(events([0, 1, 2, 5, 5, 5, 5, 5]), 2, "5");
    assert_eq!(events([13, 14, 15, 2, 2, 2, 2, 2]), 2, "over the edge: 13 to 18");
    assert_eq!(events([13, 14, 15, 1, 1, 1, 1, 1]), 1, "13 to 17");
    // The counter is ahead only after the second loss: nothing arrived between that tells.
    assert_eq!(events([0, 1, 2, 3, 9, 9, 9, 9]), 1);
}

#[test]
fn losses_of_a_handover_are_left_out() {
    let mut history = History::new(Rule::Counter, None);
    feed(&mut history, (0..300).filter(|seq| ![50, 150, 250].contains(seq)));
    history.seed(80.0);
    let before = history.p(View::default());
    history.leave_out(Some(Blind { from: at(2_990), until: at(7_000), through: None }));
    assert_eq!(feed(&mut history, 700..710), 0);
    assert_eq!(sizes(&history)[0].data, 50 + 10, "the gap is no part of the interval");
    assert_eq!(history.p(View::default()), before);
    assert_eq!(feed(&mut history, (710..800).filter(|seq| *seq != 760)), 1, "after it");
}

/// What was queued before the end of the handover arrives after it; the hole behind that was
/// dropped before the end all the same.
#[test]
fn losses_up_to_the_last_packet_sent_before_the_end_are_left_out() {
    let mut history = History::new(Rule::Counter, None);
    feed(&mut history, 0..100);
    history.leave_out(Some(Blind { from: at(1_000), until: at(3_000), through: Some(300) }));
    for seq in (100..150).chain(301..310) {
        history.arrive(packet(seq, 3_001 + seq), RTT);
    }
    assert_eq!(history.events_so_far(), 0);
}

#[test]
fn forgetting_leaves_no_loss_rate() {
    let mut history = History::new(Rule::Counter, Some(0.25));
    feed(&mut history, (0..300).filter(|seq| seq % 40 != 39));
    history.seed(30.0);
    assert!(history.p(View::default()) > 0.0);
    history.forget_events();
    assert_eq!(history.p(View::default()), 0.0);
    assert!(history.arrive(counted(79), RTT).old);
    assert_eq!(feed(&mut history, [300, 302, 303, 304]), 1);
    assert_eq!(sizes(&history).len(), 1, "the first interval waits for its seed");
}

/// DF of an interval of 500 among 100s is 0.4 (RFC 5348, section 5.5); when it closes, the
/// factors of the older intervals become 0.4 and it keeps 1 itself.
#[test]
fn discounts_are_kept_when_the_interval_closes() {
    let mut history = History::new(Rule::Time, Some(0.25));
    let losses = (0..9).map(|k| 100 * (k + 1)).chain([1_400]).collect::<Vec<u64>>();
    feed(&mut history, (0..1_410).filter(|seq| !losses.contains(seq)));
    let mut into = [Weighed { packets: 0.0, discount: 1.0 }; N + 1];
    let count = history.events.weigh(1_409, None, &mut into);
    assert_eq!(count, N + 1);
    assert_eq!(into[1], Weighed { packets: 500.0, discount: 1.0 });
    for older in &into[2..] {
        assert_eq!(older.packets, 100.0);
        assert!((older.discount - 0.4).abs() < 1e-12, "{older:?}");
    }
}

/// Counts events of in-order arrivals as section 5.2 has it, from the list of lost packets.
fn events_by_hand(lost: &[u64]) -> u64 {
    let mut events = 0;
    let mut start = None;
    for seq in lost {
        if start.is_none_or(|start: u64| seq - start > 10) {
            start = Some(*seq);
            events += 1;
        }
    }
    events
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn events_are_those_of_the_list(lost in proptest::collection::btree_set(1u64..390, 0..60)) {
        let mut history = History::new(Rule::Time, None);
        feed(&mut history, (0..400).filter(|seq| !lost.contains(seq)));
        let lost: Vec<u64> = lost.into_iter().collect();
        prop_assert_eq!(history.events_so_far(), events_by_hand(&lost));
    }

    /// Arrivals swapped with a neighbour are never more than one packet late: no loss.
    #[test]
    fn slight_reordering_is_no_loss(swaps in proptest::collection::vec(any::<bool>(), 100)) {
        let mut order: Vec<u64> = (0..200).collect();
        for (pair, swap) in swaps.into_iter().enumerate().skip(1) {
            if swap {
                order.swap(2 * pair, 2 * pair + 1);
            }
        }
        for rule in [Rule::Time, Rule::Counter] {
            let mut history = History::new(rule, Some(0.25));
            prop_assert_eq!(feed(&mut history, order.iter().copied()), 0);
        }
    }

    /// Whatever comes late, once all has come there was no loss; duplicates change nothing.
    #[test]
    fn losses_that_come_after_all_leave_nothing(
        late in proptest::collection::btree_set(1u64..130, 1..30), counters: bool,
    ) {
        let rule = if counters { Rule::Counter } else { Rule::Time };
        let mut history = History::new(rule, Some(0.25));
        feed(&mut history, (0..200).filter(|seq| !late.contains(seq)));
        history.seed(50.0);
        prop_assert!(history.p(View::default()) > 0.0);
        let p = history.p(View::default());
        for seq in (0..200).filter(|seq| !late.contains(seq)) {
            prop_assert!(history.arrive(counted(seq), RTT).old);
        }
        prop_assert_eq!(history.p(View::default()), p);
        for seq in &late {
            prop_assert!(history.arrive(counted(*seq), RTT).filled);
        }
        prop_assert_eq!(history.p(View::default()), 0.0);
        prop_assert_eq!(history.events_so_far(), 0);
    }

    /// Nothing panics, memory is bounded and p is a probability, whatever arrives.
    #[test]
    fn any_arrivals_are_survived(
        arrivals in proptest::collection::vec(
            (0u64..2_000, 0u64..5, 0u8..16, proptest::bool::weighted(0.05), any::<bool>()), 1..300,
        ),
        counters: bool,
    ) {
        let rule = if counters { Rule::Counter } else { Rule::Time };
        let mut history = History::new(rule, Some(0.25));
        let mut now = Instant::ZERO;
        for (seq, wait, counter, marked, data) in arrivals {
            now += Duration::from_millis(wait * 30);
            let change = history.arrive(Arrival { seq, at: now, counter, marked, data }, RTT);
            if change.first {
                history.seed(20.0);
            }
            let p = history.p(View::default());
            prop_assert!((0.0..=1.0).contains(&p), "p = {p}");
            prop_assert!(history.skip() <= 3);
            let mut into = [LossInterval::default(); 9];
            let count = history.intervals(&mut into);
            prop_assert!(into[..count].iter().skip(1).all(|i| i.lossy > 0 || i.dropped == 0));
        }
    }
}
