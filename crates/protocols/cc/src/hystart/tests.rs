//! HyStart++ against rounds worked out by hand from RFC 9406 section 4.2. SMSS is 1000 bytes.

use super::*;

const MSS: u32 = 1_000;

struct Path {
    start: HyStart,
    una: u64,
}

impl Path {
    fn new() -> Self {
        Self { start: HyStart::new(MSS, 1), una: 0 }
    }

    /// A round of 20 ACKs of one segment, so many of them with a sample of `millis`; whether
    /// slow start ended.
    fn round(&mut self, samples: u64, millis: u64) -> bool {
        let mut over = false;
        for n in 0..20 {
            self.una += u64::from(MSS);
            let ack = AckEvent {
                acked: MSS,
                una: self.una,
                next: self.una + u64::from((if n == 19 { 20 } else { 19 - n }) * MSS),
                rtt: (u64::from(n) < samples).then_some(Duration::from_millis(millis)),
                ..AckEvent::default()
            };
            over |= self.start.is_over(&ack);
        }
        over
    }

    fn growth(&self) -> u32 {
        self.start.growth(MSS)
    }
}

/// The thresholds of section 4.2: an eighth of the last round's delay between 4 and 16 ms.
#[test]
fn the_increase_that_counts_is_an_eighth_within_bounds() {
    for (last, min) in [(1, 4), (32, 4), (80, 10), (128, 16), (1_000, 16)] {
        let path = |grown: u64| {
            let mut path = Path::new();
            path.round(10, last);
            path.round(20, last + grown);
            path.growth()
        };
        assert_eq!((path(min - 1), path(min)), (MSS, MSS / 4), "after {last} ms");
    }
}

/// CSS_ROUNDS = 5, the round in which it began among them.
#[test]
fn five_rounds_of_a_grown_delay_end_slow_start() {
    let mut path = Path::new();
    assert!(!path.round(10, 100));
    for _ in 1..5 {
        assert!(!path.round(20, 120));
        assert_eq!(path.growth(), 250);
    }
    assert!(path.round(20, 120));
}

#[test]
fn a_delay_that_falls_again_resumes_slow_start() {
    let mut path = Path::new();
    path.round(10, 100);
    path.round(20, 120);
    assert_eq!(path.growth(), 250);
    path.round(20, 119);
    assert_eq!(path.growth(), 1_000);
    // Growing from 119 ms, less than 119/8 is no increase.
    path.round(20, 133);
    assert_eq!(path.growth(), 1_000);
}

/// N_RTT_SAMPLE = 8.
#[test]
fn seven_samples_decide_nothing() {
    let mut path = Path::new();
    path.round(7, 100);
    path.round(7, 200);
    assert_eq!(path.growth(), 1_000);
    path.round(8, 400);
    assert_eq!(path.growth(), 250);
}

/// L = 8 for a sender that does not pace.
#[test]
fn an_ack_counts_for_eight_segments_at_most() {
    let mut path = Path::new();
    assert_eq!((path.start.growth(8_000), path.start.growth(20_000)), (8_000, 8_000));
    path.round(10, 100);
    path.round(10, 200);
    assert_eq!(path.start.growth(20_000), 2_000);
}
