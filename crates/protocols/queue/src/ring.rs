//! Drop-tail over the descriptors of a network interface.

use crate::fifo::Fifo;
use crate::{Discipline, Goes, Item, Limit};
use core::fmt::Debug;
use fairwave_trace::DropCause;
use fairwave_units::{Bytes, Instant};
use std::collections::VecDeque;

/// Parameters of a [`Ring`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingConfig {
    /// Number of descriptors.
    pub descriptors: u32,
    /// Bytes of the buffer that a descriptor stands for, filled from the IP header on.
    pub buffer: u32,
    /// Descriptors that each packet takes beside those of its buffers.
    pub per_packet: u32,
}

impl RingConfig {
    /// A buffer of 2048 bytes for each packet, as MadWifi has them (200 descriptors; `ATH_TXBUF`
    /// and `ATH_TXDESC` in its `ath/if_athvar.h`); of a bound in bytes, buffers of 128 bytes, as
    /// Atmel's MACB receives into them (`RX_BUFFER_SIZE` in Linux 3.0, `drivers/net/macb.c`).
    pub const fn of(limit: Limit) -> Self {
        let (descriptors, buffer) = match limit {
            Limit::Packets(packets) => (packets, 2048),
            Limit::Bytes(bytes) => ((bytes.0 / 128) as u32, 128),
        };
        Self { descriptors, buffer, per_packet: 0 }
    }

    /// Descriptors that a packet of this number of bytes takes.
    pub const fn taken_by(&self, bytes: u32) -> u32 {
        let buffers = bytes.div_ceil(self.buffer);
        self.per_packet + if buffers == 0 { 1 } else { buffers }
    }
}

/// A first-in first-out queue in which a packet waits in buffers of a fixed size, with a descriptor
/// for each. An arrival for which too few are free is dropped.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    items: Fifo<T>,
    config: RingConfig,
    taken: u32,
    dropped: VecDeque<T>,
}

impl<T: Item> Ring<T> {
    /// An empty queue.
    pub const fn new(config: RingConfig) -> Self {
        Self { items: Fifo::new(), config, taken: 0, dropped: VecDeque::new() }
    }

    /// Frees the descriptors of an item that leaves.
    fn freed(&mut self, item: Option<T>) -> Option<T> {
        self.taken -= item.as_ref().map_or(0, |item| self.config.taken_by(item.bytes()));
        item
    }
}

impl<T: Item + Debug + Send> Discipline<T> for Ring<T> {
    fn push(&mut self, _: Instant, item: T) {
        let more = self.config.taken_by(item.bytes());
        if more <= self.config.descriptors - self.taken {
            self.taken += more;
            self.items.push(item);
        } else {
            self.dropped.push_back(item);
        }
    }

    fn pop(&mut self, _: Instant) -> Option<T> {
        let item = self.items.pop();
        self.freed(item)
    }

    fn pop_to(&mut self, _: Instant, receiver: u32) -> Option<T> {
        let item = self.items.pop_to(receiver);
        self.freed(item)
    }

    fn withdraw(&mut self, _: Instant, receiver: u32, goes: Goes<'_, T>) -> Option<T> {
        let item = self.items.withdraw(receiver, goes);
        self.freed(item)
    }

    fn peek_to(&self, receiver: u32) -> Option<u32> {
        self.items.peek_to(receiver)
    }

    fn pass(&mut self, _: Instant, item: T) -> Option<T> {
        Some(item)
    }

    fn dropped(&mut self) -> Option<(T, DropCause)> {
        self.dropped.pop_front().map(|item| (item, DropCause::QueueFull))
    }

    fn len(&self) -> u32 {
        self.items.len()
    }

    fn bytes(&self) -> Bytes {
        self.items.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Thing, drain, dropped};

    const NOW: Instant = Instant::ZERO;

    fn fill(config: RingConfig, bytes: &[u32]) -> Ring<Thing> {
        let mut queue = Ring::new(config);
        for (id, &bytes) in (0..).zip(bytes) {
            queue.push(NOW, Thing { id, bytes, ..Thing::default() });
        }
        queue
    }

    /// Of 128 bytes each 1500 bytes take 12 buffers, and an ACK of 40 one: in 26 there is room for
    /// two packets and two ACKs.
    #[test]
    fn a_large_packet_takes_several_small_buffers() {
        let config = RingConfig { descriptors: 26, buffer: 128, per_packet: 0 };
        let mut queue = fill(config, &[1500, 1500, 1500, 40, 40, 40]);
        let full = DropCause::QueueFull;
        assert_eq!(dropped(&mut queue), [(2, full), (5, full)]);
        // One packet leaves, and twelve ACKs have its room.
        assert_eq!(queue.pop(NOW).map(|thing| thing.id), Some(0));
        (10..23).for_each(|id| queue.push(NOW, Thing { id, bytes: 128, ..Thing::default() }));
        assert_eq!(dropped(&mut queue), [(22, full)]);
        assert_eq!(drain(&mut queue, NOW).len(), 1 + 2 + 12);
    }

    /// b43 has 256 descriptors and takes one for the header of a frame and one for the frame.
    #[test]
    fn a_frame_of_any_size_takes_two_descriptors_of_b43() {
        let config = RingConfig { descriptors: 256, buffer: 2400, per_packet: 1 };
        for bytes in [40, 1500] {
            let mut queue = fill(config, &[bytes; 130]);
            assert_eq!((queue.len(), dropped(&mut queue).len()), (128, 2));
        }
    }

    #[test]
    fn a_packet_taken_out_of_turn_frees_its_own_buffers() {
        let config = RingConfig { descriptors: 13, buffer: 128, per_packet: 0 };
        let mut queue = fill(config, &[40]);
        queue.push(NOW, Thing { id: 1, receiver: 1, bytes: 1500, ..Thing::default() });
        assert_eq!(queue.pop_to(NOW, 1).map(|thing| thing.id), Some(1));
        queue.push(NOW, Thing { id: 2, bytes: 1500, ..Thing::default() });
        assert_eq!(drain(&mut queue, NOW), [0, 2]);
        assert!(queue.is_empty() && queue.dropped().is_none());
    }
}
