//! Payload of a segment: real bytes, or their number.

use bytes::{Bytes, BytesMut};
use core::fmt::Debug;
use std::collections::VecDeque;

/// A run of stream bytes that can be cut without copying.
pub trait Payload: Clone + Debug + Default {
    /// A queue of such runs, addressed by offset.
    type Store: Store<Self>;

    /// Length in bytes.
    fn len(&self) -> u32;

    /// The bytes `from..to` of it; `from <= to <= len` is the caller's duty.
    fn slice(&self, from: u32, to: u32) -> Self;

    /// Whether it holds nothing.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A first-in first-out buffer of stream bytes.
pub trait Store<P>: Default + Debug {
    /// Bytes held.
    fn len(&self) -> u64;

    /// Appends `data`.
    fn push(&mut self, data: P);

    /// Drops the first `n` bytes; `n <= len` is the caller's duty.
    fn discard(&mut self, n: u64);

    /// The `len` bytes that begin `at` bytes after the front; they must be held.
    fn copy(&self, at: u64, len: u32) -> P;

    /// Whether it holds nothing.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A payload of which only the length exists, for simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Virtual(pub u32);

/// A buffer of [`Virtual`] payload: a counter.
#[derive(Clone, Copy, Debug, Default)]
pub struct VirtualStore(u64);

impl Payload for Virtual {
    type Store = VirtualStore;

    fn len(&self) -> u32 {
        self.0
    }

    fn slice(&self, from: u32, to: u32) -> Self {
        Self(to - from)
    }
}

impl Store<Virtual> for VirtualStore {
    fn len(&self) -> u64 {
        self.0
    }

    fn push(&mut self, data: Virtual) {
        self.0 += u64::from(data.0);
    }

    fn discard(&mut self, n: u64) {
        self.0 -= n;
    }

    fn copy(&self, _at: u64, len: u32) -> Virtual {
        Virtual(len)
    }
}

/// Chunks shorter than this are copied together: kept as they came, a byte would cost a chunk.
const SMALL: usize = 1024;
/// Size of the chunks that are copied together.
const GATHERED: usize = 4096;

/// A buffer of real bytes: chunks as they were pushed, each with its position in the stream,
/// small ones gathered, so that memory follows the bytes held and not the number of writes.
#[derive(Clone, Debug, Default)]
pub struct ByteStore {
    chunks: VecDeque<(u64, Bytes)>,
    /// Small writes after the last chunk.
    tail: BytesMut,
    front: u64,
    back: u64,
}

impl ByteStore {
    /// Position of the tail in the stream.
    fn tail_at(&self) -> u64 {
        self.back - self.tail.len() as u64
    }

    /// Makes the tail a chunk. Its unused memory serves the next tail.
    fn end_tail(&mut self) {
        if !self.tail.is_empty() {
            let at = self.tail_at();
            self.chunks.push_back((at, self.tail.split().freeze()));
        }
    }
}

impl Payload for Bytes {
    type Store = ByteStore;

    fn len(&self) -> u32 {
        u32::try_from(Bytes::len(self)).expect("payloads are bounded by 32-bit buffers")
    }

    fn slice(&self, from: u32, to: u32) -> Self {
        Bytes::slice(self, from as usize..to as usize)
    }
}

impl Store<Bytes> for ByteStore {
    fn len(&self) -> u64 {
        self.back - self.front
    }

    fn push(&mut self, data: Bytes) {
        if Bytes::is_empty(&data) {
            return;
        }
        let len = data.len();
        if len < SMALL {
            if self.tail.len() + len > GATHERED {
                self.end_tail();
            }
            if self.tail.capacity() - self.tail.len() < len {
                self.tail.reserve(GATHERED);
            }
            self.tail.extend_from_slice(&data);
        } else {
            self.end_tail();
            self.chunks.push_back((self.back, data));
        }
        self.back += len as u64;
    }

    fn discard(&mut self, n: u64) {
        self.front += n;
        debug_assert!(self.front <= self.back, "discarded more than was held");
        while self.chunks.front().is_some_and(|(at, c)| at + c.len() as u64 <= self.front) {
            self.chunks.pop_front();
        }
        if self.front == self.back {
            self.tail.clear();
        }
    }

    fn copy(&self, at: u64, len: u32) -> Bytes {
        let (from, to) = (self.front + at, self.front + at + u64::from(len));
        debug_assert!(to <= self.back, "a copy beyond the buffer");
        let first = self.chunks.partition_point(|(at, c)| at + c.len() as u64 <= from);
        // What of a chunk of `len` bytes at `at` lies in from..to.
        let inside = |at: u64, len: usize| {
            let cut = |offset: u64| offset.saturating_sub(at).min(len as u64) as usize;
            cut(from)..cut(to)
        };
        match self.chunks.get(first) {
            Some((at, chunk)) if at + chunk.len() as u64 >= to => {
                chunk.slice(inside(*at, chunk.len()))
            }
            _ => {
                let mut whole = BytesMut::with_capacity(len as usize);
                for (at, chunk) in self.chunks.range(first..).take_while(|(at, _)| *at < to) {
                    whole.extend_from_slice(&chunk[inside(*at, chunk.len())]);
                }
                whole.extend_from_slice(&self.tail[inside(self.tail_at(), self.tail.len())]);
                whole.freeze()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_virtual_store_counts() {
        let mut store = VirtualStore::default();
        store.push(Virtual(10));
        store.discard(4);
        assert_eq!((Store::len(&store), store.copy(1, 3)), (6, Virtual(3)));
        assert_eq!(Virtual(10).slice(2, 7), Virtual(5));
    }

    /// A byte at a time, as a careless application writes: chunks of 4096, not of one.
    #[test]
    fn tiny_writes_share_chunks() {
        let mut store = ByteStore::default();
        for n in 0..40_960u32 {
            store.push(Bytes::copy_from_slice(&n.to_be_bytes()[3..]));
        }
        assert_eq!((Store::len(&store), store.chunks.len()), (40_960, 9));
        assert_eq!(&store.copy(4_095, 3)[..], [255, 0, 1]);
        store.discard(40_960);
        assert!(store.chunks.is_empty() && store.tail.is_empty());
        // Between large ones a tiny one costs a chunk of its own, but no memory of 4096.
        let large = Bytes::from(vec![7; SMALL]);
        for _ in 0..100 {
            store.push(large.clone());
            store.push(Bytes::from_static(b"x"));
        }
        assert_eq!(store.chunks.len(), 199);
        assert!(store.tail.capacity() <= 2 * GATHERED);
    }

    /// Writes below and above the size from which they are gathered.
    fn write() -> impl Strategy<Value = Vec<u8>> {
        let any = |len| prop::collection::vec(any::<u8>(), len);
        prop_oneof![4 => any(0..40), 1 => any(1_000..1_050)]
    }

    proptest! {
        #[test]
        fn a_byte_store_is_a_queue_of_bytes(
            writes in prop::collection::vec(write(), 1..12),
            drop in 0u64..4_000,
            at in 0u64..3_000,
            len in 0u32..3_000,
        ) {
            let mut store = ByteStore::default();
            let mut model: Vec<u8> = Vec::new();
            for write in writes {
                model.extend_from_slice(&write);
                store.push(Bytes::from(write));
            }
            let drop = drop.min(model.len() as u64);
            store.discard(drop);
            model.drain(..drop as usize);
            prop_assert_eq!(Store::len(&store), model.len() as u64);
            let at = at.min(model.len() as u64);
            let len = len.min((model.len() as u64 - at) as u32);
            let copy = store.copy(at, len);
            prop_assert_eq!(&copy[..], &model[at as usize..at as usize + len as usize]);
        }
    }
}
