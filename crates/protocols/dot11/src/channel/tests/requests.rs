//! BlockAckReqs: when they are sent, what they cost, and what the receiver does at one. Times are
//! those of `aggregates`; a BlockAckReq of 24 bytes at 24 Mbps takes 32 us.

use super::aggregates::{airtime, airtimes, batch, fates, ht, lossy};
use super::*;
use crate::{Aggregation, BlockAckRequest};

fn asking(request: BlockAckRequest, retry_limit: Option<u32>, mut config: Config) -> Config {
    let limits = |a| Aggregation { request, retry_limit, ..a };
    config.aggregation = config.aggregation.map(limits);
    config
}

fn count(rig: &Rig, kind: FrameKind) -> usize {
    rig.kinds().iter().filter(|seen| **seen == kind).count()
}

/// Control frames are lost by a set chance and data are not: however often the BlockAckReq has to
/// be repeated, nothing else goes twice.
#[test]
fn a_missing_block_ack_is_asked_for_instead_of_sending_all_again() {
    let mut requested = 0;
    for seed in 0..20 {
        let config = asking(BlockAckRequest::AfterMissing, Some(1000), lossy(0.0, 0.5));
        let mut rig = batch(config, ht(7), 1538, 5, seed);
        rig.run_until(at(200_000));
        assert_eq!(airtimes(&rig), [airtime(5)], "seed {seed}");
        assert_eq!(rig.delivered(), [0, 1, 2, 3, 4]);
        assert!(fates(&rig).iter().all(|(.., fate)| *fate == Fate::Sent), "seed {seed}");
        let requests = rig.ppdus().iter().filter(|f| f.kind == FrameKind::BlockAckReq).count();
        let first = rig.ppdus().into_iter().find(|f| f.kind == FrameKind::BlockAckReq);
        if let Some(first) = first {
            assert_eq!(first.airtime, Duration::from_micros(32));
            assert_eq!(first.reserved, Duration::from_micros(16 + 32));
            assert_eq!(first.scoreboard.map(|board| board.start), Some(0));
        }
        requested += requests;
    }
    assert!(requested > 10, "{requested}");
}

/// An MPDU at its last attempt is not dropped before the BlockAckReq is answered: it may have
/// arrived.
#[test]
fn the_answer_to_a_request_decides_on_the_last_attempt() {
    let mut answered = 0;
    for seed in 0..20 {
        let config = asking(BlockAckRequest::AfterMissing, Some(1), lossy(0.0, 0.5));
        let mut rig = batch(config, ht(7), 1538, 5, seed);
        rig.run_until(at(200_000));
        let ppdus = rig.ppdus();
        let last = ppdus.last().expect("it was sent");
        let arrives = last.kind == FrameKind::BlockAck && last.received;
        let expected = if arrives { Fate::Sent } else { Fate::RetryLimit };
        assert!(fates(&rig).iter().all(|(.., fate)| *fate == expected), "seed {seed}");
        assert_eq!(fates(&rig).len(), 5);
        assert_eq!(rig.channel.stats(RadioId(1)).retry_drops, if arrives { 0 } else { 5 });
        answered += u32::from(arrives && ppdus.len() > 2);
    }
    assert!(answered > 1, "{answered}");
}

/// Attempts are those at data, however often a BlockAckReq goes out, answered or not.
#[test]
fn requests_are_no_attempts() {
    for control in [0.0, 1.0] {
        let config = asking(BlockAckRequest::AfterMissing, Some(3), lossy(1.0, control));
        let mut rig = batch(config, ht(7), 1538, 2, 1);
        rig.run_until(at(1_000_000));
        let stats = rig.channel.stats(RadioId(1));
        assert_eq!((stats.attempts, stats.successes, stats.failures), (3, 0, 3));
    }
}

/// What a BlockAckReq finds missing is retransmitted with new frames, and CW is the least again.
#[test]
fn after_a_block_ack_request_only_what_is_missing_goes_again() {
    let config = asking(BlockAckRequest::AfterMissing, None, lossy(1.0, 0.0));
    let mut rig = batch(config, ht(7), 1538, 5, 1);
    rig.run_until(at(1_000_000));
    // Nothing of an A-MPDU arrives, every BlockAckReq does: seven attempts, each asked about, and a
    // report of the drop.
    let pair = [FrameKind::Data, FrameKind::BlockAckReq, FrameKind::BlockAck];
    assert_eq!(rig.kinds(), [&pair.repeat(7)[..], &pair[1..]].concat());
    assert!(fates(&rig).iter().all(|(.., fate)| *fate == Fate::RetryLimit));
    assert_eq!(rig.channel.stats(RadioId(1)).retry_drops, 5);
    assert_eq!(rig.channel.stats(RadioId(1)).cw, 15);
    assert!(rig.channel.is_ready(RadioId(1), AccessCategory::BestEffort));
}

/// With no answer ever, the BlockAckReq has as many attempts as a frame.
#[test]
fn a_request_is_given_up_and_the_data_go_again() {
    let config = asking(BlockAckRequest::AfterMissing, Some(3), lossy(1.0, 1.0));
    let mut rig = batch(config, ht(7), 1538, 2, 1);
    rig.run_until(at(1_000_000));
    let ask = FrameKind::BlockAckReq;
    assert_eq!(rig.kinds(), [FrameKind::Data, ask, ask, ask].repeat(3));
    assert!(fates(&rig).iter().all(|(.., fate)| *fate == Fate::RetryLimit));
    assert!(rig.channel.is_ready(RadioId(1), AccessCategory::BestEffort));
}

/// Frames behind one that was given up reach the host of the receiver with the BlockAckReq, and
/// not before; without BlockAckReqs at the drop itself.
#[test]
fn a_drop_is_told_by_a_request() {
    let mut reported = 0;
    for seed in 0..20 {
        let kinds = [BlockAckRequest::OnDrop, BlockAckRequest::Never].map(|request| {
            let config = asking(request, Some(2), lossy(0.5, 0.0));
            let mut rig = batch(config, ht(7), 1538, 8, seed);
            rig.run_until(at(100_000));
            rig
        });
        let [asks, knows] = &kinds;
        assert_eq!(asks.delivered(), knows.delivered(), "seed {seed}");
        assert_eq!(count(knows, FrameKind::BlockAckReq), 0);
        let drops = fates(asks).iter().filter(|(.., fate)| *fate == Fate::RetryLimit).count();
        assert_eq!(count(asks, FrameKind::BlockAckReq), usize::from(drops > 0), "seed {seed}");
        if drops == 0 {
            continue;
        }
        let request = asks.ppdus().into_iter().find(|f| f.kind == FrameKind::BlockAckReq).unwrap();
        let end = request.start + request.airtime;
        let lost = fates(asks).iter().filter(|(.., fate)| *fate == Fate::RetryLimit).count();
        let late = fates(asks).iter().filter(|(now, ..)| *now >= end).count();
        assert!(late >= lost, "seed {seed}: the host hears of drops after the request");
        reported += asks
            .outputs
            .iter()
            .filter(|(now, output)| matches!(output, Output::Deliver { .. }) && *now == end)
            .count();
    }
    assert!(reported > 10, "{reported}");
}

/// A retry limit of their own for MPDUs under block ack, whatever that of other frames.
#[test]
fn the_limit_of_mpdus_under_block_ack_is_their_own() {
    for (limit, attempts) in [(None, 7), (Some(2), 2), (Some(30), 30)] {
        let config = asking(BlockAckRequest::Never, limit, lossy(1.0, 0.0));
        let mut rig = batch(config, ht(7), 1538, 3, 1);
        rig.run_until(at(2_000_000));
        assert_eq!(airtimes(&rig), vec![airtime(3); attempts], "{limit:?}");
    }
}

/// While a BlockAckReq is due, frames that come join those that wait.
#[test]
fn frames_join_while_a_request_is_due() {
    let config = asking(BlockAckRequest::AfterMissing, None, lossy(1.0, 0.0));
    let mut rig = batch(config, ht(7), 1538, 3, 1);
    rig.run_until(at(100 + airtime(3) + 60));
    assert_eq!(rig.kinds(), [FrameKind::Data]);
    let channel = &rig.channel;
    assert!(channel.has_room(RadioId(1), AccessCategory::BestEffort, RadioId(0), true));
    assert!(!channel.has_room(RadioId(1), AccessCategory::BestEffort, RadioId(0), false));
    rig.send(at(100 + airtime(3) + 60), 1, Mpdu { bytes: 1538, mode: ht(7), ..mpdu(0, 3) });
    rig.run_until(at(10_000));
    assert_eq!(airtimes(&rig)[..2], [airtime(3), airtime(4)]);
}
