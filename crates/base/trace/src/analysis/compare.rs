//! Comparison of the same traffic captured at two points: losses, delays and reordering between
//! them.
//!
//! Both captures are read in parallel, in bounded memory. A packet is matched by its flow, its IP
//! identification and its header fields (for UDP also by the beginning of its payload), so that
//! nothing on the path may rewrite addresses, ports or sequence numbers. TCP segments that a
//! network card divides later, or has joined, are first divided into the segments on the wire.
//!
//! The clocks may differ by any constant. A *shift* is the time at the second point minus the time
//! at the first. For packets that pass the first point first, it is the sum of delay and clock
//! offset; for packets in the other direction, it is the offset minus the delay.

use super::Captured;
use super::air::Air;
use super::cut::{self, Mss};
use super::fragments::{Fragments, Held};
use super::live::key;
use super::packets::Packets;
use super::table::{Index, Key, mix, mix_bytes};
use core::net::SocketAddr;
use fairwave_units::{Duration, Instant};
use fairwave_wire::{ip, ipv4, link, tunnel};
use pending::{Entry, Pending};
use pieces::{Piece, Pieces};

mod bins;
mod pending;
mod pieces;
mod report;
mod spread;

pub use bins::{Bin, Bins};
pub use report::{Count, Flow, Report, Seen, Way};
pub use spread::Spread;

/// One of the two captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The first file.
    First,
    /// The second file.
    Second,
}

impl Place {
    /// Both captures.
    pub const ALL: [Self; 2] = [Self::First, Self::Second];

    /// The other capture.
    pub const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }

    const fn index(self) -> usize {
        self as usize
    }
}

/// Settings of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Offset of the second clock relative to the first in nanoseconds, if it is known. Otherwise
    /// it is assumed to be zero if the clocks are within an hour of each other; if not, the first
    /// packets of both captures are assumed to be simultaneous.
    pub offset_ns: Option<i64>,
    /// Time for which a packet of one capture is searched in the other, longer than any delay. It
    /// applies once the offset of the clocks is known, at the latest after the first matched
    /// packet.
    pub patience: Duration,
    /// Maximum number of packets of one capture that wait for a match.
    pub window: usize,
    /// Maximum number of separate flows; packets of others are counted together.
    pub flows_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            offset_ns: None,
            patience: Duration::from_secs(30),
            window: 1 << 18,
            flows_max: 4_096,
        }
    }
}

/// Result for one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// Index of its flow in [`Report::flows`].
    pub flow: usize,
    /// The end of the flow that sent it: index into [`Flow::ends`].
    pub from: usize,
    /// Time at which it passed each point, by the clock of that point, if it did.
    pub at: [Option<Instant>; 2],
    /// Time since the first frame of the first capture. For a packet that only the second capture
    /// has, it is computed with the estimated offset of the clocks.
    pub since_start: Duration,
    /// Length in bytes, IP header included.
    pub len: u32,
    /// Whether it is a pure ACK.
    pub is_pure_ack: bool,
}

/// Receives results in the order in which they become known. Packets that passed one point while
/// the other was not capturing have none.
pub trait Fates {
    /// Receives the result for one packet.
    fn fate(&mut self, fate: &Fate);
}

impl Fates for () {
    fn fate(&mut self, _: &Fate) {}
}

/// Largest plausible offset of two clocks: [`Config::offset_ns`].
const CLOCKS_APART_NS: i64 = 3_600_000_000_000;

/// Compares two captures that are read in parallel.
///
/// [`Self::wants`] names the capture to read next; [`Self::push`] and [`Self::ended`] take what was
/// read.
#[derive(Debug)]
pub struct Comparison {
    config: Config,
    report: Report,
    flows: Index,
    keys: Vec<Key>,
    /// MSS of each flow, from its SYNs.
    sizes: Vec<Mss>,
    pending: [Pending; 2],
    /// Time of the first and the last frame of each capture.
    times: [Option<(Instant, Instant)>; 2],
    ended: [bool; 2],
    air: [Air; 2],
    fragments: [Fragments; 2],
    /// Shift of the most recently matched packet.
    shift_ns: Option<i64>,
}

impl Comparison {
    /// Creates a comparison without frames.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            report: Report::default(),
            flows: Index::default(),
            keys: Vec::new(),
            sizes: Vec::new(),
            pending: [Pending::new(config.window), Pending::new(config.window)],
            times: [None; 2],
            ended: [false; 2],
            air: Default::default(),
            fragments: Default::default(),
            shift_ns: None,
        }
    }

    /// The capture of which the next frame should be read; `None` if both have ended.
    pub fn wants(&self) -> Option<Place> {
        match (self.ended, self.times) {
            ([true, true], _) => None,
            ([true, false], _) => Some(Place::Second),
            ([false, true], _) | (_, [None, _]) => Some(Place::First),
            (_, [_, None]) => Some(Place::Second),
            (_, [Some((_, first)), Some((_, second))]) => {
                let behind = nanos_between(first, second) >= self.offset_ns();
                Some(if behind { Place::First } else { Place::Second })
            }
        }
    }

    /// Handles the next frame of a capture.
    pub fn push(&mut self, place: Place, frame: Captured<'_>, to: &mut impl Fates) {
        self.clock(place, frame.at, to);
        let seen = &mut self.report.seen[place.index()];
        seen.frames += 1;
        let Ok(opened) = link::open(frame.link, frame.bytes, frame.original_len) else { return };
        let air = &mut self.air[place.index()];
        if opened.mpdu.is_some_and(|mpdu| mpdu.bad_fcs || air.repeats(frame.at, &mpdu)) {
            return;
        }
        for outer in opened.packets() {
            for bytes in tunnel::packets(outer).1 {
                self.fragment(place, frame.at, bytes, to);
            }
        }
    }

    /// Matches a packet, or holds it until all fragments of its datagram have come.
    fn fragment(
        &mut self,
        place: Place,
        at: Instant,
        bytes: link::Captured<'_>,
        to: &mut impl Fates,
    ) {
        let Ok(packet) = ip::parse(bytes.bytes, bytes.wire_len) else { return };
        let fragments = &mut self.fragments[place.index()];
        let (due, counts) = fragments.push(at, bytes, &packet, &mut Packets::default());
        due.iter().for_each(|held| self.held(place, held, to));
        if counts {
            self.packet(place, at, &packet, to);
        }
    }

    fn held(&mut self, place: Place, held: &Held, to: &mut impl Fates) {
        if let Some(packet) = held.packet() {
            self.packet(place, held.at, &packet, to);
        }
    }

    /// Notes that a capture has no more frames.
    pub fn ended(&mut self, place: Place) {
        self.ended[place.index()] = true;
    }

    /// Returns the report. Packets that still wait for a match did not pass the other point.
    pub fn finish(mut self, to: &mut impl Fates) -> Report {
        for place in Place::ALL {
            while let Some(held) = self.fragments[place.index()].rest() {
                self.held(place, &held, to);
            }
        }
        for place in Place::ALL {
            while let Some(entry) = self.pending[place.index()].pop() {
                self.alone(place, &entry, to);
            }
        }
        self.report
    }

    /// Reports a packet that leaves the window. If it was not matched, it passed one point only.
    fn alone(&mut self, place: Place, entry: &Entry, to: &mut impl Fates) {
        if entry.is_known {
            return;
        }
        if !self.covers(place.other(), entry) {
            self.report.outside(place, entry);
            return;
        }
        self.report.alone(place, entry);
        let mut at = [None; 2];
        at[place.index()] = Some(entry.at);
        to.fate(&self.fate(entry, at));
    }

    /// Whether a capture covers the time at which a packet of the other capture would have passed
    /// it, by the mean shift of its direction if that is known.
    fn covers(&self, place: Place, entry: &Entry) -> bool {
        let way = &self.report.flows[entry.flow as usize].ways[usize::from(entry.from)];
        let shift = way.shift.mean_ns().unwrap_or_else(|| self.offset_ns());
        let there = moved(entry.at, shift, place);
        let goes_on = !self.ended[place.index()];
        let times = self.times[place.index()];
        times.is_some_and(|(first, last)| first <= there && (goes_on || there <= last))
    }

    fn fate(&self, entry: &Entry, at: [Option<Instant>; 2]) -> Fate {
        let there = |second: Instant| moved(second, self.offset_ns(), Place::First);
        let start = match self.times {
            [Some((start, _)), _] => start,
            [None, start] => start.map_or(Instant::ZERO, |(start, _)| there(start)),
        };
        let when = at[0].or(at[1].map(there)).unwrap_or(start);
        let Entry { flow, from, len, is_pure_ack, .. } = *entry;
        let since_start = when.since(start);
        Fate { flow: flow as usize, from: from.into(), at, since_start, len, is_pure_ack }
    }

    /// The estimated offset of the second clock relative to the first.
    fn offset_ns(&self) -> i64 {
        let guess = || match self.times {
            [Some((first, _)), Some((second, _))] => {
                let apart = nanos_between(first, second);
                if apart.abs() < CLOCKS_APART_NS { 0 } else { apart }
            }
            _ => 0,
        };
        self.config.offset_ns.or(self.shift_ns).unwrap_or_else(guess)
    }

    /// Records the time of a capture, and expires packets that waited for it too long.
    fn clock(&mut self, place: Place, at: Instant, to: &mut impl Fates) {
        let times = &mut self.times[place.index()];
        *times = Some(times.map_or((at, at), |(first, last)| (first, last.max(at))));
        if self.config.offset_ns.or(self.shift_ns).is_none() {
            return;
        }
        let other = place.other();
        let there = moved(at, self.offset_ns(), other);
        while let Some(entry) =
            self.pending[other.index()].pop_if(|entry| there.since(entry.at) > self.config.patience)
        {
            self.alone(other, &entry, to);
        }
    }

    fn packet(&mut self, place: Place, at: Instant, packet: &ip::Packet<'_>, to: &mut impl Fates) {
        let Some((ports, protocol)) = ports(packet) else { return };
        self.report.seen[place.index()].packets += 1;
        let key = key(packet, ports, protocol);
        let Some(flow) = self.flow(key, packet, ports, protocol) else {
            self.report.seen[place.index()].unwatched += 1;
            return;
        };
        let source = SocketAddr::new(packet.source, ports[0]);
        let from = usize::from(self.report.flows[flow].ends[0] != source);
        let pieces = self.pieces(flow, packet);
        let way = &mut self.report.flows[flow].ways[from];
        if pieces.len() > 1 {
            way.cut[place.index()] += 1;
            way.guessed |= !self.sizes[flow].is_known();
        }
        let content = match &packet.transport {
            ip::Transport::Udp(udp) => mix_bytes(0, udp.payload),
            _ => 0,
        };
        for piece in pieces {
            let way = &mut self.report.flows[flow].ways[from];
            way.packets[place.index()] += 1;
            let entry = Entry {
                mark: signature(packet, piece, flow, from),
                content,
                at,
                flow: flow as u32,
                from: from as u8,
                is_pure_ack: is_pure_ack(packet),
                is_known: false,
                len: piece.len,
                order: way.packets[place.index()],
            };
            self.pair(place, entry, piece.id != 0, to);
        }
    }

    /// The wire segments that a packet contains.
    fn pieces(&mut self, flow: usize, packet: &ip::Packet<'_>) -> Pieces {
        let ip::Transport::Tcp(tcp) = &packet.transport else { return Pieces::whole(packet) };
        let size = &mut self.sizes[flow];
        size.learn(&tcp.header);
        let piece = size.piece(&tcp.header, packet.source.is_ipv6());
        match cut::segments(tcp.payload_len, piece) {
            1 => Pieces::whole(packet),
            _ => Pieces::of(packet, tcp.payload_len, piece),
        }
    }

    /// Matches a segment with its counterpart in the other capture, or lets it wait for that. Only
    /// segments with an IP identification can be recognized as duplicates: without one, a
    /// retransmission looks the same. Datagrams with a constant one must have the same payload.
    fn pair(&mut self, place: Place, entry: Entry, has_id: bool, to: &mut impl Fates) {
        if let Some(other) = self.pending[place.other().index()].know(entry.mark) {
            let both = if place == Place::First { [entry, other] } else { [other, entry] };
            self.shift_ns = Some(self.report.crossed(both));
            to.fate(&self.fate(&both[0], both.map(|entry| Some(entry.at))));
            self.remember(place, Entry { is_known: true, ..entry }, to);
        } else if has_id && self.pending[place.index()].has(&entry) {
            let flow = &mut self.report.flows[entry.flow as usize];
            flow.ways[usize::from(entry.from)].duplicates[place.index()] += 1;
        } else {
            self.remember(place, entry, to);
        }
    }

    fn remember(&mut self, place: Place, entry: Entry, to: &mut impl Fates) {
        if let Some(oldest) = self.pending[place.index()].push(entry) {
            self.report.forgotten += u64::from(!oldest.is_known);
            self.alone(place, &oldest, to);
        }
    }

    /// The flow of a packet, which may be new; `None` if there are too many flows.
    fn flow(
        &mut self,
        key: Key,
        packet: &ip::Packet<'_>,
        ports: [u16; 2],
        protocol: u8,
    ) -> Option<usize> {
        let hash = key.hash();
        if let Some(number) = self.flows.find(hash, |number| self.keys[number as usize] == key) {
            return Some(number as usize);
        }
        let number = self.keys.len();
        if number >= self.config.flows_max {
            return None;
        }
        self.flows.insert(hash, number as u32);
        self.keys.push(key);
        self.sizes.push(Mss::default());
        let source = SocketAddr::new(packet.source, ports[0]);
        let destination = SocketAddr::new(packet.destination, ports[1]);
        self.report.flows.push(Flow::new([source, destination], protocol));
        Some(number)
    }
}

/// Converts a time of the other clock to that of `place`; the second clock is `shift_ns` ahead.
fn moved(at: Instant, shift_ns: i64, place: Place) -> Instant {
    let shift_ns = match place {
        Place::First => shift_ns.saturating_neg(),
        Place::Second => shift_ns,
    };
    Instant::from_nanos(at.as_nanos().saturating_add_signed(shift_ns))
}

/// `to - from` in nanoseconds.
fn nanos_between(from: Instant, to: Instant) -> i64 {
    let apart = i128::from(to.as_nanos()) - i128::from(from.as_nanos());
    apart.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

fn ports(packet: &ip::Packet<'_>) -> Option<([u16; 2], u8)> {
    match &packet.transport {
        ip::Transport::Tcp(tcp) => {
            Some(([tcp.header.source_port, tcp.header.destination_port], ipv4::PROTOCOL_TCP))
        }
        ip::Transport::Udp(udp) => {
            Some(([udp.source_port, udp.destination_port], ipv4::PROTOCOL_UDP))
        }
        ip::Transport::Dccp(dccp) => {
            Some(([dccp.source_port, dccp.destination_port], ipv4::PROTOCOL_DCCP))
        }
        ip::Transport::Other(_) | ip::Transport::Unreadable(_) => None,
    }
}

fn is_pure_ack(packet: &ip::Packet<'_>) -> bool {
    match &packet.transport {
        ip::Transport::Tcp(tcp) => {
            let flags = tcp.header.flags;
            tcp.payload_len == 0 && flags.ack && !(flags.syn || flags.fin || flags.rst)
        }
        _ => false,
    }
}

/// Number of payload bytes by which a datagram is matched: as many as a short snap length leaves.
const KNOWN_BY: usize = 32;

/// The fields by which a packet is matched.
fn signature(packet: &ip::Packet<'_>, piece: Piece, flow: usize, from: usize) -> u64 {
    let start = mix((flow as u64) << 1 | from as u64);
    let start = mix(start ^ u64::from(piece.id) ^ u64::from(piece.len) << 32);
    match &packet.transport {
        ip::Transport::Tcp(tcp) => {
            let header = &tcp.header;
            let flags = header.flags;
            // PSH is left out: only the last of joined segments keeps it.
            let bits = [flags.syn, flags.fin && piece.is_last, flags.rst, flags.ack];
            let bits = bits.into_iter().fold(0, |bits, flag| bits << 1 | u64::from(flag));
            let stamps = header.options.timestamps.unwrap_or_default();
            let words = [
                u64::from((header.seq + piece.offset).0) << 32 | u64::from(header.ack.0),
                u64::from(stamps.value) << 32 | u64::from(stamps.echo),
                bits << 16 | u64::from(header.window),
            ];
            words.into_iter().fold(start, |hash, word| mix(hash ^ word))
        }
        ip::Transport::Udp(udp) => {
            mix_bytes(start, &udp.payload[..udp.payload.len().min(KNOWN_BY)])
        }
        ip::Transport::Dccp(dccp) => mix(start ^ dccp.number),
        ip::Transport::Other(_) | ip::Transport::Unreadable(_) => start,
    }
}
