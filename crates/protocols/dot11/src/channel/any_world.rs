//! Properties that hold on any channel: random radios, hidden from one another or not, always
//! sending.

use super::tests::{Rig, at, config, mpdu, radio};
use super::*;
use crate::{DATA_OVERHEAD_BYTES, Standard};
use fairwave_units::{Db, Duration, Stream};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A rig with two to nine radios that all have frames for each other, on a line so long that
/// not all hear each other; which features are on is drawn too.
struct Saturated {
    rig: Rig,
    random: Stream,
    radios: u32,
    mode: Mode,
    sent: u32,
}

impl Saturated {
    fn new(seed: u64, span: f64) -> Self {
        let mut random = Seed(seed).stream("world");
        let standard = [Standard::A, Standard::B, Standard::G][random.below(3) as usize];
        let mut config = config(standard);
        config.rts_threshold = (random.below(2) == 0).then_some(500);
        config.capture = (random.below(2) == 0).then_some(Db(10.0));
        config.preamble_detection = (random.below(2) == 0).then_some(Db(4.0));
        config.beacon_interval = (random.below(2) == 0).then_some(Duration::from_millis(20));
        if random.below(2) == 0 {
            config.errors = ErrorModel::Rate { data: 0.2, control: 0.1 };
        }
        let radios = 2 + random.below(8) as u32;
        let mode = config.phy.modes(1)[random.below(4) as usize];
        let mut radio = |i| {
            let name = if i == 0 { "ap".to_owned() } else { format!("sta{i}") };
            radio(&name, span * random.unit())
        };
        let list: Vec<_> = (0..radios).map(&mut radio).collect();
        Self { rig: Rig::new(config, &list), random, radios, mode, sent: 0 }
    }

    fn send(&mut self, now: Instant, from: u32) {
        let to = (from + 1 + self.random.below(u64::from(self.radios) - 1) as u32) % self.radios;
        let to = (self.random.below(10) > 0).then_some(RadioId(to));
        let bytes = DATA_OVERHEAD_BYTES + 1 + self.random.below(1500) as u32;
        let category = AccessCategory::BestEffort;
        let mpdu = Mpdu { to, bytes, mode: self.mode, category, payload: self.sent };
        self.sent += 1;
        self.rig.send(now, from, mpdu);
    }

    /// Keeps every radio busy until `end`.
    fn run(&mut self, end: Instant) {
        for radio in 0..self.radios {
            self.send(at(1), radio);
        }
        let mut seen = 0;
        while let Some(due) = self.rig.channel.deadline().filter(|due| *due <= end) {
            self.rig.channel.wake(due);
            self.rig.drain(due);
            while seen < self.rig.outputs.len() {
                if let (_, Output::Done { radio, .. }) = self.rig.outputs[seen] {
                    self.send(due, radio.0);
                }
                seen += 1;
            }
        }
    }
}

/// No radio is on the air with two frames at once.
fn assert_one_frame_at_a_time(rig: &Rig, seed: u64) {
    let mut until: BTreeMap<RadioId, Instant> = BTreeMap::new();
    let mut frames: Vec<_> = rig.frames.iter().collect();
    frames.sort_by_key(|frame| frame.start);
    for frame in frames {
        let busy = until.insert(frame.from, frame.start + frame.airtime);
        assert!(busy.is_none_or(|end| end <= frame.start), "seed {seed}: {frame:?}");
    }
}

/// Every frame handed in is done once, but for one (or two, around a beacon) at each radio;
/// each receiver hears of a frame at most once, and of every acknowledged one.
fn assert_conserved(saturated: &Saturated, seed: u64) {
    let mut delivered: BTreeMap<u32, Vec<RadioId>> = BTreeMap::new();
    let mut done: BTreeMap<u32, Fate> = BTreeMap::new();
    for (_, output) in &saturated.rig.outputs {
        match *output {
            Output::Deliver { to, payload, .. } => delivered.entry(payload).or_default().push(to),
            Output::Done { payload, fate, .. } => {
                assert_eq!(done.insert(payload, fate), None, "seed {seed}: {payload} done twice");
            }
        }
    }
    for (payload, receivers) in &mut delivered {
        let count = receivers.len();
        receivers.sort_unstable();
        receivers.dedup();
        assert_eq!(receivers.len(), count, "seed {seed}: {payload} delivered twice");
    }
    let pending = saturated.sent as usize - done.len();
    assert!(pending <= 2 * saturated.radios as usize, "seed {seed}: {pending} pending");
    let stats = (0..saturated.radios).map(|i| saturated.rig.channel.stats(RadioId(i)));
    for (radio, stats) in stats.enumerate() {
        let open = stats.attempts - stats.failures - stats.successes;
        assert!(open <= 1, "seed {seed}: radio {radio}: {stats:?}");
        assert!(stats.collisions <= stats.failures, "seed {seed}: radio {radio}: {stats:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn frames_are_conserved_and_radios_send_one_at_a_time(seed: u64, span in 1.0..150.0) {
        let mut saturated = Saturated::new(seed, span);
        saturated.run(at(60_000));
        assert_one_frame_at_a_time(&saturated.rig, seed);
        assert_conserved(&saturated, seed);
        prop_assert!(!saturated.rig.frames.is_empty());
    }

    /// The short cut for frames that everybody is certain to decode is only a short cut.
    #[test]
    fn certain_receptions_are_those_that_chance_decides(seed: u64, span in 1.0..60.0) {
        let run = |forget: bool| {
            let mut saturated = Saturated::new(seed, span);
            if forget {
                saturated.rig.channel.air.forget_sure_levels();
            }
            saturated.run(at(60_000));
            (saturated.rig.outputs, saturated.rig.frames)
        };
        prop_assert_eq!(run(false), run(true), "seed {}", seed);
    }

    /// In earshot of each other, every radio keeps getting its turn.
    #[test]
    fn nobody_who_is_heard_starves(seed: u64) {
        let mut saturated = Saturated::new(seed, 10.0);
        saturated.run(at(6_000_000));
        for radio in 0..saturated.radios {
            let frames = &saturated.rig.frames;
            let begins = |kind| matches!(kind, FrameKind::Data | FrameKind::Rts);
            let own = frames.iter().filter(|f| f.from == RadioId(radio) && begins(f.kind)).count();
            prop_assert!(own > 10, "seed {seed}: radio {radio} of {}: {own}", saturated.radios);
        }
    }

    /// While a CTS that arrived and that nothing disturbed reserves the medium, nobody else begins
    /// an exchange.
    #[test]
    fn a_reservation_is_kept(seed: u64) {
        let mut saturated = Saturated::new(seed, 10.0);
        saturated.run(at(300_000));
        let frames = &saturated.rig.frames;
        let kept = |frame: &&FrameReport<u32>| frame.kind == FrameKind::Cts && frame.received;
        for cts in frames.iter().filter(kept) {
            let end = cts.start + cts.airtime;
            let others = || frames.iter().filter(|f| f.from != cts.from && Some(f.from) != cts.to);
            if others().any(|f| f.start < end && cts.start < f.start + f.airtime) {
                continue;
            }
            let answer = |f: &FrameReport<u32>| matches!(f.kind, FrameKind::Ack | FrameKind::Cts);
            let until = end + cts.reserved;
            let intruder = others().find(|f| cts.start < f.start && f.start < until && !answer(f));
            prop_assert!(intruder.is_none(), "seed {seed}: {cts:?} against {intruder:?}");
        }
    }

    /// A radio that sends nothing, near or far, changes nobody's draws.
    #[test]
    fn a_silent_radio_changes_nothing(seed: u64, distance in 0.0..5000.0) {
        let run = |bystander: bool| {
            let mut radios = vec![radio("ap", 0.0), radio("a", 4.0), radio("b", -20.0)];
            radios.extend(bystander.then(|| radio("bystander", distance)));
            let mut config = config(Standard::A);
            config.errors = ErrorModel::Rate { data: 0.3, control: 0.1 };
            let mut rig = Rig::with_seed(config, &radios, seed);
            for i in 0..30 {
                rig.run_until(at(3000 * i));
                for from in [1, 2] {
                    if rig.channel.is_ready(RadioId(from), AccessCategory::BestEffort) {
                        rig.send(at(3000 * i), from, mpdu(0, i as u32));
                    }
                }
            }
            rig.run_until(at(200_000));
            (rig.outputs, rig.frames)
        };
        prop_assert_eq!(run(false), run(true), "seed {}", seed);
    }
}
