//! Learning how many segments a receiver acknowledges with one ACK.

/// Longest advance weighed, in segments; GRO merges at most 64 KiB. Longer ones teach nothing.
const LONGEST: usize = 64;
/// Weight of one new observation.
const UNIT: u64 = 1 << 20;
/// Each observation shrinks all earlier ones by 2^-8, so some 500 of them count. Fewer would let
/// chance decide at 60 % loss, where one stride has share 0.40 and two have 0.24.
const DECAY_SHIFT: u32 = 8;
/// Observations before the mode is believed: four times the 16 or so segments that a receiver in
/// quick-ACK mode acknowledges one by one before it begins to delay.
const BOOTSTRAP: u32 = 64;
/// A receiver that delays ACKs is recognised where one ACK in this many that stand for one segment
/// has a counterpart for two segments ...
const DELAYED: u64 = 4;
/// ... and at most one ACK in this many stands for more than two. Random loss of p at stride one
/// gives ratios of p and p^2: where it makes the first a quarter, the second is a sixteenth.
const BEYOND_DELAYED: u64 = 32;

/// The stride `b` as the decayed mode of the advances seen.
///
/// If each ACK is lost with probability p < 1, an advance spans j strides with probability
/// (1-p) p^(j-1), which falls with j: the single stride stays the most frequent however many
/// ACKs are lost, where a mean or a median would drift away.
#[derive(Clone, Debug)]
pub(crate) struct StrideEstimator {
    /// By advance in segments, from one.
    weights: [u64; LONGEST],
    seen: u32,
}

impl StrideEstimator {
    pub(crate) fn new() -> Self {
        Self { weights: [0; LONGEST], seen: 0 }
    }

    /// Takes an advance of `segments`; zero is ignored.
    pub(crate) fn observe(&mut self, segments: u32) {
        let Some(slot) = segments.checked_sub(1) else { return };
        for weight in &mut self.weights {
            *weight -= *weight >> DECAY_SHIFT;
        }
        if let Some(weight) = self.weights.get_mut(slot as usize) {
            *weight += UNIT;
        }
        self.seen = self.seen.saturating_add(1);
    }

    /// The stride, or `None` where the advances do not show one: less than three quarters of
    /// them are multiples of their mode. Two segments (RFC 9293 section 3.8.6.3) until enough
    /// was seen, so that a delayed ACK is never mistaken for a loss at the start.
    pub(crate) fn stride(&self) -> Option<u32> {
        if self.seen < BOOTSTRAP {
            return Some(2);
        }
        let maximum = *self.weights.iter().max().filter(|maximum| **maximum > 0)?;
        // At heavy loss the first few multiples are almost equally frequent, and chance may put
        // the second before the first: the least of the nearly most frequent is the stride.
        let mode = self.weights.iter().position(|weight| *weight * 4 >= maximum * 3)? + 1;
        let multiples: u64 = self.weights.iter().skip(mode - 1).step_by(mode).sum();
        let total: u64 = self.weights.iter().sum();
        if mode == 1 && self.delays(total) {
            return Some(2);
        }
        (multiples * 4 >= total * 3).then_some(mode as u32)
    }

    /// Whether the ACKs for single segments are those of a delayed-ACK timer. With a window of
    /// three segments a receiver acknowledges two, then one when its timer expires: single segments
    /// are then as frequent as pairs, though no ACK is lost. If ACKs were lost at a stride of one,
    /// some advances would be longer than two.
    fn delays(&self, total: u64) -> bool {
        let [one, two, ..] = self.weights;
        two * DELAYED >= one && (total - one - two) * BEYOND_DELAYED <= total
    }
}

/// An observation moves the mean by 2^-4.
const MEAN_SHIFT: u32 = 4;
/// Longer advances count as this one, in bytes, so that a sum of 16 fits.
const MAX_ADVANCE: u32 = 1 << 26;

/// The mean advance in bytes, where it is known that each belongs to one ACK. Nothing needs to be
/// inferred then, so a receiver that merges segments of its own accord does no harm.
#[derive(Clone, Debug)]
pub(crate) struct Mean {
    /// Sixteen times the mean.
    sum: u32,
}

impl Mean {
    /// Two segments until more is known. `mss` is above zero.
    pub(crate) fn new(mss: u32) -> Self {
        Self { sum: mss.min(MAX_ADVANCE / 2) << (MEAN_SHIFT + 1) }
    }

    /// Takes an advance that belongs to one ACK.
    pub(crate) fn observe(&mut self, bytes: u32) {
        self.sum = self.sum - (self.sum >> MEAN_SHIFT) + bytes.min(MAX_ADVANCE);
    }

    /// Returns the number of mean advances in `bytes`, to the nearest.
    pub(crate) fn times_in(&self, bytes: u32) -> u64 {
        let sum = u64::from(self.sum.max(1));
        ((u64::from(bytes) << MEAN_SHIFT) + sum / 2) / sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::Seed;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]
        #[test]
        fn the_stride_is_found_through_any_loss_up_to_eighty_percent(
            seed: u64, b in 1u32..=8, percent in 0u32..=80,
        ) {
            let mut acks = Seed(seed).stream("acks");
            let mut learner = StrideEstimator::new();
            for _ in 0..2_000 {
                let mut strides = 1;
                while acks.chance(f64::from(percent) / 100.0) {
                    strides += 1;
                }
                learner.observe(strides * b);
            }
            prop_assert_eq!(learner.stride(), Some(b), "seed {}, loss {} %", seed, percent);
        }
    }

    #[test]
    fn the_mean_is_that_of_the_last_advances() {
        let mut mean = Mean::new(1_000);
        assert_eq!((mean.times_in(2_999), mean.times_in(3_000)), (1, 2));
        (0..200).for_each(|_| mean.observe(8_000));
        assert_eq!((mean.times_in(40_000), mean.times_in(3_999)), (5, 0));
        (0..1_000).for_each(|_| mean.observe(u32::MAX));
        assert_eq!(mean.times_in(u32::MAX), u64::from(u32::MAX).div_ceil(1 << 26));
    }

    #[test]
    fn two_is_assumed_until_enough_advances_were_seen() {
        let mut learner = StrideEstimator::new();
        for _ in 1..BOOTSTRAP {
            learner.observe(1);
            assert_eq!(learner.stride(), Some(2));
        }
        learner.observe(1);
        assert_eq!(learner.stride(), Some(1));
    }

    #[test]
    fn quick_acks_at_the_start_do_not_mislead() {
        let mut learner = StrideEstimator::new();
        (0..16).for_each(|_| learner.observe(1));
        for _ in 0..500 {
            learner.observe(2);
            assert_eq!(learner.stride(), Some(2));
        }
    }

    #[test]
    fn single_segments_of_a_delayed_ack_timer_are_no_stride() {
        let mut learner = StrideEstimator::new();
        // Windows of two, which a timer splits, and of three.
        for advance in [1, 1, 2, 1].into_iter().cycle().take(1_000) {
            learner.observe(advance);
        }
        assert_eq!(learner.stride(), Some(2));
        // One in sixteen ACKs for three segments: ACKs are lost at a stride of one.
        for advance in
            [1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2, 3].into_iter().cycle().take(4_000)
        {
            learner.observe(advance);
        }
        assert_eq!(learner.stride(), Some(1));
    }

    #[test]
    fn a_receiver_that_changes_its_stride_is_followed() {
        let mut learner = StrideEstimator::new();
        (0..1_000).for_each(|_| learner.observe(1));
        (0..300).for_each(|_| learner.observe(2));
        assert_eq!(learner.stride(), None, "in between, no stride is believed");
        (0..200).for_each(|_| learner.observe(2));
        assert_eq!(learner.stride(), Some(2));
    }

    #[test]
    fn strides_beyond_the_longest_are_not_guessed() {
        let mut learner = StrideEstimator::new();
        (0..100).for_each(|_| learner.observe(LONGEST as u32 + 1));
        assert_eq!(learner.stride(), None);
    }

    #[test]
    fn scattered_advances_show_no_stride() {
        let mut learner = StrideEstimator::new();
        (0..1_000u32).for_each(|n| learner.observe([3, 3, 4, 5, 7][n as usize % 5]));
        assert_eq!(learner.stride(), None);
    }
}
