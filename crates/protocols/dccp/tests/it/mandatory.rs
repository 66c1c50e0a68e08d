//! Options that an end does not know or cannot bear: they are ignored, or reset the connection if
//! a Mandatory stands before them (RFC 4340 section 5.8.2).

use crate::common::{MS, Pair};
use crate::validity::{forged, opened};
use bytes::Bytes;
use fairwave_dccp::{Config, Event, Input, Packet, State};
use fairwave_machine::Machine;
use fairwave_machine::line::End::{A, B};
use fairwave_machine::line::{Line, Wire};
use fairwave_units::Seed;
use fairwave_wire::dccp::{Kind, Options, ResetCode, Seq48};
use fairwave_wire::seal::Key;
use std::mem;

const UNKNOWN: ResetCode = ResetCode::MANDATORY_ERROR;
const WRONG: ResetCode = ResetCode::OPTION_ERROR;

/// Options of a packet by CCID 2, and the Reset for them: its code, the type of the option and the
/// first two bytes of its data (section 5.6).
const RESETS: [(&[u8], ResetCode, [u8; 3]); 12] = [
    // Types that nobody knows: of one byte, without data, and with some.
    (&[1, 20], UNKNOWN, [20, 0, 0]),
    (&[1, 45, 2], UNKNOWN, [45, 0, 0]),
    (&[1, 60, 4, 7, 9], UNKNOWN, [60, 7, 9]),
    (&[2, 1, 60, 5, 7, 9, 9], UNKNOWN, [60, 7, 9]),
    // Features that nobody knows.
    (&[1, 32, 4, 99, 1], UNKNOWN, [32, 99, 1]),
    (&[1, 34, 4, 99, 1], UNKNOWN, [34, 99, 1]),
    // A type that is known, with data that it does not have.
    (&[1, 41, 5, 8, 0, 0], UNKNOWN, [41, 8, 0]),
    // Options of congestion control: of none, of CCID 3, and a notice of a handover.
    (&[1, 200, 3, 5], UNKNOWN, [200, 5, 0]),
    (&[1, 194, 6, 9, 8, 0, 0], UNKNOWN, [194, 9, 8]),
    (&[1, 184, 9, 2, 3, 0, 0, 0, 0, 0], UNKNOWN, [184, 2, 3]),
    // Nothing behind a Mandatory, and another one.
    (&[2, 2, 2, 1], WRONG, [1, 0, 0]),
    (&[1, 1, 2], WRONG, [1, 0, 0]),
];

/// Options that change nothing: the same without a Mandatory, such that are known, padding, and a
/// length beyond the end.
const IGNORED: [&[u8]; 11] = [
    &[20],
    &[45, 2],
    &[60, 4, 7, 9],
    &[41, 5, 8, 0, 0],
    &[200, 3, 5],
    &[194, 6, 9, 8, 0, 0],
    &[184, 9, 2, 3, 0, 0, 0, 0, 0],
    &[1, 2],
    &[1, 41, 6, 0, 0, 0, 1],
    &[1, 0, 1, 0],
    &[2, 60, 90, 1, 20],
];

/// The Resets among the answers of an end: acknowledged number, code and data.
fn resets(packets: impl Iterator<Item = Packet<Bytes>>) -> Vec<(Seq48, ResetCode, [u8; 3])> {
    let reset = |packet: Packet<Bytes>| match packet.header.kind {
        Kind::Reset { ack, code, data } => Some((ack, code, data)),
        _ => None,
    };
    packets.filter_map(reset).collect()
}

/// An open connection whose server gets a packet; the server's Resets, and its state.
fn answered(
    kind: impl Fn(Seq48) -> Kind,
    bytes: &[u8],
) -> (Vec<(ResetCode, [u8; 3])>, State, bool) {
    let mut pair = opened(false, 8);
    let (seq, ack) = (pair.b.greatest_received() + 1, pair.b.greatest_sent());
    let packet = forged(kind(ack), seq, false, Options::from_bytes(bytes));
    pair.b.handle(pair.now, Input::Packet(packet));
    let found = resets(std::iter::from_fn(|| pair.b.poll(pair.now)));
    assert!(found.iter().all(|(ack, ..)| *ack == seq), "{found:?}");
    let has_failed = std::iter::from_fn(|| pair.b.event())
        .any(|event| matches!(event, Event::Failed { code } if code == found[0].1));
    let found = found.into_iter().map(|(_, code, data)| (code, data)).collect();
    (found, pair.b.state(), has_failed)
}

#[test]
fn an_open_connection_is_reset_and_ignores_the_rest() {
    for kind in [
        |ack| Kind::Ack { ack },
        |ack| Kind::DataAck { ack },
        |ack| Kind::Sync { ack },
        |ack| Kind::SyncAck { ack },
    ] {
        for (bytes, code, data) in RESETS {
            let found = answered(kind, bytes);
            assert_eq!(found, (vec![(code, data)], State::Closed, true), "{bytes:?}");
        }
        for bytes in IGNORED {
            assert_eq!(answered(kind, bytes), (Vec::new(), State::Open, false), "{bytes:?}");
        }
    }
}

/// RFC 4340 section 5.8.2: a blind attacker could end connections with a packet of data, whose
/// number alone counts.
#[test]
fn packets_of_data_reset_nothing() {
    for bytes in RESETS.iter().map(|(bytes, ..)| *bytes).chain(IGNORED) {
        let found = answered(|_| Kind::Data, bytes);
        assert_eq!(found, (Vec::new(), State::Open, false), "{bytes:?}");
    }
}

fn fresh(config: Config) -> Pair {
    let line = Line::symmetric(Seed(1), Wire { delay: MS(10), ..Wire::default() });
    Pair::new([Config::default(), config], [100, 9000], line)
}

/// With state and without: a listener that sends Init Cookies reads the Request alike.
#[test]
fn a_request_is_refused() {
    let key = Key::new(b"sixteen bytes it").expect("long enough");
    for cookie in [None, Some(key)] {
        let listener = || {
            let mut pair = fresh(Config { cookie: cookie.clone(), ..Config::default() });
            pair.input(B, Input::Listen);
            pair
        };
        let seq = Seq48::new(500);
        let request = |bytes| {
            let options = Options::from_bytes(bytes);
            Input::Packet(forged(Kind::Request { service: 0 }, seq, false, options))
        };
        for (bytes, code, data) in RESETS {
            let mut pair = listener();
            pair.input(B, request(bytes));
            let sent = mem::take(&mut pair.sent).into_iter().map(|(.., packet)| packet);
            assert_eq!(resets(sent), [(seq, code, data)], "{bytes:?}, {cookie:?}");
        }
        for bytes in IGNORED {
            let mut pair = listener();
            pair.input(B, request(bytes));
            let kinds: Vec<_> = pair.sent.iter().map(|(.., packet)| packet.header.kind).collect();
            let is_response = matches!(kinds[..], [Kind::Response { .. }]);
            assert!(is_response, "{bytes:?}, {cookie:?}: {kinds:?}");
        }
    }
}

/// The Reset acknowledges the Response: with the number 0 of a client that has received nothing,
/// the server would not believe it.
#[test]
fn a_response_is_refused() {
    let (iss, seq) = (Seq48::new(100), Seq48::new(9000));
    let answered = |bytes: &[u8]| {
        let mut pair = fresh(Config::default());
        pair.input(A, Input::Open);
        pair.sent.clear();
        let kind = Kind::Response { ack: iss, service: 0 };
        let mut response = forged(kind, seq, false, Options::from_bytes(bytes));
        let header = &mut response.header;
        mem::swap(&mut header.source_port, &mut header.destination_port);
        pair.input(A, Input::Packet(response));
        pair
    };
    for (bytes, code, data) in RESETS {
        let mut pair = answered(bytes);
        let sent = mem::take(&mut pair.sent).into_iter().map(|(.., packet)| packet);
        assert_eq!(resets(sent), [(seq, code, data)], "{bytes:?}");
        assert_eq!(pair.events, [(A, Event::Failed { code })], "{bytes:?}");
    }
    for bytes in IGNORED {
        let pair = answered(bytes);
        assert_eq!(pair.a.state(), State::PartOpen, "{bytes:?}");
        assert_eq!(pair.events, [(A, Event::Established)], "{bytes:?}");
    }
}
