//! State of one end of a connection: its data, and its acknowledgements.

use super::echoes::Echoes;
use super::edges::Edges;
use super::ids::Ids;
use super::late::Late;
use super::outstanding::{Before, Outstanding};
use super::packet::{Packet, Teller};
use super::stride::Stride;
use super::waits::Waits;
use crate::analysis::{Config, Kind, Mark, Points, TcpWay};
use fairwave_units::{Duration, Instant, Seq32};
use fairwave_wire::tcp::Header;

mod spells;

/// Allowance for queueing in a round-trip time that cannot be measured: the minimum RTO of Linux,
/// which would expire on a path with a longer queue.
const QUEUED: Duration = Duration::from_millis(200);

/// One end of a connection. All sequence numbers are relative to [`Self::base`].
#[derive(Debug, Default)]
pub(super) struct Half {
    /// Its initial sequence number, or the number before the first one in the capture.
    pub(super) base: Option<Seq32>,
    /// Whether it sent anything.
    pub(super) seen: bool,
    /// End of the highest sequence number that it sent.
    pub(super) next: i64,
    /// Time at which that number was sent.
    pub(super) next_at: Instant,
    /// Highest of its numbers that was acknowledged; before that, its first number.
    pub(super) una: Option<i64>,
    /// Time at which that number last increased.
    pub(super) progress_at: Instant,
    /// Limit of expected acknowledgements: the end of the data seen without a hole.
    whole: i64,
    /// Time since which data is outstanding.
    busy_since: Instant,
    /// Time of the last ACK for its data; `None` before the first.
    received_at: Option<Instant>,
    pub(super) srtt: Option<Duration>,
    rttvar: Duration,
    outstanding: Outstanding,
    /// Acknowledgements that came before their data.
    late: Late,
    stride: Stride,
    /// IP identifications of its packets.
    pub(super) ids: Ids,
    waits: Waits,
    /// Smoothed round-trip time from the capture to this end and back, and its deviation.
    far: Option<(Duration, Duration)>,
    /// Timestamps of its packets, until the other half echoes them.
    echoes: Echoes,
    /// Longest payload of one of its segments.
    piece: u32,
    /// Highest of its numbers that the other half has SACKed.
    pub(super) sacked: i64,
    /// End of the data that it retransmits after its timer expired.
    pub(super) timed_out_to: i64,
    timeouts_in_row: u32,
    fin_end: Option<i64>,
    /// Ends of the last spells of each kind. Clocks may go back, and spells never overlap.
    gaps_to: Instant,
    starved_to: Instant,
    /// Starvation of the handshake, which counts once there is data.
    held: Option<(Instant, Duration)>,
    /// Its most recent report on the other half's data.
    pub(super) last_report: LastReport,
}

/// The most recent report of an end.
#[derive(Debug, Default)]
pub(super) struct LastReport {
    /// Its acknowledgement, in the sequence numbers of the other half.
    pub(super) ack: Option<i64>,
    /// Time at which it last sent a packet with an ACK.
    pub(super) at: Instant,
    /// The window field of that packet.
    pub(super) window: Option<u16>,
    /// The window in bytes.
    offered: u32,
    /// Edges of its window that the other half may still know.
    edges: Edges,
    /// Its window scale, once its SYN was captured.
    scale: Option<u8>,
    /// Whether its SYN had the option of a window scale.
    is_scale_offered: bool,
    /// Number of successive duplicate ACKs.
    pub(super) duplicates: u32,
    /// Whether it had SACK blocks.
    pub(super) sacks: bool,
    /// Kind of the packet.
    pub(super) last: Option<Kind>,
    /// Time since which the window is zero.
    zero_since: Option<Instant>,
    /// End of the last time in which it was.
    zero_to: Instant,
}

impl LastReport {
    /// Whether it reports missing segments.
    pub(super) const fn is_complaining(&self) -> bool {
        self.duplicates > 0 || self.sacks
    }

    /// Whether data up to `end` reaches the edge of its window.
    pub(super) fn is_filled_by(&self, end: i64) -> bool {
        self.scale.is_some() && self.ack.is_some_and(|ack| ack + i64::from(self.offered) == end)
    }

    /// Whether data up to `end` leaves less than a segment of `piece` bytes in the window that its
    /// sender knew. Packets of that sender need `far` to the capture and back.
    fn holds_back(&self, end: i64, piece: u32, at: Instant, far: Duration) -> bool {
        let known = Instant::from_nanos(at.as_nanos().saturating_sub(far.as_nanos()));
        let edge = self.edges.at(known).filter(|_| self.scale.is_some());
        edge.is_some_and(|edge| edge - end < i64::from(piece))
    }

    /// The window of a packet in bytes. The window of a SYN is never scaled (RFC 7323 section 2.2).
    fn scaled(&self, header: &Header) -> u32 {
        let shift = if header.flags.syn { 0 } else { self.scale.unwrap_or(0) };
        u32::from(header.window) << shift
    }
}

impl Half {
    /// The connection begins: nothing that is counted lies before.
    pub(super) fn begin(&mut self, at: Instant) {
        (self.gaps_to, self.starved_to, self.last_report.zero_to) = (at, at, at);
        self.waits.begin(at);
    }

    /// Whether data is outstanding.
    pub(super) fn is_busy(&self) -> bool {
        self.una.is_some_and(|una| una < self.next)
    }

    /// Whether the other half acknowledged its numbers up to `end`.
    pub(super) fn was_acknowledged(&self, end: i64) -> bool {
        self.received_at.is_some() && self.una.is_some_and(|una| end <= una)
    }

    /// Whether its FIN was acknowledged.
    pub(super) fn is_finished(&self) -> bool {
        self.fin_end.is_some_and(|end| self.was_acknowledged(end))
    }

    /// Whether its packet leaves a hole after the data that it sent before.
    pub(super) fn leaves_hole(&self, packet: &Packet<'_>) -> bool {
        self.seen && packet.start > self.next && !packet.segment.header.flags.rst
    }

    /// Whether `ack` acknowledges numbers of this half that were not captured.
    pub(super) fn has_not_sent(&self, ack: Option<i64>) -> bool {
        self.seen && ack.is_some_and(|ack| ack > self.whole)
    }

    /// The shortest silence after which a retransmission may come from the timer: SRTT plus two
    /// deviations. RFC 6298 uses four; two are used here because these times are measured at the
    /// capture, not at the sender.
    pub(super) fn min_timeout(&self, rto_min: Duration) -> Duration {
        let srtt = self.srtt.unwrap_or_default().as_nanos();
        let estimate = srtt.saturating_add((self.rttvar * 2).as_nanos());
        Duration::from_nanos(estimate).max(rto_min)
    }

    /// State of the range of its packet before that packet.
    pub(super) fn before(&self, packet: &Packet<'_>) -> Before {
        // Acknowledged data was sent, even if it was not captured.
        let from = self.una.map_or(packet.start, |una| una.max(packet.start));
        match from < packet.end {
            true => self.outstanding.before(from, packet.end),
            false => Before::default(),
        }
    }

    /// Records the sequence numbers of its packet.
    pub(super) fn send(
        &mut self,
        config: &Config,
        packet: &Packet<'_>,
        kind: Kind,
        before: Before,
        tcp: &mut TcpWay,
    ) {
        if matches!(kind, Kind::Reset | Kind::WindowProbe) {
            return;
        }
        if kind == Kind::Data && packet.len() > 0 && self.was_acknowledged(packet.data_end) {
            let lag = self.late.lag(packet.data_end, packet.at).unwrap_or_default();
            let total = tcp.late_total.as_nanos().saturating_add(lag.as_nanos());
            (tcp.late, tcp.late_total) = (tcp.late + 1, Duration::from_nanos(total));
        }
        if packet.end > packet.start {
            self.send_range(config, packet, tcp);
            self.cover(packet, before, tcp);
        }
        self.piece = packet.piece;
        if kind == Kind::Timeout {
            self.timed_out_to = self.next;
            self.timeouts_in_row += 1;
            tcp.timeouts_in_row_max = tcp.timeouts_in_row_max.max(self.timeouts_in_row);
        }
        let in_order = !self.seen || packet.start <= self.whole;
        if !self.seen || packet.end > self.next {
            self.next = packet.end;
            self.next_at = packet.at;
        }
        if in_order {
            self.whole = self.whole.max(self.next);
        }
        self.seen = true;
        if packet.segment.header.flags.fin {
            self.fin_end = Some(packet.end);
        }
        let flight = self.una.map_or(0, |una| (self.next - una).max(0) as u64);
        tcp.flight_max = tcp.flight_max.max(flight);
    }

    fn send_range(&mut self, config: &Config, packet: &Packet<'_>, tcp: &mut TcpWay) {
        if !self.is_busy() {
            self.busy_since = packet.at;
        }
        let una = *self.una.get_or_insert(packet.start);
        let stamp = packet.segment.header.options.timestamps.map(|stamps| stamps.value);
        let from = packet.start.max(una);
        if from < packet.end {
            let (end, max) = (packet.end, config.segments_max);
            let room = self.outstanding.send(from, end, packet.at, stamp, max);
            tcp.untracked += u64::from(!room);
        }
    }

    /// Counts the bytes that are captured for the first time, after the highest number or in a
    /// hole.
    fn cover(&self, packet: &Packet<'_>, before: Before, tcp: &mut TcpWay) {
        let next = if self.seen { self.next } else { packet.start };
        let ahead = (packet.data_end - next.max(packet.start)).max(0) as u64;
        let beyond = (packet.end - next.max(packet.start)).max(0) as u64;
        let room = packet.len() as u64 - ahead;
        let mut filled = before.fresh.saturating_sub(beyond).min(room);
        if tcp.untracked > 0 {
            // Segments that were not followed look new, but only a hole can be filled.
            filled = filled.min(tcp.missing_bytes);
        }
        let hole = (packet.start - next).max(0) as u64;
        tcp.unique_bytes += ahead + filled;
        tcp.missing_bytes = (tcp.missing_bytes + hole).saturating_sub(filled);
    }

    /// Number of bytes by which an ACK advances.
    pub(super) fn advance(&self, ack: Option<i64>) -> u64 {
        ack.zip(self.una).map_or(0, |(ack, una)| (ack - una).max(0) as u64)
    }

    /// The round-trip time from the capture to this end: by its timestamps, plus four deviations as
    /// in a retransmission timer. Without timestamps it is the minimum of the whole path (that of
    /// the handshake) minus the part from the capture to the other end (that of its data).
    pub(super) fn far(&self, handshake: Option<Duration>, tcp: &TcpWay) -> Duration {
        if let Some((smoothed, deviation)) = self.far {
            return smoothed + deviation * 4;
        }
        let (Some(whole), Some(near)) = (handshake, tcp.rtt.min()) else { return Duration::ZERO };
        Duration::from_nanos(whole.as_nanos().saturating_sub(near.as_nanos()))
    }

    /// The longest pause at the capture while data or its acknowledgement is in flight beyond it,
    /// where `far` is the time that this takes. Without timestamps `far` is the minimum: it does
    /// not include the delay of a queue there, and a burst from that queue is followed by a pause,
    /// regardless of the data that the sender has.
    pub(super) fn unseen(&self, far: Duration, tcp: &TcpWay) -> Duration {
        let near = tcp.rtt.min().unwrap_or(far);
        let is_near = far * 4 <= near || far < Duration::from_millis(1);
        if self.far.is_some() || is_near { far } else { far.max(QUEUED) }
    }

    /// Records the packet, as far as it shows the reason of a wait. Both halves are in their state
    /// before the packet; its sender knows the other half's reports of `far` ago.
    pub(super) fn wait(
        &mut self,
        packet: &Packet<'_>,
        kind: Kind,
        theirs: &mut Self,
        far: Duration,
        tcp: &mut TcpWay,
    ) {
        let flags = packet.segment.header.flags;
        let unseen = self.unseen(far, tcp);
        if let Some(stamps) = packet.segment.header.options.timestamps {
            self.echoes.value(stamps.value, packet.at);
            let echoed = theirs.echoes.echo(stamps.echo, packet.at);
            // An end without data to send echoes late.
            if let Some(rtt) = echoed.filter(|_| kind == Kind::Data && !self.waits.is_application())
            {
                tcp.far_rtt.add(rtt);
                smooth(&mut self.far, rtt);
            }
        }
        if kind.is_retransmission() {
            self.waits.repair(packet.at, unseen, tcp);
        } else if kind == Kind::Data && packet.len() > 0 {
            let fills =
                theirs.last_report.holds_back(packet.data_end, packet.piece, packet.at, far);
            let len = packet.segment.payload_len;
            self.waits.data(packet.at, len, packet.piece, fills, unseen, tcp);
        }
        if flags.fin || flags.rst {
            self.waits.end(packet.at, unseen, tcp);
        }
    }

    /// Handles a packet of the other half that reports on this half's data. `complaining` tells
    /// whether the other half reported missing segments before.
    pub(super) fn take_report<P: Points>(
        &mut self,
        config: &Config,
        packet: &Packet<'_>,
        complaining: bool,
        tcp: &mut TcpWay,
        to: &mut Teller<'_, P>,
    ) {
        let Some(ack) = packet.ack else { return };
        let mut una = *self.una.get_or_insert(ack);
        if self.received_at.is_none() {
            // The capture began in the middle: data older than the first packet in it is
            // outstanding.
            una = una.min(ack);
            self.una = Some(una);
        }
        self.end_gap(config, packet.at, tcp, to);
        self.received_at = Some(packet.at);
        if ack > una {
            self.end_starvation(config, packet.at, tcp, to);
            self.progress(packet, una, ack, complaining, tcp, to);
        }
        let header = &packet.segment.header;
        let blocks = header.options.sack.as_slice().iter();
        let right = blocks.map(|&(_, right)| self.unwrap(right)).max();
        self.sacked = right.map_or(self.sacked, |right| self.sacked.max(right));
    }

    fn progress<P: Points>(
        &mut self,
        packet: &Packet<'_>,
        una: i64,
        ack: i64,
        complaining: bool,
        tcp: &mut TcpWay,
        to: &mut Teller<'_, P>,
    ) {
        let echo = packet.segment.header.options.timestamps.map(|stamps| stamps.echo);
        let acked = self.outstanding.ack(ack, packet.at, echo);
        if let Some(rtt) = acked.rtt {
            self.estimate(rtt);
            tcp.rtt.add(rtt);
            to.report(packet.at, Mark::Rtt(rtt));
        }
        let filled_holes = acked.again || complaining || self.sacked > una;
        if packet.is_pure_ack() && !filled_holes {
            self.stride.observe(self.segments((ack - una) as u64, tcp));
        }
        tcp.acked_bytes += self.bytes_between(una, ack);
        // The byte that probed a zero window was accepted.
        if self.last_report.last == Some(Kind::WindowProbe) && ack == self.next + 1 {
            self.next = ack;
            tcp.unique_bytes += 1;
        }
        self.una = Some(ack);
        if !self.seen || ack > self.next {
            self.late.acknowledged(ack, packet.at);
        }
        if ack >= self.next {
            self.waits.drain(packet.at);
        }
        self.whole = self.whole.max(ack);
        self.progress_at = packet.at;
        self.timeouts_in_row = 0;
    }

    /// Number of bytes among acknowledged numbers, without SYN and FIN.
    fn bytes_between(&self, una: i64, ack: i64) -> u64 {
        let syn = i64::from(una <= 0 && ack > 0);
        let fin = i64::from(self.fin_end == Some(ack));
        (ack - una - syn - fin).max(0) as u64
    }

    /// Number of segments in an advance, rounded.
    fn segments(&self, advance: u64, tcp: &TcpWay) -> u64 {
        let segment = u64::from(tcp.payload_max.min(self.piece).max(1));
        (advance + segment / 2) / segment
    }

    fn estimate(&mut self, rtt: Duration) {
        let mut both = self.srtt.map(|srtt| (srtt, self.rttvar));
        smooth(&mut both, rtt);
        self.srtt = both.map(|(srtt, _)| srtt);
        self.rttvar = both.map_or(Duration::ZERO, |(_, rttvar)| rttvar);
    }

    /// Handles the window scale of its own SYN. Without the option in one of both SYNs neither end
    /// scales its windows (RFC 7323 section 2.2).
    pub(super) fn take_scale(&mut self, header: &Header, theirs: &mut Self) {
        let offered = header.options.window_scale;
        let (mine, theirs) = (&mut self.last_report, &mut theirs.last_report);
        (mine.scale, mine.is_scale_offered) = (Some(offered.unwrap_or(0)), offered.is_some());
        if theirs.scale.is_some() && !(mine.is_scale_offered && theirs.is_scale_offered) {
            (mine.scale, theirs.scale) = (Some(0), Some(0));
        }
    }

    /// Handles the report of its own packet on the other half's data. `far` is the round-trip time
    /// between the capture and the other half.
    pub(super) fn take_own(
        &mut self,
        packet: &Packet<'_>,
        kind: Kind,
        tcp: &mut TcpWay,
        far: Duration,
    ) {
        let header = &packet.segment.header;
        let last_report = &mut self.last_report;
        if kind == Kind::Reset {
            return;
        }
        last_report.offered = last_report.scaled(header);
        last_report.window = Some(header.window);
        last_report.last = Some(kind);
        let (minimum, maximum) = tcp.window.unwrap_or((last_report.offered, last_report.offered));
        tcp.window = Some((minimum.min(last_report.offered), maximum.max(last_report.offered)));
        if let Some(ack) = packet.ack {
            last_report.edges.offer(packet.at, ack + i64::from(last_report.offered), far);
            last_report.duplicates = match kind {
                Kind::DuplicateAck => last_report.duplicates + 1,
                _ if packet.ack == last_report.ack => last_report.duplicates,
                _ => 0,
            };
            last_report.ack = packet.ack;
            last_report.at = packet.at;
            last_report.sacks = !header.options.sack.is_empty();
        }
    }

    /// Reports the contents of its own packet after it was handled.
    pub(super) fn report<P: Points>(
        &self,
        packet: &Packet<'_>,
        kind: Kind,
        theirs: &Self,
        tcp: &mut TcpWay,
        to: &mut Teller<'_, P>,
    ) {
        let Some(ack) = packet.ack else { return };
        let edge = ack + i64::from(self.last_report.offered);
        let duplicate = kind == Kind::DuplicateAck;
        to.report(packet.at, Mark::Ack { ack, edge, duplicate });
        let blocks = packet.segment.header.options.sack.as_slice();
        for (index, &(left, right)) in blocks.iter().enumerate() {
            let (left, right) = (theirs.unwrap(left), theirs.unwrap(right));
            let is_duplicate = index == 0 && is_duplicate(ack, left, right, blocks, theirs);
            tcp.sack_blocks += 1;
            tcp.dsack_blocks += u64::from(is_duplicate);
            to.report(packet.at, Mark::Sack { left, right, is_duplicate });
        }
    }

    /// Its sequence number, relative and without wrapping: the one nearest to the highest.
    pub(super) fn unwrap(&self, number: Seq32) -> i64 {
        let highest = self.highest();
        let reference = self.base.unwrap_or_default() + highest as u32;
        highest + i64::from(number.distance(reference).cast_signed())
    }

    /// The highest of its numbers that was sent or acknowledged. Of a capture of one direction
    /// only the latter advances.
    pub(super) fn highest(&self) -> i64 {
        self.una.map_or(self.next, |una| una.max(self.next))
    }
}

/// Adds a sample to a smoothed time and its deviation (RFC 6298 section 2).
fn smooth(both: &mut Option<(Duration, Duration)>, rtt: Duration) {
    *both = Some(match *both {
        None => (rtt, rtt / 2),
        Some((smoothed, deviation)) => {
            let deviation = deviation / 4 * 3 + smoothed.abs_diff(rtt) / 4;
            (smoothed / 8 * 7 + rtt / 8, deviation)
        }
    });
}

/// Returns whether the first SACK block reports a duplicate: it lies below the ACK or within the
/// second (RFC 2883 section 4).
fn is_duplicate(ack: i64, left: i64, right: i64, blocks: &[(Seq32, Seq32)], theirs: &Half) -> bool {
    let within = blocks.get(1).is_some_and(|&(outer_left, outer_right)| {
        theirs.unwrap(outer_left) <= left && right <= theirs.unwrap(outer_right)
    });
    right <= ack || within
}
