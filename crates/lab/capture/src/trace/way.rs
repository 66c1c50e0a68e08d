//! Packets from one end of a stream, in a form that lasts.

use fairwave_lab::results::TimesSummary;
use fairwave_trace::analysis::{
    Evidence, Jitter, Kind, Numbering, Numbers, Quantiles, Spells, TcpWay, Way,
};
use fairwave_units::{Duration, Instant};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Packets from one end of a TCP connection.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TcpWaySummary {
    /// Packets that were seen.
    pub packets: u64,
    /// Bytes on the wire from the IP header on.
    pub ip_bytes: u64,
    /// Payload, retransmissions included.
    pub payload_bytes: u64,
    /// Packets with payload.
    pub data_packets: u64,
    /// Segments of the wire that they stand for, by MSS and options.
    pub segments: u64,
    /// Packets that stand for several of them: cut later or joined before by a card or its driver.
    pub offloaded_packets: u64,
    /// Bytes of the stream, each counted once.
    pub unique_bytes: u64,
    /// Bytes of the stream that were acknowledged.
    pub acked_bytes: u64,
    /// Unique bytes over the time of the connection.
    pub goodput_bps: u64,
    /// Packets of each kind that occurs; together they are all packets.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Packets of the six kinds of retransmission together.
    pub retransmissions: u64,
    /// Payload in them.
    pub retransmitted_bytes: u64,
    /// Segments of the wire in them.
    pub retransmitted_segments: u64,
    /// Retransmissions by the timer.
    pub timeouts: u64,
    /// Longest row of them without progress.
    pub timeouts_in_row_max: u32,
    /// Packets with SYN.
    pub syn: u64,
    /// Packets with FIN.
    pub fin: u64,
    /// Packets with RST.
    pub rst: u64,
    /// MSS that it announced.
    pub mss: Option<u16>,
    /// Window scale that it announced.
    pub window_scale: Option<u8>,
    /// Whether it permits SACK.
    pub sack_permitted: bool,
    /// Whether its packets carry timestamps.
    pub timestamps: bool,
    /// Largest payload of a packet.
    pub payload_max: u32,
    /// Packets behind a hole.
    pub holes: u64,
    /// Bytes of holes that never arrived.
    pub missing_bytes: u64,
    /// ACKs for data that the capture does not have.
    pub unseen_acked: u64,
    /// Smallest window that it offered.
    pub window_min: Option<u32>,
    /// Largest window that it offered.
    pub window_max: Option<u32>,
    /// Packets that offer none.
    pub zero_windows: u64,
    /// Segments up to the edge of the other end's window.
    pub window_full: u64,
    /// SACK blocks.
    pub sack_blocks: u64,
    /// Blocks among them that report duplicates.
    pub dsack_blocks: u64,
    /// Packets with ECE.
    pub ece: u64,
    /// Packets with CWR.
    pub cwr: u64,
    /// Packets marked CE.
    pub ce: u64,
    /// Maximum number of bytes outstanding.
    pub flight_max: u64,
    /// Round-trip times of its data, seen from the capture.
    pub rtt: Option<TimesSummary>,
    /// Round-trip times from the capture to this end and back, by timestamps.
    pub far_rtt: Option<TimesSummary>,
    /// ACKs for its data that were lost before the capture; null where no method applies.
    pub acks_lost_inferred: Option<u64>,
    /// The method: `identification` (gaps in IP identifications) or `stride` (the number of
    /// segments that the others acknowledge).
    pub acks_lost_by: Option<&'static str>,
    /// Segments that an ACK covers, if that could be estimated.
    pub ack_stride: Option<u32>,
    /// Times without an ACK for outstanding data.
    pub ack_gaps: SpellsSummary,
    /// Times without progress of outstanding data.
    pub starvation: SpellsSummary,
    /// Times in which the other end's window was zero.
    pub zero_window_spells: SpellsSummary,
    /// Time in which its application had nothing to send.
    pub application_limited_ns: u64,
    /// Time in which the other end's window was full.
    pub window_limited_ns: u64,
    /// Longest time between two packets, whatever its cause.
    pub gap_max_ns: u64,
    /// Time at which it began.
    pub gap_max_at_ns: Option<u64>,
    /// Segments that were not followed, because of their number.
    pub untracked: u64,
}

impl TcpWaySummary {
    pub(super) fn of(way: &Way, over: Duration, origin: Instant) -> Self {
        let Way { volume, tcp, .. } = way;
        let (gap_max_at_ns, gap_max_ns) = gap(way, origin);
        Self {
            packets: volume.packets,
            ip_bytes: volume.ip_bytes,
            payload_bytes: volume.payload_bytes,
            data_packets: tcp.data_packets,
            segments: tcp.segments,
            offloaded_packets: tcp.offloaded,
            unique_bytes: tcp.unique_bytes,
            acked_bytes: tcp.acked_bytes,
            goodput_bps: way.goodput_bps(over) as u64,
            kinds: kinds(tcp),
            retransmissions: tcp.retransmissions(),
            retransmitted_bytes: tcp.retransmitted_bytes,
            retransmitted_segments: tcp.retransmitted_segments,
            timeouts: tcp.count(Kind::Timeout),
            timeouts_in_row_max: tcp.timeouts_in_row_max,
            syn: tcp.syn,
            fin: tcp.fin,
            rst: tcp.rst,
            mss: tcp.mss,
            window_scale: tcp.window_scale,
            sack_permitted: tcp.sack_permitted,
            timestamps: tcp.timestamps,
            payload_max: tcp.payload_max,
            holes: tcp.holes,
            missing_bytes: tcp.missing_bytes,
            unseen_acked: tcp.unseen_acked,
            window_min: tcp.window.map(|(min, _)| min),
            window_max: tcp.window.map(|(_, max)| max),
            zero_windows: tcp.zero_windows,
            window_full: tcp.window_full,
            sack_blocks: tcp.sack_blocks,
            dsack_blocks: tcp.dsack_blocks,
            ece: tcp.ece,
            cwr: tcp.cwr,
            ce: volume.ce,
            flight_max: tcp.flight_max,
            rtt: times(&tcp.rtt),
            far_rtt: times(&tcp.far_rtt),
            acks_lost_inferred: tcp.acks_lost.map(|lost| lost.count),
            acks_lost_by: tcp.acks_lost.map(|lost| match lost.by {
                Evidence::Identification => "identification",
                Evidence::Stride => "stride",
            }),
            ack_stride: tcp.ack_stride,
            ack_gaps: SpellsSummary::of(&tcp.ack_gaps, origin),
            starvation: SpellsSummary::of(&tcp.starvation, origin),
            zero_window_spells: SpellsSummary::of(&tcp.zero_window_spells, origin),
            application_limited_ns: tcp.application_limited.as_nanos(),
            window_limited_ns: tcp.window_limited.as_nanos(),
            gap_max_ns,
            gap_max_at_ns,
            untracked: tcp.untracked,
        }
    }

    /// Segments of retransmissions for each hundred segments, both as on the wire.
    pub fn resent_percent(&self) -> f64 {
        // A connection without data may have sent its SYN again.
        let sent = self.segments.max(self.retransmitted_segments).max(1);
        100.0 * self.retransmitted_segments as f64 / sent as f64
    }
}

/// Packets from one end of a UDP stream.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UdpWaySummary {
    /// Datagrams that were seen.
    pub packets: u64,
    /// Bytes on the wire from the IP header on.
    pub ip_bytes: u64,
    /// Their payload without headers.
    pub payload_bytes: u64,
    /// Payload over the time of the stream.
    pub rate_bps: u64,
    /// Longest time between two datagrams.
    pub gap_max_ns: u64,
    /// Time at which it began.
    pub gap_max_at_ns: Option<u64>,
    /// Losses and jitter by the numbers in its datagrams; null where there are none.
    pub numbers: Option<NumbersSummary>,
}

impl UdpWaySummary {
    pub(super) fn of(way: &Way, over: Duration, origin: Instant) -> Self {
        let (gap_max_at_ns, gap_max_ns) = gap(way, origin);
        Self {
            packets: way.volume.packets,
            ip_bytes: way.volume.ip_bytes,
            payload_bytes: way.volume.payload_bytes,
            rate_bps: way.goodput_bps(over) as u64,
            gap_max_ns,
            gap_max_at_ns,
            numbers: way.numbers.as_ref().map(NumbersSummary::of),
        }
    }
}

/// Losses, order and jitter by numbers in datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NumbersSummary {
    /// Their place in a datagram: `leading`, `iperf3`, `rtp`, `shake`, `dccp` or `probe`.
    pub numbering: &'static str,
    /// Numbers that never arrived.
    pub lost: u64,
    /// Datagrams behind one of a higher number.
    pub reordered: u64,
    /// Datagrams that had arrived before.
    pub duplicates: u64,
    /// Jitter of their arrival (RFC 3550 section 6.4.1); null where they carry no time, or one
    /// whose clock is not known.
    pub jitter: Option<JitterSummary>,
}

/// Difference between the times of datagrams at the receiver and those at the sender: the estimate
/// of RFC 3550 section 6.4.1, of several sources the one with the largest mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JitterSummary {
    /// The clock of the times in the datagrams, in Hz.
    pub clock_hz: u32,
    /// Jitter at the last datagram.
    pub last_ns: u64,
    /// Mean jitter over the datagrams.
    pub mean_ns: u64,
    /// Maximum jitter.
    pub most_ns: u64,
}

impl JitterSummary {
    const fn of(jitter: Jitter) -> Self {
        Self {
            clock_hz: jitter.clock_hz,
            last_ns: jitter.last.as_nanos(),
            mean_ns: jitter.mean.as_nanos(),
            most_ns: jitter.most.as_nanos(),
        }
    }
}

impl NumbersSummary {
    fn of(numbers: &Numbers) -> Self {
        let numbering = match numbers.numbering {
            Numbering::Leading => "leading",
            Numbering::Probe => "probe",
            Numbering::Iperf3 | Numbering::Iperf3Long => "iperf3",
            Numbering::Rtp => "rtp",
            Numbering::Shake => "shake",
            Numbering::Dccp => "dccp",
        };
        let Numbers { lost, reordered, duplicates, .. } = *numbers;
        let jitter = numbers.jitter.map(JitterSummary::of);
        Self { numbering, lost, reordered, duplicates, jitter }
    }
}

/// Spells of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SpellsSummary {
    /// Number of spells.
    pub count: u64,
    /// Their lengths together.
    pub total_ns: u64,
    /// Length of the longest.
    pub longest_ns: u64,
    /// Its beginning.
    pub longest_at_ns: Option<u64>,
}

impl SpellsSummary {
    pub(super) fn of(spells: &Spells, origin: Instant) -> Self {
        Self {
            count: spells.count,
            total_ns: spells.total.as_nanos(),
            longest_ns: spells.longest.map_or(0, |(_, length)| length.as_nanos()),
            longest_at_ns: spells.longest.map(|(at, _)| from(origin, at)),
        }
    }
}

/// A time from the first packet of the capture.
pub(super) fn from(origin: Instant, at: Instant) -> u64 {
    at.as_nanos().saturating_sub(origin.as_nanos())
}

fn gap(way: &Way, origin: Instant) -> (Option<u64>, u64) {
    let gap = way.gap_max.map(|(at, length)| (from(origin, at), length.as_nanos()));
    (gap.map(|(at, _)| at), gap.map_or(0, |(_, length)| length))
}

fn kinds(tcp: &TcpWay) -> BTreeMap<&'static str, u64> {
    let counts = Kind::ALL.iter().map(|&kind| (kind.name(), tcp.count(kind)));
    counts.filter(|(_, count)| *count > 0).collect()
}

fn times(sketch: &Quantiles) -> Option<TimesSummary> {
    let quantile = |q| Some(sketch.quantile(q)?.as_nanos());
    Some(TimesSummary {
        count: sketch.count(),
        mean_ns: sketch.mean()?.as_nanos(),
        least_ns: sketch.min()?.as_nanos(),
        median_ns: quantile(0.5)?,
        p90_ns: None,
        p95_ns: quantile(0.95)?,
        p99_ns: quantile(0.99)?,
        p999_ns: None,
        most_ns: sketch.max()?.as_nanos(),
    })
}
