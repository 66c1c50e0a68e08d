//! The receive window as the peer reported it on one path.

/// The newest message that reported a window on a path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReportedWindow {
    /// Its number.
    number: u64,
    /// The highest reported end of the window, as a stream offset.
    edge: u64,
}

impl ReportedWindow {
    /// The window before anything was sent ends at `edge`.
    pub(crate) fn open(&mut self, edge: u64) {
        self.edge = self.edge.max(edge);
    }

    /// Records that the message of this number reported a window that ends at `edge`. Returns
    /// whether that is before an earlier end: messages are ordered by their numbers, as they
    /// overtake each other.
    pub(crate) fn take(&mut self, number: u64, edge: u64) -> bool {
        if number <= self.number {
            return false;
        }
        self.number = number;
        let shrinks = edge < self.edge;
        self.edge = self.edge.max(edge);
        shrinks
    }
}
