//! Messages in hex, what is refused, and what every message keeps.

use super::*;
use crate::seal::{Key, TAG_LEN};
use crate::testing::hex;
use fairwave_units::{BitRate, Duration, Instant};
use proptest::prelude::*;

fn key() -> Key {
    Key::new(&[7; 32]).unwrap()
}

fn written(message: &Message, len: usize) -> Vec<u8> {
    let mut out = Vec::new();
    message.write(0x0102_0304_0506_0708, &key(), len, &mut out).unwrap();
    out
}

fn record(number: u32, nanos: u64) -> Record {
    Record { number, arrived: Instant::from_nanos(nanos) }
}

#[test]
fn a_packet_of_data_in_hex() {
    let sent = Instant::from_nanos(0x11_2233);
    let bytes = written(&Message::Data { train: 2, number: 258, sent }, 50);
    assert_eq!(bytes.len(), 50);
    // Head: magic, version 1, kind 5, reserved, session. Body: train, number, time. Four zeros.
    let sealed = "46577062 01 05 0000 0102030405060708 0002 00000102 0000000000112233 00000000";
    assert_eq!(hex(&bytes[..34]), sealed.replace(' ', ""));
    assert_eq!(bytes[34..], key().tag("fairwave probe 1", &[&bytes[..34]]).0);
}

#[test]
fn an_order_in_hex() {
    let order = Order {
        train: 3,
        payload_bytes: 1_400,
        packets: 148,
        spaced: 20,
        interval: Duration::from_millis(5),
        rate: BitRate::mbps(100),
    };
    let bytes = written(&Message::Fetch(order), 0);
    let body = "0003 0578 00000094 00000014 00000000004c4b40 0000000005f5e100";
    assert_eq!(hex(&bytes[HEAD_LEN..bytes.len() - TAG_LEN]), body.replace(' ', ""));
    assert_eq!(open(&bytes, &key()), Ok((0x0102_0304_0506_0708, Message::Fetch(order))));
    assert!(Head::read(&bytes).is_ok_and(Head::is_within_session));
}

#[test]
fn a_report_counts_numbers_and_times_in_steps() {
    let records = vec![record(5, 1_000), record(6, 1_127), record(4, 1_127), record(300, 1_255)];
    let chunk = Chunk { train: 1, chunk: 3, chunks: 9, records };
    let bytes = written(&Message::Report(chunk.clone()), 0);
    // First in full; then +0 after 127, -3 (zigzag 5) after 0, +295 (zigzag 590) after 128.
    let body = "0001 0003 0009 0004 00000005 00000000000003e8 00 7f 05 00 ce04 8001";
    assert_eq!(hex(&bytes[HEAD_LEN..bytes.len() - TAG_LEN]), body.replace(' ', ""));
    assert_eq!(open(&bytes, &key()), Ok((0x0102_0304_0506_0708, Message::Report(chunk))));
}

#[test]
fn an_answer_to_a_greeting_is_not_longer_than_it() {
    let challenge = written(&Message::Challenge { cookie: [1; COOKIE_LEN] }, 0);
    assert_eq!(challenge.len(), CHALLENGE_LEN);
    let limits = Limits { rate: BitRate(1), packets: 1, duration: Duration::ZERO };
    let start = Message::Start { nonce: 1, cookie: [1; COOKIE_LEN], wanted: limits };
    let accept = Message::Accept { granted: limits };
    assert!(written(&accept, 0).len() < written(&start, 0).len());
    assert_eq!(written(&Message::Data { train: 0, number: 0, sent: Instant::ZERO }, 0).len(), 46);
}

#[test]
fn what_is_no_message_says_why() {
    let error = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = written(&Message::Done, 40);
        change(&mut bytes);
        let sealed = bytes.len().saturating_sub(TAG_LEN);
        let tag = key().tag(LABEL, &[&bytes[..sealed]]);
        bytes.truncate(sealed);
        bytes.extend(tag.0);
        open(&bytes, &key()).unwrap_err().to_string()
    };
    let magic = error(&|b| b[0] = b'G');
    assert_eq!(magic, "no probe message: it begins with [47, 57, 70, 62]");
    assert_eq!(error(&|b| b[4] = 2), "version 2 at offset 4, spoken is 1");
    assert_eq!(error(&|b| b[5] = 77), "kind 77 at offset 5 is unknown");
    assert_eq!(error(&|b| b[7] = 1), "reserved at offset 6 is not zero");
    assert_eq!(error(&|b| b[20] = 1), "padding is not zero");
    let cookie = "truncated cookie at offset 16: needs 16 bytes, has 8";
    assert_eq!(error(&|b| b[5] = 2), cookie);
}

#[test]
fn arrivals_that_go_back_in_time_are_not_written() {
    let records = vec![record(0, 10), record(1, 9)];
    assert_eq!(records_that_fit(&records), 1);
    let chunk = Chunk { train: 0, chunk: 0, chunks: 1, records };
    let mut out = vec![1];
    let error = Message::Report(chunk).write(1, &key(), 0, &mut out).unwrap_err();
    assert_eq!((error.to_string().as_str(), out.len()), ("order of arrivals is out of range", 1));
}

#[test]
fn a_full_report_fits_its_length() {
    let far: Vec<Record> = (0..500).map(|n| record(n * 1_000, u64::from(n) << 50)).collect();
    for records in [far, (0..2_000).map(|n| record(n, u64::from(n) * 300_000)).collect()] {
        let fit = records_that_fit(&records);
        let length = |n: usize| {
            let records = records[..n].to_vec();
            written(&Message::Report(Chunk { train: 0, chunk: 0, chunks: 1, records }), 0).len()
        };
        assert!(length(fit) <= MAX_REPORT_LEN && length(fit + 1) > MAX_REPORT_LEN, "{fit}");
    }
}

prop_compose! {
    fn limits()(rate: u64, packets: u32, nanos: u64) -> Limits {
        Limits { rate: BitRate(rate), packets, duration: Duration::from_nanos(nanos) }
    }
}

prop_compose! {
    fn chunk()(
        train: u16, chunk: u16, chunks: u16,
        numbers in prop::collection::vec(any::<u32>(), 0..40),
        mut times in prop::collection::vec(any::<u64>(), 40),
    ) -> Chunk {
        times.sort_unstable();
        let records = numbers.iter().zip(times).map(|(n, at)| record(*n, at)).collect();
        Chunk { train, chunk, chunks, records }
    }
}

prop_compose! {
    fn order()(
        train: u16, payload_bytes: u16, packets: u32, spaced: u32, nanos: u64, rate: u64,
    ) -> Order {
        let interval = Duration::from_nanos(nanos);
        Order { train, payload_bytes, packets, spaced, interval, rate: BitRate(rate) }
    }
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        any::<u64>().prop_map(|nonce| Message::Hello { nonce }),
        any::<Cookie>().prop_map(|cookie| Message::Challenge { cookie }),
        (any::<u64>(), any::<Cookie>(), limits())
            .prop_map(|(nonce, cookie, wanted)| Message::Start { nonce, cookie, wanted }),
        limits().prop_map(|granted| Message::Accept { granted }),
        prop_oneof![Just(Refusal::Busy), Just(Refusal::Cookie)]
            .prop_map(|reason| Message::Refuse { reason }),
        (any::<u16>(), any::<u32>(), any::<u64>()).prop_map(|(train, number, sent)| {
            Message::Data { train, number, sent: Instant::from_nanos(sent) }
        }),
        (any::<u16>(), any::<u32>(), any::<u16>()).prop_map(|(train, sent, chunk)| Message::End {
            train,
            sent,
            chunk
        }),
        chunk().prop_map(Message::Report),
        Just(Message::Done),
        order().prop_map(Message::Fetch),
        (any::<u16>(), any::<u32>()).prop_map(|(train, packets)| Message::Sent { train, packets }),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_and_no_change_passes(
        message in message(), session: u64, len in 0..1_600_usize,
        bit: prop::sample::Index, cut: prop::sample::Index,
    ) {
        let mut bytes = Vec::new();
        message.write(session, &key(), len, &mut bytes).unwrap();
        prop_assert!(bytes.len() >= len);
        prop_assert_eq!(open(&bytes, &key()), Ok((session, message)));
        prop_assert!(open(&bytes, &session_key(&key(), session, 0, &[0; 16])).is_err());
        prop_assert!(open(&bytes[..cut.index(bytes.len())], &key()).is_err());
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(open(&bytes, &key()).is_err());
    }

    #[test]
    fn sealed_nonsense_does_not_panic(kind in 0..12_u8, body: Vec<u8>) {
        let mut bytes = [&MAGIC[..], &[VERSION, kind, 0, 0], &[0; 8], &body].concat();
        let tag = key().tag(LABEL, &[&bytes]);
        bytes.extend(tag.0);
        if let Ok((session, message)) = open(&bytes, &key()) {
            let mut again = Vec::new();
            message.write(session, &key(), 0, &mut again).unwrap();
            prop_assert_eq!(open(&again, &key()), Ok((session, message)));
        }
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
        prop_assert!(open(&bytes, &key()).is_err());
    }
}
