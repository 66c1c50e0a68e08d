//! Data still to be written by an application that writes as much as fits.

use fairwave_units::Bytes;

/// Bytes that an application still has to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Backlog {
    /// `None` never ends.
    left: Option<u64>,
}

impl Backlog {
    /// Nothing is left to write.
    pub(super) const EMPTY: Self = Self { left: Some(0) };

    /// So much is to be written; `None` never ends.
    pub(super) fn new(size: Option<Bytes>) -> Self {
        Self { left: size.map(|size| size.0) }
    }

    pub(super) fn is_empty(self) -> bool {
        self.left == Some(0)
    }

    /// Adds this number of bytes to the data to write.
    pub(super) fn add(&mut self, bytes: u64) {
        self.left = self.left.map(|left| left + bytes);
    }

    /// Takes as many bytes as fit into `space`.
    pub(super) fn take(&mut self, space: u32) -> u32 {
        let Some(left) = &mut self.left else { return space };
        let bytes = u64::from(space).min(*left) as u32;
        *left -= u64::from(bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_taken_until_nothing_is_left() {
        let mut backlog = Backlog::new(Some(Bytes(5_000_000_000)));
        assert_eq!(backlog.take(u32::MAX), u32::MAX);
        assert_eq!(backlog.take(u32::MAX), 705_032_705);
        assert_eq!(backlog.take(1), 0);
        assert!(backlog.is_empty());
        backlog.add(7);
        assert_eq!((backlog.take(3), backlog.take(3), backlog.take(3)), (3, 3, 1));
    }

    #[test]
    fn without_a_size_it_never_ends() {
        let mut backlog = Backlog::new(None);
        assert_eq!((backlog.take(u32::MAX), backlog.take(9)), (u32::MAX, 9));
        backlog.add(1);
        assert!(!backlog.is_empty());
    }
}
