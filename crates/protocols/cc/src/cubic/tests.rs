//! CUBIC against values derived by hand from RFC 9438. SMSS is 1000 bytes.

use super::*;

const MSS: u32 = 1_000;
const INITIAL: Initial = Initial {
    mss: MSS,
    cwnd: 10 * MSS,
    ssthresh: u32::MAX,
    byte_counting: true,
    slow_start_segments: 1,
    av: crate::TcpAvConfig::DEFAULT,
    ack_loss: crate::AckLossOptions::DEFAULT,
};

#[test]
fn cube_roots_are_rounded_down() {
    for root in [0_u64, 1, 2, 3, 1_000, 4_217_163, (1 << 42) - 1] {
        let cube = u128::from(root).pow(3);
        assert_eq!(cube_root(cube), root);
        assert_eq!(cube_root(cube + 1), root.max(u64::from(root == 0)));
        assert_eq!(cube_root(cube.saturating_sub(1)), root.saturating_sub(1));
    }
    assert_eq!(cube_root(u128::MAX), (1 << 42) - 1);
}

/// Figures 1 and 2 with W_max 100 and cwnd_epoch 70 segments: K = cbrt(30/0.4) = 4.2171633 s.
#[test]
fn the_curve_is_concave_up_to_w_max_and_convex_beyond() {
    let curve = Curve::through(70_000, 100_000, MSS);
    assert_eq!(curve.k_us, 4_217_163);
    let at = |us: u64| curve.window(Duration::from_micros(us));
    assert_eq!(at(0), 70_000);
    // 0.4 * 1^3 below, then 0.4 * 5^3 and 0.4 * 10^3 segments above.
    assert_eq!(at(curve.k_us - 1_000_000), 99_600);
    assert_eq!(at(curve.k_us), 100_000);
    assert_eq!(at(curve.k_us + 5_000_000), 150_000);
    assert_eq!(at(curve.k_us + 10_000_000), 500_000);
    assert_eq!(Curve::through(0, u32::MAX, u32::MAX).k_us, 1_357_208);
    assert_eq!(curve.window(Duration::from_nanos(u64::MAX)), u32::MAX);
}

/// Sections 4.6 and 4.7: 0.7 of FlightSize, and W_max (1 + 0.7)/2 of cwnd below the last W_max.
#[test]
fn a_loss_keeps_seven_tenths_and_a_second_one_converges_fast() {
    let mut flow = Flow::new(100, u32::MAX);
    flow.lose(100);
    assert_eq!((flow.algorithm.cwnd(), flow.algorithm.ssthresh()), (70_000, 70_000));
    assert_eq!(flow.algorithm.memory.w_max, 100_000);
    flow.lose(70);
    assert_eq!((flow.algorithm.cwnd(), flow.algorithm.memory.w_max), (49_000, 59_500));
    flow.lose(2);
    assert_eq!(
        (flow.algorithm.cwnd(), flow.algorithm.ssthresh()),
        (2_000, 2_000),
        "2 SMSS at least"
    );
}

/// Section 4.4: an RTT of 1 s aims at W_cubic(1) = 100 - 0.4 * 3.217163^3 = 86.680 segments, and
/// each ACK goes (86680 - 70000)/70000 of a segment there, 238 bytes. No target is above 1.5 cwnd.
#[test]
fn an_ack_goes_its_share_of_the_way_to_the_window_an_rtt_ahead() {
    let mut flow = Flow::new(100, u32::MAX);
    flow.lose(100);
    let mut leaping = flow.clone();
    flow.ack(Duration::ZERO, Some(Duration::from_secs(1)));
    assert_eq!(flow.algorithm.cwnd(), 70_238);
    leaping.ack(Duration::ZERO, Some(Duration::from_secs(1_000)));
    assert_eq!(leaping.algorithm.cwnd(), 70_500);
}

/// Section 4.3 at t = 0, where only the Reno-friendly window moves: at 9 segments 17 acknowledged
/// ones earn one, as alpha = 9/17; from cwnd_prior on a window does.
#[test]
fn the_reno_friendly_window_grows_by_nine_seventeenths_until_it_was_as_large_before() {
    let mut flow = Flow::new(20, u32::MAX);
    flow.algorithm.on_loss(&LossEvent { now: Instant::ZERO, flight: 12_858, una: 0, next: 0 });
    flow.acks(16);
    assert_eq!(flow.algorithm.cwnd(), 9_000);
    flow.acks(1);
    assert_eq!(flow.algorithm.cwnd(), 10_000);
    let mut fresh = Flow::new(10, 10);
    fresh.acks(9);
    assert_eq!(fresh.algorithm.cwnd(), 10_000);
    fresh.acks(1);
    assert_eq!(fresh.algorithm.cwnd(), 11_000);
}

/// Section 4.8: ssthresh 0.7 * 20; K = 0 and W_max = 14 once slow start has got there. 5 s later
/// the curve is at 64 segments, the target at 21, and an ACK adds 7/14 of a segment.
#[test]
fn after_a_timeout_the_curve_starts_level() {
    let mut flow = Flow::new(20, u32::MAX);
    let rto =
        |backoff| RtoEvent { now: Instant::ZERO, flight: 20_000, backoff, keeps_ssthresh: false };
    flow.algorithm.on_rto(&rto(1));
    flow.algorithm.on_rto(&rto(2));
    assert_eq!((flow.algorithm.cwnd(), flow.algorithm.ssthresh()), (1_000, 14_000));
    flow.acks(13);
    assert_eq!(flow.algorithm.cwnd(), 14_000);
    flow.acks(1);
    assert_eq!((flow.algorithm.cwnd(), flow.algorithm.memory.w_max), (14_000, 14_000));
    flow.ack(Duration::from_secs(5), None);
    assert_eq!(flow.algorithm.cwnd(), 14_500);
}

/// Section 4.9.
#[test]
fn a_spurious_loss_is_undone_with_its_curve() {
    let mut flow = Flow::new(100, u32::MAX);
    flow.lose(100);
    flow.acks(1);
    let before = flow.algorithm.memory;
    flow.lose(70);
    flow.algorithm.on_spurious(Instant::ZERO);
    assert_eq!((flow.algorithm.cwnd(), flow.algorithm.ssthresh()), (70_000, 70_000));
    let after = flow.algorithm.memory;
    assert_eq!((after.w_max, after.cwnd_prior), (before.w_max, before.cwnd_prior));
    assert!(after.epoch.is_some());
}

/// Section 5.8: t leaves out the time in which the window was not the limit.
#[test]
fn the_curve_stands_still_while_idle_or_limited_by_the_application() {
    let mut flow = Flow::new(100, u32::MAX);
    flow.lose(100);
    flow.acks(1);
    flow.algorithm.on_idle_restart(Duration::from_secs(100));
    flow.ack(Duration::from_secs(100), None);
    assert_eq!(flow.algorithm.cwnd(), 70_000);
    flow.limited_ack(Duration::from_secs(100));
    flow.acks(1);
    assert_eq!(flow.algorithm.cwnd(), 70_000);
    flow.ack(Duration::from_secs(1), None);
    assert!(flow.algorithm.cwnd() > 70_000);
}

/// With an initial window of 10 segments, an idle flow starts again from 10 and finds ssthresh by
/// slow start; W_est does not lift it there at once.
#[test]
fn a_window_lowered_by_idle_does_not_leap_back() {
    let mut flow = Flow::new(10, 10);
    flow.acks(10 + 11 + 12);
    assert_eq!(flow.algorithm.cwnd(), 13_000);
    flow.algorithm.on_idle_restart(Duration::from_secs(9));
    flow.acks(1);
    assert!((10_000..11_000).contains(&flow.algorithm.cwnd()), "{}", flow.algorithm.cwnd());
}

/// Section 4.10: once the delay has grown for five rounds, slow start is over without a loss, and
/// the curve starts level: W_max is cwnd and K is 0. A later slow start is the plain one.
#[test]
fn a_grown_delay_ends_the_first_slow_start() {
    let mut flow = Flow::new(10, u32::MAX);
    let mut plain = Cubic::without_hystart(INITIAL);
    let mut rounds = 0;
    while flow.algorithm.ssthresh() == u32::MAX {
        let rtt = Some(Duration::from_millis(if rounds < 2 { 50 } else { 80 }));
        for _ in 0..flow.algorithm.cwnd() / MSS {
            flow.ack(Duration::ZERO, rtt);
            plain.on_ack(&AckEvent { rtt, ..flow.plain() });
        }
        rounds += 1;
    }
    assert!((7..=8).contains(&rounds), "{rounds} rounds, five of them after the delay grew");
    assert_eq!(plain.ssthresh(), u32::MAX);
    flow.acks(1);
    assert_eq!(flow.algorithm.memory.w_max, flow.algorithm.ssthresh());
    flow.algorithm.on_rto(&RtoEvent {
        now: flow.now,
        flight: 20_000,
        backoff: 1,
        keeps_ssthresh: false,
    });
    flow.ack(Duration::ZERO, Some(Duration::from_millis(900)));
    assert_eq!(flow.algorithm.cwnd(), 2_000);
}

/// RFC 3168 section 6.1.2, and lost ACKs as lost segments.
#[test]
fn marks_and_lost_acks_lower_the_window_as_a_loss_does() {
    let mut flow = Flow::new(100, u32::MAX);
    let mark = LossEvent { now: Instant::ZERO, flight: 100_000, una: 0, next: 1_000_000 };
    flow.algorithm.on_ecn(&mark);
    flow.algorithm.on_ecn(&mark);
    flow.algorithm.on_loss(&mark);
    assert_eq!((flow.algorithm.cwnd(), flow.algorithm.memory.w_max), (70_000, 100_000));
    flow.algorithm.on_ack_loss(&mark, Fraction::WHOLE);
    assert_eq!((flow.algorithm.cwnd(), flow.algorithm.memory.w_max), (49_000, 59_500));
}

/// Section 5, figure 6, (C (3 + beta) / (4 (1 - beta)))^(1/4) (RTT/p)^(3/4): one loss in 10^4
/// packets and an RTT of 0.1 s give an average of 187 segments (table 1). Rounds of an RTT are
/// coarse: hence 3 %.
#[test]
fn the_average_window_is_the_one_of_the_deterministic_loss_model() {
    let rtt = Duration::from_millis(100);
    let mut flow = Flow::new(187, 187);
    let (mut sent, mut sum, mut rounds) = (0, 0_u64, 0_u64);
    for round in 0..4_000 {
        let window = flow.algorithm.cwnd() / MSS;
        let step = Duration::from_nanos(rtt.as_nanos() / u64::from(window));
        (0..window).for_each(|_| flow.ack(step, Some(rtt)));
        sent += window;
        if sent >= 10_000 {
            sent -= 10_000;
            flow.lose(flow.algorithm.cwnd() / MSS);
        }
        if round >= 1_000 {
            (sum, rounds) = (sum + u64::from(window), rounds + 1);
        }
    }
    let average = sum / rounds;
    assert!(average.abs_diff(187) * 100 <= 187 * 3, "{average} segments instead of 187");
}

/// A connection in congestion avoidance, whose ACKs are of one segment each.
#[derive(Clone)]
struct Flow {
    algorithm: Cubic,
    now: Instant,
    una: u64,
}

impl Flow {
    /// Windows in segments; `u32::MAX` is no ssthresh.
    fn new(cwnd: u32, ssthresh: u32) -> Self {
        let (cwnd, ssthresh) = (cwnd * MSS, ssthresh.saturating_mul(MSS));
        let initial = Initial { cwnd, ssthresh, ..INITIAL };
        Self { algorithm: Cubic::new(initial), now: Instant::ZERO, una: 0 }
    }

    /// An ACK `after` the one before.
    fn ack(&mut self, after: Duration, rtt: Option<Duration>) {
        self.now += after;
        self.una += u64::from(MSS);
        self.algorithm.on_ack(&AckEvent { rtt, ..self.plain() });
    }

    fn limited_ack(&mut self, after: Duration) {
        self.now += after;
        self.algorithm.on_ack(&AckEvent { cwnd_limited: false, ..self.plain() });
    }

    /// `count` ACKs at the same time as the one before.
    fn acks(&mut self, count: u32) {
        (0..count).for_each(|_| self.ack(Duration::ZERO, None));
    }

    fn lose(&mut self, flight_segments: u32) {
        let flight = flight_segments * MSS;
        self.algorithm.on_loss(&LossEvent { now: self.now, flight, una: 0, next: self.una });
    }

    fn plain(&self) -> AckEvent {
        AckEvent {
            now: self.now,
            acked: MSS,
            sacked: 0,
            una: self.una,
            next: self.una + u64::from(self.algorithm.cwnd() - MSS),
            flight: self.algorithm.cwnd(),
            rtt: None,
            in_recovery: false,
            cwnd_limited: true,
            covers_retransmission: false,
            echo_gap: None,
            ..AckEvent::default()
        }
    }
}
