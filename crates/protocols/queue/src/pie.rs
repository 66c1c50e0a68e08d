//! Proportional integral controller enhanced (RFC 8033).

use crate::fifo::Fifo;
use crate::waiting::Waiting;
use crate::{Discipline, Goes, Item, Limit};
use core::fmt::Debug;
use fairwave_trace::DropCause;
use fairwave_units::{Bytes, Duration, Instant, Stream};
use std::collections::VecDeque;

/// Probability one.
const ONE: u64 = 1 << 56;
/// Gains of the delay's distance from its target and of its change, in eighths per second: 0.125
/// and 1.25 (RFC 8033 section 4.2).
const ALPHA: i128 = 1;
const BETA: i128 = 10;
/// Below this many bytes nothing is dropped at random: two full packets (RFC 8033 section 4.1).
const SHORT: u64 = 2 * 1500;
/// Delay from which on the probability rises by 2 % more at each update, as in Linux.
const HIGH: Duration = Duration::from_millis(250);

/// Parameters of PIE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieConfig {
    /// Bound of the queue itself.
    pub limit: Limit,
    /// Delay that the controller aims at (QDELAY_REF).
    pub target: Duration,
    /// Time between two updates of the probability (T_UPDATE).
    pub update: Duration,
    /// Length of the bursts that are let in after a time without congestion (MAX_BURST).
    pub max_burst: Duration,
    /// Mark packets that take part in ECN instead of dropping them, while the probability is at
    /// most 10 %.
    pub ecn: bool,
}

impl PieConfig {
    /// The constants of RFC 8033: 15 ms, 15 ms and 150 ms. No ECN, as in Linux.
    pub const fn of(limit: Limit) -> Self {
        let (target, update) = (Duration::from_millis(15), Duration::from_millis(15));
        Self { limit, target, update, max_burst: Duration::from_millis(150), ecn: false }
    }
}

/// The probability of a signal, and the decision about arrivals.
#[derive(Clone, Debug)]
struct Controller {
    config: PieConfig,
    random: Stream,
    probability: u64,
    /// Sum of the probabilities of the arrivals since the last signal.
    accumulated: u64,
    /// Wait of the packet taken last; zero if it left an empty queue.
    delay: Duration,
    /// The same at the last update.
    delay_before: Duration,
    /// Rest of the burst that is let in.
    burst: Duration,
    update_at: Instant,
}

impl Controller {
    fn new(config: PieConfig, random: Stream) -> Self {
        Self {
            config,
            random,
            probability: 0,
            accumulated: 0,
            delay: Duration::ZERO,
            delay_before: Duration::ZERO,
            burst: config.max_burst,
            update_at: Instant::ZERO + config.update,
        }
    }

    /// Makes up for the updates until now. Between two calls of the queue nothing changes that an
    /// update looks at, so the queue needs no timer.
    fn advance(&mut self, now: Instant) {
        while self.update_at <= now {
            if self.is_at_rest() {
                // All further updates would change nothing.
                let update = self.config.update.as_nanos();
                let late = now.since(self.update_at).as_nanos();
                self.update_at += Duration::from_nanos(late - late % update);
            }
            self.update();
            self.update_at += self.config.update;
        }
    }

    fn is_at_rest(&self) -> bool {
        let is_idle = self.delay == Duration::ZERO && self.delay_before == Duration::ZERO;
        is_idle && self.probability == 0 && self.burst == self.config.max_burst
    }

    /// Updates the probability (RFC 8033 section 4.2).
    fn update(&mut self) {
        let (delay, before) = (self.delay, self.delay_before);
        let nanos = |duration: Duration| i128::from(duration.as_nanos());
        let distance = nanos(delay) - nanos(self.config.target);
        let change = nanos(delay) - nanos(before);
        let gained = (ALPHA * distance + BETA * change) * i128::from(ONE) / 8 / 1_000_000_000;
        let mut delta = gained / self.damping();
        // Section 5.5: no leaps where the probability is high already.
        if self.probability >= ONE / 10 {
            delta = delta.min(i128::from(ONE / 50));
        }
        if delay > HIGH {
            delta += i128::from(ONE / 50);
        }
        let probability = (i128::from(self.probability) + delta).clamp(0, i128::from(ONE));
        self.probability = probability as u64;
        if delay == Duration::ZERO && before == Duration::ZERO {
            self.probability -= self.probability / 50;
        }
        self.delay_before = delay;
        // Section 4.4: the burst allowance is used up, and renewed when congestion is over.
        self.burst = self.burst.saturating_sub(self.config.update);
        let low = self.config.target / 2;
        if self.probability == 0 && delay < low && before < low {
            self.burst = self.config.max_burst;
            self.accumulated = 0;
        }
    }

    /// Divisor of the gains, by the present probability: small probabilities move in small steps
    /// (the table of RFC 8033 section 4.2).
    const fn damping(&self) -> i128 {
        const MILLIONTH: u64 = ONE / 1_000_000;
        match self.probability / MILLIONTH {
            0 => 2048,
            1..10 => 512,
            10..100 => 128,
            100..1_000 => 32,
            1_000..10_000 => 8,
            10_000..100_000 => 2,
            _ => 1,
        }
    }

    /// Whether an arrival at a queue of so many bytes is to be signalled congestion (RFC 8033
    /// sections 4.1 and 5.4).
    fn signals(&mut self, bytes: u64) -> bool {
        if self.burst > Duration::ZERO {
            return false;
        }
        let is_low = self.delay_before < self.config.target / 2 && self.probability < ONE / 5;
        if is_low || bytes <= SHORT {
            return false;
        }
        if self.probability == 0 {
            self.accumulated = 0;
        }
        // Independent draws would drop in clusters and leave long gaps. A signal therefore comes
        // after 0.85/p arrivals at the earliest and after 8.5/p at the latest.
        self.accumulated = self.accumulated.saturating_add(self.probability);
        if self.accumulated < ONE / 100 * 85 {
            return false;
        }
        let is_due = self.accumulated >= ONE / 2 * 17;
        is_due || self.random.next_u64() >> 8 < self.probability
    }
}

/// A first-in first-out queue that drops or marks arrivals with a probability that a controller
/// moves until packets wait for the target.
#[derive(Clone, Debug)]
pub struct Pie<T> {
    items: Fifo<Waiting<T>>,
    controller: Controller,
    dropped: VecDeque<(T, DropCause)>,
}

impl<T: Item> Pie<T> {
    /// An empty queue.
    pub fn new(config: PieConfig, random: Stream) -> Self {
        let controller = Controller::new(config, random);
        Self { items: Fifo::new(), controller, dropped: VecDeque::new() }
    }

    /// Gives out a packet that was taken, whose wait is the delay now.
    fn give(&mut self, now: Instant, taken: Option<Waiting<T>>) -> Option<T> {
        let Waiting { item, since } = taken?;
        let is_last = self.items.len() == 0;
        self.controller.delay = if is_last { Duration::ZERO } else { now.since(since) };
        Some(item)
    }

    fn drop_for(&mut self, cause: DropCause, item: T) {
        self.controller.accumulated = 0;
        self.dropped.push_back((item, cause));
    }
}

impl<T: Item + Debug + Send> Discipline<T> for Pie<T> {
    fn push(&mut self, now: Instant, mut item: T) {
        self.controller.advance(now);
        let PieConfig { limit, ecn, .. } = self.controller.config;
        if !limit.admits(self.items.len(), self.items.bytes(), item.bytes()) {
            return self.drop_for(DropCause::QueueFull, item);
        }
        if self.controller.signals(self.items.bytes().0) {
            // Section 5.1: senders that do not heed marks are dropped at high probabilities.
            let may_mark = ecn && self.controller.probability <= ONE / 10;
            if !(may_mark && item.mark_ce()) {
                return self.drop_for(DropCause::Aqm, item);
            }
            self.controller.accumulated = 0;
        }
        self.items.push(Waiting { item, since: now });
    }

    fn pop(&mut self, now: Instant) -> Option<T> {
        self.controller.advance(now);
        let taken = self.items.pop();
        self.give(now, taken)
    }

    fn pop_to(&mut self, now: Instant, receiver: u32) -> Option<T> {
        self.controller.advance(now);
        let taken = self.items.pop_to(receiver);
        self.give(now, taken)
    }

    fn withdraw(&mut self, _: Instant, receiver: u32, goes: Goes<'_, T>) -> Option<T> {
        let waiting = self.items.withdraw(receiver, &|waiting| goes(&waiting.item))?;
        if self.items.len() == 0 {
            self.controller.delay = Duration::ZERO;
        }
        Some(waiting.item)
    }

    fn peek_to(&self, receiver: u32) -> Option<u32> {
        self.items.peek_to(receiver)
    }

    fn pass(&mut self, now: Instant, item: T) -> Option<T> {
        self.controller.advance(now);
        self.controller.delay = Duration::ZERO;
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

    const CONFIG: PieConfig = PieConfig::of(Limit::Packets(1000));

    fn controller() -> Controller {
        Controller { burst: Duration::ZERO, ..Controller::new(CONFIG, random()) }
    }

    fn percent(controller: &Controller) -> f64 {
        controller.probability as f64 / ONE as f64 * 100.0
    }

    /// From rest to 30 ms: 0.125 * 0.015 + 1.25 * 0.030 = 0.039375, over 2048. Then the delay
    /// stands still: 0.001875 over 128, as the probability is 0.0019 %.
    #[test]
    fn the_probability_moves_by_the_gains_over_the_divisor_of_its_size() {
        let mut controller = controller();
        controller.delay = Duration::from_millis(30);
        controller.update();
        let first = 3.9375 / 2048.0;
        assert!((percent(&controller) - first).abs() < 1e-9, "{}", percent(&controller));
        controller.update();
        let second = first + 0.1875 / 128.0;
        assert!((percent(&controller) - second).abs() < 1e-9, "{}", percent(&controller));
    }

    #[test]
    fn the_divisors_are_those_of_the_rfc() {
        for (millionths, divisor) in
            [(0.5, 2048), (5.0, 512), (50.0, 128), (500.0, 32), (5e3, 8), (5e4, 2), (2e5, 1)]
        {
            let probability = (millionths / 1e6 * ONE as f64) as u64;
            let controller = Controller { probability, ..controller() };
            assert_eq!(controller.damping(), divisor, "{millionths}");
        }
    }

    #[test]
    fn above_ten_percent_it_rises_by_two_at_most_and_more_beyond_250_ms() {
        let delay = Duration::from_millis(200);
        let mut high = Controller { probability: ONE / 5, delay, ..controller() };
        high.update();
        assert!((percent(&high) - 22.0).abs() < 1e-6, "{}", percent(&high));
        high.delay = Duration::from_millis(300);
        high.update();
        assert!((percent(&high) - 26.0).abs() < 1e-6, "{}", percent(&high));
        let mut falls = Controller { probability: ONE / 5, ..controller() };
        falls.update();
        // 20 % - 0.1875 %, then times 0.98 as the delay is zero twice.
        assert!((percent(&falls) - 19.8125 * 0.98).abs() < 1e-6, "{}", percent(&falls));
    }

    /// At 10 %: none of the first eight arrivals, then each with 10 %, and the 86th for certain.
    #[test]
    fn signals_come_neither_in_clusters_nor_far_apart() {
        let (probability, delay_before) = (ONE / 10, CONFIG.target);
        let mut controller = Controller { probability, delay_before, ..controller() };
        let mut gaps = Vec::new();
        for _ in 0..20_000 {
            let gap = (1..).find(|_| controller.signals(100_000)).unwrap();
            controller.accumulated = 0;
            gaps.push(gap);
        }
        assert_eq!(gaps.iter().min(), Some(&9));
        assert!(gaps.iter().all(|gap| *gap <= 86));
        // Eight, and a geometric number of mean 10.
        let mean = f64::from(gaps.iter().sum::<i32>()) / gaps.len() as f64;
        assert!((mean - 18.0).abs() < 0.3, "{mean}");
    }

    /// A queue that gets 2 packets a millisecond and gives one; returns the times of drops.
    fn overload(queue: &mut Pie<Thing>, from: u64, to: u64, ecn: bool) -> Vec<u64> {
        let mut times = Vec::new();
        for t in from..to {
            for id in [2 * t, 2 * t + 1] {
                queue.push(ms(t), Thing { ecn, ..full(id, 1) });
            }
            assert!(queue.pop(ms(t)).is_some());
            times.extend(dropped(queue).iter().map(|_| t));
        }
        times
    }

    #[test]
    fn a_burst_of_150_ms_is_let_in_and_the_next_after_rest() {
        let mut queue = Pie::new(CONFIG, random());
        assert!(overload(&mut queue, 0, 400, false)[0] > 150);
        assert_eq!(queue.controller.burst, Duration::ZERO);
        while queue.pop(ms(400)).is_some() {}
        queue.push(ms(60_000), full(0, 1));
        assert_eq!(queue.controller.burst, CONFIG.max_burst);
        assert_eq!(queue.controller.probability, 0);
        let next = queue.controller.update_at;
        assert!(ms(60_000) < next && next <= ms(60_015), "{next:?}");
    }

    /// Of an overload of 100 % half must go, and the rest waits for about the target.
    #[test]
    fn the_delay_of_a_steady_overload_comes_to_the_target() {
        let mut queue = Pie::new(CONFIG, random());
        overload(&mut queue, 0, 20_000, false);
        let late = overload(&mut queue, 20_000, 40_000, false);
        assert!((late.len() as f64 / 40_000.0 - 0.5).abs() < 0.01, "{}", late.len());
        let mut sum = 0;
        for t in 40_000..41_000 {
            overload(&mut queue, t, t + 1, false);
            sum += queue.controller.delay.as_micros();
        }
        assert!((10_000..20_000).contains(&(sum / 1000)), "{sum}");
    }

    #[test]
    fn packets_of_ecn_are_marked_up_to_ten_percent_and_then_dropped() {
        let mut queue = Pie::new(PieConfig { ecn: true, ..CONFIG }, random());
        let drops = (0..).find_map(|id| {
            queue.push(ms(id / 2), Thing { ecn: true, ..full(id, 1) });
            let drops = dropped(&mut queue);
            if id % 2 == 0 {
                queue.pop(ms(id / 2));
            }
            (!drops.is_empty()).then_some(drops)
        });
        assert_eq!(drops.map(|drops| drops[0].1), Some(DropCause::Aqm));
        assert!(queue.controller.probability > ONE / 10, "{}", percent(&queue.controller));
        let rest = core::iter::from_fn(|| queue.items.pop());
        assert!(rest.filter(|waiting| waiting.item.marked).count() > 5);
    }

    #[test]
    fn a_short_queue_is_left_alone_and_a_full_one_drops_at_its_tail() {
        let mut controller = Controller { probability: ONE, ..controller() };
        assert!(!controller.signals(SHORT) && controller.signals(SHORT + 1));
        let mut queue = Pie::new(PieConfig { limit: Limit::Packets(2), ..CONFIG }, random());
        (0..3).for_each(|id| queue.push(ms(0), full(id, 1)));
        assert_eq!(dropped(&mut queue), [(2, DropCause::QueueFull)]);
    }
}
