//! Packets without a time, such as those of simple packet blocks: they count at the time of the
//! packet before them.

use crate::file::Packet;
use fairwave_trace::analysis::{Analyzer, Captured, Points};
use fairwave_units::Instant;
use fairwave_wire::pcapng::LinkType;

/// Limits of the packets kept before the first time: their number, and their bytes together.
const PACKETS_MAX: usize = 4_096;
const BYTES_MAX: usize = 4 << 20;

/// The time of the last packet that had one, and the packets before the first such packet. Those
/// take its time. If there are too many of them, the capture has no times at all: then they are
/// analysed without.
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
    /// Returns the time at which a packet counts; `None` if the packet waits for one.
    pub(super) fn of(&mut self, packet: &Packet<'_>) -> Option<Instant> {
        self.untimed += u64::from(packet.at.is_none());
        if packet.at.is_some() {
            self.last = packet.at;
        }
        if self.last.is_none() {
            self.keep(packet);
        }
        self.last
    }

    fn keep(&mut self, packet: &Packet<'_>) {
        let Packet { link_type: link, data, original_len, .. } = *packet;
        if self.waiting.len() == PACKETS_MAX || self.bytes + data.len() > BYTES_MAX {
            self.last = Some(Instant::ZERO);
            return;
        }
        self.bytes += data.len();
        self.waiting.push(Waiting { link, bytes: data.to_vec(), original_len });
    }

    /// Analyses the packets that waited, at the time that is now known, if there is one; at the
    /// end of the capture without a time.
    pub(super) fn release(&mut self, is_end: bool, analyzer: &mut Analyzer, to: &mut impl Points) {
        let Some(at) = self.last.or(is_end.then_some(Instant::ZERO)) else { return };
        for Waiting { link, bytes, original_len } in self.waiting.drain(..) {
            analyzer.push(Captured { at, link, bytes: &bytes, original_len }, to);
        }
    }
}
