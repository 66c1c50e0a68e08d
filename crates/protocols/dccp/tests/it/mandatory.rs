//! Options that an end does not know or cannot bear: they are ignored, or reset the connection if
//! a Mandatory stands before them (RFC 4340 section 5.8.2).

use crate::validity::{forged, opened};
use bytes::Bytes;
use fairwave_dccp::{Event, Input, Packet, State};
use fairwave_machine::Machine;
use fairwave_wire::dccp::{Kind, Options, ResetCode, Seq48};

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
