//! Arriving packets, in the steps of RFC 4340 section 8.5.

use super::{Connection, Control, DEFAULT_RTT, Event, Packet, State};
use crate::Payload;
use crate::ccid::{Arrived, Feedback, elapsed};
use crate::features::Feature;
use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::{DropCode, Header, Kind, ResetCode, Seq48, Side};

impl<P: Payload> Connection<P> {
    pub(super) fn on_packet(&mut self, now: Instant, mut packet: Packet<P>) {
        if !self.is_addressed(&packet) {
            return;
        }
        let goes_on = match self.state {
            // Step 2.
            State::Closed | State::TimeWait => {
                self.refuse(&packet, ResetCode::NO_CONNECTION);
                false
            }
            State::Listen => self.on_listening(now, &packet),
            State::Request => self.on_request_sent(&packet),
            _ => true,
        };
        if goes_on && self.is_valid(now, &mut packet) && self.is_expected(now, &packet) {
            self.process(now, packet);
        }
    }

    fn is_addressed(&self, packet: &Packet<P>) -> bool {
        let header = &packet.header;
        let from = self.config.remote_port;
        header.destination_port == self.config.local_port
            && (from == 0 || header.source_port == from)
    }

    /// Steps 5 and 6: numbers, which are made long.
    fn is_valid(&mut self, now: Instant, packet: &mut Packet<P>) -> bool {
        let header = &mut packet.header;
        if header.short {
            if !self.features.is_on(Side::Remote, Feature::AllowShortSeqnos) {
                return false;
            }
            header.seq = header.seq.extended(self.numbers.gsr);
            if let Some(ack) = header.kind.ack() {
                header.kind = header.kind.with_ack(ack.extended(self.numbers.gss));
            }
        }
        let (seq, kind) = (header.seq, header.kind);
        let active_until = self.rtt().unwrap_or(DEFAULT_RTT) * 3;
        let active = self.last_received.is_some_and(|at| now.since(at) <= active_until);
        if self.numbers.is_valid(seq, kind, active) {
            self.numbers.receive(seq);
            if let Some(ack) = kind.ack().filter(|_| !matches!(kind, Kind::Sync { .. })) {
                self.numbers.gar = self.numbers.gar.max(ack);
            }
            self.last_received = Some(now);
            return true;
        }
        self.stats.invalid += 1;
        match kind {
            Kind::Sync { .. } | Kind::SyncAck { .. } => {}
            Kind::Reset { .. } => self.sync(now, self.numbers.gsr),
            _ => self.sync(now, seq),
        }
        false
    }

    /// Sends a Sync, but not too many (RFC 4340 section 7.5.4).
    fn sync(&mut self, now: Instant, ack: Seq48) {
        let (since, sent) = match self.syncs {
            Some((since, sent)) if now.since(since) < Duration::from_secs(1) => (since, sent),
            _ => (now, 0),
        };
        if sent < self.config.syncs_a_second {
            self.syncs = Some((since, sent + 1));
            self.push_control(Control::Sync { ack });
        }
    }

    /// Step 7: types that do not come in this state.
    fn is_expected(&mut self, now: Instant, packet: &Packet<P>) -> bool {
        let (seq, kind) = (packet.header.seq, packet.header.kind);
        let opened = self.state >= State::Open && !seq.before(self.numbers.osr);
        let unexpected = match kind {
            Kind::CloseReq { .. } => self.is_server,
            Kind::Response { .. } => self.is_server || opened,
            Kind::Request { .. } => !self.is_server || opened,
            Kind::Data => self.state == State::Respond,
            _ => false,
        };
        if unexpected {
            self.sync(now, seq);
        }
        !unexpected
    }

    /// Steps 8 to 16.
    fn process(&mut self, now: Instant, packet: Packet<P>) {
        let (seq, kind) = (packet.header.seq, packet.header.kind);
        if !self.arrivals.take(seq, packet.ecn) {
            self.stats.duplicates += 1;
            return;
        }
        self.stats.packets_received += 1;
        if let Err((code, data)) = self.read_options(now, &packet) {
            self.reset(code, data, Event::Failed { code });
            return;
        }
        if let Kind::Reset { code, data, .. } = kind {
            self.on_reset(now, code, data);
            return;
        }
        match (self.state, kind) {
            (State::Request, _) => self.on_response(now),
            (State::Respond, Kind::Request { .. }) => self.push_control(Control::Response),
            (State::PartOpen, Kind::Response { .. }) => self.retry = true,
            (State::PartOpen, Kind::Sync { .. }) => {}
            (State::Respond | State::PartOpen, _) => self.become_open(&packet),
            _ => {}
        }
        self.apply_features(now);
        if !self.has_profiles() {
            let code = ResetCode::OPTION_ERROR;
            self.reset(code, [0; 3], Event::Failed { code });
            return;
        }
        self.report_to_ccids(now, &packet);
        match kind {
            Kind::CloseReq { .. } if self.state < State::CloseReq => {
                self.begin_close(now, State::Closing);
            }
            Kind::Close { .. } => self.on_close(),
            Kind::Sync { .. } => self.push_control(Control::SyncAck { ack: seq }),
            Kind::SyncAck { ack } => {
                if let Some(path) = &mut self.path {
                    path.on_answer(now, ack);
                }
            }
            _ => self.deliver(packet),
        }
    }

    /// Information of a packet for congestion control.
    fn report_to_ccids(&mut self, now: Instant, packet: &Packet<P>) {
        let header = &packet.header;
        let data = packet.payload.as_ref().filter(|_| header.kind.is_data_packet());
        let arrived = Arrived {
            seq: header.seq,
            kind: header.kind,
            data: data.map(Payload::len),
            wire_len: packet.wire_len(),
            ccval: header.ccval,
            ecn: packet.ecn,
            options: &packet.options,
        };
        if let Some(rx) = &mut self.rx {
            rx.on_packet(now, &arrived);
        }
        if let Some(tx) = &mut self.tx {
            tx.on_arrival(now, &arrived);
        }
        let Some(ack) = header.kind.ack() else { return };
        // A Sync may acknowledge what was not processed (RFC 4340 section 5.7).
        if matches!(header.kind, Kind::Sync { .. }) {
            return;
        }
        self.arrivals.on_acknowledged(ack);
        self.widen_window();
        let requested_at = self.requested_at.take();
        if let Some(tx) = &mut self.tx {
            // The sender did not exist when the Request was sent. It knows later packets itself.
            if let Some(at) = requested_at {
                let kept = elapsed(&packet.options).unwrap_or(Duration::ZERO);
                tx.on_handshake_rtt(now, now.since(at).saturating_sub(kept));
            }
            let Packet { ecn, options, .. } = packet;
            let (seq, kind) = (header.seq, header.kind);
            tx.on_feedback(now, &Feedback { seq, kind, ack, ecn: *ecn, options });
        }
        self.state_wanted_ack_ratio();
    }

    /// States the Ack Ratio that congestion control wants.
    pub(super) fn state_wanted_ack_ratio(&mut self) {
        if let Some(ratio) = self.tx.as_ref().and_then(|tx| tx.ack_ratio()) {
            self.features.state(Feature::AckRatio, ratio.into());
        }
    }

    /// Keeps this end's Sequence Window at five times the packets in flight (RFC 4340 section
    /// 7.5.2).
    fn widen_window(&mut self) {
        let under_way = self.numbers.gss.distance(self.numbers.gar);
        let enough = under_way.saturating_mul(5).min(self.config.sequence_window_max);
        if enough > self.numbers.window_here {
            let window = enough.next_power_of_two().min(self.config.sequence_window_max);
            self.features.state(Feature::SequenceWindow, window);
        }
    }

    /// Step 16: application data, unless something stands against it.
    fn deliver(&mut self, packet: Packet<P>) {
        let header = packet.header;
        let Some(payload) = packet.payload.filter(|_| header.kind.is_data_packet()) else { return };
        let corrupt = self.is_corrupt(&packet.options, &payload);
        let dropped = if !self.accepts(&header) {
            Some(DropCode::PROTOCOL)
        } else if self.close_by.is_some() || self.state > State::Open {
            Some(DropCode::NOT_LISTENING)
        } else if corrupt && !self.config.deliver_corrupt {
            Some(DropCode::CORRUPT)
        } else if self.received >= self.config.receive_queue {
            Some(DropCode::RECEIVE_BUFFER)
        } else {
            None
        };
        if let Some(code) = dropped.or(corrupt.then_some(DropCode::DELIVERED_CORRUPT)) {
            self.arrivals.note_dropped(header.seq, code);
        }
        if dropped.is_none() {
            self.stats.data_packets_delivered += 1;
            self.stats.data_bytes_delivered += u64::from(payload.len());
            self.received += 1;
            self.events.push_back(Event::Data { seq: header.seq, payload, corrupt });
        }
    }

    /// Whether the protocol lets data on this packet in: not on a Request or Response, of which
    /// there may be several (RFC 4340 section 8.1.3), not with too little coverage (9.2.1), and not
    /// before the other end knows that this one cannot read ECN fields (12.1).
    fn accepts(&self, header: &Header) -> bool {
        let in_handshake = matches!(header.kind, Kind::Request { .. } | Kind::Response { .. });
        let minimum = self.features.value(Side::Local, Feature::MinimumChecksumCoverage);
        let coverage = u64::from(header.coverage);
        let covered = coverage == 0 || (minimum > 0 && coverage >= minimum);
        let ecn = self.config.ecn || self.features.is_on(Side::Local, Feature::EcnIncapable);
        !in_handshake && covered && ecn
    }
}
