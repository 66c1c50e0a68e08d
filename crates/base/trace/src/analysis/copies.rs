//! Packets that a capture has twice, as one of all interfaces of a router has: where they came in
//! and where they went out.
//!
//! A copy has the same bytes within a short time: the header fields that routers leave alone, and
//! the payload as far as it was captured. The IP identification is one of these fields. It does not
//! suffice: many devices write a constant, and Linux numbers the datagrams of each burst from 0
//! (UDP GSO). Nor do bytes suffice where packets are not numbered: duplicate ACKs and keep-alives
//! are alike. Such packets are copies only if they have passed a router meanwhile.
//!
//! Only streams known to have copies are examined: a stream whose SYN came twice, or three of the
//! first packets of a direction.

use super::stream::Side;
use super::table::{mix, mix_bytes};
use fairwave_units::{Duration, Instant};
use fairwave_wire::ip::{self, Transport};

/// Packets that are remembered of each direction once copies are known. More may wait in a router
/// between both places; a forgotten one counts as a packet of its own.
const REMEMBERED: usize = 512;
/// Packets of a direction in which copies are looked for, and how many of them there must be.
const LOOKED_AT: u8 = 12;
const COPIES: u8 = 3;
/// Longest time that a packet waits in a router, between both places.
const SOJOURN: Duration = Duration::from_secs(2);
/// Minimum time after which a sender repeats a packet with a constant identification, SYNs among
/// them: no retransmission timer is shorter.
const TIMER: Duration = Duration::from_millis(200);
/// Identifications that come again within this time, with other bytes, are no numbers: a counter
/// of 16 bits would have passed all its values.
const ROUND: Duration = Duration::from_millis(100);
/// Number of such packets from which on identifications are not believed.
const REPEATED: u8 = 2;

/// A packet that was seen.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Digest of its bytes, zero if there is none.
    digest: u64,
    /// Low bits of its time in microseconds.
    at_us: u32,
    /// Its IP identification, zero without one.
    id: u16,
    hops: u8,
}

/// Finds copies in one stream.
#[derive(Debug, Default)]
pub(super) struct Copies {
    ways: [First; 2],
    /// The packets of both directions; there once copies are known.
    known: Option<Box<[[Seen; REMEMBERED]; 2]>>,
}

/// The first packets of a direction.
#[derive(Clone, Copy, Debug, Default)]
struct First {
    /// The last SYN, and when it came.
    syn: Option<(Seen, Instant)>,
    packets: [Seen; LOOKED_AT as usize],
    seen: u8,
    copies: u8,
    /// Packets with the identification of another one shortly before: a constant, or a counter
    /// that starts again.
    repeated_ids: u8,
    /// Whether its SYN came twice without a router in between, as on a bridge.
    bridged: bool,
}

impl Copies {
    /// Whether this packet of `side`, at this time, has been there.
    pub(super) fn is_one(&mut self, at: Instant, side: Side, packet: &ip::Packet<'_>) -> bool {
        let way = side.index();
        if self.known.is_none() && self.ways[way].seen == LOOKED_AT {
            return false;
        }
        let seen = Seen::of(at, packet);
        if is_syn(packet) {
            return self.is_syn_copy(way, at, seen, is_answer(packet));
        }
        let First { repeated_ids, bridged, .. } = self.ways[way];
        let numbered = seen.id != 0 && repeated_ids < REPEATED;
        if let Some(known) = &mut self.known {
            let place = &mut known[way][seen.place(numbered)];
            let is_copy = place.is_copied_by(&seen, numbered)
                || bridged && place.digest == seen.digest && place.until(&seen) < TIMER;
            // Of packets without numbers each has one copy: the next alike is another packet's.
            *place = if is_copy && !numbered { Seen::default() } else { seen };
            return is_copy;
        }
        let first = &mut self.ways[way];
        let is_copy = first.look(seen, numbered);
        if first.copies == COPIES {
            self.know();
        }
        is_copy && self.known.is_some()
    }

    fn is_syn_copy(&mut self, way: usize, at: Instant, seen: Seen, answers: bool) -> bool {
        let last = self.ways[way].syn.replace((seen, at));
        let Some((last, when)) = last.filter(|(last, _)| last.digest == seen.digest) else {
            return false;
        };
        let age = at.since(when);
        let is_routed = seen.hops < last.hops && age < SOJOURN;
        // A SYN-ACK, which answers each SYN and has a timer besides, may come again at once.
        let may_answer = answers && seen.id == 0 && self.known.is_none();
        let is_copy = is_routed || age < TIMER && !may_answer;
        self.ways[way].bridged |= is_copy && !is_routed;
        if is_copy && self.known.is_none() {
            self.know();
        }
        is_copy
    }

    /// Copies are known from now on, and so are the packets seen before.
    fn know(&mut self) {
        let mut known = Box::new([[Seen::default(); REMEMBERED]; 2]);
        for (way, packets) in self.ways.iter().zip(known.iter_mut()) {
            for seen in &way.packets[..usize::from(way.seen)] {
                let numbered = seen.id != 0 && way.repeated_ids < REPEATED;
                packets[seen.place(numbered)] = *seen;
            }
        }
        self.known = Some(known);
    }
}

impl First {
    /// Takes one of the first packets. Returns whether it is the second of its kind. Further ones
    /// do not count: an application may send the same bytes over and over.
    fn look(&mut self, seen: Seen, numbered: bool) -> bool {
        let before = &self.packets[..usize::from(self.seen)];
        let repeats_id = before.iter().any(|other| other.repeats_id(&seen));
        let mut alike = before.iter().filter(|other| other.digest == seen.digest);
        let other = alike.next().filter(|_| alike.next().is_none());
        let is_copy = other.is_some_and(|other| other.is_copied_by(&seen, numbered));
        self.repeated_ids += u8::from(repeats_id);
        self.packets[usize::from(self.seen)] = seen;
        self.seen += 1;
        self.copies += u8::from(is_copy);
        is_copy
    }
}

impl Seen {
    fn of(at: Instant, packet: &ip::Packet<'_>) -> Self {
        let id = if packet.source.is_ipv4() { packet.id as u16 } else { 0 };
        let at_us = (at.as_nanos() / 1_000) as u32;
        Self { digest: digest(packet).max(1), at_us, id, hops: packet.hops }
    }

    /// Where it is remembered: numbers follow each other and so do not take the place of others.
    const fn place(&self, numbered: bool) -> usize {
        match numbered {
            true => self.id as usize % REMEMBERED,
            false => self.digest as usize % REMEMBERED,
        }
    }

    /// Time to a later packet.
    const fn until(&self, later: &Self) -> Duration {
        Duration::from_micros(later.at_us.wrapping_sub(self.at_us) as u64)
    }

    /// Whether a later packet is a copy of this one. `numbered` says whether identifications
    /// distinguish packets.
    fn is_copied_by(&self, later: &Self, numbered: bool) -> bool {
        let is_routed = later.hops < self.hops;
        self.digest == later.digest && self.until(later) < SOJOURN && (numbered || is_routed)
    }

    /// Whether a later packet has its identification and other bytes.
    fn repeats_id(&self, later: &Self) -> bool {
        later.id != 0
            && self.id == later.id
            && self.digest != later.digest
            && self.until(later) < ROUND
    }
}

/// Digest of all that routers leave alone: identification and length, of TCP the header without
/// checksum and without the MSS, which some reduce, and all captured payload.
fn digest(packet: &ip::Packet<'_>) -> u64 {
    let start = mix(u64::from(packet.id) << 32 | u64::from(packet.len));
    match &packet.transport {
        Transport::Tcp(segment) => {
            let header = &segment.header;
            let flags = header.flags;
            let bits = [flags.syn, flags.fin, flags.rst, flags.psh, flags.ack, flags.urg];
            let bits = bits.into_iter().fold(0, |bits, flag| bits << 1 | u64::from(flag));
            let stamps = header.options.timestamps.unwrap_or_default();
            let words = [
                u64::from(header.seq.0) << 32 | u64::from(header.ack.0),
                u64::from(stamps.value) << 32 | u64::from(stamps.echo),
                bits << 16 | u64::from(header.window),
            ];
            let blocks = header.options.sack.as_slice().iter();
            let blocks = blocks.map(|(left, right)| u64::from(left.0) << 32 | u64::from(right.0));
            let words = words.into_iter().chain(blocks);
            mix_bytes(words.fold(start, |hash, word| mix(hash ^ word)), segment.payload)
        }
        Transport::Udp(datagram) => mix_bytes(start, datagram.payload),
        Transport::Dccp(dccp) => {
            mix_bytes(mix(start ^ dccp.number), packet.body.get(8..).unwrap_or_default())
        }
        Transport::Other(_) | Transport::Unreadable(_) => mix_bytes(start, packet.body),
    }
}

const fn is_syn(packet: &ip::Packet<'_>) -> bool {
    matches!(&packet.transport, Transport::Tcp(segment) if segment.header.flags.syn)
}

const fn is_answer(packet: &ip::Packet<'_>) -> bool {
    matches!(&packet.transport, Transport::Tcp(segment) if segment.header.flags.ack)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::Seq32;
    use fairwave_wire::datagram::{Datagram, Transport as Sent};
    use fairwave_wire::tcp::{Flags, Header};
    use std::net::Ipv4Addr;

    /// A segment with this identification, number and payload.
    fn segment(id: u16, seq: u32, payload_len: u32, syn: bool) -> Vec<u8> {
        let flags = Flags { syn, ack: !syn, ..Flags::default() };
        let header = Header { seq: Seq32(seq), flags, ..Header::default() };
        let (source, destination) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let transport = Sent::Tcp(header);
        let mut bytes = Vec::new();
        let packet = Datagram { source, destination, id, ttl: 64, tos: 0, transport, payload_len };
        packet.write(&mut bytes).expect("it can be written");
        bytes
    }

    /// Whether each is a copy, if one comes each 100 ms.
    fn are_copies(packets: &[Vec<u8>]) -> Vec<bool> {
        copies_each(100_000, packets)
    }

    /// Whether each is a copy, if they come at this interval in microseconds.
    fn copies_each(interval_us: u64, packets: &[Vec<u8>]) -> Vec<bool> {
        let mut copies = Copies::default();
        let is_one = |(n, bytes): (u64, &Vec<u8>)| {
            let packet = ip::parse(bytes, bytes.len() as u32).expect("a packet");
            copies.is_one(Instant::from_nanos(n * interval_us * 1_000), Side::A, &packet)
        };
        (0..).zip(packets).map(is_one).collect()
    }

    /// A datagram of IPv4 with this identification and payload.
    fn datagram(id: u16, payload: &[u8]) -> Vec<u8> {
        let (source, destination) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let transport = Sent::Udp { source_port: 5004, destination_port: 5006 };
        let payload_len = payload.len() as u32;
        let packet = Datagram { source, destination, id, ttl: 64, tos: 0, transport, payload_len };
        let mut bytes = Vec::new();
        packet.write(&mut bytes).expect("it can be written");
        bytes.truncate(bytes.len() - payload.len());
        bytes.extend(payload);
        bytes
    }

    /// The same of IPv6, which has no identification.
    fn datagram_v6(hops: u8, payload: &[u8]) -> Vec<u8> {
        let len = payload.len() as u8 + 8;
        let mut bytes = vec![0x60, 0, 0, 0, 0, len, 17, hops];
        bytes.extend([1; 16]);
        bytes.extend([2; 16]);
        bytes.extend([0, 80, 0, 90, 0, len, 0, 0]);
        bytes.extend(payload);
        bytes
    }

    /// The packet behind a router: its TTL is one less.
    fn routed(mut packet: Vec<u8>) -> Vec<u8> {
        packet[8] -= 1;
        packet
    }

    #[test]
    fn other_bytes_are_no_copy_whatever_the_identification_is() {
        let constant = |n: u8| datagram(1, &[0x80, 0, 0, n, 7, 7]);
        let bursts = |n: u8| datagram(u16::from(n % 4), &[0x40, n, 9, 9]);
        for packets in [(0..60).map(constant).collect::<Vec<_>>(), (0..60).map(bursts).collect()] {
            assert_eq!(copies_each(20_000, &packets), [false; 60]);
            assert_eq!(copies_each(10, &packets), [false; 60]);
        }
    }

    /// Keep-alives of a device that writes a constant identification, or none.
    #[test]
    fn the_same_bytes_over_and_over_are_no_copies() {
        for id in [0, 1] {
            let packets = vec![datagram(id, b"still here"); 40];
            for interval_us in [10, 1_000, 500_000] {
                assert_eq!(copies_each(interval_us, &packets), [false; 40], "{id} {interval_us}");
            }
        }
    }

    #[test]
    fn a_constant_identification_is_copied_by_a_router_and_retransmitted_by_a_host() {
        let data = |n: u32| segment(1, 1000 * n, 1000, false);
        let through = |n: u32| [data(n), routed(data(n))];
        let twice: Vec<_> = (0..20).flat_map(through).collect();
        let copies = copies_each(1_000, &twice);
        assert_eq!(copies.iter().filter(|copy| **copy).count(), 18, "from the third on");
        // A retransmission passes the router as well, and is no copy of the first one.
        let again = [&twice[..], &through(19), &through(19)].concat();
        assert_eq!(copies_each(1_000, &again)[40..], [false, true, false, true]);
    }

    #[test]
    fn a_routed_packet_of_ipv6_is_a_copy() {
        let through = |n: u8| [datagram_v6(64, &[n, 1, 2]), datagram_v6(63, &[n, 1, 2])];
        let twice: Vec<_> = (0..10).flat_map(through).collect();
        assert_eq!(copies_each(1_000, &twice).iter().filter(|copy| **copy).count(), 8);
        let sent_twice: Vec<_> = (0..10).flat_map(|n| vec![datagram_v6(64, &[n, 1]); 2]).collect();
        assert_eq!(copies_each(1_000, &sent_twice), [false; 20]);
    }

    /// A SYN that a device sends again after half a second, with the same identification.
    #[test]
    fn a_syn_with_a_constant_identification_is_sent_again_after_a_timer() {
        let syn = || segment(1, 100, 0, true);
        assert_eq!(copies_each(500_000, &[syn(), syn(), syn()]), [false; 3]);
        assert_eq!(copies_each(500_000, &[syn(), routed(syn())]), [false, true]);
    }

    /// Three interfaces, as of a bridge and both its ports.
    #[test]
    fn packets_may_come_three_times() {
        let thrice: Vec<_> = (1..9).flat_map(|n| vec![datagram(n, &[1, 2, n as u8]); 3]).collect();
        let copies = copies_each(100, &thrice);
        assert_eq!(copies[7..], [&[true, true][..], &[false, true, true].repeat(5)].concat());
    }

    /// Without identifications a bridge shows each segment twice, and each duplicate ACK too.
    #[test]
    fn a_bridge_doubles_packets_without_identification() {
        let syn = segment(0, 100, 0, true);
        let (data, ack) = (segment(0, 101, 900, false), segment(0, 1001, 0, false));
        let packets = [&[syn.clone(), syn][..], &vec![data; 2], &vec![ack; 6]].concat();
        let twice = [false, true].repeat(5);
        assert_eq!(copies_each(1_000, &packets), twice);
    }

    #[test]
    fn all_that_follows_a_copied_syn_is_looked_at() {
        let syn = segment(7, 100, 0, true);
        let data = |n: u16| segment(7 + n, 100 + 1000 * u32::from(n), 1000, false);
        let twice = [syn.clone(), syn, data(1), data(2), data(1), data(2), data(3)];
        assert_eq!(are_copies(&twice), [false, true, false, false, true, true, false]);
    }

    #[test]
    fn a_retransmission_has_a_number_of_its_own() {
        let syn = segment(7, 100, 0, true);
        let (data, again) = (segment(8, 101, 1000, false), segment(9, 101, 1000, false));
        assert_eq!(are_copies(&[syn.clone(), syn, data, again]), [false, true, false, false]);
    }

    #[test]
    fn a_syn_without_a_number_is_sent_again_after_a_timer() {
        let syn = || segment(0, 100, 0, true);
        let other = || segment(0, 7_000, 1000, false);
        assert_eq!(are_copies(&[syn(), syn(), other(), other(), syn()])[..2], [false, true]);
        assert_eq!(are_copies(&[syn(), other(), other(), syn()]), [false; 4]);
    }

    #[test]
    fn a_packet_that_a_network_doubled_is_no_sign_of_two_interfaces() {
        let data = |n: u16| segment(n, 1000 * u32::from(n), 1000, false);
        assert_eq!(are_copies(&[data(1), data(1), data(2), data(3)]), [false; 4]);
        let all = [data(1), data(1), data(2), data(2), data(3), data(3), data(4), data(4)];
        let from_the_third = [false, false, false, false, false, true, false, true];
        assert_eq!(are_copies(&all), from_the_third);
    }
}
