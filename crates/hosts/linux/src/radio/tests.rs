//! Messages as the kernel sends them, whole and damaged.

use super::generic::messages;
use super::*;
use netlink_packet_core::NetlinkPayload;
use proptest::prelude::*;

const PEER: Mac = Mac([0x02, 0, 0, 0, 0x01, 0]);

fn field(kind: u16, value: &[u8]) -> Vec<u8> {
    Field::new(kind, value).bytes()
}

/// A message as the kernel sends it: 16 bytes of netlink's header, four of generic netlink's.
fn message(command: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(20 + body.len()).unwrap();
    let flags_sequence_port = [2, 0, 7, 0, 0, 0, 1, 0, 0, 0];
    let head = [&length.to_ne_bytes()[..], &0x1c_u16.to_ne_bytes(), &flags_sequence_port];
    [&head.concat(), &[command, 1, 0, 0][..], body].concat()
}

/// The only message in the bytes.
fn only(bytes: &[u8]) -> Message {
    let mut found = messages(bytes).unwrap();
    assert_eq!(found.len(), 1);
    match found.remove(0).payload {
        NetlinkPayload::InnerMessage(message) => message,
        other => panic!("{other:?}"),
    }
}

fn station_message() -> Vec<u8> {
    let rate = [field(1, &540_u16.to_ne_bytes()), field(2, &[3])].concat();
    let fast = [field(5, &12_010_u32.to_ne_bytes()), field(1, &u16::MAX.to_ne_bytes())].concat();
    let facts = [
        field(7, &[0xc4]),
        field(13, &[0xc6]),
        field(8 | 0x8000, &rate),
        field(14 | 0x8000, &fast),
        field(10, &700_u32.to_ne_bytes()),
        field(11, &14_u32.to_ne_bytes()),
        field(12, &2_u32.to_ne_bytes()),
        field(32, &30_000_u64.to_ne_bytes()),
        field(39, &5_000_u64.to_ne_bytes()),
        field(1, &40_u32.to_ne_bytes()),
        field(16, &9_u32.to_ne_bytes()),
        field(17, &[0xee_u32, 0x2a].map(u32::to_ne_bytes).concat()),
        field(40, &256_u16.to_ne_bytes()),
        field(60_000, &[1, 2, 3]),
    ];
    let head = [field(3, &4_u32.to_ne_bytes()), field(6, &PEER.0)].concat();
    message(command::NEW_STATION, &[head, field(21 | 0x8000, &facts.concat())].concat())
}

/// 0xc4 is -60 as a signed byte; 540 units of 100 kbps are 54 Mbps; durations are in microseconds
/// (`linux/nl80211.h`).
#[test]
fn a_station_is_read_with_its_units() {
    let reported = station_of(only(&station_message()).attributes()).unwrap();
    let expected = Station {
        mac: PEER,
        signal_dbm: Some(-60),
        signal_average_dbm: Some(-58),
        tx_kbps: Some(54_000),
        rx_kbps: Some(1_201_000),
        tx_packets: Some(700),
        tx_retries: Some(14),
        tx_failed: Some(2),
        tx_airtime_us: Some(5_000),
        rx_airtime_us: Some(30_000),
        inactive_ms: Some(40),
        is_authorized: Some(true),
        connected_s: Some(9),
        airtime_weight: Some(256),
    };
    assert_eq!(reported, expected);
}

#[test]
fn a_survey_is_read_with_its_units() {
    let facts = [
        field(1, &2_412_u32.to_ne_bytes()),
        field(2, &[0xa4]),
        field(3, &[]),
        field(4, &1_000_u64.to_ne_bytes()),
        field(5, &250_u64.to_ne_bytes()),
    ];
    let bytes = message(51, &field(84 | 0x8000, &facts.concat()));
    let expected = Survey {
        frequency_mhz: 2_412,
        noise_dbm: Some(-92),
        is_in_use: true,
        time_ms: Some(1_000),
        busy_ms: Some(250),
    };
    assert_eq!(survey_of(only(&bytes).attributes()), Some(expected));
}

#[test]
fn associations_are_events_and_other_commands_are_not() {
    let body = [field(3, &4_u32.to_ne_bytes()), field(6, &PEER.0)].concat();
    let reported = |command| event(&only(&message(command, &body)));
    let (interface, station) = (4, PEER);
    assert_eq!(reported(command::NEW_STATION), Some(Event::Joined { interface, station }));
    assert_eq!(reported(command::DEL_STATION), Some(Event::Left { interface, station }));
    assert_eq!(reported(command::CONNECT), Some(Event::Connected { interface }));
    assert_eq!(reported(command::ROAM), Some(Event::Roamed { interface }));
    assert_eq!(reported(command::DISCONNECT), Some(Event::Disconnected { interface }));
    assert_eq!(reported(command::GET_SURVEY), None);
    // Status 1: the access point has refused.
    let refused = [body.clone(), field(72, &1_u16.to_ne_bytes())].concat();
    assert_eq!(event(&only(&message(command::CONNECT, &refused))), None);
}

#[test]
fn what_a_driver_does_not_tell_is_none() {
    let head = [field(6, &PEER.0), field(21, &[])].concat();
    let reported = station_of(only(&message(command::NEW_STATION, &head)).attributes());
    assert_eq!(reported, Some(Station { mac: PEER, ..Station::default() }));
    // A value of another length than the kernel documents is not told either.
    let short = [field(6, &PEER.0), field(21, &field(11, &[1, 2]))].concat();
    let reported = station_of(only(&message(command::NEW_STATION, &short)).attributes());
    assert_eq!(reported.unwrap().tx_retries, None);
}

/// Bit 1 is the flag; the first word has the flags that the driver knows.
#[test]
fn a_station_is_authorized_when_its_driver_says_so() {
    let flags = |known: u32, set: u32| {
        let words = [known, set].map(u32::to_ne_bytes).concat();
        authorized(words.try_into().unwrap())
    };
    assert_eq!([flags(2, 2), flags(6, 4), flags(4, 2)], [Some(true), Some(false), None]);
}

#[test]
fn a_name_ends_with_its_zero() {
    let body = [field(3, &4_u32.to_ne_bytes()), field(4, b"wlan0\0")].concat();
    let expected = Interface { index: 4, name: "wlan0".to_owned() };
    assert_eq!(interface(only(&message(7, &body)).attributes()), Some(expected));
}

proptest! {
    /// Whatever bytes come, cut or changed, they are read or refused, and nothing panics.
    #[test]
    fn nothing_that_is_received_panics(
        cut in 0_usize..400,
        place in 0_usize..400,
        byte: u8,
        noise in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut changed = station_message();
        changed.truncate(cut);
        if let Some(one) = changed.get_mut(place) {
            *one = byte;
        }
        for bytes in [changed, noise.clone(), message(command::NEW_STATION, &noise)] {
            for message in messages(&bytes).into_iter().flatten() {
                if let NetlinkPayload::InnerMessage(message) = message.payload {
                    let reported = message.attributes();
                    let _ = (station_of(reported), survey_of(reported));
                    let _ = (interface(reported), event(&message));
                }
            }
        }
    }
}
