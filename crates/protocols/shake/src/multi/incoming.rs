//! Input: blocks of all connections, put in order within a bounded buffer.

use super::config::PIECE;
use super::fault::Fault;
use super::leg::{Leg, Reading};
use super::mark::Marked;
use fairwave_tcp::{Reassembly, Store};
use fairwave_wire::multi::Header;

/// Minimum bytes of buffer for each piece that is kept out of order, about the cost of keeping it.
const BYTES_PER_PIECE: u32 = 64;

/// The receiving half of a set.
#[derive(Debug)]
pub(super) struct Incoming<P: Marked> {
    capacity: u32,
    /// In order, not read by the application yet.
    ready: P::Store,
    held: Reassembly<P>,
    /// Bytes that the application has read.
    pub(super) read: u64,
    /// End of the data in order.
    next: u64,
    /// Length of the stream, once a connection has reported it.
    length: Option<u64>,
    /// End of the data in order when there was no reader any more.
    closed_at: Option<u64>,
    /// Bytes that came again.
    pub(super) repeated: u64,
    pub(super) is_readable_reported: bool,
}

impl<P: Marked> Incoming<P> {
    pub(super) fn new(capacity: u32) -> Self {
        Self {
            capacity,
            ready: P::Store::default(),
            held: Reassembly::new((capacity / BYTES_PER_PIECE).max(64) as usize),
            read: 0,
            next: 0,
            length: None,
            closed_at: None,
            repeated: 0,
            is_readable_reported: false,
        }
    }

    /// Bytes in order that wait to be read.
    pub(super) fn bytes_ready(&self) -> u64 {
        self.ready.len()
    }

    /// The whole stream has come.
    pub(super) fn is_complete(&self) -> bool {
        self.length == Some(self.next)
    }

    /// There is no reader any more. The data that waited for it makes room: a peer that waits for
    /// room has to learn of it, too.
    pub(super) fn close(&mut self) {
        self.closed_at.get_or_insert(self.next);
        self.free_ready();
    }

    fn free_ready(&mut self) {
        self.read += self.ready.len();
        self.ready = P::Store::default();
    }

    /// Whether data came in order that nobody will read.
    pub(super) fn is_unread(&self) -> bool {
        self.closed_at.is_some_and(|end| end < self.next)
    }

    /// Takes up to `max` bytes that came in order.
    pub(super) fn take(&mut self, max: u32) -> Option<P> {
        let len = self.ready.len().min(u64::from(max)) as u32;
        if len == 0 {
            return None;
        }
        let data = self.ready.copy(0, len);
        self.ready.discard(u64::from(len));
        self.read += u64::from(len);
        self.is_readable_reported = false;
        Some(data)
    }

    /// Frees the unread data: nothing comes any more.
    pub(super) fn discard(&mut self) {
        self.free_ready();
        self.held = Reassembly::new(0);
    }

    /// Records the position of data, or of the end, by a header: it must be the same stream for
    /// all.
    pub(super) fn check(&self, header: &Header) -> Result<(), Fault> {
        match (*header, self.length) {
            (Header::Block { offset, len }, Some(length))
                if offset + u64::from(len.get()) > length =>
            {
                Err(Fault::BeyondEnd { offset, length })
            }
            (Header::End { offset }, Some(length)) if offset != length => {
                Err(Fault::OtherEnd { offset, length })
            }
            _ => Ok(()),
        }
    }

    /// The stream ends at `offset`.
    pub(super) fn ends_at(&mut self, offset: u64) -> Result<(), Fault> {
        let last = self.held.ranges().map(|(_, end)| end).fold(self.next, u64::max);
        if offset < last {
            return Err(Fault::OtherEnd { offset: last, length: offset });
        }
        self.length = Some(offset);
        Ok(())
    }

    /// Takes as much as fits of the block that a connection is in. Returns whether it was anything.
    pub(super) fn pull(&mut self, leg: &mut Leg<P>) -> bool {
        let Reading::Block { at, left } = leg.reading else { return false };
        let there = leg.bytes_ready().min(u64::from(left)) as u32;
        let end = self.read + u64::from(self.capacity);
        let fits = u64::from(there).min(end.saturating_sub(at)) as u32;
        if at < self.next {
            let again = u64::from(there).min(self.next - at) as u32;
            self.repeated += u64::from(again);
            return again > 0 && leg.read_block(at, left, again).is_some();
        }
        // What is kept for later is kept in pieces, of which there must not be too many.
        let is_worth_it = at == self.next || (fits >= left.min(PIECE) && !self.held.is_full());
        if fits == 0 || !is_worth_it {
            return false;
        }
        let Some(data) = leg.read_block(at, left, fits) else { return false };
        if at == self.next {
            self.append(data);
        } else {
            self.held.insert(at, &data);
        }
        true
    }

    fn append(&mut self, data: P) {
        self.next += u64::from(data.len());
        self.ready.push(data);
        while let Some(data) = self.held.pop(self.next) {
            self.next += u64::from(data.len());
            self.ready.push(data);
        }
        self.held.forget(self.next);
        debug_assert_eq!(self.read + self.ready.len(), self.next, "bytes read and ready");
        let maximum = self.read + u64::from(self.capacity);
        debug_assert!(self.next <= maximum, "{} kept beyond {maximum}", self.next);
        debug_assert!(self.held.overlap(0, self.next).is_none(), "held below {}", self.next);
    }
}
