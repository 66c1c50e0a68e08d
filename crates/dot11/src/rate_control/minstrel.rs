//! Rate control by measured success, in the style of Linux's Minstrel-HT.
//!
//! Every 50 ms each rate's share of acknowledged MPDUs goes into an average that keeps 75 % of
//! its past. Frames go at the rate whose success over airtime is highest, their retries at the
//! second best, at the most reliable and at the slowest rate. One frame in ten tries another rate
//! at its first attempt (`net/mac80211/rc80211_minstrel_ht.c`; the documentation of madwifi's
//! Minstrel by Smithies, 2005).

use super::control::{RateControl, Setup};
use fairwave_units::{Duration, Instant, Stream};

/// Linux's interval since 5.12; 100 ms before.
const INTERVAL: Duration = Duration::from_millis(50);
/// What an average keeps of its past.
const KEPT: f64 = 0.75;
/// Of this many frames one is a sample.
const FRAMES_PER_SAMPLE: u64 = 10;
/// Rates that succeed more rarely have no throughput.
const HOPELESS: f64 = 0.1;
/// Success above this counts as this: some losses are collisions, which no rate avoids.
const GOOD_ENOUGH: f64 = 0.9;
/// A rate that succeeds at least so often counts as reliable.
const RELIABLE: f64 = 0.75;
/// Intervals after which even a rate slower than the best is sampled again: one second.
const STALE: u32 = 20;
/// Attempts at each stage of the retry chain.
const ATTEMPTS: u32 = 2;

#[derive(Clone, Copy, Debug)]
struct Rate {
    seconds: f64,
    sent: u32,
    acknowledged: u32,
    /// Average success; `None` before the first attempt.
    success: Option<f64>,
    /// Intervals since it was last tried.
    age: u32,
}

impl Rate {
    fn throughput(&self) -> f64 {
        let success = self.success.unwrap_or(0.0);
        if success < HOPELESS { 0.0 } else { success.min(GOOD_ENOUGH) / self.seconds }
    }

    fn end_interval(&mut self) {
        self.age = if self.sent > 0 { 0 } else { self.age.saturating_add(1) };
        if self.sent == 0 {
            return;
        }
        debug_assert!(self.acknowledged <= self.sent, "{self:?}");
        let share = f64::from(self.acknowledged) / f64::from(self.sent);
        self.success = Some(self.success.map_or(share, |old| KEPT * old + (1.0 - KEPT) * share));
        (self.sent, self.acknowledged) = (0, 0);
    }
}

/// The state for one receiver.
#[derive(Clone, Debug)]
pub struct Minstrel {
    rates: Vec<Rate>,
    /// Best throughput, second best, most reliable.
    chain: [usize; 3],
    interval_ends: Instant,
    frames: u64,
    samples: u64,
    /// The rate that this frame's first attempt tries.
    sample: Option<usize>,
    /// The order of samples, and the place in it.
    order: Vec<usize>,
    place: usize,
    stream: Stream,
}

impl Minstrel {
    /// Begins at `setup.initial`, knowing nothing.
    pub fn new(setup: Setup) -> Self {
        let rate = |airtime: &Duration| Rate {
            seconds: airtime.as_secs_f64(),
            sent: 0,
            acknowledged: 0,
            success: None,
            age: STALE,
        };
        let rates: Vec<Rate> = setup.airtimes.iter().map(rate).collect();
        Self {
            order: (0..rates.len()).collect(),
            place: rates.len(),
            rates,
            chain: [setup.initial, setup.initial.saturating_sub(1), 0],
            interval_ends: Instant::ZERO + INTERVAL,
            frames: 0,
            samples: 0,
            sample: None,
            stream: setup.stream,
        }
    }

    fn end_interval(&mut self, now: Instant) {
        self.interval_ends = now + INTERVAL;
        self.rates.iter_mut().for_each(Rate::end_interval);
        let best = self.highest(|_| true);
        let second = self.highest(|i| i != best);
        let reliable = |i: usize| self.rates[i].success.is_some_and(|s| s >= RELIABLE);
        let sure = if (0..self.rates.len()).any(reliable) {
            self.highest(reliable)
        } else {
            self.most_successful()
        };
        self.chain = [best, second, sure];
    }

    /// The rate with the highest throughput of those that `fits`; the slowest if none has any.
    fn highest(&self, fits: impl Fn(usize) -> bool) -> usize {
        let candidates = (0..self.rates.len()).filter(|i| fits(*i));
        let key = |i: &usize| self.rates[*i].throughput();
        // A tie goes to the slower rate, which needs less SNR.
        candidates.max_by(|a, b| key(a).total_cmp(&key(b)).then(b.cmp(a))).unwrap_or(0)
    }

    fn most_successful(&self) -> usize {
        let success = |i: &usize| self.rates[*i].success.unwrap_or(0.0);
        let all = 0..self.rates.len();
        all.max_by(|a, b| success(a).total_cmp(&success(b)).then(b.cmp(a))).unwrap_or(0)
    }

    /// The next rate worth a sample, if it is the turn of one.
    fn next_sample(&mut self) -> Option<usize> {
        if self.samples * FRAMES_PER_SAMPLE >= self.frames {
            return None;
        }
        self.samples += 1;
        if self.place >= self.order.len() {
            self.shuffle();
        }
        let candidate = self.order[self.place];
        self.place += 1;
        let (rate, best) = (&self.rates[candidate], &self.rates[self.chain[0]]);
        let worth = rate.seconds < best.seconds || rate.age >= STALE;
        (worth && candidate != self.chain[0]).then_some(candidate)
    }

    fn shuffle(&mut self) {
        self.place = 0;
        for i in (1..self.order.len()).rev() {
            let other = self.stream.below(i as u64 + 1) as usize;
            self.order.swap(i, other);
        }
    }
}

impl RateControl for Minstrel {
    fn choose(&mut self, now: Instant, attempt: u32) -> usize {
        if now >= self.interval_ends {
            self.end_interval(now);
        }
        if attempt == 0 {
            self.frames += 1;
            self.sample = self.next_sample();
        }
        match (self.sample, attempt) {
            (Some(sample), 0) => sample,
            (sampled, attempt) => {
                let stage = (attempt - u32::from(sampled.is_some())) / ATTEMPTS;
                self.chain.get(stage as usize).copied().unwrap_or(0)
            }
        }
    }

    fn hear(&mut self, _: Instant, rate: usize, sent: u32, acknowledged: u32) {
        self.rates[rate].sent += sent;
        self.rates[rate].acknowledged += acknowledged;
    }
}
