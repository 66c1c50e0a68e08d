//! The columns of every table: their cells, and their descriptions for the documentation.

use super::cell::{Cell, Kind};
use super::table::{Column, Table};
use fairwave_trace::{
    DropSample, FlowSample, PathSample, ProxySample, QueueSample, RateSample, SocSample,
    StationSample, VideoSample,
};
use fairwave_units::{BitRate, Db, Duration, Instant};
use std::sync::Arc;

/// A row of [`FLOWS`].
#[derive(Clone, Debug)]
pub struct FlowRow {
    /// Time.
    pub at: Instant,
    /// The flow's name.
    pub flow: Arc<str>,
    /// Its state.
    pub sample: FlowSample,
    /// Time of the sample before; the start of the run for the first.
    pub since: Instant,
    /// Bytes that had been delivered then.
    pub delivered_before: u64,
}

/// A row of [`PATHS`].
#[derive(Clone, Debug)]
pub struct PathRow {
    /// Time.
    pub at: Instant,
    /// The flow's name.
    pub flow: Arc<str>,
    /// The name of the node that the path passes.
    pub path: Arc<str>,
    /// Its state.
    pub sample: PathSample,
}

/// A row of [`QUEUES`].
#[derive(Clone, Debug)]
pub struct QueueRow {
    /// Time.
    pub at: Instant,
    /// The queue's name.
    pub queue: Arc<str>,
    /// Its state.
    pub sample: QueueSample,
}

/// A row of [`STATIONS`].
#[derive(Clone, Debug)]
pub struct StationRow {
    /// Time.
    pub at: Instant,
    /// The node's name.
    pub station: Arc<str>,
    /// Its state.
    pub sample: StationSample,
}

/// A row of [`ASSOCIATIONS`].
#[derive(Clone, Debug)]
pub struct AssociationRow {
    /// Time.
    pub at: Instant,
    /// The station's name.
    pub station: Arc<str>,
    /// The access point's name.
    pub ap: Option<Arc<str>>,
}

/// A row of [`SOC`].
#[derive(Clone, Debug)]
pub struct SocRow {
    /// Time.
    pub at: Instant,
    /// The station's name.
    pub station: Arc<str>,
    /// Its state.
    pub sample: SocSample,
}

/// A row of [`DROPS`].
#[derive(Clone, Debug)]
pub struct DropRow {
    /// Time.
    pub at: Instant,
    /// The queue's name.
    pub queue: Arc<str>,
    /// The flow's name, where the packet belongs to one.
    pub flow: Option<Arc<str>>,
    /// The dropped packet.
    pub sample: DropSample,
}

/// A column of integers.
pub const fn integer<R: 'static, F: Fn(&R) -> Cell + Sync>(
    name: &'static str,
    doc: &'static str,
    cells: &'static F,
) -> Column<R> {
    Column { name, kind: Kind::Integer, nullable: false, doc, cells }
}

/// A column of integers, or null.
pub const fn nullable_integer<R: 'static, F: Fn(&R) -> Cell + Sync>(
    name: &'static str,
    doc: &'static str,
    cells: &'static F,
) -> Column<R> {
    or_null(&integer(name, doc, cells))
}

/// A column of texts.
pub const fn text<R: 'static, F: Fn(&R) -> Cell + Sync>(
    name: &'static str,
    doc: &'static str,
    cells: &'static F,
) -> Column<R> {
    Column { name, kind: Kind::Text, nullable: false, doc, cells }
}

/// The column with cells that may be null.
pub const fn or_null<R>(column: &Column<R>) -> Column<R> {
    let Column { name, kind, doc, cells, .. } = *column;
    Column { name, kind, nullable: true, doc, cells }
}

/// A time in nanoseconds.
pub fn nanos(duration: Duration) -> Cell {
    Cell::unsigned(duration.as_nanos())
}

/// Thousandths of a dB.
fn millis(ratio: Option<Db>) -> Cell {
    ratio.map_or(Cell::Null, |db| Cell::Integer((db.0 * 1000.0).round() as i64))
}

/// A point in time, in nanoseconds.
pub fn time(at: Instant) -> Cell {
    Cell::unsigned(at.as_nanos())
}

/// A cell of a rate-based congestion control; null for others.
fn of_rate(row: &FlowRow, cell: fn(&RateSample) -> Cell) -> Cell {
    row.sample.rate.as_ref().map_or(Cell::Null, cell)
}

/// A cell of a flow's proxy; null for flows without one.
fn of_proxy(row: &FlowRow, cell: fn(&ProxySample) -> Cell) -> Cell {
    row.sample.proxy.as_ref().map_or(Cell::Null, cell)
}

/// A count that only the simulator has; null where a kernel carries the flow.
fn of_simulated(row: &FlowRow, count: u64) -> Cell {
    if row.sample.is_of_kernel { Cell::Null } else { Cell::unsigned(count) }
}

/// A cell of a flow's viewer; null for flows without one.
fn of_playout(row: &FlowRow, cell: fn(&VideoSample) -> Cell) -> Cell {
    row.sample.playout.as_ref().map_or(Cell::Null, cell)
}

/// State of each flow, every sample interval.
pub const FLOWS: Table<FlowRow> = Table {
    file: "flows.parquet",
    doc: "One row for each flow and sample interval. Counters are cumulative.",
    columns: &[
        integer("t_ns", "Virtual time in nanoseconds.", &|r: &FlowRow| time(r.at)),
        text("flow", "Name of the flow.", &|r: &FlowRow| Cell::Text(r.flow.clone())),
        integer(
            "delivered_bytes",
            "Bytes that the receiving application has read.",
            &|r: &FlowRow| Cell::unsigned(r.sample.delivered_bytes),
        ),
        integer(
            "goodput_bps",
            "Delivered bits per second since this flow's row before.",
            &|r: &FlowRow| {
                let bytes = r.sample.delivered_bytes.saturating_sub(r.delivered_before);
                Cell::unsigned(BitRate::over(bytes, r.at.since(r.since)).0)
            },
        ),
        integer("cwnd_bytes", "Congestion window; zero for UDP.", &|r: &FlowRow| {
            Cell::unsigned(r.sample.cwnd.into())
        }),
        or_null(&integer(
            "ssthresh_bytes",
            "Slow start threshold; null while unset.",
            &|r: &FlowRow| match r.sample.ssthresh {
                u32::MAX => Cell::Null,
                bytes => Cell::unsigned(bytes.into()),
            },
        )),
        integer("flight_bytes", "Bytes sent and not yet acknowledged.", &|r: &FlowRow| {
            Cell::unsigned(r.sample.flight.into())
        }),
        or_null(&integer(
            "srtt_ns",
            "Smoothed round-trip time; null before a sample.",
            &|r: &FlowRow| r.sample.srtt.map_or(Cell::Null, nanos),
        )),
        integer("rto_ns", "Retransmission timeout in force.", &|r: &FlowRow| nanos(r.sample.rto)),
        integer(
            "sent_packets",
            "Segments or datagrams sent, retransmissions included.",
            &|r: &FlowRow| Cell::unsigned(r.sample.sent_packets),
        ),
        integer("retransmissions", "Retransmitted segments.", &|r: &FlowRow| {
            Cell::unsigned(r.sample.retransmissions)
        }),
        integer("timeouts", "Expiries of the retransmission timer.", &|r: &FlowRow| {
            Cell::unsigned(r.sample.timeouts)
        }),
        or_null(&integer("fast_recoveries", "Entries into fast recovery.", &|r: &FlowRow| {
            of_simulated(r, r.sample.fast_recoveries)
        })),
        or_null(&integer(
            "proxy_cwnd_bytes",
            "Congestion window of the flow's proxy.",
            &|r: &FlowRow| of_proxy(r, |p| Cell::unsigned(p.cwnd.into())),
        )),
        or_null(&integer("proxy_ssthresh_bytes", "Its slow start threshold.", &|r: &FlowRow| {
            of_proxy(r, |p| match p.ssthresh {
                u32::MAX => Cell::Null,
                bytes => Cell::unsigned(bytes.into()),
            })
        })),
        or_null(&integer(
            "proxy_flight_bytes",
            "Bytes it sent and the sink has not acked.",
            &|r: &FlowRow| of_proxy(r, |p| Cell::unsigned(p.flight.into())),
        )),
        or_null(&integer("proxy_srtt_ns", "Its smoothed round-trip time.", &|r: &FlowRow| {
            of_proxy(r, |p| p.srtt.map_or(Cell::Null, nanos))
        })),
        or_null(&integer(
            "proxy_held_bytes",
            "Bytes from the source that wait in it.",
            &|r: &FlowRow| of_proxy(r, |p| Cell::unsigned(p.held_bytes)),
        )),
        or_null(&integer("proxy_retransmissions", "Segments it sent again.", &|r: &FlowRow| {
            of_proxy(r, |p| Cell::unsigned(p.retransmissions))
        })),
        or_null(&integer(
            "proxy_timeouts",
            "Expiries of its retransmission timer.",
            &|r: &FlowRow| of_proxy(r, |p| Cell::unsigned(p.timeouts)),
        )),
        or_null(&integer("allowed_bps", "Rate that a control by rates allows.", &|r: &FlowRow| {
            of_rate(r, |rate| Cell::unsigned(rate.allowed.0))
        })),
        or_null(&integer(
            "loss_events_per_billion",
            "Its loss event rate, in thousand-millionths.",
            &|r: &FlowRow| {
                of_rate(r, |rate| {
                    let ppb = |share: f64| Cell::Integer((share * 1e9).round() as i64);
                    rate.loss_event_rate.map_or(Cell::Null, ppb)
                })
            },
        )),
        or_null(&integer(
            "mean_loss_interval_milli",
            "Its mean loss interval, in thousandths of a packet; null before the first loss.",
            &|r: &FlowRow| {
                of_rate(r, |rate| {
                    let milli = |packets: f64| Cell::Integer((packets * 1e3).round() as i64);
                    rate.mean_loss_interval.map_or(Cell::Null, milli)
                })
            },
        )),
        integer("acks_sent", "Pure ACKs that the flow's sink has sent.", &|r: &FlowRow| {
            Cell::unsigned(r.sample.acks_sent)
        }),
        integer(
            "acks_dropped",
            "Pure ACKs dropped on their way, as the simulator saw it.",
            &|r: &FlowRow| Cell::unsigned(r.sample.acks_dropped),
        ),
        integer(
            "acks_filtered",
            "Pure ACKs that gave way to later ones in a queue.",
            &|r: &FlowRow| Cell::unsigned(r.sample.acks_filtered),
        ),
        or_null(&integer(
            "acks_lost_inferred",
            "Lost ACKs that the sender inferred.",
            &|r: &FlowRow| of_simulated(r, r.sample.acks_lost_inferred),
        )),
        or_null(&integer(
            "frames_shown",
            "Frames that its viewer saw, since the warm-up.",
            &|r: &FlowRow| of_playout(r, |v| Cell::unsigned(v.shown)),
        )),
        or_null(&integer(
            "frames_late",
            "Frames that arrived after their time.",
            &|r: &FlowRow| of_playout(r, |v| Cell::unsigned(v.late)),
        )),
        or_null(&integer(
            "frames_missed",
            "Frames passed over that were not there.",
            &|r: &FlowRow| of_playout(r, |v| Cell::unsigned(v.missed)),
        )),
        or_null(&integer(
            "frames_undecodable",
            "Frames that arrived without the frames on which they depend.",
            &|r: &FlowRow| of_playout(r, |v| Cell::unsigned(v.undecodable)),
        )),
        or_null(&integer("freezes", "Freezes of the picture.", &|r: &FlowRow| {
            of_playout(r, |v| Cell::unsigned(v.freezes))
        })),
        or_null(&integer("frozen_ns", "Time frozen, all together.", &|r: &FlowRow| {
            of_playout(r, |v| nanos(v.frozen))
        })),
        or_null(&integer(
            "stalled_ns",
            "Time that its playout's clock stood still.",
            &|r: &FlowRow| of_playout(r, |v| nanos(v.stalled)),
        )),
    ],
};

/// State of each path of flows that have several, every sample interval.
pub const PATHS: Table<PathRow> = Table {
    file: "paths.parquet",
    doc: "One row for each path of a flow and sample interval. Counters are cumulative.",
    columns: &[
        integer("t_ns", "Virtual time in nanoseconds.", &|r: &PathRow| time(r.at)),
        text("flow", "Name of the flow.", &|r: &PathRow| Cell::Text(r.flow.clone())),
        text("path", "Name of the node that the path passes.", &|r: &PathRow| {
            Cell::Text(r.path.clone())
        }),
        integer(
            "is_up",
            "1 if it carries data; 0 before it joins, dead, or left.",
            &|r: &PathRow| Cell::unsigned(r.sample.is_up.into()),
        ),
        integer("cwnd_bytes", "Its congestion window.", &|r: &PathRow| {
            Cell::unsigned(r.sample.cwnd.into())
        }),
        or_null(&integer(
            "ssthresh_bytes",
            "Slow start threshold; null while unset.",
            &|r: &PathRow| match r.sample.ssthresh {
                u32::MAX => Cell::Null,
                bytes => Cell::unsigned(bytes.into()),
            },
        )),
        integer(
            "flight_bytes",
            "Bytes sent on it, neither acknowledged nor lost.",
            &|r: &PathRow| Cell::unsigned(r.sample.flight.into()),
        ),
        or_null(&integer(
            "srtt_ns",
            "Smoothed round-trip time; null before a sample.",
            &|r: &PathRow| r.sample.srtt.map_or(Cell::Null, nanos),
        )),
        integer("rto_ns", "Retransmission timeout in force.", &|r: &PathRow| nanos(r.sample.rto)),
        integer(
            "delivered_bytes",
            "Bytes known to have arrived over it, copies included.",
            &|r: &PathRow| Cell::unsigned(r.sample.delivered_bytes),
        ),
        integer("sent_packets", "Segments of data sent on it.", &|r: &PathRow| {
            Cell::unsigned(r.sample.sent_packets)
        }),
        integer(
            "retransmissions",
            "Of them those that repeat bytes sent before.",
            &|r: &PathRow| Cell::unsigned(r.sample.retransmissions),
        ),
        integer("timeouts", "Expiries of its retransmission timer.", &|r: &PathRow| {
            Cell::unsigned(r.sample.timeouts)
        }),
    ],
};

/// State of each queue, every sample interval.
pub const QUEUES: Table<QueueRow> = Table {
    file: "queues.parquet",
    doc: "One row for each queue and sample interval. A radio's queue has its node's name, a \
          link's the names of both its ends. Counters are cumulative.",
    columns: &[
        integer("t_ns", "Virtual time in nanoseconds.", &|r: &QueueRow| time(r.at)),
        text("queue", "Name of the queue.", &|r: &QueueRow| Cell::Text(r.queue.clone())),
        integer("length_packets", "Packets waiting.", &|r: &QueueRow| {
            Cell::unsigned(r.sample.packets.into())
        }),
        integer("length_bytes", "Bytes waiting.", &|r: &QueueRow| Cell::unsigned(r.sample.bytes)),
        integer("enqueued", "Packets that entered.", &|r: &QueueRow| {
            Cell::unsigned(r.sample.enqueued)
        }),
        integer(
            "drops_queue_full",
            "Packets dropped because the queue was full.",
            &|r: &QueueRow| Cell::unsigned(r.sample.drops[0]),
        ),
        integer(
            "drops_retry_limit",
            "Packets dropped at the MAC's retry limit.",
            &|r: &QueueRow| Cell::unsigned(r.sample.drops[1]),
        ),
        integer("drops_link_loss", "Packets lost on the wired link.", &|r: &QueueRow| {
            Cell::unsigned(r.sample.drops[2])
        }),
        integer("drops_no_route", "Packets without a route.", &|r: &QueueRow| {
            Cell::unsigned(r.sample.drops[3])
        }),
        integer("drops_aqm", "Packets dropped by active queue management.", &|r: &QueueRow| {
            Cell::unsigned(r.sample.drops[4])
        }),
        integer("drops_ack_filtered", "ACKs that gave way to later ones.", &|r: &QueueRow| {
            Cell::unsigned(r.sample.drops[5])
        }),
    ],
};

/// State of each radio, every sample interval.
pub const STATIONS: Table<StationRow> = Table {
    file: "stations.parquet",
    doc: "One row for each radio and sample interval. Counters are cumulative.",
    columns: &[
        integer("t_ns", "Virtual time in nanoseconds.", &|r: &StationRow| time(r.at)),
        text("station", "Name of the node.", &|r: &StationRow| Cell::Text(r.station.clone())),
        integer(
            "attempts",
            "Attempts at data frames and A-MPDUs, retries and unanswered RTS included.",
            &|r: &StationRow| Cell::unsigned(r.sample.attempts),
        ),
        integer("failures", "Attempts without an acknowledgement.", &|r: &StationRow| {
            Cell::unsigned(r.sample.failures)
        }),
        integer(
            "collisions",
            "Failed attempts that overlapped another transmission.",
            &|r: &StationRow| Cell::unsigned(r.sample.collisions),
        ),
        integer("successes", "Data frames acknowledged.", &|r: &StationRow| {
            Cell::unsigned(r.sample.successes)
        }),
        integer("retry_drops", "Data frames dropped at the retry limit.", &|r: &StationRow| {
            Cell::unsigned(r.sample.retry_drops)
        }),
        integer(
            "airtime_ns",
            "Time spent transmitting data, RTS and beacons.",
            &|r: &StationRow| nanos(r.sample.airtime),
        ),
        integer("control_airtime_ns", "Time spent transmitting ACK and CTS.", &|r: &StationRow| {
            nanos(r.sample.control_airtime)
        }),
        integer(
            "cw_slots",
            "Contention window now; with EDCA, of best effort.",
            &|r: &StationRow| Cell::unsigned(r.sample.cw.into()),
        ),
        or_null(&integer(
            "snr_millidb",
            "Level over noise of the last frame that it received, in thousandths of a dB; null for \
             an access point that has had several stations, whose rows have both directions.",
            &|r: &StationRow| millis(r.sample.snr),
        )),
        or_null(&integer(
            "peer_snr_millidb",
            "The same of the last frame that it sent, at its receiver.",
            &|r: &StationRow| millis(r.sample.peer_snr),
        )),
    ],
};

/// Each change of an association.
pub const ASSOCIATIONS: Table<AssociationRow> = Table {
    file: "associations.parquet",
    doc: "One row for each change of a station's association, the first included.",
    columns: &[
        integer("t_ns", "Virtual time in nanoseconds.", &|r: &AssociationRow| time(r.at)),
        text("station", "Name of the station.", &|r: &AssociationRow| {
            Cell::Text(r.station.clone())
        }),
        or_null(&text(
            "ap",
            "Its access point from now on; null while it has none.",
            &|r: &AssociationRow| r.ap.clone().map_or(Cell::Null, Cell::Text),
        )),
    ],
};

/// Each station that reports its Strength of Connection, every sample interval.
pub const SOC: Table<SocRow> = Table {
    file: "soc.parquet",
    doc: "One row for each reporting station and sample interval. Counters are cumulative.",
    columns: &[
        integer("t_ns", "Virtual time in nanoseconds.", &|r: &SocRow| time(r.at)),
        text("station", "Name of the station.", &|r: &SocRow| Cell::Text(r.station.clone())),
        integer("channel_millidb", "True mean SNR of the path, without fading.", &|r: &SocRow| {
            millis(Some(r.sample.channel))
        }),
        or_null(&integer(
            "read_millidb",
            "The station's last reading, with fading.",
            &|r: &SocRow| millis(r.sample.read),
        )),
        or_null(&integer(
            "reported_millidb",
            "SoC of the station's last report.",
            &|r: &SocRow| millis(r.sample.reported),
        )),
        or_null(&integer("soc_millidb", "SoC as the access point estimates it.", &|r: &SocRow| {
            millis(r.sample.soc)
        })),
        integer("weight_ppm", "Weight of the station, in millionths.", &|r: &SocRow| {
            Cell::Integer((r.sample.weight * 1e6).round() as i64)
        }),
        integer("alone", "Reports sent in frames of their own.", &|r: &SocRow| {
            Cell::unsigned(r.sample.alone)
        }),
        integer("in_front", "Reports sent in front of data.", &|r: &SocRow| {
            Cell::unsigned(r.sample.in_front)
        }),
        integer("accepted", "Reports accepted by the access point.", &|r: &SocRow| {
            Cell::unsigned(r.sample.accepted)
        }),
        integer("missed", "Reports that it missed.", &|r: &SocRow| Cell::unsigned(r.sample.missed)),
        integer("refused", "Reports that it refused.", &|r: &SocRow| {
            Cell::unsigned(r.sample.refused)
        }),
    ],
};

/// Each dropped packet.
pub const DROPS: Table<DropRow> = Table {
    file: "drops.parquet",
    doc: "One row for each dropped packet.",
    columns: &[
        integer("t_ns", "Virtual time in nanoseconds.", &|r: &DropRow| time(r.at)),
        text(
            "queue",
            "The queue, or the queue of the radio or link, where it happened.",
            &|r: &DropRow| Cell::Text(r.queue.clone()),
        ),
        text(
            "cause",
            "Why: queue_full, retry_limit, link_loss, no_route, aqm or ack_filtered.",
            &|r: &DropRow| Cell::Text(r.sample.cause.name().into()),
        ),
        or_null(&text("flow", "The flow; null for a packet of none.", &|r: &DropRow| {
            r.flow.clone().map_or(Cell::Null, Cell::Text)
        })),
        text("protocol", "tcp, udp or dccp.", &|r: &DropRow| {
            Cell::Text(r.sample.datagram.transport.name().into())
        }),
        integer("ip_bytes", "Length from the IPv4 header on.", &|r: &DropRow| {
            Cell::unsigned(r.sample.datagram.wire_len().into())
        }),
        integer("payload_bytes", "Transport payload; zero for a pure ACK.", &|r: &DropRow| {
            Cell::unsigned(r.sample.datagram.payload_len.into())
        }),
    ],
};
