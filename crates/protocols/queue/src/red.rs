//! Random early detection (Floyd, Jacobson: Random Early Detection Gateways for Congestion
//! Avoidance, IEEE/ACM Transactions on Networking 1(4), 1993).

use crate::fifo::Fifo;
use crate::{Discipline, Goes, Item, Limit};
use core::fmt::Debug;
use fairwave_trace::DropCause;
use fairwave_units::{Bytes, Duration, Instant, Stream};
use std::collections::VecDeque;

/// Probability one.
const ONE: u64 = 1 << 32;
/// Bits after the point of an average.
const FRACTION: u32 = 24;
/// Time between two changes of the maximum probability (Floyd, Gummadi, Shenker: Adaptive RED,
/// 2001, section 4; Linux likewise).
const ADAPTATION: Duration = Duration::from_millis(500);

/// Parameters of random early detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedConfig {
    /// Bound of the queue itself.
    pub limit: Limit,
    /// Average length from which on packets are dropped at random; its unit is that of the average.
    pub min_threshold: Limit,
    /// Average length at which the probability reaches its maximum, in the same unit.
    pub max_threshold: Limit,
    /// The maximum probability, in percent.
    pub max_percent: u32,
    /// The average moves by 2^-`weight_shift` of the difference at each arrival.
    pub weight_shift: u32,
    /// Time that a packet takes on the link. An idle queue's average falls as if packets arrived
    /// at these intervals.
    pub packet_time: Duration,
    /// Whether the probability rises from its maximum to one between `max_threshold` and twice
    /// that; otherwise all arrivals above `max_threshold` are dropped.
    pub gentle: bool,
    /// Whether the maximum probability follows the average: Adaptive RED.
    pub adaptive: bool,
    /// Mark packets that take part in ECN instead of dropping them at random.
    pub ecn: bool,
}

impl RedConfig {
    /// The thresholds, the weight and the probability of the paper's simulations: 5 and 15 packets,
    /// 0.002 and 1/50. The time is that of 1000 bytes at 10 Mbps, which `tc` presumes.
    pub const fn of(limit: Limit) -> Self {
        Self {
            limit,
            min_threshold: Limit::Packets(5),
            max_threshold: Limit::Packets(15),
            max_percent: 2,
            weight_shift: 9,
            packet_time: Duration::from_micros(800),
            gentle: false,
            adaptive: false,
            ecn: false,
        }
    }
}

/// Treatment of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Admit,
    /// Signal congestion, by a mark if possible.
    Signal,
    /// Drop it: the average is too large for marks (RFC 3168 section 7).
    Drop,
}

/// The average queue, and the decision about arrivals.
#[derive(Clone, Debug)]
struct Detector {
    config: RedConfig,
    random: Stream,
    /// With [`FRACTION`] bits after the point.
    average: u64,
    idle_since: Option<Instant>,
    max_probability: u64,
    /// Arrivals since the last signal; `None` below the lower threshold and above the upper one.
    count: Option<u64>,
    /// A signal is due when the count times the probability reaches this random number.
    due: u64,
    /// Time of the next change of the maximum probability.
    adapt_at: Instant,
}

/// A length in the unit of its limit, as an average.
const fn measured(limit: Limit) -> u64 {
    match limit {
        Limit::Packets(packets) => (packets as u64) << FRACTION,
        Limit::Bytes(bytes) => bytes.0 << FRACTION,
    }
}

/// `value * numerator / denominator`, for a numerator that is the smaller one.
fn part(value: u64, numerator: u64, denominator: u64) -> u64 {
    (u128::from(value) * u128::from(numerator) / u128::from(denominator.max(1))) as u64
}

impl Detector {
    fn new(config: RedConfig, random: Stream) -> Self {
        debug_assert!(
            measured(config.min_threshold) < measured(config.max_threshold),
            "{config:?}"
        );
        Self {
            config,
            random,
            average: 0,
            idle_since: Some(Instant::ZERO),
            max_probability: ONE * u64::from(config.max_percent) / 100,
            count: None,
            due: 0,
            adapt_at: Instant::ZERO + ADAPTATION,
        }
    }

    /// Decides about a packet that finds a queue of this length (sections 4 and 11 of the paper).
    fn arrive(&mut self, now: Instant, len: u64) -> Verdict {
        if self.config.adaptive {
            self.adapt(now);
        }
        self.average = match self.idle_since {
            Some(since) => {
                // Arrivals that are dropped may come faster than the link could send: the rest of
                // a packet's time counts at the next one.
                let idle = now.since(since).as_nanos();
                let rest = idle % self.config.packet_time.as_nanos().max(1);
                self.idle_since = Some(since + Duration::from_nanos(idle - rest));
                self.decayed(now.since(since))
            }
            None => {
                let (len, shift) = (len << FRACTION, self.config.weight_shift);
                match len.checked_sub(self.average) {
                    Some(more) => self.average + (more >> shift),
                    None => self.average - ((self.average - len) >> shift),
                }
            }
        };
        let Some(probability) = self.probability() else {
            self.count = None;
            return Verdict::Admit;
        };
        if probability >= ONE {
            self.count = None;
            return Verdict::Drop;
        }
        self.draw(probability)
    }

    /// The average after the queue was empty for a time: (1 - w)^m of it, for the m packets that
    /// the link could have sent.
    fn decayed(&self, idle: Duration) -> u64 {
        let mut left = idle.as_nanos() / self.config.packet_time.as_nanos().max(1);
        let (mut power, mut factor) = (ONE - (ONE >> self.config.weight_shift), ONE);
        while left > 0 && factor > 0 {
            if left % 2 == 1 {
                factor = part(factor, power, ONE);
            }
            power = part(power, power, ONE);
            left /= 2;
        }
        part(self.average, factor, ONE)
    }

    /// The probability of a signal by the average alone; `None` below the lower threshold.
    fn probability(&self) -> Option<u64> {
        let (average, most) = (self.average, self.max_probability);
        let [min, max] = [self.config.min_threshold, self.config.max_threshold].map(measured);
        if average < max {
            return Some(part(most, average.checked_sub(min)?, max - min));
        }
        if self.config.gentle && average < 2 * max {
            return Some(most + part(ONE - most, average - max, max));
        }
        Some(ONE)
    }

    /// Signals after a number of arrivals that is uniform from 1 to the inverse of the probability,
    /// so that signals come neither in clusters nor far apart (section 7 of the paper, method 2).
    fn draw(&mut self, probability: u64) -> Verdict {
        let count = self.count.map_or(0, |count| count.saturating_add(1));
        let is_due = count > 0 && count.saturating_mul(probability) >= self.due;
        self.count = Some(if is_due { 0 } else { count });
        if self.count == Some(0) {
            self.due = self.random.next_u64() >> 32;
        }
        if is_due { Verdict::Signal } else { Verdict::Admit }
    }

    /// Moves the maximum probability, every half second, so that the average stays in the middle
    /// fifth between the thresholds: up by a quarter of it or 0.01, down by a tenth of it, between
    /// 0.01 and 0.5.
    fn adapt(&mut self, now: Instant) {
        let [min, max] = [self.config.min_threshold, self.config.max_threshold].map(measured);
        let fifth = (max - min) / 5;
        while self.adapt_at <= now {
            let idle = self.idle_since.map_or(Duration::ZERO, |since| self.adapt_at.since(since));
            let average = self.decayed(idle);
            let most = self.max_probability;
            if average > min + 3 * fifth && most <= ONE / 2 {
                self.max_probability += (most / 4).min(ONE / 100);
            } else if average < min + 2 * fifth && most >= ONE / 100 {
                self.max_probability -= most / 10;
            }
            self.adapt_at += ADAPTATION;
        }
    }
}

/// A first-in first-out queue that drops or marks arrivals at random, the more of them the longer
/// the queue is on average, so that senders slow down before it is full.
#[derive(Clone, Debug)]
pub struct Red<T> {
    items: Fifo<T>,
    detector: Detector,
    dropped: VecDeque<(T, DropCause)>,
}

impl<T: Item> Red<T> {
    /// An empty queue.
    pub fn new(config: RedConfig, random: Stream) -> Self {
        let detector = Detector::new(config, random);
        Self { items: Fifo::new(), detector, dropped: VecDeque::new() }
    }

    /// The arriving item, unless it is dropped early.
    fn admit(&mut self, now: Instant, mut item: T) -> Option<T> {
        let len = match self.detector.config.min_threshold {
            Limit::Packets(_) => u64::from(self.items.len()),
            Limit::Bytes(_) => self.items.bytes().0,
        };
        let admitted = match self.detector.arrive(now, len) {
            Verdict::Admit => true,
            Verdict::Signal => self.detector.config.ecn && item.mark_ce(),
            Verdict::Drop => false,
        };
        if admitted {
            return Some(item);
        }
        self.dropped.push_back((item, DropCause::Aqm));
        None
    }

    /// Notes since when the queue is idle, if it is.
    fn note_idle(&mut self, now: Instant) {
        match self.items.len() {
            0 => _ = self.detector.idle_since.get_or_insert(now),
            _ => self.detector.idle_since = None,
        }
    }
}

impl<T: Item + Debug + Send> Discipline<T> for Red<T> {
    fn push(&mut self, now: Instant, item: T) {
        if let Some(item) = self.admit(now, item) {
            let limit = self.detector.config.limit;
            if limit.admits(self.items.len(), self.items.bytes(), item.bytes()) {
                self.items.push(item);
            } else {
                self.dropped.push_back((item, DropCause::QueueFull));
            }
        }
        self.note_idle(now);
    }

    fn pop(&mut self, now: Instant) -> Option<T> {
        let item = self.items.pop();
        self.note_idle(now);
        item
    }

    fn pop_to(&mut self, now: Instant, receiver: u32) -> Option<T> {
        let item = self.items.pop_to(receiver);
        self.note_idle(now);
        item
    }

    fn withdraw(&mut self, now: Instant, receiver: u32, goes: Goes<'_, T>) -> Option<T> {
        let item = self.items.withdraw(receiver, goes);
        self.note_idle(now);
        item
    }

    fn peek_to(&self, receiver: u32) -> Option<u32> {
        self.items.peek_to(receiver)
    }

    fn pass(&mut self, now: Instant, item: T) -> Option<T> {
        let item = self.admit(now, item)?;
        self.detector.idle_since = Some(now);
        Some(item)
    }

    fn dropped(&mut self) -> Option<(T, DropCause)> {
        self.dropped.pop_front()
    }

    fn len(&self) -> u32 {
        self.items.len()
    }

    fn bytes(&self) -> Bytes {
        self.items.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Thing, dropped, full, ms, random};

    const NOW: Instant = Instant::ZERO;

    fn config() -> RedConfig {
        RedConfig::of(Limit::Packets(1000))
    }

    /// A detector whose average is pinned to a length.
    fn pinned(config: RedConfig, packets: u32) -> Detector {
        let average = measured(Limit::Packets(packets));
        Detector { average, idle_since: None, ..Detector::new(config, random()) }
    }

    /// Numbers of the arrivals, of `count` at a queue of this length, that are not admitted.
    fn signals(detector: &mut Detector, len: u64, count: u64) -> Vec<u64> {
        (1..=count).filter(|_| detector.arrive(NOW, len) != Verdict::Admit).collect()
    }

    /// After L arrivals at a queue that grows from empty the average is
    /// L + 1 + ((1-w)^(L+1) - 1)/w, the queue being counted with the arrival (equation 2 of the
    /// paper; 4.88 for w = 0.001 and L = 100). For w = 2^-10 that is 4.77.
    #[test]
    fn a_burst_raises_the_average_as_the_paper_computes() {
        let mut detector = pinned(RedConfig { weight_shift: 10, ..config() }, 0);
        for len in 1..=100 {
            detector.arrive(NOW, len);
        }
        let packets = detector.average as f64 / f64::from(1 << FRACTION);
        assert!((packets - 4.77).abs() < 0.01, "{packets}");
    }

    /// The table in Linux's `red.h`: with a lower threshold of 32 packets and w = 2^-9 a burst of
    /// 190 packets is let in.
    #[test]
    fn a_burst_of_the_length_that_the_weight_allows_is_let_in() {
        let (min_threshold, max_threshold) = (Limit::Packets(32), Limit::Packets(96));
        let config = RedConfig { min_threshold, max_threshold, max_percent: 100, ..config() };
        let mut queue = Red::new(config, random());
        (0..190).for_each(|id| queue.push(NOW, full(id, 1)));
        assert_eq!((queue.len(), dropped(&mut queue)), (190, vec![]));
        (190..400).for_each(|id| queue.push(NOW, full(id, 1)));
        assert!(!dropped(&mut queue).is_empty());
    }

    /// Half way between the thresholds p is half of 1/50: one arrival of a uniform number from 1
    /// to 100 is dropped, 50.5 on average.
    #[test]
    fn drops_come_at_uniform_distances() {
        let at = signals(&mut pinned(config(), 10), 10, 1_000_000);
        let gaps: Vec<u64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        assert!((mean - 50.5).abs() < 1.0, "{mean}");
        assert_eq!(gaps.iter().max(), Some(&100));
        for tenth in 0..10 {
            let inside = gaps.iter().filter(|&&gap| (gap - 1) / 10 == tenth).count();
            let share = inside as f64 / gaps.len() as f64;
            assert!((share - 0.1).abs() < 0.01, "{share} of the gaps are in tenth {tenth}");
        }
    }

    #[test]
    fn nothing_is_dropped_below_and_everything_above_the_thresholds() {
        assert_eq!(signals(&mut pinned(config(), 4), 4, 1000), []);
        assert_eq!(signals(&mut pinned(config(), 15), 15, 1000).len(), 1000);
        // Gently, the probability is that of the maximum and then rises to one.
        let gentle = RedConfig { gentle: true, ..config() };
        assert_eq!(pinned(gentle, 15).probability(), Some(ONE / 50));
        let half = pinned(RedConfig { max_percent: 20, ..gentle }, 15);
        let half = Detector { average: measured(Limit::Packets(45)) / 2, ..half };
        let probability = half.probability().unwrap() as f64 / ONE as f64;
        assert!((probability - 0.6).abs() < 1e-6, "{probability}");
        assert_eq!(signals(&mut pinned(gentle, 30), 30, 1000).len(), 1000);
    }

    /// 80 ms of idleness are 100 packets of 0.8 ms: (511/512)^100 = 0.822.
    #[test]
    fn an_idle_queues_average_decays_by_the_packets_that_it_could_have_sent() {
        let mut detector = pinned(config(), 14);
        detector.idle_since = Some(NOW);
        detector.arrive(ms(80), 0);
        let packets = detector.average as f64 / f64::from(1 << FRACTION);
        assert!((packets - 14.0 * 0.8224).abs() < 0.001, "{packets}");
        detector.idle_since = Some(ms(80));
        detector.arrive(ms(10_000_000), 0);
        assert_eq!(detector.average, 0);
    }

    /// 1000 arrivals, 0.1 ms apart, that are all dropped: 125 packets of 0.8 ms.
    #[test]
    fn an_idle_queues_average_decays_between_close_arrivals_too() {
        let mut queue = Red::new(config(), random());
        queue.detector.average = measured(Limit::Packets(30));
        for tenth in 1..=1000 {
            queue.push(Instant::from_nanos(tenth * 100_000), full(tenth, 1));
        }
        assert_eq!(dropped(&mut queue).len(), 1000);
        let packets = queue.detector.average as f64 / f64::from(1 << FRACTION);
        assert!((packets - 30.0 * 0.7832).abs() < 0.01, "{packets}");
    }

    /// From 2 %: by a quarter, 2.5 %, then 3.125 and 3.906 %, then by 1 %; down by a tenth.
    #[test]
    fn the_maximum_probability_follows_the_average() {
        let adaptive = RedConfig { adaptive: true, ..config() };
        let percent = |detector: &Detector| detector.max_probability as f64 / ONE as f64 * 100.0;
        let mut high = pinned(adaptive, 14);
        for (at, expected) in [(499, 2.0), (500, 2.5), (1000, 3.125), (1500, 3.906), (2500, 5.883)]
        {
            high.arrive(ms(at), 14);
            assert!((percent(&high) - expected).abs() < 0.01, "{at} ms: {}", percent(&high));
        }
        let mut low = pinned(adaptive, 6);
        low.arrive(ms(1000), 6);
        assert!((percent(&low) - 1.62).abs() < 0.01, "{}", percent(&low));
        let mut middle = pinned(adaptive, 10);
        middle.arrive(ms(10_000), 10);
        assert!((percent(&middle) - 2.0).abs() < 1e-6, "{}", percent(&middle));
    }

    #[test]
    fn packets_of_ecn_are_marked_at_random_but_dropped_above_the_upper_threshold() {
        let thing = |id| Thing { ecn: true, ..full(id, 1) };
        let mut queue = Red::new(RedConfig { ecn: true, ..config() }, random());
        for id in 0..10 {
            queue.items.push(thing(id));
        }
        queue.detector.average = measured(Limit::Packets(10));
        queue.detector.idle_since = None;
        let marked = (10..1010).filter(|&id| {
            queue.push(NOW, thing(id));
            queue.pop(NOW).is_some_and(|thing| thing.marked)
        });
        assert!((10..40).contains(&marked.count()));
        assert_eq!(dropped(&mut queue), []);
        queue.detector.average = measured(Limit::Packets(20));
        queue.push(NOW, thing(2000));
        assert_eq!(dropped(&mut queue), [(2000, DropCause::Aqm)]);
    }

    #[test]
    fn a_full_queue_drops_at_its_tail_and_bytes_can_be_counted() {
        let (min_threshold, max_threshold) =
            (Limit::Bytes(Bytes(30_000)), Limit::Bytes(Bytes(90_000)));
        let config =
            RedConfig { limit: Limit::Packets(3), min_threshold, max_threshold, ..config() };
        let mut queue = Red::new(config, random());
        (0..5).for_each(|id| queue.push(NOW, full(id, 1)));
        assert_eq!(dropped(&mut queue), [(3, DropCause::QueueFull), (4, DropCause::QueueFull)]);
        let at = signals(&mut pinned(config, 0), 91_000, 5000);
        assert!(at.first().is_some_and(|first| *first > 100), "{at:?}");
        assert_eq!(at.last(), Some(&5000));
    }
}
