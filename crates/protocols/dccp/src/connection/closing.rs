//! Termination (RFC 4340 section 8.3), and resets.

use super::{Connection, Control, DEFAULT_RTT, Event, Packet, State};
use crate::{Payload, Unsent};
use fairwave_units::Instant;
use fairwave_wire::dccp::{Header, Kind, Options, ResetCode, Seq48};

impl<P: Payload> Connection<P> {
    pub(super) fn close(&mut self, now: Instant) {
        match self.state {
            State::Closed | State::CloseReq | State::Closing | State::TimeWait => {}
            State::Listen => self.end(Event::Closed),
            State::Request | State::Respond => {
                self.reset(ResetCode::ABORTED, [0; 3], Event::Closed);
            }
            State::PartOpen | State::Open => {
                self.close_by.get_or_insert(now + self.config.linger);
            }
        }
    }

    pub(super) fn abort(&mut self, code: ResetCode) {
        match self.state {
            State::Closed | State::TimeWait => {}
            State::Listen => self.end(Event::Closed),
            _ => self.reset(code, [0; 3], Event::Closed),
        }
    }

    /// Begins the closing handshake once the application's data are out, or its time is up.
    pub(super) fn close_if_drained(&mut self, now: Instant) {
        let Some(by) = self.close_by else { return };
        if !matches!(self.state, State::PartOpen | State::Open) {
            return;
        }
        if self.queue.is_empty() || now >= by {
            let state = if self.is_server { State::CloseReq } else { State::Closing };
            self.begin_close(now, state);
        }
    }

    /// Enters CLOSEREQ or CLOSING.
    pub(super) fn begin_close(&mut self, now: Instant, state: State) {
        self.state = state;
        self.drop_queue();
        self.retry = true;
        self.retry_at = None;
        self.retry_after = self.rtt().unwrap_or(DEFAULT_RTT) * 2;
        self.give_up_at = Some(now + self.config.give_up);
    }

    pub(super) fn drop_queue(&mut self) {
        while let Some(payload) = self.queue.pop() {
            self.unsent(payload, Unsent::Closed);
        }
    }

    /// Tears down with a Reset and reports `event`.
    pub(super) fn reset(&mut self, code: ResetCode, data: [u8; 3], event: Event<P>) {
        // Without a number of the other end, zero (RFC 4340 section 8.1.1). A Response that is
        // refused has one.
        let ack = self.last_received.map_or(Seq48::ZERO, |_| self.numbers.gsr);
        self.end(event);
        self.push_control(Control::Reset { ack, code, data });
    }

    /// RFC 4340 section 8.5, step 9.
    pub(super) fn on_reset(&mut self, now: Instant, code: ResetCode, data: [u8; 3]) {
        let good = code == ResetCode::CLOSED && self.state == State::Closing;
        self.end(if good { Event::Closed } else { Event::Reset { code, data } });
        self.state = State::TimeWait;
        self.time_wait = Some(now + self.config.max_segment_lifetime * 2);
    }

    /// RFC 4340 section 8.5, step 14.
    pub(super) fn on_close(&mut self) {
        self.reset(ResetCode::CLOSED, [0; 3], Event::Closed);
    }

    /// Enters CLOSED for good.
    pub(super) fn end(&mut self, event: Event<P>) {
        self.state = State::Closed;
        self.drop_queue();
        self.control.clear();
        self.retry = false;
        self.retry_at = None;
        self.give_up_at = None;
        self.close_by = None;
        self.pace = None;
        self.events.push_back(event);
    }

    /// Answers a packet that belongs to no connection (RFC 4340 section 8.3.1).
    pub(super) fn refuse(&mut self, packet: &Packet<P>, code: ResetCode) {
        self.refuse_with(packet, code, [0; 3]);
    }

    pub(super) fn refuse_with(&mut self, packet: &Packet<P>, code: ResetCode, data: [u8; 3]) {
        let header = packet.header;
        if matches!(header.kind, Kind::Reset { .. }) {
            return;
        }
        let kind = Kind::Reset { ack: header.seq, code, data };
        let header = Header {
            source_port: header.destination_port,
            destination_port: header.source_port,
            ccval: 0,
            coverage: 0,
            seq: header.kind.ack().map_or(Seq48::ZERO, |ack| ack + 1),
            short: false,
            kind,
            options_words: 0,
        };
        self.push_control(Control::Stray(header, Options::new()));
    }
}
