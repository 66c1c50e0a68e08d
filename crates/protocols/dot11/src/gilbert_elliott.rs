//! Loss of frames by the two-state Markov model of Gilbert (1960) and Elliott (1963).

use fairwave_units::Stream;

/// Probabilities of the Markov chain. It makes one step for each frame, before the loss of that
/// frame is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// Probability of a step from the good to the bad state.
    pub p: f64,
    /// Probability of a step from the bad to the good state.
    pub r: f64,
    /// Probability of a loss in the good state.
    pub good: f64,
    /// Probability of a loss in the bad state.
    pub bad: f64,
}

impl GilbertElliott {
    /// Share of frames that meet the bad state: p / (p + r). Without transitions the chain stays
    /// in the good state, where it begins.
    pub fn bad_share(&self) -> f64 {
        if self.p > 0.0 { self.p / (self.p + self.r) } else { 0.0 }
    }

    /// Mean number of frames in a stay in the bad state: 1 / r.
    pub fn mean_burst(&self) -> f64 {
        1.0 / self.r
    }

    /// Mean number of frames between two stays in the bad state: 1 / p.
    pub fn mean_gap(&self) -> f64 {
        1.0 / self.p
    }

    /// Share of frames that are lost in the long run.
    pub fn loss(&self) -> f64 {
        let bad = self.bad_share();
        (1.0 - bad) * self.good + bad * self.bad
    }
}

/// State of one link in one direction; it starts in the good state.
#[derive(Clone, Debug)]
pub struct BurstLink {
    stream: Stream,
    is_bad: bool,
}

impl BurstLink {
    /// Creates a link that draws random numbers from `stream`.
    pub const fn new(stream: Stream) -> Self {
        Self { stream, is_bad: false }
    }

    /// Makes a step for the next frame. Returns the probability that this frame is lost.
    pub fn next(&mut self, chain: &GilbertElliott) -> f64 {
        let change = if self.is_bad { chain.r } else { chain.p };
        self.is_bad ^= self.stream.chance(change);
        if self.is_bad { chain.bad } else { chain.good }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::Seed;

    /// Mean runs of lost and of delivered frames, and the share lost, of 400 000 frames.
    fn runs(chain: &GilbertElliott) -> (f64, f64, f64) {
        const FRAMES: u32 = 400_000;
        let mut link = BurstLink::new(Seed(5).stream("burst"));
        let mut fates = Seed(5).stream("fate");
        let (mut lost, mut changes, mut was) = (0.0, 0.0, false);
        for _ in 0..FRAMES {
            let is = fates.chance(link.next(chain));
            lost += f64::from(is);
            changes += f64::from(is && !was);
            was = is;
        }
        (lost / changes, (f64::from(FRAMES) - lost) / changes, lost / f64::from(FRAMES))
    }

    /// With certain loss in the bad state and none in the good, runs of losses are the stays:
    /// 1/r = 4 frames, 1/p = 50 between them, and 0.02 / 0.27 = 7.4 % lost.
    #[test]
    fn bursts_and_gaps_have_their_mean_lengths() {
        let chain = GilbertElliott { p: 0.02, r: 0.25, good: 0.0, bad: 1.0 };
        let (burst, gap, loss) = runs(&chain);
        assert!(
            (chain.mean_burst() - 4.0).abs() < 1e-12 && (chain.mean_gap() - 50.0).abs() < 1e-12
        );
        assert!((burst / 4.0 - 1.0).abs() < 0.03, "{burst}");
        assert!((gap / 50.0 - 1.0).abs() < 0.03, "{gap}");
        assert!((loss - 0.02 / 0.27).abs() < 0.003, "{loss}");
    }

    /// 0.1 / 0.5 of the frames meet the bad state: 0.8 * 0.01 + 0.2 * 0.6 = 0.128.
    #[test]
    fn the_long_run_loss_weighs_both_states() {
        let chain = GilbertElliott { p: 0.1, r: 0.4, good: 0.01, bad: 0.6 };
        assert!((chain.loss() - 0.128).abs() < 1e-12);
        let (_, _, loss) = runs(&chain);
        assert!((loss - 0.128).abs() < 0.003, "{loss}");
    }

    #[test]
    fn a_chain_that_never_moves_stays_good() {
        let chain = GilbertElliott { p: 0.0, r: 0.0, good: 0.0, bad: 1.0 };
        let mut link = BurstLink::new(Seed(1).stream("burst"));
        assert!((0..1000).all(|_| link.next(&chain) == 0.0));
        assert_eq!(chain.loss(), 0.0);
    }
}
