//! The sender by hand and against a receiver over a line.

use super::super::testing::{Pair, Source, lossless};
use super::super::{Receiver, ReceiverConfig};
use super::*;
use crate::ccid::{Arrived, Receiver as _, Sender as _};
use crate::tfrc::equation::throughput;
use fairwave_machine::line::{Line, Wire};
use fairwave_units::{BitRate, Seed};
use fairwave_wire::dccp::{Kind, LossInterval, LossIntervals};
use fairwave_wire::ipv4::Ecn;
use proptest::prelude::*;

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + millis(ms)
}

/// A sender with R = 100 ms that has sent packets 0 to 99 in the second up to `at(1100)`.
fn steady(config: SenderConfig) -> Sender {
    let mut sender = Sender::new(config, 1000.0, at(0));
    for seq in 0..100 {
        let now = at(10 * seq);
        sender.ccval(now);
        sender.on_sent(now, &sent(seq));
        if seq == 10 {
            feedback(&mut sender, now, 0, &[]);
        }
    }
    sender
}

fn sent(seq: u64) -> Sent {
    let seq = Seq48::new(seq);
    Sent { seq, data: Some(1000), wire_len: 1016, ecn: Ecn::NotEct, more: true }
}

fn feedback(sender: &mut Sender, now: Instant, ack: u64, values: &[Value<'_>]) {
    let mut options = Options::new();
    for value in values {
        options.push(*value).unwrap();
    }
    let ack = Seq48::new(ack);
    let seq = Seq48::new(now.as_nanos());
    let kind = Kind::Ack { ack };
    sender.on_feedback(now, &Feedback { seq, kind, ack, ecn: Ecn::NotEct, options: &options });
}

/// Feedback on packet 99, 100 ms after it was sent, that tells of intervals of 50 packets.
fn complete<'a>(intervals: &'a [u8], more: &[Value<'a>]) -> Vec<Value<'a>> {
    let intervals = LossIntervals::from_bytes(intervals).unwrap();
    let mut values = vec![
        Value::ElapsedTime(0),
        Value::ReceiveRate(100_000),
        Value::LossIntervals { skip: 0, intervals },
    ];
    values.extend_from_slice(more);
    values
}

fn fifty() -> Vec<u8> {
    let wire = [LossInterval::new(49, 1, 50, false), LossInterval::new(50, 0, 50, false)];
    wire.iter().flat_map(|interval| interval.to_bytes()).collect()
}

fn close(found: f64, wanted: f64) -> bool {
    (found / wanted - 1.0).abs() < 1e-6
}

#[test]
fn p_comes_from_the_loss_intervals() {
    let mut sender = steady(SenderConfig::default());
    let intervals = fifty();
    feedback(&mut sender, at(1090), 99, &complete(&intervals, &[]));
    assert!(close(sender.rate_control().p(), 0.02));
    assert_eq!(sender.stats().rtt, Some(millis(100)));
    assert_eq!(sender.stats().mean_loss_interval.map(f64::round), Some(50.0));
    assert!(close(sender.rate_control().rate(), throughput(1000.0, 0.1, 0.02)));
}

/// The feedback of Linux 6.1: receive rate and loss event rate, and neither elapsed time nor loss
/// intervals. It was ignored, so that the rate stayed at two packets a second.
#[test]
fn a_receiver_may_tell_the_loss_event_rate_instead_of_intervals() {
    let mut sender = steady(SenderConfig::default());
    let loss_report = |p| [Value::ReceiveRate(100_000), Value::LossEventRate(p)];
    feedback(&mut sender, at(1090), 99, &loss_report(u32::MAX));
    let (p, events) = (sender.rate_control().p(), sender.stats().congestion_events);
    assert_eq!((p, events), (0.0, 0), "all ones are no loss");
    assert_eq!(sender.stats().receive_rate, Some(100_000.0));
    feedback(&mut sender, at(1091), 99, &loss_report(50));
    assert!(close(sender.rate_control().p(), 0.02));
    assert_eq!(sender.stats().congestion_events, 1);
    let rtt = sender.stats().rtt.unwrap().as_secs_f64();
    assert!(close(sender.rate_control().rate(), throughput(1000.0, rtt, 0.02)));
    // Between events the rate of events falls.
    feedback(&mut sender, at(1092), 99, &loss_report(60));
    assert_eq!(sender.stats().congestion_events, 1);
    // Nobody divides by it, and without a receive rate nothing is known.
    feedback(&mut sender, at(1093), 99, &loss_report(0));
    assert!(close(sender.rate_control().p(), 1.0));
    feedback(&mut sender, at(1094), 99, &[Value::LossEventRate(50)]);
    assert!(close(sender.rate_control().p(), 1.0));
}

/// A queue that grows under 5000 packets: feedback on the first of them, two seconds after it went,
/// gives a round-trip time. R = 0.9 * 100 ms + 0.1 * 2000 ms.
#[test]
fn a_long_queue_makes_the_round_trip_long() {
    let mut sender = steady(SenderConfig::default());
    let intervals = fifty();
    feedback(&mut sender, at(1090), 99, &complete(&intervals, &[]));
    for n in 0..5_000 {
        sender.on_sent(at(1100) + Duration::from_micros(100 * n), &sent(100 + n));
    }
    feedback(&mut sender, at(3100), 100, &complete(&intervals, &[]));
    assert_eq!(sender.stats().rtt, Some(millis(290)));
}

/// Section 6: what lacks one of the three options is no feedback.
#[test]
fn incomplete_feedback_changes_nothing() {
    let intervals = fifty();
    for missing in 0..3 {
        let mut sender = steady(SenderConfig::default());
        let before = sender.rate_control().rate();
        let mut values = complete(&intervals, &[]);
        values.remove(missing);
        feedback(&mut sender, at(1090), 99, &values);
        assert_eq!(sender.rate_control().p(), 0.0, "without {missing}");
        assert_eq!(sender.rate_control().rate(), before);
    }
}

#[test]
fn feedback_on_packets_never_sent_is_ignored() {
    let mut sender = steady(SenderConfig::default());
    let intervals = fifty();
    feedback(&mut sender, at(1090), 100, &complete(&intervals, &[]));
    assert_eq!(sender.rate_control().p(), 0.0);
}

/// Section 5.2 by hand: X_in = 100 000, s = 1000, R = 0.1 s.
#[test]
fn a_slow_receiver_limits_the_rate() {
    let limited = |more: &[Value<'_>]| {
        let mut sender = steady(SenderConfig::default());
        let received = sender.read_options(&options(more), Seq48::new(99), 99);
        sender.believed_rate(&received, 100_000.0)
    };
    assert_eq!(limited(&[]), 100_000.0);
    assert_eq!(limited(&[Value::SlowReceiver]), 50_000.0);
    // Three packets with drop code 2: X_drop = 100 000 - 3 * 10 000.
    assert!(close(limited(&[Value::DataDropped(&[0xa2])]), 35_000.0));
    // Twenty: not below one packet a round trip.
    assert!(close(limited(&[Value::DataDropped(&[0xaf, 0xa3])]), 5_000.0));
    // Damage is no congestion: code 3.
    assert_eq!(limited(&[Value::DataDropped(&[0xb2])]), 100_000.0);
}

#[test]
fn drops_are_counted_once() {
    let mut sender = steady(SenderConfig::default());
    let three = options(&[Value::DataDropped(&[0xa2])]);
    for (ack, newly) in [(50, 3), (51, 1), (51, 0)] {
        let ack = Seq48::new(ack);
        let newest = sender.numbers.of(ack).unwrap();
        assert_eq!(sender.read_options(&three, ack, newest).dropped, newly, "{ack:?}");
    }
}

fn options(values: &[Value<'_>]) -> Options {
    let mut options = Options::new();
    for value in values {
        options.push(*value).unwrap();
    }
    options
}

/// The rate at which the equation and the losses of its own packets agree: losses within a round
/// trip of N packets after the first are one event, so that p = loss / (1 + N loss).
fn fixed_point(s: f64, rtt: f64, loss: f64) -> f64 {
    let mut x = throughput(s, rtt, loss);
    for _ in 0..100 {
        let p = loss / (1.0 + loss * x * rtt / s);
        x = (x + throughput(s, rtt, p)) / 2.0;
    }
    x
}

#[test]
fn the_rate_is_that_of_the_equation() {
    for (seed, loss, rtt) in [(1, 0.005, 50), (2, 0.01, 100), (3, 0.02, 20), (4, 0.05, 100)] {
        let wire = Wire { delay: millis(rtt / 2), loss, ..Wire::default() };
        let mut pair = Pair::new(seed, wire, Source::Greedy, 1000);
        pair.run(at(20_000));
        let before = pair.bytes_sent;
        pair.run(at(320_000));
        let rate = (pair.bytes_sent - before) as f64 / 300.0;
        let wanted = fixed_point(1000.0, rtt as f64 / 1000.0, loss);
        let ratio = rate / wanted;
        assert!((0.85..1.15).contains(&ratio), "loss {loss}, {rtt} ms: {ratio} (seed {seed})");
    }
}

/// Alone on a bottleneck of 2 Mbps it fills it, and no less than 85 %.
#[test]
fn a_bottleneck_is_filled() {
    let wire = Wire {
        delay: millis(20),
        rate: Some(BitRate::mbps(2)),
        queue: Some(25),
        ..Wire::default()
    };
    let mut pair = Pair::new(5, wire, Source::Greedy, 1000);
    pair.run(at(20_000));
    let before = pair.line.tally(fairwave_machine::line::End::A);
    pair.run(at(80_000));
    let after = pair.line.tally(fairwave_machine::line::End::A);
    let arrived = (after.sent - after.overflowed) - (before.sent - before.overflowed);
    let filled = arrived as f64 * 1036.0 * 8.0 / 60.0 / 2e6;
    assert!(filled > 0.85, "{filled} (seed 5)");
}

/// On a loopback the round trip is 50 us, and packets of 1400 bytes come 1 ms apart, so that their
/// counters give the receiver no round-trip time and it reports each: 1.4 MB/s, and not eight
/// packets in an assumed round trip of 200 ms.
#[test]
fn packets_rarer_than_round_trips_are_reported_at_their_rate() {
    let wire = Wire { delay: Duration::from_micros(25), ..Wire::default() };
    let mut pair = Pair::new(7, wire, Source::Every(millis(1)), 1400);
    pair.run(at(2_000));
    let received = pair.sender.stats().receive_rate.unwrap();
    assert!((1.3e6..1.5e6).contains(&received), "{received} B/s");
}

/// One feedback a round trip, a few more for losses.
#[test]
fn feedback_comes_once_a_round_trip() {
    let wire = Wire { delay: millis(50), ..Wire::default() };
    let mut pair = Pair::new(6, wire, Source::Every(millis(10)), 629);
    pair.run(at(60_000));
    // The counter steps with the packets, every 30 ms rather than 25.
    assert!((480..=620).contains(&pair.feedbacks), "{}", pair.feedbacks);
    assert_eq!(pair.sender.rate_control().p(), 0.0);
    assert_eq!(pair.receiver.loss_event_rate(), 0.0);
}

/// The paper's stream with a round trip of 50 ms and steady losses, and a gap of 3 s in it.
fn after_gap(remedies: Remedies) -> Pair {
    let config = SenderConfig { remedies, ..SenderConfig::default() };
    let wire = Wire { delay: millis(25), loss: 0.005, ..Wire::default() };
    let dead = Wire { loss: 1.0, ..wire };
    let sender = Sender::new(config, 629.0, at(0));
    let line = Line::new(Seed(9), wire, lossless(wire));
    let receiver = Receiver::new(ReceiverConfig::default());
    let mut pair = Pair::between(sender, receiver, line, Source::Every(millis(10)), 629);
    pair.run(at(20_000));
    pair.set_wires(dead, dead);
    pair.report(Handover::Started);
    pair.run(at(23_000));
    pair.set_wires(wire, lossless(wire));
    pair.report(Handover::Ended { free: Some(BitRate(400_000)) });
    pair.run(at(23_300));
    pair
}

#[test]
fn remedies_keep_the_gap_out_of_the_rate() {
    let none = after_gap(Remedies::default());
    let leave_out = after_gap(Remedies { leave_out: true, ..Remedies::default() });
    let restart = after_gap(Remedies { restart: true, ..Remedies::default() });
    let (x_none, x_b, x_e) = (
        none.sender.rate_control().rate(),
        leave_out.sender.rate_control().rate(),
        restart.sender.rate_control().rate(),
    );
    // Timers halve the rate in the gap; B' keeps it and E begins at 4 packets a round trip.
    assert!(x_none < 20_000.0, "{x_none} (seed 9)");
    assert!(x_b > 62_900.0, "{x_b} (seed 9)");
    assert!(x_e > 45_000.0, "{x_e} (seed 9)");
}

/// The receiver, which has no notice, goes on reporting the losses of the gap before.
#[test]
fn losses_of_every_gap_are_left_out() {
    let remedies = Remedies { leave_out: true, ..Remedies::default() };
    let config = SenderConfig { remedies, ..SenderConfig::default() };
    let wire = Wire { delay: millis(25), ..Wire::default() };
    let dead = Wire { loss: 1.0, ..wire };
    let sender = Sender::new(config, 629.0, at(0));
    let line = Line::new(Seed(9), wire, wire);
    let receiver = Receiver::new(ReceiverConfig::default());
    let mut pair = Pair::between(sender, receiver, line, Source::Every(millis(10)), 629);
    for gap in 1..=3 {
        pair.run(at(10_000 * gap));
        pair.set_wires(dead, dead);
        pair.report(Handover::Started);
        pair.run(at(10_000 * gap + 2_000));
        pair.set_wires(wire, wire);
        pair.report(Handover::Ended { free: None });
        pair.run(at(10_000 * gap + 9_000));
        let stats = pair.sender.stats();
        assert_eq!((stats.loss_event_rate, stats.congestion_events), (Some(0.0), 0), "gap {gap}");
    }
}

#[test]
fn a_long_gap_is_one_loss_event_unless_split() {
    let events = |split_gap_events| {
        let config = SenderConfig { split_gap_events, ..SenderConfig::default() };
        let wire = Wire { delay: millis(25), ..Wire::default() };
        let dead = Wire { loss: 1.0, ..wire };
        let sender = Sender::new(config, 629.0, at(0));
        let line = Line::new(Seed(9), wire, wire);
        let receiver = Receiver::new(ReceiverConfig::default());
        let mut pair = Pair::between(sender, receiver, line, Source::Every(millis(10)), 629);
        pair.run(at(20_000));
        pair.set_wires(dead, dead);
        pair.run(at(23_000));
        pair.set_wires(wire, wire);
        pair.run(at(26_000));
        pair.sender.stats().congestion_events
    };
    assert_eq!(events(false), 1);
    assert!(events(true) > 3, "{}", events(true));
}

/// CCID 4: no two packets within 10 ms, whatever the rate.
#[test]
fn small_packets_keep_their_distance() {
    let wire = Wire { delay: millis(20), ..Wire::default() };
    let sender = Sender::small_packets(SenderConfig::default(), 160.0, at(0));
    let receiver = Receiver::small_packets(ReceiverConfig::default());
    let line = Line::new(Seed(3), wire, wire);
    let mut pair = Pair::between(sender, receiver, line, Source::Greedy, 160);
    pair.run(at(10_000));
    let packets = pair.bytes_sent / 160;
    assert!((950..=1001).contains(&packets), "{packets}");
}

/// CCID 4 at losses takes the bits of large packets, less the headers' share (RFC 4828).
#[test]
fn small_packets_take_the_bits_of_large_ones() {
    let (loss, rtt) = (0.05, 400);
    let wire = Wire { delay: millis(rtt / 2), loss, ..Wire::default() };
    let sender = Sender::small_packets(SenderConfig::default(), 400.0, at(0));
    let receiver = Receiver::small_packets(ReceiverConfig::default());
    let line = Line::new(Seed(8), wire, lossless(wire));
    let mut pair = Pair::between(sender, receiver, line, Source::Greedy, 400);
    pair.run(at(50_000));
    let before = pair.bytes_sent;
    pair.run(at(650_000));
    let rate = (pair.bytes_sent - before) as f64 / 600.0;
    let p = pair.sender.rate_control().p();
    let large = throughput(1460.0, 0.4, loss) * 400.0 / 436.0;
    assert!((0.6..1.7).contains(&(rate / large)), "{rate} for {large}, p = {p} (seed 8)");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// On a line that loses, repeats and reorders, both ways, with handovers or without, p is a
    /// probability and the rate never below a packet in 64 s.
    #[test]
    fn any_line_is_survived(
        seed: u64,
        loss in 0.0..0.5f64,
        duplicate in 0.0..0.3f64,
        jitter in 0u64..200,
        delay in 0u64..200,
        profile in prop_oneof![Just(Profile::Rfc5348), Just(Profile::Rfc3448)],
        split: bool,
    ) {
        let (jitter, delay) = (millis(jitter), millis(delay));
        let wire = Wire { delay, jitter, loss, duplicate, ..Wire::default() };
        let remedies = Remedies {
            set_ahead: true,
            on_arrival: split,
            notify: true,
            leave_out: true,
            sensitive: Some(Sensitivity::Discount(0.25)),
            restart: seed % 2 == 0,
        };
        let config =
            SenderConfig { profile, split_gap_events: split, remedies, ..SenderConfig::default() };
        let sender = Sender::new(config, 1000.0, at(0));
        let receiver = Receiver::new(ReceiverConfig { profile, ..ReceiverConfig::default() });
        let line = Line::symmetric(Seed(seed), wire);
        let mut pair = Pair::between(sender, receiver, line, Source::Every(millis(7)), 1000);
        for second in 1..=30u64 {
            pair.run(at(1000 * second));
            match second % 10 {
                3 => pair.report(Handover::Expected { free: Some(BitRate(200_000)) }),
                4 => pair.report(Handover::Started),
                6 => pair.report(Handover::Ended { free: Some(BitRate(300_000)) }),
                _ => {}
            }
            let rate = pair.sender.rate_control();
            prop_assert!((0.0..=1.0).contains(&rate.p()), "p = {}", rate.p());
            prop_assert!((0.0..=1.0).contains(&pair.receiver.loss_event_rate()));
            prop_assert!(rate.rate() >= 1000.0 / 64.0 && rate.rate().is_finite());
        }
    }
}

/// A thousand packets, feedback, losses and late packets: no memory is asked for.
#[test]
fn nothing_is_allocated_per_packet() {
    let mut sender = Sender::new(SenderConfig::default(), 1000.0, at(0));
    let mut receiver = Receiver::new(ReceiverConfig::default());
    let drive = |sender: &mut Sender, receiver: &mut Receiver, seqs: core::ops::Range<u64>| {
        for seq in seqs {
            let now = at(10 * seq);
            sender.permit(now, 1000);
            let ccval = sender.ccval(now);
            sender.on_sent(now, &sent(seq));
            // Of 50 packets one is lost and one is late.
            match seq % 50 {
                10 | 20 => {}
                25 => arrive(receiver, now, seq - 5, ccval),
                _ => arrive(receiver, now, seq, ccval),
            }
            if receiver.is_due(now) {
                let mut options = Options::new();
                receiver.acknowledge(now, Seq48::new(seq), &mut options);
                let (ack, kind) = (Seq48::new(seq), Kind::Ack { ack: Seq48::new(seq) });
                let loss_report =
                    Feedback { seq: ack, kind, ack, ecn: Ecn::NotEct, options: &options };
                sender.on_feedback(now + millis(50), &loss_report);
            }
        }
    };
    drive(&mut sender, &mut receiver, 0..5_000);
    let seen = allocation_counter::measure(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(seen.count_total, 1, "the counter counts");
    let info = allocation_counter::measure(|| drive(&mut sender, &mut receiver, 5_000..6_000));
    assert_eq!(info.count_total, 0);
    assert!(sender.stats().congestion_events > 100);
}

fn arrive(receiver: &mut Receiver, now: Instant, seq: u64, ccval: u8) {
    let options = Options::new();
    let kind = Kind::Data;
    let (seq, ecn) = (Seq48::new(seq), Ecn::NotEct);
    let (data, wire_len) = (Some(1000), 1016);
    receiver.on_packet(now, &Arrived { seq, kind, data, wire_len, ccval, ecn, options: &options });
}
