//! Frame exchanges told step by step, and the contract.

mod aggregates;
mod airtime;
mod categories;
mod pairs;
mod requests;

use super::*;
use crate::{DATA_OVERHEAD_BYTES, Phy, Standard};
use fairwave_machine::contract;
use fairwave_units::Dbm;
use fairwave_units::{BitRate, Db, Duration, Metres};

/// The mode of clause 17 at so many Mbps.
fn mode(mbps: u64) -> Mode {
    Phy::new(Standard::A).mode(BitRate::mbps(mbps)).unwrap()
}

pub(super) fn config(standard: Standard) -> Config {
    Config::new(Phy::new(standard))
}

pub(super) fn radio(name: &str, x: f64) -> RadioConfig {
    RadioConfig {
        name: name.to_owned(),
        position: (Metres(x), Metres(0.0)),
        power: Dbm(16.0),
        is_access_point: name == "ap",
        path: None,
        snr_trace: None,
        roams: false,
        rates: None,
        capabilities: crate::Capabilities::default(),
    }
}

pub(super) fn mpdu(to: u32, payload: u32) -> Mpdu<u32> {
    Mpdu {
        to: Some(RadioId(to)),
        bytes: 1500 + DATA_OVERHEAD_BYTES,
        mode: mode(54),
        category: AccessCategory::BestEffort,
        payload,
    }
}

pub(super) fn at(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1000)
}

/// A slot boundary of every category where the medium has been idle since time zero, in
/// microseconds: SIFS and ten slots of 802.11n. Frames handed in there begin at once.
pub(super) const BOUNDARY: u64 = 16 + 10 * 9;

/// A channel with its outputs and frames in order of time.
pub(super) struct Rig {
    pub(super) channel: Channel<u32>,
    pub(super) outputs: Vec<(Instant, Output<u32>)>,
    pub(super) frames: Vec<FrameReport<u32>>,
}

impl Rig {
    pub(super) fn new(config: Config, radios: &[RadioConfig]) -> Self {
        Self::with_seed(config, radios, 1)
    }

    pub(super) fn with_seed(config: Config, radios: &[RadioConfig], seed: u64) -> Self {
        let mut channel = Channel::new(config, radios, Seed(seed), "cell");
        channel.report_frames(true);
        Self { channel, outputs: Vec::new(), frames: Vec::new() }
    }

    pub(super) fn drain(&mut self, now: Instant) {
        while let Some(output) = self.channel.poll(now) {
            self.outputs.push((now, output));
        }
        while let Some(frame) = self.channel.event() {
            self.frames.push(frame);
        }
    }

    pub(super) fn send(&mut self, now: Instant, from: u32, mpdu: Mpdu<u32>) {
        self.channel.handle(now, Input::Send(RadioId(from), mpdu));
        self.drain(now);
    }

    pub(super) fn run_until(&mut self, end: Instant) {
        while let Some(due) = self.channel.deadline().filter(|due| *due <= end) {
            self.channel.wake(due);
            self.drain(due);
        }
    }

    /// The first report of each PPDU: an A-MPDU has one for each frame of the host.
    pub(super) fn ppdus(&self) -> Vec<FrameReport<u32>> {
        let mut ppdus: Vec<FrameReport<u32>> = Vec::new();
        for frame in &self.frames {
            let number = |frame: &FrameReport<u32>| frame.place.map(|place| place.ppdu);
            let same = |last: &FrameReport<u32>| number(last) == number(frame);
            if frame.place.is_none() || !ppdus.last().is_some_and(same) {
                ppdus.push(*frame);
            }
        }
        ppdus
    }

    fn kinds(&self) -> Vec<FrameKind> {
        self.ppdus().iter().map(|frame| frame.kind).collect()
    }

    fn delivered(&self) -> Vec<u32> {
        let payload = |(_, output): &(Instant, Output<u32>)| match output {
            Output::Deliver { payload, .. } => Some(*payload),
            Output::Done { .. } => None,
        };
        self.outputs.iter().filter_map(payload).collect()
    }
}

#[test]
fn data_is_followed_by_its_ack_after_sifs() {
    let mut rig = Rig::new(config(Standard::A), &[radio("ap", 0.0), radio("sta", 4.0)]);
    rig.send(at(100), 1, mpdu(0, 7));
    rig.run_until(at(10_000));
    assert_eq!(rig.kinds(), [FrameKind::Data, FrameKind::Ack]);
    // 248 us of data from 100 us, SIFS 16, ACK 28.
    assert_eq!(rig.frames[1].start, at(100 + 248 + 16));
    let (radio, payload, fate) = (RadioId(1), 7, Fate::Sent);
    assert_eq!(rig.outputs[1], (at(100 + 248 + 16 + 28), Output::Done { radio, payload, fate }));
    assert_eq!(rig.channel.stats(RadioId(1)).airtime, Duration::from_micros(248));
    assert_eq!(rig.channel.stats(RadioId(0)).control_airtime, Duration::from_micros(28));
}

#[test]
fn an_unreachable_receiver_costs_the_retry_limit_and_doubles_cw() {
    let mut rig = Rig::new(config(Standard::A), &[radio("ap", 0.0), radio("sta", 9000.0)]);
    rig.send(at(100), 1, mpdu(0, 7));
    rig.run_until(at(12_000_000));
    let (radio, payload, fate) = (RadioId(1), 7, Fate::RetryLimit);
    assert_eq!(rig.outputs.last().unwrap().1, Output::Done { radio, payload, fate });
    assert_eq!(rig.frames.len(), 7);
    assert!(!rig.frames[0].retry && rig.frames[1].retry);
    let stats = rig.channel.stats(RadioId(1));
    assert_eq!((stats.attempts, stats.failures, stats.retry_drops), (7, 7, 1));
    assert_eq!(rig.channel.stats(RadioId(1)).cw, 15);
    // The seventh attempt follows a backoff of up to 15 * 64 + 63 slots.
    assert!(rig.frames[6].start.since(rig.frames[5].start) > Duration::from_micros(300));
}

/// RTS frames are counted against the short limit, data after a CTS against the long one.
#[test]
fn rts_and_data_have_limits_of_their_own() {
    let run = |distance: f64, data: f64| {
        let mut config = config(Standard::A);
        config.rts_threshold = Some(500);
        config.errors = ErrorModel::Rate { data, control: 0.0 };
        let mut rig = Rig::new(config, &[radio("ap", 0.0), radio("sta", distance)]);
        rig.send(at(100), 1, mpdu(0, 7));
        rig.run_until(at(12_000_000));
        let (radio, payload, fate) = (RadioId(1), 7, Fate::RetryLimit);
        assert_eq!(rig.outputs.last().map(|o| o.1), Some(Output::Done { radio, payload, fate }));
        let count = |kind| rig.frames.iter().filter(|frame| frame.kind == kind).count();
        (count(FrameKind::Rts), count(FrameKind::Cts), count(FrameKind::Data))
    };
    assert_eq!(run(9000.0, 0.0), (7, 0, 0), "nobody answers");
    assert_eq!(run(4.0, 1.0), (4, 4, 4), "the data are always lost");
}

#[test]
fn a_retry_limit_of_one_allows_one_attempt() {
    let mut config = config(Standard::A);
    config.short_retry_limit = 1;
    let mut rig = Rig::new(config, &[radio("ap", 0.0), radio("sta", 9000.0)]);
    rig.send(at(100), 1, mpdu(0, 7));
    rig.run_until(at(12_000_000));
    assert_eq!(rig.kinds(), [FrameKind::Data]);
}

#[test]
fn a_lost_ack_makes_a_duplicate_that_is_acked_but_not_delivered() {
    let mut config = config(Standard::A);
    config.errors = ErrorModel::Rate { data: 0.0, control: 0.6 };
    let mut rig = Rig::new(config, &[radio("ap", 0.0), radio("sta", 4.0)]);
    for i in 0..50 {
        let now = at(100_000 * (i + 1));
        rig.run_until(now);
        rig.send(now, 1, mpdu(0, i as u32));
    }
    rig.run_until(at(6_000_000));
    assert_eq!(rig.delivered(), (0..50).collect::<Vec<_>>());
    let acks = rig.frames.iter().filter(|frame| frame.kind == FrameKind::Ack).count();
    assert!(acks > 100, "0.6 of the ACKs are lost: {acks}");
}

/// The station that senses neither the other nor its frames collides at the AP in between;
/// with RTS/CTS the collisions are short and most data gets through at once.
#[test]
fn hidden_stations_collide_and_rts_helps() {
    let loss_per_attempt = |rts| {
        let mut config = config(Standard::A);
        config.rts_threshold = rts;
        config.carrier_sense = Dbm(-80.0);
        // 30 m each side of the AP: -80 dBm is reached at 44 m.
        let radios = [radio("ap", 0.0), radio("left", -30.0), radio("right", 30.0)];
        let mode = mode(6);
        let mut rig = Rig::new(config, &radios);
        let mut lost_data = 0;
        for sender in [1, 2] {
            rig.send(at(1), sender, Mpdu { mode, ..mpdu(0, sender) });
        }
        while let Some(due) = rig.channel.deadline().filter(|due| *due <= at(5_000_000)) {
            rig.channel.wake(due);
            rig.drain(due);
            for (_, output) in core::mem::take(&mut rig.outputs) {
                if let Output::Done { radio, .. } = output {
                    rig.send(due, radio.0, Mpdu { mode, ..mpdu(0, radio.0) });
                }
            }
        }
        let data = rig.frames.iter().filter(|frame| frame.kind == FrameKind::Data);
        let mut sent = 0;
        for frame in data {
            sent += 1;
            lost_data += u32::from(!frame.received);
        }
        f64::from(lost_data) / f64::from(sent)
    };
    let (without, with) = (loss_per_attempt(None), loss_per_attempt(Some(500)));
    assert!(without > 0.3, "{without}");
    // What is left: an RTS sent during the CTS misses it, and is repeated into the data.
    assert!(with < 0.15, "{with}");
}

/// An RTS to a receiver out of reach reserves the medium for nothing: a bystander that hears no
/// data follow goes on after the NAV timeout instead of the whole reservation.
#[test]
fn a_reservation_that_nothing_follows_is_given_up() {
    let mut config = config(Standard::A);
    config.rts_threshold = Some(500);
    let radios = [radio("away", 9000.0), radio("sender", 0.0), radio("bystander", 4.0)];
    let mut rig = Rig::new(config, &radios);
    let slow = Mpdu { mode: mode(6), ..mpdu(0, 1) };
    rig.send(at(100), 1, slow);
    // The RTS ends at 152 us and reserves 2224 us; 45 bytes of 9 Mbps need no RTS.
    rig.send(at(140), 2, Mpdu { bytes: 45, mode: mode(9), ..mpdu(1, 2) });
    rig.run_until(at(1000));
    let data = rig.frames.iter().find(|frame| frame.kind == FrameKind::Data).unwrap();
    assert_eq!(data.from, RadioId(2));
    // NAV timeout: 152 + 32 + 44 + 20 + 18; then DIFS 34 and up to 15 slots.
    assert!(data.start >= at(300), "{:?}", data.start);
}

/// Two stations draw the same slot: the near one's frame is decoded through the far one's.
#[test]
fn the_stronger_of_two_simultaneous_frames_is_captured() {
    let stations = [radio("ap", 0.0), radio("near", 2.0), radio("far", -20.0)];
    let mut rig = Rig::new(config(Standard::A), &stations);
    rig.send(at(100), 1, mpdu(0, 1));
    rig.send(at(100), 2, mpdu(0, 2));
    rig.run_until(at(364));
    let received: Vec<bool> = rig.frames.iter().take(2).map(|frame| frame.received).collect();
    assert_eq!(received, [true, false]);
    assert_eq!(rig.channel.stats(RadioId(2)).collisions, 0, "not known before the timeout");
    rig.run_until(at(10_000));
    assert_eq!(rig.channel.stats(RadioId(2)).collisions, 1);
    assert_eq!(rig.delivered(), [1, 2]);
}

/// A later, much stronger frame takes the receiver over only where capture is on.
#[test]
fn a_late_strong_frame_needs_capture() {
    let received = |capture| {
        let mut config = config(Standard::A);
        config.capture = capture;
        config.carrier_sense = Dbm(-80.0);
        // "far" and "near", 46 m apart, do not sense each other.
        let radios = [radio("ap", 0.0), radio("far", -38.0), radio("near", 8.0)];
        let mode = mode(6);
        let mut rig = Rig::new(config, &radios);
        rig.send(at(100), 1, Mpdu { mode, ..mpdu(0, 1) });
        rig.send(at(150), 2, Mpdu { mode, ..mpdu(0, 2) });
        rig.run_until(at(2500));
        rig.frames.iter().any(|f| f.from == RadioId(2) && f.received)
    };
    assert!(!received(None));
    assert!(received(Some(Db(10.0))));
}

#[test]
fn beacons_come_at_their_interval_and_let_data_pass() {
    let mut config = config(Standard::A);
    config.beacon_interval = Some(Duration::from_micros(102_400));
    let mut rig = Rig::new(config, &[radio("ap", 0.0), radio("sta", 4.0)]);
    rig.send(at(100), 0, mpdu(1, 1));
    rig.run_until(at(1_030_000));
    let beacons: Vec<_> = rig.frames.iter().filter(|f| f.kind == FrameKind::Beacon).collect();
    assert_eq!(beacons.len(), 10);
    assert_eq!(beacons[0].start, at(102_400));
    assert_eq!(beacons.iter().filter(|b| b.from != RadioId(0)).count(), 0);
    assert_eq!(rig.delivered(), [1]);
}

/// On an idle medium, too, the beacons of two access points come apart, each at its interval.
#[test]
fn beacons_of_two_access_points_have_phases_of_their_own() {
    let mut config = config(Standard::A);
    config.beacon_interval = Some(Duration::from_micros(102_400));
    let second = RadioConfig { is_access_point: true, ..radio("ap2", 8.0) };
    let mut rig = Rig::new(config, &[radio("ap", 0.0), second]);
    rig.run_until(at(1_030_000));
    let starts = |ap| -> Vec<Instant> {
        let own = rig.frames.iter().filter(|frame| frame.from == RadioId(ap));
        own.map(|frame| frame.start).collect()
    };
    let (first, second) = (starts(0), starts(1));
    assert_eq!(first[0], at(102_400));
    assert!(first.iter().all(|start| !second.contains(start)), "{first:?} {second:?}");
    let is_regular = |two: &[Instant]| two[1].since(two[0]) == Duration::from_micros(102_400);
    assert!(second.len() > 7 && second.windows(2).all(is_regular), "{second:?}");
}

#[test]
fn broadcast_reaches_everyone_without_ack() {
    let stations = [radio("ap", 0.0), radio("a", 2.0), radio("b", -3.0)];
    let mut rig = Rig::new(config(Standard::A), &stations);
    rig.send(at(100), 0, Mpdu { to: None, ..mpdu(0, 9) });
    rig.run_until(at(10_000));
    assert_eq!(rig.kinds(), [FrameKind::Data]);
    assert_eq!(rig.delivered(), [9, 9]);
}

#[test]
fn the_channel_keeps_the_contract_of_machines() {
    let radios: Vec<RadioConfig> =
        (0..6).map(|i| radio(&format!("sta{i}"), f64::from(i))).collect();
    let mut channel: Channel<u32> = Channel::new(config(Standard::A), &radios, Seed(3), "cell");
    let sends = (1..6).map(|i| (at(100 * u64::from(i)), Input::Send(RadioId(i), mpdu(0, i))));
    let outputs = contract::check(&mut channel, sends, at(1_000_000));
    assert_eq!(outputs.len(), 10, "five frames, each delivered and done: {outputs:?}");
}
