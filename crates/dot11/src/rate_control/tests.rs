//! Controllers over scripted channels.

use super::*;
use fairwave_units::{Duration, Seed, Stream};

/// Airtimes of 1536 bytes at the eight rates of 802.11a, with ACK and mean backoff, in us.
const AIRTIMES: [u64; 8] = [2240, 1550, 1190, 860, 690, 520, 430, 405];
const ATTEMPTS: u32 = 7;

/// A controller, the time, and the channel's success per rate.
struct Link {
    control: Box<dyn RateControl>,
    now: Instant,
    stream: Stream,
    /// Rate of each attempt so far.
    history: Vec<usize>,
    delivered: u32,
}

impl Link {
    fn new(name: &str) -> Self {
        let airtimes = AIRTIMES.map(Duration::from_micros).to_vec();
        let setup = Setup { airtimes, initial: 0, stream: Seed(1).stream("rate") };
        let control = (find(name).expect("it is in the list").build)(setup);
        let stream = Seed(2).stream("channel");
        Self { control, now: Instant::ZERO, stream, history: Vec::new(), delivered: 0 }
    }

    /// Sends `frames` frames over a channel on which rates succeed with these probabilities.
    fn send(&mut self, frames: u32, success: [f64; 8]) -> &mut Self {
        for _ in 0..frames {
            for attempt in 0..ATTEMPTS {
                let rate = self.control.choose(self.now, attempt);
                self.now += Duration::from_micros(AIRTIMES[rate]);
                let ok = self.stream.chance(success[rate]);
                self.control.hear(self.now, rate, 1, u32::from(ok));
                self.history.push(rate);
                if ok {
                    self.delivered += 1;
                    break;
                }
            }
        }
        self
    }

    /// Share of the last `attempts` that went at `rate`.
    fn share(&self, attempts: usize, rate: usize) -> f64 {
        let last = &self.history[self.history.len() - attempts..];
        last.iter().filter(|r| **r == rate).count() as f64 / attempts as f64
    }

    fn changes(&self) -> usize {
        self.history.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }
}

/// Rates up to `best` always succeed, those above never.
fn step(best: usize) -> [f64; 8] {
    core::array::from_fn(|rate| f64::from(rate <= best))
}

#[test]
fn constant_stays() {
    let mut link = Link::new("constant");
    link.send(100, step(4));
    assert!(link.history.iter().all(|rate| *rate == 0));
}

/// From the slowest rate to the fastest takes ARF 7 times 10 successes.
#[test]
fn arf_climbs_a_rate_with_every_ten_successes() {
    let mut link = Link::new("arf");
    link.send(71, step(7));
    let first_at = |rate| link.history.iter().position(|r| *r == rate);
    assert_eq!((first_at(1), first_at(2), first_at(7)), (Some(10), Some(20), Some(70)));
}

/// Two failures in a row bring the rate down once; the frame after a rise only one.
#[test]
fn arf_falls_after_two_failures_and_after_a_failed_probe() {
    let mut link = Link::new("arf");
    link.send(75, step(7)).history.clear();
    link.send(1, step(4));
    assert_eq!(link.history, [7, 7, 6, 6, 5, 5, 4]);
    link.history.clear();
    link.send(10, step(4));
    assert_eq!(link.history, [4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 4], "10 successes, a probe, back");
}

/// AARF probes after 10, 20, 40, 50, 50... successes (Lacage et al., section 3).
#[test]
fn aarf_waits_twice_as_long_after_each_failed_probe() {
    let mut link = Link::new("aarf");
    link.send(400, step(0));
    let probes: Vec<usize> =
        (0..link.history.len()).filter(|i| link.history[*i] == 1).take(6).collect();
    let gaps: Vec<usize> = probes.windows(2).map(|pair| pair[1] - pair[0] - 1).collect();
    assert_eq!((probes[0], gaps), (10, vec![20, 40, 50, 50, 50]));
}

#[test]
fn aarf_is_steadier_than_arf() {
    let changes = |name| Link::new(name).send(2000, step(4)).changes();
    let (arf, aarf) = (changes("arf"), changes("aarf"));
    assert!(4 * aarf < arf, "AARF {aarf}, ARF {arf}");
}

/// Success falls gently with the rate: at index 5 (36 Mbps) 0.9 / 520 us beats both neighbours.
const GENTLE: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.98, 0.9, 0.5, 0.2];

#[test]
fn minstrel_finds_the_best_rate_within_300_frames() {
    for (channel, best) in [(step(7), 7), (step(4), 4), (step(1), 1), (GENTLE, 5)] {
        let mut link = Link::new("minstrel");
        link.send(300, channel).send(1000, channel);
        let share = link.share(1000, best);
        assert!(share > 0.8, "{channel:?}: {share}");
    }
}

/// The retry chain gets frames through at once; the choice follows within a second.
#[test]
fn minstrel_falls_when_the_channel_does() {
    let mut link = Link::new("minstrel");
    link.send(2000, step(7));
    let before = link.delivered;
    link.send(300, step(2));
    assert!(link.delivered - before > 290, "{}", link.delivered - before);
    link.send(300, step(2));
    assert!(link.share(200, 2) > 0.8, "{}", link.share(200, 2));
}

/// A sample costs one attempt in ten frames at most, and none at rates slower than the best
/// within a second.
#[test]
fn minstrel_samples_a_tenth_of_its_frames() {
    let mut link = Link::new("minstrel");
    link.send(500, step(4)).history.clear();
    link.send(2000, step(4));
    let above = link.history.iter().filter(|rate| **rate > 4).count();
    assert!((50..=200).contains(&above), "{above}");
}

#[test]
fn aggregates_count_by_the_mpdu() {
    let airtimes = AIRTIMES.map(Duration::from_micros).to_vec();
    let setup = Setup { airtimes, initial: 3, stream: Seed(1).stream("rate") };
    let mut arf = Arf::new(&setup);
    for (acknowledged, expected) in [(16, 3), (31, 3), (15, 3), (15, 2), (32, 2), (0, 2), (1, 1)] {
        arf.hear(Instant::ZERO, 3, 32, acknowledged);
        assert_eq!(arf.choose(Instant::ZERO, 0), expected, "{acknowledged} of 32");
    }
}

#[test]
fn names_lead_to_algorithms() {
    assert!(ALL.iter().all(|a| find(a.name).is_some_and(|found| found.name == a.name)));
    assert!(find("minstrl").is_none());
}
