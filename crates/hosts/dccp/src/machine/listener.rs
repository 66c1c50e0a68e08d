//! Packets from unknown peers at a listener: Requests, and Init Cookies (RFC 4340 section 8.1.4).
//!
//! Below [`Settings::max_half_open`](super::Settings::max_half_open) incomplete handshakes a
//! Request creates state at once, as some clients return no cookies. Beyond it the state of a
//! handshake is in its cookie, so that a flood of Requests takes no memory.

use super::{Connections, Id};
use crate::carry::Peer;
use crate::line::Line;
use bytes::Bytes;
use fairwave_dccp::{Input, Packet, State};
use fairwave_machine::Machine;
use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::{Kind, Value};
use fairwave_wire::seal::Key;
use std::net::IpAddr;

/// Answers to packets of no connection that wait to be sent; further ones are not made. They are
/// more than the datagrams that a driver takes at once, so that a flood leaves some to others.
const STRAYS: usize = 256;
/// Time after which a connection whose client has not answered may be replaced by another.
const HALF_OPEN: Duration = Duration::from_secs(5);

impl Connections {
    /// Handles a packet from an unknown peer at a listener.
    pub(super) fn welcome(
        &mut self,
        now: Instant,
        peer: Peer,
        to: Option<IpAddr>,
        packet: Packet<Bytes>,
    ) {
        if self.is_stopping || !self.has_room(now, peer) {
            self.ignored.turned_away += 1;
            return;
        }
        let is_request = matches!(packet.header.kind, Kind::Request { .. });
        let is_cookie = |value: Value<'_>| matches!(value, Value::InitCookie(_));
        let has_cookie = !is_request && packet.options.values().any(is_cookie);
        let keeps_state = is_request && self.admits(now);
        let mut opening = self.opening(now, peer, to);
        if has_cookie || (is_request && !keeps_state) {
            opening.config.cookie = Some(self.cookie_key(peer, opening.local));
        }
        let mut line = Line::new(&opening, peer);
        line.connection.handle(now, Input::Listen);
        line.connection.handle(now, Input::Packet(packet));
        if line.connection.state() > State::Listen {
            // Only a valid Request creates state, or a cookie. Every other packet gets its answer,
            // such as a Reset, from a temporary connection that is then dropped.
            self.cookies.returned += u64::from(has_cookie);
            self.make_room(peer);
            self.insert(line);
            return;
        }
        self.cookies.refused += u64::from(has_cookie);
        while let Some(answer) = line.connection.poll(now) {
            // Bounded, as any received packet can cause an answer.
            if self.strays.len() < STRAYS
                && let Some(outgoing) = line.outgoing(self.settings.over, &answer)
            {
                self.strays.push_back(outgoing);
                let is_response = matches!(answer.header.kind, Kind::Response { .. });
                self.cookies.sent += u64::from(is_response);
            }
        }
    }

    /// Key of the Init Cookies for a peer: they are those of both addresses.
    fn cookie_key(&self, peer: Peer, local: Option<IpAddr>) -> Key {
        let (peer, local) = (peer.address.to_string(), local.map(|local| local.to_string()));
        let parts = [peer.as_bytes(), local.as_deref().unwrap_or_default().as_bytes()];
        self.settings.secret.derive("dccp init cookies", &parts)
    }

    /// Whether a listener keeps state for one more Request.
    fn admits(&mut self, now: Instant) -> bool {
        let max = self.settings.max_half_open;
        if self.replaceable.half_open().0 < max {
            return true;
        }
        // In its place: the address of a client that has not answered for long may be forged.
        let slow = self.slow(now).filter(|_| max > 0);
        slow.into_iter().for_each(|slow| self.remove(slow));
        slow.is_some()
    }

    /// The connection whose client has not answered for longest, if that is too long.
    fn slow(&self, now: Instant) -> Option<Id> {
        let is_slow =
            |id: &Id| self.lines.get(id).is_some_and(|line| now.since(line.began) > HALF_OPEN);
        self.replaceable.slowest().filter(is_slow)
    }

    /// Whether one more connection is possible. It replaces a connection that has ended, or one
    /// whose client has not answered for long.
    fn has_room(&self, now: Instant, peer: Peer) -> bool {
        self.lines.len() < self.settings.max_connections
            || self.by_peer.contains_key(&peer)
            || self.replaceable.first_over().is_some()
            || self.slow(now).is_some()
    }

    /// Removes the connection that a new one replaces.
    fn make_room(&mut self, peer: Peer) {
        if self.lines.len() >= self.settings.max_connections && !self.by_peer.contains_key(&peer) {
            let idle = self.replaceable.first_over().or_else(|| self.replaceable.slowest());
            idle.into_iter().for_each(|idle| self.remove(idle));
        }
    }
}
