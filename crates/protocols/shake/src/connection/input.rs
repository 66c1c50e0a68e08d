//! Arriving messages, and writes of the application.

use super::{Connection, Control, Event, Phase, Segment};
use crate::path::{Path, State};
use crate::receiver::Arrival;
use fairwave_tcp::{Payload, Store};
use fairwave_units::Instant;
use fairwave_wire::shake::{Body, Data, Echo, Header, Reason, Side};

impl<P: Payload> Connection<P> {
    pub(super) fn write(&mut self, data: &P) {
        let taken = data.len().min(self.send_space());
        self.stats.refused.unwritten += u64::from(data.len() - taken);
        self.written += u64::from(taken);
        if taken > 0 {
            self.store.push(data.slice(0, taken));
        }
        self.writable_wanted = self.send_space() == 0;
    }

    /// A message of the peer, or of another host with the key.
    pub(super) fn take(&mut self, now: Instant, segment: Segment<P>) {
        let Segment { header, payload } = segment;
        let Some(path) = self.admit(&header) else { return };
        match header.body {
            Body::Join(join) => self.take_join(now, path, &header, &join),
            Body::Challenge(challenge) => {
                self.take_challenge(path, header.number.get(), &challenge);
            }
            Body::Response { answers } => self.take_response(path, answers),
            Body::Leave(leave) => self.take_leave(path, leave),
            Body::Left(leave) => self.take_left(leave),
            Body::Reset { reason } => self.reset(reason, true),
            Body::Data(_) | Body::Ack(_) if !self.is_answered(path) => {
                self.stats.refused.unanswered += 1;
                match self.paths[path].life.state() {
                    State::Challenged { .. } => self.control.push_back(Control::Challenge(path)),
                    // The peer takes it for answered, and does not know that it was left.
                    State::Leaving { .. } | State::Left => {
                        self.control.push_back(Control::Leave(path));
                    }
                    _ => {}
                }
            }
            Body::Data(data) => {
                self.paths[path].life.confirm();
                let echo = Echo { number: header.number, sent_us: header.sent_us };
                self.take_data(path, echo, data, &payload);
            }
            Body::Ack(ack) => {
                self.paths[path].life.confirm();
                self.take_ack(now, path, header.number.get(), &ack);
            }
        }
    }

    /// The path of a message that belongs here and is new.
    fn admit(&mut self, header: &Header) -> Option<usize> {
        if header.connection != self.id || header.from == self.side {
            self.stats.refused.foreign += 1;
            return None;
        }
        if let Phase::Reset { reason, reported } = self.phase {
            self.answer_with_reset(header, reason, reported);
            return None;
        }
        let path = self.index_of(header.path).or_else(|| self.accept_path(header));
        let Some(path) = path else {
            if let Body::Reset { reason } = header.body {
                // The paths that both ends know may be gone. An old one does no harm: whoever sent
                // it is over.
                self.reset(reason, true);
                return None;
            }
            self.stats.refused.unknown_path += 1;
            return None;
        };
        if !self.paths[path].life.admit(header.number) {
            self.stats.refused.replayed += 1;
            return None;
        }
        Some(path)
    }

    /// The peer may have missed that the connection is over.
    fn answer_with_reset(&mut self, header: &Header, reason: Reason, reported: bool) {
        if reported || matches!(header.body, Body::Reset { .. }) {
            return;
        }
        let Some(path) = self.path_for_reset(header.path) else { return };
        if self.paths[path].life.admit(header.number) {
            self.control.push_back(Control::Reset { path, reason });
        }
    }

    /// Sends the reset of this end again on a path.
    pub(super) fn repeat_reset(&mut self, id: u8) {
        let Phase::Reset { reason, reported: false } = self.phase else { return };
        if let Some(path) = self.path_for_reset(id) {
            self.control.push_back(Control::Reset { path, reason });
        }
    }

    /// Index of a path for a reset, which needs no join.
    fn path_for_reset(&mut self, id: u8) -> Option<usize> {
        let known = self.index_of(id);
        if known.is_none() && self.paths.len() < self.config.max_paths {
            self.paths.push(Path::new(id, State::Left, None, &self.config));
            return Some(self.paths.len() - 1);
        }
        known
    }

    /// A new path for a join that comes to the acceptor, if there may be one more.
    fn accept_path(&mut self, header: &Header) -> Option<usize> {
        let Body::Join(join) = &header.body else { return None };
        let may_join = join.open || self.phase == Phase::Open;
        if self.side == Side::Opener || self.paths.len() >= self.config.max_paths || !may_join {
            return None;
        }
        // Until the join is handled it has been challenged with a nonce that nobody was told.
        let state = State::Challenged { nonce: self.nonces.next_u64(), tries: 0, retry_at: None };
        self.paths.push(Path::new(header.path, state, None, &self.config));
        Some(self.paths.len() - 1)
    }

    /// Whether messages on this path are accepted: the peer has confirmed it, now or once.
    fn is_answered(&self, path: usize) -> bool {
        let state = self.paths[path].life.state();
        match self.phase {
            Phase::Opening => false,
            Phase::Open => !matches!(state, State::Joining { .. } | State::Challenged { .. }),
            // The peer may lack the last acknowledgement.
            Phase::Closed | Phase::Reset { .. } => true,
        }
    }

    fn take_data(&mut self, path: usize, echo: Echo, data: Data, payload: &P) {
        self.stats.received += 1;
        self.last_arrival = path;
        match self.receiver.take(data.seq, payload, data.fin) {
            Arrival::Fine { is_readable } => self.report_readable(is_readable),
            Arrival::Beyond => self.stats.refused.beyond_window += 1,
            Arrival::Contradiction => {
                self.stats.refused.contradiction += 1;
                return;
            }
            Arrival::NoRoom => {
                self.stats.refused.no_room += 1;
                return;
            }
            Arrival::Unread => {
                self.reset(Reason::NotReading, false);
                return;
            }
        }
        if self.paths[path].life.is_left() && self.phase == Phase::Open {
            // The peer does not know yet.
            self.control.push_back(Control::Leave(path));
        } else {
            self.control.push_back(Control::Ack { path, echo: Some(echo) });
        }
        self.close_if_done();
    }

    fn report_readable(&mut self, is_readable: bool) {
        if is_readable && !self.readable_reported && self.receiver.readable() > 0 {
            self.readable_reported = true;
            self.report(Event::Readable);
        }
        if self.receiver.is_finished() && !self.finished_reported {
            self.finished_reported = true;
            self.report(Event::Finished);
        }
    }
}
