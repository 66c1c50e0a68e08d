//! Packets to connections that a client has forgotten.

use super::*;
use fairwave_wire::dccp::{Kind, parse_in_udp};

/// The client opens its connection again after 15 s of silence. The server, whose application was
/// idle, learns with its next packet that its client no longer has the first one.
#[test]
fn a_server_learns_at_once_that_its_client_has_another_connection() {
    let mut pair = lasting();
    let first = pair.events[1].iter().find_map(|event| match event {
        PortEvent::Established(id) => Some(*id),
        _ => None,
    });
    pair.dead = vec![0, 1];
    pair.run_until(at(20_000));
    pair.dead.clear();
    pair.run_until(at(30_000));
    assert_eq!(pair.count(0, |event| matches!(event, PortEvent::Restored(_))), 1);
    assert_eq!(pair.count(1, |event| matches!(event, PortEvent::Ended(..))), 0);
    let data = Waiting { deadline: None, payload: Bytes::from_static(&[7; 500]) };
    pair.report(1, Fact::Send(first.expect("it was established"), data));
    // The first Reset, to a packet without an acknowledgement number, has none that is believed;
    // the Sync for it gets one that is (RFC 4340 section 7.5.6).
    pair.run_until(at(30_100));
    assert_eq!(pair.ended(1).0, End::Reset(ResetCode::NO_CONNECTION, [0; 3]));
    let (sent, received) = (pair.sent, pair.count(1, |it| matches!(it, PortEvent::Data(..))));
    pair.run_until(at(31_100));
    assert!(pair.sent >= sent + 95, "the present connection goes on");
    assert!(pair.count(1, |it| matches!(it, PortEvent::Data(..))) >= received + 95);
}

#[test]
fn resets_for_forgotten_connections_are_few_and_for_the_server_only() {
    let mut pair = lasting();
    pair.report(0, Fact::Moved(pair.addresses[0].ip()));
    pair.run_until(at(1_000));
    let [client, server] = pair.addresses;
    // A packet of a type, with a number of 48 bits, from the server's port.
    let packet = |kind: u8, port: u16, rest: usize| {
        let ([a, b], [c, d]) = (PORT.to_be_bytes(), port.to_be_bytes());
        let words = (16 + rest as u8) / 4;
        let header = [a, b, c, d, words, 0, 0, 0, kind << 1 | 1, 0, 0, 0, 0, 0, 0, 7];
        [&header[..], &vec![0; rest]].concat()
    };
    let mut resets = |ms: u64, from: SocketAddr, bytes: &[u8], count: usize| {
        for _ in 0..count {
            let (to, bytes) = (Some(client.ip()), bytes.to_vec());
            let datagram = Incoming { from, to, ecn: Ecn::NotEct, bytes };
            pair.ends[0].handle(at(ms), Fact::Arrived(datagram));
        }
        let answers = std::iter::from_fn(|| pair.ends[0].poll(at(ms)));
        let is_reset = |answer: &Outgoing| {
            let read = parse_in_udp(&answer.bytes).expect("it is a packet");
            let code = ResetCode::NO_CONNECTION;
            matches!(read.header.kind, Kind::Reset { code: it, .. } if it == code)
                && read.header.source_port == 5_000
                && answer.to == server
        };
        answers.filter(is_reset).count()
    };
    // Data is type 2 and Reset type 7; the first port was 5000.
    let (data, other_port) = (packet(2, 5_000, 0), packet(2, 5_001, 0));
    assert_eq!(resets(1_000, client, &data, 1), 0, "not the server's address");
    assert_eq!(resets(1_000, server, &other_port, 1), 0, "a port that it never had");
    assert_eq!(resets(1_000, server, &packet(7, 5_000, 12), 1), 0, "no Reset for a Reset");
    assert_eq!(resets(1_000, server, &data, 20), 8);
    assert_eq!(resets(1_900, server, &data, 20), 0);
    assert_eq!(resets(2_000, server, &data, 20), 8);
}
