//! When the remedy counts, when it reacts, and when it must not. SMSS is 1000 bytes.

use super::*;
use crate::{Compound, Reno, build};
use fairwave_units::Seed;
use proptest::prelude::*;

const MSS: u32 = 1_000;
const START: Initial = Initial {
    mss: MSS,
    cwnd: 64_000,
    ssthresh: 64_000,
    byte_counting: true,
    slow_start_segments: 1,
    av: crate::TcpAvConfig::DEFAULT,
    ack_loss: AckLossOptions::DEFAULT,
};
/// Segments per round of the scripted connection.
const WINDOW: u64 = 64;

#[test]
fn one_lost_ack_in_a_round_halves_the_window_at_its_end() {
    let mut link = Link::new(Stride::Learnt, 1);
    link.round(&[1; 64]);
    link.round(&[1; 64]);
    let before = link.algorithm.cwnd();
    let mut advances = [1; 63];
    advances[10] = 2;
    link.round(&advances);
    assert_eq!((link.algorithm.acks_lost(), link.algorithm.cwnd()), (1, before + MSS));
    // The round is over with the next ACK.
    link.ack(1, |_| {});
    assert_eq!(link.algorithm.cwnd(), (before + MSS) / 2);
    assert_eq!(link.algorithm.ssthresh(), link.algorithm.cwnd());
}

#[test]
fn the_round_after_a_reaction_is_held_off() {
    let mut link = Link::new(Stride::Literal, 1);
    let mut halvings = 0;
    for _ in 0..8 {
        let before = link.algorithm.ssthresh();
        link.round(&[2; 32]);
        halvings += u32::from(link.algorithm.ssthresh() < before);
    }
    // Eight rounds: the first opens, of the seven that close every second one reacts.
    assert_eq!(halvings, 4);
}

/// alpha is (15/16)^18 + 1/64/16 = 0.3140 after seventeen clean rounds and one with one lost ACK
/// of 64: the window goes to 1 - alpha/2 = 0.8430 of itself.
#[test]
fn the_gentle_window_falls_by_half_the_smoothed_share_of_lost_acks() {
    let mut link = Link::with(AckLossConfig { response: Response::Share, ..Default::default() });
    (0..17).for_each(|_| link.round(&[1; 64]));
    let mut advances = [1; 63];
    advances[10] = 2;
    link.round(&advances);
    let before = link.algorithm.cwnd();
    link.ack(1, |_| {});
    assert_eq!(u64::from(link.algorithm.cwnd()) * 10_000 / u64::from(before), 8_430);
    assert_eq!((link.algorithm.acks_lost(), link.algorithm.ssthresh()), (1, link.algorithm.cwnd()));
}

#[test]
fn the_gentle_window_is_halved_while_hardly_an_ack_arrives() {
    let mut link = Link::with(AckLossConfig { response: Response::Share, ..Default::default() });
    (0..2).for_each(|_| link.round(&[1; 64]));
    // A whole round in two ACKs, of which the second ends it.
    let before = link.algorithm.cwnd();
    link.round(&[63, 1]);
    let min = before / 2 + before / 2 / 16;
    assert!(
        (before / 2..=min + 2 * MSS).contains(&link.algorithm.cwnd()),
        "{}",
        link.algorithm.cwnd()
    );
}

#[test]
fn the_literal_count_is_the_advance_and_the_learnt_one_the_missing_acks() {
    for (stride, expected) in [(Stride::Literal, 3), (Stride::Learnt, 2)] {
        let mut link = Link::new(stride, 1);
        link.round(&[1; 64]);
        link.ack(3, |_| {});
        assert_eq!(link.algorithm.acks_lost(), expected, "{stride:?}");
    }
}

#[test]
fn delayed_acks_are_losses_to_the_literal_mode_only() {
    for (stride, lost) in [(Stride::Literal, 320), (Stride::Learnt, 0), (Stride::Timestamps, 0)] {
        let mut link = Link::new(stride, 1);
        (0..5).for_each(|_| link.round(&[2; 32]));
        assert_eq!(link.algorithm.acks_lost(), lost, "{stride:?}");
    }
}

#[test]
fn timestamps_tell_a_stretch_ack_from_a_lost_one() {
    let mut link = Link::new(Stride::Timestamps, 1);
    link.round(&[2; 32]);
    link.ack(8, |ack| ack.echo_gap = Some(0));
    assert_eq!(link.algorithm.acks_lost(), 0);
    // Six segments were acknowledged before the echoed one: three ACKs of two.
    link.ack(8, |ack| ack.echo_gap = Some(6 * MSS));
    assert_eq!(link.algorithm.acks_lost(), 3);
    link.ack(8, |ack| ack.echo_gap = Some(1));
    assert_eq!(link.algorithm.acks_lost(), 4, "a gap is at least one lost ACK");
}

#[test]
fn acks_that_fill_holes_are_not_counted() {
    let mut link = Link::new(Stride::Literal, 1);
    link.ack(5, |ack| ack.in_recovery = true);
    link.ack(5, |ack| ack.covers_retransmission = true);
    link.ack(0, |ack| ack.sacked = 4 * MSS);
    link.ack(5, |_| {});
    link.algorithm.on_rto(&RtoEvent {
        now: Instant::ZERO,
        flight: 10_000,
        backoff: 1,
        keeps_ssthresh: false,
    });
    link.ack(5, |_| {});
    assert_eq!(link.algorithm.acks_lost(), 0);
    link.ack(5, |_| {});
    assert_eq!(link.algorithm.acks_lost(), 5);
}

#[test]
fn a_round_that_lost_data_too_is_answered_once() {
    let mut link = Link::new(Stride::Literal, 1);
    link.round(&[2; 16]);
    link.algorithm.on_loss(&LossEvent {
        now: Instant::ZERO,
        flight: 64_000,
        una: 0,
        next: link.una,
    });
    let after_loss = link.algorithm.ssthresh();
    link.round(&[2; 32]);
    assert_eq!(link.algorithm.ssthresh(), after_loss);
}

/// The configuration of the name `ack-loss-literal`, with these options.
fn literal(options: AckLossOptions) -> Link {
    let named = AckLossConfig::ALL.into_iter().find(|config| config.stride == Stride::Literal);
    Link::with(named.expect("it has a name").with(options))
}

#[test]
fn the_papers_words_know_no_pause_and_no_exclusion() {
    let mut link = literal(AckLossOptions::DEFAULT);
    let mut halvings = 0;
    for round in 0..8 {
        if round == 2 {
            link.ack(0, |ack| ack.sacked = 4 * MSS);
        }
        for _ in 0..32 {
            let before = link.algorithm.cwnd();
            link.ack(2, |ack| ack.in_recovery = round == 4);
            halvings += u32::from(link.algorithm.cwnd() < before);
        }
    }
    // The first ACK opens a round; the first ACK of each later group of 32 ends one.
    assert_eq!((link.algorithm.acks_lost(), halvings), (8 * 64, 7));
}

#[test]
fn each_exclusion_leaves_out_its_acks_alone() {
    for (name, exclude) in Exclusions::NAMES {
        let mut link =
            literal(AckLossOptions { exclude: Some(exclude), ..AckLossOptions::DEFAULT });
        let counted = |link: &mut Link, change: fn(&mut AckEvent)| {
            let before = link.algorithm.acks_lost();
            link.ack(3, change);
            link.algorithm.acks_lost() > before
        };
        let plain = counted(&mut link, |_| {});
        let in_recovery = counted(&mut link, |ack| ack.in_recovery = true);
        let retransmitted = counted(&mut link, |ack| ack.covers_retransmission = true);
        link.ack(0, |ack| ack.sacked = 3 * MSS);
        let over_sacked = counted(&mut link, |_| {});
        link.algorithm.on_rto(&RtoEvent {
            now: Instant::ZERO,
            flight: 64_000,
            backoff: 1,
            keeps_ssthresh: false,
        });
        let after_timeout = counted(&mut link, |_| {});
        let all = [plain, in_recovery, retransmitted, over_sacked, after_timeout];
        let expected = match name {
            "recovery" => [true, false, false, true, true],
            "sacked" => [true, true, true, false, true],
            "timeout" => [true, true, true, true, false],
            _ => [true; 5],
        };
        assert_eq!(all, expected, "{name}");
        assert_eq!(exclude.names().collect::<Vec<_>>(), [name]);
    }
    assert_eq!(Exclusions::ALL.names().count(), Exclusions::NAMES.len());
    assert_eq!(Exclusions::NONE.names().count(), 0);
}

#[test]
fn a_round_with_data_loss_reacts_unless_it_is_excluded() {
    for (exclude, reacts) in [(Exclusions::NONE, true), (Exclusions::NAMES[3].1, false)] {
        let mut link =
            literal(AckLossOptions { exclude: Some(exclude), ..AckLossOptions::DEFAULT });
        link.round(&[1; 64]);
        link.algorithm.on_loss(&LossEvent {
            now: Instant::ZERO,
            flight: 64_000,
            una: 0,
            next: link.una,
        });
        let after_loss = link.algorithm.ssthresh();
        link.round(&[2; 32]);
        link.ack(1, |_| {});
        assert_eq!(link.algorithm.ssthresh() < after_loss, reacts, "{exclude:?}");
    }
}

#[test]
fn at_the_count_the_window_is_halved_with_the_ack_that_reaches_the_threshold() {
    let at_count = |threshold| {
        literal(AckLossOptions { threshold, decision: Decision::Count, ..AckLossOptions::DEFAULT })
    };
    let mut link = at_count(4);
    link.round(&[1; 8]);
    link.ack(2, |_| {});
    assert_eq!(link.algorithm.ssthresh(), 64_000);
    link.ack(2, |_| {});
    assert_eq!(link.algorithm.ssthresh(), 32_000);
    // No second reaction in the round, however many more ACKs are lost.
    link.round(&[2; 20]);
    assert_eq!(link.algorithm.ssthresh(), 32_000);
    // The next round has its own.
    link.round(&[2; 20]);
    assert!(link.algorithm.ssthresh() < 32_000);
}

#[test]
fn the_threshold_is_the_count_that_means_congestion() {
    for (threshold, reacts) in [(0, true), (4, true), (5, false)] {
        let mut link = Link::new(Stride::Literal, threshold);
        link.ack(1, |_| {});
        link.ack(4, |_| {});
        link.round(&[1; 64]);
        assert_eq!(link.algorithm.ssthresh() < 64_000, reacts, "threshold {threshold}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn without_lost_acks_the_remedy_is_not_there(
        seed: u64, b in 1u32..=2, mode in 0usize..3, algorithm: prop::sample::Index,
    ) {
        let stride = [Stride::Learnt, Stride::Timestamps, Stride::Literal][mode];
        let b = if stride == Stride::Literal { 1 } else { b };
        let reacting = crate::ALL.iter().filter(|known| known.reacts_to_ack_loss);
        let name = algorithm.get(&reacting.collect::<Vec<_>>()).name;
        let mut bare = build(name, START).expect("listed");
        let config = AckLossConfig { stride, ..AckLossConfig::default() };
        let mut wrapped = AckLoss::new(build(name, START).expect("listed"), START, config);
        let mut draw = Seed(seed).stream("events");
        let mut una = 0;
        for _ in 0..2_000 {
            una += u64::from(b * MSS);
            let mut ack = ack_at(una, b * MSS);
            ack.rtt = Some(Duration::from_micros(100_000 + draw.below(20_000)));
            let loss = LossEvent { now: ack.now, flight: bare.cwnd(), una: 0, next: ack.next };
            let (now, flight) = (ack.now, bare.cwnd());
            let rto = RtoEvent { now, flight, backoff: 1, keeps_ssthresh: false };
            for algorithm in [&mut bare as &mut dyn Controller, &mut wrapped] {
                algorithm.on_ack(&ack);
            }
            let fate = draw.below(200);
            for algorithm in [&mut bare as &mut dyn Controller, &mut wrapped] {
                match fate {
                    0 => algorithm.on_loss(&loss),
                    1 => algorithm.on_rto(&rto),
                    2 => algorithm.on_spurious(ack.now),
                    _ => {}
                }
            }
            prop_assert_eq!(bare.cwnd(), wrapped.cwnd(), "{}, seed {}", name, seed);
            prop_assert_eq!(bare.ssthresh(), wrapped.ssthresh(), "{}, seed {}", name, seed);
        }
        prop_assert_eq!(wrapped.acks_lost(), 0);
    }

    #[test]
    fn at_most_one_halving_per_round_however_many_acks_are_lost(seed: u64) {
        let config = AckLossConfig { stride: Stride::Literal, ..AckLossConfig::default() };
        let mut algorithm = AckLoss::new(Compound::new(START), START, config);
        let mut draw = Seed(seed).stream("acks");
        let (mut una, mut end) = (0, 0);
        let mut halved_in_round = 0;
        for _ in 0..3_000 {
            let advance = (1 + draw.below(6) as u32) * MSS;
            una += u64::from(advance);
            if una >= end {
                (end, halved_in_round) = (una + WINDOW * u64::from(MSS), 0);
            }
            let before = algorithm.ssthresh();
            algorithm.on_ack(&ack_at(una, advance));
            halved_in_round += u32::from(algorithm.ssthresh() < before);
            prop_assert!(halved_in_round <= 1, "seed {}", seed);
        }
    }
}

/// A connection that keeps [`WINDOW`] segments outstanding.
struct Link {
    algorithm: AckLoss<Reno>,
    una: u64,
}

impl Link {
    fn new(stride: Stride, threshold: u64) -> Self {
        Self::with(AckLossConfig { stride, threshold, ..AckLossConfig::default() })
    }

    fn with(config: AckLossConfig) -> Self {
        Self { algorithm: AckLoss::new(Reno::new(START), START, config), una: 0 }
    }

    /// One ACK for each of `advances`, in segments.
    fn round(&mut self, advances: &[u32]) {
        advances.iter().for_each(|segments| self.ack(*segments, |_| {}));
    }

    fn ack(&mut self, segments: u32, change: impl FnOnce(&mut AckEvent)) {
        self.una += u64::from(segments * MSS);
        let mut ack = ack_at(self.una, segments * MSS);
        change(&mut ack);
        self.algorithm.on_ack(&ack);
    }
}

fn ack_at(una: u64, acked: u32) -> AckEvent {
    AckEvent {
        now: Instant::from_nanos(una * 1_000),
        acked,
        sacked: 0,
        una,
        delivered: una,
        next: una + WINDOW * u64::from(MSS),
        flight: WINDOW as u32 * MSS,
        rtt: None,
        in_recovery: false,
        cwnd_limited: true,
        covers_retransmission: false,
        echo_gap: None,
        ..AckEvent::default()
    }
}
