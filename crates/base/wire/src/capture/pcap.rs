//! The classic format: a header, then packets with nothing between them.

use super::clock::Clock;
use super::fields::{Fields, Order};
use super::record::{Fault, PACKET_LEN_MAX, Record, Step};
use crate::pcapng::LinkType;

/// Length of the file's header in bytes.
pub(super) const HEADER_LEN: usize = 24;
/// Length of a packet's header in bytes.
const RECORD_LEN: usize = 16;
/// Additional fields of Kuznetzov's patch: interface, protocol, kind of packet.
const PATCHED_LEN: usize = 8;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
const PATCHED: u32 = 0xa1b2_cd34;

/// Fields of the header that hold for all packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    order: Order,
    link_type: LinkType,
    /// Length of a packet's header in bytes.
    record_len: usize,
    /// Parts of a second, in the order of the file.
    unit: Unit,
    lengths: Lengths,
}

/// Order of both lengths in a packet's header. It changed with version 2.3; some writers of that
/// version kept the old one (libpcap's `sf-pcap.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    /// Captured length, then that on the wire.
    Captured,
    /// Length on the wire first.
    Swapped,
    /// The captured length is the lesser one.
    Unknown,
}

#[derive(Clone, Copy, Debug)]
struct Unit {
    per_s: u32,
    clock: Clock,
}

/// Whether a capture of this format may begin so.
pub(super) fn is_magic(magic: [u8; 4]) -> bool {
    order(magic).is_some()
}

fn order(magic: [u8; 4]) -> Option<(Order, u32)> {
    let known = |number| matches!(number, MICROSECONDS | NANOSECONDS | PATCHED);
    let orders = [Order::Big, Order::Little].map(|order| (order, order.u32(magic)));
    orders.into_iter().find(|(_, number)| known(*number))
}

impl Header {
    /// Parses the header of a file.
    pub(super) fn parse(bytes: &[u8; HEADER_LEN]) -> Result<Self, Fault> {
        let [a, b, c, d, major, major2, minor, minor2, ..] = *bytes;
        let (order, magic) = order([a, b, c, d]).unwrap_or((Order::Big, MICROSECONDS));
        let (major, minor) = (order.u16([major, major2]), order.u16([minor, minor2]));
        let lengths = match (major, minor) {
            // The second one is that of tcpdump in DG/UX.
            (2, 0..=2) | (543, 0) => Lengths::Swapped,
            (2, 3) => Lengths::Unknown,
            (2, _) => Lengths::Captured,
            _ => return Err(Fault::Version { major, minor }),
        };
        let [.., e, f, g, h] = *bytes;
        // The upper half says whether frames carry their check sequence.
        let link_type = LinkType::from_number(order.u32([e, f, g, h]) as u16);
        let record_len = if magic == PATCHED { RECORD_LEN + PATCHED_LEN } else { RECORD_LEN };
        Ok(Self { order, link_type, record_len, unit: Unit::of(magic)?, lengths })
    }

    /// The next packet.
    pub(super) fn step(&self, bytes: &[u8]) -> Result<Step, Fault> {
        let mut fields = Fields { order: self.order, rest: bytes };
        let mut field = || fields.u32();
        let (Some(seconds), Some(fraction), Some(len), Some(original_len)) =
            (field(), field(), field(), field())
        else {
            return Ok(Step::More(self.record_len));
        };
        let (len, original_len) = match self.lengths {
            Lengths::Captured => (len, original_len),
            Lengths::Swapped => (original_len, len),
            Lengths::Unknown => (len.min(original_len), len.max(original_len)),
        };
        if len > PACKET_LEN_MAX {
            return Err(Fault::PacketLength { len });
        }
        let end = self.record_len + len as usize;
        if bytes.len() < end {
            return Ok(Step::More(end));
        }
        let ticks = u64::from(seconds) * u64::from(self.unit.per_s) + u64::from(fraction);
        Ok(Step::Packet(Record {
            len: end,
            data: self.record_len..end,
            original_len: original_len.max(len),
            link_type: self.link_type,
            interface: 0,
            at: self.unit.clock.at(ticks),
            // Writers that add times without a carry make these; the sum is what they meant.
            is_carried: fraction >= self.unit.per_s,
        }))
    }
}

impl Unit {
    fn of(magic: u32) -> Result<Self, Fault> {
        let clock = Clock::MICROSECONDS;
        Ok(match magic {
            NANOSECONDS => Self { per_s: 1_000_000_000, clock: clock.with_resolution(9)? },
            _ => Self { per_s: 1_000_000, clock },
        })
    }
}
