//! Automatic rate fallback, plain and adaptive.
//!
//! ARF: Kamerman and Monteban, "WaveLAN-II: a high-performance wireless LAN for the unlicensed
//! band", Bell Labs Technical Journal 2(3), 1997. AARF: Lacage, Manshaei and Turletti, "IEEE
//! 802.11 rate adaptation: a practical approach", MSWiM 2004.

use super::control::{Choice, Rate, RateControl, Setup};
use fairwave_units::Instant;

/// Successes in a row before the next rate is tried.
const SUCCESSES: u32 = 10;
/// Maximum that AARF waits for.
const MAX_SUCCESSES: u32 = 50;
/// Failures in a row before the rate falls.
const FAILURES: u32 = 2;

/// One rate up after enough successes in a row, or after half as many attempts again; one down
/// after two failures in a row, or if the first frame at a new rate fails. It climbs a ladder of
/// rates each of which needs more SNR than the one below.
#[derive(Clone, Debug)]
pub struct Arf {
    /// Indices of rates.
    ladder: Vec<usize>,
    /// Place on the ladder.
    rung: usize,
    successes: u32,
    failures: u32,
    /// Attempts at this rate: the timer of the paper, which counts frames.
    attempts: u32,
    /// Successes that it waits for.
    patience: u32,
    adapts: bool,
    /// Whether the next frame is the first at a rate just risen to.
    probes: bool,
}

impl Arf {
    /// Plain ARF. Without an initial rate it begins at the fastest.
    pub fn new(setup: &Setup) -> Self {
        let ladder = ladder(&setup.rates);
        let initial = setup.initial.unwrap_or(setup.rates.len() - 1);
        let rung = ladder.iter().rposition(|rate| *rate <= initial).unwrap_or(0);
        let (successes, failures, attempts, patience) = (0, 0, 0, SUCCESSES);
        let (adapts, probes) = (false, false);
        Self { ladder, rung, successes, failures, attempts, patience, adapts, probes }
    }

    /// AARF: a failed probe doubles the successes waited for, up to 50; a fall for other reasons
    /// resets them.
    pub fn adaptive(setup: &Setup) -> Self {
        Self { adapts: true, ..Self::new(setup) }
    }

    fn succeed(&mut self) {
        self.successes += 1;
        self.failures = 0;
        self.probes = false;
        let waited = self.successes >= self.patience || self.attempts >= self.patience * 3 / 2;
        if waited && self.rung + 1 < self.ladder.len() {
            self.go_to(self.rung + 1);
            self.probes = true;
        }
    }

    fn fail(&mut self) {
        self.failures += 1;
        self.successes = 0;
        if !self.probes && self.failures < FAILURES {
            return;
        }
        if self.adapts {
            self.patience =
                if self.probes { (2 * self.patience).min(MAX_SUCCESSES) } else { SUCCESSES };
        }
        debug_assert!((SUCCESSES..=MAX_SUCCESSES).contains(&self.patience), "{self:?}");
        self.go_to(self.rung.saturating_sub(1));
    }

    fn go_to(&mut self, rung: usize) {
        debug_assert!(rung < self.ladder.len(), "rung {rung} of {self:?}");
        (self.successes, self.failures, self.attempts) = (0, 0, 0);
        (self.rung, self.probes) = (rung, false);
    }
}

/// The rates of the last group, and below them the slowest one of each group that is slower than
/// all of those: with fewer streams or less width it reaches further.
fn ladder(rates: &[Rate]) -> Vec<usize> {
    let last = rates.last().map_or(0, |rate| rate.group);
    let top = rates.partition_point(|rate| rate.group < last);
    let is_first = |i: usize| i == 0 || rates[i].group != rates[i - 1].group;
    let mut ladder: Vec<usize> =
        (0..top).filter(|i| is_first(*i) && rates[*i].mpdu > rates[top].mpdu).collect();
    ladder.sort_by_key(|i| core::cmp::Reverse(rates[*i].mpdu));
    ladder.dedup_by_key(|i| rates[*i].mpdu);
    ladder.extend(top..rates.len());
    ladder
}

impl RateControl for Arf {
    fn choose(&mut self, _: Instant, _: u32) -> Choice {
        Choice::usual(self.current())
    }

    fn current(&self) -> usize {
        self.ladder[self.rung]
    }

    /// An aggregate of which less than half was acknowledged is a failure.
    fn on_attempt(&mut self, _: Instant, _: usize, sent: u32, acknowledged: u32) {
        self.attempts += 1;
        if acknowledged > 0 && 2 * acknowledged >= sent { self.succeed() } else { self.fail() }
    }
}
