//! Links that are likely to fail soon, by the signal of their radio (nl80211).

use fairwave_linux::radio::Radio;
use fairwave_units::{Duration, Instant};
use std::collections::VecDeque;

/// Time over which the trend is computed.
const WINDOW: Duration = Duration::from_secs(5);
/// Fewest samples of a trend.
const MIN_SAMPLES: usize = 4;
/// Trend that counts as falling, in dB per second: 5 dB in 10 s, a walk away from an access point.
const FALLING: f64 = -0.5;
/// A link is not at risk any more when its signal exceeds the level by this difference, or has not
/// fallen for this time: a weak link with a steady signal works.
const HYSTERESIS_DB: f64 = 3.0;
const STEADY: Duration = Duration::from_secs(10);

/// Judges one link by samples of its signal.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    /// Level in dBm below which a falling signal is a risk.
    level: f64,
    samples: VecDeque<(Instant, f64)>,
    /// Time of the latest sample with a falling trend, while the link is at risk.
    fell_at: Option<Instant>,
}

impl Judge {
    pub(crate) fn new(level_dbm: f64) -> Self {
        Self { level: level_dbm, samples: VecDeque::new(), fell_at: None }
    }

    /// Takes a sample, `None` if the link has no signal; returns whether the link is at risk.
    pub(crate) fn take(&mut self, now: Instant, dbm: Option<f64>) -> bool {
        let Some(dbm) = dbm else {
            // A link without an association is down, which others notice.
            self.samples.clear();
            self.fell_at = None;
            return false;
        };
        self.samples.push_back((now, dbm));
        while self.samples.front().is_some_and(|(at, _)| now.since(*at) > WINDOW) {
            self.samples.pop_front();
        }
        let mean = self.mean();
        if mean < self.level && self.trend().is_some_and(|trend| trend <= FALLING) {
            self.fell_at = Some(now);
        }
        let is_over = |at: Instant| mean > self.level + HYSTERESIS_DB || now.since(at) >= STEADY;
        self.fell_at = self.fell_at.filter(|at| !is_over(*at));
        self.fell_at.is_some()
    }

    fn mean(&self) -> f64 {
        self.samples.iter().map(|(_, dbm)| dbm).sum::<f64>() / self.samples.len().max(1) as f64
    }

    /// Slope of the regression line in dB per second.
    fn trend(&self) -> Option<f64> {
        let first = self.samples.front().filter(|_| self.samples.len() >= MIN_SAMPLES)?.0;
        let seconds = |at: Instant| at.since(first).as_secs_f64();
        let count = self.samples.len() as f64;
        let mean_s = self.samples.iter().map(|(at, _)| seconds(*at)).sum::<f64>() / count;
        let mean_db = self.mean();
        let (mut up, mut down) = (0.0, 0.0);
        for (at, dbm) in &self.samples {
            let x = seconds(*at) - mean_s;
            up += x * (dbm - mean_db);
            down += x * x;
        }
        (down > 0.0).then(|| up / down)
    }
}

/// Signal of the radio of an interface in dBm; `None` if it is no station of an access point.
pub(crate) fn signal_dbm(radio: &mut Radio, interface: &str) -> Option<f64> {
    let index = radio.interface(interface).ok()?.index;
    let station = radio.link(index).ok()??;
    station.signal_dbm.or(station.signal_average_dbm).map(f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judgements of a signal sampled twice a second.
    fn judged(dbm: impl IntoIterator<Item = f64>) -> Vec<bool> {
        let mut judge = Judge::new(-75.0);
        let at = |n: u64| Instant::ZERO + Duration::from_millis(500 * n);
        (0..).zip(dbm).map(|(n, dbm)| judge.take(at(n), Some(dbm))).collect()
    }

    #[test]
    fn a_weak_signal_that_falls_is_a_risk() {
        // 1 dB a second from -65 dBm on: the mean of the last 5 s is below -75 dBm after 12.5 s.
        let found = judged((0..40).map(|n| -65.0 - 0.5 * f64::from(n)));
        assert_eq!(found.iter().position(|at_risk| *at_risk), Some(26));
        assert!(found[26..].iter().all(|at_risk| *at_risk));
    }

    #[test]
    fn a_weak_signal_that_stays_and_a_strong_one_that_falls_are_none() {
        assert!(judged([-85.0; 100]).iter().all(|at_risk| !at_risk));
        // Samples scatter by 2 dB around -80 dBm.
        let scattered = (0..100).map(|n| -80.0 + f64::from(n * 7 % 5) - 2.0);
        assert!(judged(scattered).iter().all(|at_risk| !at_risk));
        assert!(judged((0..30).map(|n| -40.0 - f64::from(n))).iter().all(|at_risk| !at_risk));
    }

    #[test]
    fn a_risk_is_over_when_the_signal_is_steady_or_strong() {
        let falls = |n: u32| -70.0 - f64::from(n.min(12));
        let found = judged((0..60).map(falls));
        let last = found.iter().rposition(|at_risk| *at_risk).expect("at risk");
        // It falls for 6 s. The trend forgets that after 5 s, the judge after 15 s.
        assert!((30..45).contains(&last), "{last}");
        let rises = (0..60).map(|n| if n < 20 { falls(n) } else { -60.0 });
        let found = judged(rises);
        assert!(found[19] && !found[35], "{found:?}");
    }

    #[test]
    fn a_link_without_a_signal_is_none() {
        let mut judge = Judge::new(-75.0);
        assert!(!judge.take(Instant::ZERO, None));
    }
}
