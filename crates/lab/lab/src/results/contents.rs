//! Contents of packets, for captures: the simulated network carries their lengths only.

use fairwave_wire::datagram::{Contents, Datagram, Transport};
use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

/// Maximum number of packets whose contents are kept. One that is captured later is written with
/// padding for options and the pattern for payload instead.
const MAX: usize = 1 << 16;
/// Approximate maximum number of bytes that are kept.
const MAX_BYTES: usize = 64 << 20;

/// Identity of a packet: addresses, ports, and a number that does not recur among the packets that
/// are kept.
type Key = ([Ipv4Addr; 2], (u16, u16), u64);

/// The contents of the last packets that were made.
#[derive(Default)]
pub(super) struct PacketContents {
    kept: BTreeMap<Key, Contents>,
    order: VecDeque<Key>,
    bytes: usize,
}

impl PacketContents {
    /// Keeps the contents of a packet.
    pub(super) fn note(&mut self, datagram: &Datagram, contents: Contents) {
        let key = key(datagram);
        self.bytes += contents.kept_bytes();
        match self.kept.insert(key, contents) {
            Some(before) => self.bytes -= before.kept_bytes(),
            None => self.order.push_back(key),
        }
        while (self.order.len() > MAX || self.bytes > MAX_BYTES)
            && let Some(oldest) = self.order.pop_front()
        {
            let forgotten = self.kept.remove(&oldest);
            self.bytes -= forgotten.map_or(0, |contents| contents.kept_bytes());
        }
    }

    /// The contents of this packet.
    pub(super) fn of(&self, datagram: &Datagram) -> Option<&Contents> {
        self.kept.get(&key(datagram)).filter(|contents| contents.fit(datagram))
    }
}

fn key(datagram: &Datagram) -> Key {
    let id = u64::from(datagram.id);
    let number = match &datagram.transport {
        Transport::Dccp(header) => header.seq.value(),
        Transport::Udp { .. } => id,
        Transport::Tcp(header) => id << 32 | u64::from(header.seq.0),
    };
    ([datagram.source, datagram.destination], datagram.transport.ports(), number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(id: u16) -> Datagram {
        Datagram {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(10, 0, 0, 2),
            id,
            ttl: 64,
            tos: 0,
            transport: Transport::Udp { source_port: 1, destination_port: 2 },
            payload_len: 1_200,
        }
    }

    /// The sum of bytes is that of the kept contents whatever is noted, and is bounded.
    #[test]
    fn the_newest_are_kept_within_a_bound() {
        let mut contents = PacketContents::default();
        let of = |round: u8| Contents::bytes(vec![round; 1_200]);
        for round in 0..2 {
            for id in 0..=u16::MAX {
                contents.note(&datagram(id), of(round));
            }
        }
        let kept: usize = contents.kept.values().map(Contents::kept_bytes).sum();
        assert_eq!((kept, contents.kept.len()), (contents.bytes, contents.order.len()));
        assert!(kept <= MAX_BYTES && kept > MAX_BYTES - 2_000, "{kept}");
        assert_eq!(contents.of(&datagram(u16::MAX)), Some(&of(1)));
        assert_eq!(contents.of(&datagram(0)), None, "the oldest is forgotten");
        let other = Datagram { payload_len: 1_199, ..datagram(u16::MAX) };
        assert_eq!(contents.of(&other), None, "another packet of this number");
    }
}
