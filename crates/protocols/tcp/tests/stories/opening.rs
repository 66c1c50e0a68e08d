//! Handshakes.

use crate::script::{ACK, IRS, ISS, RST, SYN, SYN_ACK, Script, config};
use fairwave_tcp::{Config, Event, Input, State};
use fairwave_wire::tcp::Timestamps;

/// RFC 9293 section 3.5; options by RFC 7323 and RFC 2018, segment size by RFC 6691.
#[test]
fn an_active_open_settles_options() {
    let all = Config { timestamps: true, sack: true, window_scaling: true, ..config() };
    let mut script = Script::new(all, "newreno");
    let syn = script.input(Input::Open).remove(0).header;
    assert_eq!((syn.flags, syn.seq, syn.window), (SYN, ISS, 65_535));
    assert_eq!((syn.options.mss, syn.options.window_scale), (Some(1000), Some(7)));
    assert!(syn.options.sack_permitted && syn.options.timestamps.is_some());

    let mut answer = script.header(SYN_ACK);
    answer.seq = IRS;
    answer.options.mss = Some(700);
    answer.options.timestamps = Some(Timestamps { value: 5, echo: 0 });
    let ack = script.arrive(answer, 0).remove(0).header;
    assert_eq!((ack.flags, ack.seq, ack.ack), (ACK, ISS + 1, IRS + 1));
    assert_eq!(ack.options.timestamps.map(|t| t.echo), Some(5));
    // No scale was offered, so none is used.
    assert_eq!(ack.window, 65_535);
    // 700 less the timestamps option; ten of them.
    assert_eq!(script.end.stats().cwnd, 6_880);
    assert_eq!(script.events, [Event::Established]);
}

/// RFC 9293 section 3.5, figure 8.
#[test]
fn both_open_at_once() {
    let mut script = Script::new(config(), "newreno");
    script.input(Input::Open);
    let mut syn = script.header(SYN);
    syn.seq = IRS;
    let answer = script.arrive(syn, 0).remove(0).header;
    assert_eq!((answer.flags, answer.seq, answer.ack), (SYN_ACK, ISS, IRS + 1));
    assert_eq!(script.end.state(), State::SynReceived);
    let mut answer = script.header(SYN_ACK);
    answer.seq = IRS;
    script.arrive(answer, 0);
    assert_eq!(script.end.state(), State::Established);
}

/// RFC 9293 section 3.10.7.2 and .4: a listener refuses strays, and survives a reset.
#[test]
fn a_listener_waits_for_a_real_peer() {
    let mut script = Script::new(config(), "newreno");
    script.input(Input::Listen);
    let stray = script.header(ACK);
    let reset = script.arrive(stray, 0).remove(0).header;
    assert!(reset.flags.rst && reset.seq == stray.ack);
    let mut syn = script.header(SYN);
    syn.seq = IRS;
    assert_eq!(script.arrive(syn, 0)[0].header.flags, SYN_ACK);
    script.arrive(script.header(RST), 0);
    assert_eq!(script.end.state(), State::Listen);
    assert_eq!(script.arrive(syn, 0)[0].header.flags, SYN_ACK);
    script.arrive(script.header(ACK), 0);
    assert_eq!(script.end.state(), State::Established);
}

/// A listener for any peer takes the next one after a reset, whatever its port.
#[test]
fn a_reset_listener_takes_a_peer_of_another_port() {
    for (configured, source) in [(0, 40), (2, 2)] {
        let mut script = Script::new(Config { remote_port: configured, ..config() }, "newreno");
        script.input(Input::Listen);
        let syn = |port| {
            let mut syn = script.header(SYN);
            (syn.seq, syn.source_port) = (IRS, port);
            syn
        };
        let (first, second) = (syn(if configured == 0 { 30 } else { 2 }), syn(source));
        script.arrive(first, 0);
        let mut reset = script.header(RST);
        reset.source_port = first.source_port;
        script.arrive(reset, 0);
        assert_eq!(script.end.config().remote_port, configured);
        let answer = script.arrive(second, 0).remove(0).header;
        assert_eq!((answer.flags, answer.destination_port), (SYN_ACK, source));
    }
}

/// RFC 9293 section 3.10.4 deletes a listener that is closed: there is none to return to.
#[test]
fn a_reset_ends_a_listener_that_was_closed() {
    let mut script = Script::new(config(), "newreno");
    script.input(Input::Listen);
    let mut syn = script.header(SYN);
    syn.seq = IRS;
    script.arrive(syn, 0);
    script.input(Input::Close);
    script.arrive(script.header(RST), 0);
    assert_eq!((script.end.state(), &script.events[..]), (State::Closed, &[Event::Closed][..]));
}

/// RFC 9293 section 3.10.2: what is written in SYN-RECEIVED is queued until the connection is
/// established, and section 3.10.7.4 tells the user nothing of a reset meanwhile.
#[test]
fn data_written_before_a_reset_is_sent_to_the_next_peer() {
    let mut script = Script::new(config(), "newreno");
    script.input(Input::Listen);
    script.write(1);
    let mut syn = script.header(SYN);
    (syn.seq, syn.options.mss) = (IRS, Some(1_000));
    script.arrive(syn, 0);
    script.write(1);
    script.arrive(script.header(RST), 0);
    assert_eq!(script.end.state(), State::Listen);
    script.arrive(syn, 0);
    assert_eq!(script.ack(0), [0, 1]);
}

/// RFC 6298 sections (5.5) and (5.7); RFC 5681 section 3.1: after a lost SYN the first timeout
/// is at least 3 s and the initial window one segment.
#[test]
fn a_lost_syn_is_sent_again_and_remembered() {
    let mut script = Script::new(config(), "newreno");
    script.input(Input::Open);
    let again: Vec<u64> = script.after(8_000).iter().map(|(at, _)| *at).collect();
    assert_eq!(again, [1_000, 3_000, 7_000]);
    let mut answer = script.header(SYN_ACK);
    answer.seq = IRS;
    script.arrive(answer, 0);
    assert_eq!(script.end.stats().rto.as_millis(), 3_000);
    assert_eq!(script.write(5), [0]);
}

/// RFC 9293 section 3.10.7.3.
#[test]
fn a_refused_open_ends() {
    let mut script = Script::new(config(), "newreno");
    script.input(Input::Open);
    let mut reset = script.header(RST);
    script.arrive(reset, 0);
    assert_eq!(script.end.state(), State::SynSent);
    reset.flags.ack = true;
    script.arrive(reset, 0);
    assert_eq!(script.events, [Event::Reset]);
    assert!(script.after(100_000).is_empty());
}
