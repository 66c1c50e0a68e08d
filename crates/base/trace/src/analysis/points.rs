//! Drawable results: points of a time-sequence graph, intervals and spells, reported as they
//! happen.

use super::{Kind, Side, Stream, StreamId};
use fairwave_units::{Duration, Instant};

/// One thing to draw or to write down. Sequence numbers are relative and do not wrap: a SYN has
/// 0, the first byte of data 1; where the capture began later, the first segment seen has 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Time.
    pub at: Instant,
    /// Of which stream.
    pub stream: StreamId,
    /// The end that sent the packet, or whose data the spell is about.
    pub side: Side,
    /// Kind of the point, with its values.
    pub mark: Mark,
}

/// Content of a [`Point`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark {
    /// A packet with sequence numbers: data, SYN, FIN or RST, the range being `start..end` (a
    /// SYN and a FIN take one).
    Segment {
        /// First sequence number.
        start: i64,
        /// The one behind the last.
        end: i64,
        /// Kind of the packet.
        kind: Kind,
        /// Whether it has a FIN.
        fin: bool,
    },
    /// The ACK of a packet, in the sequence numbers of the **other** side.
    Ack {
        /// Next sequence number expected.
        ack: i64,
        /// Right edge of the window: the limit of sending.
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
        /// Whether it reports a duplicate (RFC 2883).
        is_duplicate: bool,
    },
    /// A round-trip time, of data that `side` sent.
    Rtt(Duration),
    /// An interval of [`super::Config::interval`] is over in which `side` sent something;
    /// [`Point::at`] is where it began.
    Interval(Interval),
    /// A spell is over; [`Point::at`] is where it began.
    Spell {
        /// Kind of the spell.
        kind: SpellKind,
        /// Duration of the spell.
        length: Duration,
    },
}

/// Data of one side in an interval.
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

/// Kinds of spells.
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

/// Receiver of the results of an analysis.
pub trait Points {
    /// Takes the result of a stream, once for each stream, when it is over and has no more points.
    fn stream(&mut self, stream: Stream);

    /// Takes a point. Those of a stream come in the order of the capture, intervals and spells
    /// when they are over.
    fn point(&mut self, _point: &Point) {}
}

/// Keeps the results of streams, in the order in which they were over, and no points.
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

/// Two receivers, each of which gets everything.
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
