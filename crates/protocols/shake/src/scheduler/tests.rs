//! Choices by hand.

use super::*;

fn path(id: u8, cwnd: u32, flight: u32, ms: u64) -> PathView {
    PathView {
        id,
        cwnd,
        quota: u32::MAX,
        flight,
        is_ready: true,
        in_slow_start: false,
        srtt: Duration::from_millis(ms),
        min_rtt: Duration::from_millis(ms),
        rttvar: Duration::ZERO,
        nominal: None,
        sent: 0,
        lost: 0,
        loss_events: 0,
    }
}

fn job(window: u64) -> Job {
    Job { len: 1000, waiting: 1_000_000, window }
}

/// The run of the paper's Fig. 4(a): four segments, then two, lowest numbers on the widest.
#[test]
fn the_widest_path_gets_its_run_first() {
    let mut paths = [path(1, 2000, 0, 10), path(2, 4000, 0, 10)];
    let mut order = Vec::new();
    while let Some(picked) = Widest.pick(&job(1 << 20), &paths) {
        paths[picked].flight += 1000;
        order.push(paths[picked].id);
    }
    assert_eq!(order, [2, 2, 2, 2, 1, 1]);
}

#[test]
fn ties_go_to_bandwidth_then_rtt_then_the_first() {
    let mut paths = [path(1, 2000, 0, 20), path(2, 2000, 0, 10), path(3, 2000, 0, 10)];
    assert_eq!(Widest.pick(&job(1 << 20), &paths), Some(1));
    paths[0].nominal = Some(BitRate::mbps(100));
    assert_eq!(Widest.pick(&job(1 << 20), &paths), Some(0));
}

#[test]
fn an_idle_path_takes_a_segment_larger_than_its_window() {
    assert_eq!(MinRtt.pick(&job(1 << 20), &[path(1, 500, 0, 10)]), Some(0));
    assert_eq!(MinRtt.pick(&job(1 << 20), &[path(1, 1500, 1000, 10)]), None);
}

#[test]
fn round_robin_goes_round_those_with_room() {
    let paths = [path(1, 9000, 0, 10), path(5, 1000, 1000, 10), path(9, 9000, 0, 99)];
    let mut rule = RoundRobin::default();
    let order: Vec<_> = (0..4).map(|_| rule.pick(&job(1 << 20), &paths)).collect();
    assert_eq!(order, [Some(0), Some(2), Some(0), Some(2)]);
}

/// A full path of 10 segments and 10 ms beside an empty one of 30 ms: in that time the fast one
/// sends 30 segments, in slow start 60.
#[test]
fn blest_keeps_the_window_for_the_fast_path() {
    let mut paths = [path(1, 10_000, 10_000, 10), path(2, 10_000, 0, 30)];
    assert_eq!(Blest.pick(&job(31_000), &paths), Some(1));
    assert_eq!(Blest.pick(&job(30_999), &paths), None);
    let few = Job { waiting: 5_000, ..job(6_000) };
    assert_eq!(Blest.pick(&few, &paths), Some(1), "the fast path has no more to send");
    paths[0].in_slow_start = true;
    assert_eq!(Blest.pick(&job(60_999), &paths), None);
    assert_eq!(Blest.pick(&job(61_000), &paths), Some(1));
}

/// A slow path of 30 ms, 45 ms with what it has in its own queue, beside a fast one that sends 30
/// and 45 segments meanwhile: with a window for 30 it gets two thirds of its own.
#[test]
fn blest_gives_a_slow_path_what_does_not_queue() {
    let mut paths = [path(1, 10_000, 10_000, 10), path(2, 15_000, 0, 45)];
    paths[1].min_rtt = Duration::from_millis(30);
    let mut picked = |flight, window| {
        paths[1].flight = flight;
        Blest.pick(&job(window), &paths)
    };
    assert_eq!(picked(14_000, 46_000), Some(1));
    assert_eq!(picked(9_000, 31_000), Some(1));
    assert_eq!(picked(9_001, 31_000), None);
    assert_eq!(picked(0, 30_999), None, "not even without a queue");
}

/// Echoed times are the peer's word.
#[test]
fn extreme_times_do_not_overflow() {
    let mut paths =
        [path(1, 3_000_000, 3_000_000, 0), path(2, 3_000_000, 3_000_000, 0), path(3, 14_000, 0, 0)];
    let longest = Duration::from_nanos(u64::MAX);
    (paths[2].srtt, paths[2].min_rtt) = (longest, longest);
    assert_eq!(Blest.pick(&job(100_000), &paths), None);
    (paths[0].loss_events, paths[2].loss_events) = (1, u32::MAX);
    assert_eq!(Blest.pick(&job(100_000), &paths), None);
}

/// 20 Mbps at 20 ms beside 8 Mbps at 20 ms that loses: until what was lost there has been sent
/// again over the other one, 42.5 ms, the other sends 106,250 bytes. With 100,000 bytes of window
/// it is kept from 7250 bytes by each loss event.
#[test]
fn blest_spares_the_others_a_lossy_path() {
    let mut paths = [path(1, 50_000, 50_000, 20), path(2, 20_000, 0, 20)];
    let mut picked = |sent, loss_events, window| {
        (paths[1].sent, paths[1].loss_events) = (sent, loss_events);
        Blest.pick(&job(window), &paths)
    };
    assert_eq!(picked(8 * 100 - 16, 100, 100_000), None, "one in eight is more than it brings");
    assert_eq!(picked(9 * 100 - 16, 100, 100_000), Some(1), "one in nine is not");
    assert_eq!(picked(84, 100, 107_250), Some(1), "nobody waits");
    assert_eq!(picked(100_000, 1, 50_001), Some(1), "one in a hundred thousand");
    assert_eq!(picked(100_000, 1, 50_000), None, "the other fills the window alone");
    paths[1].cwnd = 60_000;
    assert_eq!(Blest.pick(&job(50_000), &paths), Some(1), "the widest path is always used");
}

/// What a lossy path is not given does not count as what faster paths send.
#[test]
fn blest_goes_past_a_lossy_path_to_a_slower_one() {
    let mut paths = [path(1, 10_000, 0, 10), path(2, 50_000, 0, 40)];
    assert_eq!(Blest.pick(&job(30_000), &paths), Some(0));
    (paths[0].sent, paths[0].loss_events) = (50, 10);
    assert_eq!(Blest.pick(&job(30_000), &paths), Some(1));
}

/// 5 segments wait. The fast path (10 segments, 10 ms) is done after two rounds, 20 ms at most; a
/// slow one of 15 ms is earlier, one of 90 ms is not.
#[test]
fn ecf_waits_where_waiting_is_faster() {
    let few = Job { waiting: 5_000, ..job(1 << 20) };
    let paths = |ms| [path(1, 10_000, 10_000, 10), path(2, 10_000, 0, ms)];
    assert_eq!(Ecf::default().pick(&few, &paths(15)), Some(1));
    assert_eq!(Ecf::default().pick(&few, &paths(90)), None);
    let many = Job { waiting: 200_000, ..few };
    assert_eq!(Ecf::default().pick(&many, &paths(90)), Some(1), "more than both can hold");
}

/// It is asked about paths that have something left to carry.
#[test]
fn redundant_goes_on_with_the_fastest_that_has_room() {
    let mut paths = [path(1, 9000, 0, 30), path(2, 9000, 9000, 10), path(3, 9000, 0, 20)];
    assert!(Redundant.is_redundant() && !Blest.is_redundant());
    assert_eq!(Redundant.pick(&job(0), &paths), Some(2), "whatever the receive window");
    paths[1].flight = 0;
    assert_eq!(Redundant.pick(&job(0), &paths), Some(1));
    paths.iter_mut().for_each(|path| path.flight = 9000);
    assert_eq!(Redundant.pick(&job(0), &paths), None);
}

#[test]
fn each_policy_of_retransmission_has_its_path() {
    let mut paths =
        [path(1, 4000, 0, 40), path(2, 9000, 0, 50), path(3, 2000, 0, 30), path(4, 2000, 0, 10)];
    paths[0].nominal = Some(BitRate::mbps(1000));
    // 10 ms with three of four lost is worse than 30 ms without loss.
    (paths[3].sent, paths[3].lost) = (99, 75);
    let pick = |policy: RetransmissionPath| policy.pick(1000, 3, false, &paths);
    assert_eq!(pick(RetransmissionPath::Widest), Some(0));
    assert_eq!(pick(RetransmissionPath::Same), Some(2));
    assert_eq!(pick(RetransmissionPath::LargestWindow), Some(1));
    assert_eq!(pick(RetransmissionPath::MinRtt), Some(3));
    assert_eq!(pick(RetransmissionPath::MinRttOverDelivery), Some(2));
    paths[1].flight = 9000;
    assert_eq!(RetransmissionPath::LargestWindow.pick(1000, 3, false, &paths), None);
    assert_eq!(RetransmissionPath::LargestWindow.pick(1000, 3, true, &paths), Some(0));
}
