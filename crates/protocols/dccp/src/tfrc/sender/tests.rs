//! Rates by hand, section by section of RFC 5348.

use super::*;
use crate::tfrc::Sensitivity;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Feedback that came at once on a packet of `rtt` ago.
fn report(now: Instant, rtt: Duration, x_recv: f64, p: f64) -> Report {
    Report { sent: now - rtt, delay: Duration::ZERO, x_recv, p, new_loss: false }
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn close(found: f64, wanted: f64) -> bool {
    (found / wanted - 1.0).abs() < 1e-6
}

/// A sender of the paper's packets at 62 900 bytes a second, limited by what is received.
fn received_half(config: SenderConfig, rtt: Duration) -> (Sender, Instant) {
    let mut sender = Sender::new(config, at(0));
    sender.take_rtt(at(0), rtt);
    let mut now = at(0);
    for _ in 0..4 {
        now += rtt;
        sender.sent(now);
        sender.feedback(now, report(now, rtt, 31_450.0, 1e-9));
    }
    assert!(close(sender.rate(), 62_900.0), "{}", sender.rate());
    (sender, now)
}

/// Section 4.2: 1 packet a second, then min(4 MSS, max(2 MSS, 4380)) a round trip.
#[test]
fn the_initial_rate_is_the_window_of_rfc_3390() {
    for (s, window) in
        [(629.0, 2516.0), (1095.0, 4380.0), (1460.0, 4380.0), (2190.0, 4380.0), (3000.0, 6000.0)]
    {
        let mut sender = Sender::new(SenderConfig::new(s), at(0));
        assert_eq!(sender.rate(), s);
        sender.sent(at(0));
        assert_eq!(sender.deadline(), Some(at(2000)));
        sender.feedback(at(100), report(at(100), millis(100), 0.0, 0.0));
        assert!(close(sender.rate(), window / 0.1), "{s}: {}", sender.rate());
    }
}

/// RFC 3448, section 4.3: one packet a round trip after the first feedback.
#[test]
fn the_older_edition_begins_with_one_packet() {
    let config = SenderConfig {
        profile: Profile::Rfc3448,
        initial: InitialWindow::OnePacket,
        ..SenderConfig::new(1000.0)
    };
    let mut sender = Sender::new(config, at(0));
    sender.sent(at(0));
    sender.feedback(at(100), report(at(100), millis(100), 0.0, 0.0));
    assert!(close(sender.rate(), 10_000.0));
    // Twice the last receive rate is the limit, whatever was received before.
    sender.feedback(at(200), report(at(200), millis(100), 10_000.0, 0.0));
    assert!(close(sender.rate(), 20_000.0));
    sender.feedback(at(300), report(at(300), millis(100), 3_000.0, 1e-9));
    assert!(close(sender.rate(), 6_000.0));
}

/// Section 4.3: while p = 0 the rate doubles once a round trip.
#[test]
fn slow_start_doubles_once_a_round_trip() {
    let mut sender = Sender::new(SenderConfig::new(1460.0), at(0));
    sender.take_rtt(at(0), millis(100));
    let mut seen = Vec::new();
    for k in 1..=6 {
        let now = at(50 * k);
        sender.sent(now);
        sender.feedback(now, report(now, millis(100), 1e6, 0.0));
        seen.push((sender.rate() / 43_800.0).round() as u32);
    }
    assert_eq!(seen, [1, 2, 2, 4, 4, 8]);
}

/// Sections 4.3 and 3.1: with p the equation, but at least a packet in 64 s.
#[test]
fn with_losses_the_equation_rules() {
    let mut sender = Sender::new(SenderConfig::new(1460.0), at(0));
    sender.take_rtt(at(0), millis(100));
    sender.feedback(at(100), report(at(100), millis(100), 1e6, 0.01));
    assert!(close(sender.rate(), 164_005.06), "{}", sender.rate());
    let mut slow = Sender::new(SenderConfig::new(1460.0), at(0));
    slow.take_rtt(at(0), millis(20_000));
    slow.feedback(at(20_000), report(at(20_000), millis(20_000), 1e6, 1.0));
    assert!(close(slow.rate(), 1460.0 / 64.0), "{}", slow.rate());
}

/// Section 4.3, steps 1 and 2: the time at the receiver is no part, q = 0.9.
#[test]
fn round_trip_times_are_averaged() {
    let mut sender = Sender::new(SenderConfig::new(1460.0), at(0));
    sender.take_rtt(at(0), millis(100));
    let delayed = Report { delay: millis(30), ..report(at(500), millis(230), 1e6, 0.01) };
    sender.feedback(at(500), delayed);
    assert_eq!(sender.rtt(), Some(millis(110)));
}

/// Section 4.3, step 4, data-limited: the largest receive rate stays the limit; a loss halves
/// what is remembered and counts 0.85 of what was received.
#[test]
fn an_application_that_sends_less_keeps_its_limit() {
    let (mut sender, mut now) = received_half(SenderConfig::new(629.0), millis(50));
    // Nothing is sent up to the limit any more: no packet goes at all between these reports.
    for _ in 0..3 {
        now += millis(500);
        sender.feedback(now, report(now, millis(50), 5_000.0, 1e-9));
        assert!(close(sender.rate(), 62_900.0), "{}", sender.rate());
    }
    now += millis(500);
    sender.feedback(now, report(now, millis(50), 5_000.0, 2e-9));
    assert!(close(sender.rate(), 15_725.0), "{}", sender.rate());
    now += millis(500);
    sender.feedback(now, report(now, millis(50), 20_000.0, 3e-9));
    assert!(close(sender.rate(), 17_000.0), "0.85 X_recv: {}", sender.rate());
}

/// Section 4.4 by hand: X halves after max(4R, 2s/X), with s = 629 and X = 62 900 bytes a second.
#[test]
fn the_rate_halves_without_feedback() {
    let table: [(u64, [u64; 7]); 3] = [
        (20, [80, 160, 240, 400, 720, 1360, 2640]),
        (50, [200, 400, 600, 800, 1120, 1760, 3040]),
        (100, [400, 800, 1200, 1600, 2000, 2640, 3920]),
    ];
    for profile in [Profile::Rfc5348, Profile::Rfc3448] {
        for (rtt, expiries) in table {
            let config = SenderConfig { profile, ..SenderConfig::new(629.0) };
            let (mut sender, start) = received_half(config, millis(rtt));
            let mut wanted = 62_900.0;
            for expiry in expiries {
                sender.sent(start);
                let timer = sender.deadline().unwrap();
                let late = timer.since(start).abs_diff(millis(expiry));
                assert!(late < Duration::from_micros(10), "R = {rtt} ms: {expiry} or {timer}");
                sender.wake(timer);
                wanted /= 2.0;
                assert!(close(sender.rate(), wanted), "at {expiry}: {}", sender.rate());
            }
        }
    }
}

/// Section 4.4: in slow start the rate itself halves.
#[test]
fn slow_start_halves_too() {
    let mut sender = Sender::new(SenderConfig::new(629.0), at(0));
    sender.take_rtt(at(0), millis(20));
    sender.sent(at(0));
    sender.wake(at(79));
    assert!(close(sender.rate(), 125_800.0));
    sender.wake(at(80));
    assert!(close(sender.rate(), 62_900.0));
}

/// Section 4.4: an idle sender does not lose the initial rate.
#[test]
fn idleness_stops_at_the_initial_rate() {
    let mut sender = Sender::new(SenderConfig::new(1460.0), at(0));
    sender.take_rtt(at(0), millis(100));
    let mut now = at(0);
    for _ in 0..4 {
        now += millis(100);
        sender.sent(now);
        sender.feedback(now, report(now, millis(100), 1e6, 0.0));
    }
    assert!(close(sender.rate(), 16.0 * 43_800.0));
    for wanted in [8.0, 4.0, 2.0, 1.0, 1.0] {
        sender.wake(sender.deadline().unwrap());
        assert!(close(sender.rate(), wanted * 43_800.0), "{wanted}: {}", sender.rate());
    }
    // Nothing is left to lower, so the timer waits for the next packet, and a whole timeout then.
    assert_eq!((sender.timeouts(), sender.deadline()), (4, None));
    sender.sent(at(5_000));
    assert_eq!(sender.deadline(), Some(at(5_400)));
}

/// A packet a second, each answered after 20 ms: the timer of 80 ms expires once a second at most,
/// and none of that is feedback that was missing.
#[test]
fn a_sender_that_is_often_idle_counts_no_timeouts() {
    let mut sender = Sender::new(SenderConfig::new(1000.0), at(0));
    sender.take_rtt(at(0), millis(20));
    let mut expiries = 0;
    for second in 0..60 {
        let now = at(1_000 * second);
        sender.sent(now);
        sender.feedback(now + millis(20), report(now + millis(20), millis(20), 1_000.0, 0.0));
        while let Some(timer) = sender.deadline().filter(|timer| *timer < now + millis(1_000)) {
            sender.wake(timer);
            expiries += 1;
        }
    }
    assert_eq!((sender.timeouts(), expiries), (0, 60));
    // Feedback that is missing counts.
    sender.sent(at(60_000));
    sender.wake(at(60_080));
    assert_eq!(sender.timeouts(), 1);
}

/// Before any feedback: halved for packets that went, kept while nothing goes.
#[test]
fn without_a_round_trip_time_only_sending_costs() {
    let mut sender = Sender::new(SenderConfig::new(1000.0), at(0));
    sender.sent(at(0));
    sender.wake(at(2000));
    assert!(close(sender.rate(), 500.0));
    let timer = sender.deadline().unwrap();
    assert_eq!(timer, at(6000));
    sender.wake(timer);
    assert!(close(sender.rate(), 500.0), "idle since");
    assert_eq!(sender.timeouts(), 1);
}

/// Section 4.5: a sample twice the average. R_sqmean takes a tenth of it first, so that the
/// rate is (0.9 + 0.1 sqrt 2)/sqrt 2 = 0.736 of X; the text says "roughly 0.7".
#[test]
fn a_growing_queue_slows_the_packets() {
    let config = SenderConfig { oscillation_q2: Some(0.9), ..SenderConfig::new(1460.0) };
    let mut sender = Sender::new(config, at(0));
    sender.take_rtt(at(0), millis(100));
    sender.feedback(at(500), report(at(500), millis(200), 1e9, 0.01));
    let ratio = sender.instantaneous_rate() / sender.rate();
    assert!((ratio - 0.736_396).abs() < 1e-5, "{ratio}");
}

/// RFC 4828: at most one packet in 10 ms, and headers paid from the rate.
#[test]
fn small_packets_pay_for_their_headers() {
    let config = SenderConfig {
        min_spacing: millis(10),
        headers: Some(Headers { payload_bytes: 164.0, header_bytes: 36.0 }),
        ..SenderConfig::new(1460.0)
    };
    let mut sender = Sender::new(config, at(0));
    sender.take_rtt(at(0), millis(100));
    sender.feedback(at(100), report(at(100), millis(100), 1e9, 0.1));
    // 25 843.5 B/s of which 164/200 is payload: 129.2 packets a second, 7.74 ms apart.
    sender.sent(at(100));
    assert_eq!(sender.next_send(), at(110));
    sender.feedback(at(200), report(at(200), millis(100), 1e9, 0.2));
    assert!(sender.next_send() > at(120));
}

fn with(remedies: Remedies) -> SenderConfig {
    SenderConfig { remedies, ..SenderConfig::new(629.0) }
}

/// Without remedies a sender goes on as if it had not been told.
#[test]
fn without_remedies_a_handover_changes_nothing() {
    let (mut reported, start) = received_half(with(Remedies::default()), millis(50));
    let mut untold = reported.clone();
    reported.handover_expected(start, Some(10_000.0));
    reported.handover_started(start);
    reported.handover_ended(start + millis(2000), Some(10_000.0));
    untold.sent(start);
    reported.sent(start);
    for sender in [&mut reported, &mut untold] {
        sender.wake(start + millis(200));
        sender.feedback(start + millis(900), report(start + millis(900), millis(600), 9e3, 1e-9));
    }
    assert_eq!(reported.rate(), untold.rate());
    assert_eq!((reported.rtt(), reported.deadline()), (untold.rtt(), untold.deadline()));
}

/// The rate is set before the handover, stays there while feedback would allow more, and is left to
/// the timer in the gap.
#[test]
fn a_sets_the_rate_before_the_handover() {
    let remedies = Remedies { set_ahead: true, ..Remedies::default() };
    let (mut sender, start) = received_half(with(remedies), millis(50));
    sender.handover_expected(start, Some(20_000.0));
    assert!(close(sender.rate(), 20_000.0));
    for k in 1..=4 {
        let now = start + millis(60 * k);
        sender.sent(now - millis(50));
        sender.feedback(now, report(now, millis(50), 60_000.0, 1e-9));
        assert!(close(sender.rate(), 20_000.0), "{}", sender.rate());
    }
    let start = start + millis(250);
    sender.handover_started(start);
    for _ in 0..4 {
        sender.wake(sender.deadline().unwrap());
        sender.sent(start);
    }
    assert!(sender.rate() < 10_000.0, "the gap halves it: {}", sender.rate());
    let before = sender.rate();
    sender.handover_ended(start + millis(3000), Some(20_000.0));
    assert!(close(sender.rate(), before));
}

/// A handover that was expected and does not come binds nobody for longer than t_mbi.
#[test]
fn a_ends_without_a_handover() {
    let remedies = Remedies { set_ahead: true, ..Remedies::default() };
    let (mut sender, start) = received_half(with(remedies), millis(50));
    sender.handover_expected(start, Some(20_000.0));
    let late = start + millis(64_000);
    sender.feedback(late, report(late, millis(50), 60_000.0, 1e-9));
    assert!(sender.rate() > 60_000.0, "{}", sender.rate());
}

/// A' begins with the free rate at the new access point.
#[test]
fn the_rate_may_be_set_on_arrival() {
    let remedies = Remedies { on_arrival: true, ..Remedies::default() };
    let (mut sender, start) = received_half(with(remedies), millis(50));
    sender.handover_expected(start, Some(20_000.0));
    sender.handover_started(start);
    assert!(close(sender.rate(), 62_900.0), "{}", sender.rate());
    sender.sent(start);
    for _ in 0..4 {
        sender.wake(sender.deadline().unwrap());
        sender.sent(start);
    }
    sender.handover_ended(start + millis(3000), Some(20_000.0));
    assert!(close(sender.rate(), 20_000.0), "{}", sender.rate());
}

#[test]
fn b_leaves_out_the_gap() {
    let remedies = Remedies { leave_out: true, ..Remedies::default() };
    let (mut sender, start) = received_half(with(remedies), millis(50));
    sender.handover_started(start);
    sender.sent(start);
    assert_eq!(sender.deadline(), Some(start + millis(64_000)), "no halving in a known gap");
    let end = start + millis(3000);
    sender.handover_ended(end, None);
    assert_eq!(sender.deadline(), Some(end + millis(200)));
    // Feedback on a packet of before the start says nothing of the new way.
    let now = end + millis(10);
    let before = Report { sent: start - millis(5), ..report(now, millis(0), 600.0, 1e-9) };
    sender.feedback(now, before);
    assert_eq!(sender.rtt(), Some(millis(50)));
    // A packet that waited for 3 s needed 40 ms once it could go; its rate has the silence in it.
    let now = end + millis(40);
    sender.feedback(now, Report { sent: start, ..report(now, millis(0), 600.0, 1e-9) });
    assert_eq!(sender.rtt(), Some(millis(40)));
    assert!(close(sender.rate(), 62_900.0));
    // From the second report on, rates count.
    for k in 1..=4 {
        let now = end + millis(100 + 60 * k);
        while sender.next_send() <= now - millis(50) {
            sender.sent(now - millis(50));
        }
        sender.feedback(now, report(now, millis(40), 20_000.0, 1e-9));
    }
    assert!(close(sender.rate(), 40_000.0), "{}", sender.rate());
}

/// Remedy B' trusts nobody for longer than t_mbi.
#[test]
fn b_halves_again_when_the_end_is_not_told() {
    let remedies = Remedies { leave_out: true, ..Remedies::default() };
    let (mut sender, start) = received_half(with(remedies), millis(50));
    sender.handover_started(start);
    sender.sent(start);
    sender.wake(start + millis(63_999));
    assert!(close(sender.rate(), 62_900.0));
    sender.wake(start + millis(64_000));
    assert!(close(sender.rate(), 31_450.0));
    assert_eq!(sender.deadline(), Some(start + millis(64_200)));
}

#[test]
fn c_follows_new_round_trip_times_for_five_of_them() {
    let sensitive = Some(Sensitivity::Intervals(3));
    let (mut sender, start) =
        received_half(with(Remedies { sensitive, ..Remedies::default() }), millis(100));
    sender.handover_started(start);
    sender.handover_ended(start, None);
    sender.feedback(start + millis(499), report(start + millis(499), millis(200), 1e6, 1e-3));
    assert_eq!(sender.rtt(), Some(millis(150)), "q = 0.5");
    sender.feedback(start + millis(500), report(start + millis(500), millis(250), 1e6, 1e-3));
    assert_eq!(sender.rtt(), Some(millis(160)), "q = 0.9 again");
}

#[test]
fn e_begins_anew() {
    let remedies = Remedies { restart: true, ..Remedies::default() };
    let (mut sender, start) = received_half(with(remedies), millis(50));
    sender.handover_started(start);
    sender.handover_ended(start + millis(1000), None);
    assert_eq!(sender.p(), 0.0);
    assert!(close(sender.rate(), 2516.0 / 0.05));
    // What was sent before says nothing, and the first round trip since is the new R.
    let now = start + millis(1080);
    let before = Report { sent: start - millis(5), ..report(now, millis(0), 100.0, 0.0) };
    sender.feedback(now, before);
    assert_eq!(sender.rtt(), Some(millis(50)));
    sender.feedback(now, Report { sent: start, ..report(now, millis(0), 100.0, 0.0) });
    assert_eq!(sender.rtt(), Some(millis(80)));
}
