//! Early signs that a link will fail, by the statistics of its radio (nl80211): a weak signal that
//! falls, frames that the radio gives up, and a rate that falls while attempts fail.

use fairwave_linux::radio::Station;
use fairwave_units::{Duration, Instant};
use std::collections::VecDeque;
use std::fmt;

/// Time over which signs are computed.
const WINDOW: Duration = Duration::from_secs(5);
/// Minimum number of samples of a trend.
const MIN_SAMPLES: usize = 4;
/// Trend that counts as falling, in dB per second: 5 dB in 10 s, a walk away from an access point.
const FALLING: f64 = -0.5;
/// Minimum number of frames sent in the window for a sign by counters. The questions on an idle
/// link are fewer: nothing is known about it.
const MIN_FRAMES: u64 = 50;
/// Part of the frames that were given up after all attempts: with the seven attempts of IEEE
/// 802.11 (`dot11ShortRetryLimit`), two of three attempts fail then.
const GIVEN_UP: f64 = 0.05;
/// Retries of a frame with which half of the attempts fail. Collisions alone reach that with 23
/// saturated stations (model of Bianchi, IEEE JSAC 2000, with CWmin 15 and CWmax 1023).
const RETRIES: f64 = 1.0;
/// Part of the rate before, below which the rate has fallen: two steps of the rates of OFDM.
const FALLEN: f64 = 0.5;
/// A sign is over when the signal exceeds the level by this difference, or when none was seen for
/// this time: a weak link with a steady signal works.
const HYSTERESIS_DB: f64 = 3.0;
const STEADY: Duration = Duration::from_secs(10);

/// Statistics of a radio at a time. Counters begin with the association.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sample {
    pub(crate) dbm: f64,
    pub(crate) tx_kbps: Option<u32>,
    /// Frames sent, their retries, and those that were given up, where the driver counts.
    pub(crate) counters: Option<Counters>,
}

/// Counters of frames to the access point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) frames: u32,
    pub(crate) retries: u32,
    pub(crate) failed: u32,
}

impl Sample {
    /// The statistics of a station's link; `None` without a signal.
    pub(crate) fn of(station: &Station) -> Option<Self> {
        let dbm = station.signal_dbm.or(station.signal_average_dbm)?;
        let counters = match (station.tx_packets, station.tx_retries, station.tx_failed) {
            (Some(frames), Some(retries), Some(failed)) => {
                Some(Counters { frames, retries, failed })
            }
            _ => None,
        };
        Some(Self { dbm: dbm.into(), tx_kbps: station.tx_kbps, counters })
    }
}

/// Reason for which a link is at risk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sign {
    /// Its signal is weak and falls: mean in dBm.
    Signal(f64),
    /// This part of its frames was given up.
    GivenUp(f64),
    /// Its rate fell to this in kilobits per second, and there are so many retries a frame.
    Rate(u32, f64),
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal(dbm) => write!(f, "{dbm:.0} dBm and falling"),
            Self::GivenUp(part) => {
                write!(f, "{:.0} % of its frames are discarded after retries", part * 100.0)
            }
            Self::Rate(kbps, retries) => {
                let mbps = f64::from(*kbps) / 1e3;
                write!(f, "its rate fell to {mbps:.1} Mbps, with {retries:.1} retries a frame")
            }
        }
    }
}

/// Samples of the last seconds, the oldest first.
type Samples = VecDeque<(Instant, Sample)>;

/// The sign in samples of one association, if there is one. `level_dbm` is the level below which a
/// falling signal is a sign.
fn sign(samples: &Samples, level_dbm: f64) -> Option<Sign> {
    let mean = mean_dbm(samples);
    if mean < level_dbm && trend(samples).is_some_and(|trend| trend <= FALLING) {
        return Some(Sign::Signal(mean));
    }
    let counters = |sample: Option<&(Instant, Sample)>| sample?.1.counters;
    let (first, last) = (counters(samples.front())?, counters(samples.back())?);
    let frames = u64::from(last.frames.checked_sub(first.frames)?);
    let part = |before: u32, now: u32| Some(f64::from(now.checked_sub(before)?) / frames as f64);
    if frames < MIN_FRAMES {
        return None;
    }
    let given_up = part(first.failed, last.failed)?;
    if given_up >= GIVEN_UP {
        return Some(Sign::GivenUp(given_up));
    }
    let retries = part(first.retries, last.retries)?;
    let (before, now) = rates(samples)?;
    let has_fallen = f64::from(now) <= FALLEN * f64::from(before);
    (has_fallen && retries >= RETRIES).then_some(Sign::Rate(now, retries))
}

/// Median rates of the first and the second half of the samples. A rate is that of one frame, which
/// may be a beacon's or a trial of the rate control.
fn rates(samples: &Samples) -> Option<(u32, u32)> {
    let half = samples.len() / 2;
    let median = |from: usize, to: usize| {
        let part = samples.range(from..to);
        let mut rates: Vec<u32> = part.filter_map(|(_, sample)| sample.tx_kbps).collect();
        rates.sort_unstable();
        rates.get(rates.len() / 2).copied().filter(|_| rates.len() * 2 >= MIN_SAMPLES)
    };
    Some((median(0, half)?, median(half, samples.len())?))
}

fn mean_dbm(samples: &Samples) -> f64 {
    samples.iter().map(|(_, sample)| sample.dbm).sum::<f64>() / samples.len().max(1) as f64
}

/// Slope of the signal's regression line in dB per second.
fn trend(samples: &Samples) -> Option<f64> {
    let first = samples.front().filter(|_| samples.len() >= MIN_SAMPLES)?.0;
    let seconds = |at: Instant| at.since(first).as_secs_f64();
    let count = samples.len() as f64;
    let mean_s = samples.iter().map(|(at, _)| seconds(*at)).sum::<f64>() / count;
    let mean = mean_dbm(samples);
    let (mut up, mut down) = (0.0, 0.0);
    for (at, sample) in samples {
        let x = seconds(*at) - mean_s;
        up += x * (sample.dbm - mean);
        down += x * x;
    }
    (down > 0.0).then(|| up / down)
}

/// Judges one link by samples of its radio.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    level_dbm: f64,
    samples: Samples,
    /// Latest sign and its time, while the link is at risk.
    seen: Option<(Instant, Sign)>,
}

impl Judge {
    pub(crate) fn new(level_dbm: f64) -> Self {
        Self { level_dbm, samples: VecDeque::new(), seen: None }
    }

    /// Takes a sample, `None` if the link has no signal; returns the latest sign while the link is
    /// at risk.
    pub(crate) fn take(&mut self, now: Instant, sample: Option<Sample>) -> Option<Sign> {
        let Some(sample) = sample else {
            // A link without an association is down, which others notice.
            self.samples.clear();
            self.seen = None;
            return None;
        };
        if self.has_restarted(&sample) {
            self.samples.clear();
        }
        self.samples.push_back((now, sample));
        while self.samples.front().is_some_and(|(at, _)| now.since(*at) > WINDOW) {
            self.samples.pop_front();
        }
        if let Some(sign) = sign(&self.samples, self.level_dbm) {
            self.seen = Some((now, sign));
        }
        let is_strong = mean_dbm(&self.samples) > self.level_dbm + HYSTERESIS_DB;
        self.seen = self.seen.filter(|(at, sign)| {
            let has_recovered = is_strong && matches!(sign, Sign::Signal(_));
            !has_recovered && now.since(*at) < STEADY
        });
        self.seen.map(|(_, sign)| sign)
    }

    /// Whether the counters are those of a new association.
    fn has_restarted(&self, sample: &Sample) -> bool {
        let before = self.samples.back().and_then(|(_, before)| before.counters);
        before.zip(sample.counters).is_some_and(|(before, now)| now.frames < before.frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LEVEL: f64 = -75.0;

    /// Signs in samples that are taken twice a second.
    fn judged(samples: impl IntoIterator<Item = Sample>) -> Vec<Option<Sign>> {
        let mut judge = Judge::new(LEVEL);
        let at = |n: u64| Instant::ZERO + Duration::from_millis(500 * n);
        (0..).zip(samples).map(|(n, sample)| judge.take(at(n), Some(sample))).collect()
    }

    fn by_signal(dbm: impl IntoIterator<Item = f64>) -> Vec<bool> {
        let samples = dbm.into_iter().map(|dbm| Sample { dbm, ..Sample::default() });
        judged(samples).iter().map(Option::is_some).collect()
    }

    /// A strong link with these rates, and 50 frames, so many retries and failures in a sample.
    fn by_counters(samples: impl IntoIterator<Item = (u32, u32, u32)>) -> Vec<Option<Sign>> {
        let mut counters = Counters::default();
        judged(samples.into_iter().map(|(tx_kbps, retries, failed)| {
            counters.frames += 50;
            counters.retries += retries;
            counters.failed += failed;
            Sample { dbm: -50.0, tx_kbps: Some(tx_kbps), counters: Some(counters) }
        }))
    }

    #[test]
    fn a_weak_signal_that_falls_is_a_risk() {
        // 1 dB a second from -65 dBm on: the mean of the last 5 s is below -75 dBm after 12.5 s.
        let found = by_signal((0..40).map(|n| -65.0 - 0.5 * f64::from(n)));
        assert_eq!(found.iter().position(|at_risk| *at_risk), Some(26));
        assert!(found[26..].iter().all(|at_risk| *at_risk));
    }

    #[test]
    fn a_weak_signal_that_stays_and_a_strong_one_that_falls_are_none() {
        assert!(by_signal([-85.0; 100]).iter().all(|at_risk| !at_risk));
        // Samples scatter by 2 dB around -80 dBm.
        let scattered = (0..100).map(|n| -80.0 + f64::from(n * 7 % 5) - 2.0);
        assert!(by_signal(scattered).iter().all(|at_risk| !at_risk));
        assert!(by_signal((0..30).map(|n| -40.0 - f64::from(n))).iter().all(|at_risk| !at_risk));
    }

    #[test]
    fn a_risk_is_over_when_the_signal_is_steady_or_strong() {
        let falls = |n: u32| -70.0 - f64::from(n.min(12));
        let found = by_signal((0..60).map(falls));
        let last = found.iter().rposition(|at_risk| *at_risk).expect("at risk");
        // It falls for 6 s. The trend forgets that after 5 s, the judge after 15 s.
        assert!((30..45).contains(&last), "{last}");
        let rises = (0..60).map(|n| if n < 20 { falls(n) } else { -60.0 });
        let found = by_signal(rises);
        assert!(found[19] && !found[35], "{found:?}");
    }

    #[test]
    fn a_radio_that_gives_up_frames_is_a_risk_until_it_has_not_for_a_while() {
        let found =
            by_counters((0..60).map(|n| (54_000, 0, if (10..14).contains(&n) { 20 } else { 0 })));
        assert_eq!(found[..10], [None; 10]);
        assert!(matches!(found[12], Some(Sign::GivenUp(part)) if part >= GIVEN_UP), "{found:?}");
        // The window has the failures for 5 s more, and the judge remembers them for 10 s.
        assert!(found[40].is_some() && found[50].is_none(), "{found:?}");
    }

    #[test]
    fn a_rate_that_falls_is_a_risk_only_where_attempts_fail() {
        let rate = |n: u32| if n < 20 { 120_000 } else { 26_000 };
        let found = by_counters((0..30).map(|n| (rate(n), 60, 0)));
        assert!(matches!(found[27], Some(Sign::Rate(26_000, _))), "{found:?}");
        assert!(found[..20].iter().all(Option::is_none), "{found:?}");
        // Rate control tries a lower rate, or the access point has fewer streams to offer.
        let found = by_counters((0..30).map(|n| (rate(n), 10, 0)));
        assert!(found.iter().all(Option::is_none), "{found:?}");
        // Frames at the rate of beacons between the others.
        let found = by_counters((0..30).map(|n| (if n % 3 == 0 { 6_000 } else { 120_000 }, 60, 0)));
        assert!(found.iter().all(Option::is_none), "{found:?}");
    }

    #[test]
    fn a_link_without_a_signal_or_with_a_new_association_is_none() {
        let mut judge = Judge::new(LEVEL);
        assert_eq!(judge.take(Instant::ZERO, None), None);
        let counters = |frames, failed| Some(Counters { frames, retries: 0, failed });
        let sample = |frames, failed| Sample {
            dbm: -50.0,
            tx_kbps: None,
            counters: counters(frames, failed),
        };
        let at = |n: u64| Instant::ZERO + Duration::from_millis(500 * n);
        assert_eq!(judge.take(at(1), Some(sample(90_000, 10))), None);
        assert_eq!(judge.take(at(2), Some(sample(100, 60))), None);
    }

    proptest! {
        /// Drivers that count differently, or not at all.
        #[test]
        fn samples_of_any_kind_are_judged(samples: Vec<(i8, u32, u32, u32, u32)>) {
            judged(samples.into_iter().map(|(dbm, rate, frames, retries, failed)| Sample {
                dbm: dbm.into(),
                tx_kbps: (rate > 0).then_some(rate),
                counters: (frames > 0).then_some(Counters { frames, retries, failed }),
            }));
        }

        /// A steady link is not at risk, however weak, slow and lossy it is.
        #[test]
        fn a_steady_link_is_not_at_risk(
            dbm in -95_i8..-30, tx_kbps in 1_000..1_000_000_u32, retries in 0..500_u32,
        ) {
            let sample = |n: u32| {
                let counters = Counters { frames: 50 * n, retries: retries * n, failed: n };
                Sample { dbm: dbm.into(), tx_kbps: Some(tx_kbps), counters: Some(counters) }
            };
            let found = judged((0..100).map(sample));
            prop_assert!(found.iter().all(Option::is_none), "{:?}", found);
        }

        /// Counts of before the window have no effect.
        #[test]
        fn a_sign_depends_on_differences_alone(
            start in 0..u32::MAX / 2, failed in 0..50_u32, retries in 0..200_u32,
        ) {
            let found = |start: u32| judged((0..40).map(|n| {
                let counters = Counters {
                    frames: start + 50 * n,
                    retries: start + retries * n,
                    failed: start + failed * n,
                };
                let tx_kbps = Some(if n < 20 { 100_000 } else { 20_000 });
                Sample { dbm: -50.0, tx_kbps, counters: Some(counters) }
            }));
            prop_assert_eq!(found(0), found(start));
        }
    }
}
