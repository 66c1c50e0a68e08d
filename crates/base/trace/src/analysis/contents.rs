//! Protocols of a capture that the analysis does not read, each counted by its number.

use fairwave_wire::link::Content;

/// Number of different protocols that are counted apart.
const PLACES: usize = 24;

/// Frames and packets by protocol; those of protocols beyond `PLACES` are counted together, so
/// that a capture of random bytes takes no more room than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    counts: [(Content, u64); PLACES],
    /// Number of places in use.
    used: usize,
    others: u64,
}

impl Default for Contents {
    fn default() -> Self {
        Self { counts: [(Content::Ip(0), 0); PLACES], used: 0, others: 0 }
    }
}

impl Contents {
    /// The protocols that were counted apart, in the order of their first packets.
    pub fn iter(&self) -> impl Iterator<Item = (Content, u64)> {
        self.counts.iter().take(self.used).copied()
    }

    /// Number of frames and packets of further protocols.
    pub const fn others(&self) -> u64 {
        self.others
    }

    pub(super) fn count(&mut self, content: Content) {
        let known = &mut self.counts[..self.used];
        if let Some((_, count)) = known.iter_mut().find(|(known, _)| *known == content) {
            *count += 1;
        } else if let Some(place) = self.counts.get_mut(self.used) {
            *place = (content, 1);
            self.used += 1;
        } else {
            self.others += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_place_is_counted_together() {
        let mut contents = Contents::default();
        for kind in (0..40).chain(0..40) {
            contents.count(Content::EtherType(kind));
        }
        assert_eq!(contents.iter().count(), PLACES);
        assert!(contents.iter().all(|(_, count)| count == 2));
        assert_eq!(contents.others(), 2 * (40 - PLACES as u64));
    }
}
