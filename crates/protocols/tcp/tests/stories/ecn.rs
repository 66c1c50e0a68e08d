//! Explicit congestion notification (RFC 3168 section 6.1).

use crate::script::{ACK, IRS, SYN, SYN_ACK, Script, config, numbers};
use fairwave_tcp::{Config, Input, State, Virtual};
use fairwave_wire::ipv4::Ecn;
use fairwave_wire::tcp::Flags;

/// Section 6.1.1: the SYN has ECE and CWR, the SYN-ACK ECE alone, and neither is ECN-capable.
#[test]
fn an_active_open_offers_ecn_and_takes_a_right_answer() {
    for (ece, cwr, agreed) in [(true, false, true), (false, false, false), (true, true, false)] {
        let mut script = Script::new(with_ecn(), "newreno");
        let syn = script.input(Input::Open).remove(0);
        assert_eq!(syn.header.flags, Flags { ece: true, cwr: true, ..SYN });
        assert_eq!(syn.ecn, Ecn::NotEct);
        let mut answer = script.header(SYN_ACK);
        (answer.seq, answer.flags.ece, answer.flags.cwr) = (IRS, ece, cwr);
        let ack = script.arrive(answer, 0).remove(0);
        assert_eq!((ack.header.flags, ack.ecn), (ACK, Ecn::NotEct));
        let data = script.input(Input::Write(Virtual(1_000))).remove(0);
        assert_eq!(data.ecn == Ecn::Ect0, agreed, "ece {ece} cwr {cwr}");
    }
}

/// Section 6.1.1: a listener answers an ECN-setup SYN, and no other, with ECE.
#[test]
fn a_passive_open_answers_an_offer() {
    let offer = Flags { ece: true, cwr: true, ..SYN };
    for (config, flags, agreed) in [
        (with_ecn(), offer, true),
        (with_ecn(), SYN, false),
        (with_ecn(), Flags { ece: true, ..SYN }, false),
        (config(), offer, false),
    ] {
        let mut script = Script::new(config, "newreno");
        script.input(Input::Listen);
        let mut syn = script.header(flags);
        syn.seq = IRS;
        let answer = script.arrive(syn, 0).remove(0);
        assert_eq!(answer.header.flags, Flags { ece: agreed, ..SYN_ACK });
        script.ack(0);
        assert_eq!(script.end.state(), State::Established);
        let data = script.input(Input::Write(Virtual(1_000))).remove(0);
        assert_eq!(data.ecn == Ecn::Ect0, agreed, "{flags:?}");
    }
}

/// Section 6.1.2: the window halves once for all marks of a window, the first new segment says
/// CWR, and echoes of data sent before it mean nothing new.
#[test]
fn marks_halve_the_window_once_and_cwr_says_so() {
    let (mut script, sent) = Script::sending(with_ecn(), "newreno", 60);
    assert_eq!(sent.len(), 10);
    assert_eq!(numbers(&script.ack_ece(1)), []);
    assert_eq!((script.window_segments(), script.ssthresh_segments()), (5, 5));
    for n in 2..5 {
        assert_eq!(numbers(&script.ack_ece(n)), []);
    }
    // Five of ten are out, the window is five: each ACK now lets one go, the first with CWR.
    let first = script.ack_ece(6);
    assert_eq!(numbers(&first), [10]);
    assert!(first[0].header.flags.cwr && first[0].ecn == Ecn::Ect0);
    let second = script.ack_ece(7);
    assert!(numbers(&second) == [11] && !second[0].header.flags.cwr);
    // All that was out at the reduction: still before CWR.
    script.ack_ece(10);
    assert_eq!(script.end.stats().ecn_responses, 1);
    // The CWR segment is acknowledged and ECE is still there: a new mark.
    script.ack_ece(11);
    assert_eq!(script.end.stats().ecn_responses, 2);
    assert_eq!(script.end.stats().retransmissions, 0);
}

/// Section 6.1.2: where one ACK acknowledges all that was out at a reduction and the segment with
/// CWR, its echo is of a new mark, and the window halves again.
#[test]
fn a_mark_beyond_the_reduction_halves_the_window() {
    for algorithm in ["newreno", "cubic", "compound"] {
        let (mut script, _) = Script::sending(with_ecn(), algorithm, 60);
        for n in [1, 2, 3, 4, 6, 7] {
            script.ack_ece(n);
        }
        let window = script.window_segments();
        script.ack_ece(11);
        assert_eq!(script.end.stats().ecn_responses, 2, "{algorithm}");
        assert!(script.window_segments() < window, "{algorithm}: {window} stays");
    }
}

/// Section 6.1.2: an ACK with the echo does not widen the window, even where it is no cause to
/// reduce it.
#[test]
fn an_echo_does_not_widen_the_window() {
    let (mut script, _) = Script::sending(with_ecn(), "newreno", 60);
    script.ack_ece(1);
    let window = script.end.stats().cwnd;
    for n in 2..=10 {
        script.ack_ece(n);
    }
    assert_eq!(script.end.stats().cwnd, window);
}

/// Section 6.1.2: a loss in the same window is answered once, and CWR tells of that reduction too.
#[test]
fn a_loss_silences_the_marks_of_its_window() {
    let (mut script, _) = Script::sending(with_ecn(), "newreno", 60);
    for _ in 0..3 {
        script.ack(0);
    }
    assert_eq!(script.ssthresh_segments(), 5);
    script.ack_ece(4);
    assert_eq!((script.ssthresh_segments(), script.end.stats().ecn_responses), (5, 0));
    let sent = script.ack_ece(12);
    assert!(sent[0].header.flags.cwr, "{sent:?}");
}

/// Section 6.1.5: what is sent again is not ECN-capable, and says no CWR.
#[test]
fn retransmissions_are_not_ecn_capable() {
    let (mut script, _) = Script::sending(with_ecn(), "newreno", 10);
    let again = script.after(1_000).remove(0).1;
    assert_eq!((numbers(std::slice::from_ref(&again)), again.ecn), (vec![0], Ecn::NotEct));
    assert!(!again.header.flags.cwr);
}

/// Section 6.1.6: nor are window probes.
#[test]
fn window_probes_are_not_ecn_capable() {
    let (mut script, _) = Script::sending(with_ecn(), "newreno", 10);
    script.window = 0;
    script.ack(10);
    script.write(2);
    let probe = script.after(1_100).remove(0).1;
    assert_eq!((probe.payload.0, probe.ecn), (1, Ecn::NotEct));
}

/// Section 6.1.3: once marked, every ACK has ECE until CWR comes; CWR on a marked segment ends
/// one echo and begins the next.
#[test]
fn the_receiver_echoes_until_cwr() {
    let mut script = Script::established(with_ecn(), "newreno");
    let mut echoes = Vec::new();
    for (n, (mark, cwr)) in [
        (false, false),
        (true, false),
        (false, false),
        (false, false),
        (false, true),
        (false, false),
        (true, true),
        (false, false),
    ]
    .into_iter()
    .enumerate()
    {
        script.ecn = if mark { Ecn::Ce } else { Ecn::Ect0 };
        let mut header = script.header(Flags { cwr, ..ACK });
        header.seq = IRS + 1 + n as u32 * 1_000;
        let mut sent = script.arrive(header, 1_000);
        sent.extend(script.after(200).into_iter().map(|(_, segment)| segment));
        assert_eq!(sent.len(), 1);
        echoes.push(sent[0].header.flags.ece);
        assert_eq!(sent[0].ecn, Ecn::NotEct);
    }
    assert_eq!(echoes, [false, true, true, true, false, false, true, true]);
}

/// Section 6.1.5: a mark outside the window, where anybody may have sent it, is not believed.
#[test]
fn marks_outside_the_window_are_ignored() {
    let mut script = Script::established(with_ecn(), "newreno");
    script.ecn = Ecn::Ce;
    let sent = script.data(100);
    assert!(sent.len() == 1 && !sent[0].header.flags.ece, "{sent:?}");
}

/// Without agreement marks and echoes mean nothing.
#[test]
fn without_agreement_nothing_is_echoed_or_answered() {
    let (mut script, sent) = Script::sending(config(), "newreno", 30);
    assert_eq!(sent.len(), 10);
    let data = script.ack_ece(1);
    assert_eq!((script.end.stats().ecn_responses, script.window_segments()), (0, 11));
    assert!(data.iter().all(|s| s.ecn == Ecn::NotEct), "{data:?}");
    script.ecn = Ecn::Ce;
    let mut acks = script.data(0);
    acks.extend(script.data(1));
    assert!(acks.len() == 1 && !acks[0].header.flags.ece, "{acks:?}");
}

fn with_ecn() -> Config {
    Config { ecn: true, ..config() }
}
