//! Datagrams that wait to be sent when their connection is lost.

use super::*;

/// Datagrams that wait, and the first of them that waits for longer than the connection lasts.
const BURST: u8 = 60;
const BEHIND: u8 = 30;

/// Has the client send a burst that congestion control holds back. The first byte of a datagram is
/// its number; those with odd numbers have a deadline.
fn burst(pair: &mut Pair, deadline: Instant) -> Id {
    let id = pair.open().expect("it is established");
    pair.is_stopped = true;
    for number in 1..=BURST {
        let payload = Bytes::from(vec![number; 500]);
        let deadline = (number % 2 == 1).then_some(deadline);
        pair.report(0, Fact::Send(id, Waiting { deadline, payload }));
    }
    id
}

/// Numbers of the burst that arrived at the server.
fn arrived(pair: &Pair) -> Vec<u8> {
    let number = |event: &PortEvent| match event {
        PortEvent::Data(_, data) => Some(data[0]).filter(|number| *number > 0),
        _ => None,
    };
    pair.events[1].iter().filter_map(number).collect()
}

fn account(pair: &Pair, id: Id) -> Account {
    pair.ends[0].account(id).expect("it is there")
}

/// A server that was started again answers data with "No Connection", which the client believes
/// after 40 ms. After 20 ms more the next connection is established; the deadline of every other
/// datagram passes in between.
#[test]
fn datagrams_that_wait_go_over_to_the_connection_after_a_reset() {
    let mut pair = lasting();
    let before = pair.open().map(|id| account(&pair, id)).expect("it is established");
    let id = burst(&mut pair, at(350));
    pair.ends[1] = Connections::new(settings(Over::Udp, pair.addresses, 3, false));
    pair.run_until(at(3_000));
    assert_eq!(pair.count(0, |event| matches!(event, PortEvent::Restored(_))), 1);
    let arrived = arrived(&pair);
    let behind: Vec<u8> = arrived.iter().copied().filter(|number| *number >= BEHIND).collect();
    let in_time: Vec<u8> = (BEHIND..=BURST).filter(|number| number % 2 == 0).collect();
    assert_eq!(behind, in_time, "{arrived:?}");
    let after = account(&pair, id);
    let sent = after.stats.data_packets_sent - before.stats.data_packets_sent;
    let Dropped { too_old, .. } = after.dropped;
    assert_eq!(after.dropped, Dropped { too_old, ..Dropped::default() });
    assert_eq!((sent + too_old, after.stats.unsent), (BURST.into(), too_old), "{arrived:?}");
    assert_eq!(pair.ends[0].queued(id), Some(0));
}

/// The sequence number of the Reset, 7, is not in the window.
#[test]
fn a_forged_reset_leaves_the_datagrams_in_their_order() {
    let mut pair = lasting();
    let id = burst(&mut pair, at(100_000));
    let (_, port) = pair.ends[0].ends(id).expect("it is there");
    let ([a, b], [c, d]) = (PORT.to_be_bytes(), port.to_be_bytes());
    let mut bytes = vec![a, b, c, d, 7, 0, 0, 0, 7 << 1 | 1, 0, 0, 0, 0, 0, 0, 7];
    bytes.extend([0, 0, 0, 0, 0, 0, 0, 7, ResetCode::NO_CONNECTION.0, 0, 0, 0]);
    let (from, to) = (pair.addresses[1], Some(pair.addresses[0].ip()));
    let before = (pair.ends[0].queued(id), account(&pair, id).stats.invalid);
    assert!(before.0 > Some(usize::from(BURST / 2)), "{before:?}");
    let forged = Incoming { from, to, ecn: Ecn::NotEct, bytes };
    pair.ends[0].handle(pair.now, Fact::Arrived(forged));
    let after = (pair.ends[0].queued(id), account(&pair, id).stats.invalid);
    assert_eq!(after, (before.0, before.1 + 1));
    pair.run_until(at(3_000));
    assert_eq!(arrived(&pair), (1..=BURST).collect::<Vec<_>>());
    assert_eq!(account(&pair, id).dropped, Dropped::default());
}

/// The driver hands over what arrived, and takes nothing to send while the socket is full.
#[test]
fn datagrams_that_arrived_outlive_their_connection() {
    for is_moved in [true, false] {
        let mut pair = lasting();
        pair.is_stopped = true;
        pair.run_until(at(1_000));
        let payload = Bytes::from_static(b"data");
        let id = pair.ends[1].newest().expect("it is there");
        pair.report(1, Fact::Send(id, Waiting { deadline: None, payload: payload.clone() }));
        let (_, _, datagram) = pair.under_way.pop_back().expect("it is under way");
        pair.ends[0].handle(pair.now, Fact::Arrived(datagram));
        let local = pair.addresses[0].ip();
        pair.report(0, if is_moved { Fact::Moved(local) } else { Fact::Start });
        let is_data = |event: &PortEvent| matches!(event, PortEvent::Data(_, it) if *it == payload);
        assert_eq!(pair.count(0, is_data), 1, "{is_moved}");
    }
}

/// A connection that ends for good drops them, and counts them.
#[test]
fn datagrams_that_wait_at_the_end_are_counted() {
    for is_replaced in [false, true] {
        let mut pair = unlimited(3);
        if is_replaced {
            pair.report(0, Fact::Start);
        } else {
            pair.dead = vec![0, 1];
            pair.run_until(at(16_000));
        }
        let (end, account) = pair.ended(0);
        assert_eq!(end, if is_replaced { End::Closed } else { End::TimedOut });
        let dropped = Dropped { closed: 4, ..Dropped::default() };
        assert_eq!((account.dropped, account.stats.unsent), (dropped, 4));
    }
}
