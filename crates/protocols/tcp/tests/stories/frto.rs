//! Spurious timeouts found by what arrives after them (F-RTO, RFC 5682 section 2.1).

use crate::script::{Script, config};
use fairwave_tcp::Config;

/// Steps 2 b and 3 b: both ACKs after the timeout advance, the second over what was sent once.
#[test]
fn two_advancing_acks_show_a_spurious_timeout() {
    for sack in [false, true] {
        let mut script = timed_out(40, Config { frto: true, sack, ..config() });
        assert_eq!(script.ack(1), [10, 11]);
        // Ten are out, and the window is ten again.
        assert_eq!(script.ack(2), []);
        assert_eq!(script.ack(3), [12, 13]);
        let stats = script.end.stats();
        assert_eq!((stats.spurious, stats.retransmissions, stats.ssthresh), (1, 1, u32::MAX));
        assert_eq!(script.window_segments(), 11);
    }
}

/// Step 3 a: the second ACK is a duplicate, so the losses are real, and recovery goes on.
#[test]
fn a_duplicate_shows_a_real_timeout() {
    let mut script = timed_out(40, with_frto());
    assert_eq!(script.ack(1), [10, 11]);
    assert_eq!(script.ack(1), [1]);
    assert_eq!(script.ack(10)[0], 12);
    assert_eq!((script.end.stats().spurious, script.ssthresh_segments()), (0, 5));
}

/// Step 2 a: a duplicate right after the timeout, or an ACK of everything, tells nothing.
#[test]
fn the_first_ack_may_settle_it() {
    let mut script = timed_out(40, with_frto());
    script.ack(0);
    assert_eq!(script.ack(1), [1, 2]);
    let mut script = timed_out(40, with_frto());
    assert_eq!(script.ack(10), [10, 11]);
    script.ack(11);
    assert_eq!(script.end.stats().spurious, 0);
}

/// Step 2 b: without new data, or window for it, there is no such test.
#[test]
fn without_new_data_recovery_is_the_usual() {
    let mut script = timed_out(10, with_frto());
    assert_eq!(script.ack(1), [1, 2]);
    let mut script = Script::established(with_frto(), "newreno");
    script.window = 10_000;
    script.ack(0);
    assert_eq!(script.write(40).len(), 10);
    script.after(1_000);
    script.window = 9_000;
    assert_eq!(script.ack(1), [1, 2]);
}

/// Step 1: data that timed out twice is not judged.
#[test]
fn a_second_timeout_is_not_judged() {
    let mut script = timed_out(40, with_frto());
    script.after(2_000);
    assert_eq!(script.end.stats().timeouts, 2);
    assert_eq!(script.ack(1), [1, 2]);
}

fn with_frto() -> Config {
    Config { frto: true, ..config() }
}

/// Ten segments are out, and the first was sent again by the timer.
fn timed_out(segments: u32, config: Config) -> Script {
    let (mut script, _) = Script::sending(config, "newreno", segments);
    assert_eq!(script.after(1_000).len(), 1);
    assert_eq!((script.end.stats().timeouts, script.ssthresh_segments()), (1, 5));
    script
}
