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
    two_counting(Counting::WholeSlots, access)
}

fn two_counting(counting: Counting, access: &[Access]) -> Contention {
    let sensed_by: [&[u32]; 5] = [&[], &[], &[0], &[1], &[0, 1]];
    Contention::new(SLOT, counting, access, &sensed_by.map(Into::into), false)
}

fn two() -> Contention {
    two_with(&[DCF])
}

/// `from` ends a transmission that was `heard` so.
fn end(c: &mut Contention, from: u32, sensed: Sensed, now: Instant) {
    c.end(from, sensed, core::iter::empty(), now);
}

fn reserve(micros: u64) -> Sensed {
    Sensed::Decoded { until: at(micros).as_nanos(), rts: 0 }
}

#[test]
fn an_idle_medium_is_taken_at_once() {
    let mut c = two();
    c.request(0, false, at(100), || unreachable!());
    assert_eq!(c.next_access(), Some(at(100)));
}

#[test]
fn a_frame_within_difs_waits_for_its_end() {
    let mut c = two();
    c.begin(TO_0, at(50));
    end(&mut c, TO_0, Sensed::Energy, at(60));
    c.request(0, false, at(70), || unreachable!());
    assert_eq!(c.next_access(), Some(at(94)));
}

#[test]
fn a_busy_medium_makes_the_radio_draw() {
    let mut c = two();
    c.begin(TO_0, at(50));
    c.request(0, false, at(60), || 4);
    assert_eq!(c.next_access(), None);
    end(&mut c, TO_0, Sensed::Energy, at(100));
    assert_eq!(c.next_access(), Some(at(100 + 34 + 4 * 9)));
}

#[test]
fn backoff_freezes_and_keeps_whole_slots() {
    let mut c = two();
    c.begin(TO_0, at(0));
    c.request(0, false, at(0), || 5);
    end(&mut c, TO_0, Sensed::Energy, at(100));
    // 2 slots and a half pass: 3 are left.
    c.begin(TO_0, at(134 + 22));
    end(&mut c, TO_0, Sensed::Energy, at(200));
    assert_eq!(c.next_access(), Some(at(200 + 34 + 3 * 9)));
}

#[test]
fn eifs_follows_an_undecoded_frame_and_only_that() {
    let mut c = two();
    c.begin(TO_0, at(0));
    c.request(0, false, at(0), || 1);
    end(&mut c, TO_0, Sensed::Errored, at(100));
    assert_eq!(c.next_access(), Some(at(100 + 94 + 9)));
    c.begin(TO_0, at(110));
    end(&mut c, TO_0, Sensed::Energy, at(120));
    assert_eq!(c.next_access(), Some(at(120 + 34 + 9)));
}

#[test]
fn eifs_runs_beside_the_nav() {
    let mut c = two();
    c.begin(TO_0, at(0));
    end(&mut c, TO_0, reserve(300), at(100));
    c.begin(TO_0, at(110));
    end(&mut c, TO_0, Sensed::Errored, at(250));
    c.request(0, false, at(260), || 0);
    assert_eq!(c.next_access(), Some(at(250 + 94)), "later than 300 + 34");
    c.begin(TO_0, at(344));
    c.begin(TO_BOTH, at(350));
    end(&mut c, TO_BOTH, reserve(900), at(400));
    end(&mut c, TO_0, Sensed::Errored, at(500));
    assert_eq!(c.next_access(), Some(at(900 + 34)));
}

#[test]
fn nav_defers_access_and_forbids_cts() {
    let mut c = two();
    c.begin(TO_1, at(0));
    end(&mut c, TO_1, reserve(300), at(100));
    assert!(!c.nav_is_idle(1, at(299)) && c.nav_is_idle(1, at(300)));
    c.request(1, false, at(150), || 2);
    assert_eq!(c.next_access(), Some(at(300 + 34 + 2 * 9)));
}

#[test]
fn a_backoff_begun_in_an_idle_period_keeps_to_its_slots() {
    let mut c = two();
    c.begin(TO_0, at(0));
    end(&mut c, TO_0, Sensed::Energy, at(100));
    c.back_off(0, 3, at(145));
    c.request(0, false, at(145), || unreachable!());
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
    end(&mut c, TO_0, Sensed::Energy, at(100));
    end(&mut c, TO_1, Sensed::Errored, at(100));
    for contender in 0..4 {
        c.request(contender, false, at(100), || unreachable!());
    }
    let access = |contender| c.access_of(contender);
    assert_eq!((access(0), access(1)), (Some(at(134)), Some(at(143))));
    assert_eq!((access(2), access(3)), (Some(at(194)), Some(at(203))));
}

#[test]
fn categories_of_a_radio_freeze_together_and_may_win_together() {
    let mut c = two_with_categories();
    c.begin(TO_0, at(0));
    c.request(0, false, at(0), || 4);
    c.request(1, false, at(0), || 3);
    end(&mut c, TO_0, Sensed::Energy, at(100));
    // One slot of voice passes to its end, and none of best effort.
    c.begin(TO_0, at(151));
    end(&mut c, TO_0, Sensed::Energy, at(200));
    assert_eq!((c.access_of(0), c.access_of(1)), (Some(at(261)), Some(at(270))));
    c.begin(TO_0, at(252));
    end(&mut c, TO_0, Sensed::Energy, at(300));
    // Best effort has 3 - 1 slots left from 343; voice draws anew from 334.
    c.back_off(0, 3, at(300));
    assert_eq!((c.access_of(0), c.access_of(1)), (Some(at(361)), Some(at(361))));
    let mut winners = Vec::new();
    c.winners(at(361), &mut winners);
    assert_eq!(winners, [0, 1]);
}

/// Best effort: SIFS and three slots.
const BEST_EFFORT: Access =
    Access { aifs: Duration::from_micros(43), eifs: Duration::from_micros(103) };

fn edca() -> Contention {
    two_counting(Counting::Boundaries, &[BEST_EFFORT])
}

fn winners(c: &mut Contention, micros: u64) -> Vec<u32> {
    let mut winners = Vec::new();
    c.winners(at(micros), &mut winners);
    winners
}

/// Radios 0, 1 and 2 all hear each other. The medium is idle from 100 us on, so slot boundaries
/// are at 143, 152, 161. Radio 0 has 2 slots and sends at 161; radio 1 has 3.
#[test]
fn the_loser_of_a_contention_has_one_slot_less_under_edca() {
    // Radio 1 loses a slot at each of the three boundaries under EDCA. To DCF the slot that begins
    // at 161 was not idle, so that one is left.
    let cases = [(Counting::Boundaries, vec![0, 1]), (Counting::WholeSlots, vec![0])];
    for (counting, at_the_end_of_aifs) in cases {
        let hearers = [[1, 2], [0, 2], [0, 1]].map(Into::into);
        let mut c = Contention::new(SLOT, counting, &[BEST_EFFORT], &hearers, false);
        c.begin(2, at(0));
        c.request(0, false, at(0), || 2);
        c.request(1, false, at(0), || 3);
        end(&mut c, 2, Sensed::Energy, at(100));
        assert_eq!(c.next_access(), Some(at(161)));
        assert_eq!(winners(&mut c, 161), [0]);
        c.withdraw(0);
        c.begin(0, at(161));
        end(&mut c, 0, Sensed::Energy, at(300));
        // Radio 0 was served and has drawn 0 for its next frame.
        c.back_off(0, 0, at(300));
        c.request(0, false, at(300), || unreachable!());
        assert_eq!(winners(&mut c, 343), at_the_end_of_aifs, "{counting:?}");
        assert_eq!(c.access_of(1), Some(at(343 + 9 * (2 - at_the_end_of_aifs.len() as u64))));
    }
}

#[test]
fn an_edca_backoff_loses_a_slot_at_each_boundary_before_a_transmission() {
    // Idle from 100 us on: boundaries at 143, 152, 161, 170. The transmission begins at the time
    // and leaves so many of 5 slots.
    let cases = [(142, 5), (143, 4), (151, 4), (152, 3), (165, 2), (170, 1)];
    for (begins, left) in cases {
        let mut c = edca();
        c.begin(TO_0, at(0));
        c.request(0, false, at(0), || 5);
        end(&mut c, TO_0, Sensed::Energy, at(100));
        c.begin(TO_0, at(begins));
        end(&mut c, TO_0, Sensed::Energy, at(200));
        assert_eq!(c.next_access(), Some(at(200 + 43 + left * 9)), "{begins}");
    }
}

#[test]
fn an_edca_frame_on_an_idle_medium_goes_at_the_next_boundary() {
    // Idle since 0: 43 and 9 slots are 124.
    for (comes, goes) in [(10, 43), (43, 43), (116, 124), (124, 124), (125, 133)] {
        let mut c = edca();
        c.request(0, false, at(comes), || unreachable!());
        assert_eq!(c.next_access(), Some(at(goes)), "{comes}");
    }
    // Overtaken before that, it waits for AIFS and draws nothing: the medium was idle.
    let mut c = edca();
    c.request(0, false, at(116), || unreachable!());
    c.begin(TO_0, at(120));
    end(&mut c, TO_0, Sensed::Energy, at(200));
    assert_eq!(c.next_access(), Some(at(243)));
}

#[test]
fn a_frame_within_aifs_draws_no_backoff_unless_the_medium_was_busy_when_it_came() {
    let mut c = edca();
    c.begin(TO_BOTH, at(50));
    end(&mut c, TO_BOTH, Sensed::Addressed, at(60));
    c.request(0, false, at(60), || unreachable!());
    c.request(1, true, at(60), || 3);
    assert_eq!((c.access_of(0), c.access_of(1)), (Some(at(103)), Some(at(103 + 27))));
}

#[test]
fn a_frame_that_came_amid_a_transmission_keeps_a_backoff_that_is_left() {
    let mut c = edca();
    c.begin(TO_0, at(0));
    end(&mut c, TO_0, Sensed::Energy, at(10));
    c.back_off(0, 4, at(10));
    c.begin(TO_0, at(20));
    end(&mut c, TO_0, Sensed::Energy, at(30));
    c.request(0, true, at(30), || unreachable!());
    assert_eq!(c.next_access(), Some(at(30 + 43 + 4 * 9)));
}

/// Frames that overlap count once, and a radio counts its own.
#[test]
fn the_medium_is_busy_for_the_union_of_what_is_sensed() {
    let mut c = two();
    c.begin(TO_0, at(100));
    c.begin(TO_BOTH, at(150));
    assert_eq!(c.busy(0, at(170)), Duration::from_micros(70));
    assert_eq!(c.busy(1, at(170)), Duration::from_micros(20));
    end(&mut c, TO_0, Sensed::Errored, at(200));
    end(&mut c, TO_BOTH, Sensed::Errored, at(250));
    assert_eq!(c.busy(0, at(900)), Duration::from_micros(150));
    assert_eq!(c.busy(1, at(900)), Duration::from_micros(100));
    c.begin(1, at(1000));
    end(&mut c, 1, Sensed::Energy, at(1030));
    assert_eq!(c.busy(1, at(1040)), Duration::from_micros(130));
}
