//! How many segments a receiver acknowledges with one ACK, and which ACKs are missing.

/// Longest advance weighed, in segments; longer ones teach nothing.
const LONGEST: usize = 64;
/// Advances that are judged together: the stride may change from one block to the next.
const BLOCK: u32 = 1_024;
/// Advances below which no stride is believed, as in the remedy for lost ACKs
/// (docs/models/ack-loss.md): a receiver in quick-ACK mode begins with some sixteen ones.
const ENOUGH: u32 = 64;
/// The stride while none is believed (RFC 9293 section 3.8.6.3: at least every second segment).
const ASSUMED: usize = 2;

/// Collects advances of the cumulative acknowledgement and judges them block by block.
///
/// The stride of a block is its most frequent advance: whatever share of ACKs is lost, an advance
/// of one stride stays the most frequent. At heavy loss the first multiples are almost as
/// frequent, so the least advance at least three quarters as frequent as the most frequent one
/// counts. If less than three quarters of the advances are multiples of it (GRO, stretch ACKs),
/// no stride is believed and nothing is counted.
#[derive(Clone, Debug)]
pub(super) struct Stride {
    /// By advance in segments, from one.
    counts: [u16; LONGEST],
    seen: u32,
}

/// What a block of advances came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Judged {
    /// Segments that an ACK covers, if the advances show it.
    pub(super) stride: Option<u32>,
    /// ACKs that are missing.
    pub(super) lost: u64,
}

impl Default for Stride {
    fn default() -> Self {
        Self { counts: [0; LONGEST], seen: 0 }
    }
}

impl Stride {
    /// Takes an advance, and judges the block that it completes.
    pub(super) fn observe(&mut self, segments: u64) -> Option<Judged> {
        let slot = usize::try_from(segments).ok()?.checked_sub(1)?;
        *self.counts.get_mut(slot)? += 1;
        self.seen += 1;
        (self.seen == BLOCK).then(|| self.judge())
    }

    /// Judges what there is and begins a new block.
    pub(super) fn judge(&mut self) -> Judged {
        let block = core::mem::take(self);
        let stride = match block.seen < ENOUGH {
            true => None,
            false => match block.mode() {
                Some(mode) => Some(mode),
                None => return Judged::default(),
            },
        };
        let unit = stride.unwrap_or(ASSUMED);
        let missing = |(slot, &count): (usize, &u16)| (slot / unit) as u64 * u64::from(count);
        let lost = block.counts.iter().enumerate().map(missing).sum();
        Judged { stride: stride.map(|stride| stride as u32), lost }
    }

    fn mode(&self) -> Option<usize> {
        let most = u32::from(*self.counts.iter().max()?);
        let mode = self.counts.iter().position(|&count| u32::from(count) * 4 >= most * 3)? + 1;
        let multiples = self.counts.iter().skip(mode - 1).step_by(mode);
        let multiples: u32 = multiples.map(|&count| u32::from(count)).sum();
        (multiples * 4 >= self.seen * 3).then_some(mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(advances: &[(u64, u32)]) -> Judged {
        let mut stride = Stride::default();
        for &(segments, times) in advances {
            (0..times).for_each(|_| assert_eq!(stride.observe(segments), None));
        }
        stride.judge()
    }

    #[test]
    fn an_advance_of_three_strides_misses_two_acks() {
        let judged = judge(&[(2, 80), (4, 10), (6, 5), (1, 5)]);
        assert_eq!(judged, Judged { stride: Some(2), lost: 10 + 2 * 5 });
        assert_eq!(judge(&[(1, 90), (2, 10)]), Judged { stride: Some(1), lost: 10 });
    }

    #[test]
    fn few_advances_are_taken_for_delayed_acks() {
        assert_eq!(judge(&[(1, 10), (2, 20), (3, 2)]), Judged { stride: None, lost: 2 });
    }

    #[test]
    fn advances_of_every_length_show_no_stride() {
        let mixed: Vec<_> = (2..=40).map(|segments| (segments, 3)).collect();
        assert_eq!(judge(&mixed), Judged::default());
    }

    #[test]
    fn a_block_is_judged_by_itself() {
        let mut stride = Stride::default();
        (1..BLOCK).for_each(|_| assert_eq!(stride.observe(2), None));
        assert_eq!(stride.observe(4), Some(Judged { stride: Some(2), lost: 1 }));
        assert_eq!(stride.judge(), Judged::default());
    }
}
