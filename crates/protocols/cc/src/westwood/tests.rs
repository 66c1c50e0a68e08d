//! Westwood+ against samples worked out by hand. SMSS is 1000 bytes.

use super::*;

const MSS: u32 = 1_000;

struct Path {
    algorithm: Westwood,
    now: Instant,
    delivered: u64,
}

impl Path {
    /// In congestion avoidance with `cwnd` bytes.
    fn new(cwnd: u32) -> Self {
        let initial = Initial {
            mss: MSS,
            cwnd,
            ssthresh: cwnd,
            byte_counting: true,
            slow_start_segments: 1,
            av: crate::TcpAvConfig::DEFAULT,
            ack_loss: crate::AckLossOptions::DEFAULT,
        };
        let mut path = Self { algorithm: Westwood::new(initial), now: Instant::ZERO, delivered: 0 };
        path.ack(0, 0);
        path
    }

    /// `millis` later, an ACK for `bytes` more, with an RTT of `millis`. The window stays.
    fn ack(&mut self, millis: u64, bytes: u32) {
        self.now += Duration::from_millis(millis);
        self.delivered += u64::from(bytes);
        self.algorithm.on_ack(&AckEvent {
            now: self.now,
            acked: bytes,
            delivered: self.delivered,
            rtt: (millis > 0).then_some(Duration::from_millis(millis)),
            ..AckEvent::default()
        });
    }

    fn lose(&mut self) -> u32 {
        let loss = LossEvent { now: self.now, flight: 60_000, una: 0, next: self.delivered };
        self.algorithm.on_loss(&loss);
        assert_eq!(self.algorithm.cwnd(), self.algorithm.ssthresh());
        self.algorithm.cwnd()
    }
}

/// 125 kB in 100 ms are 10 Mbps, and 250 kB 20 Mbps: 0.9 * 10 + 0.1 * (10 + 20)/2 = 10.5 Mbps,
/// and 0.9 * 10.5 + 0.1 * (20 + 20)/2 = 11.45 Mbps, in 100 ms 143 125 bytes.
#[test]
fn a_loss_leaves_what_fills_the_path() {
    let mut path = Path::new(200_000);
    path.ack(100, 125_000);
    assert_eq!(path.algorithm.bandwidth, Some(10_000_000));
    path.ack(100, 250_000);
    assert_eq!(path.algorithm.bandwidth, Some(10_500_000));
    path.ack(100, 250_000);
    assert_eq!(path.algorithm.bandwidth, Some(11_450_000));
    assert_eq!(path.lose(), 143_125);
    path.algorithm.on_rto(&RtoEvent {
        now: path.now,
        flight: 60_000,
        backoff: 1,
        keeps_ssthresh: false,
    });
    assert_eq!((path.algorithm.cwnd(), path.algorithm.ssthresh()), (MSS, 143_125));
}

#[test]
fn a_loss_never_raises_the_window_nor_takes_it_below_two_segments() {
    let mut small = Path::new(100_000);
    small.ack(100, 125_000);
    small.ack(100, 250_000);
    assert_eq!(small.lose(), 100_000);
    // Nor does a queue count as path.
    small.ack(200, 250_000);
    assert_eq!(small.algorithm.target(0), 100_000);
    let mut slow = Path::new(100_000);
    slow.ack(100, 1_000);
    assert_eq!(slow.lose(), 2_000);
}

#[test]
fn before_a_sample_a_loss_halves_the_flight() {
    assert_eq!(Path::new(100_000).lose(), 30_000);
}

/// Five RTTs of 10 ms make one sample: 50 kB in 50 ms are 8 Mbps.
#[test]
fn a_sample_spans_fifty_milliseconds() {
    let mut path = Path::new(100_000);
    (0..4).for_each(|_| path.ack(10, 10_000));
    assert_eq!(path.algorithm.bandwidth, None);
    path.ack(10, 10_000);
    assert_eq!(path.algorithm.bandwidth, Some(8_000_000));
}

#[test]
fn an_idle_time_is_no_sample() {
    let mut path = Path::new(100_000);
    path.ack(100, 125_000);
    path.algorithm.on_idle_restart(Duration::from_secs(9));
    path.ack(9_000, 1_000);
    assert_eq!(path.algorithm.bandwidth, Some(10_000_000));
}

/// Lost ACKs and marks as losses (Hashimoto et al. 2008, RFC 3168 section 6.1.2).
#[test]
fn marks_and_lost_acks_lower_the_window_as_a_loss_does() {
    let mark = LossEvent { now: Instant::ZERO, flight: 60_000, una: 0, next: 1 << 40 };
    let reported: [fn(&mut Westwood, &LossEvent); 2] = [
        |algorithm, mark| algorithm.on_ecn(mark),
        |algorithm, mark| algorithm.on_ack_loss(mark, Fraction::WHOLE),
    ];
    for report in reported {
        let mut path = Path::new(200_000);
        path.ack(100, 125_000);
        report(&mut path.algorithm, &mark);
        assert_eq!((path.algorithm.cwnd(), path.algorithm.ssthresh()), (125_000, 125_000));
        path.algorithm.on_spurious(path.now);
        assert_eq!(path.algorithm.cwnd(), 125_000, "there was no loss to undo");
    }
}
