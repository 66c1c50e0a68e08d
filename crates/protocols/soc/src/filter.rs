//! From SNR samples to the SoC: low-pass filters behind one trait.
//!
//! The paper averages the samples of an interval (section 4.2) and names the best filter as future
//! work (section 6); the others are here to answer that. All work on decibels, as the paper's
//! registers did, and use the four basic operations only, so their results are the same on any
//! platform.

use core::fmt::Debug;
use fairwave_units::{Db, Instant};

/// A low-pass filter over SNR samples.
pub trait Filter: Debug + Send {
    /// Takes a sample. Time does not go back.
    fn sample(&mut self, now: Instant, snr: Db);

    /// Ends an interval: the SoC, or `None` if it had no sample.
    fn close(&mut self, now: Instant) -> Option<Db>;
}

/// A filter with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FilterSpec {
    /// The mean of the interval's samples.
    Mean,
    /// Exponentially weighted moving average over samples.
    Ewma {
        /// Weight of a new sample, above 0 and at most 1.
        gain: f64,
    },
    /// The median of the interval's samples, of the latest 255 at most.
    Median,
    /// The estimate of Kalman (1960) for a level that walks at random.
    Kalman {
        /// By how much the level's variance grows in a second, in dB^2.
        drift: f64,
        /// Variance of a sample about the level, in dB^2.
        noise: f64,
    },
}

impl FilterSpec {
    /// A gain at which the average weighs the last eight samples more than all others.
    pub const EWMA: Self = Self::Ewma { gain: 0.125 };

    /// For a walking person: at 1.5 m/s straight away from an access point 10 m off, path loss
    /// with exponent 3 changes by 2 dB in a second, so its variance grows by 4 dB^2. The noise is
    /// the variance of Rayleigh fading in decibels, (10 / ln 10)^2 pi^2 / 6 = 31 dB^2.
    pub const KALMAN: Self = Self::Kalman { drift: 4.0, noise: 31.0 };

    /// A filter without a past.
    pub fn build(self) -> Box<dyn Filter> {
        match self {
            Self::Mean => Box::new(Mean::default()),
            Self::Ewma { gain } => Box::new(Ewma { gain, level: None, fresh: false }),
            Self::Median => Box::new(Median::default()),
            Self::Kalman { drift, noise } => {
                Box::new(Kalman { drift, noise, estimate: None, fresh: false })
            }
        }
    }
}

/// A filter as users choose it.
#[derive(Clone, Copy, Debug)]
pub struct FilterKind {
    /// Its spelling in scenarios.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// The paper that defines it.
    pub source: &'static str,
    /// It with its usual parameters.
    pub spec: FilterSpec,
}

/// Every filter, in the order in which it is listed.
pub const ALL: &[FilterKind] = &[
    FilterKind {
        name: "mean",
        summary: "the mean of an interval's samples",
        source: "Aida, Tobe, Tokuda 2003, section 4.2",
        spec: FilterSpec::Mean,
    },
    FilterKind {
        name: "ewma",
        summary: "exponentially weighted moving average of samples",
        source: "",
        spec: FilterSpec::EWMA,
    },
    FilterKind {
        name: "median",
        summary: "the median of an interval's samples",
        source: "",
        spec: FilterSpec::Median,
    },
    FilterKind {
        name: "kalman",
        summary: "random walk under noise, the gain by their variances and the time since a sample",
        source: "Kalman 1960",
        spec: FilterSpec::KALMAN,
    },
];

#[derive(Debug, Default)]
struct Mean {
    sum: f64,
    count: u32,
}

impl Filter for Mean {
    fn sample(&mut self, _: Instant, snr: Db) {
        self.sum += snr.0;
        self.count += 1;
    }

    fn close(&mut self, _: Instant) -> Option<Db> {
        let Self { sum, count } = std::mem::take(self);
        (count > 0).then(|| Db(sum / f64::from(count)))
    }
}

#[derive(Debug)]
struct Ewma {
    gain: f64,
    level: Option<f64>,
    fresh: bool,
}

impl Filter for Ewma {
    fn sample(&mut self, _: Instant, snr: Db) {
        let level = self.level.map_or(snr.0, |level| level + self.gain * (snr.0 - level));
        self.level = Some(level);
        self.fresh = true;
    }

    fn close(&mut self, _: Instant) -> Option<Db> {
        let fresh = std::mem::take(&mut self.fresh);
        self.level.filter(|_| fresh).map(Db)
    }
}

/// Number of samples of an interval that a median is taken of: it bounds their memory, and keeps
/// their median as exact as a report can be.
const MEDIAN_WINDOW: usize = 255;

#[derive(Debug, Default)]
struct Median {
    samples: Vec<f64>,
    /// Place of the next sample once the window is full.
    oldest: usize,
}

impl Filter for Median {
    fn sample(&mut self, _: Instant, snr: Db) {
        if self.samples.len() < MEDIAN_WINDOW {
            self.samples.push(snr.0);
        } else {
            self.samples[self.oldest] = snr.0;
            self.oldest = (self.oldest + 1) % MEDIAN_WINDOW;
        }
    }

    fn close(&mut self, _: Instant) -> Option<Db> {
        self.samples.sort_unstable_by(f64::total_cmp);
        let upper = self.samples.get(self.samples.len() / 2).copied();
        let lower = self.samples.len().checked_sub(1).map(|last| self.samples[last / 2]);
        self.samples.clear();
        self.oldest = 0;
        Some(Db((lower? + upper?) / 2.0))
    }
}

/// An estimate, the variance of its error in dB^2, and when it was made.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    level: f64,
    variance: f64,
    at: Instant,
}

#[derive(Debug)]
struct Kalman {
    drift: f64,
    noise: f64,
    estimate: Option<Estimate>,
    fresh: bool,
}

impl Filter for Kalman {
    fn sample(&mut self, now: Instant, snr: Db) {
        self.fresh = true;
        let Some(before) = self.estimate else {
            self.estimate = Some(Estimate { level: snr.0, variance: self.noise, at: now });
            return;
        };
        let predicted = before.variance + self.drift * now.since(before.at).as_secs_f64();
        let gain = predicted / (predicted + self.noise);
        debug_assert!((0.0..=1.0).contains(&gain) && before.at <= now, "{self:?} at {now:?}");
        let level = before.level + gain * (snr.0 - before.level);
        self.estimate = Some(Estimate { level, variance: (1.0 - gain) * predicted, at: now });
    }

    fn close(&mut self, _: Instant) -> Option<Db> {
        let fresh = std::mem::take(&mut self.fresh);
        self.estimate.filter(|_| fresh).map(|estimate| Db(estimate.level))
    }
}

#[cfg(test)]
mod tests;
