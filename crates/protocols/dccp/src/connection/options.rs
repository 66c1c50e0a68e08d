//! Options of packets: reads those that arrive (RFC 4340 section 5.8), adds those that are due.

use super::{Connection, Packet, State};
use crate::ccid::TICK;
use crate::ccid3::{DROPPED_PACKETS, HANDOVER};
use crate::features::{Carrier, Failure, Feature, Features, Received};
use crate::{Ccid, Payload};
use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::{Item, Kind, Options, ResetCode, Seq48, Side, Value};

/// Code and data of a Reset.
pub(super) type Refusal = (ResetCode, [u8; 3]);

impl<P: Payload> Connection<P> {
    /// Step 8 of RFC 4340 section 8.5.
    pub(super) fn read_options(&mut self, now: Instant, packet: &Packet<P>) -> Result<(), Refusal> {
        let (seq, kind) = (packet.header.seq, packet.header.kind);
        if matches!(kind, Kind::Data) {
            self.read_clock(now, &packet.options);
            return Ok(());
        }
        Self::read_negotiation(&mut self.features, seq, kind.ack(), &packet.options)?;
        self.read_clock(now, &packet.options);
        if self.state == State::Request {
            self.keep_cookies(&packet.options);
        }
        Ok(())
    }

    /// Heeds Change, Confirm and Mandatory.
    pub(super) fn read_negotiation(
        features: &mut Features,
        seq: Seq48,
        ack: Option<Seq48>,
        options: &Options,
    ) -> Result<(), Refusal> {
        let mut negotiates = false;
        for item in options.items() {
            let failed = |failure| match failure {
                Failure::Option => refusal(ResetCode::OPTION_ERROR, &item),
                Failure::Mandatory => refusal(ResetCode::MANDATORY_ERROR, &item),
            };
            let value = match item.value() {
                Ok(value) if !item.mandatory || understands(features, item.kind) => value,
                // A Mandatory with no option behind it is an error itself.
                Err(_) if item.kind == 1 => return Err(failed(Failure::Option)),
                _ if item.mandatory => return Err(failed(Failure::Mandatory)),
                _ => continue,
            };
            let (Value::Change { side, feature, values }
            | Value::Confirm { side, feature, values }) = value
            else {
                continue;
            };
            negotiates = true;
            let side = other(side);
            let mandatory = item.mandatory;
            let received = Received { seq, ack, mandatory, side, feature, values };
            let read = match value {
                Value::Change { .. } => features.on_change(&received),
                _ => features.on_confirm(&received),
            };
            read.map_err(failed)?;
        }
        if negotiates {
            features.note_packet(seq);
        }
        Ok(())
    }

    /// Remembers a Timestamp, to be returned with the next packet (RFC 4340 section 13.1).
    fn read_clock(&mut self, now: Instant, options: &Options) {
        let clock = options.values().find_map(|value| match value {
            Value::Timestamp(clock) => Some(clock),
            _ => None,
        });
        if let Some(clock) = clock {
            self.echo = Some((clock, now));
        }
    }

    /// Init Cookies of a Response are returned with every packet in PARTOPEN.
    fn keep_cookies(&mut self, options: &Options) {
        self.cookies = Options::new();
        for value in options.values().filter(|value| matches!(value, Value::InitCookie(_))) {
            // They came out of a header, so they fit one.
            let _ = self.cookies.push(value);
        }
    }

    /// Whether a Data Checksum is there, checked, and wrong (RFC 4340 section 9.3).
    pub(super) fn is_corrupt(&self, options: &Options, payload: &P) -> bool {
        let stated = options.values().find_map(|value| match value {
            Value::DataChecksum(crc) => Some(crc),
            _ => None,
        });
        stated.is_some_and(|stated| payload.crc32c().is_some_and(|crc| crc != stated))
    }

    /// Effects of the feature values in force on this end.
    pub(super) fn apply_features(&mut self, now: Instant) {
        self.numbers.window_here = self.features.value(Side::Local, Feature::SequenceWindow);
        self.numbers.window_there = self.features.value(Side::Remote, Feature::SequenceWindow);
        if self.state < State::Respond {
            return;
        }
        let ccid = |side| Ccid(self.features.value(side, Feature::Ccid) as u8);
        let (sends, receives) = (ccid(Side::Local), ccid(Side::Remote));
        if self.tx.as_ref().is_none_or(|tx| tx.ccid() != sends) {
            self.tx = self.profiles.sender(sends, now);
        }
        if let Some(tx) = &mut self.tx {
            tx.set_handovers_heeded(self.features.is_on(Side::Remote, Feature::HeedHandovers));
        }
        if self.rx.as_ref().is_none_or(|rx| rx.ccid() != receives) {
            self.rx = self.profiles.receiver(receives, now);
        }
        if let Some(rx) = &mut self.rx {
            rx.set_ack_ratio(self.features.value(Side::Remote, Feature::AckRatio) as u16);
            let sends = self.features.is_on(Side::Local, Feature::SendLossEventRate);
            rx.set_send_loss_event_rate(sends);
            rx.set_heeds_handovers(self.features.is_on(Side::Local, Feature::HeedHandovers));
        }
        for side in [Side::Local, Side::Remote] {
            self.ask_for_dependent_features(side);
        }
    }

    /// Asks once for the features that the profile of the data of one side needs.
    fn ask_for_dependent_features(&mut self, side: Side) {
        let ccid = Ccid(self.features.value(side, Feature::Ccid) as u8);
        // CCID 2 is in force while another one is negotiated. A request for Ack Vectors meanwhile
        // would contradict a client that has asked for CCID 3 without them, and Linux's resets
        // such a connection.
        let is_agreed = self.features.is_settled(side, Feature::Ccid);
        if !is_agreed || self.dependent[side as usize].replace(ccid) == Some(ccid) {
            return;
        }
        let (needs_vectors, notifies) = match (side, &self.tx) {
            (Side::Local, Some(tx)) => (tx.needs_ack_vector(), tx.notifies_handovers()),
            (Side::Local, None) => (false, false),
            // A client of Linux's with several profiles leaves this feature to the server, although
            // it sends by CCID 2.
            (Side::Remote, _) => (ccid == Ccid::TCP_LIKE && self.is_server, false),
        };
        // The end that receives owns the feature.
        let (owner, vectors) = (other(side), Feature::SendAckVector);
        if needs_vectors
            && !self.features.is_on(owner, vectors)
            && self.features.is_settled(owner, vectors)
        {
            self.features.negotiate(owner, vectors, &[1], false);
        }
        if notifies {
            self.features.negotiate(owner, Feature::HeedHandovers, &[1], false);
        }
    }

    /// Whether congestion control is there, as far as it is agreed.
    pub(super) fn has_profiles(&self) -> bool {
        let agreed = |side| self.features.is_settled(side, Feature::Ccid);
        let lacks = (agreed(Side::Local) && self.tx.is_none())
            || (agreed(Side::Remote) && self.rx.is_none());
        self.state != State::Open || !lacks
    }

    /// The options of a packet with this number and type, those of the sender's profile apart.
    pub(super) fn options(&mut self, now: Instant, seq: Seq48, kind: Kind) -> Options {
        let mut options = Options::new();
        // Whatever finds no room is optional, or comes again with a later packet.
        if self.ndp_run > 0 && self.features.is_on(Side::Local, Feature::SendNdpCount) {
            let _ = options.push(Value::NdpCount(self.ndp_run));
        }
        if self.is_slow {
            let _ = options.push(Value::SlowReceiver);
        }
        if matches!(self.state, State::PartOpen | State::Closing) && kind.ack().is_some() {
            for cookie in self.cookies.values() {
                let _ = options.push(cookie);
            }
        }
        let handshake = matches!(kind, Kind::Request { .. } | Kind::Response { .. });
        let acknowledges = matches!(kind, Kind::Ack { .. } | Kind::DataAck { .. });
        if handshake || acknowledges {
            let acknowledges = acknowledges || kind.ack().is_some();
            let rtt = self.rtt();
            let carrier = Carrier { now, seq, acknowledges, handshake, rtt };
            self.features.write(&carrier, &mut options);
        }
        if acknowledges {
            if let Some(rx) = &mut self.rx {
                rx.acknowledge(now, self.numbers.gsr, &mut options);
            }
            let with_vector = self.features.is_on(Side::Local, Feature::SendAckVector);
            self.arrivals.write(seq, with_vector, &mut options);
        }
        if let Some((echo, since)) = self.echo.take() {
            let elapsed = ticks(now.since(since));
            let _ = options.push(Value::TimestampEcho { echo, elapsed });
        }
        options
    }
}

/// The other end of the connection.
const fn other(side: Side) -> Side {
    match side {
        Side::Local => Side::Remote,
        Side::Remote => Side::Local,
    }
}

/// Whether this end processes an option of this type (RFC 4340 section 10.3): of those of
/// congestion control the types from 192 on are for the sender, the others for the receiver.
fn understands(features: &Features, kind: u8) -> bool {
    let ccid = |side| Ccid(features.value(side, Feature::Ccid) as u8);
    let is_tfrc = |side| matches!(ccid(side), Ccid::TFRC | Ccid::TFRC_SP);
    match kind {
        0..=127 => true,
        HANDOVER => is_tfrc(Side::Remote) && features.is_on(Side::Local, Feature::HeedHandovers),
        192..=194 => is_tfrc(Side::Local),
        DROPPED_PACKETS => ccid(Side::Local) == Ccid::TFRC_SP,
        _ => false,
    }
}

/// A duration in units of 10 us; the greatest stands for anything longer.
fn ticks(duration: Duration) -> u32 {
    u32::try_from(duration.as_nanos() / TICK.as_nanos()).unwrap_or(u32::MAX)
}

/// Type and first two bytes of an option (RFC 4340 section 5.6).
fn refusal(code: ResetCode, item: &Item<'_>) -> Refusal {
    let byte = |at: usize| item.data.get(at).copied().unwrap_or(0);
    (code, [item.kind, byte(0), byte(1)])
}
