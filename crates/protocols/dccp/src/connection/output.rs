//! Output: control packets first, then data as congestion control lets them, then acknowledgements.

use super::{Connection, Control, DEFAULT_RTT, Packet, State};
use crate::ccid::{Permit, Sent};
use crate::features::Feature;
use crate::{Payload, Unsent};
use fairwave_units::Instant;
use fairwave_wire::dccp::{Header, Kind, Options, Side, Value};
use fairwave_wire::ipv4::Ecn;

/// Header of a DataAck without options in bytes.
const DATA_ACK_LEN: u32 = 24;

impl<P: Payload> Connection<P> {
    pub(super) fn next_packet(&mut self, now: Instant) -> Option<Packet<P>> {
        if let Some(tx) = &mut self.tx {
            tx.act(now);
        }
        if let Some(control) = self.control.pop_front() {
            return Some(self.control_packet(now, control));
        }
        self.close_if_drained(now);
        if self.retry {
            self.arm_retry(now);
            return self.repeated(now);
        }
        if !matches!(self.state, State::PartOpen | State::Open) {
            return None;
        }
        if let Some(probe) = self.next_probe(now) {
            return Some(probe);
        }
        if let Some(packet) = self.next_data(now) {
            return Some(packet);
        }
        self.close_if_drained(now);
        if self.retry {
            self.arm_retry(now);
            return self.repeated(now);
        }
        let due = self.rx.as_ref().is_some_and(|rx| rx.is_due(now))
            || self.tx.as_ref().is_some_and(|tx| tx.is_due())
            || self.features.is_due(now);
        if due {
            return Some(self.emit(now, Kind::Ack { ack: self.numbers.gsr }, None));
        }
        let is_silent = self.silent_at().is_some_and(|at| now >= at);
        is_silent.then(|| self.control_packet(now, Control::Sync { ack: self.numbers.gsr }))
    }

    /// A probe of the path: a Sync with padding.
    fn next_probe(&mut self, now: Instant) -> Option<Packet<P>> {
        // Before the server's first packet, too, which may be feedback on data that get lost.
        let may_probe = matches!(self.state, State::PartOpen | State::Open);
        let path = self.path.as_mut().filter(|_| may_probe)?;
        let size = path.probe_size(now)?;
        let mut packet = self.control_packet(now, Control::Sync { ack: self.numbers.gsr });
        let padding = size.saturating_sub(packet.wire_len());
        packet.payload = P::padding(padding).filter(|_| padding > 0);
        let (seq, rtt) = (self.numbers.gss, self.rtt().unwrap_or(DEFAULT_RTT));
        if let Some(path) = &mut self.path {
            path.note_probe(now, seq, size, rtt);
        }
        Some(packet)
    }

    /// Packet of the retry timer.
    fn repeated(&mut self, now: Instant) -> Option<Packet<P>> {
        let ack = self.numbers.gsr;
        let kind = match self.state {
            State::Request => {
                let is_first = self.numbers.gss.before(self.numbers.iss);
                self.requested_at = is_first.then_some(now);
                Kind::Request { service: self.config.service }
            }
            State::PartOpen => Kind::Ack { ack },
            State::CloseReq => Kind::CloseReq { ack },
            State::Closing => Kind::Close { ack },
            _ => return None,
        };
        Some(self.emit(now, kind, None))
    }

    fn control_packet(&mut self, now: Instant, control: Control) -> Packet<P> {
        let kind = match control {
            Control::Stray(header, options) => {
                self.stats.packets_sent += 1;
                return Packet { header, options, ecn: Ecn::NotEct, payload: None };
            }
            Control::Response => {
                Kind::Response { ack: self.numbers.gsr, service: self.config.service }
            }
            Control::Sync { ack } => {
                self.stats.syncs_sent += 1;
                Kind::Sync { ack }
            }
            Control::SyncAck { ack } => Kind::SyncAck { ack },
            Control::Reset { ack, code, data } => Kind::Reset { ack, code, data },
        };
        self.emit(now, kind, None)
    }

    /// The next datagram of the application, if it may go.
    fn next_data(&mut self, now: Instant) -> Option<Packet<P>> {
        self.pace = None;
        self.expire_queue(now);
        self.drop_too_long(now);
        let bytes = self.queue.next_len()?;
        if !self.may_send_data() {
            return None;
        }
        match self.tx.as_mut()?.permit(now, bytes) {
            Permit::Now => {}
            Permit::At(at) if at <= now => {}
            Permit::At(at) => {
                self.pace = Some(at);
                return None;
            }
            Permit::Wait => return None,
        }
        let payload = self.queue.pop()?;
        let acknowledges = self.state == State::PartOpen
            || self.features.is_due(now)
            || self.rx.as_ref().is_some_and(|rx| rx.is_due(now))
            || self.tx.as_ref().is_some_and(|tx| tx.wants_to_acknowledge());
        let ack = self.numbers.gsr;
        let kind = if acknowledges { Kind::DataAck { ack } } else { Kind::Data };
        Some(self.emit(now, kind, Some(payload)))
    }

    /// Drops data that would be lost, as nobody fragments them on the way.
    fn drop_too_long(&mut self, now: Instant) {
        let Some(path) = self.path.as_mut().filter(|_| !self.config.is_fragmented) else { return };
        let mut dropped = Vec::new();
        while let Some(size) = self.queue.next_len().map(|bytes| bytes + DATA_ACK_LEN)
            && path.is_too_long(size)
        {
            path.note_sent(now, size);
            dropped.extend(self.queue.pop());
        }
        dropped.into_iter().for_each(|payload| self.unsent(payload, Unsent::TooLong));
    }

    /// Whether the features that data depend on are agreed.
    fn may_send_data(&self) -> bool {
        let needs_vector = self.tx.as_ref().is_some_and(|tx| tx.needs_ack_vector());
        let settled = |side, feature| self.features.is_settled(side, feature);
        let has_vector = self.features.is_on(Side::Remote, Feature::SendAckVector);
        settled(Side::Local, Feature::Ccid) && (has_vector || !needs_vector)
    }

    /// Sends a packet with the next number.
    fn emit(&mut self, now: Instant, kind: Kind, payload: Option<P>) -> Packet<P> {
        let seq = self.numbers.send();
        let mut options = self.options(now, seq, kind);
        let (mut ccval, mut coverage) = (0, 0);
        if let Some(tx) = self.tx.as_mut().filter(|_| may_carry(kind)) {
            tx.options(now, &mut options);
        }
        if let Some(payload) = &payload {
            if let Some(tx) = &mut self.tx {
                ccval = tx.ccval(now);
            }
            coverage = self.coverage_of(payload);
            if let Some(crc) = payload.crc32c().filter(|_| self.config.data_checksum) {
                let _ = options.push(Value::DataChecksum(crc));
            }
        }
        let short = kind.may_be_short()
            && self.state == State::Open
            && self.features.is_on(Side::Local, Feature::AllowShortSeqnos);
        let header = self.header(kind, short, ccval, coverage, &options);
        let ecn = self.ecn(kind);
        let packet = Packet { header, options, ecn, payload };
        self.note_sent(now, &packet);
        packet
    }

    fn header(
        &self,
        kind: Kind,
        short: bool,
        ccval: u8,
        coverage: u8,
        options: &Options,
    ) -> Header {
        let cut = |number: fairwave_wire::dccp::Seq48| if short { number.low() } else { number };
        Header {
            source_port: self.config.local_port,
            destination_port: self.config.remote_port,
            ccval,
            coverage,
            seq: cut(self.numbers.gss),
            short,
            kind: kind.ack().map_or(kind, |ack| kind.with_ack(cut(ack))),
            options_words: options.words(),
        }
    }

    /// The coverage of data, where the other end takes less than all (RFC 4340 section 9.2.1).
    fn coverage_of(&self, payload: &P) -> u8 {
        let wanted = self.config.coverage;
        let min = self.features.value(Side::Remote, Feature::MinimumChecksumCoverage);
        let accepted = min > 0 && u64::from(wanted) >= min;
        let possible = wanted > 0 && u32::from(wanted - 1) * 4 <= payload.len();
        if accepted && possible { wanted } else { 0 }
    }

    /// RFC 4340 section 12: capable, unless this end does not want it or the other one cannot
    /// read it. The nonce is not sent: RFC 8311 made it historic.
    fn ecn(&self, kind: Kind) -> Ecn {
        let known = self.state >= State::PartOpen && !matches!(kind, Kind::Reset { .. });
        let incapable = self.features.is_on(Side::Remote, Feature::EcnIncapable);
        if self.config.ecn && known && !incapable { Ecn::Ect0 } else { Ecn::NotEct }
    }

    /// Memory of a packet sent.
    fn note_sent(&mut self, now: Instant, packet: &Packet<P>) {
        let kind = packet.header.kind;
        self.ndp_run = if kind.is_data_packet() { 0 } else { self.ndp_run + 1 };
        self.stats.packets_sent += 1;
        self.last_sent = now;
        let data = packet.payload.as_ref().map(Payload::len);
        if let Some(bytes) = data {
            self.stats.data_packets_sent += 1;
            self.stats.data_bytes_sent += u64::from(bytes);
            if let Some(path) = &mut self.path {
                path.note_sent(now, packet.wire_len());
            }
        }
        if let Some(tx) = &mut self.tx {
            let (seq, wire_len, ecn) = (self.numbers.gss, packet.wire_len(), packet.ecn);
            let more = !self.queue.is_empty();
            tx.on_sent(now, &Sent { seq, data, wire_len, ecn, more });
        }
    }
}

/// Whether a packet carries options of the sender's profile.
const fn may_carry(kind: Kind) -> bool {
    matches!(kind, Kind::Data | Kind::DataAck { .. } | Kind::Ack { .. })
}
