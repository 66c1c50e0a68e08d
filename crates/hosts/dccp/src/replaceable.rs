//! Connections that a new one may replace: those whose handshake is not complete, and those that
//! are over.

use std::collections::BTreeSet;

/// Connections by name, in the order in which they began.
#[derive(Debug)]
pub(crate) struct Replaceable<K> {
    half_open: BTreeSet<K>,
    over: BTreeSet<K>,
    peak: usize,
}

impl<K: Copy + Ord> Replaceable<K> {
    pub(crate) const fn new() -> Self {
        Self { half_open: BTreeSet::new(), over: BTreeSet::new(), peak: 0 }
    }

    /// A handshake begins.
    pub(crate) fn begin(&mut self, id: K) {
        self.half_open.insert(id);
        self.peak = self.peak.max(self.half_open.len());
    }

    /// A handshake is complete.
    pub(crate) fn establish(&mut self, id: K) {
        self.half_open.remove(&id);
    }

    /// A connection is over, and kept for a while.
    pub(crate) fn end(&mut self, id: K) {
        self.half_open.remove(&id);
        self.over.insert(id);
    }

    /// A connection is not kept any longer.
    pub(crate) fn remove(&mut self, id: K) {
        self.half_open.remove(&id);
        self.over.remove(&id);
    }

    /// Number of connections whose handshake is not complete, and the maximum so far.
    pub(crate) fn half_open(&self) -> (usize, usize) {
        (self.half_open.len(), self.peak)
    }

    /// Number of connections that are over.
    pub(crate) fn over(&self) -> usize {
        self.over.len()
    }

    /// The connection whose handshake has taken longest.
    pub(crate) fn slowest(&self) -> Option<K> {
        self.half_open.first().copied()
    }

    /// The first one that is over.
    pub(crate) fn first_over(&self) -> Option<K> {
        self.over.first().copied()
    }
}
