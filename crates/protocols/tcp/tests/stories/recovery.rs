//! Slow start, fast retransmit and fast recovery without SACK.

use crate::script::{Script, config};
use fairwave_cc::TcpAvConfig;
use fairwave_tcp::{Config, Event};
use fairwave_units::BitRate;

/// RFC 5681 section 3.1: a segment more for every segment acknowledged.
#[test]
fn slow_start_doubles_each_round() {
    let two = Config { initial_window_segments: 2, ..config() };
    let (mut script, sent) = Script::sending(two, "newreno", 40);
    assert_eq!(sent, [0, 1]);
    assert_eq!(script.ack(1), [2, 3]);
    assert_eq!(script.ack(2), [4, 5]);
    assert_eq!(script.window_segments(), 4);
}

/// RFC 5681 section 3.2 steps 1 to 4, RFC 6582 section 3.2 with two losses (0 and 4) in a
/// window of ten. Limited transmit sends 10 and 11, which FlightSize does not count.
#[test]
fn newreno_repairs_two_losses_in_one_recovery() {
    let mut script = until_third_duplicate("newreno");
    // Seven more duplicates inflate to 15: twelve are outstanding, so 12, 13, 14 may leave.
    for _ in 0..4 {
        assert_eq!(script.ack(0), []);
    }
    assert_eq!(script.window_segments(), 12);
    for n in 12..15 {
        assert_eq!(script.ack(0), [n]);
    }
    // A partial ACK of four: inflation 10 - 4 + 1 = 7; 11 outstanding, so one more may leave.
    assert_eq!(script.ack(4), [4, 15]);
    assert_eq!(script.window_segments(), 5 + 7);
    // All of the first twelve: full. Three are outstanding of five.
    assert_eq!(script.ack(13), [16, 17]);
    assert_eq!(script.window_segments(), 5);
    assert_eq!(script.events.last(), Some(&Event::RecoveryEnded));
    assert_eq!(script.end.stats().fast_recoveries, 1);
}

/// RFC 5681 section 3.2 step 6: Reno leaves recovery at the first ACK that advances, and finds
/// the second loss anew.
#[test]
fn reno_ends_recovery_at_the_first_new_ack() {
    let mut script = until_third_duplicate("reno");
    for _ in 0..7 {
        script.ack(0);
    }
    // Eleven outstanding, a window of five: nothing may leave.
    assert_eq!(script.ack(4), []);
    assert_eq!(script.window_segments(), 5);
    assert_eq!(script.events.last(), Some(&Event::RecoveryEnded));
    script.ack(4);
    script.ack(4);
    assert_eq!(script.ack(4), [4]);
    assert_eq!(script.end.stats().fast_recoveries, 2);
}

/// RFC 6582 section 3.2 step 1: duplicates for what a recovery covered start no other.
#[test]
fn duplicates_of_an_old_loss_are_ignored() {
    let mut script = until_third_duplicate("newreno");
    script.ack(12);
    for _ in 0..5 {
        script.ack(12);
    }
    assert_eq!(script.end.stats().fast_recoveries, 1);
}

/// RFC 5681 section 2: with another window it is an update, not a duplicate.
#[test]
fn a_window_update_is_no_duplicate() {
    let (mut script, _) = Script::sending(config(), "newreno", 40);
    for _ in 0..5 {
        script.window += 1;
        assert_eq!(script.ack(0), []);
    }
    assert_eq!(script.end.stats().fast_recoveries, 0);
}

/// RFC 6582 section 4, impatient: the timer restarts at the first partial ACK only.
#[test]
fn only_the_first_partial_ack_restarts_the_timer() {
    let mut script = until_third_duplicate("newreno");
    script.after(100);
    assert_eq!(script.ack(4)[0], 4);
    script.after(800);
    assert_eq!(script.ack(5)[0], 5);
    assert_eq!(script.end.stats().timeouts, 0);
    script.after(199);
    assert_eq!(script.end.stats().timeouts, 0);
    script.after(1);
    assert_eq!(script.end.stats().timeouts, 1);
}

/// Ten segments are out; segment 0 is lost, and three later ones have been reported.
fn until_third_duplicate(congestion_control: &'static str) -> Script {
    let (mut script, sent) = Script::sending(config(), congestion_control, 40);
    assert_eq!(sent, (0..10).collect::<Vec<_>>());
    assert_eq!(script.ack(0), [10]);
    assert_eq!(script.ack(0), [11]);
    assert_eq!(script.ack(0), [0]);
    assert_eq!(script.ssthresh_segments(), 5);
    assert_eq!(script.window_segments(), 5 + 3);
    script
}

/// Linux leaves ssthresh as the recovery made it where a timeout replaces that, although this is
/// the segment's first timeout, and no second in a row (`tcp_enter_loss`).
#[test]
fn a_timeout_in_recovery_is_no_second_in_a_row() {
    let target = Some(BitRate::mbps(8));
    let av = TcpAvConfig { target, floor_at_reno: true, ..TcpAvConfig::DEFAULT };
    let few = Config { initial_window_segments: 3, reduce_window: true, ..config() };
    let config = Config { av, sack: true, ..few };
    let (mut script, sent) = Script::sending(config, "tcp-av", 60);
    assert_eq!(sent, [0, 1, 2]);
    while script.end.stats().timeouts == 0 {
        script.after(100);
    }
    for n in 1..200 {
        script.write(1);
        script.ack(n);
    }
    for n in 0..3 {
        script.ack_sack(199, &[(200, 201 + n)]);
    }
    assert_eq!(script.end.stats().fast_recoveries, 1);
    let ssthresh = script.ssthresh_segments();
    assert!(ssthresh > 4, "{ssthresh}");
    while script.end.stats().timeouts == 1 {
        script.after(100);
    }
    assert_eq!(script.ssthresh_segments(), ssthresh);
}
