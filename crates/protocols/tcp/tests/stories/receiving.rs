//! Delayed ACKs, SACK blocks, windows, timestamps and attacks, seen from the receiver.

use crate::script::{ACK, IRS, ISS, RST, SEG, SYN, Script, acknowledged, config};
use fairwave_tcp::{Config, Event, Input, State};
use fairwave_units::Seq32;
use fairwave_wire::tcp::Timestamps;

/// RFC 9293 section 3.8.6.3: every second segment, or after the timeout.
#[test]
fn acks_are_delayed() {
    let mut script = Script::established(config(), "newreno");
    assert!(script.data(0).is_empty());
    let sent = script.data(1);
    assert_eq!(sent.iter().map(acknowledged).collect::<Vec<_>>(), [2]);
    script.data(2);
    let late = script.after(1_000);
    assert_eq!((late.len(), late[0].0, acknowledged(&late[0].1)), (1, 300, 3));
}

/// RFC 5681 section 4.2 and RFC 2018 section 4: out of order and gap-filling segments are
/// acknowledged at once, the newest block first.
#[test]
fn gaps_are_reported_at_once() {
    let mut script = Script::established(Config { sack: true, ..config() }, "newreno");
    script.data(0);
    script.data(1);
    let windows: Vec<u16> = [3, 5, 4]
        .map(|n| {
            let ack = script.data(n).remove(0);
            assert_eq!(acknowledged(&ack), 2);
            ack.header.window
        })
        .to_vec();
    assert!(windows.iter().all(|w| *w == windows[0]), "{windows:?}");
    script.data(8);
    let ack = script.data(7).remove(0);
    let edge = |n: u32| IRS + 1 + n * SEG;
    assert_eq!(ack.header.options.sack.as_slice(), [(edge(7), edge(9)), (edge(3), edge(6))]);
    assert_eq!(acknowledged(&script.data(2)[0]), 6);
    assert_eq!(script.end.stats().bytes_ready, 6_000);
}

/// RFC 9293 section 3.8.6.2.2: the window closes as data waits and opens when it is read.
#[test]
fn reading_opens_a_closed_window() {
    let small = Config { receive_buffer: 4_000, ..config() };
    let mut script = Script::established(small, "newreno");
    for n in 0..4 {
        script.data(n);
    }
    let refused = script.data(4).remove(0);
    assert_eq!((acknowledged(&refused), refused.header.window), (4, 0));
    script.end.read(500);
    assert!(script.drain().is_empty());
    script.end.read(1_500);
    assert_eq!(script.drain().remove(0).header.window, 2_000);
}

/// What arrives after a read is reported, whether the read took all or a part.
#[test]
fn data_after_a_read_is_reported() {
    for len in [400, 5_000] {
        let mut script = Script::established(config(), "newreno");
        script.events.clear();
        script.data(0);
        script.data(1);
        assert_eq!(script.events, [Event::Readable]);
        script.end.read(len);
        script.data(2);
        script.data(3);
        assert_eq!(script.events, [Event::Readable; 2], "after a read of {len}");
    }
}

/// RFC 7323 section 5.3 (PAWS) and section 4.3 (which timestamp is echoed).
#[test]
fn old_timestamps_are_refused_and_the_right_one_is_echoed() {
    let mut script = Script::established(Config { timestamps: true, ..config() }, "newreno");
    let mut with = |n: u32, value: u32| {
        let mut header = script.header(ACK);
        header.seq = IRS + 1 + n * SEG;
        header.options.timestamps = Some(Timestamps { value, echo: 0 });
        script.arrive(header, SEG)
    };
    assert!(with(0, 10).is_empty());
    // The first of the two since the last ACK.
    assert_eq!(with(1, 20)[0].header.options.timestamps.unwrap().echo, 10);
    // Above a gap: not echoed.
    assert_eq!(with(3, 30)[0].header.options.timestamps.unwrap().echo, 10);
    let refused = with(2, 5);
    assert_eq!(acknowledged(&refused[0]), 2);
    assert_eq!(acknowledged(&with(2, 40)[0]), 4);
}

/// RFC 5961 section 3.2: a reset must hit RCV.NXT exactly.
#[test]
fn a_blind_reset_earns_a_challenge() {
    let mut script = Script::established(config(), "newreno");
    let mut reset = script.header(RST);
    reset.seq = IRS + 1 + 40_000;
    assert_eq!(acknowledged(&script.arrive(reset, 0)[0]), 0);
    reset.seq = IRS - 5;
    assert!(script.arrive(reset, 0).is_empty());
    assert_eq!(script.end.state(), State::Established);
    reset.seq = IRS + 1;
    script.arrive(reset, 0);
    assert_eq!(script.events.last(), Some(&Event::Reset));
}

/// RFC 5961 sections 4.2 and 5.2.
#[test]
fn blind_syn_and_data_earn_a_challenge() {
    let mut script = Script::established(config(), "newreno");
    let mut syn = script.header(SYN);
    syn.seq = IRS + 100;
    assert_eq!(acknowledged(&script.arrive(syn, 0)[0]), 0);
    let mut injected = script.header(ACK);
    for ack in [ISS + 2, Seq32(ISS.0.wrapping_sub(70_000))] {
        injected.ack = ack;
        assert_eq!(acknowledged(&script.arrive(injected, SEG)[0]), 0);
    }
    assert_eq!(script.end.stats().bytes_ready, 0);
    assert_eq!(script.end.state(), State::Established);
}

/// An aborted connection says so to its peer (RFC 9293 section 3.10.5).
#[test]
fn abort_resets_the_peer() {
    let mut script = Script::established(config(), "newreno");
    let reset = script.input(Input::Abort).remove(0).header;
    assert!(reset.flags.rst && reset.seq == ISS + 1);
    assert_eq!(script.events.last(), Some(&Event::Closed));
}
