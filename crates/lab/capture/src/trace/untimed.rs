//! Packets without a time, such as those of simple packet blocks: they count at times spread evenly
//! between those of their neighbours.

use crate::file::Packet;
use fairwave_trace::analysis::{Analyzer, Captured, Points};
use fairwave_units::{Duration, Instant};
use fairwave_wire::pcapng::LinkType;

/// Limits of the packets that wait for a time: their number, and their bytes together.
const PACKETS_MAX: usize = 4_096;
const BYTES_MAX: usize = 4 << 20;

/// The packets since the last one that had a time. They wait for the next such packet; where there
/// are too many of them, they count at the time before.
#[derive(Debug, Default)]
pub(super) struct Times {
    last: Option<Instant>,
    waiting: Vec<Waiting>,
    bytes: usize,
    /// Number of packets without a time.
    pub(super) untimed: u64,
}

#[derive(Debug)]
struct Waiting {
    link: LinkType,
    bytes: Vec<u8>,
    original_len: u32,
}

impl Times {
    /// Analyses a packet at its time, after those that waited for it; or keeps it, if it has none.
    pub(super) fn push(
        &mut self,
        packet: &Packet<'_>,
        analyzer: &mut Analyzer,
        to: &mut impl Points,
    ) {
        let Packet { link_type: link, data: bytes, original_len, .. } = *packet;
        if let Some(at) = packet.at {
            self.release(Some(at), analyzer, to);
            self.last = Some(at);
            analyzer.push(Captured { at, link, bytes, original_len }, to);
            return;
        }
        self.untimed += 1;
        if self.waiting.len() == PACKETS_MAX || self.bytes + bytes.len() > BYTES_MAX {
            self.release(None, analyzer, to);
        }
        self.bytes += bytes.len();
        self.waiting.push(Waiting { link, bytes: bytes.to_vec(), original_len });
    }

    /// Analyses the packets that wait, between the last time and the `next`. A capture that has no
    /// times at all is analysed at one time.
    pub(super) fn release(
        &mut self,
        next: Option<Instant>,
        analyzer: &mut Analyzer,
        to: &mut impl Points,
    ) {
        let from = self.last.or(next).unwrap_or(Instant::ZERO);
        let gap = u128::from(next.map_or(Duration::ZERO, |next| next.since(from)).as_nanos());
        let parts = self.waiting.len() as u128 + 1;
        for (part, waiting) in (1u128..).zip(self.waiting.drain(..)) {
            let at = from + Duration::from_nanos((gap * part / parts) as u64);
            let Waiting { link, bytes, original_len } = waiting;
            analyzer.push(Captured { at, link, bytes: &bytes, original_len }, to);
        }
        self.bytes = 0;
    }
}
