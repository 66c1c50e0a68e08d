//! Whatever happens to a connection, however absurd the numbers: windows stay windows.

use fairwave_cc::{
    AckEvent, AckLoss, AckLossConfig, AckLossOptions, Controller, Decision, Exclusions, Fraction,
    Initial, LossEvent, RateSample, RtoEvent, TcpAvConfig, build, names,
};
use fairwave_units::{BitRate, Duration, Instant};
use proptest::prelude::*;

/// One event: its kind, and numbers that mean what the kind makes of them.
type Happening = (u8, u32, u32, u64, u64, bool);

fn happening() -> impl Strategy<Value = Happening> {
    let size = || prop_oneof![Just(0), Just(u32::MAX), any::<u32>(), 1u32..100_000];
    (0u8..12, size(), size(), any::<u64>(), any::<u64>(), any::<bool>())
}

fn apply(algorithm: &mut dyn Controller, (kind, a, b, x, y, flag): Happening) {
    let now = Instant::from_nanos(x);
    let loss = LossEvent { now, flight: a, una: 0, next: y };
    let ack = AckEvent {
        now,
        acked: a,
        sacked: if flag { b } else { 0 },
        una: x,
        next: y,
        flight: b,
        rtt: flag.then_some(Duration::from_nanos(y)),
        in_recovery: kind == 1,
        cwnd_limited: kind != 2,
        covers_retransmission: false,
        echo_gap: flag.then_some(b),
        flight_after: a ^ b,
        lost: if flag { a } else { 0 },
        delivered: x.max(y),
        rate: (kind != 3).then_some(RateSample {
            delivered: b,
            interval: Duration::from_nanos(if flag { y } else { u64::from(a) }),
            prior_delivered: x,
            is_app_limited: flag,
        }),
    };
    match kind {
        0..=3 => algorithm.on_ack(&ack),
        4 => algorithm.on_loss(&loss),
        5 => algorithm.on_rto(&RtoEvent {
            now,
            flight: a,
            backoff: b % 4,
            keeps_ssthresh: b % 8 > 5,
        }),
        6 => algorithm.on_ecn(&loss),
        7 => algorithm.on_spurious(now),
        8 => algorithm.on_ack_loss(&loss, Fraction::new(a, b)),
        9 => algorithm.on_recovery_end(now),
        10 => algorithm.on_path_change(now),
        _ => algorithm.on_idle_restart(Duration::from_nanos(y)),
    }
}

/// Any answers to the questions that the paper of the remedy leaves open.
fn ack_loss() -> impl Strategy<Value = AckLossOptions> {
    let exclude = any::<[bool; 4]>().prop_map(|[recovery, sacked, timeout, data_loss]| {
        Exclusions { recovery, sacked, timeout, data_loss }
    });
    let decision = prop_oneof![Just(Decision::RoundEnd), Just(Decision::Count)];
    (0..20_u64, decision, any::<Option<bool>>(), prop::option::of(exclude)).prop_map(
        |(threshold, decision, pause, exclude)| AckLossOptions {
            threshold,
            decision,
            pause,
            exclude,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn windows_keep_their_floors(
        mss in prop_oneof![1u32..=9_000, Just(u32::MAX)],
        cwnd: u32,
        ssthresh: u32,
        target in prop::option::of(prop_oneof![any::<u64>(), 0u64..100_000_000]),
        ack_loss in ack_loss(),
        history in prop::collection::vec(happening(), 1..200),
    ) {
        let av = TcpAvConfig { target: target.map(BitRate), ..TcpAvConfig::DEFAULT };
        for name in names() {
            let (byte_counting, slow_start_segments) = (mss % 2 == 0, 1);
            let initial =
                Initial { mss, cwnd, ssthresh, byte_counting, slow_start_segments, av, ack_loss };
            let mut algorithm = build(&name, initial).expect("listed");
            for event in &history {
                apply(algorithm.as_mut(), *event);
                let (cwnd, ssthresh) = (algorithm.cwnd(), algorithm.ssthresh());
                prop_assert!(cwnd >= mss, "{name}: cwnd {cwnd} after {event:?}");
                let is_silent = algorithm.pacing_rate().is_some_and(|rate| rate.0 == 0);
                prop_assert!(!is_silent, "{name} is silent");
                if event.0 == 4 {
                    let minimum = mss.saturating_mul(2);
                    prop_assert!(ssthresh >= minimum, "{name}: ssthresh {ssthresh}");
                    let is_at_ssthresh = algorithm.governs_recovery() || cwnd == ssthresh;
                    prop_assert!(is_at_ssthresh, "{name}: cwnd {cwnd} after {event:?}");
                }
            }
        }
    }
}

/// Rounds over a path that carries `kbps` and has an RTT of `micros`, with as much again of a
/// queue: the window, what is sent at once and the delay belong together.
fn drive(
    algorithm: &mut dyn Controller,
    mss: u32,
    (kbps, micros): (u64, u64),
) -> Result<(), String> {
    let (rate, base) = (BitRate(kbps * 1_000), Duration::from_micros(micros));
    let product = u128::from(rate.0) * u128::from(base.as_nanos()) / 8_000_000_000;
    let queue = u64::try_from(2 * product).unwrap_or(u64::MAX).max(u64::from(8 * mss));
    let (mut now, mut una) = (Instant::ZERO, 0_u64);
    for _ in 0..60 {
        let window = u64::from(algorithm.cwnd()).min(1 << 30);
        let rtt = rate.time_for(window).max(base);
        let next = una + window;
        if window > queue {
            algorithm.on_loss(&LossEvent { now, flight: window as u32, una: 0, next });
        }
        for part in 1..=8 {
            let acked = (window * part / 8 - window * (part - 1) / 8) as u32;
            una += u64::from(acked);
            now += Duration::from_nanos(rtt.as_nanos() / 8);
            algorithm.on_ack(&AckEvent {
                now,
                acked,
                una,
                next: una + window,
                flight: window as u32,
                flight_after: window as u32 - acked,
                delivered: una,
                rate: Some(RateSample {
                    delivered: window as u32,
                    interval: rtt,
                    prior_delivered: una.saturating_sub(window),
                    is_app_limited: false,
                }),
                rtt: Some(rtt),
                in_recovery: window > queue,
                cwnd_limited: true,
                ..AckEvent::default()
            });
        }
        if window > queue {
            algorithm.on_recovery_end(now);
        }
        if algorithm.cwnd() < mss || algorithm.pacing_rate().is_some_and(|rate| rate.0 == 0) {
            return Err(format!("cwnd {}, pacing {:?}", algorithm.cwnd(), algorithm.pacing_rate()));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// From 1 kbps to 100 Gbps, and from a microsecond to ten minutes.
    #[test]
    fn every_path_can_be_lived_with(
        decade in 0u32..9, digit in 1u64..10, micros in prop_oneof![1u64..1_000, 1u64..600_000_000],
        mss in 500u32..=9_000,
    ) {
        let kbps = (digit * 10_u64.pow(decade)).min(100_000_000);
        let target = Some(BitRate(kbps * 500));
        let av = TcpAvConfig { target, ..TcpAvConfig::DEFAULT };
        let ack_loss = AckLossOptions::DEFAULT;
        for name in names() {
            let cwnd = mss.saturating_mul(10);
            let (ssthresh, byte_counting, slow_start_segments) = (u32::MAX, true, 1);
            let initial =
                Initial { mss, cwnd, ssthresh, byte_counting, slow_start_segments, av, ack_loss };
            let mut algorithm = build(&name, initial).expect("listed");
            let driven = drive(algorithm.as_mut(), mss, (kbps, micros));
            prop_assert_eq!(driven, Ok(()), "{} at {} kbps, {} us", name, kbps, micros);
        }
    }
}

/// An algorithm that counts the reactions that it is asked for, and does nothing else.
#[derive(Debug, Default)]
struct Asked(u32);

impl Controller for Asked {
    fn name(&self) -> String {
        "asked".to_owned()
    }

    fn on_ack(&mut self, _: &AckEvent) {}

    fn on_loss(&mut self, _: &LossEvent) {}

    fn on_rto(&mut self, _: &RtoEvent) {}

    fn on_ack_loss(&mut self, _: &LossEvent, _: Fraction) {
        self.0 += 1;
    }

    fn cwnd(&self) -> u32 {
        self.0
    }

    fn ssthresh(&self) -> u32 {
        u32::MAX
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    /// The paper's words, computed apart: in each round trip the advances of two segments or more
    /// are summed, and a sum of at least the threshold asks for one reaction, whatever else
    /// happens. With a pause no two rounds in a row react; at the count a reaction comes no later.
    #[test]
    fn the_literal_remedy_is_the_papers_sentence(
        threshold in 1u64..20,
        advances in prop::collection::vec((1u32..6, 0u8..20), 1..600),
    ) {
        const MSS: u32 = 1_000;
        const WINDOW: u64 = 32_000;
        let initial = Initial {
            mss: MSS,
            cwnd: 1,
            ssthresh: 1,
            byte_counting: true,
            slow_start_segments: 1,
            av: TcpAvConfig::DEFAULT,
            ack_loss: AckLossOptions::DEFAULT,
        };
        let literal = AckLossConfig::ALL
            .into_iter()
            .find(|config| config.prefix() == "ack-loss-literal")
            .expect("it has a name");
        let with = |decision, pause| {
            let options = AckLossOptions { threshold, decision, pause, exclude: None };
            AckLoss::new(Asked::default(), initial, literal.with(options))
        };
        let mut end_of_round = with(Decision::RoundEnd, None);
        let mut pausing = with(Decision::RoundEnd, Some(true));
        let mut at_count = with(Decision::Count, None);
        let (mut una, mut end, mut sum, mut reactions, mut rounds) = (0, None, 0, 0, 0_u32);
        for (segments, fate) in advances {
            una += u64::from(segments * MSS);
            let ack = AckEvent {
                acked: segments * MSS,
                sacked: if fate == 0 { MSS } else { 0 },
                una,
                next: una + WINDOW,
                in_recovery: fate == 1,
                covers_retransmission: fate == 2,
                ..AckEvent::default()
            };
            let loss = LossEvent { now: ack.now, flight: 0, una: 0, next: ack.next };
            let rto = RtoEvent { now: ack.now, flight: 0, backoff: 1, keeps_ssthresh: false };
            for algorithm in [&mut end_of_round, &mut pausing, &mut at_count] {
                match fate {
                    3 => algorithm.on_loss(&loss),
                    4 => algorithm.on_rto(&rto),
                    5 => algorithm.on_ecn(&loss),
                    _ => {}
                }
                algorithm.on_ack(&ack);
            }
            sum += if segments >= 2 { u64::from(segments) } else { 0 };
            if end.is_some_and(|end| una >= end) {
                reactions += u32::from(sum >= threshold);
                rounds += 1;
                (end, sum) = (Some(una + WINDOW), 0);
            }
            end = end.or(Some(una + WINDOW));
            prop_assert_eq!(end_of_round.cwnd(), reactions);
            let open = u32::from(sum >= threshold);
            prop_assert_eq!(at_count.cwnd(), reactions + open);
            prop_assert!(pausing.cwnd() <= reactions.min(rounds.div_ceil(2)));
            prop_assert!(reactions == 0 || pausing.cwnd() > 0);
        }
    }
}
