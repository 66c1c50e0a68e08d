//! Timestamps of the peer: which one is refused, and which one is echoed (RFC 7323).

use crate::script::{ACK, IRS, SEG, Script, config};
use fairwave_tcp::{Config, Segment, Virtual};
use fairwave_units::Duration;
use fairwave_wire::tcp::{Header, Timestamps};

/// RFC 7323 section 5.5: a clock with a tick of 1 us passes half its circle in 36 minutes. From
/// then on a later timestamp compares as older, so the remembered one must be void.
#[test]
fn the_timestamp_of_a_fast_clock_is_void_early() {
    let timestamp_tick = Duration::from_micros(1);
    let mut script =
        Script::established(Config { timestamps: true, timestamp_tick, ..config() }, "newreno");
    data(&mut script, 0, 1_000);
    script.after(30 * 60_000);
    data(&mut script, 1, 999);
    assert_eq!(script.end.stats().bytes_ready, u64::from(SEG), "half an hour is no idleness");
    script.after(10 * 60_000);
    data(&mut script, 1, 2_400_001_000);
    assert_eq!(script.end.stats().bytes_ready, u64::from(2 * SEG));
}

/// Linux, `tcp_sequence` and `tcp_replace_ts_recent`: the answer to a copy whose original's ACK was
/// lost echoes the copy, so that the peer's sample spans one round trip.
#[test]
fn the_answer_to_a_copy_of_the_last_data_echoes_the_copy() {
    let mut script = Script::established(Config { timestamps: true, ..config() }, "newreno");
    assert!(data(&mut script, 0, 100).is_empty());
    // The ACK is still delayed: the original's timestamp counts.
    assert_eq!(echo(&data(&mut script, 0, 150)), 100);
    script.after(1_000);
    assert_eq!(echo(&data(&mut script, 0, 1_100)), 1_100);
    // An older copy, one with an ACK of data never sent, and one from before.
    let next = [data(&mut script, 1, 1_200), data(&mut script, 2, 1_210)].concat();
    assert_eq!(echo(&next), 1_200);
    assert_eq!(echo(&data(&mut script, 1, 2_000)), 1_200, "2 was acknowledged last");
    let mut forged = header(&script, 2 * SEG, 2_000);
    forged.ack = forged.ack + 10 * SEG;
    assert_eq!(echo(&script.arrive(forged, SEG)), 1_200);
    assert_eq!(echo(&data(&mut script, 2, 1_199)), 1_200);
    assert_eq!(echo(&data(&mut script, 2, 2_000)), 2_000);
}

/// Linux, `tcp_oow_rate_limited`: ACKs that are refused may themselves be answers to ours. Data is
/// always answered.
#[test]
fn answers_to_refused_acks_are_limited() {
    let mut script = Script::established(Config { timestamps: true, ..config() }, "newreno");
    data(&mut script, 0, 5_000);
    script.after(1_000);
    let mut answers = 0;
    for _ in 0..100 {
        script.after(10);
        answers += script.arrive(header(&script, SEG, 4_000), 0).len();
    }
    assert_eq!(answers, 10);
    assert_eq!(data(&mut script, 1, 4_000).len(), 1);
    script.after(5_000);
    assert_eq!(script.arrive(header(&script, SEG, 4_000), 0).len(), 1);
}

/// Keep-alives and probes of a closed window, as Linux sends them: no data, and one below RCV.NXT.
#[test]
fn probes_without_data_are_answered() {
    let config = Config { timestamps: true, receive_buffer: SEG, ..config() };
    let mut script = Script::established(config, "newreno");
    data(&mut script, 0, 1_000);
    script.after(1_000);
    // A probe timer that backs off from 200 ms, then keep-alives at one each second.
    let waits = (0..8).map(|n| 200 << n).chain([1_000; 60]);
    for (n, wait) in waits.enumerate() {
        script.after(wait);
        let sent = script.arrive(header(&script, SEG - 1, 1_001 + n as u32), 0);
        assert_eq!((sent.len(), sent[0].header.window), (1, 0), "probe {n}");
    }
}

/// A segment of the peer with this timestamp.
fn header(script: &Script, offset: u32, value: u32) -> Header {
    let mut header = script.header(ACK);
    header.seq = IRS + 1 + offset;
    header.options.timestamps = Some(Timestamps { value, echo: 0 });
    header
}

/// Data segment `n` of the peer arrives with this timestamp. Returns the segments that leave.
fn data(script: &mut Script, n: u32, value: u32) -> Vec<Segment<Virtual>> {
    script.arrive(header(script, n * SEG, value), SEG)
}

/// The timestamp that the only segment echoes.
fn echo(sent: &[Segment<Virtual>]) -> u32 {
    assert_eq!(sent.len(), 1, "{sent:?}");
    sent[0].header.options.timestamps.expect("timestamps were agreed on").echo
}
