//! Sequence numbers of 48 bits as 64-bit numbers that do not wrap.

use fairwave_wire::dccp::Seq48;

/// Value of the first number seen: with as much room below it as it could ever need.
const ORIGIN: u64 = 1 << 50;

/// Extends numbers near the greatest one seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extender {
    greatest: Option<(Seq48, u64)>,
}

impl Extender {
    /// Returns the extended number, and from then on the one nearest to it.
    pub(super) fn take(&mut self, seq: Seq48) -> u64 {
        let extended = self.of(seq).unwrap_or(ORIGIN);
        if self.greatest.is_none_or(|(_, greatest)| extended > greatest) {
            self.greatest = Some((seq, extended));
        }
        extended
    }

    /// The extended number; `None` before the first one was taken.
    pub(super) fn of(self, seq: Seq48) -> Option<u64> {
        let (reference, extended) = self.greatest?;
        Some(if seq.before(reference) {
            extended - reference.distance(seq)
        } else {
            extended + seq.distance(reference)
        })
    }

    /// The greatest number taken, as it was.
    pub(super) fn newest(self) -> Option<Seq48> {
        self.greatest.map(|(seq, _)| seq)
    }

    /// The greatest number taken.
    pub(super) fn greatest(self) -> Option<u64> {
        self.greatest.map(|(_, extended)| extended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn distances_survive_wrap_around(
            start: u64, steps in proptest::collection::vec(-1000i64..1_000_000, 1..50),
        ) {
            let mut extender = Extender::default();
            let first = extender.take(Seq48::new(start));
            let mut at = 0i64;
            for step in steps {
                at = (at + step).max(0);
                let extended = extender.take(Seq48::new(start) + at as u64);
                prop_assert_eq!(extended, first + at as u64);
                prop_assert_eq!(extender.of(Seq48::new(start) + at as u64), Some(extended));
            }
        }
    }
}
