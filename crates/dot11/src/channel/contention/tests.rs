//! Backoffs and carrier sense by hand.

use super::*;

const SLOT: Duration = Duration::from_micros(9);
const DCF: Access = Access { aifs: Duration::from_micros(34), eifs: Duration::from_micros(94) };

fn at(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1000)
}

/// Transmitters beside the radios 0 and 1, which do not hear each other.
const TO_0: u32 = 2;
const TO_1: u32 = 3;
const TO_BOTH: u32 = 4;

fn two_with(access: &[Access]) -> Contention {
    let heard_by: [&[u32]; 5] = [&[], &[], &[0], &[1], &[0, 1]];
    Contention::new(SLOT, access, &heard_by.map(Into::into), false)
}

fn two() -> Contention {
    two_with(&[DCF])
}

/// `from` ends a transmission that was `heard` so.
fn end(c: &mut Contention, from: u32, heard: Heard, now: Instant) {
    c.end(from, heard, core::iter::empty(), now);
}

fn reserve(micros: u64) -> Heard {
    Heard::Decoded { until: at(micros).as_nanos(), rts: 0 }
}

#[test]
fn an_idle_medium_is_taken_at_once() {
    let mut c = two();
    c.request(0, at(100), || unreachable!());
    assert_eq!(c.next_access(), Some(at(100)));
}

#[test]
fn a_frame_within_difs_waits_for_its_end() {
    let mut c = two();
    c.begin(TO_0, at(50));
    end(&mut c, TO_0, Heard::Energy, at(60));
    c.request(0, at(70), || unreachable!());
    assert_eq!(c.next_access(), Some(at(94)));
}

#[test]
fn a_busy_medium_makes_the_radio_draw() {
    let mut c = two();
    c.begin(TO_0, at(50));
    c.request(0, at(60), || 4);
    assert_eq!(c.next_access(), None);
    end(&mut c, TO_0, Heard::Energy, at(100));
    assert_eq!(c.next_access(), Some(at(100 + 34 + 4 * 9)));
}

#[test]
fn backoff_freezes_and_keeps_whole_slots() {
    let mut c = two();
    c.begin(TO_0, at(0));
    c.request(0, at(0), || 5);
    end(&mut c, TO_0, Heard::Energy, at(100));
    // 2 slots and a half pass: 3 are left.
    c.begin(TO_0, at(134 + 22));
    end(&mut c, TO_0, Heard::Energy, at(200));
    assert_eq!(c.next_access(), Some(at(200 + 34 + 3 * 9)));
}

#[test]
fn eifs_follows_an_undecoded_frame_and_only_that() {
    let mut c = two();
    c.begin(TO_0, at(0));
    c.request(0, at(0), || 1);
    end(&mut c, TO_0, Heard::Errored, at(100));
    assert_eq!(c.next_access(), Some(at(100 + 94 + 9)));
    c.begin(TO_0, at(110));
    end(&mut c, TO_0, Heard::Energy, at(120));
    assert_eq!(c.next_access(), Some(at(120 + 34 + 9)));
}

#[test]
fn eifs_runs_beside_the_nav() {
    let mut c = two();
    c.begin(TO_0, at(0));
    end(&mut c, TO_0, reserve(300), at(100));
    c.begin(TO_0, at(110));
    end(&mut c, TO_0, Heard::Errored, at(250));
    c.request(0, at(260), || 0);
    assert_eq!(c.next_access(), Some(at(250 + 94)), "later than 300 + 34");
    c.begin(TO_0, at(344));
    c.begin(TO_BOTH, at(350));
    end(&mut c, TO_BOTH, reserve(900), at(400));
    end(&mut c, TO_0, Heard::Errored, at(500));
    assert_eq!(c.next_access(), Some(at(900 + 34)));
}

#[test]
fn nav_defers_access_and_forbids_cts() {
    let mut c = two();
    c.begin(TO_1, at(0));
    end(&mut c, TO_1, reserve(300), at(100));
    assert!(!c.nav_is_idle(1, at(299)) && c.nav_is_idle(1, at(300)));
    c.request(1, at(150), || 2);
    assert_eq!(c.next_access(), Some(at(300 + 34 + 2 * 9)));
}

#[test]
fn a_backoff_begun_in_an_idle_period_keeps_to_its_slots() {
    let mut c = two();
    c.begin(TO_0, at(0));
    end(&mut c, TO_0, Heard::Energy, at(100));
    c.back_off(0, 3, at(145));
    c.request(0, at(145), || unreachable!());
    // Slots of this idle period begin at 134, 143, 152.
    assert_eq!(c.next_access(), Some(at(152 + 3 * 9)));
    let mut winners = Vec::new();
    c.winners(at(152 + 27), &mut winners);
    assert_eq!(winners, [0]);
}

/// Voice (AIFSN 2) and best effort (AIFSN 3) of two radios: contenders 0 to 3.
fn two_with_categories() -> Contention {
    let best_effort = Access { aifs: DCF.aifs + SLOT, eifs: DCF.eifs + SLOT };
    two_with(&[DCF, best_effort])
}

#[test]
fn each_category_waits_for_its_own_aifs() {
    let mut c = two_with_categories();
    c.begin(TO_0, at(50));
    c.begin(TO_1, at(50));
    end(&mut c, TO_0, Heard::Energy, at(100));
    end(&mut c, TO_1, Heard::Errored, at(100));
    for contender in 0..4 {
        c.request(contender, at(100), || unreachable!());
    }
    let access = |contender| c.access_of(contender);
    assert_eq!((access(0), access(1)), (Some(at(134)), Some(at(143))));
    assert_eq!((access(2), access(3)), (Some(at(194)), Some(at(203))));
}

#[test]
fn categories_of_a_radio_freeze_together_and_may_win_together() {
    let mut c = two_with_categories();
    c.begin(TO_0, at(0));
    c.request(0, at(0), || 4);
    c.request(1, at(0), || 3);
    end(&mut c, TO_0, Heard::Energy, at(100));
    // One slot of voice passes to its end, and none of best effort.
    c.begin(TO_0, at(151));
    end(&mut c, TO_0, Heard::Energy, at(200));
    assert_eq!((c.access_of(0), c.access_of(1)), (Some(at(261)), Some(at(270))));
    c.begin(TO_0, at(252));
    end(&mut c, TO_0, Heard::Energy, at(300));
    // Best effort has 3 - 1 slots left from 343; voice draws anew from 334.
    c.back_off(0, 3, at(300));
    assert_eq!((c.access_of(0), c.access_of(1)), (Some(at(361)), Some(at(361))));
    let mut winners = Vec::new();
    c.winners(at(361), &mut winners);
    assert_eq!(winners, [0, 1]);
}
