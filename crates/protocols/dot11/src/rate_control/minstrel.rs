//! Rate control by measured success, as Linux's Minstrel-HT does it.
//!
//! Every 50 ms the share of MPDUs acknowledged at each rate enters a filtered average, and the
//! number of MPDUs in an A-MPDU a moving one. Frames are sent at the rate with the most
//! throughput: its share of successes, divided by the time of an MPDU and of its part of the
//! PPDU's overhead. Every 20 ms one PPDU with a single MPDU is a sample of another rate.
//!
//! Behaviour of `net/mac80211/rc80211_minstrel_ht.c` in Linux 5.12 and later.

mod samples;

use super::control::{Choice, Rate, RateControl, Setup};
use fairwave_units::{Duration, Instant};
use samples::Samples;

/// Interval at which averages are taken and rates chosen anew.
const INTERVAL: Duration = Duration::from_millis(50);
/// Weights of the new share and of the last two values in the average of a rate's success: a
/// low-pass filter of second order with a period of 16 intervals.
const FILTER: [f64; 3] = [0.286_4, 1.287_3, -0.573_7];
/// Share of the past in the mean length of A-MPDUs.
const KEPT: f64 = 0.75;
/// Rates that succeed more rarely have no throughput.
const HOPELESS: f64 = 0.1;
/// Success above this counts as this: some losses are collisions, which no rate avoids.
const GOOD_ENOUGH: f64 = 0.9;
/// A rate that succeeds more often counts as reliable.
const RELIABLE: f64 = 0.75;
/// A rate with more MPDUs in an interval is judged before its end.
const ENOUGH: u32 = 30;
/// Attempts at each stage of the retry chain.
const ATTEMPTS: u32 = 2;

/// Measurements of a rate.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    /// MPDUs of this interval.
    sent: u32,
    acknowledged: u32,
    /// Filtered success and its value an interval with attempts before; `None` where nothing is
    /// known.
    success: Option<(f64, f64)>,
    /// Whether there was an attempt ever.
    was_tried: bool,
}

impl Measured {
    fn success(&self) -> f64 {
        self.success.map_or(0.0, |(now, _)| now)
    }

    fn end_interval(&mut self) {
        if self.sent == 0 {
            return;
        }
        debug_assert!(self.acknowledged <= self.sent, "{self:?}");
        self.was_tried = true;
        let share = f64::from(self.acknowledged) / f64::from(self.sent);
        self.success = Some(match self.success {
            None => (share, share),
            Some((last, before)) => {
                let [new, first, second] = FILTER;
                // The filter overshoots.
                ((new * share + first * last + second * before).clamp(0.0, 1.0), last)
            }
        });
        (self.sent, self.acknowledged) = (0, 0);
    }

    /// A rate that was never tried is taken to succeed as often as a faster one of its group does,
    /// whose success is `faster`. The filter's older value stays at 0, as in Linux.
    fn inherit(&mut self, faster: f64) {
        if !self.was_tried && faster > self.success() {
            self.success = Some((faster, 0.0));
        }
    }

    /// Whether it failed outright in this interval: less than a quarter of more than 30 MPDUs.
    const fn fails(&self) -> bool {
        self.sent > ENOUGH && 4 * self.acknowledged < self.sent
    }
}

/// The state for one receiver.
#[derive(Clone, Debug)]
pub struct Minstrel {
    rates: Vec<Rate>,
    measured: Vec<Measured>,
    /// Maximum throughput, second to that, most reliable.
    chain: [usize; 3],
    interval_ends: Instant,
    /// PPDUs of this interval, and their MPDUs.
    ppdus: u32,
    mpdus: u32,
    /// Moving average of MPDUs in a PPDU, from 1.
    mean_mpdus: f64,
    samples: Samples,
    /// The chain of the frame under way.
    frame: [usize; 3],
    /// Whether the first attempt at this frame was a sample.
    sampled: bool,
    /// Attempts at this frame that are not counted yet: rate, MPDUs sent and acknowledged.
    attempts: Vec<(usize, u32, u32)>,
}

impl Minstrel {
    /// Knows nothing, and begins at `setup.initial`, without one at the slowest rate as Linux
    /// does.
    pub fn new(setup: Setup) -> Self {
        let initial = setup.initial.unwrap_or(0);
        let chain = [initial, initial.saturating_sub(1), 0];
        let mut minstrel = Self {
            measured: vec![Measured::default(); setup.rates.len()],
            chain,
            frame: chain,
            interval_ends: Instant::ZERO + INTERVAL,
            ppdus: 0,
            mpdus: 0,
            mean_mpdus: 1.0,
            samples: Samples::new(&setup.rates, setup.stream),
            sampled: false,
            attempts: Vec::new(),
            rates: setup.rates,
        };
        minstrel.refill();
        minstrel
    }

    /// Counts the attempts at a frame, all at once when the last is over: the hardware goes through
    /// the chain by itself and reports then.
    fn count_attempts(&mut self) {
        let Some(&(_, mpdus, _)) = self.attempts.last() else { return };
        self.ppdus += 1;
        self.mpdus += mpdus;
        for (rate, sent, acknowledged) in self.attempts.drain(..) {
            self.measured[rate].sent += sent;
            self.measured[rate].acknowledged += acknowledged;
        }
        self.downgrade();
    }

    fn end_interval(&mut self, now: Instant) {
        self.interval_ends = now + INTERVAL;
        if self.ppdus > 0 {
            let mean = f64::from(self.mpdus) / f64::from(self.ppdus);
            self.mean_mpdus = KEPT * self.mean_mpdus + (1.0 - KEPT) * mean;
            (self.ppdus, self.mpdus) = (0, 0);
        }
        self.average();
        if self.measured.iter().any(|measured| measured.success.is_some()) {
            let best = self.fastest(|_| true).unwrap_or(0);
            let second = self.fastest(|i| i != best).unwrap_or(best);
            self.chain = [best, second, self.surest(best)];
        }
        self.refill();
        self.samples.restart(now);
    }

    /// Takes the averages of all rates, in each group from the fastest to the slowest.
    fn average(&mut self) {
        let (mut group, mut faster) = (usize::MAX, 0.0);
        for (rate, measured) in self.rates.iter().zip(&mut self.measured).rev() {
            if rate.group != group {
                (group, faster) = (rate.group, 0.0);
            }
            measured.end_interval();
            measured.inherit(faster);
            if measured.was_tried {
                faster = faster.max(measured.success());
            }
        }
    }

    /// Where one of the best two rates fails outright, its stage does not wait for the end of the
    /// interval: it falls to the best (or second best) rate of the group with one stream less, of
    /// the next narrower one where there is a single stream.
    fn downgrade(&mut self) {
        for stage in 0..2 {
            let failing = self.chain[stage];
            if !self.measured[failing].fails() {
                continue;
            }
            if let Some(group) = self.samples.group_below(&self.rates, failing) {
                let is_in = |i: usize| self.rates[i].group == group;
                let best = self.fastest(is_in).unwrap_or(failing);
                let second = self.fastest(|i| is_in(i) && i != best).unwrap_or(best);
                self.chain[stage] = [best, second][stage];
            }
        }
    }

    fn refill(&mut self) {
        let measured = &self.measured;
        self.samples.refill(&self.rates, self.chain, |i| measured[i].success());
    }

    /// MPDUs a second at a rate, in A-MPDUs of the mean length.
    fn throughput(&self, rate: usize) -> f64 {
        let success = self.measured[rate].success();
        if success < HOPELESS {
            return 0.0;
        }
        let Rate { mpdu, overhead, .. } = self.rates[rate];
        let share = overhead.as_secs_f64() / self.mean_mpdus;
        success.min(GOOD_ENOUGH) / (share + mpdu.as_secs_f64())
    }

    /// Returns the rate of maximum throughput of those that `fits`. Of equals the one that succeeds
    /// more often, then the one that comes first and needs less SNR.
    fn fastest(&self, fits: impl Fn(usize) -> bool) -> Option<usize> {
        let key = |i: usize| (self.throughput(i), self.measured[i].success());
        let better = |a: &usize, b: &usize| {
            let (a_key, b_key) = (key(*a), key(*b));
            let order = a_key.0.total_cmp(&b_key.0).then(a_key.1.total_cmp(&b_key.1));
            order.then(b.cmp(a))
        };
        (0..self.rates.len()).filter(|i| fits(*i)).max_by(better)
    }

    /// Returns the rate for frames that fail at the best two: the fastest reliable one, of fewer
    /// streams than the best where there is such.
    fn surest(&self, best: usize) -> usize {
        let success = |i: usize| self.measured[i].success();
        // One that is faster than the best and fails more often is no way out.
        let slower = |i: usize| self.rates[i].mpdu >= self.rates[best].mpdu;
        let fits = |i: usize| slower(i) || success(i) >= success(best);
        let surest_of = |fits: &dyn Fn(usize) -> bool| {
            let reliable = self.fastest(|i| fits(i) && success(i) > RELIABLE);
            reliable.or_else(|| {
                let all = (0..self.rates.len()).filter(|i| fits(*i));
                all.max_by(|a, b| success(*a).total_cmp(&success(*b)).then(b.cmp(a)))
            })
        };
        let streams = self.rates[best].streams;
        let fewer = surest_of(&|i| fits(i) && self.rates[i].streams < streams);
        let fewer = fewer.filter(|i| self.throughput(*i) > 0.0);
        fewer.or_else(|| surest_of(&fits)).unwrap_or(0)
    }
}

impl RateControl for Minstrel {
    fn choose(&mut self, now: Instant, attempt: u32) -> Choice {
        if attempt == 0 {
            self.count_attempts();
            if now >= self.interval_ends {
                self.end_interval(now);
            }
            self.frame = self.chain;
            let sample = self.samples.next(now);
            self.sampled = sample.is_some();
            if let Some(rate) = sample {
                return Choice { rate, is_sample: true };
            }
        }
        // A sample takes the place of the first stage, and its retries are of its one MPDU.
        let stage = match attempt {
            1.. if self.sampled => 1 + (attempt - 1) / ATTEMPTS,
            _ => attempt / ATTEMPTS,
        };
        let rate = self.frame.get(stage as usize).copied().unwrap_or(0);
        Choice { rate, is_sample: self.sampled && attempt > 0 }
    }

    fn current(&self) -> usize {
        self.chain[0]
    }

    fn on_attempt(&mut self, _: Instant, rate: usize, sent: u32, acknowledged: u32) {
        self.attempts.push((rate, sent, acknowledged));
        if acknowledged > 0 {
            self.count_attempts();
        }
    }
}
