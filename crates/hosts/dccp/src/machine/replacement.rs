//! Connections of a client that were lost, or whose address changed, and those in their place.

use super::{Connections, Id};
use crate::line::{End, Line};
use bytes::Bytes;
use fairwave_dccp::{Input, Packet, State, Waiting};
use fairwave_machine::Machine;
use fairwave_units::Instant;
use fairwave_wire::dccp::Kind;
use std::net::IpAddr;

impl Connections {
    /// Hands a packet to a connection. With a Reset a connection drops the datagrams that wait; if
    /// another connection takes its place, they wait there instead.
    pub(super) fn take(&mut self, now: Instant, id: Id, packet: Packet<Bytes>) {
        let mut is_lost = false;
        if let Kind::Reset { code, data, .. } = packet.header.kind {
            self.note(now, id);
            is_lost = self.reopens(id, End::Reset(code, data));
        }
        let Some(line) = self.lines.get_mut(&id) else { return };
        let waiting = if is_lost { line.take_waiting() } else { Vec::new() };
        line.take(now, packet);
        if is_lost && line.connection.state() == State::TimeWait {
            self.reopen(now, id, None, waiting);
            return;
        }
        // The Reset had wrong numbers.
        for one in waiting {
            line.connection.handle(now, Input::SendBefore(one));
        }
    }

    /// Aborts an open connection, whose end or new beginning follows.
    pub(super) fn lose(&mut self, now: Instant, id: Id, end: End) {
        let (over, is_last) = (self.settings.over, !self.reopens(id, end));
        let Some(line) = self.lines.get_mut(&id) else { return };
        // One that the application has closed is not to be opened again at the other end either.
        let is_lost = end.is_loss() && !self.is_stopping && !line.is_closing;
        // The abort drops the datagrams that wait.
        let waiting = if is_last { Vec::new() } else { line.take_waiting() };
        line.connection.handle(now, if is_lost { Input::Forget } else { Input::Abort });
        // The end that an abort reports is not the reason for it.
        while self.next_end(now, id).is_some() {}
        let Some(line) = self.lines.get_mut(&id) else { return };
        while let Some(last) = line.connection.poll(now) {
            self.strays.extend(line.outgoing(over, &last));
        }
        if is_last {
            self.end(now, id, end);
        } else {
            self.reopen(now, id, None, waiting);
        }
    }

    /// Whether a connection that ends so is opened again.
    pub(super) fn reopens(&self, id: Id, end: End) -> bool {
        let is_lost = end.is_loss() && !self.is_stopping && self.settings.reconnect.is_some();
        let is_ours = |line: &Line| line.is_open() && !line.is_closing && !line.is_reopening;
        is_lost && self.settings.server.is_some() && self.lines.get(&id).is_some_and(is_ours)
    }

    /// Opens a client's connection again, with the datagrams that wait and the counters so far.
    pub(super) fn reopen(
        &mut self,
        now: Instant,
        id: Id,
        local: Option<IpAddr>,
        waiting: Vec<Waiting<Bytes>>,
    ) {
        // What arrived counts as delivered.
        while self.next_end(now, id).is_some() {}
        let Some(line) = self.lines.get(&id) else { return };
        let (peer, is_open) = (line.peer, line.is_open());
        let mut opening = self.opening(now, peer, local);
        if let Some(reconnect) = self.settings.reconnect.filter(|_| is_open) {
            opening.config.give_up = reconnect;
        }
        if let Some(line) = self.lines.get_mut(&id) {
            line.reopen(opening, waiting);
        }
        self.touch(id);
    }

    /// A client's address is another one: a connection of RFC 4340 belongs to its addresses. The
    /// Request of one that is being opened would go out from the old address again and again.
    pub(super) fn moved(&mut self, now: Instant, local: IpAddr) {
        self.settings.local = Some(local);
        if self.settings.server.is_none() || self.is_stopping {
            return;
        }
        for id in self.ids(|line| line.is_alive() && !line.is_closing) {
            let waiting = self.lines.get_mut(&id).map(Line::take_waiting).unwrap_or_default();
            self.reopen(now, id, Some(local), waiting);
        }
    }
}
