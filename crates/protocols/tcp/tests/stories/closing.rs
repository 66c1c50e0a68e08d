//! Closing: RFC 9293 section 3.6.

use crate::script::{ACK, FIN_ACK, IRS, ISS, Script, config};
use fairwave_tcp::{Event, Input, State, Virtual};

/// Section 3.6, figure 12, and TIME-WAIT: a FIN that comes again starts it anew.
#[test]
fn this_end_closes_first() {
    let mut script = Script::established(config(), "newreno");
    script.input(Input::Write(Virtual(10)));
    let fin = script.input(Input::Close).remove(0).header;
    assert_eq!((fin.flags.fin, fin.seq), (true, ISS + 11));
    assert_eq!(script.end.state(), State::FinWait1);
    let mut ack = script.header(ACK);
    ack.ack = ISS + 12;
    script.arrive(ack, 0);
    assert_eq!(script.end.state(), State::FinWait2);
    assert_eq!(script.end.stats().bytes_acked, 10, "the FIN is no data");
    let mut their_fin = script.header(FIN_ACK);
    their_fin.ack = ISS + 12;
    assert_eq!(script.arrive(their_fin, 0)[0].header.ack, IRS + 2);
    assert_eq!(script.end.state(), State::TimeWait);
    script.after(50_000);
    assert_eq!(script.arrive(their_fin, 0)[0].header.ack, IRS + 2);
    script.after(59_999);
    assert_eq!(script.end.state(), State::TimeWait);
    script.after(1);
    assert_eq!(script.events.last(), Some(&Event::Closed));
}

/// The peer closes first; this end may still send.
#[test]
fn the_peer_closes_first() {
    let mut script = Script::established(config(), "newreno");
    let ack = script.arrive(script.header(FIN_ACK), 0).remove(0).header;
    assert_eq!((ack.ack, script.end.state()), (IRS + 2, State::CloseWait));
    assert_eq!(script.write(1), [0]);
    let fin = script.input(Input::Close).remove(0).header;
    assert!(fin.flags.fin && script.end.state() == State::LastAck);
    let mut last = script.header(ACK);
    last.seq = IRS + 2;
    last.ack = ISS + 1002;
    script.arrive(last, 0);
    assert_eq!(script.events.last(), Some(&Event::Closed));
}

/// Section 3.6, figure 13.
#[test]
fn both_close_at_once() {
    let mut script = Script::established(config(), "newreno");
    script.input(Input::Close);
    script.arrive(script.header(FIN_ACK), 0);
    assert_eq!(script.end.state(), State::Closing);
    let mut ack = script.header(ACK);
    ack.seq = IRS + 2;
    ack.ack = ISS + 2;
    script.arrive(ack, 0);
    assert_eq!(script.end.state(), State::TimeWait);
}

/// A FIN out of order waits for the data before it.
#[test]
fn an_early_fin_waits() {
    let mut script = Script::established(config(), "newreno");
    let mut fin = script.header(FIN_ACK);
    fin.seq = IRS + 1 + 1000;
    script.arrive(fin, 0);
    assert_eq!(script.end.state(), State::Established);
    assert_eq!(script.data(0).remove(0).header.ack, IRS + 1002);
    assert_eq!(script.end.state(), State::CloseWait);
}
