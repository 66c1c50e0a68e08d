//! How much of a receiver's frames a radio takes before it turns to the next.

use crate::channel::tests::{Rig, at, config, mpdu, radio};
use crate::channel::{Mpdu, Output, RadioId};
use crate::{AccessCategory, Aggregation, Format, GuardInterval, Mode, Phy, Standard, Width};
use fairwave_units::Duration;

/// The mode's streams, width and guard interval; how many MPDUs of 1538 bytes a PPDU holds.
const CASES: [(u8, Width, GuardInterval, u32); 2] = [
    // 42 are 64846 bytes, a 43rd would exceed the 65535 of an HT A-MPDU.
    (2, Width::Mhz40, GuardInterval::Ns400, 42),
    // 28 take 36 us and 1331 symbols of 4 us, a 29th would end after 5.484 ms.
    (1, Width::Mhz20, GuardInterval::Ns800, 28),
];

fn frame(mode: Mode, payload: u32) -> Mpdu<u32> {
    Mpdu { bytes: 1538, mode, ..mpdu(1, payload) }
}

/// Hands frames to the first radio until it takes no more; how many those were.
fn fill(rig: &mut Rig, mode: Mode) -> u32 {
    let more = |rig: &Rig| {
        let (own, to, category) = (RadioId(0), RadioId(1), AccessCategory::BestEffort);
        rig.channel.is_ready(own, category) || rig.channel.has_room(own, category, to, false)
    };
    let mut taken = 0;
    while more(rig) {
        rig.send(at(0), 0, frame(mode, taken));
        taken += 1;
    }
    taken
}

fn cell(width: Width) -> Rig {
    let mut config = config(Standard::N);
    config.phy = Phy { width, ..config.phy };
    Rig::new(config, &[radio("ap", 0.0), radio("sta", 4.0)])
}

fn delivered(rig: &Rig) -> usize {
    rig.outputs.iter().filter(|(_, output)| matches!(output, Output::Deliver { .. })).count()
}

#[test]
fn a_radio_takes_as_many_frames_as_a_ppdu_holds() {
    for (streams, width, guard, max) in CASES {
        let mode = Mode::new(Format::Ht, 7, streams, width, guard).unwrap();
        let mut rig = cell(width);
        assert_eq!(fill(&mut rig, mode), max);
        rig.run_until(at(6_500));
        assert_eq!(delivered(&rig), max as usize, "in one PPDU");
        assert_eq!(rig.channel.stats(RadioId(0)).attempts, 1);
    }
}

/// Otherwise a receiver that always has frames waiting would keep the radio for itself.
#[test]
fn what_found_no_place_is_not_filled_up_at_an_access_point() {
    let (streams, width, guard, max) = CASES[0];
    let mode = Mode::new(Format::Ht, 7, streams, width, guard).unwrap();
    let mut rig = cell(width);
    for payload in 1..max {
        rig.send(at(0), 0, frame(mode, payload));
    }
    rig.send(at(0), 0, Mpdu { bytes: 100, ..frame(mode, max) });
    let has_room = |rig: &Rig, retrying| {
        rig.channel.has_room(RadioId(0), AccessCategory::BestEffort, RadioId(1), retrying)
    };
    assert!(has_room(&rig, false), "for one more of 100 bytes");
    rig.send(at(0), 0, Mpdu { bytes: 2200, ..frame(mode, max + 1) });
    let end = (0..).map(at).find(|now| {
        rig.run_until(*now);
        delivered(&rig) > 0
    });
    assert_eq!(delivered(&rig), max as usize, "the long one did not fit");
    // SIFS and BlockAck take 48 us, the next access begins 43 us later at the earliest.
    rig.run_until(end.unwrap() + Duration::from_micros(50));
    assert!(!has_room(&rig, false) && has_room(&rig, true));
    rig.run_until(at(4_000));
    assert!(rig.channel.is_ready(RadioId(0), AccessCategory::BestEffort));
}

/// 7935 bytes hold five subframes of 1522 bytes, each padded to 1524 but the last. A-MSDUs and
/// A-MPDUs are features of their own: a PPDU of one MPDU may carry an A-MSDU (ns-3's example
/// wifi-aggregation, network C).
#[test]
fn an_a_msdu_needs_no_a_mpdu() {
    let mode = Mode::new(Format::Ht, 7, 1, Width::Mhz20, GuardInterval::Ns800).unwrap();
    let mut config = config(Standard::N);
    let limits = |a| Aggregation { mpdus: 1, msdu_bytes: 7_935, ..a };
    config.aggregation = config.aggregation.map(limits);
    let mut rig = Rig::new(config, &[radio("ap", 0.0), radio("sta", 4.0)]);
    assert_eq!(fill(&mut rig, mode), 5);
    rig.run_until(at(6_500));
    assert_eq!(delivered(&rig), 5);
    let stats = rig.channel.stats(RadioId(0));
    assert_eq!((stats.attempts, stats.successes), (1, 1), "in one MPDU, with an ACK");
}

/// The block ack window counts MPDUs, not the frames of the host in them.
#[test]
fn the_window_counts_mpdus_and_not_their_frames() {
    let mode = Mode::new(Format::He, 11, 1, Width::Mhz20, GuardInterval::Ns800).unwrap();
    let mut config = config(Standard::Ax);
    config.phy = Phy { width: Width::Mhz20, ..config.phy };
    let limits = |a| Aggregation { mpdus: 4, msdu_bytes: 3_839, ..a };
    config.aggregation = config.aggregation.map(limits);
    let mut rig = Rig::new(config, &[radio("ap", 0.0), radio("sta", 4.0)]);
    assert_eq!(fill(&mut rig, mode), 8, "two in each of four MPDUs");
    rig.run_until(at(6_500));
    assert_eq!((delivered(&rig), rig.channel.stats(RadioId(0)).attempts), (8, 1));
}
