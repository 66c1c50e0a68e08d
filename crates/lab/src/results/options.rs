//! The options of DCCP packets, for captures: the simulated network carries only their length.

use fairwave_wire::datagram::{Datagram, Transport};
use fairwave_wire::dccp::Options;
use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

/// Packets whose options are kept. One that is captured later is written with padding instead.
const MOST: usize = 1 << 16;

/// What tells one packet from others: addresses, ports, and the sequence number.
type Key = ([Ipv4Addr; 2], (u16, u16), u64);

/// The options of the last packets that were made.
#[derive(Default)]
pub(super) struct PacketOptions {
    kept: BTreeMap<Key, Options>,
    order: VecDeque<Key>,
}

impl PacketOptions {
    /// Keeps the options of a packet.
    pub(super) fn note(&mut self, datagram: &Datagram, options: &Options) {
        let Some(key) = key(datagram).filter(|_| !options.is_empty()) else { return };
        if self.order.len() == MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.kept.remove(&oldest);
        }
        if self.kept.insert(key, options.clone()).is_none() {
            self.order.push_back(key);
        }
    }

    /// Those of this packet.
    pub(super) fn of(&self, datagram: &Datagram) -> Option<&Options> {
        self.kept.get(&key(datagram)?)
    }
}

fn key(datagram: &Datagram) -> Option<Key> {
    let Transport::Dccp(header) = &datagram.transport else { return None };
    let ports = (header.source_port, header.destination_port);
    Some(([datagram.source, datagram.destination], ports, header.seq.value()))
}
