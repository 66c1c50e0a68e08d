//! Results of one direction of a stream, in the form of the JSON output.

use fairwave_lab::results::TimesSummary;
use fairwave_trace::analysis::{
    Evidence, Jitter, Kind, Numbering, Numbers, Quantiles, Spells, TcpWay, Way,
};
use fairwave_units::{Duration, Instant};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Results of one direction of a TCP connection.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TcpWaySummary {
    /// Captured packets.
    pub packets: u64,
    /// Bytes on the wire, IP headers included.
    pub ip_bytes: u64,
    /// Payload in bytes, retransmissions included.
    pub payload_bytes: u64,
    /// Packets with payload.
    pub data_packets: u64,
    /// Number of wire segments that they contain, by MSS and options.
    pub segments: u64,
    /// Packets that contain several segments: divided later or joined earlier by a network card or
    /// its driver.
    pub offloaded_packets: u64,
    /// Bytes of the stream, each counted once.
    pub unique_bytes: u64,
    /// Bytes of the stream that were acknowledged.
    pub acked_bytes: u64,
    /// Unique bytes divided by the time of the connection.
    pub goodput_bps: u64,
    /// Packets of each kind that occurs; their sum is the number of packets.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Packets of all six kinds of retransmission.
    pub retransmissions: u64,
    /// Payload in bytes in them.
    pub retransmitted_bytes: u64,
    /// Wire segments in them.
    pub retransmitted_segments: u64,
    /// Retransmissions after a timeout.
    pub timeouts: u64,
    /// Maximum number of successive timeouts without progress.
    pub timeouts_in_row_max: u32,
    /// Packets with SYN.
    pub syn: u64,
    /// Packets with FIN.
    pub fin: u64,
    /// Packets with RST.
    pub rst: u64,
    /// MSS that this end announced.
    pub mss: Option<u16>,
    /// Window scale that this end announced.
    pub window_scale: Option<u8>,
    /// Whether this end permits SACK.
    pub sack_permitted: bool,
    /// Whether its packets carry timestamps.
    pub timestamps: bool,
    /// Largest payload of a packet.
    pub payload_max: u32,
    /// Packets after a hole in the sequence numbers.
    pub holes: u64,
    /// Bytes of holes that were never captured.
    pub missing_bytes: u64,
    /// ACKs of data that was not captured.
    pub unseen_acked: u64,
    /// Packets with new data that stand behind the ACK for it: one direction was captured later
    /// than the other.
    pub late_packets: u64,
    /// Mean time since that ACK; null without such packets.
    pub late_mean_ns: Option<u64>,
    /// Smallest window that this end advertised.
    pub window_min: Option<u32>,
    /// Largest window that this end advertised.
    pub window_max: Option<u32>,
    /// Packets that advertise a zero window.
    pub zero_windows: u64,
    /// Segments that end at the edge of the peer's window.
    pub window_full: u64,
    /// SACK blocks.
    pub sack_blocks: u64,
    /// SACK blocks that report duplicates.
    pub dsack_blocks: u64,
    /// Packets with ECE.
    pub ece: u64,
    /// Packets with CWR.
    pub cwr: u64,
    /// Packets marked CE.
    pub ce: u64,
    /// Maximum number of bytes outstanding.
    pub flight_max: u64,
    /// Round-trip times of its data, from the capture to the peer and back.
    pub rtt: Option<TimesSummary>,
    /// Round-trip times from the capture to this end and back, by timestamps.
    pub far_rtt: Option<TimesSummary>,
    /// ACKs of its data that were lost before the capture; null where no evidence exists.
    pub acks_lost_inferred: Option<u64>,
    /// The evidence: `identification` (gaps in IP identifications) or `stride` (number of segments
    /// that other ACKs cover).
    pub acks_lost_by: Option<&'static str>,
    /// Number of segments that an ACK covers, where it was inferred.
    pub ack_stride: Option<u32>,
    /// Times with outstanding data and without an ACK.
    pub ack_gaps: SpellsSummary,
    /// Times with outstanding data and without progress.
    pub starvation: SpellsSummary,
    /// Times in which the peer's window was zero.
    pub zero_window_spells: SpellsSummary,
    /// Time in which its application had no data to send.
    pub application_limited_ns: u64,
    /// Time in which the peer's window was full.
    pub window_limited_ns: u64,
    /// Longest time between two packets, from any cause.
    pub gap_max_ns: u64,
    /// Beginning of that time.
    pub gap_max_at_ns: Option<u64>,
    /// Segments that were not followed because of their number.
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
            late_packets: tcp.late,
            late_mean_ns: tcp.late_total.as_nanos().checked_div(tcp.late),
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

    /// Retransmitted segments per hundred segments, both as on the wire.
    pub fn resent_percent(&self) -> f64 {
        // A connection without data may have retransmitted its SYN.
        let sent = self.segments.max(self.retransmitted_segments).max(1);
        100.0 * self.retransmitted_segments as f64 / sent as f64
    }
}

/// Results of one direction of a UDP stream.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UdpWaySummary {
    /// Captured datagrams.
    pub packets: u64,
    /// Bytes on the wire, IP headers included.
    pub ip_bytes: u64,
    /// Their payload without headers.
    pub payload_bytes: u64,
    /// Payload divided by the time of the stream.
    pub rate_bps: u64,
    /// Longest time between two datagrams.
    pub gap_max_ns: u64,
    /// Beginning of that time.
    pub gap_max_at_ns: Option<u64>,
    /// Results from the sequence numbers in its datagrams; null if they have none.
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

/// Results from the sequence numbers in datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NumbersSummary {
    /// Format of the numbers: `leading`, `iperf3`, `rtp`, `shake`, `dccp` or `probe`.
    pub numbering: &'static str,
    /// Numbers that were never captured.
    pub lost: u64,
    /// Datagrams after one with a higher number.
    pub reordered: u64,
    /// Datagrams that were captured before.
    pub duplicates: u64,
    /// Interarrival jitter (RFC 3550 section 6.4.1); null if the datagrams have no timestamps, or
    /// their clock rate is unknown.
    pub jitter: Option<JitterSummary>,
}

/// Variation of the times between datagrams relative to those between their sending: the estimate
/// of RFC 3550 section 6.4.1. For several sources, that with the highest mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JitterSummary {
    /// Clock rate of the timestamps in Hz.
    pub clock_hz: u32,
    /// Estimate at the last datagram.
    pub last_ns: u64,
    /// Mean jitter over the datagrams.
    pub mean_ns: u64,
    /// Largest jitter.
    pub max_ns: u64,
}

impl JitterSummary {
    const fn of(jitter: Jitter) -> Self {
        Self {
            clock_hz: jitter.clock_hz,
            last_ns: jitter.last.as_nanos(),
            mean_ns: jitter.mean.as_nanos(),
            max_ns: jitter.most.as_nanos(),
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
    /// Sum of their lengths.
    pub total_ns: u64,
    /// Length of the longest.
    pub longest_ns: u64,
    /// Beginning of the longest.
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

/// A time relative to the first packet of the capture.
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
        min_ns: sketch.min()?.as_nanos(),
        p50_ns: quantile(0.5)?,
        p90_ns: None,
        p95_ns: quantile(0.95)?,
        p99_ns: quantile(0.99)?,
        p999_ns: None,
        max_ns: sketch.max()?.as_nanos(),
    })
}
