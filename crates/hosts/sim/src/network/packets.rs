//! Packets that radios have taken from their queues, by the numbers that stand for them in frames.
//!
//! A channel copies the payload of a frame several times on its way, and looks through frames of
//! an A-MPDU again and again: four bytes for each instead of a packet's hundred and more.

use crate::packet::Packet;
use slab::Slab;

/// Number of a packet that a radio has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketId(u32);

/// The packets of the radios of a cell.
#[derive(Debug, Default)]
pub(super) struct Packets(Slab<Packet>);

impl Packets {
    /// Keeps a packet that a radio has taken.
    pub(super) fn insert(&mut self, packet: Packet) -> PacketId {
        PacketId(self.0.insert(packet) as u32)
    }

    /// A packet by its number, which is not free.
    pub(super) fn get(&self, id: PacketId) -> &Packet {
        &self.0[id.0 as usize]
    }

    /// Frees the number of a packet.
    pub(super) fn free(&mut self, id: PacketId) {
        self.0.remove(id.0 as usize);
    }
}
