//! Parquet tables of an analysis.

use crate::trace::letter;
use fairwave_lab::results::column::{integer, nullable_integer, text, time};
use fairwave_lab::results::{self, Cell, Table, TableWriter};
use fairwave_trace::analysis::{
    Interval, Kind, Mark, Point, Side, SpellKind, Stream, StreamId, TcpWay, Way,
};
use fairwave_units::Instant;
use std::path::Path;
use std::sync::Arc;

/// One end of a stream.
#[derive(Debug)]
pub struct EndRow {
    stream: Arc<Stream>,
    side: Side,
}

/// An interval in which one end sent something.
#[derive(Debug)]
pub struct IntervalRow {
    at: Instant,
    stream: StreamId,
    side: Side,
    counts: Interval,
}

impl EndRow {
    fn way(&self) -> &Way {
        &self.stream.ways[self.side.index()]
    }

    fn tcp(&self) -> &TcpWay {
        &self.way().tcp
    }

    fn rtt(&self, q: f64) -> Cell {
        let quantile = self.tcp().rtt.quantile(q);
        quantile.map_or(Cell::Null, |time| Cell::unsigned(time.as_nanos()))
    }
}

/// Both ends of every stream.
pub const ENDS: Table<EndRow> = Table {
    file: "connections.parquet",
    doc: "Data sent by each end of each TCP connection and UDP stream: two rows a stream.",
    columns: &[
        text("protocol", "`tcp`, `udp` or `dccp`", &|row: &EndRow| {
            text_cell(protocol(row.stream.id))
        }),
        integer("stream", "Number of the stream, TCP and UDP apart", &|row: &EndRow| {
            number(row.stream.id)
        }),
        text("side", "Which end: `a` began", &|row: &EndRow| side(row.side)),
        text("address", "Address and port of this end", &|row: &EndRow| {
            text_cell(&row.stream.ends[row.side.index()].to_string())
        }),
        text("peer", "Address and port of the other", &|row: &EndRow| {
            text_cell(&row.stream.ends[row.side.other().index()].to_string())
        }),
        integer("start_unix_ns", "First packet of the stream", &|row: &EndRow| {
            time(row.stream.first)
        }),
        integer("end_unix_ns", "Last packet of the stream", &|row: &EndRow| time(row.stream.last)),
        integer("packets", "Packets sent", &|row: &EndRow| {
            Cell::unsigned(row.way().volume.packets)
        }),
        integer("ip_bytes", "Bytes from the IP header on", &|row: &EndRow| {
            Cell::unsigned(row.way().volume.ip_bytes)
        }),
        integer("payload_bytes", "Payload, retransmissions included", &|row: &EndRow| {
            Cell::unsigned(row.way().volume.payload_bytes)
        }),
        integer("unique_bytes", "Bytes of a TCP stream, each once", &|row: &EndRow| {
            Cell::unsigned(row.tcp().unique_bytes)
        }),
        integer("retransmissions", "Segments sent again", &|row: &EndRow| {
            Cell::unsigned(row.tcp().retransmissions())
        }),
        integer("timeouts", "Those sent again by the timer", &|row: &EndRow| {
            Cell::unsigned(row.tcp().count(Kind::Timeout))
        }),
        integer("out_of_order", "Segments reordered before the capture", &|row: &EndRow| {
            Cell::unsigned(row.tcp().count(Kind::OutOfOrder))
        }),
        integer("duplicate_acks", "Duplicate ACKs sent", &|row: &EndRow| {
            Cell::unsigned(row.tcp().count(Kind::DuplicateAck))
        }),
        integer(
            "segments",
            "Segments of the wire that its packets with data stand for",
            &|row: &EndRow| Cell::unsigned(row.tcp().segments),
        ),
        integer("offloaded_packets", "Packets that stand for several segments", &|row: &EndRow| {
            Cell::unsigned(row.tcp().offloaded)
        }),
        nullable_integer(
            "acks_lost",
            "ACKs for its data that were lost before the capture, where that can be inferred",
            &|row: &EndRow| {
                row.tcp().acks_lost.map_or(Cell::Null, |lost| Cell::unsigned(lost.count))
            },
        ),
        integer(
            "application_limited_ns",
            "Time in which it had nothing to send",
            &|row: &EndRow| Cell::unsigned(row.tcp().application_limited.as_nanos()),
        ),
        integer(
            "window_limited_ns",
            "Time in which the other end's window was full",
            &|row: &EndRow| Cell::unsigned(row.tcp().window_limited.as_nanos()),
        ),
        integer("starvation_ns", "Time without progress of outstanding data", &|row: &EndRow| {
            Cell::unsigned(row.tcp().starvation.total.as_nanos())
        }),
        integer("ack_gap_ns", "Time without an ACK for outstanding data", &|row: &EndRow| {
            Cell::unsigned(row.tcp().ack_gaps.total.as_nanos())
        }),
        integer(
            "zero_window_ns",
            "Time in which the other end's window was zero",
            &|row: &EndRow| Cell::unsigned(row.tcp().zero_window_spells.total.as_nanos()),
        ),
        integer("flight_max_bytes", "Most bytes outstanding", &|row: &EndRow| {
            Cell::unsigned(row.tcp().flight_max)
        }),
        nullable_integer("rtt_min_ns", "Least round-trip time of its data", &|row: &EndRow| {
            row.rtt(0.0)
        }),
        nullable_integer("rtt_p50_ns", "Median round-trip time", &|row: &EndRow| row.rtt(0.5)),
        nullable_integer(
            "rtt_p95_ns",
            "95 of 100 round-trip times are not longer",
            &|row: &EndRow| row.rtt(0.95),
        ),
        nullable_integer("rtt_max_ns", "Greatest round-trip time", &|row: &EndRow| row.rtt(1.0)),
        nullable_integer("lost", "Numbers of datagrams that never arrived", &|row: &EndRow| {
            row.way().numbers.map_or(Cell::Null, |numbers| Cell::unsigned(numbers.lost))
        }),
        nullable_integer(
            "reordered",
            "Datagrams behind one of a higher number",
            &|row: &EndRow| {
                row.way().numbers.map_or(Cell::Null, |numbers| Cell::unsigned(numbers.reordered))
            },
        ),
        nullable_integer(
            "jitter_mean_ns",
            "Mean interarrival jitter of datagrams that carry a time (RFC 3550)",
            &|row: &EndRow| {
                let jitter = row.way().numbers.and_then(|numbers| numbers.jitter);
                jitter.map_or(Cell::Null, |jitter| Cell::unsigned(jitter.mean.as_nanos()))
            },
        ),
    ],
};

/// Packets per interval.
pub const INTERVALS: Table<IntervalRow> = Table {
    file: "intervals.parquet",
    doc: "Data sent by each end of a stream in each interval; no row where it sent nothing.",
    columns: &[
        integer("at_unix_ns", "Begin of the interval", &|row: &IntervalRow| time(row.at)),
        text("protocol", "`tcp`, `udp` or `dccp`", &|row: &IntervalRow| {
            text_cell(protocol(row.stream))
        }),
        integer("stream", "Number of the stream", &|row: &IntervalRow| number(row.stream)),
        text("side", "Which end sent", &|row: &IntervalRow| side(row.side)),
        integer("packets", "Packets", &|row: &IntervalRow| {
            Cell::Integer(row.counts.packets.into())
        }),
        integer("ip_bytes", "Bytes from the IP header on", &|row: &IntervalRow| {
            Cell::unsigned(row.counts.bytes)
        }),
        integer("payload_bytes", "Payload", &|row: &IntervalRow| {
            Cell::unsigned(row.counts.payload_bytes)
        }),
        integer("retransmissions", "Segments sent again", &|row: &IntervalRow| {
            Cell::Integer(row.counts.retransmissions.into())
        }),
        integer("pure_acks", "ACKs alone", &|row: &IntervalRow| {
            Cell::Integer(row.counts.pure_acks.into())
        }),
    ],
};

/// Points of the connections that are drawn.
pub const POINTS: Table<Point> = Table {
    file: "points.parquet",
    doc: "Segments, ACKs, SACK blocks, round-trip times and spells of the connections drawn.",
    columns: &[
        integer("at_unix_ns", "When; of a spell, when it began", &|point: &Point| time(point.at)),
        integer("stream", "Number of the connection", &|point: &Point| number(point.stream)),
        text(
            "side",
            "Which end sent the packet, or has the data that a spell is about",
            &|point: &Point| side(point.side),
        ),
        text(
            "mark",
            "A kind of segment, or `ack_field`, `sack`, `dsack`, `rtt`, or a kind of spell",
            &|point: &Point| text_cell(mark(&point.mark).0),
        ),
        nullable_integer(
            "start",
            "First sequence number, relative; of an ACK the next expected",
            &|point: &Point| integer_cell(mark(&point.mark).1),
        ),
        nullable_integer(
            "end",
            "The one behind the last; of an ACK the right edge of the window",
            &|point: &Point| integer_cell(mark(&point.mark).2),
        ),
        nullable_integer(
            "length_ns",
            "A round-trip time, or how long a spell was",
            &|point: &Point| integer_cell(mark(&point.mark).3),
        ),
    ],
};

/// Name, range and length of a mark.
fn mark(mark: &Mark) -> (&'static str, Option<i64>, Option<i64>, Option<i64>) {
    let length = |time: fairwave_units::Duration| i64::try_from(time.as_nanos()).ok();
    match *mark {
        Mark::Segment { start, end, kind, .. } => (kind.name(), Some(start), Some(end), None),
        Mark::Ack { ack, edge, .. } => ("ack_field", Some(ack), Some(edge), None),
        Mark::Sack { left, right, is_duplicate } => {
            (if is_duplicate { "dsack" } else { "sack" }, Some(left), Some(right), None)
        }
        Mark::Rtt(rtt) => ("rtt", None, None, length(rtt)),
        Mark::Interval(_) => ("interval", None, None, None),
        Mark::Spell { kind, length: time } => {
            let name = match kind {
                SpellKind::AckGap => "ack_gap",
                SpellKind::Starvation => "starvation",
                SpellKind::Idle => "idle",
                SpellKind::ZeroWindow => "zero_window",
            };
            (name, None, None, length(time))
        }
    }
}

fn text_cell(text: &str) -> Cell {
    Cell::Text(Arc::from(text))
}

fn side(side: Side) -> Cell {
    text_cell(letter(side).encode_utf8(&mut [0; 4]))
}

fn integer_cell(value: Option<i64>) -> Cell {
    value.map_or(Cell::Null, Cell::Integer)
}

const fn protocol(id: StreamId) -> &'static str {
    match id {
        StreamId::Tcp(_) => "tcp",
        StreamId::Udp(_) => "udp",
        StreamId::Dccp(_) => "dccp",
    }
}

fn number(id: StreamId) -> Cell {
    let (StreamId::Tcp(number) | StreamId::Udp(number) | StreamId::Dccp(number)) = id;
    Cell::Integer(number.into())
}

/// Writes streams and intervals as they arrive. The first error is kept for [`Streams::finish`].
pub(super) struct Streams {
    ends: TableWriter<EndRow>,
    intervals: TableWriter<IntervalRow>,
    failure: Option<results::Error>,
}

impl Streams {
    pub(super) fn create(directory: &Path) -> Result<Self, results::Error> {
        let ends = TableWriter::create(&ENDS, directory)?;
        let intervals = TableWriter::create(&INTERVALS, directory)?;
        Ok(Self { ends, intervals, failure: None })
    }

    pub(super) fn stream(&mut self, stream: &Stream) {
        let stream = Arc::new(stream.clone());
        for side in Side::ALL {
            let row = EndRow { stream: Arc::clone(&stream), side };
            let written = self.ends.push(row);
            self.keep(written);
        }
    }

    pub(super) fn interval(&mut self, point: &Point, counts: Interval) {
        let Point { at, stream, side, .. } = *point;
        let written = self.intervals.push(IntervalRow { at, stream, side, counts });
        self.keep(written);
    }

    fn keep(&mut self, written: Result<(), results::Error>) {
        self.failure = self.failure.take().or(written.err());
    }

    pub(super) fn finish(self) -> Result<(), results::Error> {
        self.failure.map_or(Ok(()), Err)?;
        self.ends.finish()?;
        self.intervals.finish()
    }
}
