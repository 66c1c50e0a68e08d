//! Detection of spells: gaps between ACKs, starvation, outages and zero windows.

use super::{Config, Half, Packet, Points, TcpWay, Teller};
use crate::analysis::{AcksLost, Evidence, Mark, SpellKind};
use fairwave_units::{Duration, Instant};

/// Number of timeouts in a row that count as starvation, however short it is.
const TIMEOUTS: u32 = 2;

impl Half {
    /// Handles an ACK: ends a gap, which began at the last ACK or when data became outstanding,
    /// whichever was later.
    pub(super) fn end_gap<P: Points>(
        &mut self,
        config: &Config,
        now: Instant,
        tcp: &mut TcpWay,
        to: &mut Teller<'_, P>,
    ) {
        let from =
            self.received_at.map_or(self.busy_since, |accepted| accepted.max(self.busy_since));
        let from = from.max(self.gaps_to);
        let length = now.since(from);
        if self.is_busy() && length >= config.ack_gap {
            self.gaps_to = now;
            tcp.ack_gaps.add(from, length);
            to.spell(SpellKind::AckGap, from, length);
        }
    }

    /// Handles an ACK that advances: ends starvation, which began at the last progress or when data
    /// became outstanding.
    pub(super) fn end_starvation<P: Points>(
        &mut self,
        config: &Config,
        now: Instant,
        tcp: &mut TcpWay,
        to: &mut Teller<'_, P>,
    ) {
        let from = self.progress_at.max(self.busy_since).max(self.starved_to);
        let length = now.since(from);
        if !self.is_busy() || length.is_zero() || !self.is_starvation(config, length, tcp) {
            return;
        }
        if tcp.unique_bytes == 0 {
            self.held = Some((from, length));
        } else if self.awaits_data() {
            self.starve(from, length, tcp, to);
        }
    }

    /// Reports starvation of the handshake once there is data: without data a connection does not
    /// starve.
    pub(in crate::analysis::tcp) fn end_held<P: Points>(
        &mut self,
        tcp: &mut TcpWay,
        to: &mut Teller<'_, P>,
    ) {
        if tcp.unique_bytes > 0
            && let Some((from, length)) = self.held.take()
        {
            self.starve(from, length, tcp, to);
        }
    }

    fn starve<P: Points>(
        &mut self,
        from: Instant,
        length: Duration,
        tcp: &mut TcpWay,
        to: &mut Teller<'_, P>,
    ) {
        self.starved_to = self.starved_to.max(from + length);
        tcp.starvation.add(from, length);
        to.spell(SpellKind::Starvation, from, length);
    }

    /// Whether data, not only a FIN, is outstanding.
    fn awaits_data(&self) -> bool {
        let data_end = self.fin_end.map_or(self.next, |end| self.next.min(end - 1));
        self.una.is_some_and(|una| una < data_end)
    }

    /// Handles a packet before which others are missing, by its IP identification. If all captured
    /// data is acknowledged, the missing packets were sent and lost in the pause before this one:
    /// the sender did have data. Nothing is inferred if the last segment was short, if the packet
    /// has no data, or unless the identifications count this connection alone or the packet repeats
    /// data: only data without an ACK at the sender is sent again.
    pub(in crate::analysis::tcp) fn end_outage<P: Points>(
        &mut self,
        config: &Config,
        packet: &Packet<'_>,
        tcp: &mut TcpWay,
        to: &mut Teller<'_, P>,
    ) {
        let from = self.next_at.max(self.starved_to);
        let length = packet.at.since(from);
        let sent_more = packet.len() > 0 && tcp.unique_bytes > 0 && !self.waits.is_short();
        let sent_more = sent_more && (packet.start < self.next || self.ids.is_own(length));
        if !sent_more || self.is_busy() || length < config.rto_min {
            return;
        }
        self.waits.outage();
        if self.is_starvation(config, length, tcp) {
            self.starve(from, length, tcp, to);
        }
    }

    fn is_starvation(&self, config: &Config, length: Duration, tcp: &TcpWay) -> bool {
        if self.timeouts_in_row >= TIMEOUTS {
            return true;
        }
        let rtt = tcp.rtt.mean().unwrap_or_default();
        length > config.starvation.max(rtt * u64::from(config.starvation_rtts))
    }

    /// Records whether this end's packet announces a window of zero. The spell counts for the other
    /// end (`theirs`), whose data must wait.
    pub(in crate::analysis::tcp) fn note_window<P: Points>(
        &mut self,
        packet: &Packet<'_>,
        theirs: &mut TcpWay,
        to: &mut Teller<'_, P>,
    ) {
        let zero = packet.segment.header.window == 0;
        match (zero, self.last_report.zero_since) {
            (true, None) if !packet.is_control() => self.last_report.zero_since = Some(packet.at),
            (false, Some(_)) => self.end_zero_window(packet.at, theirs, to),
            _ => {}
        }
    }

    fn end_zero_window<P: Points>(
        &mut self,
        now: Instant,
        theirs: &mut TcpWay,
        to: &mut Teller<'_, P>,
    ) {
        if let Some(from) = self.last_report.zero_since.take() {
            let from = from.max(self.last_report.zero_to);
            self.last_report.zero_to = now.max(from);
            theirs.zero_window_spells.add(from, now.since(from));
            to.spell(SpellKind::ZeroWindow, from, now.since(from));
        }
    }

    /// Ends open spells at the end of the stream.
    pub(in crate::analysis::tcp) fn finish<P: Points>(
        &mut self,
        config: &Config,
        now: Instant,
        far: Duration,
        [mine, theirs]: [&mut TcpWay; 2],
        mut to: Teller<'_, P>,
    ) {
        self.waits.end(now, self.unseen(far, mine), mine);
        self.end_gap(config, now, mine, &mut to);
        self.end_starvation(config, now, mine, &mut to);
        self.end_zero_window(now, theirs, &mut to.other());
        let judged = self.stride.finish();
        mine.ack_stride = judged.map(|judged| judged.stride);
        mine.acks_lost = judged.map(|judged| AcksLost { count: judged.lost, by: Evidence::Stride });
    }
}

impl<P: Points> Teller<'_, P> {
    fn spell(&mut self, kind: SpellKind, from: Instant, length: Duration) {
        self.report(from, Mark::Spell { kind, length });
    }
}
