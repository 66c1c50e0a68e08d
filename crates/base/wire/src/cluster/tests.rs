//! Messages in hex, what is refused, and what every message keeps.

use super::*;
use crate::seal::{Forged, Key, TAG_LEN};
use crate::testing::{hex, unhex};
use fairwave_units::BitRate;
use proptest::prelude::*;
use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};

const BORROWER: u64 = 0x0102_0304_0506_0708;
const LENDER: u64 = 0x1112_1314_1516_1718;

fn key() -> Key {
    Key::new(&[7; 32]).unwrap()
}

fn member(id: u64) -> MemberId {
    MemberId(NonZeroU64::new(id).unwrap())
}

fn lease(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

fn message(body: Body) -> Message {
    let to = (!body.is_public()).then(|| member(LENDER));
    let number = NonZeroU64::new(258).unwrap();
    Message { cluster: 0x2122_2324_2526_2728, from: member(BORROWER), to, number, body }
}

fn written(message: &Message) -> Vec<u8> {
    let mut out = Vec::new();
    message.write(&key(), &mut out);
    assert_eq!(out.len(), message.body.message_len());
    out
}

/// The body's bytes in hex, after a look at the head and the seal.
fn body_of(body: Body, kind: &str) -> String {
    let message = message(body);
    let bytes = written(&message);
    let (covered, tag) = bytes.split_at(bytes.len() - TAG_LEN);
    assert_eq!(tag, key().tag("fairwave cluster 1", &[covered]).0);
    let to = if body.is_public() { "0000000000000000" } else { "1112131415161718" };
    let head = format!("4657636c01{kind}000021222324252627280102030405060708{to}0000000000000102");
    assert_eq!(hex(&covered[..HEAD_LEN]), head);
    hex(&covered[HEAD_LEN..])
}

fn rates(up: u64, down: u64) -> Rates {
    Rates { up: BitRate(up), down: BitRate(down) }
}

fn offer(uplink: u8) -> Offer {
    Offer {
        uplink,
        kind: Kind::Cellular,
        cost: Cost::Metered,
        places: 3,
        rtt_us: NonZeroU32::new(50_000),
        nominal: rates(20_000_000, 100_000_000),
        free: rates(5_000_000, 0),
    }
}

fn announce(offers: &[Offer]) -> Body {
    let mut list = Offers::default();
    assert!(offers.iter().all(|offer| list.push(*offer)));
    let name = Name::new("Ann's phone").unwrap();
    let interval_ds = NonZeroU16::new(50).unwrap();
    Body::Announce(Announce { name, interval_ds, offers: list })
}

#[test]
fn an_announcement_in_hex() {
    let body = body_of(announce(&[offer(2)]), "01");
    let fields = "0032 0b 416e6e27732070686f6e65 01 02 01 01 03 0000c350 \
                  0000000001312d00 0000000005f5e100 00000000004c4b40 0000000000000000";
    let fields: String = fields.split_whitespace().collect();
    assert_eq!(body[..fields.len()], fields);
    assert!(body[fields.len()..].chars().all(|digit| digit == '0'));
    assert_eq!(body.len() / 2, 252 - 40 - 16);
}

#[test]
fn the_largest_announcement_is_as_long_as_any() {
    let name = Name::new(&"x".repeat(32)).unwrap();
    let mut offers = Offers::default();
    assert!((0..4).all(|uplink| offers.push(offer(uplink))));
    assert!(!offers.push(offer(4)), "a fifth");
    let interval_ds = NonZeroU16::MAX;
    let body = Body::Announce(Announce { name, interval_ds, offers });
    assert_eq!(written(&message(body)).len(), ANNOUNCE_LEN);
    assert_eq!(parse(&written(&message(body))).unwrap().unchecked().body, body);
}

#[test]
fn the_messages_that_open_a_session_in_hex() {
    let cookie = [0xcc; COOKIE_LEN];
    let of_cookie = format!("0000000000000009{}", "cc".repeat(16));
    assert_eq!(body_of(Body::Query, "02"), "00".repeat(196));
    assert_eq!(body_of(Body::Goodbye, "03"), "");
    let hello = format!("0000000000000009{}", "00".repeat(16));
    assert_eq!(body_of(Body::Hello { nonce: 9 }, "04"), hello);
    assert_eq!(body_of(Body::Challenge { nonce: 9, cookie }, "05"), of_cookie);
    assert_eq!(body_of(Body::Response { nonce: 9, cookie }, "06"), of_cookie);
    assert_eq!(body_of(Body::Welcome, "07"), "");
    let refuse = Body::Refuse { nonce: 9, reason: Refusal::NotLending };
    assert_eq!(body_of(refuse, "08"), "000000000000000903");
}

#[test]
fn the_messages_of_a_lease_in_hex() {
    let lease = lease(5);
    let ask = LeaseRequest {
        lease,
        uplink: 2,
        at_ms: 77,
        rates: rates(3, 4),
        bytes: 6,
        duration_ms: 30_000,
    };
    let rates_hex = "00000000000000030000000000000004";
    let expected = format!("00000005020000004d{rates_hex}000000000000000600007530");
    assert_eq!(body_of(Body::LeaseRequest(ask), "09"), expected);
    let duration_ms = NonZeroU32::new(30_000).unwrap();
    let grant = Grant { lease, at_ms: 77, rates: rates(3, 4), bytes: 6, duration_ms };
    let expected = format!("000000050000004d{rates_hex}000000000000000600007530");
    assert_eq!(body_of(Body::Grant(grant), "0a"), expected);
    let deny = Body::Deny { lease, reason: Denial::Policy, retry_ms: 1_000 };
    assert_eq!(body_of(deny, "0b"), "0000000504000003e8");
    let terms = Body::Terms { lease, rates: rates(3, 4) };
    assert_eq!(body_of(terms, "0c"), format!("00000005{rates_hex}"));
    assert_eq!(body_of(Body::Release { lease }, "0d"), "00000005");
    assert_eq!(body_of(Body::Over { lease }, "0e"), "00000005");
    let revoke = Body::Revoke { lease, reason: Revocation::Quota, notice_ms: 2_000 };
    assert_eq!(body_of(revoke, "0f"), "0000000503000007d0");
    assert_eq!(body_of(Body::Noted { lease }, "10"), "00000005");
    assert_eq!(body_of(Body::Leave { by: Role::Borrower }, "11"), "01");
    assert_eq!(body_of(Body::Left { by: Role::Lender }, "12"), "02");
}

/// What `parse` says of a message whose byte at `at` was changed.
fn changed(body: Body, at: usize, to: u8) -> Error {
    let mut bytes = written(&message(body));
    bytes[at] = to;
    parse(&bytes).unwrap_err()
}

#[test]
fn what_is_no_message_says_why() {
    let query = Body::Query;
    assert_eq!(
        changed(query, 0, 0).to_string(),
        "no cluster message: it begins with [00, 57, 63, 6c]"
    );
    assert_eq!(changed(query, 4, 2).to_string(), "version 2 at offset 4, spoken is 1");
    assert_eq!(changed(query, 5, 19).to_string(), "kind 19 at offset 5 is unknown");
    assert_eq!(changed(query, 7, 1), Error::NotZero { field: "reserved at offset 6" });
    assert_eq!(changed(query, 5, 3), Error::Trailing { len: 196, kind: 3 });
    assert_eq!(changed(query, 100, 1), Error::NotZero { field: "padding of a query" });
    let welcome = |range: std::ops::Range<usize>| {
        let mut bytes = written(&message(Body::Welcome));
        bytes[range].fill(0);
        parse(&bytes).unwrap_err().to_string()
    };
    assert_eq!(welcome(16..24), "sender at offset 16 is out of range");
    assert_eq!(welcome(24..32), "receiver at offset 24 is out of range");
    assert_eq!(welcome(32..40), "number at offset 32 is out of range");
    let release = Body::Release { lease: lease(1) };
    assert_eq!(changed(release, HEAD_LEN + 3, 0), Error::Range { field: "lease" });
    let hello = Body::Hello { nonce: 1 };
    let padding = Error::NotZero { field: "padding of a greeting" };
    assert_eq!(changed(hello, HEAD_LEN + 8, 1), padding);
    let leave = Body::Leave { by: Role::Lender };
    assert_eq!(changed(leave, HEAD_LEN, 3), Error::Range { field: "end of the session" });
    let deny = Body::Deny { lease: lease(1), reason: Denial::Full, retry_ms: 0 };
    assert_eq!(changed(deny, HEAD_LEN + 4, 9), Error::Range { field: "reason of a denial" });
}

#[test]
fn an_announcement_that_makes_no_sense_says_why() {
    let one = announce(&[offer(2)]);
    let offer_at = HEAD_LEN + 2 + 1 + 11 + 1;
    assert_eq!(changed(one, HEAD_LEN + 1, 0), Error::Range { field: "interval at offset 40" });
    assert_eq!(changed(one, HEAD_LEN + 2, 33), Error::Name(NameError::TooLong { len: 33 }));
    assert_eq!(changed(one, HEAD_LEN + 4, 7), Error::Name(NameError::Text { at: 1 }));
    assert_eq!(changed(one, HEAD_LEN + 5, 0xff), Error::Name(NameError::Text { at: 2 }));
    assert_eq!(changed(one, offer_at - 1, 5), Error::Range { field: "count of uplinks" });
    assert_eq!(changed(one, offer_at + 1, 5), Error::Range { field: "kind of the uplink" });
    assert_eq!(changed(one, offer_at + 1, 0), Error::Range { field: "kind of the uplink" });
    assert_eq!(changed(one, offer_at + 2, 2), Error::Range { field: "cost" });
    let order = Error::Range { field: "order or free rates of the uplinks" };
    assert_eq!(changed(one, offer_at + 24, 1), order, "more free than there is");
    assert_eq!(changed(announce(&[offer(2), offer(3)]), offer_at, 3), order, "twice");
    let padding = Error::NotZero { field: "padding of an announcement" };
    assert_eq!(changed(one, offer_at + 40, 1), padding);
    let message = Name::new("a\u{7}b").unwrap_err().to_string();
    assert_eq!(message, "the name has a byte at 1 that is no printable text: leave it out");
}

#[test]
fn truncation_names_the_field() {
    let bytes = written(&message(Body::Hello { nonce: 1 }));
    for len in 0..bytes.len() {
        assert!(matches!(parse(&bytes[..len]), Err(Error::Truncated(_))), "{len} bytes");
    }
    let message = parse(&bytes[..45]).unwrap_err().to_string();
    assert_eq!(message, "truncated seal at offset 40: needs 16 bytes, has 5");
    let message = parse(&unhex("4657636c01")).unwrap_err().to_string();
    assert_eq!(message, "truncated kind at offset 5: needs 1 bytes, has 0");
}

#[test]
fn no_answer_to_a_stranger_is_longer_than_what_asks() {
    let cookie = [1; COOKIE_LEN];
    let len = |body: Body| body.message_len();
    assert!(len(announce(&[offer(1)])) <= len(Body::Query));
    assert!(len(Body::Challenge { nonce: 1, cookie }) <= len(Body::Hello { nonce: 1 }));
    let response = len(Body::Response { nonce: 1, cookie });
    assert!(len(Body::Welcome) <= response);
    assert!(len(Body::Refuse { nonce: 1, reason: Refusal::Busy }) <= response);
    // Three greetings for an announcement.
    assert!(3 * len(Body::Hello { nonce: 1 }) <= len(announce(&[])));
}

#[test]
fn sessions_and_clusters_have_keys_of_their_own() {
    let meeting =
        Meeting { borrower: member(1), lender: member(2), nonce: 3, cookie: [4; COOKIE_LEN] };
    let turned = Meeting { borrower: meeting.lender, lender: meeting.borrower, ..meeting };
    let others =
        [turned, Meeting { nonce: 5, ..meeting }, Meeting { cookie: [5; COOKIE_LEN], ..meeting }];
    let tag = |key: Key| key.tag("", &[]);
    for other in others {
        assert_ne!(tag(other.key(&key())), tag(meeting.key(&key())), "{other:?}");
    }
    let bytes = written(&message(Body::Welcome));
    assert_eq!(parse(&bytes).unwrap().open(&meeting.key(&key())), Err(Forged));
    let other = Key::new(&[8; 32]).unwrap();
    assert_ne!(cluster_id(&key()), cluster_id(&other));
}

fn any_rates() -> impl Strategy<Value = Rates> {
    any::<(u64, u64)>().prop_map(|(up, down)| rates(up, down))
}

fn offers() -> impl Strategy<Value = Offers> {
    let kind = prop::sample::select(Kind::ALL.to_vec());
    let rtt = any::<u32>().prop_map(NonZeroU32::new);
    let offer = (any::<u8>(), kind, any::<bool>(), any::<u8>(), rtt, any_rates(), any_rates());
    let offer = offer.prop_map(|(uplink, kind, metered, places, rtt_us, nominal, free)| Offer {
        uplink,
        kind,
        cost: if metered { Cost::Metered } else { Cost::Flat },
        places,
        rtt_us,
        nominal,
        free: free.stricter(nominal),
    });
    prop::collection::vec(offer, 0..6).prop_map(|offers| {
        let mut list = Offers::default();
        for offer in offers {
            list.push(offer);
        }
        list
    })
}

fn bodies() -> impl Strategy<Value = Body> {
    let name = "[a-zà-ü ]{0,16}".prop_map(|text| Name::new(&text).unwrap());
    let announce = (name, any::<NonZeroU16>(), offers())
        .prop_map(|(name, interval_ds, offers)| Announce { name, interval_ds, offers });
    let ask = (any::<NonZeroU32>(), any::<u8>(), any::<u32>(), any_rates(), any::<(u64, u32)>());
    let ask = ask.prop_map(|(lease, uplink, at_ms, rates, (bytes, duration_ms))| LeaseRequest {
        lease,
        uplink,
        at_ms,
        rates,
        bytes,
        duration_ms,
    });
    let grant = (any::<NonZeroU32>(), any::<u32>(), any_rates(), any::<(u64, NonZeroU32)>());
    let grant = grant.prop_map(|(lease, at_ms, rates, (bytes, duration_ms))| Grant {
        lease,
        at_ms,
        rates,
        bytes,
        duration_ms,
    });
    let lease = any::<NonZeroU32>;
    let denial = prop::sample::select(Denial::ALL);
    let revocation = prop::sample::select(Revocation::ALL);
    let role = prop::sample::select(vec![Role::Borrower, Role::Lender]);
    let session = prop_oneof![
        any::<(u64, Cookie)>().prop_map(|(nonce, cookie)| Body::Challenge { nonce, cookie }),
        any::<(u64, Cookie)>().prop_map(|(nonce, cookie)| Body::Response { nonce, cookie }),
        (any::<u64>(), prop::sample::select(Refusal::ALL))
            .prop_map(|(nonce, reason)| Body::Refuse { nonce, reason }),
        any::<u64>().prop_map(|nonce| Body::Hello { nonce }),
        role.clone().prop_map(|by| Body::Leave { by }),
        role.prop_map(|by| Body::Left { by }),
        prop::sample::select(vec![Body::Query, Body::Goodbye, Body::Welcome]),
    ];
    let leases =
        prop_oneof![
            (lease(), denial, any::<u32>()).prop_map(|(lease, reason, retry_ms)| Body::Deny {
                lease,
                reason,
                retry_ms
            }),
            (lease(), revocation, any::<u32>())
                .prop_map(|(lease, reason, notice_ms)| Body::Revoke { lease, reason, notice_ms }),
            (lease(), any_rates()).prop_map(|(lease, rates)| Body::Terms { lease, rates }),
            lease().prop_map(|lease| Body::Release { lease }),
            lease().prop_map(|lease| Body::Over { lease }),
            lease().prop_map(|lease| Body::Noted { lease }),
        ];
    prop_oneof![
        2 => announce.prop_map(Body::Announce),
        1 => ask.prop_map(Body::LeaseRequest),
        1 => grant.prop_map(Body::Grant),
        2 => session,
        2 => leases,
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        body in bodies(), cluster: u64, from: NonZeroU64, to: Option<NonZeroU64>,
        number: NonZeroU64, bit in 0..256 * 8usize,
    ) {
        let to = if body.is_public() { to } else { to.or(Some(from)) };
        let message =
            Message { cluster, from: MemberId(from), to: to.map(MemberId), number, body };
        let bytes = written(&message);
        prop_assert!(bytes.len() <= ANNOUNCE_LEN);
        let claim = parse(&bytes).unwrap();
        prop_assert_eq!(claim.unchecked(), &message);
        prop_assert_eq!(claim.open(&key()), Ok(message));
        let mut damaged = bytes.clone();
        let bit = bit % (bytes.len() * 8);
        damaged[bit / 8] ^= 1 << (bit % 8);
        if let Ok(claim) = parse(&damaged) {
            prop_assert_eq!(claim.open(&key()), Err(Forged));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>, kind in 0..20u8, from: u8) {
        let _ = parse(&bytes);
        let head = [b"FWcl".as_slice(), &[1, kind, 0, 0], &[from; 32], &bytes, &[0; 16]].concat();
        if let Ok(claim) = parse(&head) {
            let mut again = Vec::new();
            claim.unchecked().write(&key(), &mut again);
            prop_assert_eq!(&again[..again.len() - TAG_LEN], &head[..head.len() - TAG_LEN]);
        }
    }
}
