//! Packets from the server to connections of a client that are no longer kept: a connection that is
//! opened again has another port, and the server may still have the one before.

use super::Connections;
use crate::carry::Peer;
use crate::line::{Line, Opening};
use bytes::Bytes;
use fairwave_dccp::Packet;
use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::{Kind, Seq48};
use std::collections::BTreeSet;

/// Resets a second in answer to such packets: a sender may forge the server's address.
const RESETS_A_SECOND: u32 = 8;

/// Ports of a client's connections so far, and the Resets of the present second.
#[derive(Debug, Default)]
pub(super) struct Forgotten {
    ports: BTreeSet<u16>,
    since: Instant,
    resets: u32,
}

impl Forgotten {
    /// A connection has this port.
    pub(super) fn note_port(&mut self, port: u16) {
        self.ports.insert(port);
    }

    /// Whether one more Reset may be sent now; counts it.
    fn may_reset(&mut self, now: Instant) -> bool {
        if now.since(self.since) >= Duration::from_secs(1) {
            (self.since, self.resets) = (now, 0);
        }
        self.resets += 1;
        self.resets <= RESETS_A_SECOND
    }
}

impl Connections {
    /// Handles a packet at a client that has no such connection. The server gets a Reset, "No
    /// Connection" (RFC 4340 section 8.5, step 2), and ends its own connection. Ports that this
    /// client never had may be those of other programs.
    pub(super) fn refuse(&mut self, now: Instant, peer: Peer, packet: Packet<Bytes>) {
        let port = packet.header.destination_port;
        let is_known = self.settings.server == Some(peer.address)
            && self.settings.connection.remote_port == peer.port
            && self.forgotten.ports.contains(&port);
        let is_reset = matches!(packet.header.kind, Kind::Reset { .. });
        if !is_known || is_reset || !self.forgotten.may_reset(now) {
            self.ignored.foreign += 1;
            return;
        }
        // A connection that is not open answers.
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
