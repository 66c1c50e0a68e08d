//! The number of segments that a receiver acknowledges with one ACK, and missing ACKs.

/// Longest advance weighed, in segments; longer ones teach nothing.
const LONGEST: usize = 64;
/// Advances that are judged together: the stride may change from one block to the next.
const BLOCK: u32 = 1_024;
/// Advances below which no stride is believed, as in the remedy for lost ACKs
/// (docs/models/ack-loss.md): a receiver in quick-ACK mode begins with some sixteen ones.
const ENOUGH: u32 = 64;
/// One advance in this number may be without a believed stride.
const UNSURE: u64 = 10;

/// Collects advances of the cumulative acknowledgement and judges them block by block.
///
/// The stride of a block is its most frequent advance: whatever share of ACKs is lost, an advance
/// of one stride stays the most frequent. At heavy loss the first multiples are almost as frequent,
/// so the smallest advance at least three quarters as frequent as the most frequent one counts. No
/// stride is believed, and no loss is inferred, if less than three quarters of the advances are
/// multiples of it, or if longer multiples are more frequent than losses one by one would make
/// them: a receiver that joins segments (GRO) acknowledges many of them at once, and none of its
/// ACKs was lost.
#[derive(Clone, Debug)]
pub(super) struct Stride {
    /// By advance in segments, from one.
    counts: [u16; LONGEST],
    seen: u32,
    reported: Sums,
}

/// Sums over the blocks so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    stride: Option<u32>,
    lost: u64,
    /// Advances of blocks with a believed stride, and of those without.
    believed: u64,
    unsure: u64,
}

/// Result of all advances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Judged {
    /// Segments that an ACK covers.
    pub(super) stride: u32,
    /// ACKs that are missing.
    pub(super) lost: u64,
}

impl Default for Stride {
    fn default() -> Self {
        Self { counts: [0; LONGEST], seen: 0, reported: Sums::default() }
    }
}

impl Stride {
    /// Takes an advance, and judges the block that it completes.
    pub(super) fn observe(&mut self, segments: u64) {
        let Some(slot) = segments.checked_sub(1) else { return };
        if let Some(count) = self.counts.get_mut(slot as usize) {
            *count += 1;
        }
        self.seen += 1;
        if self.seen == BLOCK {
            self.judge();
        }
    }

    /// Returns the result of all advances, if strides are believed.
    pub(super) fn finish(&mut self) -> Option<Judged> {
        self.judge();
        let Sums { stride, lost, believed, unsure } = self.reported;
        let sure = unsure * UNSURE <= believed;
        Some(Judged { stride: stride.filter(|_| sure)?, lost })
    }

    /// Judges the current block and begins a new one. A short one has the stride of those before.
    fn judge(&mut self) {
        let (reported, seen) = (self.reported, u64::from(self.seen));
        let stride = match self.seen < ENOUGH {
            true => reported.stride,
            false => self.mode().filter(|&stride| self.is_loss(stride)).map(|it| it as u32),
        };
        self.reported = match stride {
            Some(unit) => {
                let missing = |(slot, &count): (usize, &u16)| {
                    (slot as u64 / u64::from(unit)) * u64::from(count)
                };
                let lost: u64 = self.counts.iter().enumerate().map(missing).sum();
                Sums {
                    stride,
                    lost: reported.lost + lost,
                    believed: reported.believed + seen,
                    ..reported
                }
            }
            None => Sums { unsure: reported.unsure + seen, ..reported },
        };
        (self.counts, self.seen) = ([0; LONGEST], 0);
    }

    fn mode(&self) -> Option<usize> {
        let maximum = u32::from(*self.counts.iter().max()?);
        let mode = self.counts.iter().position(|&count| u32::from(count) * 4 >= maximum * 3)? + 1;
        let multiples: u32 = self.multiples(mode).map(|(_, count)| count).sum();
        (multiples * 4 >= self.seen * 3).then_some(mode)
    }

    /// Number of occurrences of each multiple of a stride.
    fn multiples(&self, stride: usize) -> impl Iterator<Item = (u32, u32)> {
        let counts = self.counts.iter().skip(stride - 1).step_by(stride);
        counts.zip(1..).map(|(&count, multiple)| (multiple, u32::from(count)))
    }

    /// Whether losses one by one make multiples as frequent as they are. If each ACK is lost with
    /// probability p, one stride has the share 1 - p and the mean advance is 1 / (1 - p) strides:
    /// their product is one. Long rows of losses and joined segments make it greater.
    fn is_loss(&self, stride: usize) -> bool {
        let (mut all, mut strides, mut ones) = (0u64, 0u64, 0u64);
        for (multiple, count) in self.multiples(stride) {
            all += u64::from(count);
            strides += u64::from(multiple) * u64::from(count);
            ones += if multiple == 1 { u64::from(count) } else { 0 };
        }
        // At most one and a quarter: both sides times 4 x all x all.
        ones * strides * 4 <= all * all * 5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(advances: &[(u64, u32)]) -> Option<Judged> {
        let mut stride = Stride::default();
        for &(segments, times) in advances {
            (0..times).for_each(|_| stride.observe(segments));
        }
        stride.finish()
    }

    #[test]
    fn an_advance_of_three_strides_misses_two_acks() {
        let judged = judge(&[(2, 80), (4, 10), (6, 5), (1, 5)]);
        assert_eq!(judged, Some(Judged { stride: 2, lost: 10 + 2 * 5 }));
        assert_eq!(judge(&[(1, 90), (2, 10)]), Some(Judged { stride: 1, lost: 10 }));
    }

    #[test]
    fn few_advances_show_no_stride() {
        assert_eq!(judge(&[(1, 10), (2, 20), (3, 2)]), None);
    }

    #[test]
    fn advances_of_every_length_show_no_stride() {
        let mixed: Vec<_> = (2..=40).map(|segments| (segments, 3)).collect();
        assert_eq!(judge(&mixed), None);
    }

    /// A receiver with GRO acknowledges one segment while it is in quick-ACK mode, and later as
    /// many as came together.
    #[test]
    fn stretch_acks_of_joined_segments_are_no_losses() {
        assert_eq!(judge(&[(1, 60), (2, 20), (8, 15), (17, 30), (44, 10)]), None);
        assert_eq!(judge(&[(2, 100), (90, 60)]), None);
    }

    #[test]
    fn a_block_is_judged_by_itself_and_a_short_one_by_the_last() {
        let mut stride = Stride::default();
        (1..BLOCK).for_each(|_| stride.observe(2));
        stride.observe(4);
        stride.observe(6);
        assert_eq!(stride.finish(), Some(Judged { stride: 2, lost: 1 + 2 }));
    }
}
