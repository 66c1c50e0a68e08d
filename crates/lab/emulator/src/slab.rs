//! The bytes of packets under way, by their handles.

use crate::frame::Front;
use core::mem;

/// A packet's bytes and properties.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// The packet from its IP header on.
    pub(crate) bytes: Vec<u8>,
    /// Conversion of the bytes when the packet leaves.
    pub(crate) front: Front,
    /// Whether its transport checksum is known to be correct.
    pub(crate) is_sum_right: bool,
    /// The end at which it leaves.
    pub(crate) to: usize,
}

impl Held {
    /// The parts to write when the packet leaves.
    pub(crate) fn parts(&self) -> (&[u8], &[u8]) {
        self.front.parts(&self.bytes)
    }
}

/// Buffers that are reused: nothing is allocated once there are as many as packets under way,
/// unless all of the memory is reserved.
#[derive(Debug)]
pub(crate) struct Slab {
    places: Vec<Held>,
    free: Vec<u32>,
    /// Free places without a buffer.
    bare: Vec<u32>,
    /// Capacity of all buffers in bytes, used or not.
    reserved: usize,
    most: Bound,
}

/// Limits on the packets under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) packets: usize,
    pub(crate) bytes: usize,
}

impl Slab {
    pub(crate) fn new(most: Bound) -> Self {
        let (places, free, bare) = (Vec::new(), Vec::new(), Vec::new());
        Self { places, free, bare, reserved: 0, most }
    }

    /// Stores a packet that `fill` writes. Returns its handle, or `None` if a limit is reached.
    pub(crate) fn put(&mut self, fill: impl FnOnce(&mut Held)) -> Option<u64> {
        self.release_buffers();
        if self.reserved >= self.most.bytes {
            return None;
        }
        let place = match self.free.pop().or_else(|| self.bare.pop()) {
            Some(place) => place,
            None if self.places.len() >= self.most.packets => return None,
            None => {
                self.places.push(Held::default());
                self.places.len() as u32 - 1
            }
        };
        let held = &mut self.places[place as usize];
        let before = held.bytes.capacity();
        fill(held);
        self.reserved += held.bytes.capacity() - before;
        Some(u64::from(place))
    }

    /// Releases buffers of free places while too much is reserved: a place that is used again may
    /// need a larger buffer than before.
    fn release_buffers(&mut self) {
        while self.reserved >= self.most.bytes
            && let Some(place) = self.free.pop()
        {
            let buffer = mem::take(&mut self.places[place as usize].bytes);
            self.reserved -= buffer.capacity();
            self.bare.push(place);
        }
    }

    /// The packet of a handle.
    pub(crate) fn get_mut(&mut self, handle: u64) -> &mut Held {
        &mut self.places[handle as usize]
    }

    /// Releases a packet.
    pub(crate) fn free(&mut self, handle: u64) {
        self.free.push(handle as u32);
        debug_assert!(self.free.len() + self.bare.len() <= self.places.len());
    }

    /// Number of packets under way.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len() - self.bare.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slab(packets: usize, bytes: usize) -> Slab {
        Slab::new(Bound { packets, bytes })
    }

    fn fill(len: usize) -> impl FnOnce(&mut Held) {
        move |held| {
            held.bytes.clear();
            held.bytes.resize(len, 7);
        }
    }

    #[test]
    fn places_are_used_again() {
        let mut slab = slab(2, 1 << 20);
        let (first, second) = (slab.put(fill(10)), slab.put(fill(20)));
        assert_eq!((first, second), (Some(0), Some(1)));
        assert_eq!(slab.put(fill(10)), None, "there are as many as may be");
        slab.free(0);
        assert_eq!(slab.len(), 1);
        assert_eq!(slab.put(fill(5)), Some(0));
        assert_eq!(slab.get_mut(0).bytes, [7; 5]);
        assert_eq!(slab.get_mut(1).bytes, [7; 20]);
    }

    #[test]
    fn its_memory_is_bounded() {
        let mut slab = slab(1000, 4096);
        let taken = (0..1000).map_while(|_| slab.put(fill(1500))).count();
        assert_eq!(taken, 3, "the third reaches the bound");
    }

    #[test]
    fn its_memory_is_bounded_when_larger_packets_follow() {
        let mut slab = slab(1000, 4096);
        let handles: Vec<u64> = (0..40).filter_map(|_| slab.put(fill(100))).collect();
        assert_eq!(handles.len(), 40);
        handles.into_iter().for_each(|handle| slab.free(handle));
        let handles: Vec<u64> = (0..40).map_while(|_| slab.put(fill(1500))).collect();
        assert_eq!((handles.len(), slab.len()), (3, 3), "the buffers of others are released");
        assert!(slab.reserved < 4096 + 1500, "{}", slab.reserved);
        // A packet that leaves makes room for the next.
        slab.free(handles[0]);
        assert!(slab.put(fill(1500)).is_some());
    }
}
