//! Whatever happens to a connection, however absurd the numbers: windows stay windows.

use fairwave_cc::{AckEvent, Controller, Initial, LossEvent, RtoEvent, build, names};
use fairwave_units::{Duration, Instant};
use proptest::prelude::*;

/// One event: its kind, and numbers that mean what the kind makes of them.
type Happening = (u8, u32, u32, u64, u64, bool);

fn happening() -> impl Strategy<Value = Happening> {
    let size = || prop_oneof![Just(0), Just(u32::MAX), any::<u32>(), 1u32..100_000];
    (0u8..10, size(), size(), any::<u64>(), any::<u64>(), any::<bool>())
}

fn apply(law: &mut dyn Controller, (kind, a, b, x, y, flag): Happening) {
    let now = Instant::from_nanos(x);
    let loss = LossEvent { now, flight: a, next: y };
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
        ..AckEvent::default()
    };
    match kind {
        0..=3 => law.on_ack(&ack),
        4 => law.on_loss(&loss),
        5 => law.on_rto(&RtoEvent { now, flight: a, backoff: b % 4 }),
        6 => law.on_ecn(&loss),
        7 => law.on_spurious(now),
        8 => law.on_ack_loss(&loss),
        _ => law.on_idle_restart(Duration::from_nanos(y)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn windows_keep_their_floors(
        mss in prop_oneof![1u32..=9_000, Just(u32::MAX)],
        cwnd: u32,
        ssthresh: u32,
        history in prop::collection::vec(happening(), 1..200),
    ) {
        for name in names() {
            let initial = Initial { mss, cwnd, ssthresh, byte_counting: mss % 2 == 0 };
            let mut law = build(&name, initial).expect("listed");
            for event in &history {
                apply(law.as_mut(), *event);
                prop_assert!(law.cwnd() >= mss, "{name}: cwnd {} after {event:?}", law.cwnd());
                if event.0 == 4 {
                    let least = mss.saturating_mul(2);
                    prop_assert!(law.ssthresh() >= least, "{name}: ssthresh {}", law.ssthresh());
                    prop_assert_eq!(law.cwnd(), law.ssthresh(), "{}: after {:?}", name, event);
                }
            }
        }
    }
}
