//! Packets from the server to connections of a client that are no longer kept: a connection that is
//! opened again has another port, and the server may still have the one before.

use super::Connections;
use crate::carry::Peer;
use crate::line::{Line, Opening};
use bytes::Bytes;
use fairwave_dccp::Packet;
use fairwave_units::Instant;
use fairwave_wire::dccp::{Kind, Seq48};

impl Connections {
    /// Handles a packet at a client that has no such connection. The server gets a Reset, "No
    /// Connection" (RFC 4340 section 8.5, step 2), and ends its own connection. Ports that this
    /// client never had may be those of other programs.
    pub(super) fn refuse(&mut self, now: Instant, peer: Peer, packet: Packet<Bytes>) {
        let port = packet.header.destination_port;
        let is_known = self.settings.server == Some(peer.address)
            && self.settings.connection.remote_port == peer.port
            && self.forgotten.had(port);
        let is_reset = matches!(packet.header.kind, Kind::Reset { .. });
        if !is_known || is_reset || !self.forgotten.may_reset(now) {
            self.ignored.foreign += 1;
            return;
        }
        // One that was never opened answers each packet with that Reset.
        let mut config = self.settings.connection.clone();
        config.local_port = port;
        let (profiles, local) = (self.settings.profiles, self.settings.local);
        let mut line =
            Line::new(&Opening { now, number: Seq48::ZERO, config, profiles, local }, peer);
        line.take(now, packet);
        while let Some(answer) = line.poll(now) {
            self.strays.extend(line.outgoing(self.settings.over, &answer));
        }
    }
}
