//! Vegas against rounds worked out by hand. SMSS is 1000 bytes, a round ten ACKs of a segment.

use super::*;

const MSS: u32 = 1_000;

struct Path {
    algorithm: Vegas,
    una: u64,
}

impl Path {
    /// Windows in segments.
    fn new(cwnd: u32, ssthresh: u32) -> Self {
        let (cwnd, ssthresh) = (cwnd * MSS, ssthresh.saturating_mul(MSS));
        let initial = Initial {
            mss: MSS,
            cwnd,
            ssthresh,
            byte_counting: true,
            slow_start_segments: 1,
            av: crate::TcpAvConfig::DEFAULT,
            ack_loss: crate::AckLossOptions::DEFAULT,
        };
        Self { algorithm: Vegas::new(initial), una: 0 }
    }

    /// A round whose first `samples` ACKs have an RTT of `millis`; then cwnd.
    fn round(&mut self, samples: u32, millis: u64) -> u32 {
        for n in 0..10 {
            self.una += u64::from(MSS);
            self.algorithm.on_ack(&AckEvent {
                acked: MSS,
                una: self.una,
                next: self.una + u64::from((if n == 9 { 10 } else { 9 - n }) * MSS),
                rtt: (n < samples).then_some(Duration::from_millis(millis)),
                cwnd_limited: true,
                ..AckEvent::default()
            });
        }
        self.algorithm.cwnd()
    }

    fn loss(&self) -> LossEvent {
        LossEvent { now: Instant::ZERO, flight: self.algorithm.cwnd(), una: 0, next: self.una }
    }
}

/// Backlogs: 0; 21 * 10/110 = 1.9; 22 * 15/115 = 2.9; 22 * 25/125 = 4.4; 21 * 25/125 = 4.2.
#[test]
fn two_to_four_segments_are_kept_queued() {
    let mut path = Path::new(20, 20);
    let windows = [100, 110, 115, 125, 125].map(|millis| path.round(10, millis));
    assert_eq!(windows, [21_000, 22_000, 22_000, 21_000, 20_000]);
}

/// Ten ACKs take 10 segments to 20, nine more to 29. At 103 ms their backlog is 29 * 3/103 = 0.8
/// segments and slow start goes on; at 105 ms it is 29 * 5/105 = 1.380 and what lies beyond the
/// path is taken back, but for one segment.
#[test]
fn slow_start_ends_once_a_segment_is_queued() {
    let mut calm = Path::new(10, u32::MAX);
    assert_eq!([100, 103].map(|millis| calm.round(10, millis)), [20_000, 30_000]);
    assert_eq!(calm.algorithm.ssthresh(), u32::MAX);
    let mut queued = Path::new(10, u32::MAX);
    assert_eq!([100, 105].map(|millis| queued.round(10, millis)), [20_000, 28_620]);
    assert_eq!(queued.algorithm.ssthresh(), 28_620);
}

/// Two samples may be two delayed ACKs: ten segments acknowledged earn one, as in Reno.
#[test]
fn a_round_with_two_samples_grows_as_renos() {
    let mut path = Path::new(10, 10);
    path.algorithm.on_ack(&AckEvent { rtt: Some(Duration::from_millis(1)), ..AckEvent::default() });
    assert_eq!(path.round(2, 900), 11_000);
    assert_eq!(path.round(3, 900), 10_000);
}

#[test]
fn a_loss_halves_the_window_and_a_shrunk_one_stays_out_of_slow_start() {
    let mut path = Path::new(20, 20);
    path.round(10, 100);
    path.algorithm.on_loss(&path.loss());
    assert_eq!((path.algorithm.cwnd(), path.algorithm.ssthresh()), (10_500, 10_500));
    path.algorithm.on_recovery_end(Instant::ZERO);
    assert_eq!(path.round(10, 200), 9_500);
    assert_eq!((path.round(10, 200), path.algorithm.ssthresh()), (8_500, 8_500));
    path.algorithm.on_spurious(Instant::ZERO);
    assert_eq!(path.algorithm.cwnd(), 21_000);
}

#[test]
fn a_new_path_has_a_new_delay() {
    let mut path = Path::new(20, 20);
    path.round(10, 100);
    path.algorithm.on_path_change(Instant::ZERO);
    assert_eq!(path.round(10, 300), 22_000);
}
