//! Learning how many segments a receiver acknowledges with one ACK.

/// Longest advance weighed, in segments; GRO merges at most 64 KiB. Longer ones teach nothing.
const LONGEST: usize = 64;
/// What one observation weighs when it is new.
const UNIT: u64 = 1 << 20;
/// Each observation shrinks all earlier ones by 2^-8, so some 500 of them count. Fewer would let
/// chance decide at 60 % loss, where one stride has share 0.40 and two have 0.24.
const DECAY_SHIFT: u32 = 8;
/// Observations before the mode is believed: four times the 16 or so segments that a receiver in
/// quick-ACK mode acknowledges one by one before it begins to delay.
const BOOTSTRAP: u32 = 64;

/// The stride `b` as the decayed mode of the advances seen.
///
/// If each ACK is lost with probability p < 1, an advance spans j strides with probability
/// (1-p) p^(j-1), which falls with j: the single stride stays the most frequent however many
/// ACKs are lost, where a mean or a median would drift away.
#[derive(Clone, Debug)]
pub(crate) struct Learner {
    /// By advance in segments, from one.
    weights: [u64; LONGEST],
    seen: u32,
}

impl Learner {
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
        let most = *self.weights.iter().max().filter(|most| **most > 0)?;
        // At heavy loss the first few multiples are almost equally frequent, and chance may put
        // the second before the first: the least of the nearly most frequent is the stride.
        let mode = self.weights.iter().position(|weight| *weight * 4 >= most * 3)? + 1;
        let multiples: u64 = self.weights.iter().skip(mode - 1).step_by(mode).sum();
        let total: u64 = self.weights.iter().sum();
        (multiples * 4 >= total * 3).then_some(mode as u32)
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
            let mut learner = Learner::new();
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
    fn two_is_assumed_until_enough_advances_were_seen() {
        let mut learner = Learner::new();
        for _ in 1..BOOTSTRAP {
            learner.observe(1);
            assert_eq!(learner.stride(), Some(2));
        }
        learner.observe(1);
        assert_eq!(learner.stride(), Some(1));
    }

    #[test]
    fn quick_acks_at_the_start_do_not_mislead() {
        let mut learner = Learner::new();
        (0..16).for_each(|_| learner.observe(1));
        for _ in 0..500 {
            learner.observe(2);
            assert_eq!(learner.stride(), Some(2));
        }
    }

    #[test]
    fn a_receiver_that_changes_its_stride_is_followed() {
        let mut learner = Learner::new();
        (0..1_000).for_each(|_| learner.observe(1));
        (0..300).for_each(|_| learner.observe(2));
        assert_eq!(learner.stride(), None, "in between, no stride is believed");
        (0..200).for_each(|_| learner.observe(2));
        assert_eq!(learner.stride(), Some(2));
    }

    #[test]
    fn strides_beyond_the_longest_are_not_guessed() {
        let mut learner = Learner::new();
        (0..100).for_each(|_| learner.observe(LONGEST as u32 + 1));
        assert_eq!(learner.stride(), None);
    }

    #[test]
    fn scattered_advances_show_no_stride() {
        let mut learner = Learner::new();
        (0..1_000u32).for_each(|n| learner.observe([3, 3, 4, 5, 7][n as usize % 5]));
        assert_eq!(learner.stride(), None);
    }
}
