//! Handshake (RFC 4340 section 8.1): Request, Response, and the acknowledgement of it.

use super::{Connection, Event, Packet, State};
use crate::features::{Feature, Features};
use crate::{Ccid, Payload};
use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::{Kind, Options, ResetCode, Side};

/// First wait of a client in PARTOPEN (RFC 4340 section 8.1.5).
const PART_OPEN_FIRST: Duration = Duration::from_millis(200);

/// The service code that no service has (RFC 4340 section 8.1.2).
const INVALID_SERVICE: u32 = u32::MAX;

impl<P: Payload> Connection<P> {
    pub(super) fn open(&mut self, now: Instant) {
        if self.state != State::Closed || self.used {
            return;
        }
        self.used = true;
        self.features = self.own_features(false);
        self.state = State::Request;
        self.retry = true;
        self.give_up_at = Some(now + self.config.give_up);
    }

    pub(super) fn listen(&mut self) {
        if self.state != State::Closed || self.used {
            return;
        }
        self.used = true;
        self.is_server = true;
        self.features = self.own_features(true);
        self.state = State::Listen;
    }

    /// Features with the wishes of the configuration.
    pub(super) fn own_features(&self, is_server: bool) -> Features {
        use Feature as F;
        use Side::{Local, Remote};
        let config = &self.config;
        let mut features = Features::new(is_server);
        for (side, ccids) in [(Local, &config.send_ccids), (Remote, &config.receive_ccids)] {
            let list: Vec<u8> = ccids.iter().map(|ccid| ccid.0).collect();
            if list == [Ccid::TCP_LIKE.0] {
                features.prefer(side, F::Ccid, &list);
            } else {
                // CCID 2 is in force until another is agreed: it must be, if 2 will not do.
                let mandatory = !ccids.contains(&Ccid::TCP_LIKE);
                features.negotiate(side, F::Ccid, &list, mandatory);
            }
        }
        if config.send_ccids.contains(&Ccid::TCP_LIKE) {
            features.negotiate(Remote, F::SendAckVector, &[1], false);
        }
        if config.sequence_window != F::SequenceWindow.initial() {
            features.state(F::SequenceWindow, config.sequence_window);
        }
        if config.short_seqnos {
            features.negotiate(Local, F::AllowShortSeqnos, &[1, 0], false);
        }
        if !config.ecn {
            features.negotiate(Local, F::EcnIncapable, &[1], true);
        }
        if config.ask_ndp_count {
            features.negotiate(Remote, F::SendNdpCount, &[1], false);
        }
        if config.data_checksum {
            features.negotiate(Remote, F::CheckDataChecksum, &[1], true);
        }
        // Who takes little takes more, and everything.
        let acceptable: Vec<u8> = match config.minimum_coverage {
            0 => vec![0],
            min => (min..=15).chain([0]).collect(),
        };
        features.prefer(Local, F::MinimumChecksumCoverage, &acceptable);
        if config.coverage > 0 {
            features.negotiate(Remote, F::MinimumChecksumCoverage, &[config.coverage, 0], false);
        }
        features
    }

    /// RFC 4340 section 8.5, step 3. True if the packet continues to the steps of RESPOND.
    pub(super) fn on_listening(&mut self, now: Instant, packet: &Packet<P>) -> bool {
        let header = packet.header;
        let service = match header.kind {
            Kind::Request { service } => service,
            _ if self.config.cookie.is_some() => return self.on_cookie(now, packet),
            _ => {
                self.refuse(packet, ResetCode::NO_CONNECTION);
                return false;
            }
        };
        if service != self.config.service || service == INVALID_SERVICE {
            self.refuse(packet, ResetCode::BAD_SERVICE_CODE);
            return false;
        }
        if self.config.cookie.is_some() {
            self.respond_without_state(now, packet);
            return false;
        }
        self.accept(now, packet);
        true
    }

    /// Leaves LISTEN for RESPOND.
    pub(super) fn accept(&mut self, now: Instant, packet: &Packet<P>) {
        self.config.remote_port = packet.header.source_port;
        self.numbers.begin(packet.header.seq);
        self.state = State::Respond;
        self.give_up_at = Some(now + self.config.max_segment_lifetime * 4);
    }

    /// RFC 4340 section 8.5, step 4. True if the packet continues.
    pub(super) fn on_request_sent(&mut self, packet: &Packet<P>) -> bool {
        let header = packet.header;
        let answers = matches!(header.kind, Kind::Response { .. } | Kind::Reset { .. })
            && header.kind.ack().is_some_and(|ack| self.numbers.acknowledges(ack));
        let is_ours = match header.kind {
            Kind::Response { service, .. } => service == self.config.service,
            _ => true,
        };
        if answers && is_ours {
            self.numbers.begin(header.seq);
            // A Reset is valid above GSR only, and this one is the first packet.
            self.numbers.gsr = header.seq - 1;
            return true;
        }
        // With the number that the packet asks for: one of this end's own would not be believed by
        // an end that remembers an older connection (section 7.5.4).
        self.refuse_with(packet, ResetCode::PACKET_ERROR, [header.kind.number(), 0, 0]);
        false
    }

    /// RFC 4340 section 8.5, step 10: the Response came.
    pub(super) fn on_response(&mut self, now: Instant) {
        self.state = State::PartOpen;
        self.retry = true;
        self.retry_at = None;
        self.retry_after = PART_OPEN_FIRST;
        self.give_up_at = Some(now + self.config.max_segment_lifetime * 4);
        self.events.push_back(Event::Established);
    }

    /// RFC 4340 section 8.5, steps 11 and 12: the first packet that shows that the handshake is
    /// complete.
    pub(super) fn become_open(&mut self, packet: &Packet<P>) {
        if self.state == State::Respond {
            self.events.push_back(Event::Established);
        }
        self.numbers.osr = packet.header.seq;
        self.state = State::Open;
        self.retry = false;
        self.retry_at = None;
        self.give_up_at = None;
        self.cookies = Options::new();
    }

    /// Nothing has happened for too long (RFC 4340 sections 8.1.1, 8.1.3 and 8.1.5).
    pub(super) fn give_up(&mut self) {
        self.reset(ResetCode::ABORTED, [0; 3], Event::TimedOut);
    }
}
