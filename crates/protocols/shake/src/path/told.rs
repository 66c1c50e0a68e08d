//! The receive window as the peer told it on one path.

/// The newest message that told a window on a path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    /// Its number.
    number: u64,
    /// The highest end of the window told so far, as a stream offset.
    edge: u64,
}

impl Told {
    /// The window before anything was sent ends at `edge`.
    pub(crate) fn open(&mut self, edge: u64) {
        self.edge = self.edge.max(edge);
    }

    /// The message of this number told a window that ends at `edge`. Whether that is before an
    /// end told earlier: messages are told apart by their numbers, as they overtake each other.
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
