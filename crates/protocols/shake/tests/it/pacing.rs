//! A slow, lossy time, then a good path: pacing for the first keeps nothing back in the second. No
//! window is shut, so nothing is asked for byte by byte.

use fairwave_machine::Machine;
use fairwave_shake::{Connection, Input, Profile, Segment};
use fairwave_tcp::Virtual;
use fairwave_units::{Duration, Instant, Seed};
use fairwave_wire::shake::{Body, Side};

#[test]
fn an_open_window_is_not_asked_after_byte_by_byte() {
    let end = |side, seed| {
        let profile = Profile::Modern;
        Connection::<Virtual>::new(profile.config(), profile.rules(), side, 7, Seed(seed))
    };
    let mut ends = [end(Side::Opener, 1), end(Side::Acceptor, 2)];
    let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
    let mut flying: Vec<(Instant, usize, Segment<Virtual>)> = Vec::new();
    let (mut now, mut crumbs, mut written, mut dice) = (Instant::ZERO, 0, false, 7u64);
    ends[0].handle(now, Input::Join { path: 0, nominal: None });
    ends[0].handle(now, Input::Write(Virtual(50_000)));
    while ends[1].received() < 4_050_000 {
        if now >= at(1_000) && !written {
            written = true;
            ends[0].handle(now, Input::Write(Virtual(4_000_000)));
        }
        for (index, end) in ends.iter_mut().enumerate() {
            if end.deadline().is_some_and(|at| at <= now) {
                end.wake(now);
            }
            while end.read(u32::MAX).is_some() {}
            while let Some(s) = end.poll(now) {
                crumbs += u32::from(matches!(s.header.body, Body::Data(_)) && s.payload.0 == 1);
                // For five minutes 10 s each way and 40 % loss; otherwise 10 ms and none.
                let is_bad = now >= at(1_000) && now < at(301_000);
                dice = (dice * 1_103_515_245 + 12_345) & 0x7fff_ffff;
                if !is_bad || (dice >> 16) % 100 >= 40 {
                    let late = Duration::from_millis(if is_bad { 10_000 } else { 10 });
                    flying.push((now + late, 1 - index, s));
                }
            }
            while end.event().is_some() {}
            assert!(!end.is_over());
        }
        let due = flying.iter().map(|f| f.0).chain(ends.iter().filter_map(Machine::deadline));
        let due = due.chain((!written).then_some(at(1_000))).min();
        now = now.max(due.expect("something is due"));
        while let Some(i) = flying.iter().position(|f| f.0 <= now) {
            let (_, to, s) = flying.remove(i);
            ends[to].handle(now, Input::Segment(s));
        }
    }
    assert_eq!(crumbs, 0, "segments of one byte; done at {now}");
}
