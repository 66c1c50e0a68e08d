//! What is reported of frames that are sent together.

use super::super::tests::{Rig, at, config, mpdu, radio};
use super::*;
use crate::channel::{Config, ErrorModel, Mpdu};
use crate::{GuardInterval, Mode, Phy, QOS_BYTES, Standard, Width};
use fairwave_units::Duration;

/// MCS 7 of one stream at 20 MHz.
fn mode(format: Format) -> Mode {
    Mode::new(format, 7, 1, Width::Mhz20, GuardInterval::Ns800).unwrap()
}

/// Frames of a station to its access point, handed in at once, until 100 ms.
fn sent(config: Config, format: Format, frames: u32) -> Rig {
    let mut rig = Rig::new(config, &[radio("ap", 0.0), radio("sta", 4.0)]);
    for payload in 0..frames {
        let plain = mpdu(0, payload);
        let bytes = plain.bytes + QOS_BYTES;
        rig.send(at(100), 1, Mpdu { mode: mode(format), bytes, ..plain });
    }
    rig.run_until(at(100_000));
    rig
}

#[test]
fn each_mpdu_of_an_ampdu_is_reported_with_the_start_of_its_ppdu() {
    let rig = sent(config(Standard::N), Format::Ht, 3);
    let [first, second, third, answer] = rig.frames[..] else { panic!("{:?}", rig.frames) };
    let place = Place {
        ppdu: 1,
        is_ampdu: true,
        is_alone: false,
        is_last: false,
        is_amsdu: false,
        goes_on: false,
    };
    assert_eq!((first.sequence, first.place, first.payload), (0, Some(place), Some(0)));
    let expected = FrameReport { sequence: 1, payload: Some(1), ..first };
    assert_eq!(second, expected);
    let place = Some(Place { is_last: true, ..place });
    assert_eq!(third, FrameReport { sequence: 2, payload: Some(2), place, ..first });
    let board = Scoreboard { start: 0, arrived: [7, 0, 0, 0], is_long: false };
    assert_eq!((answer.kind, answer.scoreboard), (FrameKind::BlockAck, Some(board)));
    assert_eq!(answer.category, Some(AccessCategory::BestEffort));
    assert!(rig.frames.iter().all(|frame| frame.received && !frame.retry));
}

/// A single MPDU of HT is bare; of VHT it is an A-MPDU of one (clause 10.12.7).
#[test]
fn one_mpdu_is_acknowledged_by_an_ack() {
    for (standard, format, is_ampdu) in
        [(Standard::N, Format::Ht, false), (Standard::Ac, Format::Vht, true)]
    {
        let rig = sent(config(standard), format, 1);
        let kinds: Vec<FrameKind> = rig.frames.iter().map(|frame| frame.kind).collect();
        assert_eq!(kinds, [FrameKind::Data, FrameKind::Ack]);
        let place = rig.frames[0].place.unwrap();
        assert_eq!((place.is_ampdu, place.is_alone, place.is_last), (is_ampdu, true, true));
    }
}

/// The bitmap of each BlockAck tells what the reports of the data before it said, and what had
/// arrived earlier; a frame has its retry bit from its second time on.
#[test]
fn block_acks_and_retry_bits_agree_with_what_was_lost() {
    let mut config = config(Standard::N);
    config.errors = ErrorModel::Rate { data: 0.5, control: 0.2 };
    config.short_retry_limit = 100;
    let rig = sent(config, Format::Ht, 40);
    let (mut seen, mut arrived) = ([false; 40], [false; 40]);
    let (mut answers, mut losses) = (0, 0);
    for frame in &rig.frames {
        let sequence = usize::from(frame.sequence);
        if let Some(board) = frame.scoreboard {
            answers += 1;
            let start = usize::from(board.start);
            assert!(arrived[..start].iter().all(|arrived| *arrived), "{board:?}");
            let reported = (start..40).map(|s| board.arrived[0] >> (s - start) & 1 == 1);
            assert_eq!(reported.collect::<Vec<_>>(), arrived[start..], "{board:?}");
        } else if frame.kind == FrameKind::Data {
            assert_eq!(frame.retry, seen[sequence], "{frame:?}");
            seen[sequence] = true;
            arrived[sequence] |= frame.received;
            losses += u32::from(!frame.received);
        }
    }
    assert!(arrived.iter().all(|arrived| *arrived));
    assert!(answers > 3 && losses > 20, "{answers} answers, {losses} losses");
}

#[test]
fn payloads_of_an_amsdu_are_reported_one_after_the_other() {
    let mut config = config(Standard::N);
    config.aggregation = config.aggregation.map(|a| Aggregation { msdu_bytes: 3839, ..a });
    let rig = sent(config, Format::Ht, 4);
    let data = rig.frames.iter().filter(|frame| frame.kind == FrameKind::Data);
    let places = data.map(|frame| {
        let place = frame.place.unwrap();
        (frame.sequence, place.is_amsdu, place.goes_on, place.is_last, frame.payload.unwrap())
    });
    let expected = [
        (0, true, true, false, 0),
        (0, true, false, false, 1),
        (1, true, true, true, 2),
        (1, true, false, true, 3),
    ];
    assert_eq!(places.collect::<Vec<_>>(), expected);
}

/// A window of 256 needs 56 bytes: at 24 Mbps 20 us and 5 symbols, where 32 bytes take 3.
#[test]
fn the_block_ack_of_he_is_long() {
    for (standard, format, is_long, micros) in
        [(Standard::N, Format::Ht, false, 32), (Standard::Ax, Format::He, true, 40)]
    {
        let rig = sent(config(standard), format, 2);
        let answer = rig.frames.last().unwrap();
        assert_eq!(answer.scoreboard.unwrap().is_long, is_long);
        assert_eq!(answer.airtime, Duration::from_micros(micros));
        // What the data reserve: SIFS and the BlockAck.
        assert_eq!(rig.frames[0].reserved, Duration::from_micros(16 + micros));
    }
}

#[test]
fn a_cts_to_self_is_heard_by_others() {
    let mut config = config(Standard::G);
    config.phy = Phy { with_dsss: true, ..config.phy };
    config.protection = config.phy.legacy_modes().next();
    let mut rig = Rig::new(config, &[radio("ap", 0.0), radio("sta", 4.0)]);
    rig.send(at(100), 1, mpdu(0, 7));
    rig.run_until(at(10_000));
    let cts = rig.frames[0];
    assert_eq!((cts.kind, cts.from, cts.to), (FrameKind::Cts, RadioId(1), Some(RadioId(1))));
    assert!(cts.received && cts.signal > Dbm(-82.0), "{cts:?}");
}
