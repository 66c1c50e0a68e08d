//! Paths come and go, and streams join them, with segments that fit.

use super::carrier::Carrier;
use super::event::Event;
use super::path::{MAX_MSS, MIN_MSS, Path, claimed_payload};
use super::route::Route;
use super::session::{BUSY, Session, Waiting};
use fairwave_machine::Machine;
use fairwave_shake::Input;
use fairwave_units::Instant;
use fairwave_wire::shake::Side;
use fairwave_wire::shake::record::Echo;

impl Session {
    /// The host has a path, at first or again.
    pub(super) fn path_up(&mut self, now: Instant, id: u8, route: Route) {
        let Some(path) = self.path(id) else { return };
        path.route = Some(route);
        path.is_up = true;
        path.restart();
        let mtus = path.mtus_to_ask();
        self.waiting.extend(mtus.map(|mtu| Waiting::Ping(id, Some(mtu))));
        (self.ask_at, self.rest_until) = (Some(now + BUSY), None);
    }

    /// The host has lost a path.
    pub(super) fn path_down(&mut self, now: Instant, id: u8) {
        let Some(path) = self.path(id) else { return };
        path.is_up = false;
        self.each(|stream| stream.carrier.leave(now, id));
    }

    /// Payload of a segment that every path takes that has answered: `None` before one has.
    pub(super) fn mss(&self) -> Option<u16> {
        let up = self.paths.iter().filter(|path| path.is_up);
        up.filter_map(Path::mss).min()
    }

    /// Payload of the segments of a new stream.
    pub(super) fn stream_mss(&self) -> u16 {
        self.mss().or(self.peer_mss).unwrap_or(MIN_MSS).max(MIN_MSS)
    }

    /// Joins a path to a stream, if it has answered. The stream's segments fit it from now on.
    pub(super) fn join(&mut self, now: Instant, slot: usize, id: u8) {
        let path = &self.paths[usize::from(id)];
        let Some(mss) = path.mss().filter(|_| path.is_up) else { return };
        self.fit(now, slot, mss);
        let nominal = self.settings.rates.get(usize::from(id)).copied().flatten();
        self.with(slot, |carrier| carrier.join(now, id, nominal));
    }

    /// A stream's segments have this payload at most from now on.
    fn fit(&mut self, now: Instant, slot: usize, mss: u16) {
        if self.streams.get(slot).is_some_and(|stream| stream.mss > mss) {
            self.resize(now, slot, mss);
        }
    }

    /// Every path takes segments of this payload: those of open streams grow to it after a while.
    pub(super) fn grow(&mut self, now: Instant, mss: Option<u16>) {
        let Some(mss) = self.steady.note(now, mss) else { return };
        for slot in 0..self.streams.capacity() {
            let Some(stream) = self.streams.get(slot) else { continue };
            let mss = mss.min(stream.max_mss);
            if stream.mss < mss {
                self.resize(now, slot, mss);
            }
        }
    }

    /// Changes the payload of a stream's segments. The connections of a set have theirs for good.
    fn resize(&mut self, now: Instant, slot: usize, mss: u16) {
        let Some(stream) = self.streams.get_mut(slot) else { return };
        if let Carrier::Shake(connection) = &mut stream.carrier {
            stream.mss = mss;
            connection.handle(now, Input::Mss(mss.into()));
            self.touch(slot);
        }
    }

    /// The peer's paths take payloads of this size, or none has answered it yet.
    pub(super) fn take_peer_mss(&mut self, now: Instant, mss: u16) {
        // The peer may claim more than a packet takes, by which datagrams and the segments of a
        // set would be too long for a record.
        let mss = Some(mss.min(MAX_MSS)).filter(|mss| *mss > 0);
        let before = std::mem::replace(&mut self.peer_mss, mss);
        if self.side == Side::Opener {
            return;
        }
        // Each new size cuts what is in flight: a peer has few to choose from.
        let claimed = mss.map(claimed_payload);
        if let Some(claimed) = claimed.filter(|_| mss != before) {
            let slots = 0..self.streams.capacity();
            slots.for_each(|slot| self.fit(now, slot, claimed));
        }
        self.grow(now, claimed);
    }

    /// Takes an answer. Streams take a path when it has answered.
    pub(super) fn take_pong(&mut self, now: Instant, id: u8, echo: &Echo) {
        let Some(path) = self.path(id) else { return };
        let before = path.mss();
        let is_answer = path.take_answer(now, echo);
        let mss = path.mss();
        if is_answer
            && self.streams.is_empty()
            && let Some(until) = self.rest_until.take()
        {
            self.ask_at = self.ask_at.map(|_| until);
        }
        if is_answer && mss != before {
            // The peer learns the MSS before its streams get the path.
            self.waiting.push_back(Waiting::Ping(id, None));
            let slots = 0..self.streams.capacity();
            slots.for_each(|slot| self.join(now, slot, id));
            self.events.push_back(Event::PathUp { session: self.number, path: id });
        }
    }
}
