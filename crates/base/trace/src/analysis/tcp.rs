//! One TCP connection, packet by packet.
//!
//! Each end is a [`Half`]: its own data, and its reports on the other end's data. A packet is first
//! compared with the knowledge of both halves ([`classify`]), and then taken in.

use super::arrival::Arrival;
use super::cut::{Mss, segments};
use super::{AcksLost, Config, End, Evidence, Kind, Mark, Points, Side, Stream, TcpWay, Way};
use fairwave_units::{Duration, Instant};
use fairwave_wire::ip;
use half::Half;
use packet::Packet;
pub(super) use packet::Teller;

mod classify;
mod echoes;
mod edges;
mod half;
mod ids;
mod late;
mod outstanding;
mod packet;
mod stride;
mod waits;

/// Both halves of a connection.
#[derive(Debug, Default)]
pub(super) struct Connection {
    halves: [Half; 2],
    /// The last SYN, until the handshake is over.
    syn_at: Option<Instant>,
    /// From there to the ACK that ended the handshake.
    handshake: Option<Duration>,
    mss: Mss,
    is_begun: bool,
}

impl Connection {
    /// Whether a packet of `side` begins another connection between the same ports: a SYN without
    /// ACK with another number than this one's.
    pub(super) fn is_another(&self, side: Side, segment: &ip::Segment<'_>) -> bool {
        let flags = segment.header.flags;
        let base = self.halves[side.index()].base;
        flags.syn && !flags.ack && base.is_some_and(|base| base != segment.header.seq)
    }

    /// Whether data is outstanding at either end.
    pub(super) fn is_busy(&self) -> bool {
        self.halves.iter().any(Half::is_busy)
    }

    /// Takes in a packet of the side of `to`; returns its kind and the way in which it ended the
    /// connection, if it did.
    pub(super) fn packet<P: Points>(
        &mut self,
        config: &Config,
        arrival: Arrival<'_>,
        segment: &ip::Segment<'_>,
        ways: &mut [Way; 2],
        mut to: Teller<'_, P>,
    ) -> (Kind, Option<End>) {
        let Arrival { at, packet: ip, has_shared_ids, .. } = arrival;
        let side = to.side;
        if !core::mem::replace(&mut self.is_begun, true) {
            self.halves.iter_mut().for_each(|half| half.begin(at));
        }
        // Before the view, which cuts the payload into segments of this size.
        self.mss.learn(&segment.header);
        let packet = self.view(at, side, ip, segment);
        // Before the kind and the far round-trip times, which this packet may already need.
        handshake(&mut self.syn_at, &mut self.handshake, &packet);
        let [mine, theirs] = pair(&mut self.halves, side);
        let [my_way, their_way] = pair(ways, side);
        let (my_tcp, their_tcp) = (&mut my_way.tcp, &mut their_way.tcp);
        // The kind and the counters compare the packet with both halves as they were before it.
        let before = mine.before(&packet);
        let context = classify::Context { config, handshake: self.handshake, before };
        let kind = classify::kind(&packet, &context, mine, theirs);
        count(my_tcp, &packet, kind, mine, theirs);
        // Before `take_report`, after which the ACK advances by nothing.
        let advance = theirs.advance(packet.ack);
        let is_gap =
            ip.source.is_ipv4() && mine.ids.packet(at, ip.id as u16, packet.segments, advance);
        // Before `wait`, which would count the pause as the application's, and before `send`, which
        // moves the end of the data behind which the pause began.
        if is_gap && !has_shared_ids {
            mine.end_outage(config, &packet, my_tcp, &mut to);
        }
        mine.wait(&packet, kind, theirs, mine.far(self.handshake, my_tcp), my_tcp);
        if packet.end > packet.start || kind == Kind::Reset {
            let (start, end, fin) = (packet.start, packet.end, segment.header.flags.fin);
            to.report(at, Mark::Segment { start, end, kind, fin });
        }
        mine.send(config, &packet, kind, before, my_tcp);
        // After `send`, which counts the first data.
        mine.end_held(my_tcp, &mut to);
        // The report before this packet's: `take_own` replaces it.
        let complaining = mine.last_report.is_complaining();
        theirs.take_report(config, &packet, complaining, their_tcp, &mut to.other());
        if segment.header.flags.syn {
            mine.take_scale(&segment.header, theirs);
        }
        mine.take_own(&packet, kind, my_tcp, theirs.far(self.handshake, their_tcp));
        // After `take_own`, which computes the edge of the window.
        mine.report(&packet, kind, theirs, my_tcp, &mut to);
        mine.note_window(&packet, their_tcp, &mut to.other());
        // After `send` and `take_report`: a connection is closed once both FINs are acknowledged.
        (kind, self.ended(segment))
    }

    /// Gives a packet numbers that do not wrap.
    fn view<'a>(
        &mut self,
        at: Instant,
        side: Side,
        ip: &ip::Packet<'_>,
        segment: &'a ip::Segment<'a>,
    ) -> Packet<'a> {
        let [mine, theirs] = pair(&mut self.halves, side);
        let header = &segment.header;
        let flags = header.flags;
        if mine.base.is_none() {
            mine.base = Some(if flags.syn { header.seq } else { header.seq + u32::MAX });
        }
        if theirs.base.is_none() && flags.ack {
            theirs.base = Some(header.ack + u32::MAX);
        }
        let start = mine.unwrap(header.seq);
        // A SYN's payload (RFC 7413) stands behind it.
        let data_end = start + i64::from(segment.payload_len);
        let end = data_end + i64::from(flags.syn) + i64::from(flags.fin);
        let ack = flags.ack.then(|| theirs.unwrap(header.ack));
        let piece = self.mss.piece(header, ip.source.is_ipv6());
        let segments = segments(segment.payload_len, piece);
        Packet { at, segment, start, data_end, end, ack, piece, segments }
    }

    /// Whether the numbers of a segment are near those of the connection; `None` for a SYN, whose
    /// numbers are new, and before both ends have sent.
    pub(super) fn continues(&self, side: Side, segment: &ip::Segment<'_>) -> Option<bool> {
        /// Random initial numbers are within this range once in 128 times.
        const NEAR: u64 = 1 << 24;
        let header = &segment.header;
        let [mine, theirs] = [side, side.other()].map(|side| &self.halves[side.index()]);
        let is_near = |half: &Half, number| {
            half.base.map(|_| (half.unwrap(number) - half.highest()).unsigned_abs() < NEAR)
        };
        let sent = is_near(mine, header.seq).filter(|_| !header.flags.syn);
        let acknowledged = is_near(theirs, header.ack).filter(|_| header.flags.ack);
        match (sent, acknowledged) {
            (None, None) => None,
            (sent, acknowledged) => Some(sent != Some(false) && acknowledged != Some(false)),
        }
    }

    fn ended(&self, segment: &ip::Segment<'_>) -> Option<End> {
        if segment.header.flags.rst {
            return Some(End::Reset);
        }
        self.halves.iter().all(Half::is_finished).then_some(End::Closed)
    }

    /// Closes open intervals when nothing more will come: `now` is the last time known.
    /// `shared_ids` says of each end whether its IP identifications count other streams, too.
    pub(super) fn finish<P: Points>(
        &mut self,
        config: &Config,
        now: Instant,
        shared_ids: [bool; 2],
        stream: &mut Stream,
        to: &mut P,
    ) {
        let (id, ways) = (stream.id, &mut stream.ways);
        for side in Side::ALL {
            let [mine, theirs] = pair(ways, side).map(|way| &mut way.tcp);
            let half = &mut self.halves[side.index()];
            let far = half.far(self.handshake, mine);
            half.finish(config, now, far, [mine, theirs], Teller { id, side, to });
        }
        for side in Side::ALL {
            let other = side.other();
            let acks_lost = self.acks_lost(side, ways, shared_ids[other.index()]);
            let tcp = &mut ways[side.index()].tcp;
            tcp.handshake = self.handshake;
            tcp.acks_lost = acks_lost;
        }
    }

    /// ACKs for the data of `side` that were lost before the capture, by the IP identifications of
    /// the other end, and otherwise by its stride. More than were seen are none that were lost: the
    /// other end counts something else.
    fn acks_lost(&self, side: Side, ways: &[Way; 2], has_shared_ids: bool) -> Option<AcksLost> {
        let tcp = &ways[side.index()].tcp;
        let other = side.other();
        let (sent, ids) = (&ways[other.index()], &self.halves[other.index()].ids);
        let acks = Kind::ALL.iter().filter(|kind| kind.is_acknowledgement());
        let acks: u64 = acks.map(|&kind| sent.tcp.count(kind)).sum();
        // Where the other end sends data, too, the missing packets may be data.
        let mostly_acks = acks * 10 >= sent.volume.packets * 9;
        let missing = ids.missing(has_shared_ids).filter(|_| mostly_acks);
        let by_ids = missing.map(|count| AcksLost { count, by: Evidence::Identification });
        // Who cuts or joins segments does not acknowledge each second one. Whatever else a counter
        // counts, no more ACKs are missing than numbers. At the receiver none is lost yet.
        let by_stride = tcp.acks_lost.filter(|lost| {
            let fits = ids.skipped().is_none_or(|skipped| lost.count <= skipped);
            tcp.offloaded == 0 && fits && !self.is_at_receiver(tcp)
        });
        by_ids.or(by_stride).filter(|lost| lost.count <= acks)
    }

    /// Whether at most a fifth of the round-trip time of this data lies beyond the capture.
    fn is_at_receiver(&self, tcp: &TcpWay) -> bool {
        let beyond = tcp.rtt.min().map_or(0, Duration::as_nanos);
        let before = tcp.far_rtt.min().map(Duration::as_nanos);
        let handshake = self.handshake.map(Duration::as_nanos);
        let whole = before.map(|before| before.saturating_add(beyond)).into_iter().chain(handshake);
        let is_near = |whole: u64| beyond.saturating_mul(5) <= whole && whole > 0;
        tcp.rtt.count() > 0 && whole.min().is_some_and(is_near)
    }
}

/// The part of `side`, and that of the other.
fn pair<T>(both: &mut [T; 2], side: Side) -> [&mut T; 2] {
    let [a, b] = both;
    match side {
        Side::A => [a, b],
        Side::B => [b, a],
    }
}

/// Time from the last SYN to the first ACK without one: a round trip, wherever the capture was. It
/// stays unknown if the clock was set back in between.
fn handshake(syn_at: &mut Option<Instant>, took: &mut Option<Duration>, packet: &Packet<'_>) {
    let flags = packet.segment.header.flags;
    match (flags.syn, flags.ack) {
        (true, false) => *syn_at = Some(packet.at),
        (false, true) if took.is_none() => {
            *took = syn_at.take().and_then(|from| packet.at.checked_since(from));
        }
        _ => {}
    }
}

/// Counts a packet; the state of its halves is the one before it.
fn count(tcp: &mut TcpWay, packet: &Packet<'_>, kind: Kind, mine: &Half, theirs: &Half) {
    let header = &packet.segment.header;
    let flags = header.flags;
    tcp.kinds[kind.index()] += 1;
    tcp.syn += u64::from(flags.syn);
    tcp.fin += u64::from(flags.fin);
    tcp.rst += u64::from(flags.rst);
    tcp.ece += u64::from(flags.ece);
    tcp.cwr += u64::from(flags.cwr);
    let len = packet.segment.payload_len;
    tcp.data_packets += u64::from(len > 0);
    tcp.segments += if len > 0 { u64::from(packet.segments) } else { 0 };
    tcp.offloaded += u64::from(packet.segments > 1);
    tcp.payload_max = tcp.payload_max.max(len);
    tcp.timestamps |= header.options.timestamps.is_some();
    if kind.is_retransmission() {
        tcp.retransmitted_bytes += u64::from(len);
        tcp.retransmitted_segments += u64::from(packet.segments);
    }
    if flags.syn {
        tcp.mss = header.options.mss.or(tcp.mss);
        tcp.window_scale = header.options.window_scale.or(tcp.window_scale);
        tcp.sack_permitted |= header.options.sack_permitted;
    }
    let control = packet.is_control();
    tcp.zero_windows += u64::from(header.window == 0 && !control);
    tcp.window_full +=
        u64::from(len > 0 && !control && theirs.last_report.is_filled_by(packet.data_end));
    tcp.holes += u64::from(mine.leaves_hole(packet));
    tcp.unseen_acked += u64::from(theirs.has_not_sent(packet.ack));
}
