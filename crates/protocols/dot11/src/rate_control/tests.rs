//! Controllers over scripted channels.

use super::*;
use fairwave_units::{Duration, Seed, Stream};

/// Airtimes of 1536 bytes at the eight rates of 802.11a, with ACK and mean backoff, in us.
const AIRTIMES: [u64; 8] = [2240, 1550, 1190, 860, 690, 520, 430, 405];
const ATTEMPTS: u32 = 7;

/// Rates of one group without aggregation that take these airtimes.
fn rates() -> Vec<Rate> {
    let rate = |us| Rate {
        mpdu: Duration::from_micros(us - 200),
        overhead: Duration::from_micros(200),
        streams: 1,
        group: 0,
    };
    AIRTIMES.map(rate).to_vec()
}

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
        let setup = Setup { rates: rates(), initial: Some(0), stream: Seed(1).stream("rate") };
        let control = (find(name).expect("it is in the list").build)(setup);
        let stream = Seed(2).stream("channel");
        Self { control, now: Instant::ZERO, stream, history: Vec::new(), delivered: 0 }
    }

    /// Sends `frames` frames over a channel on which rates succeed with these probabilities.
    fn send(&mut self, frames: u32, success: [f64; 8]) -> &mut Self {
        for _ in 0..frames {
            for attempt in 0..ATTEMPTS {
                let rate = self.control.choose(self.now, attempt).rate;
                self.now += Duration::from_micros(AIRTIMES[rate]);
                let ok = self.stream.chance(success[rate]);
                self.control.on_attempt(self.now, rate, 1, u32::from(ok));
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

/// A second holds 60 samples at the most. Of the gentle channel 10 % are retries at other rates.
#[test]
fn minstrel_finds_the_best_rate_within_a_second() {
    for (channel, best) in [(step(7), 7), (step(4), 4), (step(1), 1), (GENTLE, 5)] {
        let mut link = Link::new("minstrel");
        while link.now < at_ms(1000) {
            link.send(1, channel);
        }
        let share = link.send(20_000, channel).share(20_000, best);
        assert!(share > 0.75, "{channel:?}: {share}");
    }
}

/// The retry chain gets frames through at once; the choice follows within a second.
#[test]
fn minstrel_falls_when_the_channel_does() {
    let mut link = Link::new("minstrel");
    link.send(4000, step(7));
    let before = link.delivered;
    link.send(300, step(2));
    assert!(link.delivered - before > 290, "{}", link.delivered - before);
    link.send(1000, step(2));
    assert!(link.share(200, 2) > 0.8, "{}", link.share(200, 2));
}

/// With all rates above the best failing, samples are what they get: three in 50 ms at the most.
/// The turns of slower rates pass, and some of the next faster one's, which waits only once.
#[test]
fn minstrel_samples_every_20_ms() {
    let mut link = Link::new("minstrel");
    link.send(3000, step(4));
    let (from, before) = (link.now, link.history.len());
    link.send(3000, step(4));
    let above = link.history[before..].iter().filter(|rate| **rate > 4).count();
    let expected = link.now.since(from).as_millis() as f64 / 20.0;
    let range = 0.6 * expected..=1.2 * expected + 1.0;
    assert!(range.contains(&(above as f64)), "{above} {expected}");
}

/// At 1000 us of overhead, a rate of 100 us an MPDU carries less than one of 300 us with eight
/// times the MPDUs would; the length of A-MPDUs is the link's, not the rate's, so that only the
/// time of an MPDU and the success decide. With a single MPDU a PPDU 0.9 / 1300 and 0.8 / 1100
/// are close; with 64 of them it is 0.9 / 316 against 0.8 / 116.
#[test]
fn minstrel_spreads_overhead_over_the_mean_ampdu() {
    let rate = |us| Rate {
        mpdu: Duration::from_micros(us),
        overhead: Duration::from_micros(1000),
        streams: 1,
        group: 0,
    };
    let best_with = |mpdus: u32, success: [u32; 2]| {
        let rates = vec![rate(300), rate(100)];
        let setup = Setup { rates, initial: Some(0), stream: Seed(1).stream("rate") };
        let mut minstrel = Minstrel::new(setup);
        for (rate, percent) in success.into_iter().enumerate() {
            for _ in 0..100 {
                minstrel.on_attempt(Instant::ZERO, rate, mpdus, mpdus * percent / 100);
            }
        }
        minstrel.choose(at_ms(50), 0);
        minstrel.current()
    };
    // 0.9 / 1300 us against 0.75 / 1100 us; then 0.9 / 310 us against 0.75 / 110 us.
    assert_eq!(best_with(1, [100, 100]), 1);
    assert_eq!((best_with(100, [100, 75]), best_with(100, [100, 40])), (1, 1));
    assert_eq!(best_with(100, [100, 25]), 0);
}

/// Three rates with one stream and three with two, that all work at first.
fn two_groups() -> Minstrel {
    let rate = |(us, streams, group)| Rate {
        mpdu: Duration::from_micros(us),
        overhead: Duration::from_micros(100),
        streams,
        group,
    };
    let rates = [(600, 1, 0), (300, 1, 0), (200, 1, 0), (310, 2, 1), (155, 2, 1), (100, 2, 1)];
    let rates = rates.map(rate).to_vec();
    Minstrel::new(Setup { rates, initial: Some(0), stream: Seed(1).stream("rate") })
}

/// All of 40 MPDUs at each of these rates in the first interval.
fn succeed(minstrel: &mut Minstrel, rates: &[usize]) {
    rates.iter().for_each(|rate| minstrel.on_attempt(Instant::ZERO, *rate, 40, 40));
}

/// What works at a rate works at a slower one of the same group.
#[test]
fn minstrel_trusts_slower_rates_that_were_never_tried() {
    let mut minstrel = two_groups();
    succeed(&mut minstrel, &[5]);
    let chain = [0, 2].map(|attempt| {
        let mut minstrel = minstrel.clone();
        minstrel.choose(at_ms(50), 0);
        minstrel.choose(at_ms(51), 0);
        minstrel.choose(at_ms(51), attempt).rate
    });
    assert_eq!(chain, [5, 4]);
}

/// Two rates with one stream work, and the fastest with two, at which frames go from 50 ms on.
fn at_the_fastest() -> Minstrel {
    let mut minstrel = two_groups();
    succeed(&mut minstrel, &[1, 2, 5]);
    minstrel.choose(at_ms(50), 0);
    assert_eq!(minstrel.current(), 5);
    minstrel
}

/// 31 MPDUs of which none arrives are enough in mid-interval; the best of the rates with one stream
/// less takes over until the interval ends.
#[test]
fn minstrel_falls_in_mid_interval_when_spatial_multiplexing_dies() {
    let mut minstrel = at_the_fastest();
    minstrel.on_attempt(at_ms(55), 5, 30, 0);
    minstrel.choose(at_ms(56), 0);
    assert_eq!(minstrel.current(), 5, "30 MPDUs are too few");
    minstrel.on_attempt(at_ms(57), 5, 1, 0);
    minstrel.choose(at_ms(58), 0);
    assert_eq!(minstrel.current(), 2);
}

/// The hardware reports when the chain is over. A fade that takes one A-MPDU is then outweighed by
/// the second attempt at the same rate; a fade that takes both attempts is not.
#[test]
fn minstrel_judges_a_lost_ampdu_with_its_retries() {
    let mut minstrel = at_the_fastest();
    minstrel.on_attempt(at_ms(55), 5, 40, 0);
    assert_eq!(minstrel.choose(at_ms(55), 1).rate, 5, "the second attempt at the same rate");
    minstrel.on_attempt(at_ms(60), 5, 40, 40);
    assert_eq!(minstrel.current(), 5);

    let mut minstrel = at_the_fastest();
    minstrel.choose(at_ms(51), 0);
    for ms in [55, 60] {
        minstrel.on_attempt(at_ms(ms), 5, 40, 0);
    }
    let third = minstrel.choose(at_ms(60), 2).rate;
    assert_eq!((third, minstrel.current()), (4, 5), "the frame under way keeps its chain");
    minstrel.choose(at_ms(65), 0);
    assert_eq!(minstrel.current(), 2);
}

/// A frame sent as a sample goes on at the second best rate, one MPDU still; the next frame begins
/// at the best.
#[test]
fn minstrel_retries_a_sample_as_a_single_mpdu_at_the_second_stage() {
    let mut minstrel = two_groups();
    succeed(&mut minstrel, &[0, 1, 2]);
    assert!(minstrel.choose(at_ms(50), 0).is_sample);
    assert_eq!(minstrel.choose(at_ms(51), 1), Choice { rate: 1, is_sample: true });
    assert_eq!(minstrel.choose(at_ms(52), 0), Choice::usual(2));
    assert_eq!(minstrel.choose(at_ms(53), 1), Choice::usual(2));
}

/// An interval begins with a sample, whenever the last one was.
#[test]
fn minstrel_begins_each_interval_with_a_sample() {
    let mut minstrel = two_groups();
    succeed(&mut minstrel, &[0]);
    let sampled_at = (50..150).filter(|ms| minstrel.choose(at_ms(*ms), 0).is_sample);
    assert_eq!(sampled_at.collect::<Vec<u64>>(), [50, 70, 90, 100, 120, 140]);
}

fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

#[test]
fn aggregates_count_by_the_mpdu() {
    let setup = Setup { rates: rates(), initial: Some(3), stream: Seed(1).stream("rate") };
    let mut arf = Arf::new(&setup);
    for (acknowledged, expected) in [(16, 3), (31, 3), (15, 3), (15, 2), (32, 2), (0, 2), (1, 1)] {
        arf.on_attempt(Instant::ZERO, 3, 32, acknowledged);
        assert_eq!(arf.choose(Instant::ZERO, 0).rate, expected, "{acknowledged} of 32");
    }
}

#[test]
fn names_lead_to_algorithms() {
    assert!(ALL.iter().all(|a| find(a.name).is_some_and(|found| found.name == a.name)));
    assert!(find("minstrl").is_none());
}
