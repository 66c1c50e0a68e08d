//! The result of a stream.

use super::{Jitter, Kind, Quantiles};
use core::net::SocketAddr;
use fairwave_units::{Duration, Instant};

/// A stream of a capture: numbered from 0 in the order of first packets, each protocol apart, as
/// tshark's `tcp.stream`, `udp.stream` and `dccp.stream` are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StreamId {
    /// A TCP connection.
    Tcp(u32),
    /// Two UDP ports that exchange datagrams.
    Udp(u32),
    /// Two DCCP ports.
    Dccp(u32),
}

/// One end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The end that began: the sender of the first SYN, or of the first packet seen.
    A,
    /// The other.
    B,
}

impl Side {
    /// Both.
    pub const ALL: [Self; 2] = [Self::A, Self::B];

    /// The other end.
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// Index of its parts.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Reason for which a stream is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Both FINs were acknowledged.
    Closed,
    /// A RST.
    Reset,
    /// The same addresses and ports began anew.
    Reused,
    /// It was open still, and gave way to a newer one ([`super::Config::streams_max`]).
    Evicted,
    /// The capture ended.
    Capture,
}

/// All that is known of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Its number.
    pub id: StreamId,
    /// Addresses and ports of [`Side::A`] and [`Side::B`].
    pub ends: [SocketAddr; 2],
    /// Its first packet.
    pub first: Instant,
    /// Its last packet.
    pub last: Instant,
    /// Reason for which it is reported.
    pub end: End,
    /// Times without any packet and with nothing outstanding, above the threshold.
    pub idle: Spells,
    /// Data of each end.
    pub ways: [Way; 2],
}

/// Data of one end. For UDP only [`Self::volume`] and [`Self::numbers`] are set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Way {
    /// How much.
    pub volume: Volume,
    /// First and last packet of this way.
    pub span: Option<(Instant, Instant)>,
    /// Longest time between two packets of this way, and when it began.
    pub gap_max: Option<(Instant, Duration)>,
    /// TCP's part; all zero for UDP.
    pub tcp: TcpWay,
    /// Results from numbers in datagrams, where they were found.
    pub numbers: Option<Numbers>,
}

/// Amount of data sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire from the IP header on.
    pub ip_bytes: u64,
    /// Bytes of TCP or UDP payload, retransmissions included.
    pub payload_bytes: u64,
    /// Packets with a wrong transport checksum ([`super::Config::checksums`]).
    pub wrong_checksums: u64,
    /// Packets that a router marked: CE in the IP header.
    pub ce: u64,
}

/// Actions of one end of a TCP connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TcpWay {
    /// Packets of each kind, in the order of [`Kind::ALL`]; their sum is all packets.
    pub kinds: [u64; Kind::ALL.len()],
    /// Bytes of the stream that were seen, each counted once.
    pub unique_bytes: u64,
    /// Bytes of the stream that the other end acknowledged.
    pub acked_bytes: u64,
    /// Payload bytes in retransmissions ([`Kind::is_retransmission`]).
    pub retransmitted_bytes: u64,
    /// Packets with payload.
    pub data_packets: u64,
    /// Segments of the wire that they stand for, by MSS and options: more where the card cuts or
    /// joins segments.
    pub segments: u64,
    /// Segments of the wire in retransmissions.
    pub retransmitted_segments: u64,
    /// Packets that stand for several segments.
    pub offloaded: u64,
    /// Packets with SYN.
    pub syn: u64,
    /// Packets with FIN.
    pub fin: u64,
    /// Packets with RST.
    pub rst: u64,
    /// MSS that it announced: the largest segment that it accepts.
    pub mss: Option<u16>,
    /// Window scale that it announced.
    pub window_scale: Option<u8>,
    /// Whether it permits SACK.
    pub sack_permitted: bool,
    /// Whether its packets carry timestamps.
    pub timestamps: bool,
    /// Largest payload of a packet: above the MSS where the card cuts or joins segments.
    pub payload_max: u32,
    /// Packets that came behind a hole: segments before them are missing here, lost before the
    /// capture or about to come out of order (tshark's `lost_segment`).
    pub holes: u64,
    /// Bytes in those holes that never came.
    pub missing_bytes: u64,
    /// ACKs of this end for data that was never seen (tshark's `ack_lost_segment`).
    pub unseen_acked: u64,
    /// Packets with new data that stand behind the ACK for it: the directions are out of step in
    /// the capture.
    pub late: u64,
    /// Their times since that ACK together.
    pub late_total: Duration,
    /// Packets that say a window of zero.
    pub zero_windows: u64,
    /// Data packets that fill the other end's window to its edge.
    pub window_full: u64,
    /// Smallest and largest window that it offered, scaled, in bytes.
    pub window: Option<(u32, u32)>,
    /// SACK blocks that it sent.
    pub sack_blocks: u64,
    /// D-SACK blocks among them (RFC 2883): it had those bytes already.
    pub dsack_blocks: u64,
    /// Packets with ECE.
    pub ece: u64,
    /// Packets with CWR.
    pub cwr: u64,
    /// Maximum number of bytes outstanding: sent and not acknowledged here.
    pub flight_max: u64,
    /// Round-trip times of data that this end sent, as seen from the capture.
    pub rtt: Quantiles,
    /// From the last SYN to the ACK that ended the handshake: a round trip of the whole path,
    /// wherever the capture was made.
    pub handshake: Option<Duration>,
    /// Round-trip times from here to this end and back, by the timestamps that its data echoes.
    pub far_rtt: Quantiles,
    /// Time in which it sent nothing new because its application had nothing to send.
    pub application_limited: Duration,
    /// Time in which it sent nothing new because the other end's window was full.
    pub window_limited: Duration,
    /// ACKs **for** this end's data that were lost before the capture; none where neither IP
    /// identifications nor a stride show them.
    pub acks_lost: Option<AcksLost>,
    /// Number of segments that one of them covers, where that was learnt.
    pub ack_stride: Option<u32>,
    /// Times without an ACK while data of this end was outstanding, above the threshold.
    pub ack_gaps: Spells,
    /// Times without progress while data of this end was outstanding.
    pub starvation: Spells,
    /// Times in which the other end's window was zero.
    pub zero_window_spells: Spells,
    /// Longest row of timeouts without progress between them.
    pub timeouts_in_row_max: u32,
    /// Segments that found no room in the list of outstanding ones
    /// ([`super::Config::segments_max`]): classes and round-trip times of those are less sure.
    pub untracked: u64,
}

/// ACKs that were lost before the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcksLost {
    /// How many.
    pub count: u64,
    /// Evidence of them.
    pub by: Evidence,
}

/// Evidence of lost ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Gaps in the IP identifications of the end that sent them.
    Identification,
    /// Number of segments that they acknowledge: [`TcpWay::ack_stride`].
    Stride,
}

impl TcpWay {
    /// Packets of a kind.
    pub const fn count(&self, kind: Kind) -> u64 {
        self.kinds[kind.index()]
    }

    /// Retransmissions in tshark's sense ([`Kind::is_retransmission`]).
    pub fn retransmissions(&self) -> u64 {
        Kind::ALL.iter().filter(|kind| kind.is_retransmission()).map(|&kind| self.count(kind)).sum()
    }
}

impl Way {
    /// Bits per second of stream bytes, each counted once, over the time of the stream.
    pub fn goodput_bps(&self, over: Duration) -> f64 {
        let bytes = match self.tcp.kinds.iter().any(|&count| count > 0) {
            true => self.tcp.unique_bytes,
            false => self.volume.payload_bytes,
        };
        if over.is_zero() { 0.0 } else { bytes as f64 * 8.0 / over.as_secs_f64() }
    }
}

/// Spells of one kind ([`super::SpellKind`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spells {
    /// How many.
    pub count: u64,
    /// Their lengths together.
    pub total: Duration,
    /// The longest, and when it began.
    pub longest: Option<(Instant, Duration)>,
}

impl Spells {
    /// Takes a spell.
    pub fn add(&mut self, from: Instant, length: Duration) {
        self.count += 1;
        // Clocks of captures may leap by any time.
        let total = self.total.as_nanos().saturating_add(length.as_nanos());
        self.total = Duration::from_nanos(total);
        if self.longest.is_none_or(|(_, longest)| length > longest) {
            self.longest = Some((from, length));
        }
    }
}

/// Places of numbers in datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// iperf 2's: 32 bits at the start.
    Leading,
    /// Numbers of Fairwave's buffer probe (docs/models/probe.md), from 0 on in each train.
    Probe,
    /// iperf 3's: 32 bits behind a time of eight bytes.
    Iperf3,
    /// The same with 64 bits (`--udp-counters-64bit`).
    Iperf3Long,
    /// RTP's 16 bits (RFC 3550 section 5.1).
    Rtp,
    /// Numbers of Fairwave's SHAKE (docs/models/shake.md), from 1 on for each path.
    Shake,
    /// DCCP's 48 or 24 bits (RFC 4340 section 5.1), which all its packets have, within UDP too
    /// (RFC 6773).
    Dccp,
}

/// Results from the numbers of a direction's datagrams, at the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Place at which they were found.
    pub numbering: Numbering,
    /// Numbers that never came.
    pub lost: u64,
    /// Datagrams behind one of a higher number.
    pub reordered: u64,
    /// Datagrams whose number had come before.
    pub duplicates: u64,
    /// Lowest and highest number; of DCCP right in their low 24 bits.
    pub range: (u64, u64),
    /// Jitter of datagrams that carry a time, if the clock of that is known: of several sources
    /// that with the greatest mean.
    pub jitter: Option<Jitter>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spells_beyond_all_time_are_all_time() {
        let mut spells = Spells::default();
        spells.add(Instant::ZERO, Duration::from_secs(3));
        spells.add(Instant::from_nanos(7), Duration::MAX);
        spells.add(Instant::ZERO, Duration::from_secs(9));
        let longest = Some((Instant::from_nanos(7), Duration::MAX));
        assert_eq!(spells, Spells { count: 3, total: Duration::MAX, longest });
    }
}
