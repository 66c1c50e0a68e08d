//! Packets of a flow in the order of arrival, each linked to the next.

use crate::Goes;
use crate::slab::{NONE, Slab};
use fairwave_units::Instant;

/// A waiting packet.
#[derive(Clone, Debug)]
pub(crate) struct Packet<T> {
    pub(crate) item: T,
    pub(crate) bytes: u32,
    /// Time of its arrival.
    pub(crate) at: Instant,
    pub(crate) after: u32,
}

/// Place of a packet among those of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) flow: u32,
    pub(crate) place: u32,
    /// The packet before it; [`NONE`] if it is the first.
    pub(crate) before: u32,
    at: Instant,
}

/// The oldest packet that `goes` selects, of flows with these numbers and first packets.
pub(crate) fn oldest<T>(
    packets: &Slab<Packet<T>>,
    flows: impl Iterator<Item = (u32, u32)>,
    goes: Goes<'_, T>,
) -> Option<Found> {
    let find = |(flow, mut place): (u32, u32)| {
        let mut before = NONE;
        while place != NONE {
            let packet = packets.get(place);
            if goes(&packet.item) {
                return Some(Found { flow, place, before, at: packet.at });
            }
            (before, place) = (place, packet.after);
        }
        None
    };
    flows.filter_map(find).min_by_key(|found| found.at)
}

/// Removes a packet that has one before it. The last packet of its flow is `last`.
pub(crate) fn unlink<T>(packets: &mut Slab<Packet<T>>, found: Found, last: &mut u32) -> Packet<T> {
    let packet = packets.remove(found.place);
    packets.get_mut(found.before).after = packet.after;
    if packet.after == NONE {
        *last = found.before;
    }
    packet
}
