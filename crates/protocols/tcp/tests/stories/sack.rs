//! Loss recovery with SACK (RFC 6675).

use crate::script::{SEG, Script, config};
use fairwave_tcp::Config;

/// RFC 6675 sections 4 and 5 with losses 0 and 4 in a window of ten; `pipe` by hand in the
/// comments, after what the ACK sent.
#[test]
fn two_losses_are_repaired_as_the_pipe_drains() {
    let mut script = in_recovery();
    // Pipe 12 - 3 SACKed - 1 lost + 1 sent again = 9, a window of 5.
    assert_eq!(script.ack_sack(0, &[(5, 6), (1, 4)]), []); // 8
    assert_eq!(script.ack_sack(0, &[(5, 7), (1, 4)]), []); // 7
    // Three segments above 4 are SACKed: it is lost. 7 - 1 - 1 = 5.
    assert_eq!(script.ack_sack(0, &[(5, 8), (1, 4)]), []); // 5
    assert_eq!(script.ack_sack(0, &[(5, 9), (1, 4)]), [4]); // 5
    assert_eq!(script.ack_sack(0, &[(5, 10), (1, 4)]), [12]); // 5
    // The first retransmission arrives; then the second ends recovery.
    assert_eq!(script.ack_sack(4, &[(5, 10)]), [13]); // 5
    assert_eq!(script.ack(12), [14, 15, 16]); // 13 and 12 were out
    assert_eq!(script.window_segments(), 5);
    assert_eq!(script.end.stats().retransmissions, 2);
    assert_eq!(script.end.stats().fast_recoveries, 1);
}

/// RFC 6675 section 4, IsLost: one ACK that SACKs enough is as good as three.
#[test]
fn one_ack_with_enough_sacked_starts_recovery() {
    let (mut script, _) = Script::sending(with_sack(), "newreno", 40);
    assert_eq!(script.ack_sack(0, &[(1, 4)])[0], 0);
    assert_eq!(script.end.stats().fast_recoveries, 1);
}

/// RFC 2018 section 8: after a timeout what was SACKed may be sent again, since the receiver
/// may have thrown it away.
#[test]
fn a_timeout_forgets_sacks() {
    let mut script = in_recovery();
    let sent = script.after(1_000);
    assert_eq!(sent.len(), 1);
    assert_eq!(script.end.stats().timeouts, 1);
    assert_eq!(script.ack(1), [1, 2]);
}

/// RFC 2018 section 5, RFC 2883: blocks outside SND.UNA..SND.NXT say nothing of a loss.
#[test]
fn sacks_beyond_the_outstanding_data_are_ignored() {
    let (mut script, _) = Script::sending(with_sack(), "newreno", 5);
    assert_eq!(script.ack_sack(2, &[(3, 90)]), []);
    assert_eq!(script.ack_sack(2, &[(1, 2)]), []);
    assert_eq!(script.end.stats().fast_recoveries, 0);
}

/// RFC 6675 section 5: an ACK that arrives in recovery, were it the last, is no duplicate and
/// begins no other; the next ACK that reports something does.
#[test]
fn the_ack_that_ends_a_recovery_begins_none() {
    let mut script = in_recovery();
    // 4 is lost too, and sent again; so are 12 and 13, in the end, of 12 to 16.
    script.ack_sack(0, &[(5, 10), (1, 4)]);
    script.ack_sack(4, &[(5, 11)]);
    let sent = script.ack_sack(4, &[(5, 12)]);
    assert!(sent.iter().all(|n| *n >= 12), "{sent:?}");
    let top = script.end.stats().flight / SEG + 4;
    assert!(top >= 16, "{top}");
    // 12 is missing, three above it have arrived: IsLost(12) on the ACK of all before it.
    script.ack_sack(12, &[(13, 16)]);
    assert_eq!(script.end.stats().fast_recoveries, 1);
    script.ack_sack(12, &[(13, 17)]);
    assert_eq!(script.end.stats().fast_recoveries, 2);
}

fn with_sack() -> Config {
    Config { sack: true, ..config() }
}

fn in_recovery() -> Script {
    let (mut script, _) = Script::sending(with_sack(), "newreno", 40);
    assert_eq!(script.ack_sack(0, &[(1, 2)]), [10]);
    assert_eq!(script.ack_sack(0, &[(1, 3)]), [11]);
    assert_eq!(script.ack_sack(0, &[(1, 4)]), [0]);
    assert_eq!(script.window_segments(), 5);
    script
}
