//! Peers that are silent, or seem to be.

use super::*;

/// Reasons for which connections of an end are over.
fn ends(pair: &Pair, end: usize) -> Vec<End> {
    let ended = |event: &PortEvent| match event {
        PortEvent::Ended(_, end, _) => Some(*end),
        _ => None,
    };
    pair.events[end].iter().filter_map(ended).collect()
}

/// The first connection of an end.
fn opened(pair: &Pair, end: usize) -> Id {
    let established = |event: &PortEvent| match event {
        PortEvent::Established(id) => Some(*id),
        _ => None,
    };
    pair.events[end].iter().find_map(established).expect("it was established")
}

fn restored(pair: &Pair) -> usize {
    pair.count(0, |event| matches!(event, PortEvent::Restored(_)))
}

/// The way back breaks, or nobody sends anything: the end that gives up resets the other one, which
/// takes that as a loss, too, and waits or connects again.
#[test]
fn both_ends_of_a_lost_connection_wait_for_another() {
    let mut pair = lasting();
    pair.dead = vec![1];
    pair.run_until(at(15_600));
    pair.dead.clear();
    pair.run_until(at(20_000));
    assert_eq!(restored(&pair), 1);
    assert_eq!(ends(&pair, 1), [End::Reset(ResetCode::NO_CONNECTION, [0; 3])]);
    // The end that sends once more, without an answer, has been idle for longer than the other one.
    for end in [0, 1] {
        let mut pair = lasting();
        pair.is_stopped = true;
        pair.run_until(at(10_000));
        pair.dead = vec![1 - end];
        let data = Waiting { deadline: None, payload: Bytes::from_static(&[7; 500]) };
        let id = opened(&pair, end);
        pair.report(end, Fact::Send(id, data));
        pair.run_until(at(11_000));
        pair.dead.clear();
        pair.run_until(at(155_000));
        assert_eq!((restored(&pair), ends(&pair, 0)), (1, Vec::new()), "end {end}");
        let others = ends(&pair, 1);
        assert!(others.len() == 1 && others[0].is_loss(), "end {end}: {others:?}");
    }
}

/// An application closes a connection whose peer gets its packets, while those of the peer are
/// lost. The close is no loss of the connection, and the client opens no other one.
#[test]
fn a_connection_that_was_closed_is_not_opened_again() {
    let mut pair = lasting();
    // Resets that acknowledge old packets are not believed.
    pair.is_stopped = true;
    let id = opened(&pair, 1);
    pair.dead = vec![0];
    pair.report(1, Fact::Close(id));
    pair.run_until(at(1_300));
    pair.report(1, Fact::Abandon);
    pair.run_until(at(1_400));
    assert_eq!(
        (restored(&pair), ends(&pair, 0)),
        (0, vec![End::Reset(ResetCode::ABORTED, [0; 3])])
    );
}

/// An application that is silent for long begins with a burst. The answers take a round trip; what
/// was sent before, acknowledgements or a datagram that got lost, does not count.
#[test]
fn a_burst_after_a_long_silence_ends_no_connection() {
    for (ccid, before) in [(2, 0), (3, 0), (2, 1), (3, 1)] {
        let mut pair = Pair::new(Over::Ip, false, ccid);
        pair.is_stopped = true;
        pair.report(0, Fact::Start);
        pair.run_until(at(1_000));
        let id = opened(&pair, 0);
        let send = |pair: &mut Pair, count| {
            let data = Waiting { deadline: None, payload: Bytes::from_static(&[7; 500]) };
            (0..count).for_each(|_| pair.report(0, Fact::Send(id, data.clone())));
        };
        pair.dead = vec![0];
        send(&mut pair, before);
        pair.run_until(at(20_000));
        pair.dead.clear();
        send(&mut pair, 10);
        pair.run_until(at(30_000));
        assert_eq!(ends(&pair, 0), [], "CCID {ccid}, {before} lost");
        assert_eq!(pair.count(1, |event| matches!(event, PortEvent::Data(..))), 10, "CCID {ccid}");
    }
}

/// A datagram each 10 s, and the server's program is gone: its host answers each with ICMP, which
/// counts once two others were not answered.
#[test]
fn icmp_ends_a_connection_that_sends_rarely() {
    let mut pair = Pair::new(Over::Ip, false, 3);
    pair.is_stopped = true;
    pair.report(0, Fact::Start);
    pair.run_until(at(1_000));
    pair.dead = vec![0];
    let id = opened(&pair, 0);
    for second in [1, 11, 21] {
        assert_eq!(ends(&pair, 0), [], "{second}");
        pair.run_until(at(second * 1_000));
        let data = Waiting { deadline: None, payload: Bytes::from_static(&[7; 500]) };
        pair.report(0, Fact::Send(id, data));
        pair.report(0, Fact::Refused);
    }
    assert_eq!(ends(&pair, 0), [End::Refused]);
}

/// The acknowledgement of two datagrams is lost, and the application pauses.
#[test]
fn icmp_ends_no_connection_that_lost_one_acknowledgement() {
    let mut pair = Pair::new(Over::Ip, false, 3);
    pair.is_stopped = true;
    pair.report(0, Fact::Start);
    pair.run_until(at(1_000));
    pair.dead = vec![1];
    let id = opened(&pair, 0);
    for _ in 0..2 {
        let data = Waiting { deadline: None, payload: Bytes::from_static(&[7; 500]) };
        pair.report(0, Fact::Send(id, data));
    }
    pair.run_until(at(7_000));
    pair.report(0, Fact::Refused);
    assert_eq!(ends(&pair, 0), []);
}

/// Anybody can forge ICMP; a client that only acknowledges waits for no answer.
#[test]
fn icmp_ends_no_idle_connection() {
    let mut pair = Pair::new(Over::Ip, false, 3);
    pair.is_stopped = true;
    pair.report(0, Fact::Start);
    pair.run_until(at(20_000));
    pair.report(0, Fact::Refused);
    assert_eq!(ends(&pair, 0), []);
}
