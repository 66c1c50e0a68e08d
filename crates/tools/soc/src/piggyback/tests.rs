//! Reports put on data frames and taken off, with VLAN tags and without.

use super::*;
use fairwave_wire::seal::Key;
use fairwave_wire::soc::{CentiDb, Report};
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;

const AP: Mac = Mac::local(1);
const STATION: Mac = Mac::local(2);
/// Tags of 802.1Q, of 802.1ad, and both, with VLAN 5 and priority 3.
const TAGS: [&[u8]; 4] =
    [&[], &[0x81, 0, 0x60, 5], &[0x88, 0xa8, 0x60, 5], &[0x88, 0xa8, 0, 7, 0x81, 0, 0x60, 5]];

fn data(to: Mac, kind: EtherType, payload: &[u8]) -> Vec<u8> {
    tagged(to, &[], kind, payload)
}

fn tagged(to: Mac, tags: &[u8], kind: EtherType, payload: &[u8]) -> Vec<u8> {
    [&to.0[..], &STATION.0, tags, &kind.number().to_be_bytes(), payload].concat()
}

fn reports(next: EtherType) -> [Written; 2] {
    let report = Report {
        next: Some(next),
        station: STATION,
        ipv4: Ipv4Addr::new(10, 0, 0, 2),
        ipv6: Ipv6Addr::UNSPECIFIED,
        sequence: 1,
        made_ms: 0,
        interval_ms: NonZeroU16::MIN,
        soc: CentiDb(1_400),
    };
    let key = Key::new(&[7; 32]).unwrap();
    let plain = Plain { ipv4: report.ipv4, soc_db: 14 };
    [report.seal(&key).into(), plain.written(Some(next))]
}

/// The type of a frame's payload if the frame may take a report along.
fn kind(frame: &[u8]) -> Option<EtherType> {
    place_for(frame, Some(AP), 1500).map(|place| place.kind)
}

#[test]
fn a_frame_takes_a_report_along_if_it_goes_to_the_access_point_and_has_room() {
    let full = vec![0; 1500 - soc::LEN];
    assert_eq!(kind(&data(AP, EtherType::IPV6, &full)), Some(EtherType::IPV6));
    assert_eq!(kind(&data(AP, EtherType::IPV6, &[&full[..], &[0]].concat())), None);
    assert_eq!(kind(&data(STATION, EtherType::IPV4, &[0; 40])), None);
    assert_eq!(kind(&data(Mac::BROADCAST, EtherType::IPV4, &[0; 40])), None);
    // A report of its own, a key exchange, a frame of 802.2, and one that is cut.
    for tags in TAGS {
        assert_eq!(kind(&tagged(AP, tags, soc::ETHER_TYPE, &[0; 64])), None);
        assert_eq!(kind(&tagged(AP, tags, EAPOL, &[0; 64])), None);
        assert_eq!(kind(&[&AP.0[..], &STATION.0, tags, &[0, 64], &[0; 64]].concat()), None);
        assert_eq!(kind(&[&AP.0[..], &STATION.0, tags, &[8]].concat()), None);
    }
    assert_eq!(kind(&AP.0), None);
    assert_eq!(place_for(&data(AP, EtherType::IPV4, &[0; 40]), None, 1500), None);
}

#[test]
fn a_report_stands_behind_vlan_tags() {
    for tags in TAGS {
        let frame = tagged(AP, tags, EtherType::IPV4, &[9; 40]);
        let place = place_for(&frame, Some(AP), 1500).unwrap();
        assert_eq!(place, Place { at: ADDRESSES + tags.len(), kind: EtherType::IPV4 });
        let report = &reports(EtherType::IPV4)[0];
        let loaded = place.loaded(&[&[0; VNET_HEADER_LENGTH], &frame[..]].concat(), report);
        let expected = tagged(AP, tags, soc::ETHER_TYPE, &[&report[..], &[9; 40]].concat());
        assert_eq!(loaded[VNET_HEADER_LENGTH..], expected);
    }
    // A third tag is more than any of our interfaces has room for.
    let third = [TAGS[3], TAGS[1]].concat();
    assert_eq!(kind(&tagged(AP, &third, EtherType::IPV4, &[0; 40])), None);
}

/// packet(7) lets a frame exceed the MTU by one tag of 802.1Q.
#[test]
fn the_first_tag_of_8021q_takes_no_room() {
    for (tags, counted) in TAGS.into_iter().zip([0, 0, 4, 8]) {
        let full = vec![0; 1500 - soc::LEN - counted];
        assert_eq!(kind(&tagged(AP, tags, EtherType::IPV6, &full)), Some(EtherType::IPV6));
        let longer = [&full[..], &[0]].concat();
        assert_eq!(kind(&tagged(AP, tags, EtherType::IPV6, &longer)), None);
    }
}

#[test]
fn a_report_without_data_behind_it_is_nobody_elses() {
    let [sealed, plain] = reports(EtherType::IPV4);
    for tags in TAGS {
        for alone in [&sealed[..40], &plain[..8], &[0; 64]] {
            assert_eq!(without(&tagged(AP, tags, soc::ETHER_TYPE, alone)), None);
        }
        // Neither another report nor a VLAN tag may follow.
        for next in [soc::ETHER_TYPE.number(), CUSTOMER_TAG, SERVICE_TAG] {
            for nested in reports(EtherType::new(next).unwrap()) {
                let payload = [&nested[..], &[0; 64]].concat();
                assert_eq!(without(&tagged(AP, tags, soc::ETHER_TYPE, &payload)), None);
            }
        }
        assert_eq!(without(&tagged(AP, tags, EtherType::IPV4, &[0; 64])), None);
    }
}

proptest! {
    #[test]
    fn taking_off_is_the_reverse_of_putting_in_front(
        number in 0x600u16.., payload: Vec<u8>, format in 0..2usize, tags in 0..4usize,
    ) {
        let kind = EtherType::new(number).unwrap();
        let frame = tagged(AP, TAGS[tags], kind, &payload);
        let Some(place) = place_for(&frame, Some(AP), 9000) else {
            prop_assert!(is_tag(number) || [soc::ETHER_TYPE, EAPOL].contains(&kind));
            return Ok(());
        };
        let virtio = [&[0; VNET_HEADER_LENGTH], &frame[..]].concat();
        let loaded = place.loaded(&virtio, &reports(place.kind)[format]);
        prop_assert_eq!(without(&loaded[VNET_HEADER_LENGTH..]), Some(frame));
    }

    #[test]
    fn any_frame_is_read(frame: Vec<u8>) {
        let _ = without(&frame);
        let _ = place_for(&frame, Some(AP), 1500);
    }
}
