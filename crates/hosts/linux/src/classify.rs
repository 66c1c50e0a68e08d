//! The classifier (u32) that finds a station's class by its link or IP address and the kind of
//! traffic.
//!
//! Each kind of address has a hash table of its own, by the last byte of the address, and a station
//! has a row of filters in its bucket: one for each pattern of its kinds of traffic, and the last
//! one for the rest. Offsets are from the network header.

use crate::tc::{ALL_PROTOCOLS, class, message};
use netlink_packet_route::tc::{
    TcAttribute, TcFilterU32Option, TcHandle, TcMessage, TcOption, TcU32Key, TcU32Selector,
    TcU32SelectorFlags,
};
use std::net::IpAddr;

const BUCKETS: u32 = 256;
/// Filters that a station may have where traffic is classified: a power of two.
const ROW: u32 = 16;
/// `ETH_P_PAE`, of 802.1X.
const EAPOL: u16 = 0x888e;
/// `ETH_P_IP` and `ETH_P_IPV6`.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

/// A kind of traffic to a station. All other traffic is the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Traffic {
    /// DSCP EF, VOICE-ADMIT, CS6 and CS7 (RFC 8325 section 4.3, user priorities 6 and 7).
    Voice,
    /// DSCP from 32 to 47 but for those of voice: AF4x, CS4 and CS5 (user priorities 4 and 5).
    Video,
    /// DSCP CS1 and LE (user priority 1).
    Background,
    /// Traffic of TCP with other DSCPs.
    Tcp,
}

impl Traffic {
    /// All of them, in the order in which a packet is compared.
    pub const ALL: [Self; 4] = [Self::Voice, Self::Video, Self::Background, Self::Tcp];

    /// Its name in options and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Voice => "voice",
            Self::Video => "video",
            Self::Background => "background",
            Self::Tcp => "tcp",
        }
    }

    const fn patterns(self) -> &'static [Pattern] {
        match self {
            Self::Voice => &[Pattern::Dscp { mask: 0xf4, value: 0xb0 }, Pattern::UPPER_CS],
            Self::Video => &[Pattern::Dscp { mask: 0xc0, value: 0x80 }],
            Self::Background => &[Pattern::CS1, Pattern::LE],
            Self::Tcp => &[Pattern::Protocol(6)],
        }
    }

    /// Whether a packet is of this kind that has this octet of DSCP and ECN in its IP header, and
    /// this number of the protocol above IP. A packet may be of several kinds: the first of
    /// [`Traffic::ALL`] counts.
    pub fn has(self, octet: u8, protocol: u8) -> bool {
        self.patterns().iter().any(|pattern| match *pattern {
            Pattern::Dscp { mask, value } => octet & mask == value,
            Pattern::Protocol(number) => protocol == number,
        })
    }
}

/// Pattern in the IP header of a packet of some kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pattern {
    /// Bits of the octet that has the DSCP in its upper six (RFC 2474 section 3).
    Dscp { mask: u8, value: u8 },
    /// The number of the protocol above IP, behind no extension header.
    Protocol(u8),
}

impl Pattern {
    const UPPER_CS: Self = Self::Dscp { mask: 0xc0, value: 0xc0 };
    const CS1: Self = Self::Dscp { mask: 0xfc, value: 0x20 };
    const LE: Self = Self::Dscp { mask: 0xfc, value: 0x04 };

    fn in_ipv4(self) -> TcU32Key {
        match self {
            Self::Dscp { mask, value } => key(u32::from(mask) << 16, u32::from(value) << 16, 0),
            Self::Protocol(number) => key(0x00ff_0000, u32::from(number) << 16, 8),
        }
    }

    fn in_ipv6(self) -> TcU32Key {
        match self {
            Self::Dscp { mask, value } => key(u32::from(mask) << 20, u32::from(value) << 20, 0),
            Self::Protocol(number) => key(0xff00, u32::from(number) << 8, 4),
        }
    }
}

/// Addresses of frames to a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Destination {
    Link([u8; 6]),
    /// That of a station behind a router.
    Address(IpAddr),
}

/// A kind of address, with a table of its own. Addresses of IP go before those of links: the
/// router, whose link address frames to stations behind it have, may be a station too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Table {
    Ipv4 = 1,
    Ipv6 = 2,
    Link = 3,
}

impl Table {
    /// Its number for u32.
    const fn handle(self) -> u32 {
        (self as u32) << 20
    }

    /// Frames that it looks at.
    const fn protocol(self) -> u32 {
        match self {
            Self::Ipv4 => IPV4.to_be() as u32,
            Self::Ipv6 => IPV6.to_be() as u32,
            Self::Link => ALL_PROTOCOLS,
        }
    }

    /// Offset of the word that ends with the last byte of the address.
    const fn last_word(self) -> i16 {
        match self {
            Self::Ipv4 => 16,
            Self::Ipv6 => 36,
            Self::Link => -12,
        }
    }

    fn filter(self, index: u32, handle: u32, options: Vec<TcFilterU32Option>) -> TcMessage {
        let mut message = message(index, TcHandle::from(handle), class(0));
        message.header.info = (self as u32) << 16 | self.protocol();
        let options = options.into_iter().map(TcOption::U32).collect();
        let kind = TcAttribute::Kind("u32".to_owned());
        message.attributes = vec![kind, TcAttribute::Options(options)];
        message
    }

    fn make(self, index: u32) -> TcMessage {
        self.filter(index, self.handle(), vec![TcFilterU32Option::Divisor(BUCKETS)])
    }

    /// Filters that lead every frame to its bucket, by the lowest byte of that word.
    fn hashing(self, index: u32) -> TcMessage {
        let mut selector = matching(vec![key(0, 0, 0)]);
        selector.hoff = self.last_word();
        selector.hmask = 0xff;
        let link = TcFilterU32Option::Link(self.handle());
        self.filter(index, 0, vec![TcFilterU32Option::Selector(selector), link])
    }
}

impl Destination {
    const fn table(self) -> Table {
        match self {
            Self::Link(_) => Table::Link,
            Self::Address(IpAddr::V4(_)) => Table::Ipv4,
            Self::Address(IpAddr::V6(_)) => Table::Ipv6,
        }
    }

    fn keys(self) -> Vec<TcU32Key> {
        let word = |bytes: [u8; 4]| u32::from_be_bytes(bytes);
        match self {
            Self::Link([a, b, c, d, e, f]) => {
                vec![key(0xffff_0000, word([a, b, 0, 0]), -14), key(!0, word([c, d, e, f]), -12)]
            }
            Self::Address(IpAddr::V4(address)) => vec![key(!0, address.to_bits(), 16)],
            Self::Address(IpAddr::V6(address)) => {
                let words = (0..4).map(|at| (address.to_bits() >> (96 - 32 * at)) as u32);
                words.zip([24, 28, 32, 36]).map(|(value, off)| key(!0, value, off)).collect()
            }
        }
    }

    fn bucket(self) -> u32 {
        let last = match self {
            Self::Link(bytes) => bytes[5],
            Self::Address(IpAddr::V4(address)) => address.octets()[3],
            Self::Address(IpAddr::V6(address)) => address.octets()[15],
        };
        self.table().handle() | u32::from(last) << 12
    }

    /// Returns the words that match a packet of this pattern, in each version of IP that can reach
    /// it.
    fn patterns(self, pattern: Pattern) -> Vec<Vec<TcU32Key>> {
        // The EtherType is in the last two bytes before the network header.
        let typed = |number: u16, own: TcU32Key| vec![key(0xffff, u32::from(number), -4), own];
        match self.table() {
            Table::Ipv4 => vec![vec![pattern.in_ipv4()]],
            Table::Ipv6 => vec![vec![pattern.in_ipv6()]],
            Table::Link => {
                vec![typed(IPV4, pattern.in_ipv4()), typed(IPV6, pattern.in_ipv6())]
            }
        }
    }
}

/// A station for the classifier.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    pub(crate) destination: Destination,
    /// A number that no other station has.
    pub(crate) number: u16,
    /// The kinds of traffic that have classes of their own.
    pub(crate) traffic: &'a [Traffic],
    /// The class of the rest; those of the kinds follow, in their order.
    pub(crate) minor: u16,
}

impl Row<'_> {
    /// The words of each filter with its class, in the order in which packets are compared.
    fn filters(&self) -> Vec<(Vec<TcU32Key>, u16)> {
        let mut all = Vec::new();
        for kind in Traffic::ALL {
            let Some(at) = self.traffic.iter().position(|own| *own == kind) else { continue };
            for pattern in kind.patterns() {
                for own in self.destination.patterns(*pattern) {
                    let keys = [self.destination.keys(), own].concat();
                    all.push((keys, self.minor + 1 + at as u16));
                }
            }
        }
        all.push((self.destination.keys(), self.minor));
        debug_assert!(all.len() <= ROW as usize, "{self:?} has {} filters", all.len());
        all
    }

    /// Filters of a bucket are compared in the order of their numbers, which are below 4096.
    fn handle(&self, at: usize) -> u32 {
        let row = if self.traffic.is_empty() { 1 } else { ROW };
        self.destination.bucket() | (u32::from(self.number) * row + at as u32 + 1)
    }

    /// Filters that lead frames to a station into its classes.
    pub(crate) fn add(&self, index: u32) -> Vec<TcMessage> {
        let filter = |(at, (keys, minor)): (usize, (Vec<TcU32Key>, u16))| {
            let mut selector = matching(keys);
            selector.flags = TcU32SelectorFlags::Terminal;
            let options = vec![
                TcFilterU32Option::ClassId(class(minor)),
                TcFilterU32Option::Hash(self.destination.bucket()),
                TcFilterU32Option::Selector(selector),
            ];
            self.destination.table().filter(index, self.handle(at), options)
        };
        self.filters().into_iter().enumerate().map(filter).collect()
    }

    /// The same filters, to be deleted.
    pub(crate) fn delete(&self, index: u32) -> Vec<TcMessage> {
        let table = self.destination.table();
        let count = self.filters().len();
        (0..count).map(|at| table.filter(index, self.handle(at), Vec::new())).collect()
    }
}

/// Maximum number of stations, by whether traffic is classified.
pub(crate) const fn most(traffic: &[Traffic]) -> usize {
    if traffic.is_empty() { 0xf00 } else { 0xff0 / ROW as usize }
}

/// The tables, and before them the filters that lead frames of one EtherType, and those of the key
/// exchange, into a class, whichever station they are for: a station without weight loses its data
/// and not its association.
pub(crate) fn set_up(index: u32, urgent: u16, minor: u16) -> Vec<TcMessage> {
    let tables = [Table::Ipv4, Table::Ipv6, Table::Link];
    let mut all: Vec<TcMessage> = tables.iter().map(|table| table.make(index)).collect();
    for ether_type in [urgent, EAPOL] {
        let mut selector = matching(vec![key(0xffff, u32::from(ether_type), -4)]);
        selector.flags = TcU32SelectorFlags::Terminal;
        let class = TcFilterU32Option::ClassId(class(minor));
        all.push(Table::Link.filter(index, 0, vec![class, TcFilterU32Option::Selector(selector)]));
    }
    all.extend(tables.iter().map(|table| table.hashing(index)));
    all
}

/// A word of a packet, so far behind the network header.
fn key(mask: u32, val: u32, off: i32) -> TcU32Key {
    let mut key = TcU32Key::default();
    (key.mask, key.val, key.off) = (mask, val, off);
    key
}

fn matching(keys: Vec<TcU32Key>) -> TcU32Selector {
    let mut selector = TcU32Selector::default();
    selector.nkeys = keys.len() as u8;
    selector.keys = keys;
    selector
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn row(destination: Destination, traffic: &[Traffic]) -> Row<'_> {
        Row { destination, number: 3, traffic, minor: 0x20 }
    }

    /// The class that the first matching filter gives a packet; bytes behind the network header
    /// begin at 14.
    fn class_of(row: Row<'_>, frame: &[u8]) -> Option<u16> {
        let word = |off: i32| {
            let at = (14 + off) as usize;
            u32::from_be_bytes(frame[at..at + 4].try_into().unwrap())
        };
        let matches = |keys: &[TcU32Key]| keys.iter().all(|k| word(k.off) & k.mask == k.val);
        row.filters().into_iter().find(|(keys, _)| matches(keys)).map(|(_, minor)| minor)
    }

    const STATION: [u8; 6] = [2, 0, 0, 0, 1, 7];

    fn ipv4(dscp: u8, protocol: u8) -> Vec<u8> {
        let mut frame = [&STATION[..], &[2, 0, 0, 0, 0, 9], &[8, 0, 0x45, dscp << 2 | 1]].concat();
        frame.extend([0; 38]);
        frame[14 + 9] = protocol;
        frame[14 + 16..14 + 20].copy_from_slice(&[10, 0, 0, 7]);
        frame
    }

    fn ipv6(dscp: u8, next: u8) -> Vec<u8> {
        let class = dscp << 2 | 1;
        let mut frame = [&STATION[..], &[2, 0, 0, 0, 0, 9], &[0x86, 0xdd]].concat();
        frame.extend([0x60 | class >> 4, class << 4 | 0xa, 1, 2]);
        frame.extend([0; 36]);
        frame[14 + 6] = next;
        frame[14 + 24..14 + 40]
            .copy_from_slice(&Ipv6Addr::new(0xfd79, 0, 0, 0, 0, 0, 0, 7).octets());
        frame
    }

    #[test]
    fn packets_are_told_apart_by_dscp_and_protocol() {
        let traffic = [Traffic::Tcp, Traffic::Voice, Traffic::Background, Traffic::Video];
        let ways = [
            (Destination::Link(STATION), true, true),
            (Destination::Address(Ipv4Addr::new(10, 0, 0, 7).into()), true, false),
            (Destination::Address(Ipv6Addr::new(0xfd79, 0, 0, 0, 0, 0, 0, 7).into()), false, true),
        ];
        let (tcp, voice, background, video) = (0x21, 0x22, 0x23, 0x24);
        // EF, VOICE-ADMIT, CS7, CS6; AF41, CS5, CS4; CS1, LE; AF11, AF21 and the default.
        let expected = [
            (46, voice),
            (44, voice),
            (56, voice),
            (48, voice),
            (34, video),
            (40, video),
            (32, video),
            (8, background),
            (1, background),
            (10, 0x20),
            (18, 0x20),
            (0, 0x20),
        ];
        for (destination, by_ipv4, by_ipv6) in ways {
            let row = row(destination, &traffic);
            for (dscp, minor) in expected {
                for (packet, is_known) in [(ipv4(dscp, 17), by_ipv4), (ipv6(dscp, 17), by_ipv6)] {
                    let expected = is_known.then_some(minor);
                    assert_eq!(class_of(row, &packet), expected, "{destination:?} {dscp}");
                }
            }
            for (packet, is_known) in [(ipv4(0, 6), by_ipv4), (ipv6(0, 6), by_ipv6)] {
                assert_eq!(class_of(row, &packet), is_known.then_some(tcp), "{destination:?}");
            }
            let first = |octet, protocol| Traffic::ALL.into_iter().find(|k| k.has(octet, protocol));
            for (dscp, minor) in expected {
                let kind = first(dscp << 2 | 1, 17);
                let at = kind.and_then(|kind| traffic.iter().position(|own| *own == kind));
                assert_eq!(at.map_or(0x20, |at| 0x21 + at as u16), minor, "{dscp}");
            }
            assert_eq!(first(0, 6), Some(Traffic::Tcp));
            let plain = Row { traffic: &[], ..row };
            assert_eq!(class_of(plain, &ipv4(46, 6)), by_ipv4.then_some(0x20));
        }
    }

    #[test]
    fn rows_of_stations_do_not_overlap() {
        let two =
            [3, 4].map(|number| Row { number, ..row(Destination::Link(STATION), &Traffic::ALL) });
        let handles = |row: &Row<'_>| (0..row.filters().len()).map(|at| row.handle(at)).collect();
        let [first, second]: [Vec<u32>; 2] = [handles(&two[0]), handles(&two[1])];
        assert!(first.last() < second.first(), "{first:x?} {second:x?}");
        for traffic in [&[][..], &Traffic::ALL] {
            let number = most(traffic) as u16 - 1;
            let last = Row { number, ..row(Destination::Link(STATION), traffic) };
            let numbers = last.handle(last.filters().len() - 1) - last.destination.bucket();
            assert!(numbers < 0x1000, "{numbers:#x}");
        }
    }
}
