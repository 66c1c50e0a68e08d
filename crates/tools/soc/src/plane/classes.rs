//! Classification of frames into queues.
//!
//! A station has a queue for each kind of its traffic. It is identified by its link address or,
//! behind a router, by its IP address. VLAN tags are skipped. All other frames wait in the queue
//! [`OTHERS`]: frames to unknown stations and to groups, and answers to reports and messages of the
//! key exchange to any station, so that a station without weight stays associated.

use fairwave_linux::Traffic;
use fairwave_wire::ethernet::Mac;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Queue of all frames that belong to no station's queue.
pub(super) const OTHERS: u32 = 0;

/// EtherTypes (IEEE 802 numbers of IANA): VLAN tags, IP, EAPOL.
const TAGS: [u16; 2] = [0x8100, 0x88a8];
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const EAPOL: u16 = 0x888e;
/// Maximum number of tags that are skipped.
const MAX_TAGS: usize = 2;

/// Stations and their queues.
#[derive(Debug)]
pub(super) struct Classes {
    /// The kinds of traffic with their own queues, and their positions in the plan.
    kinds: Vec<(Traffic, u32)>,
    /// The EtherType of answers to reports.
    urgent: u16,
    stations: BTreeMap<Mac, Station>,
    // Sorted tables for the lookup of a frame's station.
    links: Vec<(Mac, u32)>,
    addresses: Vec<(IpAddr, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Station {
    /// Unique number of the station.
    number: u32,
    address: Option<IpAddr>,
}

/// The header fields of an IP packet that the classification uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packet {
    destination: IpAddr,
    /// The octet with DSCP and ECN.
    octet: u8,
    protocol: u8,
}

impl Classes {
    pub(super) fn new(kinds: &[Traffic], urgent: u16) -> Self {
        let at = |kind: &Traffic| kinds.iter().position(|own| own == kind);
        let numbered = |kind: Traffic| Some((kind, at(&kind)? as u32 + 1));
        let kinds = Traffic::ALL.into_iter().filter_map(numbered).collect();
        let (links, addresses) = (Vec::new(), Vec::new());
        Self { kinds, urgent, stations: BTreeMap::new(), links, addresses }
    }

    /// Adds a station. Returns its queues: of the rest, and then of each kind.
    pub(super) fn serve(&mut self, station: Mac, address: Option<IpAddr>) -> Vec<u32> {
        let number = match self.stations.get(&station) {
            Some(known) => known.number,
            None => self.free(),
        };
        self.stations.insert(station, Station { number, address });
        self.index();
        self.queues(number)
    }

    /// Removes a station. Returns its queues.
    pub(super) fn stop(&mut self, station: Mac) -> Vec<u32> {
        let Some(known) = self.stations.remove(&station) else { return Vec::new() };
        self.index();
        self.queues(known.number)
    }

    /// The lowest number that no station uses.
    fn free(&self) -> u32 {
        let mut taken: Vec<u32> = self.stations.values().map(|known| known.number).collect();
        taken.sort_unstable();
        let gap = taken.iter().zip(0..).find(|(taken, number)| *taken != number);
        gap.map_or(taken.len() as u32, |(_, number)| number)
    }

    fn first(&self, number: u32) -> u32 {
        OTHERS + 1 + number * (self.kinds.len() as u32 + 1)
    }

    fn queues(&self, number: u32) -> Vec<u32> {
        let first = self.first(number);
        (first..=first + self.kinds.len() as u32).collect()
    }

    fn index(&mut self) {
        let first = |known: &Station| self.first(known.number);
        let links = self.stations.iter().filter(|(_, known)| known.address.is_none());
        let links = links.map(|(link, known)| (*link, first(known))).collect();
        let addresses = self.stations.values();
        let mut addresses: Vec<(IpAddr, u32)> =
            addresses.filter_map(|known| Some((known.address?, first(known)))).collect();
        addresses.sort_unstable();
        (self.links, self.addresses) = (links, addresses);
    }

    /// The queue in which a frame waits.
    pub(super) fn of(&self, frame: &[u8]) -> u32 {
        let Some(link) = frame.first_chunk().map(|bytes| Mac(*bytes)) else { return OTHERS };
        if link.is_group() {
            return OTHERS;
        }
        let (ether_type, payload) = content(frame);
        if ether_type == EAPOL || ether_type == self.urgent {
            return OTHERS;
        }
        let packet = packet(ether_type, payload);
        let found = packet.and_then(|packet| find(&self.addresses, packet.destination));
        // The IP address goes first: behind a router, the link address is that of the router, which
        // may be a station itself.
        let Some(first) = found.or_else(|| find(&self.links, link)) else { return OTHERS };
        let of_kind = |packet: Packet| {
            let kind = self.kinds.iter().find(|(kind, _)| kind.has(packet.octet, packet.protocol));
            kind.map_or(0, |(_, at)| *at)
        };
        first + packet.map_or(0, of_kind)
    }
}

fn find<K: Ord + Copy>(sorted: &[(K, u32)], key: K) -> Option<u32> {
    let at = sorted.binary_search_by_key(&key, |(key, _)| *key).ok()?;
    Some(sorted[at].1)
}

/// EtherType and payload behind the VLAN tags; zero for a truncated frame.
fn content(frame: &[u8]) -> (u16, &[u8]) {
    let mut at = 12;
    let mut ether_type = word(frame, at);
    for _ in 0..MAX_TAGS {
        if TAGS.contains(&ether_type) {
            at += 4;
            ether_type = word(frame, at);
        }
    }
    (ether_type, frame.get(at + 2..).unwrap_or_default())
}

fn word(bytes: &[u8], at: usize) -> u16 {
    let pair = bytes.get(at..).and_then(|rest| rest.first_chunk());
    pair.map_or(0, |pair| u16::from_be_bytes(*pair))
}

/// Parses the used fields of an IP header (RFC 791, RFC 8200).
fn packet(ether_type: u16, header: &[u8]) -> Option<Packet> {
    match ether_type {
        IPV4 => {
            let header = header.first_chunk::<20>()?;
            let [.., a, b, c, d] = *header;
            let destination = IpAddr::from([a, b, c, d]);
            Some(Packet { destination, octet: header[1], protocol: header[9] })
        }
        IPV6 => {
            let header = header.first_chunk::<40>()?;
            let destination = IpAddr::from(*header.last_chunk::<16>()?);
            let octet = header[0] << 4 | header[1] >> 4;
            Some(Packet { destination, octet, protocol: header[6] })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    const A: Mac = Mac::local(1);
    const ROUTER: Mac = Mac::local(9);
    const V4: Ipv4Addr = Ipv4Addr::new(10, 80, 1, 2);
    const V6: Ipv6Addr = Ipv6Addr::new(0xfd80, 2, 0, 0, 0, 0, 0, 2);

    fn frame(to: Mac, tags: &[u16], ether_type: u16, payload: &[u8]) -> Vec<u8> {
        let mut frame = [&to.0[..], &Mac::local(7).0].concat();
        for tag in tags {
            frame.extend(tag.to_be_bytes());
            frame.extend([0x20, 5]);
        }
        frame.extend(ether_type.to_be_bytes());
        frame.extend(payload);
        frame
    }

    fn v4(to: Ipv4Addr, octet: u8, protocol: u8) -> Vec<u8> {
        let mut header = vec![0x45, octet, 0, 40, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1];
        header.extend(to.octets());
        header
    }

    fn v6(to: Ipv6Addr, octet: u8, next: u8) -> Vec<u8> {
        let mut header = vec![0x60 | octet >> 4, octet << 4, 0, 0, 0, 0, next, 64];
        header.extend([0xfd; 16]);
        header.extend(to.octets());
        header
    }

    #[test]
    fn stations_are_known_by_link_behind_tags_and_by_address_behind_routers() {
        let mut classes = Classes::new(&[], 0x88b5);
        assert_eq!(classes.serve(A, None), [1]);
        assert_eq!(classes.serve(Mac::local(3), Some(V4.into())), [2]);
        assert_eq!(classes.serve(Mac::local(4), Some(V6.into())), [3]);
        assert_eq!(classes.serve(ROUTER, None), [4]);
        let other = Ipv4Addr::new(10, 80, 1, 3);
        for tags in [&[][..], &[0x8100], &[0x88a8, 0x8100]] {
            assert_eq!(classes.of(&frame(A, tags, IPV4, &v4(other, 0, 17))), 1);
            assert_eq!(classes.of(&frame(ROUTER, tags, IPV4, &v4(V4, 0, 17))), 2);
            assert_eq!(classes.of(&frame(ROUTER, tags, IPV6, &v6(V6, 0, 17))), 3);
            assert_eq!(classes.of(&frame(ROUTER, tags, IPV4, &v4(other, 0, 17))), 4);
            assert_eq!(classes.of(&frame(A, tags, 0x0806, &[0; 28])), 1, "ARP");
            assert_eq!(classes.of(&frame(A, tags, EAPOL, &[0; 28])), OTHERS);
            assert_eq!(classes.of(&frame(A, tags, 0x88b5, &[0; 28])), OTHERS);
            assert_eq!(classes.of(&frame(Mac::BROADCAST, tags, IPV4, &v4(V4, 0, 17))), OTHERS);
            assert_eq!(classes.of(&frame(Mac::local(8), tags, IPV4, &v4(other, 0, 17))), OTHERS);
        }
        // The station gets another address, and then none.
        assert_eq!(classes.serve(Mac::local(3), Some(other.into())), [2]);
        assert_eq!(classes.of(&frame(ROUTER, &[], IPV4, &v4(V4, 0, 17))), 4);
        assert_eq!(classes.stop(Mac::local(3)), [2]);
        assert_eq!(classes.of(&frame(ROUTER, &[], IPV4, &v4(other, 0, 17))), 4);
        assert_eq!(classes.serve(Mac::local(5), None), [2], "a free number is taken again");
        assert!(classes.stop(Mac::local(3)).is_empty());
    }

    /// EF is 46 and CS1 is 8; they are in the upper six bits of the octet.
    #[test]
    fn kinds_of_traffic_have_queues_of_their_own_in_the_order_of_policies() {
        let mut classes = Classes::new(&[Traffic::Tcp, Traffic::Voice], 0x88b5);
        assert_eq!(classes.serve(A, None), [1, 2, 3]);
        assert_eq!(classes.serve(ROUTER, None), [4, 5, 6]);
        let other = Ipv4Addr::new(10, 80, 1, 3);
        for (octet, protocol, expected) in
            [(0, 17, 4), (0, 6, 5), (46 << 2, 17, 6), (46 << 2 | 3, 6, 6), (8 << 2, 17, 4)]
        {
            let by_v4 = classes.of(&frame(ROUTER, &[], IPV4, &v4(other, octet, protocol)));
            let by_v6 = classes.of(&frame(ROUTER, &[], IPV6, &v6(V6, octet, protocol)));
            assert_eq!((by_v4, by_v6), (expected, expected), "{octet} {protocol}");
        }
        assert_eq!(classes.of(&frame(ROUTER, &[], 0x0806, &[0; 28])), 4);
    }

    proptest! {
        #[test]
        fn whatever_a_frame_holds_it_waits_somewhere(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..80),
            ether_type in proptest::sample::select(&[IPV4, IPV6, 0x8100, 0x88a8, EAPOL, 7]),
        ) {
            let mut classes = Classes::new(&Traffic::ALL, 0x88b5);
            classes.serve(A, None);
            for is_whole in [false, true] {
                if is_whole && bytes.len() >= 14 {
                    bytes[..6].copy_from_slice(&A.0);
                    bytes[12..14].copy_from_slice(&ether_type.to_be_bytes());
                }
                prop_assert!(classes.of(&bytes) <= 5);
            }
        }
    }
}
