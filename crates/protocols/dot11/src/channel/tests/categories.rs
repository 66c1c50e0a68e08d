//! Access categories, TXOPs, protection and exchanges without acknowledgement, timed by hand.

use super::*;
use crate::{Aggregation, Edca, Format, GuardInterval, Width};

const VOICE: AccessCategory = AccessCategory::Voice;
const VIDEO: AccessCategory = AccessCategory::Video;

fn ht() -> Mode {
    Mode::new(Format::Ht, 7, 1, Width::Mhz20, GuardInterval::Ns800).unwrap()
}

fn frame(category: AccessCategory, payload: u32) -> Mpdu<u32> {
    Mpdu { bytes: 1538, mode: ht(), category, ..mpdu(0, payload) }
}

/// Keeps the station, radio 1, supplied with frames of `category` from [`BOUNDARY`] on.
fn saturate(config: Config, category: AccessCategory, end: Instant) -> Rig {
    let mut rig = Rig::new(config, &[radio("ap", 0.0), radio("sta", 4.0)]);
    let (own, ap) = (RadioId(1), RadioId(0));
    let mut now = at(BOUNDARY);
    let mut payload = 0;
    while now <= end {
        while rig.channel.is_ready(own, category) || rig.channel.has_room(own, category, ap, true) {
            rig.send(now, 1, frame(category, payload));
            payload += 1;
        }
        now = rig.channel.deadline().unwrap();
        rig.channel.wake(now);
        rig.drain(now);
    }
    rig
}

fn data(rig: &Rig) -> impl Iterator<Item = FrameReport<u32>> {
    rig.ppdus().into_iter().filter(|frame| frame.kind == FrameKind::Data)
}

/// 228 us of data, SIFS, an ACK of 28 us, SIFS: every 288 us. Of those 14 end within 4096 us (the
/// last SIFS apart), 7 within 2080 us.
#[test]
fn exchanges_follow_by_sifs_within_the_limit() {
    let cases = [(VIDEO, 14), (VOICE, 7), (AccessCategory::BestEffort, 1)];
    for (category, count) in cases {
        let config = Config { aggregation: None, ..config(Standard::N) };
        let rig = saturate(config, category, at(10_000));
        let starts: Vec<Instant> = data(&rig).map(|frame| frame.start).collect();
        let within: Vec<Instant> = (0..count).map(|i| at(BOUNDARY + 288 * i)).collect();
        assert_eq!(starts[..within.len()], within, "{category:?}");
        // The next TXOP is AIFS and a backoff later.
        let next = starts[within.len()];
        assert!(next >= at(BOUNDARY + 288 * count - 16 + 34), "{category:?}: {next:?}");
    }
}

/// PPDUs of four MPDUs take 800 us, 864 with the rest of their exchange; after four of them the
/// time left holds two MPDUs (420 us) and after these none.
#[test]
fn a_txop_is_filled_with_whole_ppdus_and_then_shorter_ones() {
    let mut config = config(Standard::N);
    config.aggregation = config.aggregation.map(|a| Aggregation { mpdus: 4, ..a });
    let rig = saturate(config, VIDEO, at(4_300));
    let airtimes: Vec<u64> = data(&rig).map(|f| f.airtime.as_nanos() / 1000).collect();
    assert_eq!(airtimes[..5], [800, 800, 800, 800, 420]);
    let starts: Vec<Instant> = data(&rig).map(|frame| frame.start).take(5).collect();
    assert_eq!(starts, [0, 1, 2, 3, 4].map(|i| at(BOUNDARY + 864 * i)));
}

/// RTS, CTS and both SIFS count towards the limit.
#[test]
fn a_txop_with_rts_ends_in_time() {
    let config = Config { rts_threshold: Some(500), ..config(Standard::N) };
    let rig = saturate(config, VIDEO, at(4_400));
    assert_eq!(rig.kinds()[..3], [FrameKind::Rts, FrameKind::Cts, FrameKind::Data]);
    let (start, end) = (rig.frames[0].start, at(BOUNDARY + 4_096));
    assert_eq!(start, at(BOUNDARY));
    let ppdus = rig.ppdus();
    let answer = &ppdus[3];
    assert_eq!(answer.kind, FrameKind::BlockAck);
    assert!(answer.start + answer.airtime <= end, "{answer:?}");
    assert!(ppdus[2].airtime > Duration::from_micros(3_600), "but it is used");
}

/// What does not fit the rest of the TXOP has not been sent: it may still be joined.
#[test]
fn frames_that_wait_for_the_next_txop_are_fresh() {
    let mut rig = Rig::new(config(Standard::N), &[radio("ap", 0.0), radio("sta", 4.0)]);
    (0..21).for_each(|i| rig.send(at(BOUNDARY), 1, frame(VIDEO, i)));
    // 21 MPDUs of 32422 bytes take 36 + 4 * 998 us, with the BlockAck 4076 of 4096 us.
    let end = at(BOUNDARY + 36 + 4 * 998 + 48);
    rig.run_until(end);
    rig.send(end, 1, frame(VIDEO, 21));
    assert!(rig.channel.has_room(RadioId(1), VIDEO, RadioId(0), false));
    rig.send(end, 1, frame(VIDEO, 22));
    rig.run_until(at(10_000));
    let airtimes: Vec<u64> = data(&rig).map(|f| f.airtime.as_nanos() / 1000).collect();
    // Two MPDUs: 22 + 8 * 3086 bits in 96 symbols.
    assert_eq!(airtimes, [36 + 4 * 998, 420]);
}

/// Both categories of a radio may begin at once: the more urgent does, and for the other that was
/// a collision.
#[test]
fn an_internal_collision_doubles_the_window_of_the_less_urgent() {
    let mut rig = Rig::new(config(Standard::N), &[radio("ap", 0.0), radio("sta", 4.0)]);
    rig.send(at(BOUNDARY), 1, frame(AccessCategory::BestEffort, 0));
    rig.send(at(BOUNDARY), 1, frame(VOICE, 1));
    rig.run_until(at(BOUNDARY + 1));
    assert_eq!(rig.channel.stats(RadioId(1)).cw, 31, "of best effort");
    rig.run_until(at(10_000));
    assert_eq!(rig.delivered(), [1, 0]);
    let stats = rig.channel.stats(RadioId(1));
    assert_eq!((stats.attempts, stats.failures, stats.collisions), (2, 0, 0));
}

/// A best-effort frame of radio 1 is lost, and `others` win the medium while its ACK is still
/// awaited: their windows are all zero.
fn others_win_before_the_timeout(others: &[AccessCategory]) -> Rig {
    let mut config = config(Standard::N);
    config.errors = ErrorModel::Rate { data: 1.0, control: 0.0 };
    if let Some(edca) = &mut config.edca {
        for category in others {
            let cw_max = if *category == VOICE { 0 } else { 15 };
            let own = &mut edca[*category as usize];
            *own = Edca { cw_min: 0, cw_max, ..*own };
        }
    }
    let mut rig = Rig::new(config, &[radio("ap", 0.0), radio("sta", 4.0)]);
    rig.send(at(BOUNDARY), 1, frame(AccessCategory::BestEffort, 0));
    for (payload, category) in (1..).zip(others) {
        rig.send(at(BOUNDARY + 50), 1, frame(*category, payload));
    }
    // 228 us of data and AIFS; the timeout is 11 us later.
    rig.run_until(at(BOUNDARY + 228 + 34));
    rig
}

/// With a window of zero, voice waits slot by slot for the end of its radio's exchange.
#[test]
fn a_window_of_zero_waits_for_the_response_of_another_category() {
    let mut rig = others_win_before_the_timeout(&[VOICE]);
    rig.run_until(at(BOUNDARY + 228 + 34 + 18 + 228));
    let starts: Vec<Instant> = data(&rig).map(|frame| frame.start).collect();
    assert_eq!(starts, [at(BOUNDARY), at(BOUNDARY + 228 + 34 + 18)]);
    rig.run_until(at(1_000_000));
    assert_eq!(rig.outputs.len(), 2, "both are given up");
}

/// None of the categories that end their backoff then has sent, so none has collided.
#[test]
fn no_category_collides_with_another_before_a_response() {
    let rig = others_win_before_the_timeout(&[VIDEO, VOICE]);
    let video = rig.channel.contender(1, VIDEO) as usize;
    assert_eq!(rig.channel.contenders[video].cw, 0);
}

/// With windows of nothing but zero, what waits begins AIFS after the medium is idle: SIFS and 2,
/// 3 or 7 slots.
#[test]
fn categories_begin_after_their_aifs() {
    let mut config = config(Standard::N);
    let bare = |edca: Edca| Edca { cw_min: 0, cw_max: 0, txop: Duration::ZERO, ..edca };
    config.edca = config.edca.map(|edca| edca.map(bare));
    let radios = [radio("ap", 0.0), radio("a", 1.0), radio("b", 2.0), radio("c", 3.0)];
    let mut rig = Rig::new(config, &radios);
    rig.send(at(BOUNDARY), 0, Mpdu { to: Some(RadioId(1)), ..frame(VOICE, 0) });
    rig.run_until(at(150));
    let waiting = [AccessCategory::Background, AccessCategory::BestEffort, VOICE];
    for (from, category) in (1..).zip(waiting) {
        rig.send(at(150), from, frame(category, from));
    }
    rig.run_until(at(10_000));
    assert_eq!(rig.delivered(), [0, 3, 2, 1]);
    let starts: Vec<Instant> = data(&rig).map(|frame| frame.start).collect();
    // Each exchange takes 228 + 16 + 28 us.
    let first = BOUNDARY + 272 + 34;
    let (second, third) = (first + 272 + 43, first + 272 + 43 + 272 + 79);
    assert_eq!(starts, [at(BOUNDARY), at(first), at(second), at(third)]);
}

/// A CTS of 14 bytes at 11 Mbps takes 192 + 11 us; the data follows by SIFS. The Duration field
/// covers SIFS, 254 us of data, SIFS and 34 us of ACK.
#[test]
fn a_cts_to_itself_goes_before_ofdm_data() {
    let mut config = config(Standard::G);
    config.phy.with_dsss = true;
    config.protection = config.phy.mode(BitRate::mbps(11));
    let stations = [radio("ap", 0.0), radio("sta", 4.0)];
    let mut rig = Rig::new(config.clone(), &stations);
    rig.send(at(100), 1, mpdu(0, 7));
    rig.run_until(at(10_000));
    assert_eq!(rig.kinds(), [FrameKind::Cts, FrameKind::Data, FrameKind::Ack]);
    let starts: Vec<Instant> = rig.frames.iter().map(|frame| frame.start).collect();
    assert_eq!(starts, [at(100), at(100 + 213), at(100 + 213 + 264)]);
    assert_eq!(rig.frames[0].reserved, Duration::from_micros(10 + 254 + 10 + 34));
    // DSSS needs none.
    let mut rig = Rig::new(config.clone(), &stations);
    let mode = config.phy.mode(BitRate::mbps(11)).unwrap();
    rig.send(at(100), 1, Mpdu { mode, ..mpdu(0, 7) });
    rig.run_until(at(10_000));
    assert_eq!(rig.kinds(), [FrameKind::Data, FrameKind::Ack]);
}

/// With DSSS stations the timeout after an RTS, 222 us, ends when the data has been sent, 162 us at
/// 54 Mbps, and before its ACK has come. It is that of the RTS alone.
#[test]
fn the_timeout_of_an_rts_ends_with_its_cts() {
    let mut config = config(Standard::G);
    config.phy.with_dsss = true;
    config.rts_threshold = Some(0);
    let mode = config.phy.mode(BitRate::mbps(54)).unwrap();
    let mut rig = Rig::new(config, &[radio("ap", 0.0), radio("sta", 4.0)]);
    rig.send(at(100), 1, Mpdu { bytes: 900, mode, ..mpdu(0, 7) });
    rig.run_until(at(10_000));
    assert_eq!(rig.kinds(), [FrameKind::Rts, FrameKind::Cts, FrameKind::Data, FrameKind::Ack]);
    assert_eq!(rig.channel.stats(RadioId(1)).failures, 0);
}

/// Without acknowledgement a frame is sent once, whatever becomes of it.
#[test]
fn what_nobody_acknowledges_is_never_repeated() {
    let mut config = config(Standard::B);
    config.acknowledges = false;
    config.errors = ErrorModel::Rate { data: 0.5, control: 0.0 };
    let mode = config.phy.mode(BitRate::mbps(2)).unwrap();
    let mut rig = Rig::new(config, &[radio("ap", 0.0), radio("sta", 4.0)]);
    for i in 0..100 {
        let now = at(10_000 * (1 + u64::from(i)));
        rig.run_until(now);
        rig.send(now, 1, Mpdu { mode, ..mpdu(0, i) });
    }
    rig.run_until(at(2_000_000));
    assert_eq!(rig.kinds(), [FrameKind::Data; 100]);
    assert!(rig.frames.iter().all(|frame| frame.reserved.is_zero() && !frame.retry));
    let arrived = rig.delivered().len();
    assert!((30..70).contains(&arrived), "{arrived}");
    let done = rig.outputs.iter().filter(|(_, o)| matches!(o, Output::Done { .. })).count();
    assert_eq!(done, 100);
}
