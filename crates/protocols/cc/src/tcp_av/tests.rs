//! TCP-AV against windows worked out by hand. SMSS is 1000 bytes, the target 8 Mbps, which is
//! 1000 bytes in a millisecond, and the margin one unless a test says otherwise.

use super::*;
use fairwave_units::BitRate;
use proptest::prelude::*;

mod shared;

const MSS: u32 = 1_000;

fn config() -> TcpAvConfig {
    let margin = Fraction::WHOLE;
    TcpAvConfig { target: Some(BitRate::mbps(8)), margin, ..TcpAvConfig::DEFAULT }
}

fn initial(cwnd: u32, av: TcpAvConfig) -> Initial {
    Initial {
        mss: MSS,
        cwnd,
        ssthresh: cwnd,
        byte_counting: true,
        slow_start_segments: 1,
        av,
        ack_loss: crate::AckLossOptions::DEFAULT,
    }
}

struct Path {
    algorithm: TcpAv,
    now: Instant,
    delivered: u64,
}

impl Path {
    /// In congestion avoidance with `cwnd` bytes and a round trip of 100 ms.
    fn new(cwnd: u32, av: TcpAvConfig) -> Self {
        let algorithm = TcpAv::new(initial(cwnd, av));
        let mut path = Self { algorithm, now: Instant::ZERO, delivered: 0 };
        path.ack(0, 0);
        path
    }

    /// `millis` later, an ACK for `bytes` more. The window stays, as it does not limit.
    fn ack(&mut self, millis: u64, bytes: u32) {
        self.receive(millis, bytes, 0, false);
    }

    fn receive(&mut self, millis: u64, bytes: u32, lost: u32, cwnd_limited: bool) {
        self.now += Duration::from_millis(millis);
        self.delivered += u64::from(bytes);
        self.algorithm.on_ack(&AckEvent {
            now: self.now,
            acked: bytes,
            delivered: self.delivered,
            rtt: Some(Duration::from_millis(100)),
            lost,
            cwnd_limited,
            ..AckEvent::default()
        });
    }

    fn loss(&self, flight: u32) -> LossEvent {
        LossEvent { now: self.now, flight, una: 0, next: self.delivered }
    }

    /// The window after a loss with a whole window in flight.
    fn lose(&mut self) -> u32 {
        self.algorithm.on_loss(&self.loss(self.algorithm.cwnd()));
        assert_eq!(self.algorithm.cwnd(), self.algorithm.ssthresh());
        self.algorithm.cwnd()
    }

    fn steering(&self) -> &Steering {
        self.algorithm.steering.as_ref().expect("it has a target")
    }

    /// `bytes` were delivered and `lost` lost, in no time; only the severity notes it.
    fn with_loss(mut self, bytes: u32, lost: u32) -> Self {
        self.receive(0, bytes, lost, false);
        self.algorithm.steering.as_mut().expect("it has a target").account.forgive();
        self
    }
}

/// Points 2 and 3 of US 2009/0147676: D = 8 Mbps * t - delivered, and W_T = (8 Mbps + D / 1 s) *
/// 100 ms between nothing and twice 8 Mbps * 100 ms.
#[test]
fn the_target_window_follows_what_is_owed() {
    let mut path = Path::new(100_000, config());
    let mut is = |millis, bytes, owed, window| {
        path.ack(millis, bytes);
        let steering = path.steering();
        assert_eq!((steering.account.bytes(), steering.target_window()), (owed, Some(window)));
    };
    is(0, 0, 0, 100_000);
    is(500, 0, 500_000, 150_000);
    is(500, 250_000, 750_000, 175_000);
    is(1_000, 500_000, 1_250_000, 200_000);
    is(0, 1_750_000, -500_000, 50_000);
    is(0, 600_000, -1_100_000, 2_000);
}

/// 8 Mbps in 5 s are 5 MB.
#[test]
fn what_is_owed_is_bounded_by_the_horizon_both_ways() {
    let mut path = Path::new(100_000, config());
    path.ack(60_000, 0);
    assert_eq!(path.steering().account.bytes(), 5_000_000);
    path.ack(0, 50_000_000);
    assert_eq!(path.steering().account.bytes(), -5_000_000);
}

#[test]
fn the_margin_raises_what_is_aimed_at() {
    let av = TcpAvConfig { margin: Fraction::new(105, 100), ..config() };
    assert_eq!(Path::new(100_000, av).steering().target_window(), Some(105_000));
}

/// Point 5: min(W_T, W_L), and always a segment less. Without severity W_L is the window.
#[test]
fn a_loss_takes_the_window_to_the_target_window() {
    assert_eq!(Path::new(180_000, config()).lose(), 100_000);
    assert_eq!(Path::new(100_500, config()).lose(), 99_500);
    assert_eq!(Path::new(60_000, config()).lose(), 59_000);
    assert_eq!(Path::new(2_500, config()).lose(), 2_000, "the floor of two segments");
}

/// Point 4: with 2.5 % lost, v = 1/2 and W_L = 3/4 of the window; from 5 % on, one half.
#[test]
fn severe_losses_lower_the_limit() {
    let lose = |bytes, lost| Path::new(80_000, config()).with_loss(bytes, lost).lose();
    assert_eq!(lose(1_000_000, 0), 79_000);
    assert_eq!(lose(975_000, 25_000), 60_000);
    assert_eq!(lose(950_000, 50_000), 40_000);
    assert_eq!(lose(100_000, 900_000), 40_000);
}

/// After one horizon a count is (63/64)^64 = 0.365 of what it was, so 5 % lost and then nothing
/// lost make 0.365 * 50 / (0.365 * 1000 + 1000) = 1.34 %.
#[test]
fn severity_fades_over_the_horizon() {
    let mut severity = Severity::new(Duration::from_secs(5));
    severity.note(Instant::ZERO, 0, 0);
    severity.note(Instant::ZERO, 950_000, 50_000);
    let part = |severity: &Severity| severity.of(Fraction::WHOLE).of(1_000_000);
    assert_eq!(part(&severity), 49_987, "5 % in parts of 2^-16");
    (1..50).for_each(|tenth| {
        severity.note(Instant::ZERO + Duration::from_millis(tenth * 100), 950_000, 0);
    });
    severity.note(Instant::ZERO + Duration::from_secs(5), 1_950_000, 0);
    assert!((12_900..13_900).contains(&part(&severity)), "{}", part(&severity));
    severity.note(Instant::ZERO + Duration::from_secs(500), 1_950_000, 0);
    assert_eq!(part(&severity), 0);
}

#[test]
fn growth_goes_half_the_way_in_a_round_and_at_least_a_segment() {
    let mut path = Path::new(60_000, config());
    // What was delivered on the way is owed no more, so time goes on at the target's rate.
    path.receive(60, 60_000, 0, true);
    assert_eq!(path.algorithm.cwnd(), 80_000);
    path.receive(40, 40_000, 0, true);
    assert_eq!(path.algorithm.cwnd(), 85_000, "half of the round that adds 10 000");
    path.receive(40, 40_000, 0, true);
    assert_eq!(path.algorithm.cwnd(), 90_000);
    let mut near = Path::new(99_000, config());
    near.receive(99, 99_000, 0, true);
    assert_eq!(near.algorithm.cwnd(), 100_000);
    near.receive(100, 100_000, 0, true);
    assert_eq!(near.algorithm.cwnd(), 101_000, "beyond the target as Reno");
}

#[test]
fn severe_losses_slow_the_growth() {
    let mut path = Path::new(60_000, config()).with_loss(975_000, 25_000);
    path.receive(60, 60_000, 0, true);
    // v is a little below one half by what this ACK adds: 25 of 1060.
    assert_eq!(path.algorithm.cwnd(), 60_000 + 20_000 - 9_433);
}

/// With the cap a flow that is ahead of its target grows no more; one that owes does.
#[test]
fn the_cap_stops_growth_beyond_the_target() {
    let capped = TcpAvConfig { cap_to_target: true, ..config() };
    for (av, grown) in [(config(), 101_000), (capped, 100_000)] {
        let mut path = Path::new(100_000, av);
        path.receive(50, 100_000, 0, true);
        assert_eq!(path.algorithm.cwnd(), grown);
    }
    let mut owes = Path::new(100_000, capped);
    owes.receive(200, 100_000, 0, true);
    assert_eq!(owes.algorithm.cwnd(), 105_000, "half the way to 110 000");
}

/// Ahead by 1.1 s of the target W_T is two segments, and so is what a loss leaves; with the
/// floor it is Reno's half.
#[test]
fn a_flow_ahead_of_its_target_falls_below_reno_unless_floored() {
    let floored = TcpAvConfig { floor_at_reno: true, ..config() };
    for (av, left) in [(config(), 2_000), (floored, 50_000)] {
        let mut path = Path::new(100_000, av);
        path.ack(0, 1_100_000);
        assert_eq!(path.lose(), left);
    }
}

#[test]
fn the_first_round_trip_sets_the_end_of_slow_start() {
    let start = Initial { ssthresh: u32::MAX, ..initial(4_000, config()) };
    let mut path = Path { algorithm: TcpAv::new(start), now: Instant::ZERO, delivered: 0 };
    path.receive(100, 1_000, 0, true);
    assert_eq!((path.algorithm.cwnd(), path.algorithm.ssthresh()), (5_000, 100_000));
    path.algorithm.on_path_change(path.now);
    path.receive(100, 1_000, 0, true);
    assert_eq!(path.algorithm.ssthresh(), 100_000);
}

/// The first timeout leaves the target its ssthresh, the second is answered as by Reno, whose
/// ssthresh is half of what was in flight at the first.
#[test]
fn two_timeouts_in_a_row_are_renos() {
    let mut path = Path::new(100_000, config());
    path.ack(400, 0);
    let rto =
        |backoff, flight| RtoEvent { now: Instant::ZERO, flight, backoff, keeps_ssthresh: false };
    path.algorithm.on_rto(&rto(1, 90_000));
    // One segment lost of none delivered is severe: half of 90 000.
    assert_eq!((path.algorithm.cwnd(), path.algorithm.ssthresh()), (MSS, 45_000));
    let mut path = Path::new(100_000, config());
    path.ack(400, 400_000);
    path.algorithm.on_rto(&rto(1, 90_000));
    // v = (1 / 401) / 5 % = 0.04988, in parts of 2^-16 3268: 90 000 * (1 - v / 2), rounded up.
    assert_eq!((path.algorithm.cwnd(), path.algorithm.ssthresh()), (MSS, 87_757));
    path.ack(700, 0);
    assert_eq!(path.steering().account.bytes(), 700_000);
    path.algorithm.on_rto(&rto(2, 1_000));
    assert_eq!((path.algorithm.cwnd(), path.algorithm.ssthresh()), (MSS, 45_000));
    assert_eq!(path.steering().account.bytes(), 0);
}

/// A timeout that replaces a recovery leaves its ssthresh and the debt, and is no second in a row;
/// where the segment times out again, Reno's ssthresh is that of the recovery.
#[test]
fn a_timeout_in_recovery_keeps_what_the_recovery_made() {
    let mut path = Path::new(100_000, config());
    let rto = |backoff, flight, keeps_ssthresh| RtoEvent {
        now: Instant::ZERO,
        flight,
        backoff,
        keeps_ssthresh,
    };
    path.algorithm.on_rto(&rto(1, 3_000, false));
    path.algorithm.reno.set_cwnd(100_000);
    path.ack(1_000, 10_000);
    let ssthresh = path.lose();
    let owed = path.steering().account.bytes();
    path.algorithm.on_rto(&rto(1, ssthresh, true));
    assert_eq!((path.algorithm.cwnd(), path.algorithm.ssthresh()), (MSS, ssthresh));
    assert_eq!(path.steering().account.bytes(), owed);
    path.algorithm.on_rto(&rto(2, 1_000, false));
    assert_eq!((path.algorithm.ssthresh(), path.steering().account.bytes()), (50_000, 0));
}

#[test]
fn nothing_is_owed_for_idle_time() {
    let mut path = Path::new(100_000, config());
    path.ack(100, 0);
    path.algorithm.on_idle_restart(Duration::from_secs(9));
    path.ack(9_000, 1_000);
    assert_eq!(path.steering().account.bytes(), 100_000);
}

#[test]
fn a_window_is_lowered_once_for_marks_and_as_asked_for_lost_acks() {
    let mut path = Path::new(180_000, config());
    let mark = LossEvent { una: 0, next: 1 << 40, ..path.loss(180_000) };
    path.algorithm.on_ecn(&mark);
    path.algorithm.on_ecn(&mark);
    assert_eq!(path.algorithm.cwnd(), 100_000);
    let mut path = Path::new(180_000, config());
    path.algorithm.on_ack_loss(&path.loss(180_000), Fraction::new(1, 4));
    assert_eq!(path.algorithm.cwnd(), 160_000);
}

#[test]
fn a_needless_reduction_is_undone() {
    let mut path = Path::new(180_000, config());
    path.lose();
    path.algorithm.on_spurious(path.now);
    assert_eq!(path.algorithm.cwnd(), 180_000);
}

proptest! {
    /// W_new <= W - 1 MSS whatever is owed and however severe losses are, down to the floor of
    /// two segments; with v = 1 the cut is at least Reno's.
    #[test]
    fn a_loss_never_raises_and_a_severe_one_cuts_like_reno(
        cwnd in 3_000u32..10_000_000, spare in 0u32..5_000, millis in 0u64..20_000,
        delivered in 0u32..40_000_000, lost in 0u32..1_000_000, floor: bool,
    ) {
        let av = TcpAvConfig { floor_at_reno: floor, ..config() };
        let mut path = Path::new(cwnd, av);
        path.receive(millis, delivered, lost, false);
        let flight = cwnd.saturating_sub(spare).max(3_000);
        let severe = path.steering().severity() == Fraction::WHOLE;
        path.algorithm.on_loss(&path.loss(flight));
        let left = path.algorithm.cwnd();
        let floor = |window: u32| window.max(2 * MSS);
        prop_assert!(left <= floor(cwnd.min(flight) - MSS), "{left} of {cwnd}, {flight} in flight");
        prop_assert!(!severe || left <= floor(flight / 2), "{left} of {flight}, severe");
    }

    /// Without a target, and with one of zero, every window is Reno's.
    #[test]
    fn no_target_is_reno(events in prop::collection::vec((0u8..6, 0u32..100_000), 1..100)) {
        for target in [None, Some(BitRate(0))] {
            let start = initial(10_000, TcpAvConfig { target, ..TcpAvConfig::DEFAULT });
            let (mut av, mut reno) = (TcpAv::new(start), Reno::new(start));
            for (at, (kind, bytes)) in events.iter().enumerate() {
                let algorithms: [&mut dyn Controller; 2] = [&mut av, &mut reno];
                for algorithm in algorithms {
                    report(algorithm, at as u64, *kind, *bytes);
                }
                prop_assert_eq!((av.cwnd(), av.ssthresh()), (reno.cwnd(), reno.ssthresh()));
            }
        }
    }
}

fn report(algorithm: &mut dyn Controller, at: u64, kind: u8, bytes: u32) {
    let now = Instant::ZERO + Duration::from_millis(at);
    let loss = LossEvent { now, flight: bytes, una: 0, next: at };
    let rtt = Some(Duration::from_millis(10));
    let ack = AckEvent { now, acked: bytes, rtt, cwnd_limited: true, ..AckEvent::default() };
    match kind {
        0 => algorithm.on_loss(&loss),
        1 => algorithm.on_rto(&RtoEvent { now, flight: bytes, backoff: 1, keeps_ssthresh: false }),
        2 => algorithm.on_ecn(&loss),
        3 => algorithm.on_spurious(now),
        _ => algorithm.on_ack(&ack),
    }
}
