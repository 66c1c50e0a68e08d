//! How many frames a radio takes over from its host. An MPDU of 1538 bytes takes 1.9 ms at MCS 0
//! and 190 us at MCS 7, of one stream over 20 MHz.

use super::aggregates::ht;
use super::*;
use crate::{Capabilities, GuardInterval, rate_control};

const LIMITS: AirtimeLimits = AirtimeLimits {
    low: Duration::from_millis(5),
    high: Duration::from_millis(12),
    threshold: Duration::from_millis(24),
};

fn rig(limits: Option<AirtimeLimits>, controlled: bool) -> Rig {
    let rates = controlled.then(|| RateChoice {
        algorithm: (*rate_control::find("arf").expect("it is in the list")).into(),
        initial: None,
    });
    // MCS 0 of one stream with the long guard interval is all that the rate control may use.
    let guard = GuardInterval::Ns800;
    let capabilities = Capabilities { streams: 1, mcs: 0, guard, ..Capabilities::default() };
    let ap = RadioConfig { rates, capabilities, ..radio("ap", 0.0) };
    let mut rig = Rig::new(config(Standard::N), &[ap, radio("sta", 4.0)]);
    if let Some(limits) = limits {
        rig.channel.limit_airtime(RadioId(0), limits);
    }
    rig
}

/// Hands in frames of `mode` and `category` as long as there is room; how many.
fn taken(rig: &mut Rig, now: Instant, mode: Mode, category: AccessCategory) -> u32 {
    let mut taken = 0;
    let (ap, sta) = (RadioId(0), RadioId(1));
    while taken == 0 || rig.channel.has_room(ap, category, sta, false) {
        rig.send(now, 0, Mpdu { bytes: 1538, mode, category, ..mpdu(1, taken) });
        taken += 1;
    }
    taken
}

#[test]
fn limits_count_airtime_instead_of_the_bytes_of_a_ppdu() {
    let cases = [(None, 0, 2), (Some(LIMITS), 0, 7), (None, 7, 28), (Some(LIMITS), 7, 63)];
    for (limits, mcs, frames) in cases {
        let mut rig = rig(limits, false);
        assert_eq!(taken(&mut rig, at(1), ht(mcs), AccessCategory::BestEffort), frames, "{mcs}");
    }
}

/// Seven frames of best effort take 13.3 ms and six of background 11.4 ms: then the radio is busy,
/// and three of video are beyond 5 ms.
#[test]
fn a_radio_with_much_to_send_takes_less_for_each() {
    let mut rig = rig(Some(LIMITS), false);
    let categories =
        [AccessCategory::BestEffort, AccessCategory::Background, AccessCategory::Video];
    let taken = categories.map(|category| taken(&mut rig, at(1), ht(0), category));
    assert_eq!(taken, [7, 6, 3]);
}

/// The host sets MCS 7 and the rate control knows MCS 0 only: after the first attempt the radio
/// knows what a frame takes. Without limits it takes the bytes of a PPDU at that rate.
#[test]
fn the_estimate_follows_the_rate_in_use() {
    for (limits, frames) in [(Some(LIMITS), [63, 7]), (None, [28, 2])] {
        let mut rig = rig(limits, true);
        let first = taken(&mut rig, at(1), ht(7), AccessCategory::BestEffort);
        rig.run_until(at(1_000_000));
        let second = taken(&mut rig, at(1_000_001), ht(7), AccessCategory::BestEffort);
        assert_eq!([first, second], frames);
    }
}
