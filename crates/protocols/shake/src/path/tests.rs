//! What a path knows, by hand.

use super::*;
use crate::{Profile, Uncoupled};

fn path() -> Path {
    path_with(u32::MAX)
}

/// Ten segments of 1000 bytes in flight, which is the window.
fn path_with(initial_ssthresh: u32) -> Path {
    let modern = Profile::Modern.config();
    let config = Config { initial_window: 10_000, initial_ssthresh, mss: 1000, ..modern };
    let mut path = Path::new(1, State::Up, None, &config);
    (0..10).for_each(|n| {
        path.take_number();
        path.launch(ms(n), 1000 * n, 1000);
    });
    path
}

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn lost(path: &mut Path, now: Instant) -> Vec<u64> {
    let mut lost = Vec::new();
    path.find_lost(now, 3, &mut lost);
    lost.iter().map(|flight| flight.number).collect()
}

/// Messages 1 and 2 are three behind the echo of 5; 3 and 4 wait for 9/8 of 100 ms.
#[test]
fn three_later_messages_or_time_tell_a_loss() {
    let mut path = path();
    let flight = path.echo(ms(104), 5).unwrap();
    assert_eq!((flight.seq, path.flight()), (4000, 9000));
    path.rtt.sample(Instant::ZERO, Duration::from_millis(100));
    assert_eq!(lost(&mut path, ms(104)), [1, 2]);
    assert_eq!(
        (path.flight(), path.loss_at()),
        (7000, Some(ms(2) + Duration::from_micros(112_500)))
    );
    assert_eq!(lost(&mut path, ms(115)), [3]);
    assert_eq!(lost(&mut path, ms(116)), [4]);
    assert_eq!(path.loss_at(), None, "what is later than the echo is not known");
    assert_eq!(path.echo(ms(117), 4), None, "it was given up");
}

/// Losses 1 and 2 belong to the flight that ends slow start, which does not count, 11 to the next.
/// A path at rest forgets half in 8 s.
#[test]
fn losses_within_a_flight_are_one_event_and_are_forgotten() {
    let mut path = path();
    path.echo(ms(104), 5);
    assert_eq!(lost(&mut path, ms(104)), [1, 2]);
    assert_eq!(lost(&mut path, ms(1200)), [3, 4], "they were sent before the first was missed");
    for n in 10..14 {
        path.take_number();
        path.launch(ms(1300 + n), 1000 * n, 1000);
    }
    path.echo(ms(1400), 14);
    assert_eq!(lost(&mut path, ms(1400)), [6, 7, 8, 9, 10, 11]);
    let known = |view: PathView| (view.sent, view.lost, view.loss_events);
    assert_eq!(known(path.view(ms(1400))), (14, 10, 1));
    assert_eq!(known(path.view(ms(9313))), (7, 5, 0));
    path.take_number();
    path.launch(ms(17_313), 14_000, 1000);
    assert_eq!(known(path.view(ms(17_313))), (4, 2, 0));
}

/// The memory of what was sent is halved while it is in flight: then it is all lost.
#[test]
fn more_can_be_lost_than_counts_as_sent() {
    let mut path = path();
    for n in 10..1025 {
        path.take_number();
        path.launch(ms(n), 1000 * n, 1000);
    }
    path.lose_all(&mut Vec::new());
    let view = path.view(ms(1025));
    assert!(view.sent < view.lost && view.lost == 1025, "{} of {}", view.lost, view.sent);
}

#[test]
fn a_window_is_cut_once_for_losses_of_one_flight() {
    let mut path = path();
    path.cut(3, 5000);
    assert_eq!((path.cwnd(), path.ssthresh()), (5000, 5000));
    path.cut(10, 2500);
    assert_eq!(path.cwnd(), 5000, "sent before the cut");
    path.take_number();
    path.cut(11, 500);
    assert_eq!(path.cwnd(), 2000, "two segments at least");
}

#[test]
fn a_timeout_leaves_one_segment_and_backs_off() {
    let mut path = path();
    let rto = path.rtt.rto();
    let mut given_up = Vec::new();
    path.lose_all(&mut given_up);
    path.time_out(10_000);
    assert_eq!((given_up.len(), path.flight()), (10, 0));
    assert_eq!((path.cwnd(), path.ssthresh()), (1000, 5000));
    assert_eq!(path.rtt.rto(), rto * 2);
    path.time_out(1000);
    assert_eq!(path.ssthresh(), 5000, "lowered by the first timeout only");
    path.revive();
    assert_eq!(path.cwnd(), 10_000);
}

#[test]
fn windows_grow_while_they_limit() {
    // A window of 10 000 bytes, for one of ten segments whose acknowledgement leaves `flight`.
    let grown = |flight: u32, ssthresh: u32| {
        let mut path = path_with(ssthresh);
        let last = u64::from((10_000 - flight) / 1000);
        for number in 1..=last {
            path.discard_acked();
            assert!(path.acknowledge(ms(100), number, true).is_some());
        }
        let windows = [path.window()];
        assert_eq!((path.flight(), path.cwnd()), (flight, 10_000));
        path.grow(&Uncoupled, 0, &windows, true);
        path.cwnd()
    };
    assert_eq!(grown(9_000, u32::MAX), 11_000);
    assert_eq!(grown(3_000, u32::MAX), 10_000, "four of ten segments");
    assert_eq!(grown(9_000, 10_000), 10_100, "1000 * 1000 / 10000");
    assert_eq!(grown(6_000, 10_000), 10_000);
}

/// 1000 of 10000 bytes at 100 ms: 5 ms in slow start, 8 ms after it; ten at once after a pause.
#[test]
fn pacing_spreads_a_window() {
    let mut path = path();
    path.pace(ms(1_000), 1000);
    assert_eq!(path.ready_at(), Instant::ZERO, "nothing is known of the path yet");
    path.rtt.sample(Instant::ZERO, Duration::from_millis(100));
    let sent_at_once = |path: &mut Path, now: Instant| {
        let paced = (0..50).take_while(|_| {
            let is_ready = path.view(now).is_ready;
            path.pace(now, if is_ready { 1000 } else { 0 });
            is_ready
        });
        paced.count()
    };
    assert_eq!(sent_at_once(&mut path, ms(1_000)), 11);
    assert_eq!(path.ready_at(), ms(1_005));
    path.cut(1, path.cwnd());
    assert_eq!(sent_at_once(&mut path, ms(1_005)), 1);
    assert_eq!(path.ready_at(), ms(1_013));
}

/// Another path tells after 40 ms what the own echo tells after 60. The window of ten segments goes
/// round in 40 ms; at 5/4 of that rate they are 3.2 ms apart, and ten may go after a pause.
#[test]
fn pacing_follows_the_turn_of_the_window() {
    let mut path = path_with(5_000);
    path.rtt.sample(Instant::ZERO, Duration::from_millis(60));
    for n in 0..10 {
        assert!(path.acknowledge(ms(n + 40), n + 1, true).is_some());
    }
    path.pace(ms(1000), 1000);
    assert_eq!(path.ready_at(), ms(1000) - Duration::from_micros(9 * 3_200));
}

/// 20 ms, then (7 * 20 + 660) / 8 = 100 ms smoothed: of the window as much flies as passes in two
/// least round-trip times, 40 % of it.
fn behind_a_queue() -> Path {
    let mut path = path();
    for rtt in [20, 660] {
        path.rtt.sample(Instant::ZERO, Duration::from_millis(rtt));
    }
    assert_eq!(path.rtt.srtt(), Some(Duration::from_millis(100)));
    path
}

#[test]
fn a_deep_queue_is_not_filled() {
    let mut path = behind_a_queue();
    assert_eq!((path.view(ms(50)).cwnd, path.cwnd()), (4_000, 10_000));
    path.acknowledge(ms(50), 1, true);
    path.grow(&Uncoupled, 0, &[path.window()], true);
    assert_eq!(
        (path.cwnd(), path.ssthresh()),
        (2_000, 2_000),
        "a round trip ago it was half as wide"
    );
    assert_eq!(path.window.credit(), 0);
    path.acknowledge(ms(51), 2, true);
    path.grow(&Uncoupled, 0, &[path.window()], true);
    assert_eq!(
        (path.cwnd(), path.window.credit()),
        (2_000, 0),
        "nor does it grow while the queue is there"
    );
}

/// The round trip takes 0.1 ms once, and 5 ms after that: a processor is busy, not a queue deep.
/// Of a window with which it takes 25 ms, the data of 0.1 + 10 ms may be in flight.
#[test]
fn milliseconds_of_a_busy_processor_do_not_bound_a_short_path() {
    let mut path = path();
    path.rtt.sample(ms(1), Duration::from_micros(100));
    (0..100).for_each(|n| _ = path.rtt.sample(ms(2 + n), Duration::from_millis(5)));
    assert_eq!((path.usable(), path.cwnd()), (10_000, 10_000));
    (0..200).for_each(|n| _ = path.rtt.sample(ms(102 + n), Duration::from_millis(25)));
    assert_eq!(path.usable(), 4_040);
}

#[test]
fn a_path_that_rested_has_no_queue() {
    let mut path = behind_a_queue();
    for n in 0..10 {
        path.acknowledge(ms(200), n + 1, true);
    }
    let srtt = |path: &Path, at: u64| path.view(ms(at)).srtt.as_millis();
    assert_eq!((srtt(&path, 299), srtt(&path, 300)), (100, 20));
    let rto = path.rtt.rto();
    path.take_number();
    path.launch(ms(300), 10_000, 1000);
    assert_eq!((path.cwnd(), path.view(ms(300)).cwnd, srtt(&path, 300)), (4_000, 4_000, 20));
    assert!(path.rtt.rto() + Duration::from_millis(80) >= rto, "the deviation remains");
    path.lose_all(&mut Vec::new());
    assert_eq!(path.flights.quiet_since(), None, "what was given up says nothing of the queue");
}

/// One that is never echoed keeps no others.
#[test]
fn what_is_behind_a_message_without_echo_is_forgotten() {
    let mut path = path();
    (2..=10).for_each(|number| assert!(path.acknowledge(ms(40), number, true).is_some()));
    for n in 0..1000 {
        let number = path.take_number().get();
        path.launch(ms(50 + n), 1000 * number, 1000);
        assert!(path.acknowledge(ms(50 + n), number, true).is_some());
        let kept = path.flights.kept();
        assert!(kept <= 2 + Flights::MAX_KNOWN + 1, "{kept} after {n}");
    }
    assert!(path.echo(ms(2_000), 1).is_some(), "it is still waited for");
    assert_eq!((path.flight(), path.flights.kept()), (0, 0));
}
