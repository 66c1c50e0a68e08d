//! What a viewer sees of frames that come in time, late or not at all.

use super::*;
use crate::FrameKind::{Intra, Predicted};
use proptest::prelude::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + ms(millis)
}

fn viewer(policy: Policy, delay: u64) -> Playout {
    Playout::new(Config { delay: ms(delay), policy, interval: ms(40) })
}

/// A frame every 40 ms, of two units each; an I frame every `group`.
fn make(playout: &mut Playout, numbers: Range<u64>, group: u64) {
    for n in numbers {
        let kind = if n.is_multiple_of(group) { Intra } else { Predicted };
        playout.made(Made { at: at(40 * n), kind, units: 2 * n..2 * n + 2 });
    }
}

fn counts(quality: &Quality) -> [u64; 4] {
    [quality.shown, quality.undecodable, quality.late(), quality.lost()]
}

#[test]
fn a_frame_in_time_is_shown_at_its_deadline() {
    let mut playout = viewer(Policy::Skip, 200);
    make(&mut playout, 0..1, 1);
    playout.arrived(at(30), 0..1);
    assert_eq!(playout.latency(), None);
    // What arrives at the very deadline is in time.
    playout.arrived(at(200), 1..2);
    assert_eq!(playout.latency(), Some(ms(200)));
    assert_eq!(playout.deadline(), Some(at(200) + Duration::from_nanos(1)));
    playout.wake(at(201));
    assert_eq!(counts(&playout.quality(at(201))), [1, 0, 0, 0]);
    assert_eq!(playout.deadline(), None);
}

/// Frame 1 of a group of four loses a unit: frames 2 and 3 are there but of no use, frame 4, an
/// I frame, is. From frame 0 at 200 ms to frame 4 at 360 ms are 160 ms: no freeze, which would be
/// 40 + 150 ms.
#[test]
fn a_lost_frame_takes_its_group_with_it() {
    let mut playout = viewer(Policy::Skip, 200);
    make(&mut playout, 0..6, 4);
    playout.arrived(at(200), 0..3);
    playout.arrived(at(200), 4..12);
    playout.wake(at(1000));
    let quality = playout.quality(at(1000));
    assert_eq!(counts(&quality), [3, 2, 0, 1]);
    assert_eq!(quality.freezes, 0);
}

/// Frame 1 comes 10 ms after its time. It is not shown, but frame 2, which needs it, is.
#[test]
fn a_late_frame_is_still_a_reference() {
    let mut playout = viewer(Policy::Skip, 200);
    make(&mut playout, 0..3, 100);
    playout.arrived(at(100), 0..2);
    playout.arrived(at(250), 2..6);
    playout.wake(at(400));
    assert_eq!(counts(&playout.quality(at(400))), [2, 0, 1, 0]);
}

/// 30 frames of which 10 to 19 never come, each by itself: from frame 9 at 560 ms to frame 20 at
/// 1000 ms the picture stands for 440 ms.
#[test]
fn a_gap_is_a_freeze_with_its_length() {
    let mut playout = viewer(Policy::Skip, 200);
    for n in 0..30 {
        make(&mut playout, n..n + 1, 1);
        if !(10..20).contains(&n) {
            playout.arrived(at(40 * n + 10), 2 * n..2 * n + 2);
        }
        if n == 21 {
            // While it goes on, the freeze counts as far as it has come.
            playout.wake(at(860));
            let so_far = playout.quality(at(860));
            assert_eq!((so_far.freezes, so_far.frozen), (1, ms(300)));
        }
    }
    playout.wake(at(3000));
    let quality = playout.quality(at(3000));
    assert_eq!(counts(&quality), [20, 0, 0, 10]);
    assert_eq!((quality.freezes, quality.frozen, quality.longest_freeze), (1, ms(440), ms(440)));
}

/// Frames every 40 ms, buffered for 100 ms, of which the third comes 300 ms after it was due:
/// everything after it is later by 300 ms, and nothing else waits.
#[test]
fn a_stream_waits_for_a_frame_and_shifts_the_rest() {
    let mut playout = viewer(Policy::Stall, 100);
    make(&mut playout, 0..4, 100);
    playout.arrived(at(10), 0..4);
    assert_eq!(playout.deadline(), Some(at(110)));
    // Frames at 110, 150; the third is due at 190, and comes at 490.
    playout.wake(at(150));
    assert_eq!((playout.quality(at(150)).shown, playout.deadline()), (2, None));
    let waiting = playout.quality(at(390));
    assert_eq!((waiting.stalls, waiting.stalled, waiting.freezes), (1, ms(200), 1));
    playout.arrived(at(490), 4..8);
    assert_eq!(playout.deadline(), Some(at(530)));
    playout.wake(at(530));
    let quality = playout.quality(at(600));
    assert_eq!(counts(&quality), [4, 0, 1, 0]);
    assert_eq!((quality.stalls, quality.stalled), (1, ms(300)));
    // From 150 to 490 ms the picture stood.
    assert_eq!((quality.freezes, quality.frozen), (1, ms(340)));
}

/// Over datagrams a frame may never come. When a later one is there whole, it is passed over.
#[test]
fn a_stream_does_not_wait_for_what_is_lost() {
    let mut playout = viewer(Policy::Stall, 100);
    make(&mut playout, 0..6, 3);
    // Frame 0 at 0 ms, shown at 100; of frame 1 a half is lost; frames 2 and 3 come in time.
    playout.arrived(at(0), 0..3);
    playout.arrived(at(80), 4..6);
    playout.arrived(at(120), 6..12);
    playout.wake(at(1000));
    let quality = playout.quality(at(1000));
    assert_eq!(counts(&quality), [4, 1, 0, 1]);
    assert_eq!(quality.stalls, 0);
}

#[test]
fn counting_begins_with_the_warm_up_s_end() {
    let mut playout = viewer(Policy::Skip, 200);
    make(&mut playout, 0..5, 1);
    playout.arrived(at(160), 0..10);
    make(&mut playout, 5..12, 1);
    playout.restart(at(500));
    // Frame 5, missed before, comes: it is nobody's late frame now. Frame 9 is in time.
    playout.arrived(at(510), 10..12);
    playout.arrived(at(510), 18..24);
    for n in 12..20 {
        make(&mut playout, n..n + 1, 1);
        playout.arrived(at(40 * n + 35), 2 * n..2 * n + 2);
    }
    playout.wake(at(2000));
    let quality = playout.quality(at(2000));
    // Frames 0 to 7 were due by 480 ms; frame 8 is lost, 9 to 19 are shown.
    assert_eq!(counts(&quality), [11, 0, 0, 1]);
    assert_eq!(quality.freezes, 0);
}

/// A thousand frames after it was forgotten a frame comes: late, not lost, and it took as long as
/// it took. Of two units the second makes it whole.
#[test]
fn a_frame_that_comes_very_late_has_come() {
    let mut playout = viewer(Policy::Skip, 200);
    make(&mut playout, 0..3_000, 1);
    playout.wake(at(130_000));
    playout.arrived(at(130_000), 10..11);
    assert_eq!((playout.quality(at(130_000)).late(), playout.latency()), (0, None));
    playout.arrived(at(140_000), 11..12);
    assert_eq!(counts(&playout.quality(at(140_000))), [0, 0, 1, 2_999]);
    assert_eq!(playout.latency(), Some(ms(140_000 - 200)));
    // Bytes of a stream come in one piece, over the edge of what is kept.
    playout.arrived(at(140_000), 12..6_000);
    assert_eq!(counts(&playout.quality(at(140_000))), [0, 0, 2_995, 5]);
    // Those of before the warm-up's end are nobody's late frames.
    playout.restart(at(150_000));
    playout.arrived(at(150_000), 0..10);
    assert_eq!(counts(&playout.quality(at(150_000))), [0, 0, 0, 0]);
}

/// Speech pauses, and a picture of it does not freeze then: spurts of five frames with pauses of
/// two seconds, all in time. A call that loses the last frame of a spurt and the first of the
/// next does not count the pause either: from frame 8 at 2.52 s to frame 11 at 4.64 s are 2.12 s,
/// of which 2 s are the pause.
#[test]
fn a_pause_of_the_source_is_no_freeze() {
    for (policy, loses) in [(Policy::Skip, false), (Policy::Skip, true), (Policy::Stall, false)] {
        let mut playout = viewer(policy, 200);
        for n in 0..30 {
            let start = at(40 * n + 2_000 * (n / 5));
            playout.wake(start);
            playout.made(Made { at: start, kind: Intra, units: n..n + 1 });
            if !loses || (n != 9 && n != 10) {
                playout.arrived(start + ms(10), n..n + 1);
            }
        }
        playout.wake(at(20_000));
        let quality = playout.quality(at(20_000));
        let shown = if loses { 28 } else { 30 };
        assert_eq!((quality.shown, quality.freezes), (shown, 0), "{policy:?}");
    }
}

/// The last frames are lost and the source ends: the picture is frozen for as long as the frames
/// would have been shown, not until the end of the run.
#[test]
fn what_was_not_made_does_not_freeze_the_end() {
    let mut playout = viewer(Policy::Skip, 200);
    for n in 0..20 {
        make(&mut playout, n..n + 1, 1);
        if n < 10 {
            playout.arrived(at(40 * n + 10), 2 * n..2 * n + 2);
        }
    }
    playout.wake(at(60_000));
    // Frame 9 at 560 ms, frame 19 at 960 ms and gone at 1 s.
    let quality = playout.quality(at(60_000));
    assert_eq!((quality.freezes, quality.frozen), (1, ms(440)));
}

#[test]
fn memory_is_bounded() {
    let mut playout = viewer(Policy::Stall, 100);
    for n in 0..(MAX as u64 + 5_000) {
        playout.made(Made { at: at(n), kind: Intra, units: n..n + 1 });
    }
    assert!(playout.frames.len() <= MAX);
    assert_eq!(playout.quality(at(0)).missed, 5_001);
    let mut playout = viewer(Policy::Skip, 100);
    make(&mut playout, 0..2 * MAX as u64, 1);
    assert!(playout.frames.len() + playout.late.len() <= 2 * MAX);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever arrives whenever: each frame whose time has come counts once, a late or waited
    /// frame is one of those, frozen time fits into the run, and waking in between changes nothing.
    #[test]
    fn every_frame_counts_once(
        stalls in any::<bool>(),
        group in 1u64..9,
        fates in proptest::collection::vec(proptest::option::weighted(0.9, 0u64..400), 120),
    ) {
        let policy = if stalls { Policy::Stall } else { Policy::Skip };
        let whole = fates.chunks(2).filter(|pair| pair.iter().all(Option::is_some)).count();
        let mut events: Vec<(u64, u64, bool)> = (0..60).map(|n| (40 * n, n, true)).collect();
        for (unit, delay) in fates.iter().enumerate() {
            let unit = unit as u64;
            events.extend(delay.map(|delay| (unit / 2 * 40 + delay, unit, false)));
        }
        // Of equal times, frames are made before units arrive.
        events.sort_by_key(|(time, n, is_made)| (*time, !is_made, *n));
        let (mut lazy, mut woken) = (viewer(policy, 120), viewer(policy, 120));
        for (time, n, is_made) in events {
            while let Some(due) = woken.deadline().filter(|due| *due < at(time)) {
                woken.wake(due);
            }
            for playout in [&mut lazy, &mut woken] {
                if is_made {
                    make(playout, n..n + 1, group);
                } else {
                    playout.arrived(at(time), n..n + 1);
                }
            }
        }
        let end = at(20_000);
        lazy.wake(end);
        while let Some(due) = woken.deadline().filter(|due| *due <= end) {
            woken.wake(due);
        }
        let (a, b) = (lazy.quality(end), woken.quality(end));
        prop_assert_eq!(a, b);
        prop_assert!(a.due() == 60 || policy == Policy::Stall);
        prop_assert!(a.due() <= 60 && a.came_late <= a.missed && a.waited <= a.shown);
        let mut latencies: Vec<_> = core::iter::from_fn(|| lazy.latency()).collect();
        latencies.sort();
        prop_assert_eq!(latencies.len(), whole, "one for each that came");
        prop_assert!(policy == Policy::Stall || a.lost() == (60 - whole) as u64);
        prop_assert!(a.frozen <= end.since(Instant::ZERO) && a.longest_freeze <= a.frozen);
    }
}
