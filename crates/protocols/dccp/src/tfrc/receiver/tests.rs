//! When feedback is sent and what it says, section by section of RFC 5348.

use super::*;

const RTT: Duration = Duration::from_millis(100);

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn data(seq: u64, sent: Instant) -> Data {
    Data { seq, bytes: 1000, sent, rtt: Some(RTT), marked: false }
}

/// A receiver that got packets 0 up to `count`, 10 ms apart, and the time of the next one.
fn fed(config: ReceiverConfig, count: u64) -> (Receiver, Vec<(Instant, Feedback)>) {
    let mut receiver = Receiver::new(config);
    let mut feedback = Vec::new();
    for seq in 0..count {
        arrive(&mut receiver, seq, &mut feedback);
    }
    (receiver, feedback)
}

fn arrive(receiver: &mut Receiver, seq: u64, feedback: &mut Vec<(Instant, Feedback)>) {
    let now = at(10 * seq);
    receiver.wake(now);
    feedback.extend(receiver.poll(now).map(|feedback| (now, feedback)));
    receiver.data(now, data(seq, now - Duration::from_millis(50)));
    feedback.extend(receiver.poll(now).map(|feedback| (now, feedback)));
}

/// Section 6.3: the first packet is answered with p = 0 and X_recv = 0, then once a round trip.
#[test]
fn feedback_goes_once_a_round_trip() {
    let (_, feedback) = fed(ReceiverConfig::new(1000.0), 35);
    let times: Vec<Instant> = feedback.iter().map(|(now, _)| *now).collect();
    assert_eq!(times, [at(0), at(100), at(200), at(300)]);
    assert_eq!((feedback[0].1.x_recv, feedback[0].1.p), (0.0, 0.0));
    // Nine packets of the 100 ms since the first one had come when the timer expired.
    assert!((feedback[1].1.x_recv - 90_000.0).abs() < 1e-6);
    assert!((feedback[2].1.x_recv - 100_000.0).abs() < 1e-6);
    assert_eq!(feedback[2].1.sent, at(140), "packet 19 of 190 ms was sent 50 ms before");
    assert_eq!(feedback[2].1.delay, Duration::from_millis(10));
}

/// Section 6.2: without data nothing is sent; the packet after that is answered at once.
#[test]
fn silence_is_not_reported() {
    let (mut receiver, _) = fed(ReceiverConfig::new(1000.0), 11);
    while let Some(timer) = receiver.deadline().filter(|timer| *timer < at(5000)) {
        receiver.wake(timer);
        let feedback = receiver.poll(timer);
        assert!(feedback.is_none() || timer == at(200), "{timer}");
    }
    receiver.data(at(5000), data(11, at(4950)));
    let feedback = receiver.poll(at(5000)).unwrap();
    // A packet of 1000 bytes over the 4.8 s since the last report.
    assert!((feedback.x_recv - 1000.0 / 4.8).abs() < 1e-6, "{}", feedback.x_recv);
}

/// Sections 6.1 and 6.3.1: a loss is told at once, and the first one stands for the rate received.
#[test]
fn the_first_loss_is_told_at_once() {
    let (mut receiver, mut feedback) = fed(ReceiverConfig::new(1000.0), 55);
    feedback.clear();
    for seq in [56, 57, 58] {
        arrive(&mut receiver, seq, &mut feedback);
    }
    let (now, feedback) = feedback[0];
    assert_eq!(now, at(580));
    // X(p) = 100 000 bytes a second at s = 1000 and R = 0.1 s means f(p) = 0.1.
    let x = crate::tfrc::equation::throughput(1000.0, 0.1, feedback.p);
    assert!((x / 100_000.0 - 1.0).abs() < 1e-6, "{x}");
}

/// RFC 3448, section 6.3.1: the first loss stands for what is received when it is found; RFC 5348
/// takes the largest rate so far.
#[test]
fn the_older_edition_seeds_with_the_rate_of_the_moment() {
    let target = |profile| {
        let config = ReceiverConfig { profile, ..ReceiverConfig::new(1000.0) };
        let (mut receiver, _) = fed(config, 55);
        receiver.wake(at(600));
        receiver.poll(at(600));
        // Silence, then three packets behind a hole: 3000 bytes in a second.
        for seq in [56, 57, 58] {
            receiver.data(at(1600), data(seq, at(1550)));
        }
        crate::tfrc::equation::throughput(1000.0, 0.1, receiver.loss_event_rate(at(1600)))
    };
    assert!((target(Profile::Rfc5348) / 100_000.0 - 1.0).abs() < 1e-6);
    // Half a packet a round trip is more: 5000 bytes a second.
    assert!((target(Profile::Rfc3448) / 5_000.0 - 1.0).abs() < 1e-6);
}

/// Section 6.3.1: at least half a packet a round trip: 4.844 packets.
#[test]
fn the_first_interval_has_a_floor() {
    let mut receiver = Receiver::new(ReceiverConfig::new(1000.0));
    for seq in [0, 2, 3, 4] {
        receiver.data(at(0), Data { bytes: 0, ..data(seq, at(0)) });
    }
    let feedback = receiver.poll(at(0)).unwrap();
    assert!((feedback.p - 0.206_429).abs() < 1e-5, "{}", feedback.p);
}

/// Section 6.3: without a round-trip time every packet is answered.
#[test]
fn without_a_round_trip_time_every_packet_is_answered() {
    let mut receiver = Receiver::new(ReceiverConfig::new(1000.0));
    for seq in 0..5 {
        receiver.data(at(seq), Data { rtt: None, ..data(seq, at(0)) });
        assert!(receiver.poll(at(seq)).is_some(), "packet {seq}");
    }
}

#[test]
fn a_late_packet_that_undoes_a_loss_is_told() {
    let (mut receiver, mut feedback) = fed(ReceiverConfig::new(1000.0), 55);
    for seq in [56, 57, 58] {
        arrive(&mut receiver, seq, &mut feedback);
    }
    feedback.clear();
    receiver.data(at(581), data(55, at(500)));
    let feedback = receiver.poll(at(581)).unwrap();
    assert_eq!(feedback.p, 0.0);
    assert_eq!(feedback.sent, at(530), "the newest packet is still 58");
}

/// Remedy B: a gap of 3 s is in none of what is reported.
#[test]
fn b_leaves_out_losses_and_the_silence() {
    let config = ReceiverConfig {
        remedies: Remedies { leave_out: true, ..Remedies::default() },
        ..ReceiverConfig::new(1000.0)
    };
    let mut reported = Vec::new();
    for config in [config, ReceiverConfig::new(1000.0)] {
        let (mut receiver, mut feedback) = fed(config, 100);
        receiver.wake(at(1000));
        receiver.poll(at(1000));
        receiver.handover_started(at(1000));
        receiver.handover_ended(at(4000), None);
        feedback.clear();
        for seq in 401..403 {
            arrive(&mut receiver, seq, &mut feedback);
        }
        for seq in 403..450 {
            arrive(&mut receiver, seq, &mut feedback);
        }
        reported.push((feedback[0].1.x_recv, feedback.last().unwrap().1.p));
    }
    let ((x_with, p_with), (x_without, p_without)) = (reported[0], reported[1]);
    assert_eq!(p_with, 0.0);
    assert!(p_without > 0.0);
    assert!((x_with - 10_000.0).abs() < 1e-6, "a packet a round trip: {x_with}");
    assert!(x_without < 1_000.0, "{x_without}");
}

/// Remedy E: the losses of before are gone.
#[test]
fn e_forgets_the_losses() {
    let remedies = Remedies { restart: true, ..Remedies::default() };
    let config = ReceiverConfig { remedies, ..ReceiverConfig::new(1000.0) };
    let (mut receiver, mut feedback) = fed(config, 55);
    for seq in [56, 57, 58] {
        arrive(&mut receiver, seq, &mut feedback);
    }
    assert!(receiver.loss_event_rate(at(590)) > 0.0);
    receiver.handover_started(at(590));
    receiver.handover_ended(at(600), None);
    assert_eq!(receiver.loss_event_rate(at(600)), 0.0);
}
