//! Retransmission, persist and give-up timers; idle restart.

use crate::script::{Script, config, numbers};
use fairwave_tcp::{Config, Event};

/// RFC 6298 sections (5.4) to (5.6), RFC 5681 section 3.1: the timer doubles, the window is one
/// segment, and ssthresh falls once.
#[test]
fn a_timeout_backs_off_and_goes_back() {
    let (mut script, _) = Script::sending(config(), "newreno", 40);
    let sent = script.after(7_500);
    let at: Vec<u64> = sent.iter().map(|(at, _)| *at).collect();
    assert_eq!(at, [1_100, 3_100, 7_100]);
    assert!(sent.iter().all(|(_, s)| numbers(std::slice::from_ref(s)) == [0]));
    assert_eq!((script.window_segments(), script.ssthresh_segments()), (1, 5));
    let timeouts = [Event::Timeout(1), Event::Timeout(2), Event::Timeout(3)];
    assert_eq!(script.events[script.events.len() - 3..], timeouts);
    // Slow start again, over what was outstanding.
    assert_eq!(script.ack(1), [1, 2]);
    assert_eq!(script.ack(3), [3, 4, 5]);
    // The receiver had the rest.
    assert_eq!(script.ack(10)[0], 10);
}

/// RFC 6298 section 3 (Karn): no sample from what was sent twice, so back-off stays.
#[test]
fn an_ambiguous_ack_gives_no_sample() {
    let (mut script, _) = Script::sending(config(), "newreno", 1);
    let before = script.end.stats().srtt;
    script.after(1_000);
    script.after(500);
    script.ack(1);
    assert_eq!((script.end.stats().srtt, script.end.stats().rto.as_millis()), (before, 2_000));
    script.write(1);
    script.after(100);
    script.ack(2);
    assert_eq!(script.end.stats().rto.as_millis(), 1_000);
}

/// RFC 9293 section 3.8.3: silence ends the connection.
#[test]
fn a_silent_peer_is_given_up() {
    let (mut script, _) = Script::sending(Config { max_retries: 3, ..config() }, "newreno", 1);
    script.after(1_000_000);
    assert_eq!(script.end.stats().timeouts, 4);
    assert_eq!(script.events.last(), Some(&Event::TimedOut));
}

/// RFC 9293 section 3.8.6.1: a closed window is probed with one byte, for as long as the peer
/// answers, and no congestion is inferred.
#[test]
fn a_closed_window_is_probed() {
    let (mut script, _) = Script::sending(config(), "newreno", 10);
    script.window = 0;
    script.ack(10);
    assert_eq!(script.write(2), []);
    let probes = script.after(3_500);
    assert_eq!(
        probes.iter().map(|(at, s)| (*at, s.payload.0)).collect::<Vec<_>>(),
        [(1_100, 1), (3_100, 1)]
    );
    assert_eq!(script.ack(10), []);
    script.window = 60_000;
    let cwnd = script.end.stats().cwnd;
    assert_eq!(script.ack(10), [10, 10, 11]);
    assert_eq!((script.end.stats().cwnd, script.end.stats().timeouts), (cwnd, 0));
}

/// RFC 9293 section 3.8.6.2.1: less than a segment, and less than half the largest window, is
/// not worth a segment.
#[test]
fn a_silly_window_is_not_used() {
    let (mut script, _) = Script::sending(config(), "newreno", 10);
    script.window = 400;
    script.ack(10);
    assert_eq!(script.write(2), []);
    script.window = 1_500;
    assert_eq!(script.ack(10), [10]);
}

/// RFC 5681 section 4.1 means the time that the path takes. A timeout's back-off, which Karn's
/// rule keeps until there is a sample, says nothing of that.
#[test]
fn idleness_is_measured_without_back_off() {
    let two = Config { initial_window_segments: 2, ..config() };
    let (mut script, _) = Script::sending(two, "newreno", 10);
    for n in 1..5 {
        script.ack(n);
    }
    script.after(1_000);
    assert_eq!(script.end.stats().timeouts, 1);
    // Every ACK covers something that was sent twice, so that there is no sample.
    for n in 5..=10 {
        script.ack(n);
    }
    assert_eq!((script.end.stats().rto.as_millis(), script.window_segments()), (2_000, 4));
    script.after(1_500);
    assert_eq!(script.write(5), [10, 11]);
}

/// RFC 5681 section 4.1: after an RTO of idleness the window is at most the initial one.
#[test]
fn idleness_restarts_slow_start() {
    let (mut script, _) = Script::sending(config(), "newreno", 10);
    script.ack(10);
    script.write(20);
    script.ack(21);
    script.ack(30);
    assert!(script.window_segments() > 10);
    script.after(5_000);
    assert_eq!(script.write(40).len(), 10);
}
