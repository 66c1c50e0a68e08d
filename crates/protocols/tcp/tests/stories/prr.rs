//! Proportional rate reduction (RFC 6937).

use crate::script::{Script, config};
use fairwave_tcp::{Config, ReductionBound};

/// Section 3, by hand: segment 0 of 20 is lost; 22 are out with limited transmit, ssthresh is
/// 10. At the kth duplicate (k - 2) * 10 / 22 segments may have left: one at 7, 9, 11, 13. At 16
/// the pipe has come down to 10; from 17 on one leaves for each that arrives.
#[test]
fn the_reduction_is_spread_over_the_recovery() {
    let (mut script, at) = recover(true);
    assert_eq!(at, [3, 7, 9, 11, 13, 17, 18, 19, 20, 21]);
    // The retransmission arrives: nine are out of ten.
    assert_eq!(script.ack(22).len(), 1);
    assert_eq!((script.window_segments(), script.end.stats().fast_recoveries), (10, 1));
}

/// RFC 6675 section 5, for comparison: silence until the pipe is below 10, at 13.
#[test]
fn without_it_the_sender_waits_for_half_a_window() {
    let (_, at) = recover(false);
    assert_eq!(at, [3, 13, 14, 15, 16, 17, 18, 19, 20, 21]);
}

/// Section 3: twelve of twenty are lost, so seven are in flight of an ssthresh of ten. The
/// conservative bound sends what is delivered; the slow start bound one more for each ACK, until
/// the third finds nine in flight.
#[test]
fn the_bound_rules_after_heavy_loss() {
    for (prr_bound, sent) in
        [(ReductionBound::Conservative, [1, 1, 1]), (ReductionBound::SlowStart, [2, 2, 1])]
    {
        let config = Config { prr_bound, ..with_prr(true) };
        let (mut script, _) = Script::sending(config, "newreno", 60);
        script.ack_sack(0, &[(12, 13)]);
        script.ack_sack(0, &[(12, 14)]);
        let counts = [15, 16, 17].map(|top| script.ack_sack(0, &[(12, top)]).len());
        assert_eq!(counts, sent, "{prr_bound:?}");
    }
}

/// Whatever was sent, recovery ends with the window that the algorithm set.
#[test]
fn a_timeout_ends_the_reduction() {
    let (mut script, _) = recover(true);
    script.after(1_000);
    assert_eq!((script.end.stats().timeouts, script.window_segments()), (1, 1));
    assert_eq!(script.ack(1), [1, 2]);
}

/// Loses segment 0 of 20 and reports the others one by one; at which duplicates something left.
fn recover(prr: bool) -> (Script, Vec<u32>) {
    let (mut script, sent) = Script::sending(with_prr(prr), "newreno", 60);
    assert_eq!(sent.len(), 20);
    let mut at = Vec::new();
    for k in 1..=21 {
        let sent = script.ack_sack(0, &[(1, k + 1)]);
        assert!(sent.len() <= 1, "{k}: {sent:?}");
        if k > 2 && !sent.is_empty() {
            at.push(k);
        }
    }
    (script, at)
}

fn with_prr(prr: bool) -> Config {
    Config { prr, sack: true, initial_window_segments: 20, ..config() }
}
