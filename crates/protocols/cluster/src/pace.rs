//! Times of repeated messages to all: often at first, then seldom, never in step.

use fairwave_units::{Duration, Instant, Stream};

/// Parts of the interval by which it is shortened or lengthened at random.
const JITTER: u64 = 5;

/// The times of announcements, or of queries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    first: Duration,
    every: Duration,
    step: Duration,
    last: Option<Instant>,
    next: Option<Instant>,
}

impl Pace {
    /// A silent one.
    pub(crate) fn new(first: Duration, every: Duration) -> Self {
        Self { first, every, step: first, last: None, next: None }
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Begins, unless it has. Hosts that are switched on together do not speak together.
    pub(crate) fn start(&mut self, now: Instant, random: &mut Stream) {
        if self.next.is_none() {
            self.step = self.first;
            self.next = Some(now + Duration::from_nanos(random.below(self.first.as_nanos())));
        }
    }

    pub(crate) fn stop(&mut self) {
        self.next = None;
    }

    /// Schedules a new message as early as permitted.
    pub(crate) fn hurry(&mut self, now: Instant) {
        let soonest = self.last.map_or(now, |last| (last + self.first).max(now));
        self.next = self.next.map(|next| next.min(soonest));
    }

    /// Whether it is time; the next time follows.
    pub(crate) fn is_due(&mut self, now: Instant, random: &mut Stream) -> bool {
        if self.next.is_none_or(|next| next > now) {
            return false;
        }
        let spread = self.step / JITTER;
        let drawn = Duration::from_nanos(random.below(2 * spread.as_nanos().max(1)));
        self.last = Some(now);
        self.next = Some(now + self.step.saturating_sub(spread) + drawn);
        self.step = (self.step * 2).min(self.every);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::Seed;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn often_at_first_then_seldom_and_never_in_step() {
        let ms = Duration::from_millis;
        for seed in 0..50 {
            let mut random = Seed(seed).stream("pace");
            let mut pace = Pace::new(ms(250), ms(5_000));
            pace.start(at(1_000), &mut random);
            let mut last = pace.next().unwrap();
            assert!(last >= at(1_000) && last < at(1_250));
            for step in [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000] {
                assert!(!pace.is_due(last - Duration::from_nanos(1), &mut random));
                assert!(pace.is_due(last, &mut random));
                let next = pace.next().unwrap();
                assert!(next >= last + ms(step * 4 / 5) && next <= last + ms(step * 6 / 5));
                last = next;
            }
        }
    }

    #[test]
    fn news_do_not_wait_and_do_not_flood() {
        let mut random = Seed(1).stream("pace");
        let ms = Duration::from_millis;
        let mut pace = Pace::new(ms(250), ms(5_000));
        pace.hurry(at(0));
        assert_eq!(pace.next(), None, "silence is kept");
        pace.start(at(0), &mut random);
        let first = pace.next().unwrap();
        assert!(pace.is_due(first, &mut random));
        pace.hurry(first + ms(1));
        assert!(pace.next().unwrap() <= first + ms(250));
        assert!(pace.is_due(first + ms(300), &mut random));
        pace.hurry(first + ms(900));
        assert!(pace.next().unwrap() <= first + ms(900));
    }
}
