//! Departing segments.

use super::{Connection, Segment, State};
use crate::Payload;
use crate::sender::Pick;
use fairwave_units::Instant;
use fairwave_wire::ipv4::Ecn;
use fairwave_wire::tcp::{Header, SackBlocks, Timestamps};

impl<P: Payload> Connection<P> {
    /// The next segment to leave: a reset, the SYN, data, or an ACK that is due.
    pub(super) fn next_segment(&mut self, now: Instant) -> Option<Segment<P>> {
        if let Some(header) = self.reply.take() {
            self.counters.segments += 1;
            return Some(Segment { header, ecn: Ecn::NotEct, payload: P::default() });
        }
        if self.state == State::Closed || self.state == State::Listen {
            return None;
        }
        if core::mem::take(&mut self.syn.pending) {
            return Some(self.syn_segment(now));
        }
        if matches!(self.state, State::SynSent | State::SynReceived) {
            return self.pure_ack(now);
        }
        if !self.tx.may_send() {
            self.pace = None;
            return self.pure_ack(now);
        }
        let timestamp = if self.agreed.timestamps { self.clock(now) } else { 0 };
        let pick = self.tx.pick(now, timestamp);
        self.pace = self.tx.pace_deadline(now);
        match pick {
            Some(pick) => Some(self.data_segment(now, &pick)),
            None => self.pure_ack(now),
        }
    }

    fn syn_segment(&mut self, now: Instant) -> Segment<P> {
        let mut header = self.header(0);
        let answer = self.state == State::SynReceived;
        header.seq = self.iss;
        header.flags.syn = true;
        header.flags.ece = if answer { self.agreed.ecn } else { self.config.ecn };
        header.flags.cwr = self.config.ecn && !answer;
        header.window = self.rx.syn_window();
        header.options.mss = Some(self.config.mss);
        let scales = self.config.window_scaling && (!answer || self.rx.is_scaling());
        header.options.window_scale = scales.then(|| self.rx.wanted_shift());
        header.options.sack_permitted = if answer { self.agreed.sack } else { self.config.sack };
        let stamps = if answer { self.agreed.timestamps } else { self.config.timestamps };
        header.options.timestamps =
            stamps.then(|| Timestamps { value: self.clock(now), echo: self.rx.ts_recent() });
        if answer {
            header.flags.ack = true;
            header.ack = self.rx_seq(0);
        }
        self.syn.first.get_or_insert(now);
        self.syn.sent = Some(now);
        self.counters.segments += 1;
        Segment { header, ecn: Ecn::NotEct, payload: P::default() }
    }

    fn data_segment(&mut self, now: Instant, pick: &Pick) -> Segment<P> {
        let payload = self.tx.payload(pick);
        let mut header = self.header(pick.start);
        header.flags.psh = pick.payload > 0 && (pick.ends_burst || self.tx.is_last(pick));
        header.flags.fin = pick.fin;
        header.flags.cwr = pick.cwr;
        // SACK blocks would not fit beside a full payload: they get an ACK of their own.
        let owed = self.rx.wants_ack() && self.rx.has_blocks();
        self.stamp(now, &mut header, SackBlocks::default());
        if owed {
            self.rx.ack_now();
        }
        self.rx.data_was_sent(now);
        self.counters.segments += 1;
        self.counters.data_segments += 1;
        let ecn = if pick.ect { Ecn::Ect0 } else { Ecn::NotEct };
        Segment { header, ecn, payload }
    }

    fn pure_ack(&mut self, now: Instant) -> Option<Segment<P>> {
        if !self.rx.wants_ack() {
            return None;
        }
        let mut header = self.header(self.tx.next_acceptable());
        let max = match self.agreed.timestamps {
            true => SackBlocks::MAX_WITH_TIMESTAMPS,
            false => SackBlocks::MAX,
        };
        let blocks = match self.agreed.sack {
            true => self.rx.sack_blocks(self.rx_seq(0), max),
            false => SackBlocks::default(),
        };
        self.stamp(now, &mut header, blocks);
        self.counters.segments += 1;
        self.counters.acks += 1;
        Some(Segment { header, ecn: Ecn::NotEct, payload: P::default() })
    }

    /// Fills in the common fields of every segment of a synchronised connection.
    fn stamp(&mut self, now: Instant, header: &mut Header, sack: SackBlocks) {
        header.flags.ack = true;
        header.flags.ece = self.echo_marks;
        header.ack = self.rx_seq(self.rx.next());
        header.window = self.rx.acknowledge();
        header.options.sack = sack;
        if self.agreed.timestamps {
            let value = self.clock(now);
            header.options.timestamps = Some(Timestamps { value, echo: self.rx.ts_recent() });
        }
    }
}
