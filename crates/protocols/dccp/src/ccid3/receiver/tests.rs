//! Feedback of CCID 3 by hand, section by section of RFC 4342.

use super::*;
use crate::ccid::Receiver as _;
use fairwave_wire::dccp::Kind;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn arrive(receiver: &mut Receiver, now: Instant, seq: u64, ccval: u8, data: Option<u32>) {
    let options = Options::new();
    receiver.on_packet(
        now,
        &Arrived {
            seq: Seq48::new(seq),
            kind: Kind::Data,
            data,
            wire_len: 16 + data.unwrap_or(0),
            ccval,
            ecn: Ecn::NotEct,
            options: &options,
        },
    );
}

fn feedback(receiver: &mut Receiver, now: Instant) -> Options {
    let mut options = Options::new();
    receiver.acknowledge(now, Seq48::ZERO, &mut options);
    options
}

/// Section 8.6.2: the example's bytes, but for the ECN Nonce Echoes, which are always 0 here
/// (L3 and L0 have 128 in the RFC). L0's length of 15 is what the first interval was seeded with.
#[test]
fn the_bytes_are_those_of_the_example() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    let lost = [10, 19, 20, 21, 23, 32, 43];
    let without_data = [12, 25, 26, 27, 34];
    for seq in (0..=44).filter(|seq| !lost.contains(seq)) {
        let data = (!without_data.contains(&seq)).then_some(100);
        arrive(&mut receiver, at(seq), seq, (seq / 2 % 16) as u8, data);
        if receiver.history.events_so_far() == 1 {
            receiver.history.seed(15.0);
        }
    }
    let options = feedback(&mut receiver, at(44));
    let bytes: Vec<u8> = options
        .items()
        .filter(|item| item.kind == 193)
        .flat_map(|item| item.data.to_vec())
        .collect();
    assert_eq!(
        bytes,
        [
            2, 0, 0, 10, 0, 0, 1, 0, 0, 10, 0, 0, 8, 0, 0, 5, 0, 0, 10, 0, 0, 8, 0, 0, 1, 0, 0, 8,
            0, 0, 10, 0, 0, 0, 0, 0, 15
        ]
    );
}

/// Section 6: elapsed time, receive rate and loss intervals; before a loss one interval without
/// lossy part and of data length 0 (section 6.1.1).
#[test]
fn feedback_has_all_it_must_have() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    assert!(feedback(&mut receiver, at(0)).is_empty(), "no data, no feedback");
    arrive(&mut receiver, at(0), 5, 0, Some(1000));
    assert!(receiver.is_due(at(0)), "the first packet");
    feedback(&mut receiver, at(0));
    for k in 1..=4 {
        assert!(!receiver.is_due(at(25 * k - 25)));
        arrive(&mut receiver, at(25 * k), 5 + k, k as u8, Some(1000));
    }
    assert!(receiver.is_due(at(100)), "last_counter + 4");
    let options = feedback(&mut receiver, at(103));
    let values: Vec<Value<'_>> = options.values().collect();
    assert_eq!(values[0], Value::ElapsedTime(300));
    // 4000 bytes in the 103 ms since the first feedback.
    assert_eq!(values[1], Value::ReceiveRate(38_835));
    let Value::LossIntervals { skip: 0, intervals } = values[2] else { panic!("{values:?}") };
    let loss_report: Vec<dccp::LossInterval> = intervals.iter().collect();
    assert_eq!(loss_report, [dccp::LossInterval::new(5, 0, 0, false)]);
    assert_eq!(values.len(), 3);
}

/// Section 10.3: each packet is answered when there is less than one a round trip.
#[test]
fn rare_packets_are_answered_each() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    for k in 0..20u64 {
        arrive(&mut receiver, at(1000 * k), k, (5 * k % 16) as u8, Some(100));
        assert!(receiver.is_due(at(1000 * k)), "packet {k}");
        feedback(&mut receiver, at(1000 * k));
    }
}

/// Section 8.5: 1/p rounded up; all ones without a loss.
#[test]
fn the_loss_event_rate_is_told_when_asked_for() {
    let config = ReceiverConfig { send_loss_event_rate: true, ..ReceiverConfig::default() };
    let mut receiver = Receiver::new(config);
    arrive(&mut receiver, at(0), 0, 0, Some(1000));
    let rate = |options: &Options| options.values().last().map(|value| format!("{value:?}"));
    assert_eq!(rate(&feedback(&mut receiver, at(0))), Some("LossEventRate(4294967295)".into()));
    for seq in [2, 3, 4] {
        arrive(&mut receiver, at(seq), seq, 0, Some(1000));
    }
    receiver.history.seed(99.5);
    assert_eq!(rate(&feedback(&mut receiver, at(5))), Some("LossEventRate(100)".into()));
}

/// The other end asks for the option by the feature.
#[test]
fn the_feature_turns_the_loss_event_rate_on_and_off() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    let tells = |receiver: &mut Receiver, ms| {
        arrive(receiver, at(ms), ms, 0, Some(1000));
        let is_it = |value: Value<'_>| matches!(value, Value::LossEventRate(_));
        feedback(receiver, at(ms)).values().any(is_it)
    };
    assert!(!tells(&mut receiver, 0));
    receiver.set_send_loss_event_rate(true);
    assert!(tells(&mut receiver, 1));
    receiver.set_send_loss_event_rate(false);
    assert!(!tells(&mut receiver, 2));
}

/// A loss is told at once (section 10.3), and so is one that was none.
#[test]
fn a_loss_is_told_at_once() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    for seq in [0, 1, 2, 4, 5] {
        arrive(&mut receiver, at(seq), seq, 0, Some(1000));
        feedback(&mut receiver, at(seq));
    }
    assert!(!receiver.is_due(at(5)));
    arrive(&mut receiver, at(6), 6, 0, Some(1000));
    assert!(receiver.is_due(at(6)));
    feedback(&mut receiver, at(6));
    assert!(receiver.loss_event_rate() > 0.0);
    arrive(&mut receiver, at(7), 3, 0, Some(1000));
    assert!(receiver.is_due(at(7)));
    feedback(&mut receiver, at(7));
    assert_eq!(receiver.loss_event_rate(), 0.0);
}

/// RFC 5622, section 8.7: three bytes an interval, how many packets of it were lost.
#[test]
fn ccid_4_tells_how_many_were_lost() {
    let mut receiver = Receiver::small_packets(ReceiverConfig::default());
    for seq in (0..60).filter(|seq| ![10, 11, 12, 40, 42].contains(seq)) {
        arrive(&mut receiver, at(seq), seq, (seq / 2 % 16) as u8, Some(100));
    }
    let options = feedback(&mut receiver, at(60));
    let dropped = options.items().find(|item| item.kind == DROPPED_PACKETS).unwrap();
    assert_eq!(dropped.data, [0, 0, 2, 0, 0, 3, 0, 0, 0]);
}

/// The other end may send acknowledgements only, and lose some: there is nothing to report.
#[test]
fn without_data_nothing_is_ever_due() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    for seq in (0..100).filter(|seq| seq % 7 != 3) {
        arrive(&mut receiver, at(seq), seq, 0, None);
        assert!(!receiver.is_due(at(seq)), "packet {seq}");
    }
}

/// Neither an acknowledgement for another reason nor a loss seen by packets without data reports a
/// receive rate: zero held the sender at a packet in 64 s.
#[test]
fn without_data_since_the_last_feedback_there_is_none() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    arrive(&mut receiver, at(0), 0, 0, Some(1_000));
    arrive(&mut receiver, at(10), 1, 1, Some(1_000));
    assert!(!feedback(&mut receiver, at(10)).is_empty());
    for seq in [3, 4, 5] {
        arrive(&mut receiver, at(400 + seq), seq, 0, None);
    }
    assert!(!receiver.is_due(at(410)));
    assert!(feedback(&mut receiver, at(410)).is_empty());
    arrive(&mut receiver, at(420), 6, 2, Some(1_000));
    assert!(receiver.is_due(at(420)), "the loss is reported with the next data");
    let rate = feedback(&mut receiver, at(420)).values().find_map(|value| match value {
        Value::ReceiveRate(rate) => Some(rate),
        _ => None,
    });
    assert!(rate.is_some_and(|rate| rate > 0), "{rate:?}");
}

/// The first of all intervals: what is told of it by each reading, for a loss after 50 packets at
/// one each 10 ms, of which 30 came in the last round trip reported.
#[test]
fn the_first_interval_is_what_is_asked_for() {
    let loss_report = |first_interval, profile| {
        let config = ReceiverConfig { profile, first_interval, ..ReceiverConfig::default() };
        let mut receiver = Receiver::new(config);
        for seq in 0..50u64 {
            arrive(&mut receiver, at(10 * seq), seq, (seq / 5 % 16) as u8, Some(1000));
            if seq % 20 == 19 {
                feedback(&mut receiver, at(10 * seq));
            }
        }
        for seq in 51..56 {
            arrive(&mut receiver, at(10 * seq), seq, (seq / 5 % 16) as u8, Some(1000));
        }
        let mut intervals = [LossInterval::default(); REPORTED];
        let count = receiver.history.intervals(&mut intervals);
        intervals[..count].last().expect("the first interval").data
    };
    let counted = loss_report(Some(FirstInterval::Counted), Profile::Rfc5348);
    assert_eq!(counted, 50);
    let measured = loss_report(Some(FirstInterval::Measured), Profile::Rfc5348);
    assert_eq!(measured, loss_report(None, Profile::Rfc3448));
    let reported = loss_report(Some(FirstInterval::Reported), Profile::Rfc3448);
    assert_eq!(reported, loss_report(None, Profile::Rfc5348));
    assert!(measured != counted && reported != counted, "{measured}, {reported}");
}

/// A handover that leaves out what came before it: an acknowledgement for another reason has no
/// feedback, whether data came before its end or within a round trip of it.
#[test]
fn data_that_a_handover_leaves_out_are_not_reported() {
    let begin = |receiver: &mut Receiver| {
        arrive(receiver, at(0), 0, 0, Some(1_000));
        assert!(!feedback(receiver, at(0)).is_empty());
        arrive(receiver, at(10), 1, 0, Some(1_000));
    };
    let ended = Handover::Ended { free: None };
    let with = |remedies| Receiver::new(ReceiverConfig { remedies, ..Default::default() });

    let mut alone = with(Remedies { leave_out: true, ..Remedies::default() });
    begin(&mut alone);
    alone.on_handover(at(20), ended);
    assert!(feedback(&mut alone, at(30)).is_empty());
    arrive(&mut alone, at(40), 2, 0, Some(1_000));
    assert!(!feedback(&mut alone, at(50)).is_empty());

    let mut told = with(Remedies { notify: true, ..Remedies::default() });
    begin(&mut told);
    told.on_handover(at(15), Handover::Started);
    told.on_handover(at(20), ended);
    arrive(&mut told, at(30), 2, 0, Some(1_000));
    assert!(feedback(&mut told, at(40)).is_empty());
    arrive(&mut told, at(300), 3, 2, Some(1_000));
    assert!(!feedback(&mut told, at(310)).is_empty());
}
