//! Received data: in order for the application, out of order until the gaps are filled.

use fairwave_tcp::{Payload, Reassembly, Store};
use fairwave_wire::shake::{Ack, Block, Blocks, Echo};
use std::num::NonZeroU32;

/// Maximum chunks out of order: a minimum number, and one for each of a number of bytes of buffer.
/// Each costs some 90 bytes beside its own, so that a flood of tiny ones with gaps between them
/// costs about as much as the buffer. Tiny ones without gaps are joined.
const MIN_CHUNKS: usize = 64;
const BYTES_A_CHUNK: usize = 64;

/// The receiving half.
#[derive(Debug)]
pub(crate) struct Receiver<P: Payload> {
    /// In order and not read.
    ready: P::Store,
    /// The next byte in order.
    next: u64,
    held: Reassembly<P>,
    /// End of the stream, once it is known.
    end: Option<u64>,
    capacity: u32,
    /// The highest reported end of the window.
    reported: u64,
    /// There is no reader any more.
    is_closed: bool,
}

/// Outcome of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Taken, or had already.
    Fine {
        /// Bytes can be read that could not before, or the end has been reached.
        is_readable: bool,
    },
    /// All of it lay beyond the window.
    Beyond,
    /// It contradicts where the stream ends.
    Contradiction,
    /// It is new, and there is no reader.
    Unread,
    /// Too many pieces wait for missing data between them. It is as if it had been lost on its way,
    /// so that its path retransmits it.
    NoRoom,
}

impl<P: Payload> Receiver<P> {
    pub(crate) fn new(capacity: u32) -> Self {
        let chunks = MIN_CHUNKS + capacity as usize / BYTES_A_CHUNK;
        Self {
            ready: P::Store::default(),
            next: 0,
            held: Reassembly::new(chunks),
            end: None,
            capacity,
            reported: u64::from(capacity),
            is_closed: false,
        }
    }

    /// Everything below is here, the end of the stream among it.
    pub(crate) fn cumulative(&self) -> u64 {
        self.next + u64::from(self.is_finished())
    }

    /// Whether the end of the stream has been reached.
    pub(crate) fn is_finished(&self) -> bool {
        self.end == Some(self.next)
    }

    /// Bytes that can be read.
    pub(crate) fn readable(&self) -> u64 {
        self.ready.len()
    }

    /// Takes nothing more.
    pub(crate) fn close(&mut self) {
        self.is_closed = true;
        self.ready.discard(self.ready.len());
    }

    /// Frees its bytes: nothing is taken or read any more.
    pub(crate) fn discard(&mut self) {
        self.ready = P::Store::default();
        self.held = Reassembly::new(0);
    }

    /// The first byte that does not fit.
    fn edge(&self) -> u64 {
        self.next - self.ready.len() + u64::from(self.capacity)
    }

    /// Takes `data`, which begins at `seq`.
    pub(crate) fn take(&mut self, seq: u64, data: &P, fin: bool) -> Arrival {
        let end = seq + u64::from(data.len());
        let contradicts = match self.end {
            Some(known) => end > known || (fin && end != known),
            None => fin && (end < self.next || self.held.end().is_some_and(|held| held > end)),
        };
        if contradicts {
            return Arrival::Contradiction;
        }
        let edge = self.edge();
        if seq > edge || (seq == edge && end > seq) {
            return Arrival::Beyond;
        }
        if self.is_closed && end > self.next {
            return Arrival::Unread;
        }
        let was = self.cumulative();
        let ends = fin && end <= edge;
        if ends {
            self.end = Some(end);
        }
        let fits = end.min(edge);
        if fits > seq.max(self.next) && !self.store(seq, &data.slice(0, (fits - seq) as u32)) {
            return Arrival::NoRoom;
        }
        if ends && end > self.next {
            self.held.insert_end(end);
        }
        self.check();
        Arrival::Fine { is_readable: self.cumulative() > was }
    }

    /// Whether there was room for it.
    fn store(&mut self, seq: u64, data: &P) -> bool {
        if seq > self.next {
            return self.held.insert(seq, data);
        }
        self.push(data.slice((self.next - seq) as u32, data.len()));
        while let Some(chunk) = self.held.pop(self.next) {
            self.push(chunk);
        }
        self.held.forget(self.cumulative());
        true
    }

    fn push(&mut self, data: P) {
        self.next += u64::from(data.len());
        self.ready.push(data);
    }

    fn check(&self) {
        let (next, edge) = (self.next, self.edge());
        debug_assert!(next <= edge, "{next} in order, a buffer up to {edge}");
        debug_assert!(
            self.reported <= edge,
            "a window up to {} was advertised, not {edge}",
            self.reported
        );
        debug_assert!(self.end.is_none_or(|end| next <= end), "{next} beyond the end");
        debug_assert!(self.held.overlap(0, next).is_none(), "held below {next}");
    }

    /// Takes up to `most` bytes out; `None` if there are none.
    pub(crate) fn read(&mut self, maximum: u32) -> Option<P> {
        let len = self.ready.len().min(u64::from(maximum)) as u32;
        if len == 0 {
            return None;
        }
        let data = self.ready.copy(0, len);
        self.ready.discard(u64::from(len));
        self.check();
        Some(data)
    }

    /// Window reported to the peer, beyond the data in order.
    pub(crate) fn reported_window(&self) -> u64 {
        self.reported.saturating_sub(self.next)
    }

    /// Returns whether the sender may be waiting for a window that has opened since its report: it
    /// had less than half the buffer, and gets a quarter of it or more.
    pub(crate) fn window_has_opened(&self) -> bool {
        let quarter = u64::from(self.capacity / 4);
        !self.is_finished()
            && self.reported_window() < 2 * quarter
            && self.edge() - self.reported >= quarter.max(1)
    }

    /// The acknowledgement of now, with the blocks that changed last.
    pub(crate) fn acknowledge(&mut self, echo: Option<Echo>, max_blocks: usize) -> Ack {
        let cumulative = self.cumulative();
        self.reported = self.reported.max(self.edge());
        let window = self.reported.saturating_sub(cumulative);
        let block = |(start, end): (u64, u64)| {
            let part = |n: u64| NonZeroU32::new(u32::try_from(n).ok()?);
            Some(Block { offset: part(start.checked_sub(cumulative)?)?, len: part(end - start)? })
        };
        let blocks: Blocks = self.held.ranges().take(max_blocks).filter_map(block).collect();
        Ack { cumulative, window: u32::try_from(window).unwrap_or(u32::MAX), echo, blocks }
    }

    /// The window to open a connection with.
    pub(crate) fn window(&self) -> u32 {
        self.capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn taken(receiver: &mut Receiver<Bytes>, seq: u64, data: &'static [u8], fin: bool) -> Arrival {
        receiver.take(seq, &Bytes::from_static(data), fin)
    }

    fn blocks(receiver: &mut Receiver<Bytes>) -> Vec<(u32, u32)> {
        let ack = receiver.acknowledge(None, 8);
        ack.blocks.iter().map(|block| (block.offset.get(), block.len.get())).collect()
    }

    #[test]
    fn gaps_are_told_and_filled() {
        let mut receiver = Receiver::new(100);
        assert_eq!(taken(&mut receiver, 3, b"def", false), Arrival::Fine { is_readable: false });
        assert_eq!(taken(&mut receiver, 8, b"i", true), Arrival::Fine { is_readable: false });
        assert_eq!(blocks(&mut receiver), [(8, 2), (3, 3)], "the end is one");
        assert_eq!(taken(&mut receiver, 0, b"abcd", false), Arrival::Fine { is_readable: true });
        assert_eq!(blocks(&mut receiver), [(2, 2)]);
        assert_eq!(receiver.read(4), Some(Bytes::from_static(b"abcd")));
        assert_eq!(taken(&mut receiver, 6, b"gh", false), Arrival::Fine { is_readable: true });
        assert_eq!((receiver.cumulative(), receiver.is_finished()), (10, true), "the end is one");
        assert_eq!(receiver.read(99), Some(Bytes::from_static(b"efghi")));
    }

    /// The end beyond a gap is reported like data, so that it is not sent again for nothing.
    #[test]
    fn an_end_beyond_a_gap_has_a_block() {
        let mut receiver = Receiver::new(100);
        assert_eq!(taken(&mut receiver, 9, b"", true), Arrival::Fine { is_readable: false });
        assert_eq!(blocks(&mut receiver), [(9, 1)]);
        taken(&mut receiver, 3, b"d", false);
        assert_eq!(blocks(&mut receiver), [(3, 1), (9, 1)]);
        taken(&mut receiver, 8, b"i", false);
        assert_eq!(blocks(&mut receiver), [(8, 2), (3, 1)]);
        taken(&mut receiver, 0, b"abcdefgh", false);
        assert_eq!((receiver.cumulative(), blocks(&mut receiver)), (10, Vec::new()));
    }

    #[test]
    fn nothing_beyond_the_window_is_kept() {
        let mut receiver = Receiver::new(4);
        assert_eq!(taken(&mut receiver, 4, b"x", false), Arrival::Beyond);
        assert_eq!(taken(&mut receiver, 2, b"cdef", true), Arrival::Fine { is_readable: false });
        assert_eq!(blocks(&mut receiver), [(2, 2)], "what fits, and no end");
        assert_eq!(taken(&mut receiver, 0, b"ab", false), Arrival::Fine { is_readable: true });
        assert_eq!(receiver.acknowledge(None, 8).window, 0);
        receiver.read(3);
        assert!(receiver.window_has_opened());
        assert_eq!(receiver.acknowledge(None, 8).window, 3);
        assert!(!receiver.window_has_opened());
    }

    #[test]
    fn the_end_stands() {
        let mut receiver = Receiver::new(100);
        taken(&mut receiver, 5, b"f", true);
        assert_eq!(taken(&mut receiver, 6, b"g", false), Arrival::Contradiction);
        assert_eq!(taken(&mut receiver, 3, b"d", true), Arrival::Contradiction);
        assert_eq!(taken(&mut receiver, 5, b"f", true), Arrival::Fine { is_readable: false });
        let mut receiver = Receiver::new(100);
        taken(&mut receiver, 5, b"f", false);
        assert_eq!(taken(&mut receiver, 3, b"d", true), Arrival::Contradiction);
    }

    #[test]
    fn who_does_not_read_is_told_nothing_new() {
        let mut receiver = Receiver::new(100);
        taken(&mut receiver, 0, b"ab", false);
        receiver.close();
        assert_eq!(taken(&mut receiver, 0, b"ab", false), Arrival::Fine { is_readable: false });
        assert_eq!(taken(&mut receiver, 2, b"", true), Arrival::Fine { is_readable: true });
        assert_eq!(receiver.readable(), 0);
    }
}
