//! Losses found by time, and probes for lost tails (RFC 8985).

use crate::script::{ACK, ISS, SEG, Script, config, numbers};
use fairwave_machine::Machine;
use fairwave_tcp::{Config, Event};
use fairwave_units::Duration;
use fairwave_wire::tcp::Timestamps;
use proptest::prelude::*;

/// Sections 6.2 and 6.3: one segment SACKed and no reordering known; a quarter of the least RTT
/// of 100 ms after the time that it took, what left before it is lost. RFC 6675 would wait for
/// three.
#[test]
fn one_sack_and_a_quarter_of_a_round_trip_show_a_loss() {
    let (mut script, _) = sending(4);
    script.after(100);
    assert_eq!(script.ack_sack(0, &[(3, 4)]), []);
    let sent = script.after(100);
    // 0, 1 and 2 are lost 25 ms later; the window of two lets two go.
    assert_eq!(times(&sent), [(225, 0), (225, 1)]);
    assert_eq!(script.events.last(), Some(&Event::RecoveryBegan));
}

/// Section 6.2 step 4: with three SACKed and no reordering ever seen, the window is zero.
#[test]
fn three_sacks_show_it_at_once() {
    let (mut script, _) = sending(10);
    script.after(100);
    script.ack_sack(0, &[(1, 2)]);
    script.ack_sack(0, &[(1, 3)]);
    assert_eq!(script.ack_sack(0, &[(1, 4)]), [0]);
    assert_eq!(script.end.stats().fast_recoveries, 1);
}

/// Section 6.2: a segment that comes late within the window is no loss, where three duplicates
/// would have been.
#[test]
fn reordering_within_the_window_is_no_loss() {
    let (mut script, _) = sending(10);
    script.after(100);
    // Reordering is seen: 1 arrives after 2.
    script.ack_sack(1, &[(2, 3)]);
    script.ack(3);
    for top in 5..9 {
        script.ack_sack(3, &[(4, top)]);
    }
    script.after(20);
    script.ack(8);
    assert!(script.after(20).is_empty());
    assert_eq!(script.end.stats().fast_recoveries, 0);
}

/// Section 6.2 step 5: a retransmission that is lost is found by what left after it, which RFC
/// 6675 leaves to the timer.
#[test]
fn a_lost_retransmission_is_sent_again() {
    let (mut script, _) = Script::sending(with_rack(), "newreno", 40);
    script.after(100);
    assert_eq!(script.ack_sack(0, &[(1, 4)])[0], 0);
    // New data leaves 10 ms after the retransmission, and arrives 100 ms later.
    script.after(10);
    assert_eq!(script.ack_sack(0, &[(1, 9)]), [10, 11, 12]);
    script.after(100);
    assert_eq!(script.ack_sack(0, &[(1, 9), (11, 12)])[0], 0);
    assert_eq!(script.end.stats().timeouts, 0);
}

/// Section 6.2 step 2: what left before a retransmission, if in the same nanosecond, shows nothing
/// of it, though its end sequence is higher. What left after it does.
#[test]
fn new_data_sent_before_a_retransmission_does_not_overtake_it() {
    let (mut script, _) = Script::sending(with_rack(), "newreno", 40);
    script.after(100);
    // Three ACKs of one A-MPDU: two let new data go, the third shows the loss of 0.
    assert_eq!(script.ack_sack(0, &[(1, 2)]), [10]);
    assert_eq!(script.ack_sack(0, &[(1, 3)]), [11]);
    assert_eq!(script.ack_sack(0, &[(1, 4)]), [0]);
    assert_eq!(script.ack_sack(0, &[(1, 9)]), [12]);
    script.after(100);
    assert!(!script.ack_sack(0, &[(1, 9), (10, 12)]).contains(&0));
    assert_eq!(script.ack_sack(0, &[(1, 9), (10, 13)])[0], 0);
}

/// Section 6.2 step 4, RFC 2883: a D-SACK tells of a needless retransmission, and widens the
/// window to two quarters of the least RTT.
#[test]
fn a_dsack_widens_the_window() {
    let (mut script, _) = sending(10);
    script.after(100);
    script.ack_sack(0, &[(9, 10)]);
    assert_eq!(times(&script.after(30)).len(), 5);
    // What was called lost has arrived after all; then its copies, in a D-SACK.
    script.ack(10);
    script.ack_sack(10, &[(0, 1)]);
    assert_eq!(script.write(4), [10, 11, 12, 13]);
    script.after(100);
    script.ack_sack(10, &[(13, 14)]);
    assert!(script.after(49).is_empty());
    assert_eq!(times(&script.after(2))[0].1, 10);
}

/// Section 7.2 and 7.3: nothing is left to send, so the last segment is sent again, after two
/// round trips of 100 ms, and RACK finds the rest by its SACK. No timeout.
#[test]
fn a_lost_tail_is_probed_for() {
    let (mut script, _) = sending(5);
    let sent = script.after(250);
    assert_eq!(times(&sent), [(300, 4)]);
    assert_eq!(script.end.stats().tail_probes, 1);
    script.after(50);
    // The probe arrived, 0 to 3 did not.
    assert_eq!(script.ack_sack(0, &[(4, 5)])[0], 0);
    assert_eq!((script.end.stats().timeouts, script.end.stats().fast_recoveries), (0, 1));
}

/// Section 7.3: new data is a better probe, and the window does not hold it back.
#[test]
fn a_probe_is_new_data_if_there_is_any() {
    let (mut script, sent) = Script::sending(with_rack(), "newreno", 40);
    assert_eq!(sent.len(), 10);
    assert_eq!(times(&script.after(250)), [(300, 10)]);
    // One probe at a time; then the timer, a second after the probe.
    assert_eq!(times(&script.after(1_000))[0], (1_300, 0));
    assert_eq!(script.end.stats().timeouts, 1);
}

/// Section 7.2: a single segment may wait for a delayed ACK, so 200 ms are added.
#[test]
fn a_single_segment_waits_for_a_delayed_ack() {
    let (mut script, _) = sending(1);
    assert_eq!(times(&script.after(600)), [(500, 0)]);
}

/// Section 7.4: the probe repaired the loss of the last segment. Only an ACK beyond tells, and
/// the algorithm is told of a loss: half the window, no recovery.
#[test]
fn a_loss_that_the_probe_repaired_is_answered() {
    let (mut script, _) = sending(5);
    script.after(50);
    script.ack(4);
    script.after(450);
    assert_eq!(script.end.stats().tail_probes, 1);
    script.ack(5);
    assert_eq!(script.ssthresh_segments(), u32::MAX / SEG);
    script.write(1);
    script.ack(6);
    assert!(script.ssthresh_segments() < 10, "{}", script.ssthresh_segments());
    assert_eq!(script.end.stats().fast_recoveries, 0);
}

/// Section 7.4: the D-SACK of the probe shows that nothing was lost.
#[test]
fn a_needless_probe_costs_nothing() {
    let (mut script, _) = sending(5);
    script.after(50);
    script.ack(4);
    script.after(450);
    script.ack(5);
    script.ack_sack(5, &[(4, 5)]);
    script.write(1);
    script.ack(6);
    assert_eq!(script.ssthresh_segments(), u32::MAX / SEG);
}

/// Without SACK there is no RACK, and no probe.
#[test]
fn without_sack_it_is_off() {
    let (mut script, _) = Script::sending(Config { sack: false, ..with_rack() }, "newreno", 5);
    let sent = script.after(1_000);
    assert_eq!(times(&sent), [(1_100, 0)]);
    assert_eq!(script.end.stats().tail_probes, 0);
}

fn times(sent: &[(u64, fairwave_tcp::Segment<fairwave_tcp::Virtual>)]) -> Vec<(u64, u32)> {
    sent.iter().map(|(at, s)| (*at, s.header.seq.distance(ISS + 1) / SEG)).collect()
}

fn sending(segments: u32) -> (Script, Vec<u32>) {
    let (script, sent) = Script::sending(with_rack(), "newreno", segments);
    assert_eq!(sent, (0..segments).collect::<Vec<_>>());
    (script, sent)
}

fn with_rack() -> Config {
    Config { rack: true, sack: true, ..config() }
}

/// Bytes of a segment with timestamps.
const STAMPED: u32 = SEG - 12;

/// An ACK of everything below segment `n` with SACK blocks, which echoes the timestamp `echo`; the
/// numbers of the segments that leave.
fn ack_echo(script: &mut Script, n: u32, blocks: &[(u32, u32)], echo: u32) -> Vec<u32> {
    let mut header = script.header(ACK);
    header.ack = ISS + 1 + n * STAMPED;
    for (left, right) in blocks {
        header.options.sack.push(ISS + 1 + left * STAMPED, ISS + 1 + right * STAMPED);
    }
    header.options.timestamps = Some(Timestamps { value: 0, echo });
    let sent = script.arrive(header, 0);
    let number = |s: &fairwave_tcp::Segment<_>| s.header.seq.distance(ISS + 1) / STAMPED;
    assert_eq!(numbers(&sent).len(), sent.iter().filter(|s| s.payload.0 > 0).count());
    sent.iter().filter(|s| s.payload.0 > 0).map(number).collect()
}

/// RFC 7323 section 4.3: behind a gap an ACK echoes the segment before it, whatever arrives.
/// Retransmissions 0 and 1 are lost, and 2 that left after them has arrived.
#[test]
fn a_retransmission_behind_a_gap_shows_the_loss_of_those_before_it() {
    let config = Config { timestamps: true, ..with_rack() };
    let mut script = Script::established(config, "newreno");
    script.write(40);
    script.after(100);
    let mut again = Vec::new();
    for top in 6..=10 {
        again.extend(ack_echo(&mut script, 0, &[(3, top)], 0));
        script.after(5);
    }
    assert_eq!(again[..3], [0, 1, 2]);
    script.after(100);
    assert_eq!(ack_echo(&mut script, 0, &[(2, 10)], 0)[0], 0);
    assert_eq!(script.end.stats().timeouts, 0);
}

proptest! {
    /// RFC 8985 section 6.3: at a timeout, segments that left less than RACK.rtt ago stay in
    /// flight. The ACK of the retransmission shows that they are lost, on a path that became
    /// faster too: its own round-trip time is a sample of the minimum (section 6.2 step 1). What
    /// waits is sent at once, not at the next timeout.
    #[test]
    fn after_a_timeout_an_ack_lets_what_waits_leave_at_once(
        rtt in 20u64..400,
        age in 1u64..150,
        top in 5u32..=9,
        frto: bool,
    ) {
        let config = Config { timestamps: true, frto, ..with_rack() };
        let mut script = Script::established(config, "newreno");
        script.write(60);
        script.after(100);
        prop_assert_eq!(ack_echo(&mut script, 0, &[(1, 4)], 0)[0], 0);
        let timeout = script.end.deadline().unwrap();
        // Late reports let new data go shortly before the timeout; all of it is lost.
        script.until(timeout - Duration::from_millis(age));
        ack_echo(&mut script, 0, &[(1, top)], 0);
        let again = script.until(timeout);
        prop_assert_eq!(script.end.stats().timeouts, 1);
        prop_assert!(!again.is_empty());
        script.after(rtt);
        let echo = (timeout.as_nanos() / 1_000_000) as u32;
        let sent = ack_echo(&mut script, 1, &[(1, top)], echo);
        prop_assert!(!sent.is_empty(), "{:?}", script.end.stats());
        prop_assert_eq!(script.end.stats().timeouts, 1);
    }
}
