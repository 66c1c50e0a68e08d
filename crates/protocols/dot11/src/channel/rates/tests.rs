//! Rates as a channel uses them: by the attempt, for each receiver.

use super::super::tests::{Rig, at, config, mpdu, radio};
use super::super::{ErrorModel, FrameKind, Mpdu, RadioConfig, RateChoice};
use crate::rate_control::{Choice, Chosen, RateControl};
use crate::{AccessCategory, Capabilities, Phy, Standard, Width, rate_control};
use fairwave_units::{BitRate, Instant};
use std::sync::{Arc, Mutex};

/// The access point, beginning at 6 Mbps, a station beside it, and one out of its reach.
fn rig(algorithm: &str) -> Rig {
    let algorithm = *rate_control::find(algorithm).expect("it is in the list");
    let initial = Phy::new(Standard::A).legacy_modes().next();
    let rates = Some(RateChoice { algorithm: algorithm.into(), initial });
    let ap = RadioConfig { rates, ..radio("ap", 0.0) };
    Rig::new(config(Standard::A), &[ap, radio("near", 4.0), radio("far", 5000.0)])
}

/// Sends a frame to `to` every 100 ms from `start` (ms) on, and gives the rates of all attempts
/// in Mbps.
fn rates_of(rig: &mut Rig, start: u64, to: u32, frames: u64) -> Vec<u64> {
    let before = rig.frames.len();
    for i in 0..frames {
        let now = at((start + 100 * i) * 1000);
        rig.run_until(now);
        rig.send(now, 0, mpdu(to, 7));
    }
    rig.run_until(at((start + 100 * frames) * 1000));
    let data = rig.frames[before..].iter().filter(|r| r.kind == FrameKind::Data);
    data.map(|r| r.mode.rate().0 / BitRate::mbps(1).0).collect()
}

#[test]
fn arf_climbs_by_the_frame_and_falls_by_the_attempt() {
    let mut rig = rig("arf");
    let near = rates_of(&mut rig, 0, 1, 31);
    assert_eq!((near[9], near[10], near[20], near[30]), (6, 9, 12, 18));
    assert_eq!(rates_of(&mut rig, 4000, 2, 1), [6; 7], "another receiver is another link");
    assert_eq!(rates_of(&mut rig, 5000, 1, 1), [18]);
}

#[test]
fn a_constant_rate_is_the_first_one() {
    assert_eq!(rates_of(&mut rig("constant"), 0, 1, 12), [6; 12]);
}

/// Another station on the channel leaves the rates for the others as they were.
#[test]
fn a_link_draws_by_the_name_of_its_receiver() {
    let algorithm = *rate_control::find("minstrel").expect("it is in the list");
    let rates_to_last = |stations: &[&str]| {
        let rates = Some(RateChoice { algorithm: algorithm.into(), initial: None });
        let ap = RadioConfig { rates, ..radio("ap", 0.0) };
        let stations = stations.iter().map(|name| radio(name, 4.0));
        let radios: Vec<RadioConfig> = [ap].into_iter().chain(stations).collect();
        let mut rig = Rig::new(config(Standard::A), &radios);
        rates_of(&mut rig, 0, radios.len() as u32 - 1, 200)
    };
    assert_eq!(rates_to_last(&["sta"]), rates_to_last(&["new", "sta"]));
}

/// An access point with four streams, and stations with one and two: each gets what it can.
#[test]
fn a_pair_uses_the_streams_and_the_width_that_both_have() {
    let algorithm = *rate_control::find("constant").expect("it is in the list");
    let rates = Some(RateChoice { algorithm: algorithm.into(), initial: None });
    let station = |name, streams, width| {
        let capabilities = Capabilities { streams, width, ..Capabilities::default() };
        RadioConfig { capabilities, ..radio(name, 2.0) }
    };
    let radios = [
        RadioConfig { rates, ..radio("ap", 0.0) },
        station("one", 1, Width::Mhz160),
        station("two", 2, Width::Mhz40),
    ];
    let mut rig = Rig::new(config(Standard::Ax), &radios);
    for to in [1, 2] {
        rig.send(at(10_000 * u64::from(to)), 0, mpdu(to, 7));
        rig.run_until(at(10_000 * u64::from(to) + 9_000));
    }
    let data = rig.frames.iter().filter(|r| r.kind == FrameKind::Data);
    let used: Vec<_> = data.map(|r| (r.mode.streams(), r.mode.width(), r.mode.mcs())).collect();
    assert_eq!(used, [(1, Width::Mhz80, 11), (2, Width::Mhz40, 11)]);
}

/// A rate up with each choice and with each failed attempt.
#[derive(Debug, Default)]
struct Climbing(u32);

impl RateControl for Climbing {
    fn choose(&mut self, _: Instant, attempt: u32) -> Choice {
        self.0 += 1;
        Choice::usual((self.0 - 1 + attempt).min(7) as usize)
    }

    fn current(&self) -> usize {
        0
    }

    fn on_attempt(&mut self, _: Instant, _: usize, _: u32, _: u32) {}
}

/// The access point and a station that lose 6 of 10 control frames, and no data.
fn without_most_responses(standard: Standard, algorithm: Chosen, seed: u64) -> Rig {
    let mut config = config(standard);
    config.rts_threshold = Some(500);
    config.errors = ErrorModel::Rate { data: 0.0, control: 0.6 };
    let rates = Some(RateChoice { algorithm, initial: None });
    Rig::with_seed(config, &[RadioConfig { rates, ..radio("ap", 0.0) }, radio("sta", 4.0)], seed)
}

/// An attempt without CTS says nothing of the rate: the one that was chosen stays.
#[test]
fn a_lost_rts_leaves_the_rate_as_it_is() {
    let mut retried = 0;
    for seed in 0..20 {
        let algorithm = Chosen::own("climbing", |_| Box::new(Climbing::default()));
        let mut rig = without_most_responses(Standard::A, algorithm, seed);
        rig.send(at(100), 0, mpdu(1, 7));
        rig.run_until(at(1_000_000));
        let first = rig.frames.iter().position(|frame| frame.kind == FrameKind::Data);
        let Some(first) = first else { continue };
        assert_eq!(rig.frames[first].mode.rate(), BitRate::mbps(6), "seed {seed}");
        let requests = rig.frames[..first].iter().filter(|f| f.kind == FrameKind::Rts);
        retried += requests.count() - 1;
    }
    assert!(retried > 10, "{retried}");
}

/// Frames that were given up for want of a CTS leave no choice behind.
#[test]
fn after_a_drop_the_rate_is_chosen_anew() {
    let algorithm = Chosen::own("climbing", |_| Box::new(Climbing::default()));
    let rates = Some(RateChoice { algorithm, initial: None });
    let mut config = config(Standard::A);
    config.rts_threshold = Some(500);
    let radios = [RadioConfig { rates, ..radio("ap", 0.0) }, radio("near", 4.0)];
    let radios = [&radios[..], &[radio("far", 5000.0)]].concat();
    let mut rig = Rig::new(config, &radios);
    for (start, to) in [(0, 1), (1, 2), (2, 1)] {
        rig.run_until(at(start * 1_000_000));
        rig.send(at(start * 1_000_000), 0, mpdu(to, 7));
    }
    rig.run_until(at(3_000_000));
    let data = rig.frames.iter().filter(|frame| frame.kind == FrameKind::Data);
    let rates: Vec<BitRate> = data.map(|frame| frame.mode.rate()).collect();
    assert_eq!(rates, [BitRate::mbps(6), BitRate::mbps(9)]);
}

/// Another rate for each choice, and the rates of all attempts.
#[derive(Debug)]
struct Recording {
    choices: usize,
    attempts: Arc<Mutex<Vec<u32>>>,
}

impl RateControl for Recording {
    fn choose(&mut self, _: Instant, _: u32) -> Choice {
        self.choices += 1;
        Choice::usual(self.choices % 8)
    }

    fn current(&self) -> usize {
        0
    }

    fn on_attempt(&mut self, _: Instant, rate: usize, _: u32, _: u32) {
        self.attempts.lock().expect("no other thread").push(rate as u32);
    }
}

/// While one category waits after an RTS, another one chooses for the same receiver.
#[test]
fn attempts_are_reported_at_the_rate_that_they_had() {
    for seed in 0..20 {
        let attempts = Arc::new(Mutex::new(Vec::new()));
        let shared = attempts.clone();
        let algorithm = Chosen::own("recording", move |_| {
            Box::new(Recording { choices: 0, attempts: shared.clone() })
        });
        let mut rig = without_most_responses(Standard::N, algorithm, seed);
        for number in 0..20 {
            let now = at(100 + u64::from(number) * 5000);
            rig.run_until(now);
            rig.send(now, 0, Mpdu { bytes: 1538, ..mpdu(1, 2 * number) });
            let short =
                Mpdu { bytes: 200, category: AccessCategory::Voice, ..mpdu(1, 2 * number + 1) };
            rig.send(now, 0, short);
        }
        rig.run_until(at(1_000_000));
        let data = rig.frames.iter().filter(|frame| frame.kind == FrameKind::Data);
        let mut ppdus: Vec<_> = data.map(|frame| (frame.start, frame.mode.mcs().into())).collect();
        ppdus.dedup();
        let used: Vec<u32> = ppdus.into_iter().map(|(_, rate)| rate).collect();
        assert_eq!(*attempts.lock().expect("no other thread"), used, "seed {seed}");
    }
}
