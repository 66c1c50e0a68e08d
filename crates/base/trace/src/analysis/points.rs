//! What is drawn: points of a time-sequence graph, intervals and spells, told as they happen.

use super::{Kind, Side, Stream, StreamId};
use fairwave_units::{Duration, Instant};

/// One thing to draw or to write down. Sequence numbers are relative and do not wrap: a SYN has
/// 0, the first byte of data 1; where the capture began later, the first segment seen has 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// When.
    pub at: Instant,
    /// Of which stream.
    pub stream: StreamId,
    /// Which end sent the packet, or has the data that a spell is about.
    pub side: Side,
    /// What.
    pub mark: Mark,
}

/// What a [`Point`] says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark {
    /// A packet with sequence numbers: data, SYN, FIN or RST, the range being `start..end` (a
    /// SYN and a FIN take one).
    Segment {
        /// First sequence number.
        start: i64,
        /// The one behind the last.
        end: i64,
        /// What it was.
        kind: Kind,
        /// Whether it has a FIN.
        fin: bool,
    },
    /// The ACK of a packet, in the sequence numbers of the **other** side.
    Ack {
        /// Next sequence number expected.
        ack: i64,
        /// Right edge of the window: what may be sent up to.
        edge: i64,
        /// Whether it repeats the last one for lack of a segment ([`Kind::DuplicateAck`]).
        duplicate: bool,
    },
    /// A SACK block of a packet, in the sequence numbers of the **other** side.
    Sack {
        /// First sequence number.
        left: i64,
        /// The one behind the last.
        right: i64,
        /// Whether it tells of a duplicate (RFC 2883).
        is_duplicate: bool,
    },
    /// A round-trip time, of data that `side` sent.
    Rtt(Duration),
    /// An interval of [`super::Config::interval`] is over in which `side` sent something;
    /// [`Point::at`] is where it began.
    Interval(Interval),
    /// A spell is over; [`Point::at`] is where it began.
    Spell {
        /// Of what kind.
        kind: SpellKind,
        /// How long it was.
        length: Duration,
    },
}

/// What one side sent in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Packets.
    pub packets: u32,
    /// Bytes of IP.
    pub bytes: u64,
    /// Bytes of payload.
    pub payload_bytes: u64,
    /// Retransmissions ([`Kind::is_retransmission`]).
    pub retransmissions: u32,
    /// Packets that are ACKs alone.
    pub pure_acks: u32,
}

/// What a spell is a spell of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpellKind {
    /// No packet with an ACK came for the side's outstanding data.
    AckGap,
    /// Data was outstanding and nothing was acknowledged anew, for long or through several
    /// timeouts.
    Starvation,
    /// Nothing was outstanding and neither side sent.
    Idle,
    /// The peer's window was zero.
    ZeroWindow,
}

/// Takes what an analysis finds.
pub trait Points {
    /// Takes what a stream came to, once for each stream, when it is over and has no more points.
    fn stream(&mut self, stream: Stream);

    /// Takes a point. Those of a stream come in the order of the capture, intervals and spells
    /// when they are over.
    fn point(&mut self, _point: &Point) {}
}

/// Keeps what streams came to, in the order in which they were over, and no points.
impl Points for Vec<Stream> {
    fn stream(&mut self, stream: Stream) {
        self.push(stream);
    }
}

impl<P: Points + ?Sized> Points for &mut P {
    fn stream(&mut self, stream: Stream) {
        (**self).stream(stream);
    }

    fn point(&mut self, point: &Point) {
        (**self).point(point);
    }
}

/// Both hear everything.
impl<A: Points, B: Points> Points for (A, B) {
    fn stream(&mut self, stream: Stream) {
        self.0.stream(stream.clone());
        self.1.stream(stream);
    }

    fn point(&mut self, point: &Point) {
        self.0.point(point);
        self.1.point(point);
    }
}

/// Wants nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ignore;

impl Points for Ignore {
    fn stream(&mut self, _: Stream) {}
}
