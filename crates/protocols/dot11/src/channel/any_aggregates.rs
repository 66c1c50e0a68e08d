//! Property tests over random worlds of HT, VHT and HE: some radios that hear one another or not,
//! with frames of all categories, aggregated as far as the world allows, and lost in all ways.

use super::tests::{Rig, at, config, radio};
use super::*;
use crate::{Aggregation, BlockAckRequest, DATA_OVERHEAD_BYTES, QOS_BYTES, Standard};
use fairwave_units::{Db, Duration, Stream};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Sender, receiver and access category of a frame.
type Way = (u32, Option<u32>, AccessCategory);

struct World {
    rig: Rig,
    random: Stream,
    radios: u32,
    ways: Vec<Way>,
    mode: Mode,
}

impl World {
    fn new(seed: u64, span: f64) -> Self {
        let mut random = Seed(seed).stream("world");
        let mut flip = || random.below(2) == 0;
        let standard = if flip() { Standard::N } else { Standard::Ax };
        let mut config = config(standard);
        config.rts_threshold = flip().then_some(2000);
        config.capture = flip().then_some(Db(10.0));
        config.preamble_detection = flip().then_some(Db(4.0));
        if flip() {
            config.edca = None;
        }
        if flip() {
            config.errors = ErrorModel::Rate { data: 0.3, control: 0.2 };
        }
        let msdu_bytes = if flip() { 3839 } else { 0 };
        if flip() {
            (config.short_retry_limit, config.long_retry_limit) = (3, 2);
        }
        let mpdus = 1 + random.below(20) as u32;
        let requests =
            [BlockAckRequest::AfterMissing, BlockAckRequest::OnDrop, BlockAckRequest::Never];
        let request = requests[random.below(3) as usize];
        let limits = |a| Aggregation { mpdus, msdu_bytes, request, ..a };
        config.aggregation = config.aggregation.map(limits);
        config.acknowledges = random.below(8) > 0;
        let radios = 2 + random.below(5) as u32;
        let mode = config.phy.modes(1)[random.below(8) as usize];
        let places: Vec<RadioConfig> =
            (0..radios).map(|i| radio(&format!("r{i}"), span * random.unit())).collect();
        Self { rig: Rig::with_seed(config, &places, seed), random, radios, ways: Vec::new(), mode }
    }

    fn send(&mut self, now: Instant, way: Way) {
        let (from, to, category) = way;
        let bytes = DATA_OVERHEAD_BYTES + QOS_BYTES + 1 + self.random.below(1500) as u32;
        let payload = self.ways.len() as u32;
        let mpdu = Mpdu { to: to.map(RadioId), bytes, mode: self.mode, category, payload };
        self.ways.push(way);
        self.rig.send(now, from, mpdu);
    }

    /// Hands the radio frames of a random category, a new batch or more for the one it has.
    fn feed(&mut self, now: Instant, from: u32) {
        let category = AccessCategory::ALL[self.random.below(4) as usize];
        let to = (from + 1 + self.random.below(u64::from(self.radios) - 1) as u32) % self.radios;
        if self.rig.channel.is_ready(RadioId(from), category) {
            let to = (self.random.below(10) > 0).then_some(to);
            self.send(now, (from, to, category));
        }
        let retrying = self.random.below(2) == 0;
        let more = 1 + self.random.below(30);
        for to in 0..self.radios {
            for _ in 0..more {
                if self.rig.channel.has_room(RadioId(from), category, RadioId(to), retrying) {
                    self.send(now, (from, Some(to), category));
                }
            }
        }
    }

    /// Feeds until `end` and then lets all come to rest.
    fn run(&mut self, end: Instant) {
        (0..self.radios).for_each(|radio| self.feed(at(1), radio));
        let mut seen = 0;
        while let Some(due) = self.rig.channel.deadline() {
            self.rig.channel.wake(due);
            self.rig.drain(due);
            while due <= end && seen < self.rig.outputs.len() {
                if let (_, Output::Done { radio, .. }) = self.rig.outputs[seen] {
                    self.feed(due, radio.0);
                }
                seen += 1;
            }
        }
    }
}

/// Time at which each payload was done, and at whom it came when.
#[derive(Default)]
struct Outcomes {
    done: BTreeMap<u32, (Instant, Fate)>,
    delivered: BTreeMap<u32, Vec<(Instant, RadioId)>>,
}

impl Outcomes {
    fn of(rig: &Rig, seed: u64) -> Self {
        let mut outcomes = Self::default();
        for (now, output) in &rig.outputs {
            match *output {
                Output::Deliver { to, payload, .. } => {
                    outcomes.delivered.entry(payload).or_default().push((*now, to));
                }
                Output::Done { payload, fate, .. } => {
                    let before = outcomes.done.insert(payload, (*now, fate));
                    assert_eq!(before, None, "seed {seed}: {payload} done twice");
                }
            }
        }
        outcomes
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_frame_has_one_end_and_comes_once_in_order(seed: u64, span in 1.0..120.0) {
        let mut world = World::new(seed, span);
        world.run(at(40_000));
        let outcomes = Outcomes::of(&world.rig, seed);
        let acknowledges = world.rig.channel.config.acknowledges;
        for (payload, way) in (0..).zip(&world.ways) {
            let done = outcomes.done.get(&payload);
            prop_assert!(done.is_some(), "seed {seed}: {way:?} never ends");
            let (_, fate) = *done.unwrap();
            let came = outcomes.delivered.get(&payload).map_or(&[][..], |came| came);
            if let Some(to) = way.1 {
                prop_assert!(came.len() <= 1, "seed {seed}: {payload} came twice");
                prop_assert!(came.iter().all(|(_, at)| *at == RadioId(to)), "seed {seed}");
                let must = acknowledges && fate == Fate::Sent && came.is_empty();
                prop_assert!(!must, "seed {seed}: {payload} was acknowledged and did not come");
            }
        }
        let mut last: BTreeMap<(u32, u32, u32), u32> = BTreeMap::new();
        for (_, output) in &world.rig.outputs {
            let Output::Deliver { to, payload, .. } = *output else { continue };
            let (from, addressed, category) = world.ways[payload as usize];
            if addressed.is_none() {
                continue;
            }
            let category = world.rig.channel.contender(from, category);
            let before = last.insert((from, to.0, category), payload);
            prop_assert!(before < Some(payload), "seed {seed}: {payload} after {before:?}");
        }
    }

    #[test]
    fn ppdus_are_within_bounds_and_one_at_a_time(seed: u64, span in 1.0..120.0) {
        let mut world = World::new(seed, span);
        world.run(at(40_000));
        let mut until: BTreeMap<RadioId, Instant> = BTreeMap::new();
        let mut ppdus = world.rig.ppdus();
        ppdus.sort_by_key(|ppdu| ppdu.start);
        for ppdu in ppdus {
            let end = ppdu.start + ppdu.airtime;
            let busy = until.insert(ppdu.from, end);
            prop_assert!(busy.is_none_or(|end| end <= ppdu.start), "seed {seed}: {ppdu:?}");
            prop_assert!(ppdu.airtime <= Duration::from_micros(5_484), "seed {seed}: {ppdu:?}");
        }
        for radio in 0..world.radios {
            let stats = world.rig.channel.stats(RadioId(radio));
            let ended = stats.failures + stats.successes;
            let acknowledges = world.rig.channel.config.acknowledges;
            prop_assert!(!acknowledges || stats.attempts == ended, "seed {seed}: {stats:?}");
        }
    }

    #[test]
    fn pairs_hold_what_was_reported_and_add_up_to_their_radio(seed: u64, span in 1.0..120.0) {
        let mut world = World::new(seed, span);
        world.run(at(40_000));
        for radio in (0..world.radios).map(RadioId) {
            let stats = world.rig.channel.stats(radio);
            let (mut airtime, mut control) = (Duration::ZERO, Duration::ZERO);
            for (to, pair) in world.rig.channel.pairs(radio) {
                airtime += pair.airtime;
                control += pair.control_airtime;
                let way = (FrameKind::Data, radio, to);
                let data = world.rig.frames.iter().filter(|f| (f.kind, f.from, f.to) == way);
                // Of an A-MSDU the last payload stands for the MPDU.
                let mpdus: Vec<_> = data.filter(|f| f.place.is_some_and(|p| !p.goes_on)).collect();
                let ppdus = mpdus.iter().filter(|f| f.place.is_some_and(|p| p.is_last)).count();
                let retries = mpdus.iter().filter(|f| f.retry).count();
                let found = (pair.ppdus, pair.mpdus, pair.retries);
                let reported = (ppdus as u64, mpdus.len() as u64, retries as u64);
                prop_assert_eq!(found, reported, "seed {}: {:?} to {:?}", seed, radio, to);
            }
            let own = (stats.airtime, stats.control_airtime);
            prop_assert_eq!((airtime, control), own, "seed {}: {:?}", seed, radio);
        }
    }

    #[test]
    fn airtime_counts_each_ppdu_once_at_both_ends(seed: u64, span in 1.0..120.0) {
        let mut world = World::new(seed, span);
        (0..world.radios).for_each(|r| world.rig.channel.count_airtime(RadioId(r), true));
        world.run(at(40_000));
        let mut came: BTreeMap<(RadioId, RadioId, Instant), (Duration, bool)> = BTreeMap::new();
        let asks = [FrameKind::Data, FrameKind::Rts, FrameKind::BlockAckReq];
        for frame in world.rig.frames.iter().filter(|frame| asks.contains(&frame.kind)) {
            let Some(to) = frame.to else { continue };
            let ppdu = came.entry((frame.from, to, frame.start)).or_default();
            *ppdu = (frame.airtime, ppdu.1 || frame.received);
        }
        for radio in (0..world.radios).map(RadioId) {
            let mut expected: BTreeMap<RadioId, Duration> = BTreeMap::new();
            for ((from, to, _), (airtime, received)) in &came {
                if *from == radio {
                    *expected.entry(*to).or_default() += *airtime;
                } else if *to == radio && *received {
                    *expected.entry(*from).or_default() += *airtime;
                }
            }
            let mut found: BTreeMap<RadioId, Duration> = BTreeMap::new();
            while let Some((peer, airtime)) = world.rig.channel.take_airtime(radio) {
                *found.entry(peer).or_default() += airtime;
            }
            prop_assert_eq!(found, expected, "seed {}: {:?}", seed, radio);
        }
    }
}
