//! A packet of a connection, and the receiver of its half's points.

use crate::analysis::{Mark, Point, Points, Side, StreamId};
use fairwave_units::Instant;
use fairwave_wire::ip;

/// Fields of a packet, its numbers being relative to the start of each half.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet<'a> {
    pub(super) at: Instant,
    pub(super) segment: &'a ip::Segment<'a>,
    /// First sequence number, and the one behind the payload and behind all.
    pub(super) start: i64,
    pub(super) data_end: i64,
    pub(super) end: i64,
    /// Acknowledgement number, if it has one.
    pub(super) ack: Option<i64>,
    /// Longest payload of one segment with its options.
    pub(super) piece: u32,
    /// Segments of the wire that it stands for.
    pub(super) segments: u32,
}

impl Packet<'_> {
    pub(super) fn len(&self) -> i64 {
        self.data_end - self.start
    }

    /// Whether it has a SYN, a FIN or a RST.
    pub(super) fn is_control(&self) -> bool {
        let flags = self.segment.header.flags;
        flags.syn || flags.fin || flags.rst
    }

    /// Whether it is an ACK and nothing else.
    pub(super) fn is_pure_ack(&self) -> bool {
        self.ack.is_some() && self.len() == 0 && !self.is_control()
    }
}

/// Sends points of one side of a stream.
pub(in crate::analysis) struct Teller<'a, P> {
    pub(in crate::analysis) id: StreamId,
    pub(in crate::analysis) side: Side,
    pub(in crate::analysis) to: &'a mut P,
}

impl<P: Points> Teller<'_, P> {
    pub(super) fn report(&mut self, at: Instant, mark: Mark) {
        self.to.point(&Point { at, stream: self.id, side: self.side, mark });
    }

    /// The same for the other side.
    pub(super) fn other(&mut self) -> Teller<'_, P> {
        Teller { id: self.id, side: self.side.other(), to: self.to }
    }
}
