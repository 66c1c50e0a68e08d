//! The opener's side of handshakes: attempts, answers, and the session that follows.

use super::carrier;
use super::event::Event;
use super::keys::Keys;
use super::machine::{Endpoint, Opening};
use super::route::{MAX_PATHS, Transmit};
use super::settings::Settings;
use crate::noise::Initiator;
use fairwave_units::{Duration, Instant};
use fairwave_wire::shake::Side;
use fairwave_wire::shake::record::{Datagram, Priority};

/// Time between attempts to open a session, doubled up to the maximum.
const RETRY: Duration = Duration::from_millis(250);
const MAX_RETRY: Duration = Duration::from_secs(4);
/// Time for which the present session may still answer after the peer has answered the handshake
/// for the next one. A peer that was suspended, or came back to a link after an outage, has both in
/// its socket; a session with streams has two questions on the way in this time.
const GRACE: Duration = Duration::from_secs(2);

impl Endpoint {
    /// Begins a handshake over all paths.
    pub(super) fn begin(&mut self, now: Instant) {
        let settings = self.settings().bytes();
        let session = self.unused_index();
        let (initiator, noise) = Initiator::new(&self.config.psk, &settings);
        let mut first = Vec::new();
        Datagram::Initiation { from: session, noise: &noise }.write(&mut first);
        self.opening =
            Some(Opening { initiator, first, session, at: now, wait: RETRY, keys: None });
        self.go_on(now);
    }

    /// The time of the handshake has come: the next attempt, or the session of its keys.
    pub(super) fn go_on(&mut self, now: Instant) {
        let Some(opening) = &mut self.opening else { return };
        if let Some(keys) = opening.keys.take() {
            self.enter(now, keys);
            return;
        }
        for route in self.routes.iter().flatten() {
            self.outgoing.push_back(Transmit::new(*route, opening.first.clone()));
        }
        opening.at = now + opening.wait;
        opening.wait = (opening.wait * 2).min(MAX_RETRY);
    }

    pub(super) fn take_answer(&mut self, now: Instant, to: u32, from: u32, noise: &[u8]) {
        let Some(opening) = self.opening.as_mut().filter(|opening| opening.session == to) else {
            // An answer comes over each path.
            self.refused.unknown += u64::from(!self.by_index.contains_key(&to));
            return;
        };
        if opening.keys.is_some() {
            return;
        }
        let Some(channel) = opening.initiator.finish(noise) else {
            self.refused.forged += 1;
            return;
        };
        let keys = Keys { index: to, remote: from, channel };
        if self.current.is_some() {
            (opening.keys, opening.at) = (Some(keys), now + GRACE);
        } else {
            self.enter(now, keys);
        }
    }

    /// Replaces the present session by one with these keys.
    fn enter(&mut self, now: Instant, keys: Keys) {
        self.opening = None;
        if let Some(old) = self.current.take() {
            self.end(now, old);
        }
        let session = self.add(now, Side::Opener, self.settings(), keys);
        for route in self.routes.clone().into_iter().flatten() {
            self.with(session, |open| open.path_up(now, route.socket, route));
        }
        let is_known = |(_, priority): &(u8, Priority)| *priority != Priority::Regular;
        for (path, priority) in (0..).zip(self.priorities).filter(is_known) {
            self.with(session, |open| open.prioritize(now, path, priority));
        }
        self.current = Some(session);
        self.events.push_back(Event::Connected { session });
    }

    /// Settings of the sessions that this end opens.
    fn settings(&self) -> Settings {
        let paths = self.config.rates.len().max(self.routes.len()).clamp(1, MAX_PATHS);
        let mut rates = self.config.rates.clone();
        rates.resize(paths, None);
        let weights = self.config.set.weights.clone();
        let weights = weights.unwrap_or_else(|| carrier::weights(&rates));
        Settings { mode: self.config.mode, weights, rates }
    }
}
