//! Parquet tables of an analysis.

use crate::trace::letter;
use fairwave_lab::results::{self, Cell, Column, Kind as Of, Table, TableWriter};
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

type EndColumn = Column<EndRow>;
type IntervalColumn = Column<IntervalRow>;

const fn end<F: Fn(&EndRow) -> Cell + Sync>(
    name: &'static str,
    doc: &'static str,
    cells: &'static F,
) -> EndColumn {
    Column { name, kind: Of::Integer, nullable: false, doc, cells }
}

const fn end_text<F: Fn(&EndRow) -> Cell + Sync>(
    name: &'static str,
    doc: &'static str,
    cells: &'static F,
) -> EndColumn {
    Column { name, kind: Of::Text, nullable: false, doc, cells }
}

const fn maybe<F: Fn(&EndRow) -> Cell + Sync>(
    name: &'static str,
    doc: &'static str,
    cells: &'static F,
) -> EndColumn {
    Column { name, kind: Of::Integer, nullable: true, doc, cells }
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
    doc: "What each end of each TCP connection and UDP stream sent: two rows a stream.",
    columns: &[
        end_text("protocol", "`tcp`, `udp` or `dccp`", &|row: &EndRow| {
            text(protocol(row.stream.id))
        }),
        end("stream", "Number of the stream, TCP and UDP apart", &|row: &EndRow| {
            number(row.stream.id)
        }),
        end_text("side", "Which end: `a` began", &|row: &EndRow| side(row.side)),
        end_text("address", "Address and port of this end", &|row: &EndRow| {
            text(&row.stream.ends[row.side.index()].to_string())
        }),
        end_text("peer", "Address and port of the other", &|row: &EndRow| {
            text(&row.stream.ends[row.side.other().index()].to_string())
        }),
        end("start_unix_ns", "First packet of the stream", &|row: &EndRow| time(row.stream.first)),
        end("end_unix_ns", "Last packet of the stream", &|row: &EndRow| time(row.stream.last)),
        end("packets", "Packets sent", &|row: &EndRow| Cell::unsigned(row.way().volume.packets)),
        end("ip_bytes", "Bytes from the IP header on", &|row: &EndRow| {
            Cell::unsigned(row.way().volume.ip_bytes)
        }),
        end("payload_bytes", "Payload, retransmissions included", &|row: &EndRow| {
            Cell::unsigned(row.way().volume.payload_bytes)
        }),
        end("unique_bytes", "Bytes of a TCP stream, each once", &|row: &EndRow| {
            Cell::unsigned(row.tcp().unique_bytes)
        }),
        end("retransmissions", "Segments sent again", &|row: &EndRow| {
            Cell::unsigned(row.tcp().retransmissions())
        }),
        end("timeouts", "Those sent again by the timer", &|row: &EndRow| {
            Cell::unsigned(row.tcp().count(Kind::Timeout))
        }),
        end("out_of_order", "Segments reordered before the capture", &|row: &EndRow| {
            Cell::unsigned(row.tcp().count(Kind::OutOfOrder))
        }),
        end("duplicate_acks", "Duplicate ACKs sent", &|row: &EndRow| {
            Cell::unsigned(row.tcp().count(Kind::DuplicateAck))
        }),
        end(
            "segments",
            "Segments of the wire that its packets with data stand for",
            &|row: &EndRow| Cell::unsigned(row.tcp().segments),
        ),
        end("offloaded_packets", "Packets that stand for several segments", &|row: &EndRow| {
            Cell::unsigned(row.tcp().offloaded)
        }),
        maybe(
            "acks_lost",
            "ACKs for its data that were lost before the capture, where that can be told",
            &|row: &EndRow| {
                row.tcp().acks_lost.map_or(Cell::Null, |lost| Cell::unsigned(lost.count))
            },
        ),
        end("application_limited_ns", "Time in which it had nothing to send", &|row: &EndRow| {
            Cell::unsigned(row.tcp().application_limited.as_nanos())
        }),
        end(
            "window_limited_ns",
            "Time in which the other end's window was full",
            &|row: &EndRow| Cell::unsigned(row.tcp().window_limited.as_nanos()),
        ),
        end("starvation_ns", "Time without progress of outstanding data", &|row: &EndRow| {
            Cell::unsigned(row.tcp().starvation.total.as_nanos())
        }),
        end("ack_gap_ns", "Time without an ACK for outstanding data", &|row: &EndRow| {
            Cell::unsigned(row.tcp().ack_gaps.total.as_nanos())
        }),
        end("zero_window_ns", "Time in which the other end's window was zero", &|row: &EndRow| {
            Cell::unsigned(row.tcp().zero_window_spells.total.as_nanos())
        }),
        end("flight_max_bytes", "Most bytes outstanding", &|row: &EndRow| {
            Cell::unsigned(row.tcp().flight_max)
        }),
        maybe("rtt_min_ns", "Least round-trip time of its data", &|row: &EndRow| row.rtt(0.0)),
        maybe("rtt_p50_ns", "Median round-trip time", &|row: &EndRow| row.rtt(0.5)),
        maybe("rtt_p95_ns", "95 of 100 round-trip times are not longer", &|row: &EndRow| {
            row.rtt(0.95)
        }),
        maybe("rtt_max_ns", "Greatest round-trip time", &|row: &EndRow| row.rtt(1.0)),
        maybe("lost", "Numbers of datagrams that never came", &|row: &EndRow| {
            row.way().numbers.map_or(Cell::Null, |numbers| Cell::unsigned(numbers.lost))
        }),
        maybe("reordered", "Datagrams behind one of a higher number", &|row: &EndRow| {
            row.way().numbers.map_or(Cell::Null, |numbers| Cell::unsigned(numbers.reordered))
        }),
        maybe(
            "jitter_mean_ns",
            "Mean interarrival jitter of datagrams that carry a time (RFC 3550)",
            &|row: &EndRow| {
                let jitter = row.way().numbers.and_then(|numbers| numbers.jitter);
                jitter.map_or(Cell::Null, |jitter| Cell::unsigned(jitter.mean.as_nanos()))
            },
        ),
    ],
};

const fn interval<F: Fn(&IntervalRow) -> Cell + Sync>(
    name: &'static str,
    doc: &'static str,
    cells: &'static F,
) -> IntervalColumn {
    Column { name, kind: Of::Integer, nullable: false, doc, cells }
}

/// Packets per interval.
pub const INTERVALS: Table<IntervalRow> = Table {
    file: "intervals.parquet",
    doc: "What each end of a stream sent in each interval; none where it sent nothing.",
    columns: &[
        interval("at_unix_ns", "Begin of the interval", &|row: &IntervalRow| time(row.at)),
        Column {
            name: "protocol",
            kind: Of::Text,
            nullable: false,
            doc: "`tcp`, `udp` or `dccp`",
            cells: &|row: &IntervalRow| text(protocol(row.stream)),
        },
        interval("stream", "Number of the stream", &|row: &IntervalRow| number(row.stream)),
        Column {
            name: "side",
            kind: Of::Text,
            nullable: false,
            doc: "Which end sent",
            cells: &|row: &IntervalRow| side(row.side),
        },
        interval("packets", "Packets", &|row: &IntervalRow| {
            Cell::Integer(row.counts.packets.into())
        }),
        interval("ip_bytes", "Bytes from the IP header on", &|row: &IntervalRow| {
            Cell::unsigned(row.counts.bytes)
        }),
        interval("payload_bytes", "Payload", &|row: &IntervalRow| {
            Cell::unsigned(row.counts.payload_bytes)
        }),
        interval("retransmissions", "Segments sent again", &|row: &IntervalRow| {
            Cell::Integer(row.counts.retransmissions.into())
        }),
        interval("pure_acks", "ACKs alone", &|row: &IntervalRow| {
            Cell::Integer(row.counts.pure_acks.into())
        }),
    ],
};

/// Points of the connections that are drawn.
pub const POINTS: Table<Point> = Table {
    file: "points.parquet",
    doc: "Segments, ACKs, SACK blocks, round-trip times and spells of the connections drawn.",
    columns: &[
        Column {
            name: "at_unix_ns",
            kind: Of::Integer,
            nullable: false,
            doc: "When; of a spell, when it began",
            cells: &|point: &Point| time(point.at),
        },
        Column {
            name: "stream",
            kind: Of::Integer,
            nullable: false,
            doc: "Number of the connection",
            cells: &|point: &Point| number(point.stream),
        },
        Column {
            name: "side",
            kind: Of::Text,
            nullable: false,
            doc: "Which end sent the packet, or has the data that a spell is about",
            cells: &|point: &Point| side(point.side),
        },
        Column {
            name: "mark",
            kind: Of::Text,
            nullable: false,
            doc: "A kind of segment, or `ack_field`, `sack`, `dsack`, `rtt`, or a kind of spell",
            cells: &|point: &Point| text(mark(&point.mark).0),
        },
        Column {
            name: "start",
            kind: Of::Integer,
            nullable: true,
            doc: "First sequence number, relative; of an ACK the next expected",
            cells: &|point: &Point| integer(mark(&point.mark).1),
        },
        Column {
            name: "end",
            kind: Of::Integer,
            nullable: true,
            doc: "The one behind the last; of an ACK the right edge of the window",
            cells: &|point: &Point| integer(mark(&point.mark).2),
        },
        Column {
            name: "length_ns",
            kind: Of::Integer,
            nullable: true,
            doc: "A round-trip time, or how long a spell was",
            cells: &|point: &Point| integer(mark(&point.mark).3),
        },
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

fn text(text: &str) -> Cell {
    Cell::Text(Arc::from(text))
}

fn side(side: Side) -> Cell {
    text(letter(side).encode_utf8(&mut [0; 4]))
}

fn time(at: Instant) -> Cell {
    Cell::unsigned(at.as_nanos())
}

fn integer(value: Option<i64>) -> Cell {
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
