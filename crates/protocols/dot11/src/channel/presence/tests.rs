//! A station that leaves and comes back.

use super::super::tests::{BOUNDARY, Rig, at, config, mpdu, radio};
use super::super::{AccessCategory, Fate, FrameKind, Mpdu, Output, RadioConfig};
use super::*;
use crate::{Phy, Standard};
use fairwave_units::Duration;

const STATION: RadioId = RadioId(1);

fn rig() -> Rig {
    let station = RadioConfig { roams: true, ..radio("sta", 4.0) };
    Rig::new(config(Standard::A), &[radio("ap", 0.0), station])
}

fn fate_of_a_frame(rig: &mut Rig, now: Instant, from: u32, to: u32) -> Fate {
    rig.run_until(now);
    rig.send(now, from, mpdu(to, 7));
    rig.run_until(now + Duration::from_millis(50));
    let mut fates = rig.outputs.iter().filter_map(|(_, output)| match output {
        Output::Done { fate, .. } => Some(*fate),
        Output::Deliver { .. } => None,
    });
    fates.next_back().expect("the frame is over")
}

#[test]
fn an_absent_station_gets_nothing_and_returns() {
    let mut rig = rig();
    assert_eq!(fate_of_a_frame(&mut rig, at(0), 0, 1), Fate::Sent);
    assert_eq!(rig.channel.leave(STATION), Some(Vec::new()));
    assert_eq!(fate_of_a_frame(&mut rig, at(100_000), 0, 1), Fate::RetryLimit);
    rig.channel.join(STATION);
    assert_eq!(fate_of_a_frame(&mut rig, at(200_000), 0, 1), Fate::Sent);
    assert_eq!(fate_of_a_frame(&mut rig, at(300_000), 1, 0), Fate::Sent);
}

/// The station's frame waits behind the access point's, which is on the air.
#[test]
fn a_station_leaves_with_its_frame_and_not_in_the_middle_of_an_exchange() {
    let mut rig = rig();
    rig.send(at(0), 0, mpdu(1, 3));
    rig.run_until(at(100));
    rig.send(at(100), 1, mpdu(0, 4));
    assert_eq!(rig.channel.leave(STATION), Some(vec![4]));
    rig.run_until(at(50_000));
    rig.channel.join(STATION);
    rig.send(at(50_000), 1, mpdu(0, 5));
    rig.run_until(at(50_050));
    assert_eq!(rig.channel.leave(STATION), None, "its frame is on the air");
}

/// Frames of two categories wait while a PPDU is on the air, and more exchanges than that would fit
/// the TXOP.
#[test]
fn a_station_that_is_to_leave_begins_no_exchange() {
    let station = RadioConfig { roams: true, ..radio("sta", 4.0) };
    let mut rig = Rig::new(config(Standard::N), &[radio("ap", 0.0), station]);
    let mode = Phy::new(Standard::N).modes(1)[1];
    let frame = |category, payload| Mpdu { mode, category, ..mpdu(0, payload) };
    for payload in 0..8 {
        rig.send(at(BOUNDARY), 1, frame(AccessCategory::Video, payload));
        rig.send(at(BOUNDARY), 1, frame(AccessCategory::BestEffort, 10 + payload));
    }
    rig.run_until(at(BOUNDARY + 100));
    assert_eq!(rig.channel.leave(STATION), None, "its frame is on the air");
    rig.run_until(at(50_000));
    let ppdus = |rig: &Rig| rig.ppdus().iter().filter(|f| f.kind == FrameKind::Data).count();
    assert_eq!(ppdus(&rig), 1);
    let left = rig.channel.leave(STATION).expect("the exchange is over");
    assert_eq!(left.len() + rig.outputs.len() / 2, 16);
    rig.channel.join(STATION);
    rig.send(at(50_000), 1, frame(AccessCategory::Video, 20));
    rig.run_until(at(60_000));
    assert_eq!(ppdus(&rig), 2, "it sends again");
}
