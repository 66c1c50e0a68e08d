//! Corners where one rule meets another: windows that close, timers that overlap, peers that
//! are hostile.

use crate::script::{ACK, IRS, ISS, SEG, SYN, SYN_ACK, Script, config};
use fairwave_machine::Machine;
use fairwave_tcp::{Config, Connection, Event, Input, State, Virtual};
use fairwave_units::Duration;
use fairwave_wire::tcp::Timestamps;
use proptest::prelude::*;

fn with_sack() -> Config {
    Config { sack: true, ..config() }
}

/// RFC 5681 section 3.1: after a timeout the window, not the peer's, limits the sender while it
/// sends again, so slow start opens it even if the peer's window was the limit before.
#[test]
fn slow_start_follows_a_timeout_of_a_receiver_limited_sender() {
    let mut script = Script::established(config(), "newreno");
    script.window = 8_000;
    script.ack(0);
    assert_eq!(script.write(40).len(), 8);
    script.after(1_000);
    assert_eq!(script.ack(1), [1, 2]);
    assert_eq!(script.ack(2), [3, 4]);
    assert_eq!(script.window_segments(), 3);
}

/// RFC 5681 equation 4, RFC 6675 section 2: what SACK says has left the network is not in
/// flight, however long the sender went on past a retransmission that was lost.
#[test]
fn a_timeout_in_recovery_does_not_count_what_was_sacked() {
    let (mut script, _) = Script::sending(with_sack(), "newreno", 200);
    script.ack_sack(0, &[(1, 4)]);
    for top in 5..80 {
        script.ack_sack(0, &[(1, top)]);
    }
    assert!(script.end.stats().flight > 50 * SEG);
    script.after(1_000);
    assert_eq!(script.end.stats().timeouts, 1);
    assert!(script.ssthresh_segments() <= 5, "{}", script.ssthresh_segments());
}

/// RFC 6298 (5.1): the timer that waited for a silly window to open is not that of the data
/// that leaves once it has.
#[test]
fn data_after_a_silly_window_has_its_whole_timeout() {
    let (mut script, _) = Script::sending(config(), "newreno", 10);
    script.window = 400;
    script.ack(10);
    assert_eq!(script.write(2), []);
    assert!(script.after(900).is_empty());
    script.window = 60_000;
    assert_eq!(script.ack(10), [10, 11]);
    assert!(script.after(900).is_empty());
    assert_eq!(script.end.stats().timeouts, 0);
}

/// RFC 9293 section 3.8.6.2.1, condition (2): all that is queued fits, only the FIN does not.
#[test]
fn data_that_fits_does_not_wait_for_its_fin() {
    let mut script = Script::established(config(), "newreno");
    script.window = 300;
    script.ack(0);
    script.end.handle(script.now, Input::Write(Virtual(300)));
    let sent = script.input(Input::Close);
    assert_eq!(
        sent.iter().map(|s| (s.payload.0, s.header.flags.fin)).collect::<Vec<_>>(),
        [(300, false)]
    );
}

/// RFC 6675 section 2: an ACK that advances and reports new SACKed data is a duplicate too.
#[test]
fn an_advancing_ack_with_new_sacks_counts() {
    let mut script = Script::established(with_sack(), "newreno");
    // Half segments, so that IsLost does not find enough bytes SACKed.
    for _ in 0..8 {
        script.input(Input::Write(Virtual(SEG / 2)));
    }
    let mut begun = Vec::new();
    for top in 3..6 {
        let mut header = script.header(ACK);
        header.ack = ISS + 1 + SEG / 2;
        header.options.sack.push(ISS + 1 + SEG, ISS + 1 + top * SEG / 2);
        script.arrive(header, 0);
        begun.push(script.end.stats().fast_recoveries);
    }
    assert_eq!(begun, [0, 0, 1]);
}

/// RFC 6298 section 3 (Karn) and RFC 5681 section 3.1: a SYN-ACK that was asked for again was
/// sent twice.
#[test]
fn a_repeated_syn_makes_the_answer_a_retransmission() {
    let mut script = Script::new(config(), "newreno");
    script.input(Input::Listen);
    let mut syn = script.header(SYN);
    (syn.seq, syn.ack) = (IRS, fairwave_units::Seq32(0));
    assert_eq!(script.arrive(syn, 0).len(), 1);
    script.after(500);
    assert_eq!(script.arrive(syn, 0).len(), 1);
    script.after(10);
    script.ack(0);
    assert_eq!(script.end.state(), State::Established);
    assert_eq!(script.end.stats().srtt, None);
    assert_eq!(script.write(5), [0]);
}

/// RFC 9293 section 3.10.7.4 wants valid ACKs to pass a closed window. A probe that the peer did
/// not take lies beyond its window, so an ACK numbered after it would be refused.
#[test]
fn acks_beside_a_probe_stay_inside_the_peers_window() {
    let (mut script, _) = Script::sending(config(), "newreno", 10);
    script.window = 0;
    script.ack(10);
    script.write(2);
    assert_eq!(script.after(1_200).len(), 1);
    let sent = [script.data(0), script.data(1)].concat();
    let ack = sent.last().expect("an ACK for two segments").header;
    assert_eq!(ack.seq, ISS + 1 + 10 * SEG);
}

/// RFC 2018 section 3: blocks may end inside a segment and grow from there.
#[test]
fn a_block_that_grows_from_inside_a_segment_covers_it() {
    let (mut script, _) = Script::sending(with_sack(), "newreno", 10);
    let mut header = script.header(ACK);
    header.options.sack.push(ISS + 1 + SEG, ISS + 1 + 2 * SEG + 500);
    script.arrive(header, 0);
    script.ack_sack(0, &[(1, 3)]);
    // Only 0 is lost, so nothing else is ever sent again.
    script.ack_sack(0, &[(1, 10)]);
    assert_eq!(script.end.stats().retransmissions, 1);
    script.after(900);
    assert_eq!(script.end.stats().retransmissions, 1);
}

/// RFC 7323 section 2.3: rounding the window up to its scale must not promise more than there is.
#[test]
fn a_scaled_window_never_promises_more_than_the_buffer() {
    let receive_buffer = 4 << 20;
    let mut script =
        Script::established(Config { receive_buffer, window_scaling: true, ..config() }, "newreno");
    let mut header = script.header(ACK);
    let mut taken = 0u32;
    for len in std::iter::repeat_n(1, 2_000).chain(std::iter::repeat_n(999, 5_000)) {
        header.seq = IRS + 1 + taken;
        script.arrive(header, len);
        taken = script.end.stats().bytes_ready as u32;
        assert!(taken <= receive_buffer, "{taken}");
        header.seq = IRS + 1 + taken;
    }
    assert!(taken > receive_buffer - 2_000, "{taken}");
}

/// A segment size that no IPv4 path forces (RFC 791 section 3.1: 68 bytes always pass) is not
/// believed: every byte would cost a segment.
#[test]
fn an_absurd_segment_size_is_not_believed() {
    let mut script = Script::new(config(), "newreno");
    script.input(Input::Open);
    let mut answer = script.header(SYN_ACK);
    answer.seq = IRS;
    answer.options.mss = Some(1);
    script.arrive(answer, 0);
    let sent = script.input(Input::Write(Virtual(1_000)));
    assert_eq!(sent[0].payload.0, 28);
}

#[derive(Clone, Debug)]
enum Step {
    Write(u32),
    Ack { by: u32, window: u16, sacks: Vec<(u32, u32)> },
    Data { at: u32, len: u32 },
    Wait(u64),
    Read(u32),
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    let sacks = prop::collection::vec((0u32..30_000, 1u32..6_000), 0..4);
    let window = prop_oneof![2 => Just(60_000), 1 => Just(0), 1 => 0u16..3_000];
    prop_oneof![
        3 => (1u32..20_000).prop_map(Step::Write),
        6 => (0u32..4_000, window, sacks).prop_map(|(by, window, sacks)| Step::Ack {
            by,
            window,
            sacks
        }),
        2 => (0u32..9_000, 0u32..1_500).prop_map(|(at, len)| Step::Data { at, len }),
        3 => (1u64..3_000).prop_map(Step::Wait),
        1 => (1u32..9_000).prop_map(Step::Read),
        1 => Just(Step::Close),
    ]
}

/// Bytes written so far, FIN not counted, that the peer has not acknowledged.
fn waits(end: &Connection<Virtual>, written: u64) -> bool {
    let stats = end.stats();
    stats.flight > 0 || stats.bytes_acked < written
}

/// A timestamp of up to 100 ms ago, where they are on.
fn timestamps(script: &Script, age: u32) -> Option<Timestamps> {
    let echo = (script.now.as_nanos() / 1_000_000) as u32 - age % 100;
    script.end.config().timestamps.then_some(Timestamps { value: 1, echo })
}

fn act(script: &mut Script, written: &mut u64, step: &Step) {
    let stats = script.end.stats();
    match *step {
        Step::Write(len) => {
            *written += u64::from(len.min(script.end.send_space()));
            script.input(Input::Write(Virtual(len)));
        }
        Step::Ack { by, window, ref sacks } => {
            let mut header = script.header(ACK);
            let una = ISS + 1 + stats.bytes_acked as u32;
            header.seq = IRS + 1 + (stats.bytes_read + stats.bytes_ready) as u32;
            header.ack = una + by.min(stats.flight);
            header.window = window;
            header.options.timestamps = timestamps(script, by);
            for &(at, len) in sacks.iter().take(3) {
                header.options.sack.push(una + at, una + at + len);
            }
            script.arrive(header, 0);
        }
        Step::Data { at, len } => {
            let mut header = script.header(ACK);
            header.seq = IRS + 1 + at;
            header.ack = ISS + 1 + stats.bytes_acked as u32;
            header.options.timestamps = timestamps(script, at);
            script.arrive(header, len);
        }
        Step::Wait(millis) => drop(script.after(millis)),
        Step::Read(max) => {
            script.end.read(max);
            script.drain();
        }
        Step::Close => drop(script.input(Input::Close)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever the peer does: while anything is unacknowledged, or waits for a window, a timer
    /// runs; and once the peer acknowledges what it gets, all of it is delivered.
    #[test]
    fn something_always_happens_next(
        steps in prop::collection::vec(step(), 1..60),
        sack: bool,
        nagle: bool,
        [ecn, prr, rack, timestamps, eifel, frto, keep_sacks] in any::<[bool; 7]>(),
        congestion_control in prop::sample::select(vec!["reno", "newreno", "compound", "bbr"]),
    ) {
        let config = Config { sack, nagle, ecn, prr, rack, timestamps, eifel, frto, ..config() };
        let config = Config { keep_sacks, max_retries: 1_000, send_buffer: 50_000, ..config };
        let mut script = Script::established(config, congestion_control);
        let mut written = 0;
        for step in &steps {
            act(&mut script, &mut written, step);
            if script.end.state() == State::Closed {
                return Ok(());
            }
            if waits(&script.end, written) {
                prop_assert!(script.end.deadline().is_some(), "{:?}\n{:?}", step, script.end);
            }
        }
        for _ in 0..400 {
            if !waits(&script.end, written) {
                return Ok(());
            }
            let all = Step::Ack { by: u32::MAX, window: 60_000, sacks: Vec::new() };
            act(&mut script, &mut written, &all);
            script.after(Duration::from_secs(60).as_millis());
        }
        prop_assert!(script.events.contains(&Event::TimedOut), "never done: {:?}", script.end);
    }
}
