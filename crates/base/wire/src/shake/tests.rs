//! Messages in hex, what is refused, and what every message keeps.

use super::*;
use crate::seal::{Forged, Key, TAG_LEN};
use crate::testing::{hex, unhex};
use proptest::prelude::*;
use std::num::{NonZeroU32, NonZeroU64};

fn key() -> Key {
    connection_key(&Key::new(&[7; 32]).unwrap(), 0x0102_0304_0506_0708)
}

fn header(from: Side, body: Body) -> Header {
    Header {
        connection: 0x0102_0304_0506_0708,
        from,
        path: 3,
        number: NonZeroU64::new(258).unwrap(),
        sent_us: 0x0a0b_0c0d,
        body,
    }
}

fn written(header: &Header, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    header.write(payload, &key(), &mut out).unwrap();
    assert_eq!(out.len(), header.len_with(payload.len()));
    out
}

fn block(offset: u32, len: u32) -> Block {
    Block { offset: NonZeroU32::new(offset).unwrap(), len: NonZeroU32::new(len).unwrap() }
}

/// The bytes of `header` but the seal, in hex without blanks.
fn plain(header: &Header, payload: &[u8]) -> String {
    let bytes = written(header, payload);
    let (covered, tag) = bytes.split_at(bytes.len() - TAG_LEN);
    assert_eq!(tag, key().tag("fairwave shake 1", &[covered]).0);
    hex(covered)
}

#[test]
fn the_last_data_in_hex() {
    let header = header(Side::Opener, Body::Data(Data { seq: 1460, fin: true }));
    let head = "4657736b 01 04 05 03 0102030405060708 0000000000000102 0a0b0c0d";
    let expected = format!("{head} 00000000000005b4 616263").replace(' ', "");
    assert_eq!(plain(&header, b"abc"), expected);
}

#[test]
fn an_acknowledgement_in_hex() {
    let echo = Some(Echo { number: NonZeroU64::new(77).unwrap(), sent_us: 9 });
    let blocks = [block(2920, 1460), block(1, 2)].into_iter().collect();
    let ack = Ack { cumulative: 4096, window: 65_536, echo, blocks };
    let head = "4657736b 01 05 00 03 0102030405060708 0000000000000102 0a0b0c0d";
    let body = "0000000000001000 00010000 000000000000004d 00000009 02
                00000b68 000005b4 00000001 00000002";
    let expected: String = format!("{head}{body}").split_whitespace().collect();
    assert_eq!(plain(&header(Side::Acceptor, Body::Ack(ack)), &[]), expected);
}

#[test]
fn the_messages_of_a_path_in_hex() {
    let tail = |from, body| plain(&header(from, body), &[])[2 * HEAD_LEN..].to_owned();
    let join = Body::Join(Join { open: true, nonce: 5, window: 6 });
    assert_eq!(tail(Side::Opener, join), "000000000000000500000006");
    assert_eq!(&plain(&header(Side::Opener, join), &[])[10..14], "0103");
    let challenge = Body::Challenge(Challenge { nonce: 8, answers: 5, window: 6 });
    assert_eq!(tail(Side::Acceptor, challenge), "0000000000000008000000000000000500000006");
    assert_eq!(tail(Side::Opener, Body::Response { answers: 8 }), "0000000000000008");
    let leave = Leave { path: 2, last: 258 };
    assert_eq!(tail(Side::Opener, Body::Leave(leave)), "020000000000000102");
    assert_eq!(tail(Side::Acceptor, Body::Left(leave)), "020000000000000102");
    assert_eq!(tail(Side::Acceptor, Body::Reset { reason: Reason::Violation }), "03");
}

/// What `parse` says of a message changed at `at`.
fn changed(body: Body, payload: &[u8], at: usize, to: u8) -> Error {
    let mut bytes = written(&header(Side::Opener, body), payload);
    bytes[at] = to;
    parse(&bytes).unwrap_err()
}

#[test]
fn what_is_no_message_says_why() {
    let data = Body::Data(Data { seq: 0, fin: false });
    let response = Body::Response { answers: 1 };
    assert_eq!(
        changed(data, b"x", 0, 0).to_string(),
        "no SHAKE message: it begins with [00, 57, 73, 6b]"
    );
    assert_eq!(changed(data, b"x", 4, 2).to_string(), "version 2 at offset 4, spoken is 1");
    assert_eq!(changed(data, b"x", 5, 9).to_string(), "kind 9 at offset 5 is unknown");
    assert_eq!(changed(data, b"x", 6, 3), Error::Flags { found: 2, kind: 4 });
    assert_eq!(changed(response, &[], 6, 5), Error::Flags { found: 4, kind: 3 });
    assert_eq!(changed(data, b"x", HEAD_LEN, 0x40), Error::Range { field: "sequence" });
    assert_eq!(changed(data, b"x", 5, 3), Error::Trailing { len: 1, kind: 3 });
    let reset = Body::Reset { reason: Reason::Abort };
    assert_eq!(changed(reset, &[], HEAD_LEN, 5), Error::Range { field: "reason" });
    let mut bytes = written(&header(Side::Opener, response), &[]);
    bytes[16..24].fill(0);
    assert_eq!(parse(&bytes).unwrap_err(), Error::Range { field: "number at offset 16" });
}

#[test]
fn an_acknowledgement_has_blocks_that_exist() {
    let blocks = [block(1, 1)].into_iter().collect();
    let ack = Body::Ack(Ack { cumulative: 0, window: 0, echo: None, blocks });
    let count = HEAD_LEN + 24;
    assert_eq!(changed(ack, &[], count, 9), Error::Range { field: "count of blocks" });
    assert_eq!(changed(ack, &[], count, 0), Error::Trailing { len: 8, kind: 5 });
    assert_eq!(changed(ack, &[], count + 4, 0), Error::Range { field: "offset of a block" });
    assert_eq!(changed(ack, &[], count + 8, 0), Error::Range { field: "length of a block" });
    assert!(matches!(changed(ack, &[], count, 2), Error::Truncated(_)));
    let of_nothing = Error::Range { field: "time echoed of no message" };
    assert_eq!(changed(ack, &[], count - 1, 1), of_nothing);
}

#[test]
fn what_cannot_be_read_is_not_written() {
    let refused = |body, payload: &[u8]| {
        let mut out = vec![1];
        let error = header(Side::Opener, body).write(payload, &key(), &mut out).unwrap_err();
        assert_eq!(out, [1]);
        error
    };
    let data = |seq, fin| Body::Data(Data { seq, fin });
    assert_eq!(refused(data(SEQ_LIMIT, false), b"x"), Error::Range { field: "sequence" });
    assert_eq!(refused(data(0, false), b""), Error::Range { field: "payload" });
    assert_eq!(
        refused(data(0, false), &[0; 65_456]),
        Error::TooLong { len: 65_508, most: MAX_LEN }
    );
    let response = Body::Response { answers: 1 };
    assert_eq!(refused(response, b"x"), Error::Trailing { len: 1, kind: 3 });
    let blocks = Blocks::default();
    let ack = Body::Ack(Ack { cumulative: SEQ_LIMIT, window: 0, echo: None, blocks });
    assert_eq!(refused(ack, b""), Error::Range { field: "cumulative acknowledgement" });
}

/// A message thrown back at its sender carries the other direction only with a broken seal.
#[test]
fn the_direction_and_the_connection_are_under_the_seal() {
    let mut bytes = written(&header(Side::Opener, Body::Response { answers: 1 }), &[]);
    let other = connection_key(&Key::new(&[7; 32]).unwrap(), 9);
    assert_eq!(parse(&bytes).unwrap().open(&other), Err(Forged));
    bytes[6] ^= 1;
    let claim = parse(&bytes).unwrap();
    assert_eq!(claim.unchecked().0.from, Side::Acceptor);
    assert_eq!(claim.open(&key()), Err(Forged));
}

#[test]
fn truncation_names_the_field() {
    let bytes = written(&header(Side::Opener, Body::Response { answers: 1 }), &[]);
    for len in 0..bytes.len() {
        assert!(matches!(parse(&bytes[..len]), Err(Error::Truncated(_))), "{len} bytes");
    }
    let printed = parse(&bytes[..30]).unwrap_err().to_string();
    assert_eq!(printed, "truncated seal at offset 28: needs 16 bytes, has 2");
    assert_eq!(
        parse(&unhex("4657736b01")).unwrap_err().to_string(),
        "truncated kind at offset 5: needs 1 bytes, has 0"
    );
}

fn bodies() -> impl Strategy<Value = (Body, Vec<u8>)> {
    let block = any::<(NonZeroU32, NonZeroU32)>().prop_map(|(offset, len)| Block { offset, len });
    let blocks = prop::collection::vec(block, 0..=MAX_BLOCKS);
    let blocks = blocks.prop_map(|blocks| blocks.into_iter().collect::<Blocks>());
    let echo = prop::option::of(any::<(NonZeroU64, u32)>());
    let echo = echo.prop_map(|echo| echo.map(|(number, sent_us)| Echo { number, sent_us }));
    let ack = (0..SEQ_LIMIT, any::<u32>(), echo, blocks)
        .prop_map(|(cumulative, window, echo, blocks)| Ack { cumulative, window, echo, blocks });
    let leave = any::<(u8, u64)>().prop_map(|(path, last)| Leave { path, last });
    let join = any::<(bool, u64, u32)>()
        .prop_map(|(open, nonce, window)| Body::Join(Join { open, nonce, window }));
    let challenge = any::<(u64, u64, u32)>()
        .prop_map(|(nonce, answers, window)| Body::Challenge(Challenge { nonce, answers, window }));
    let reasons = [Reason::Abort, Reason::NotReading, Reason::Violation, Reason::NoPath];
    let control = prop_oneof![
        join,
        challenge,
        any::<u64>().prop_map(|answers| Body::Response { answers }),
        ack.prop_map(Body::Ack),
        leave.clone().prop_map(Body::Leave),
        leave.prop_map(Body::Left),
        prop::sample::select(reasons.to_vec()).prop_map(|reason| Body::Reset { reason }),
    ];
    let payload = prop::collection::vec(any::<u8>(), 0..40);
    let data = (0..SEQ_LIMIT, any::<bool>(), payload).prop_map(|(seq, fin, payload)| {
        let fin = fin || payload.is_empty();
        (Body::Data(Data { seq, fin }), payload)
    });
    prop_oneof![control.prop_map(|body| (body, Vec::new())), data]
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        (body, payload) in bodies(), opener: bool, path: u8, number: NonZeroU64,
        connection: u64, sent_us: u32,
    ) {
        let from = if opener { Side::Opener } else { Side::Acceptor };
        let header = Header { connection, from, path, number, sent_us, body };
        let bytes = written(&header, &payload);
        let claim = parse(&bytes).unwrap();
        prop_assert_eq!(claim.connection(), connection);
        prop_assert_eq!(claim.open(&key()), Ok((header, payload.as_slice())));
    }

    #[test]
    fn no_change_goes_unnoticed((body, payload) in bodies(), at: prop::sample::Index, bit in 0..8) {
        let mut bytes = written(&header(Side::Acceptor, body), &payload);
        let at = at.index(bytes.len());
        bytes[at] ^= 1u8 << bit;
        if let Ok(claim) = parse(&bytes) {
            prop_assert_eq!(claim.open(&key()), Err(Forged));
        }
    }

    #[test]
    fn hostile_bytes_do_no_harm(
        bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 1..9u8,
    ) {
        let mut message = unhex("4657736b01000103");
        message[5] = kind;
        message.extend(bytes);
        if let Ok(claim) = parse(&message) {
            let (header, payload) = claim.unchecked();
            let again = written(&header, payload);
            prop_assert_eq!(&again[..again.len() - TAG_LEN], &message[..message.len() - TAG_LEN]);
        }
    }
}
