//! BBR against the draft's rules by hand, and over a simulated bottleneck. SMSS is 1000 bytes.

use super::*;
use crate::RateSample;
use std::collections::VecDeque;

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

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Ten segments in a nominal millisecond, then in the measured RTT: 80 Mbps and 0.8 Mbps, times
/// 2.885. A sample that tells more raises the rate, one that tells less leaves it.
#[test]
fn pacing_begins_with_the_initial_window() {
    let mut algorithm = Bbr::new(INITIAL);
    let rate = |algorithm: &Bbr| algorithm.pacing_rate().map(|rate| rate.0);
    assert_eq!(rate(&algorithm), Some(230_800_000));
    let ack = AckEvent { rtt: Some(millis(100)), ..AckEvent::default() };
    algorithm.on_ack(&ack);
    assert_eq!(rate(&algorithm), Some(2_308_000));
    let sample = |delivered| RateSample { delivered, interval: millis(100), ..Default::default() };
    algorithm.on_ack(&AckEvent { rate: Some(sample(9_000)), ..ack });
    assert_eq!(rate(&algorithm), Some(2_308_000));
    algorithm.on_ack(&AckEvent { rate: Some(sample(20_000)), ..ack });
    assert_eq!(rate(&algorithm), Some(4_616_000));
}

/// A connection that begins 20 s after its host has no RTT yet, thus none that is too old.
#[test]
fn a_late_connection_begins_in_startup() {
    let mut late = Rounds { now: Instant::from_nanos(20_000_000_000), ..Rounds::new() };
    late.round(10, 10);
    assert_eq!(late.algorithm.phase, Phase::Startup);
    assert_eq!(late.algorithm.cwnd(), 20 * MSS);
}

/// A connection whose path carries 100 segments in 100 ms: 8 Mbps.
struct Rounds {
    algorithm: Bbr,
    now: Instant,
    delivered: u64,
}

impl Rounds {
    fn new() -> Self {
        Self { algorithm: Bbr::new(INITIAL), now: Instant::ZERO, delivered: 0 }
    }

    /// The next ACK: a whole round of `segments` delivered in 100 ms, so many still in flight.
    fn next(&mut self, segments: u32, flight_after: u32) -> AckEvent {
        self.now += millis(100);
        let (prior_delivered, delivered) = (self.delivered, segments * MSS);
        self.delivered += u64::from(delivered);
        AckEvent {
            now: self.now,
            acked: delivered,
            flight: (flight_after + segments) * MSS,
            flight_after: flight_after * MSS,
            delivered: self.delivered,
            rate: Some(RateSample {
                delivered,
                interval: millis(100),
                prior_delivered,
                is_app_limited: false,
            }),
            rtt: Some(millis(100)),
            cwnd_limited: true,
            ..AckEvent::default()
        }
    }

    fn round(&mut self, segments: u32, flight_after: u32) {
        let ack = self.next(segments, flight_after);
        self.algorithm.on_ack(&ack);
    }

    /// In ProbeBW with nothing queued.
    fn probing_bandwidth() -> Self {
        let mut path = Self::new();
        (0..4).for_each(|_| path.round(100, 200));
        path.round(100, 100);
        path
    }
}

/// full_bw is 8 Mbps after the first round; three more without a quarter more show a full pipe.
/// Drain lasts until no more than the product, 100 segments, and three quanta are in flight.
#[test]
fn startup_ends_after_three_rounds_without_growth() {
    let mut path = Rounds::new();
    path.round(80, 200);
    path.round(100, 200);
    for _ in 0..2 {
        path.round(120, 200);
        assert_eq!(path.algorithm.phase, Phase::Startup);
    }
    path.round(120, 200);
    assert_eq!(path.algorithm.phase, Phase::Drain);
    assert_eq!(path.algorithm.pacing_rate, 3_327_556, "9.6 Mbps / 2.885");
    // At that rate a quantum is two segments.
    path.round(120, 127);
    assert_eq!(path.algorithm.phase, Phase::Drain);
    path.round(120, 126);
    assert!(matches!(path.algorithm.phase, Phase::ProbeBw { .. }));
}

/// cwnd is twice the product, 200 segments, and three quanta of two.
#[test]
fn probing_for_bandwidth_holds_two_products() {
    let mut path = Rounds::probing_bandwidth();
    (0..3).for_each(|_| path.round(100, 100));
    assert_eq!(path.algorithm.cwnd(), 206_000);
}

/// The gain 5/4 lasts until 125 segments are in flight or one is lost, 3/4 until 106 at most are
/// or an RTT has passed, each of the others an RTT.
#[test]
fn the_cycle_of_gains() {
    let mut path = Rounds::probing_bandwidth();
    let index = |path: &Rounds| match path.algorithm.phase {
        Phase::ProbeBw { index, .. } => index,
        other => panic!("{other:?}"),
    };
    path.algorithm.phase = Phase::ProbeBw { index: 0, since: path.now };
    path.round(100, 0);
    path.round(100, 0);
    assert_eq!(index(&path), 0, "neither 131 segments in flight nor a loss");
    let lossy = AckEvent { lost: MSS, ..path.next(100, 0) };
    path.algorithm.on_ack(&lossy);
    assert_eq!((index(&path), path.algorithm.pacing_rate), (1, 6_000_000));
    path.round(6, 100);
    assert_eq!((index(&path), path.algorithm.pacing_rate), (2, 8_000_000));
    for next in [3, 4, 5, 6, 7, 0] {
        path.now += millis(1);
        path.round(100, 50);
        assert_eq!(index(&path), next);
    }
    assert_eq!(path.algorithm.pacing_rate, 10_000_000);
    path.now += millis(1);
    path.round(100, 31);
    assert_eq!(index(&path), 1, "131 segments were in flight");
}

/// The first phase of ProbeBW is any but that of the gain 3/4.
#[test]
fn the_cycle_begins_anywhere_but_at_three_quarters() {
    let mut seen = [0_u32; 8];
    for nanos in 0..700 {
        let mut algorithm = Bbr::new(INITIAL);
        algorithm.enter_probe_bw(Instant::from_nanos(nanos * 1_234_567));
        if let Phase::ProbeBw { index, .. } = algorithm.phase {
            seen[index] += 1;
        }
    }
    assert_eq!(seen[1], 0);
    assert!(seen.iter().enumerate().all(|(index, count)| index == 1 || *count > 50), "{seen:?}");
}

/// Ten seconds without an RTT as low: four segments for 200 ms and a round, then back.
#[test]
fn the_delay_is_probed_for_after_ten_seconds() {
    let mut path = Rounds::probing_bandwidth();
    let before = path.algorithm.cwnd();
    let slower = |path: &mut Rounds, segments, flight| {
        let ack = AckEvent { rtt: Some(millis(101)), ..path.next(segments, flight) };
        path.algorithm.on_ack(&ack);
    };
    path.algorithm.model.confirm_rtt(path.now);
    (0..100).for_each(|_| slower(&mut path, 100, 100));
    assert!(matches!(path.algorithm.phase, Phase::ProbeBw { .. }));
    slower(&mut path, 100, 100);
    assert!(matches!(path.algorithm.phase, Phase::ProbeRtt { done: None, .. }));
    assert_eq!((path.algorithm.cwnd(), path.algorithm.pacing_rate), (4_000, 8_000_000));
    slower(&mut path, 96, 4);
    // 200 ms begin, whose low samples do not tell the path's rate.
    (0..2).for_each(|_| slower(&mut path, 4, 4));
    assert!(matches!(path.algorithm.phase, Phase::ProbeRtt { .. }));
    slower(&mut path, 4, 4);
    assert!(matches!(path.algorithm.phase, Phase::ProbeBw { .. }));
    assert!(path.algorithm.cwnd() >= before, "{} < {before}", path.algorithm.cwnd());
    (0..20).for_each(|_| slower(&mut path, 4, 4));
    assert_eq!(
        path.algorithm.model.rate(),
        320_000,
        "later samples count, a window of ten rounds on"
    );
}

/// Recovery: the pipe and what was delivered, then segment for segment for a round.
#[test]
fn a_loss_conserves_packets_for_one_round() {
    let mut path = Rounds::probing_bandwidth();
    (0..3).for_each(|_| path.round(100, 100));
    let ack = AckEvent { lost: 2 * MSS, ..path.next(1, 150) };
    path.algorithm.on_ack(&ack);
    let before = path.algorithm.cwnd();
    path.algorithm.on_loss(&LossEvent { now: path.now, flight: 160 * MSS, una: 0, next: 0 });
    assert_eq!((path.algorithm.cwnd(), path.algorithm.governs_recovery()), (151_000, true));
    // 148 in flight and three delivered by a segment that left before the loss.
    let early = AckEvent { in_recovery: true, lost: 5 * MSS, ..path.next(3, 148) };
    let stale = early.rate.map(|rate| RateSample { prior_delivered: 0, ..rate });
    path.algorithm.on_ack(&AckEvent { rate: stale, ..early });
    assert_eq!(path.algorithm.cwnd(), 151_000);
    // A round later the model rules again, less what is newly lost.
    let late = AckEvent { in_recovery: true, lost: MSS, ..path.next(3, 148) };
    path.algorithm.on_ack(&late);
    assert_eq!(path.algorithm.cwnd(), 153_000);
    path.algorithm.on_recovery_end(path.now);
    assert_eq!(path.algorithm.cwnd(), before);
}

/// One segment, then at least four, then what is delivered in addition.
#[test]
fn a_timeout_starts_over_within_the_model() {
    let mut path = Rounds::probing_bandwidth();
    path.algorithm.on_rto(&RtoEvent {
        now: path.now,
        flight: 100 * MSS,
        backoff: 1,
        keeps_ssthresh: false,
    });
    assert_eq!(path.algorithm.cwnd(), MSS);
    path.round(1, 0);
    assert_eq!(path.algorithm.cwnd(), 4_000);
    path.round(4, 0);
    assert_eq!(path.algorithm.cwnd(), 8_000);
    path.algorithm.on_spurious(path.now);
    assert!(path.algorithm.cwnd() > 100_000);
}

#[test]
fn a_new_path_is_learnt_from_the_start() {
    let mut path = Rounds::probing_bandwidth();
    path.algorithm.on_path_change(path.now);
    assert_eq!((path.algorithm.phase, path.algorithm.model.rate()), (Phase::Startup, 0));
    assert_eq!(path.algorithm.model.rtt(), None);
    (0..4).for_each(|_| path.round(100, 200));
    assert_eq!(path.algorithm.phase, Phase::Drain);
}

/// A segment on its way, with what draft-cheng-iccrg-delivery-rate-estimation keeps of it.
#[derive(Clone, Copy)]
struct Sent {
    at: Instant,
    first_sent: Instant,
    delivered: u64,
    delivered_at: Instant,
    acked_at: Instant,
}

/// A greedy sender over a bottleneck with an endless buffer.
struct Bottleneck {
    algorithm: Bbr,
    rate: BitRate,
    rtt: Duration,
    now: Instant,
    pace_at: Instant,
    free_at: Instant,
    flight: VecDeque<Sent>,
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    least: Duration,
    longest: Duration,
}

impl Bottleneck {
    fn new(rate: BitRate, rtt: Duration) -> Self {
        let zero = Instant::ZERO;
        Self {
            algorithm: Bbr::new(INITIAL),
            rate,
            rtt,
            now: zero,
            pace_at: zero,
            free_at: zero,
            flight: VecDeque::new(),
            delivered: 0,
            delivered_at: zero,
            first_sent: zero,
            least: Duration::MAX,
            longest: Duration::ZERO,
        }
    }

    fn in_flight(&self) -> u32 {
        self.flight.len() as u32 * MSS
    }

    /// Goes to the next departure or ACK.
    fn step(&mut self) {
        let may_send = self.in_flight() + MSS <= self.algorithm.cwnd();
        let depart = self.pace_at.max(self.now);
        match self.flight.front().copied() {
            Some(oldest) if !may_send || oldest.acked_at <= depart => self.ack(oldest),
            _ => self.send(depart),
        }
    }

    fn send(&mut self, at: Instant) {
        self.now = at;
        if self.flight.is_empty() {
            (self.first_sent, self.delivered_at) = (at, at);
        }
        self.free_at = self.free_at.max(at) + self.rate.time_for(u64::from(MSS));
        let acked_at = self.free_at + self.rtt;
        let Self { first_sent, delivered, delivered_at, .. } = *self;
        self.flight.push_back(Sent { at, first_sent, delivered, delivered_at, acked_at });
        let pace = self.algorithm.pacing_rate().expect("BBR paces");
        self.pace_at = at + pace.time_for(u64::from(MSS));
    }

    fn ack(&mut self, sent: Sent) {
        self.now = sent.acked_at;
        let flight = self.in_flight();
        self.flight.pop_front();
        self.delivered += u64::from(MSS);
        (self.delivered_at, self.first_sent) = (self.now, sent.at);
        let rtt = self.now.since(sent.at);
        (self.least, self.longest) = (self.least.min(rtt), self.longest.max(rtt));
        let interval = sent.at.since(sent.first_sent).max(self.now.since(sent.delivered_at));
        self.algorithm.on_ack(&AckEvent {
            now: self.now,
            acked: MSS,
            flight,
            flight_after: self.in_flight(),
            delivered: self.delivered,
            rate: Some(RateSample {
                delivered: (self.delivered - sent.delivered) as u32,
                interval,
                prior_delivered: sent.delivered,
                is_app_limited: false,
            }),
            rtt: Some(rtt),
            cwnd_limited: true,
            ..AckEvent::default()
        });
    }

    /// Bytes delivered, least and longest RTT in a span.
    fn run(&mut self, span: Duration) -> (u64, Duration, Duration) {
        let (end, before) = (self.now + span, self.delivered);
        (self.least, self.longest) = (Duration::MAX, Duration::ZERO);
        while self.now < end {
            self.step();
        }
        (self.delivered - before, self.least, self.longest)
    }
}

/// BBR's promise (section 1 of the draft): the bottleneck is full and its queue almost empty. In
/// a cycle of eight RTTs one may queue a quarter of the product, and ProbeRTT takes some 300 ms
/// of ten seconds.
#[test]
fn a_bottleneck_is_filled_without_a_queue() {
    for (mbps, rtt) in [(1, 100), (10, 20), (10, 200), (100, 40)] {
        let mut path = Bottleneck::new(BitRate::mbps(mbps), millis(rtt));
        path.run(millis(5_000));
        let (bytes, least, longest) = path.run(millis(20_000));
        let share = bytes * 8 * 100 / (mbps * 20_000_000);
        assert!((90..=100).contains(&share), "{mbps} Mbps, {rtt} ms: {share} %");
        assert!(least < millis(rtt + rtt / 20 + 10), "{mbps} Mbps, {rtt} ms: {least}");
        assert!(longest < millis(rtt * 3 / 2 + 50), "{mbps} Mbps, {rtt} ms: {longest}");
    }
}

/// The window of ten rounds forgets a bandwidth that is gone, and probing finds one that came.
#[test]
fn a_change_of_bandwidth_is_followed() {
    let mut path = Bottleneck::new(BitRate::mbps(10), millis(20));
    path.run(millis(2_000));
    path.rate = BitRate::mbps(5);
    path.run(millis(2_000));
    assert!(
        (4_500_000..5_500_000).contains(&path.algorithm.model.rate()),
        "{}",
        path.algorithm.model.rate()
    );
    path.rate = BitRate::mbps(10);
    path.run(millis(3_000));
    assert!(
        (9_500_000..10_500_000).contains(&path.algorithm.model.rate()),
        "{}",
        path.algorithm.model.rate()
    );
}
