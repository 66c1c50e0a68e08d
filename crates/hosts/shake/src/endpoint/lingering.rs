//! Streams that are over, and stay for a while: their peer may have missed the last message.

use super::carrier::Carrier;
use super::event::Event;
use super::route::Transmit;
use super::session::{Repeated, Session, Waiting, reset_header};
use fairwave_machine::Machine;
use fairwave_shake::Input;
use fairwave_units::{Duration, Instant};
use fairwave_wire::shake::Reason;
use fairwave_wire::shake::record::Frame;

/// Time for which a stream that is over answers a peer that missed its last acknowledgement, and
/// for which resets are repeated.
const LINGER: Duration = Duration::from_secs(10);
/// Minimum number of times that a reset is repeated, and minimum time between two of them on a
/// path: datagrams make their senders ask often.
const REPEATS: u32 = 8;
const REPEAT_AFTER: Duration = Duration::from_millis(500);

impl Session {
    /// The application has no use for a stream any more: bytes already written are still delivered.
    pub(super) fn release(&mut self, now: Instant, slot: usize) {
        let Some(stream) = self.streams.get_mut(slot) else { return };
        stream.is_released = true;
        stream.carrier.release(now);
        self.touch(slot);
    }

    /// Takes the events of a drained stream, and enters its deadline.
    pub(super) fn settle(&mut self, now: Instant, slot: usize) {
        let Some(stream) = self.streams.get_mut(slot) else { return };
        stream.is_dirty = false;
        let happened = stream.carrier.happened();
        stream.reset = stream.reset.or(happened.reset);
        if stream.carrier.is_over() && stream.over_since.is_none() {
            stream.over_since = Some(now);
            if stream.carrier.has_reset() {
                self.resets.insert(slot, Repeated::default());
            }
        }
        if stream.over_since.is_some() && stream.is_released && stream.lingers_since.is_none() {
            stream.lingers_since = Some(now);
            self.lingering.insert((now, slot));
        }
        if stream.lingers_since.is_some() && stream.share.bytes() > 0 && stream.carrier.discard() {
            stream.share.free();
        }
        let removal = self.removal(slot).map(|at| at.max(now));
        let Some(stream) = self.streams.get_mut(slot) else { return };
        let deadline = stream.carrier.deadline().into_iter().chain(removal).min();
        if deadline != stream.deadline {
            stream.deadline.map(|at| self.timers.remove(&(at, slot)));
            deadline.map(|at| self.timers.insert((at, slot)));
            stream.deadline = deadline;
        }
        if happened.any {
            self.events.push_back(Event::Stream { session: self.number, stream: slot });
        }
    }

    /// Time at which a stream is removed; `None` while the application has it, or the peer may have
    /// missed its reset.
    pub(super) fn removal(&self, slot: usize) -> Option<Instant> {
        let stream = self.streams.get(slot).filter(|stream| stream.is_released)?;
        let since = stream.over_since.filter(|_| !self.resets.contains_key(&slot))?;
        Some(since + LINGER)
    }

    /// Returns whether there is room for one more stream, for which the oldest one that is over and
    /// released is removed.
    pub(super) fn make_room(&mut self, max_streams: usize) -> bool {
        if self.streams.len() < max_streams {
            return true;
        }
        let Some((_, slot)) = self.lingering.first().copied() else { return false };
        self.remove(slot);
        true
    }

    /// Removes a stream.
    pub(super) fn remove(&mut self, slot: usize) {
        let stream = self.streams.remove(slot);
        self.by_id.remove(&stream.id);
        self.resets.remove(&slot);
        stream.lingers_since.map(|at| self.lingering.remove(&(at, slot)));
        stream.deadline.map(|at| self.timers.remove(&(at, slot)));
    }

    /// A question or an answer has come over a path: resets are sent again there. While nothing
    /// comes none would arrive, however long that lasts.
    pub(super) fn repeat_resets(&mut self, now: Instant, path: u8) {
        let slots: Vec<usize> = self.resets.keys().copied().collect();
        let Some(known) = self.path(path).filter(|_| !slots.is_empty()) else { return };
        if known.repeated_at.is_some_and(|at| now.since(at) < REPEAT_AFTER) {
            return;
        }
        known.repeated_at = Some(now);
        for slot in slots {
            let Some(repeated) = self.resets.get_mut(&slot) else { continue };
            let since = *repeated.since.get_or_insert(now);
            repeated.count += 1;
            if repeated.count > REPEATS && now.since(since) >= LINGER {
                self.resets.remove(&slot);
            } else {
                self.repeat_reset(now, slot, path);
            }
            self.touch(slot);
        }
    }

    /// Sends the reset of a stream on a path. That of a set is one message: a segment with RST
    /// would have to match the state of a connection, which may never have been established.
    fn repeat_reset(&mut self, now: Instant, slot: usize, path: u8) {
        let Some(stream) = self.streams.get_mut(slot) else { return };
        match &mut stream.carrier {
            Carrier::Shake(connection) => connection.handle(now, Input::Repeat { path }),
            Carrier::Multi(_) => {
                let reason = stream.reset.unwrap_or(Reason::Abort);
                self.waiting.push_back(Waiting::Reset(path, stream.id, reason));
            }
        }
    }

    /// The message that resets a set that this end has broken off, for its next path.
    pub(super) fn announce_reset(&mut self, slot: usize) -> Option<Transmit> {
        let stream = self.streams.get_mut(slot).filter(|stream| stream.over_since.is_none())?;
        let Carrier::Multi(set) = &stream.carrier else { return None };
        // Segments with RST follow, which say no more than that. The farewell of a session that is
        // closed ends its sets as well.
        let reason = set.broken().filter(|why| *why != Reason::NoPath && !self.is_closed)?;
        let (id, first) = (stream.id, stream.announced);
        stream.announced = self.paths.len();
        for path in first..self.paths.len() {
            let header = reset_header(self.side, path as u8, id, reason);
            // Not in a bundle, which would leave behind the segments.
            if let Some(transmit) = self.record(path as u8, &Frame::Message(header, &[])) {
                self.streams.get_mut(slot)?.announced = path + 1;
                return Some(transmit);
            }
        }
        None
    }

    /// The peer has reset a set, and says so by more than segments that were lost.
    pub(super) fn take_reset(&mut self, now: Instant, slot: usize, reason: Reason) {
        let Some(stream) = self.streams.get_mut(slot) else { return };
        if stream.over_since.is_none() {
            // Over from now on, so that this end repeats nothing.
            (stream.over_since, stream.reset) = (Some(now), stream.reset.or(Some(reason)));
            stream.carrier.abort(now);
        } else if stream.reset == Some(Reason::NoPath) && reason != Reason::NoPath {
            // A segment with RST came first, which does not say why.
            stream.reset = Some(reason);
            self.resets.remove(&slot);
        } else {
            return;
        }
        self.events.push_back(Event::Stream { session: self.number, stream: slot });
        self.touch(slot);
    }
}
