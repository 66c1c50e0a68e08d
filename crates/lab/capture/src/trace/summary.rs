//! Summary of a capture: the data of the table, the JSON and the report.

use super::air::{self, AirSummary};
use super::named::{self, ContentSummary, TunnelSummary};
use super::way::{TcpWaySummary, UdpWaySummary, from};
use super::{Collector, Counts, Events, Limit, StreamName, Vantage, letter};
use crate::file::Facts;
use fairwave_trace::analysis::{End, Frames, Packets, Side, Spells, Stream, StreamId};
use fairwave_units::Instant;
use schemars::JsonSchema;
use serde::Serialize;

/// Value of `schema` in the JSON.
pub const SCHEMA: &str = "fairwave-trace";
/// Increases when the meaning of a key changes or a key is removed.
pub const SCHEMA_VERSION: u32 = 2;

/// The result of a trace analysis.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TraceSummary {
    /// Name of the format: `fairwave-trace`.
    pub schema: &'static str,
    /// Version of the format, which increases when the meaning of a key changes or a key is
    /// removed.
    pub schema_version: u32,
    /// The file.
    pub capture: CaptureSummary,
    /// TCP connections, the worst first.
    pub connections: Vec<Connection>,
    /// UDP streams, the worst first.
    pub udp: Vec<UdpStream>,
    /// DCCP streams, the worst first.
    pub dccp: Vec<UdpStream>,
    /// Streams that are not listed because of their number.
    pub left_out: u64,
    /// Use of the air by transmitter and receiver, the most airtime first; from the headers of
    /// 802.11 frames, encrypted or not.
    pub air: Vec<AirSummary>,
    /// 802.11 frames of further pairs, which are not listed because of their number.
    pub air_left_out: u64,
    /// The worst connection and its limit, in sentences; none without a TCP connection.
    pub answer: Vec<String>,
}

/// Properties and totals of the file.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CaptureSummary {
    /// Its name.
    pub file: String,
    /// `pcap` or `pcapng`.
    pub format: &'static str,
    /// `gzip` or `zstd`.
    pub compression: Option<&'static str>,
    /// Bytes that were read, uncompressed.
    pub bytes: u64,
    /// Packets that were read.
    pub packets: u64,
    /// Packets among them without a time, which count at times spread evenly between those of their
    /// neighbours.
    pub untimed: u64,
    /// Packets whose fractional time is a second or more; it is added in full.
    pub carried: u64,
    /// Earliest time, from 1970.
    pub start_unix_ns: Option<u64>,
    /// Time between the earliest and the latest packet.
    pub duration_ns: u64,
    /// Packets that are stored after a later one.
    pub backward: u64,
    /// Its damage; null if it is whole.
    pub broken: Option<BrokenSummary>,
    /// Counts of its frames.
    pub frames: FrameCounts,
    /// Counts of the IP packets in them; of a tunnel, the packets within.
    pub ip: PacketCounts,
    /// Protocols that were not read, the most frequent first.
    pub contents: Vec<ContentSummary>,
    /// Frames and packets of further protocols, which are not listed because of their number.
    pub contents_left_out: u64,
    /// Tunnels that were followed.
    pub tunnels: Vec<TunnelSummary>,
    /// TCP connections in it, listed or not.
    pub tcp_streams: u64,
    /// UDP streams.
    pub udp_streams: u64,
    /// DCCP streams.
    pub dccp_streams: u64,
    /// Streams that were discarded while open, for lack of memory.
    pub evicted: u64,
}

/// Damage of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BrokenSummary {
    /// Position of the damaged record in the uncompressed file, in bytes.
    pub offset: u64,
    /// Packets before it.
    pub packets: u64,
    /// The fault.
    pub reason: String,
}

impl BrokenSummary {
    pub(super) fn of(broken: &crate::file::Broken) -> Self {
        let crate::file::Broken { offset, packets, reason } = broken.clone();
        Self { offset, packets, reason }
    }
}

/// Frames by their treatment; the first number is the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FrameCounts {
    /// All frames of the file.
    pub seen: u64,
    /// Frames that were searched for IP.
    pub opened: u64,
    /// Retransmissions on the air of frames that had been captured.
    pub repeated: u64,
    /// Frames with a wrong check sequence.
    pub bad_fcs: u64,
    /// Frames with neither IPv4 nor IPv6.
    pub not_ip: u64,
    /// 802.11 control and management frames.
    pub control: u64,
    /// Frames whose content is encrypted.
    pub encrypted: u64,
    /// Later fragments of an MSDU.
    pub fragments: u64,
    /// Frames truncated before the end of the IP header.
    pub truncated: u64,
    /// Frames with a broken link header.
    pub broken: u64,
    /// Frames of an unknown link type.
    pub unsupported: u64,
}

/// IP packets by their treatment; the first number is the sum of the others but `incomplete`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PacketCounts {
    /// All IP packets.
    pub seen: u64,
    /// Packets of TCP.
    pub tcp: u64,
    /// Packets of UDP.
    pub udp: u64,
    /// Packets of DCCP.
    pub dccp: u64,
    /// Packets of other protocols.
    pub other: u64,
    /// Second copies of packets, as in a capture of all interfaces of a router; they were left out.
    pub copies: u64,
    /// Later IP fragments whose first one was not captured.
    pub fragments: u64,
    /// Later IP fragments whose bytes count with the first one.
    pub joined: u64,
    /// TCP, UDP or DCCP packets with a truncated or broken header.
    pub unreadable: u64,
    /// Packets with a broken IP header.
    pub broken: u64,
    /// Datagrams, counted above, of which fragments are missing.
    pub incomplete: u64,
}

/// Addresses and ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Ends {
    /// The end that sent the first packet.
    pub a: String,
    /// The other end.
    pub b: String,
}

/// A TCP connection.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Connection {
    /// Its number, as in tshark's `tcp.stream`.
    pub number: u32,
    /// Its ends.
    #[serde(flatten)]
    pub ends: Ends,
    /// Time of its first packet since the first of the capture.
    pub start_ns: u64,
    /// Time from its first to its last packet.
    pub duration_ns: u64,
    /// Time for which it was observed: to the end of the capture if it was still open.
    pub watched_ns: u64,
    /// Reason of its end: `closed`, `reset`, `reused`, `evicted` or `capture`.
    pub end: &'static str,
    /// The end that sent more bytes of the stream: `a` or `b`.
    pub sender: char,
    /// The limit of its rate.
    pub limit: Limit,
    /// The end that the capture is near; null if round-trip times do not show it.
    pub captured_near: Option<Vantage>,
    /// Times without packets and without outstanding data.
    pub idle: super::SpellsSummary,
    /// Packets sent by A.
    pub a_sent: TcpWaySummary,
    /// Packets sent by B.
    pub b_sent: TcpWaySummary,
    /// Its events, if it was selected by its number.
    pub events: Option<Events>,
}

impl Connection {
    /// The direction that carried more data.
    pub const fn main(&self) -> &TcpWaySummary {
        if self.sender == 'a' { &self.a_sent } else { &self.b_sent }
    }

    /// The median end-to-end round-trip time of its data, in nanoseconds. A capture that is not
    /// near the sender needs timestamps for the part between sender and capture; without them the
    /// result is `None`.
    pub fn round_trip_ns(&self) -> Option<u64> {
        let (beyond, before) = (self.main().rtt.as_ref()?, self.main().far_rtt.as_ref());
        match (before, self.captured_near) {
            (Some(before), _) => Some(beyond.p50_ns.saturating_add(before.p50_ns)),
            (None, None | Some(Vantage::Sender)) => Some(beyond.p50_ns),
            (None, Some(Vantage::Receiver | Vantage::Between)) => None,
        }
    }
}

/// Packets between two ports of UDP or DCCP.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UdpStream {
    /// Its number, as in tshark's `udp.stream` and `dccp.stream`.
    pub number: u32,
    /// Its ends.
    #[serde(flatten)]
    pub ends: Ends,
    /// Time of its first packet since the first of the capture.
    pub start_ns: u64,
    /// Time from its first to its last packet.
    pub duration_ns: u64,
    /// Datagrams sent by A.
    pub a_sent: UdpWaySummary,
    /// Datagrams sent by B.
    pub b_sent: UdpWaySummary,
}

impl TraceSummary {
    /// Builds the summary, without an answer, after the capture was read to its end.
    pub fn new(file: &str, facts: &Facts, counts: &Counts, collector: Collector) -> Self {
        let (origin, end) = counts.totals.span.unwrap_or((Instant::ZERO, Instant::ZERO));
        let (streams, mut events, left_out) = collector.into_parts();
        let (mut connections, mut udp, mut dccp) = (Vec::new(), Vec::new(), Vec::new());
        for stream in &streams {
            match stream.id {
                StreamId::Tcp(number) => {
                    let events = events.remove(&stream.id).map(|mut events| {
                        events.order(origin);
                        events
                    });
                    connections.push(connection(number, stream, origin, end, events));
                }
                StreamId::Udp(number) => udp.push(udp_stream(number, stream, origin)),
                StreamId::Dccp(number) => dccp.push(udp_stream(number, stream, origin)),
            }
        }
        Self {
            schema: SCHEMA,
            schema_version: SCHEMA_VERSION,
            capture: CaptureSummary::new(file, facts, counts),
            connections,
            udp,
            dccp,
            left_out,
            air: air::summaries(&counts.radio, end.since(origin)),
            air_left_out: counts.radio_left_out,
            answer: Vec::new(),
        }
    }

    /// Names of the worst connections, at most `most`.
    pub fn worst(&self, max: usize) -> Vec<StreamName> {
        let numbers = self.connections.iter().map(|one| one.number).take(max);
        numbers.map(|number| StreamName(StreamId::Tcp(number))).collect()
    }

    /// The first requested name without a stream.
    pub fn missing<'a>(&self, names: &'a [StreamName]) -> Option<&'a StreamName> {
        let there = |name: &StreamName| match name.0 {
            StreamId::Tcp(number) => self.connections.iter().any(|one| one.number == number),
            StreamId::Udp(number) => self.udp.iter().any(|one| one.number == number),
            StreamId::Dccp(number) => self.dccp.iter().any(|one| one.number == number),
        };
        names.iter().find(|name| !there(name))
    }
}

impl CaptureSummary {
    fn new(file: &str, facts: &Facts, counts: &Counts) -> Self {
        let totals = &counts.totals;
        let span = totals.span;
        Self {
            file: file.to_owned(),
            format: facts.format.map_or("", fairwave_wire::capture::Format::name),
            compression: facts.compression.map(crate::file::Compression::name),
            bytes: facts.bytes,
            packets: facts.packets,
            untimed: counts.untimed,
            carried: facts.carried,
            start_unix_ns: span.map(|(first, _)| first.as_nanos()),
            duration_ns: span.map_or(0, |(first, last)| from(first, last)),
            backward: totals.backward,
            broken: facts.broken.as_ref().map(BrokenSummary::of),
            frames: FrameCounts::from(totals.frames),
            ip: PacketCounts::from(totals.packets),
            contents: named::contents(totals),
            contents_left_out: totals.contents.others(),
            tunnels: named::tunnels(totals),
            tcp_streams: totals.tcp_streams,
            udp_streams: totals.udp_streams,
            dccp_streams: totals.dccp_streams,
            evicted: totals.evicted,
        }
    }
}

impl From<Frames> for FrameCounts {
    fn from(frames: Frames) -> Self {
        Self {
            seen: frames.seen,
            opened: frames.opened,
            repeated: frames.repeated,
            bad_fcs: frames.bad_fcs,
            not_ip: frames.not_ip,
            control: frames.control,
            encrypted: frames.encrypted,
            fragments: frames.fragments,
            truncated: frames.truncated,
            broken: frames.broken,
            unsupported: frames.unsupported,
        }
    }
}

impl From<Packets> for PacketCounts {
    fn from(packets: Packets) -> Self {
        Self {
            seen: packets.seen,
            tcp: packets.tcp,
            udp: packets.udp,
            dccp: packets.dccp,
            other: packets.other,
            copies: packets.copies,
            fragments: packets.fragments,
            joined: packets.joined,
            unreadable: packets.unreadable,
            broken: packets.broken,
            incomplete: packets.incomplete,
        }
    }
}

fn ends(stream: &Stream) -> Ends {
    let [a, b] = stream.ends.map(|end| end.to_string());
    Ends { a, b }
}

fn connection(
    number: u32,
    stream: &Stream,
    origin: Instant,
    end: Instant,
    events: Option<Events>,
) -> Connection {
    let over = stream.last.since(stream.first);
    let watched = if stream.end == End::Capture { end.since(stream.first) } else { over };
    let [a, b] = &stream.ways;
    let sender = if b.tcp.unique_bytes > a.tcp.unique_bytes { Side::B } else { Side::A };
    let main = &stream.ways[sender.index()];
    Connection {
        number,
        ends: ends(stream),
        start_ns: from(origin, stream.first),
        duration_ns: over.as_nanos(),
        watched_ns: watched.as_nanos(),
        end: word(stream.end),
        sender: letter(sender),
        limit: Limit::of(main, &stream.ways[sender.other().index()], watched),
        captured_near: Vantage::of(&main.tcp),
        idle: spells(&stream.idle, origin),
        a_sent: TcpWaySummary::of(a, over, origin),
        b_sent: TcpWaySummary::of(b, over, origin),
        events,
    }
}

fn udp_stream(number: u32, stream: &Stream, origin: Instant) -> UdpStream {
    let over = stream.last.since(stream.first);
    let [a, b] = &stream.ways;
    UdpStream {
        number,
        ends: ends(stream),
        start_ns: from(origin, stream.first),
        duration_ns: over.as_nanos(),
        a_sent: UdpWaySummary::of(a, over, origin),
        b_sent: UdpWaySummary::of(b, over, origin),
    }
}

fn spells(spells: &Spells, origin: Instant) -> super::SpellsSummary {
    super::SpellsSummary::of(spells, origin)
}

const fn word(end: End) -> &'static str {
    match end {
        End::Closed => "closed",
        End::Reset => "reset",
        End::Reused => "reused",
        End::Evicted => "evicted",
        End::Capture => "capture",
    }
}
