//! A-MPDUs, A-MSDUs and their answers, timed by hand: HT of 65 Mbps has 260 bits a symbol of 4 us
//! after 36 us of preamble, an MPDU of 1538 bytes takes 1544 with delimiter and padding, a
//! BlockAck of 32 bytes at 24 Mbps 32 us, an ACK 28 us.

use super::*;
use crate::{Aggregation, BlockAckRequest, Format, GuardInterval, Width};
use std::collections::BTreeSet;

pub(super) fn ht(mcs: u8) -> Mode {
    Mode::new(Format::Ht, mcs, 1, Width::Mhz20, GuardInterval::Ns800).unwrap()
}

fn frame(mode: Mode, bytes: u32, payload: u32) -> Mpdu<u32> {
    Mpdu { bytes, mode, ..mpdu(0, payload) }
}

/// The station is radio 1; `of` frames of `bytes` are handed to it at [`BOUNDARY`].
pub(super) fn batch(config: Config, mode: Mode, bytes: u32, of: u32, seed: u64) -> Rig {
    let mut rig = Rig::with_seed(config, &[radio("ap", 0.0), radio("sta", 4.0)], seed);
    (0..of).for_each(|i| rig.send(at(BOUNDARY), 1, frame(mode, bytes, i)));
    rig
}

pub(super) fn lossy(data: f64, control: f64) -> Config {
    let mut config = config(Standard::N);
    config.errors = ErrorModel::Rate { data, control };
    config
}

pub(super) fn airtimes(rig: &Rig) -> Vec<u64> {
    let ppdus = rig.ppdus();
    let data = ppdus.iter().filter(|frame| frame.kind == FrameKind::Data);
    data.map(|frame| frame.airtime.as_nanos() / 1000).collect()
}

/// Microseconds of so many MPDUs of 1538 bytes at MCS 7.
pub(super) fn airtime(mpdus: u32) -> u64 {
    let bytes = if mpdus == 1 { 1538 } else { 1544 * (mpdus - 1) + 1542 };
    36 + 4 * u64::from((22 + 8 * bytes).div_ceil(260))
}

pub(super) fn fates(rig: &Rig) -> Vec<(Instant, u32, Fate)> {
    let done = |(now, output): &(Instant, Output<u32>)| match *output {
        Output::Done { payload, fate, .. } => Some((*now, payload, fate)),
        Output::Deliver { .. } => None,
    };
    rig.outputs.iter().filter_map(done).collect()
}

#[test]
fn three_mpdus_go_in_one_ppdu_and_are_answered_by_a_block_ack() {
    let mut rig = batch(config(Standard::N), ht(7), 1538, 3, 1);
    rig.run_until(at(10_000));
    assert_eq!(rig.kinds(), [FrameKind::Data, FrameKind::BlockAck]);
    // 22 + 8 * (1544 + 1544 + 1542) bits are 143 symbols: 36 + 572 us.
    assert_eq!(rig.ppdus()[0].airtime, Duration::from_micros(608));
    assert_eq!(rig.ppdus()[0].reserved, Duration::from_micros(16 + 32));
    assert_eq!(rig.ppdus()[1].start, at(BOUNDARY + 608 + 16));
    assert_eq!(rig.delivered(), [0, 1, 2]);
    let end = at(BOUNDARY + 608 + 16 + 32);
    assert_eq!(fates(&rig), [0, 1, 2].map(|payload| (end, payload, Fate::Sent)));
}

/// Those that arrived are done at the BlockAck; the next PPDU holds the others and as many new
/// ones as were handed in since.
#[test]
fn lost_mpdus_are_repeated_alone_or_with_new_ones() {
    for new in [0, 2] {
        let mut rig = batch(lossy(0.3, 0.0), ht(7), 1538, 8, 5);
        rig.run_until(at(BOUNDARY + airtime(8) + 48));
        let lost = 8 - fates(&rig).len() as u32;
        assert!((1..8).contains(&lost), "the seed should lose some: {lost}");
        let now = at(BOUNDARY + airtime(8) + 48);
        (8..8 + new).for_each(|i| rig.send(now, 1, frame(ht(7), 1538, i)));
        rig.run_until(at(100_000));
        assert_eq!(airtimes(&rig)[..2], [airtime(8), airtime(lost + new)]);
        assert_eq!(rig.delivered(), (0..8 + new).collect::<Vec<_>>(), "in order");
    }
}

#[test]
fn without_block_acks_all_is_repeated_but_delivered_once() {
    let mut rig = batch(lossy(0.0, 1.0), ht(7), 1538, 5, 1);
    rig.run_until(at(1_000_000));
    assert_eq!(airtimes(&rig), [airtime(5); 7]);
    assert_eq!(rig.delivered(), [0, 1, 2, 3, 4]);
    assert!(fates(&rig).iter().all(|(_, _, fate)| *fate == Fate::RetryLimit));
    assert_eq!(rig.channel.stats(RadioId(1)).retry_drops, 5);
    assert_eq!(rig.channel.stats(RadioId(1)).cw, 15);
}

/// With two attempts and no BlockAckReqs, everything that came is handed up once the second
/// BlockAck has settled what did not come.
#[test]
fn a_frame_given_up_frees_those_behind_it() {
    let mut freed = 0;
    for seed in 0..20 {
        let mut config = Config { short_retry_limit: 2, ..lossy(0.5, 0.0) };
        let never = |a| Aggregation { request: BlockAckRequest::Never, ..a };
        config.aggregation = config.aggregation.map(never);
        let mut rig = batch(config, ht(7), 1538, 8, seed);
        rig.run_until(at(100_000));
        let dropped: Vec<u32> = fates(&rig)
            .iter()
            .filter_map(|(_, payload, fate)| (*fate == Fate::RetryLimit).then_some(*payload))
            .collect();
        let arrived: Vec<u32> = (0..8).filter(|payload| !dropped.contains(payload)).collect();
        assert_eq!(rig.delivered(), arrived, "seed {seed}");
        let Some(first) = dropped.first() else { continue };
        let end = fates(&rig).iter().map(|(now, ..)| *now).max().unwrap();
        let late = |(now, output): &&(Instant, Output<u32>)| {
            matches!(output, Output::Deliver { payload, .. } if payload > first) && *now == end
        };
        let behind = arrived.iter().filter(|payload| *payload > first).count();
        assert_eq!(rig.outputs.iter().filter(late).count(), behind, "seed {seed}");
        freed += behind;
    }
    assert!(freed > 10, "{freed}");
}

/// Six of the slowest mode's MPDUs go two by two, as a third would end after 5.484 ms; when the
/// first two are given up, the others begin with the least window.
#[test]
fn what_is_left_after_a_drop_begins_anew() {
    let mut rig = batch(lossy(1.0, 0.0), ht(0), 1538, 4, 1);
    while rig.channel.stats(RadioId(1)).retry_drops == 0 {
        let due = rig.channel.deadline().unwrap();
        rig.channel.wake(due);
        rig.drain(due);
    }
    // 22 + 8 * 3086 bits over 26 a symbol.
    assert_eq!(airtimes(&rig), [36 + 4 * 951; 7]);
    assert_eq!(rig.channel.stats(RadioId(1)).cw, 15);
    rig.run_until(at(10_000_000));
    assert_eq!(airtimes(&rig).len(), 14);
}

/// Ten MSDUs of 208 bytes are subframes of 222, padded to 224, in one MPDU of 2268 bytes: 70
/// symbols and an ordinary ACK.
#[test]
fn small_msdus_share_an_mpdu() {
    let mut config = config(Standard::N);
    config.aggregation = config.aggregation.map(|a| Aggregation { msdu_bytes: 3839, ..a });
    let mut rig = batch(config, ht(7), 238, 10, 1);
    rig.run_until(at(10_000));
    assert_eq!(rig.kinds(), [FrameKind::Data, FrameKind::Ack]);
    assert_eq!(airtimes(&rig), [36 + 4 * 70]);
    assert_eq!(rig.delivered(), (0..10).collect::<Vec<_>>());
}

/// Of an A-MSDU of 3839 bytes two MSDUs of 1508 find place, and a delimiter of HT can tell of
/// 4095 bytes only, whatever the A-MSDU may have.
#[test]
fn an_amsdu_keeps_its_limits() {
    for (msdu_bytes, symbols) in [(3839, 191), (7935, 191)] {
        let mut config = config(Standard::N);
        config.aggregation = config.aggregation.map(|a| Aggregation { msdu_bytes, ..a });
        let mut rig = batch(config, ht(7), 1538, 4, 1);
        rig.run_until(at(10_000));
        assert_eq!(rig.kinds(), [FrameKind::Data, FrameKind::BlockAck]);
        // 22 + 8 * (3080 + 3080) bits; a third MSDU in one would leave 4604 + 1542.
        assert_eq!(airtimes(&rig), [36 + 4 * (22 + 8 * 6160_u64).div_ceil(260)]);
        assert_eq!((22 + 8 * 6160_u64).div_ceil(260), symbols - 1);
    }
}

/// At 6.5 Mbps an A-MSDU of 7935 bytes would take 9.8 ms.
#[test]
fn an_amsdu_does_not_outlast_a_ppdu() {
    let mut config = config(Standard::N);
    let limits = |a| Aggregation { mpdus: 8, msdu_bytes: 7935, ..a };
    config.aggregation = config.aggregation.map(limits);
    config.edca = None;
    let mut rig = batch(config, ht(0), 1538, 5, 1);
    rig.run_until(at(100_000));
    assert_eq!(rig.delivered(), [0, 1, 2, 3, 4]);
    assert!(airtimes(&rig).iter().all(|airtime| *airtime <= 5_484), "{:?}", airtimes(&rig));
}

/// 22 + 8 * 1556 bits are 48 symbols of HT; with the delimiter of VHT they are 49.
#[test]
fn a_single_mpdu_is_answered_by_an_ack_behind_a_delimiter_or_not() {
    let vht = Mode::new(Format::Vht, 7, 1, Width::Mhz20, GuardInterval::Ns800).unwrap();
    let he = Mode::new(Format::He, 7, 1, Width::Mhz20, GuardInterval::Ns800).unwrap();
    // HE: 1170 bits in symbols of 13.6 us after 44 us.
    let cases = [
        (Standard::N, ht(7), 36_000 + 48 * 4_000),
        (Standard::Ac, vht, 40_000 + 49 * 4_000),
        (Standard::Ax, he, 44_000 + 11 * 13_600),
    ];
    for (standard, mode, nanos) in cases {
        let mut rig = batch(config(standard), mode, 1556, 1, 1);
        rig.run_until(at(10_000));
        assert_eq!(rig.kinds(), [FrameKind::Data, FrameKind::Ack]);
        assert_eq!(rig.ppdus()[0].airtime, Duration::from_nanos(nanos), "{standard:?}");
    }
}

/// A window of 256 needs a bitmap of 32 bytes: 56 bytes at 24 Mbps are 5 symbols, 40 us.
#[test]
fn he_answers_its_long_window_with_a_long_block_ack() {
    let he = Mode::new(Format::He, 11, 1, Width::Mhz80, GuardInterval::Ns800).unwrap();
    let mut rig = batch(config(Standard::Ax), he, 1538, 2, 1);
    rig.run_until(at(10_000));
    assert_eq!(rig.ppdus()[1].kind, FrameKind::BlockAck);
    assert_eq!(rig.ppdus()[1].airtime, Duration::from_micros(40));
}

/// A hidden station's frame destroys what it meets of an A-MPDU and leaves the rest.
#[test]
fn a_hidden_station_hits_a_part() {
    let mut config = config(Standard::N);
    config.carrier_sense = Dbm(-80.0);
    let radios = [radio("ap", 0.0), radio("left", -30.0), radio("right", 30.0)];
    let mut rig = Rig::new(config, &radios);
    (0..20).for_each(|i| rig.send(at(BOUNDARY), 1, frame(ht(0), 200, i)));
    // 20 * 204 bytes take 1257 symbols: 5064 us. 200 bytes at 6.5 Mbps are in 284 us.
    rig.run_until(at(3_000));
    rig.send(at(3_000), 2, Mpdu { to: None, ..frame(ht(0), 200, 99) });
    // A BlockAck at 6 Mbps takes 68 us.
    rig.run_until(at(BOUNDARY + 5_064 + 16 + 68));
    let settled = fates(&rig).iter().filter(|(_, payload, _)| *payload < 20).count();
    assert!((17..19).contains(&settled), "two or three of 251 us each are hit: {settled}");
    rig.run_until(at(100_000));
    let own: Vec<u32> = rig.delivered().into_iter().filter(|payload| *payload < 20).collect();
    assert_eq!(own, (0..20).collect::<Vec<_>>());
}

/// A radio that leaves takes along the frames that its receiver lacks. Those that waited there for
/// one before them are delivered, acknowledged or not.
#[test]
fn a_batch_leaves_with_its_radio() {
    let mut held = 0;
    for (seed, control) in (0..20).flat_map(|seed| [(seed, 0.0), (seed, 1.0)]) {
        let station = RadioConfig { roams: true, ..radio("sta", 4.0) };
        let mut rig = Rig::with_seed(lossy(0.5, control), &[radio("ap", 0.0), station], seed);
        (0..8).for_each(|i| rig.send(at(BOUNDARY), 1, frame(ht(7), 1538, i)));
        rig.run_until(at(BOUNDARY + airtime(8)));
        assert_eq!(rig.channel.leave(RadioId(1)), None, "the BlockAck is awaited");
        let mut now = at(BOUNDARY + airtime(8) + 48);
        rig.run_until(now);
        let before = rig.delivered().len();
        let left = loop {
            match rig.channel.leave(RadioId(1)) {
                Some(left) => break left,
                None => now = rig.channel.deadline().expect("an exchange is under way"),
            }
            rig.run_until(now);
        };
        rig.drain(now);
        held += rig.delivered().len() - before;
        let lacking = |payload: &u32| !rig.delivered().contains(payload);
        assert_eq!(left, (0..8).filter(lacking).collect::<Vec<_>>(), "seed {seed}");
        assert!(rig.delivered().is_sorted_by(|a, b| a < b), "seed {seed}: once, in order");
        rig.channel.join(RadioId(1));
        rig.run_until(at(10_000));
        assert_eq!(airtimes(&rig).len(), 1, "nothing is left to send");
    }
    assert!(held > 20, "{held}");
}

/// When radio 1 begins to send the frame that answers what it got, after the end of its own ACK or
/// BlockAck, in microseconds: the access point sends it `of` MPDUs together.
fn answer_after(of: u32, seed: u64) -> u64 {
    let mut rig = Rig::with_seed(config(Standard::N), &[radio("ap", 0.0), radio("sta", 4.0)], seed);
    let to_station = |i| Mpdu { to: Some(RadioId(1)), ..frame(ht(7), 1538, i) };
    (0..of).for_each(|i| rig.send(at(BOUNDARY), 0, to_station(i)));
    let handed_up = at(BOUNDARY + airtime(of));
    rig.run_until(handed_up);
    assert_eq!(rig.delivered().len(), of as usize);
    rig.send(handed_up, 1, frame(ht(7), 100, 99));
    rig.run_until(at(10_000));
    let (ack, answer) = (rig.ppdus()[1], rig.ppdus()[2]);
    assert_eq!(answer.from, RadioId(1));
    answer.start.since(ack.start + ack.airtime).as_nanos() / 1000
}

/// Most MPDUs of an A-MPDU are handed up while the next is on the air, so their answers find the
/// medium busy and draw. A single frame is handed up when the medium has become idle.
#[test]
fn answers_to_an_ampdu_draw_a_backoff_and_those_to_a_single_frame_none() {
    let drawn: BTreeSet<u64> = (0..30).map(|seed| answer_after(3, seed)).collect();
    assert!(drawn.iter().all(|micros| (43..=43 + 15 * 9).contains(micros)), "{drawn:?}");
    assert!(drawn.iter().all(|micros| (micros - 43) % 9 == 0), "{drawn:?}");
    assert!(drawn.len() > 8, "16 are as likely: {drawn:?}");
    assert!((0..5).all(|seed| answer_after(1, seed) == 43));
}
