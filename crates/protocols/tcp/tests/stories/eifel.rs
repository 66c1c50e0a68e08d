//! Needless retransmissions found by timestamps (RFC 3522), and undone (RFC 4015).

use crate::script::{ACK, ISS, Script, config, numbers};
use fairwave_tcp::{Config, Event};
use fairwave_wire::tcp::Timestamps;

/// Payload of a segment: 1000 bytes less the option.
const SEG: u32 = 988;

/// RFC 3522 section 3.2, RFC 4015 section 3.2: the path stalled for longer than the RTO. The
/// first ACK echoes the original, so the window is as before and only new data leaves.
#[test]
fn a_spurious_timeout_is_undone() {
    let mut script = sending(true);
    let before = script.end.stats();
    let again = script.after(1_000);
    assert_eq!((script.end.stats().timeouts, script.end.stats().cwnd), (1, SEG));
    assert_eq!(again.len(), 1);
    script.after(50);
    assert_eq!(ack(&mut script, 1, 100), [10]);
    let after = script.end.stats();
    assert_eq!((after.cwnd, after.ssthresh, after.spurious), (before.cwnd, before.ssthresh, 1));
    // No going back: the others are taken as on their way.
    assert_eq!(ack(&mut script, 2, 100), [11, 12]);
    assert_eq!(script.end.stats().retransmissions, 1);
}

/// The first ACK echoes the retransmission: the loss was real.
#[test]
fn a_real_timeout_stands() {
    let mut script = sending(true);
    script.after(1_000);
    script.after(50);
    assert_eq!(ack(&mut script, 1, 1_100), [1, 2]);
    assert_eq!(script.end.stats().spurious, 0);
}

/// Four segments overtook the first: recovery began, and ends undone with the original's ACK.
#[test]
fn a_spurious_recovery_is_undone() {
    let mut script = sending(true);
    script.after(50);
    for _ in 0..3 {
        ack(&mut script, 0, 100);
    }
    assert_eq!((script.end.stats().fast_recoveries, script.end.stats().ssthresh), (1, 5 * SEG));
    ack(&mut script, 12, 100);
    let after = script.end.stats();
    assert_eq!((after.ssthresh, after.spurious), (u32::MAX, 1));
    assert!(after.cwnd >= 10 * SEG, "{}", after.cwnd);
    assert_eq!(script.events.last(), Some(&Event::RecoveryEnded));
}

/// RFC 6675 section 5.1 has one reduction a window. Once that is undone, a segment of the same
/// window that is really lost must be retransmitted at once, and not by the timer.
#[test]
fn a_loss_after_an_undone_recovery_is_repaired_before_the_timer() {
    let config = Config { eifel: true, timestamps: true, sack: true, ..config() };
    let mut script = Script::established(config, "newreno");
    script.write(40);
    script.after(50);
    // 1 to 3 overtook 0: recovery lasts until all of what is outstanding is acknowledged.
    assert_eq!(ack_sack(&mut script, 0, 100, Some((1, 4)))[0], 0);
    ack(&mut script, 5, 100);
    assert_eq!((script.end.stats().spurious, script.end.stats().fast_recoveries), (1, 1));
    // 5 is lost, and was outstanding when that recovery began.
    assert_eq!(ack_sack(&mut script, 5, 100, Some((6, 9)))[0], 5);
    assert_eq!((script.end.stats().fast_recoveries, script.end.stats().timeouts), (2, 0));
}

/// Off, nothing is undone.
#[test]
fn off_it_undoes_nothing() {
    let mut script = sending(false);
    script.after(1_000);
    script.after(50);
    ack(&mut script, 1, 100);
    assert_eq!((script.end.stats().spurious, script.end.stats().ssthresh), (0, 5 * SEG));
}

/// Ten segments left at 100 ms.
fn sending(eifel: bool) -> Script {
    let mut script = Script::established(Config { eifel, timestamps: true, ..config() }, "newreno");
    assert_eq!(script.write(40).len(), 10);
    script
}

/// An ACK of `n` segments that echoes the timestamp of `echo` milliseconds.
fn ack(script: &mut Script, n: u32, echo: u32) -> Vec<u32> {
    ack_sack(script, n, echo, None)
}

/// The same with a block of SACKed segments.
fn ack_sack(script: &mut Script, n: u32, echo: u32, block: Option<(u32, u32)>) -> Vec<u32> {
    let mut header = script.header(ACK);
    header.ack = ISS + 1 + n * SEG;
    if let Some((left, right)) = block {
        header.options.sack.push(ISS + 1 + left * SEG, ISS + 1 + right * SEG);
    }
    header.options.timestamps = Some(Timestamps { value: 1, echo });
    let sent = script.arrive(header, 0);
    assert_eq!(numbers(&sent).len(), sent.len());
    sent.iter().map(|s| s.header.seq.distance(ISS + 1) / SEG).collect()
}
