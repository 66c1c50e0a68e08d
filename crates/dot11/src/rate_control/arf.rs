//! Automatic rate fallback, plain and adaptive.
//!
//! ARF: Kamerman and Monteban, "WaveLAN-II: a high-performance wireless LAN for the unlicensed
//! band", Bell Labs Technical Journal 2(3), 1997. AARF: Lacage, Manshaei and Turletti, "IEEE
//! 802.11 rate adaptation: a practical approach", MSWiM 2004.

use super::control::{RateControl, Setup};
use fairwave_units::Instant;

/// Successes in a row before the next rate is tried.
const SUCCESSES: u32 = 10;
/// The most that AARF waits for.
const MOST_SUCCESSES: u32 = 50;
/// Failures in a row before the rate falls.
const FAILURES: u32 = 2;

/// One rate up after enough successes in a row, or after half as many attempts again; one down
/// after two failures in a row, or if the first frame at a new rate fails.
#[derive(Clone, Copy, Debug)]
pub struct Arf {
    rate: usize,
    highest: usize,
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
    /// Plain ARF.
    pub fn new(setup: &Setup) -> Self {
        Self {
            rate: setup.initial,
            highest: setup.airtimes.len() - 1,
            successes: 0,
            failures: 0,
            attempts: 0,
            patience: SUCCESSES,
            adapts: false,
            probes: false,
        }
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
        if waited && self.rate < self.highest {
            self.go_to(self.rate + 1);
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
                if self.probes { (2 * self.patience).min(MOST_SUCCESSES) } else { SUCCESSES };
        }
        debug_assert!((SUCCESSES..=MOST_SUCCESSES).contains(&self.patience), "{self:?}");
        self.go_to(self.rate.saturating_sub(1));
    }

    fn go_to(&mut self, rate: usize) {
        debug_assert!(rate <= self.highest, "rate {rate} of {self:?}");
        let (patience, adapts, highest) = (self.patience, self.adapts, self.highest);
        (self.successes, self.failures, self.attempts) = (0, 0, 0);
        *self = Self { rate, highest, patience, adapts, probes: false, ..*self };
    }
}

impl RateControl for Arf {
    fn choose(&mut self, _: Instant, _: u32) -> usize {
        self.rate
    }

    /// An aggregate of which less than half was acknowledged is a failure.
    fn hear(&mut self, _: Instant, _: usize, sent: u32, acknowledged: u32) {
        self.attempts += 1;
        if acknowledged > 0 && 2 * acknowledged >= sent { self.succeed() } else { self.fail() }
    }
}
