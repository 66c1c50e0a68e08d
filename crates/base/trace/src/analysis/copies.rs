//! Packets that a capture has twice, as one of all interfaces of a router has: where they came in
//! and where they went out.
//!
//! A copy has the IP identification of the packet, and all that its sender wrote. A retransmission
//! has another identification. Numbers repeat after 65536 packets, so only streams known to have
//! copies are examined: a stream whose SYN, or of whose first packets three, came twice.

use super::stream::Side;
use fairwave_units::{Duration, Instant};
use fairwave_wire::ip::{self, Transport};

/// Packets that are remembered of each direction once copies are known. More may wait in a router
/// between both places; a forgotten one counts as a packet of its own.
const REMEMBERED: usize = 512;
/// Packets of a direction in which copies are looked for, and how many of them there must be.
const LOOKED_AT: u8 = 8;
const COPIES: u8 = 3;
/// A SYN without identification that comes again after so long is sent again: no timer is shorter.
const SYN_TIMER: Duration = Duration::from_millis(200);

/// The fields that distinguish one packet of a direction from another.
type Mark = u64;

/// Finds copies in one stream.
#[derive(Debug, Default)]
pub(super) struct Copies {
    ways: [First; 2],
    /// The packets by identification, of both directions; there once copies are known.
    known: Option<Box<[[Mark; REMEMBERED]; 2]>>,
}

/// The first packets of a direction.
#[derive(Clone, Copy, Debug, Default)]
struct First {
    /// The last SYN, and when it came.
    syn: (Mark, Instant),
    marks: [Mark; LOOKED_AT as usize],
    seen: u8,
    copies: u8,
}

impl Copies {
    /// Whether this packet of `side`, at this time, has been there.
    pub(super) fn is_one(&mut self, at: Instant, side: Side, packet: &ip::Packet<'_>) -> bool {
        let way = side.index();
        if self.known.is_none() && self.ways[way].seen == LOOKED_AT {
            return false;
        }
        let (mark, is_syn) = mark(packet);
        if mark == 0 {
            return false;
        }
        if is_syn {
            let (last, when) = core::mem::replace(&mut self.ways[way].syn, (mark, at));
            // A SYN-ACK, which answers each SYN and has a timer besides, may come again at once.
            let is_soon =
                at.since(when) < SYN_TIMER && (self.known.is_some() || !is_answer(packet));
            let is_copy = last == mark && (packet.id != 0 || is_soon);
            if is_copy && self.known.is_none() {
                self.know();
            }
            return is_copy;
        }
        if let Some(known) = &mut self.known {
            let place = &mut known[way][packet.id as usize % REMEMBERED];
            return core::mem::replace(place, mark) == mark;
        }
        let first = &mut self.ways[way];
        let is_copy = first.marks.contains(&mark);
        first.marks[usize::from(first.seen)] = mark;
        first.seen += 1;
        first.copies += u8::from(is_copy);
        if first.copies == COPIES {
            self.know();
        }
        is_copy && self.known.is_some()
    }

    /// Copies are known from now on, and so are the packets seen before.
    fn know(&mut self) {
        let mut known = Box::new([[0; REMEMBERED]; 2]);
        for (way, marks) in self.ways.iter().zip(known.iter_mut()) {
            for mark in way.marks {
                marks[(mark >> 48) as usize % REMEMBERED] = mark;
            }
        }
        self.known = Some(known);
    }
}

/// Identification, sequence number and length, and whether it is a SYN. Zero where the packet has
/// no identification, unless it is a SYN, which is known again by its number.
fn mark(packet: &ip::Packet<'_>) -> (Mark, bool) {
    let (number, is_syn) = match &packet.transport {
        Transport::Tcp(segment) => (segment.header.seq.0, segment.header.flags.syn),
        _ => (0, false),
    };
    let id = packet.id as u16;
    if !packet.source.is_ipv4() || id == 0 && !is_syn {
        return (0, is_syn);
    }
    (u64::from(id) << 48 | u64::from(number) << 16 | u64::from(packet.len as u16), is_syn)
}

fn is_answer(packet: &ip::Packet<'_>) -> bool {
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
        let mut copies = Copies::default();
        let is_one = |(at, bytes): (u64, &Vec<u8>)| {
            let packet = ip::parse(bytes, bytes.len() as u32).expect("a packet");
            copies.is_one(Instant::from_nanos(at * 100_000_000), Side::A, &packet)
        };
        (0..).zip(packets).map(is_one).collect()
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
