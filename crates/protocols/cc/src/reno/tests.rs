//! Reno and NewReno against sequences derived by hand from RFC 5681. SMSS is 1000 bytes.

use super::*;
use crate::NewReno;

const MSS: u32 = 1000;

/// Steps of a scripted connection, each followed by the expected cwnd and ssthresh in bytes.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many ACKs of one segment each.
    Acks(u32),
    /// One ACK of so many bytes.
    Ack(u32),
    AcksInRecovery(u32),
    AckNotLimited,
    Loss {
        flight: u32,
    },
    Rto {
        flight: u32,
        backoff: u32,
    },
    Mark {
        flight: u32,
    },
    Spurious,
    AckLoss,
    Idle,
}
use Step::*;

#[test]
fn a_life_of_reno() {
    let mut reno = Reno::new(initial(2_000, 8_000));
    let story = [
        // Slow start adds one SMSS per ACK: 2, 4, 8 segments.
        (Acks(2), 4_000, 8_000),
        (Acks(4), 8_000, 8_000),
        // Congestion avoidance: 8 segments acknowledged earn one, then 9 do.
        (Acks(7), 8_000, 8_000),
        (Acks(1), 9_000, 8_000),
        (Acks(9), 10_000, 8_000),
        // ssthresh = max(10000/2, 2000), cwnd = ssthresh; nothing grows in recovery.
        (Loss { flight: 10_000 }, 5_000, 5_000),
        (AcksInRecovery(20), 5_000, 5_000),
        (Acks(5), 6_000, 5_000),
        // First expiry lowers ssthresh to 3000, LW is one SMSS; the second lowers cwnd only.
        (Rto { flight: 6_000, backoff: 1 }, 1_000, 3_000),
        (Rto { flight: 1_000, backoff: 2 }, 1_000, 3_000),
        (Acks(2), 3_000, 3_000),
        (Acks(3), 4_000, 3_000),
    ];
    play(&mut reno, &story);
    let mut newreno = NewReno::new(initial(2_000, 8_000));
    play(&mut newreno, &story);
    assert_eq!((reno.recovery(), newreno.recovery()), (Recovery::Reno, Recovery::NewReno));
}

#[test]
fn flight_size_not_cwnd_is_halved_and_never_below_two_segments() {
    play(
        &mut Reno::new(initial(20_000, u32::MAX)),
        &[
            (Loss { flight: 8_000 }, 4_000, 4_000),
            (Loss { flight: 3_000 }, 2_000, 2_000),
            (Rto { flight: 1_000, backoff: 1 }, 1_000, 2_000),
        ],
    );
}

#[test]
fn a_stretch_ack_adds_one_segment_in_slow_start_and_its_bytes_in_avoidance() {
    play(
        &mut Reno::new(initial(4_000, 6_000)),
        &[
            (Ack(4_000), 5_000, 6_000),
            (Ack(300), 5_300, 6_000),
            (Ack(2_000), 6_300, 6_000),
            // 6300 bytes earn one segment, in however many ACKs.
            (Ack(6_299), 6_300, 6_000),
            (Ack(1), 7_300, 6_000),
        ],
    );
    // L = 2 makes up for a delayed ACK.
    let mut reno = Reno::new(Initial { slow_start_segments: 2, ..initial(4_000, u32::MAX) });
    play(&mut reno, &[(Ack(4_000), 6_000, u32::MAX)]);
}

#[test]
fn an_application_limited_window_does_not_grow() {
    play(&mut Reno::new(initial(4_000, u32::MAX)), &[(AckNotLimited, 4_000, u32::MAX)]);
}

#[test]
fn idle_falls_back_to_the_initial_window_and_no_further() {
    play(
        &mut Reno::new(initial(3_000, 4_000)),
        &[
            (Acks(1), 4_000, 4_000),
            (Idle, 3_000, 4_000),
            (Rto { flight: 3_000, backoff: 1 }, 1_000, 2_000),
            (Idle, 1_000, 2_000),
        ],
    );
}

#[test]
fn a_spurious_timeout_is_undone_once() {
    play(
        &mut Reno::new(initial(10_000, 20_000)),
        &[
            (Rto { flight: 10_000, backoff: 1 }, 1_000, 5_000),
            (Rto { flight: 1_000, backoff: 2 }, 1_000, 5_000),
            (Spurious, 10_000, 20_000),
            (Spurious, 10_000, 20_000),
        ],
    );
}

#[test]
fn marks_and_losses_of_one_window_lower_it_once() {
    play(
        &mut Reno::new(initial(10_000, u32::MAX)),
        &[
            (Mark { flight: 10_000 }, 5_000, 5_000),
            (Mark { flight: 10_000 }, 5_000, 5_000),
            (Loss { flight: 10_000 }, 5_000, 5_000),
            (Mark { flight: 5_000 }, 5_000, 5_000),
            // The loss lowered nothing: there is nothing to undo.
            (Spurious, 5_000, 5_000),
        ],
    );
}

#[test]
fn a_lost_ack_halves_the_window_but_never_raises_it() {
    play(
        &mut Reno::new(initial(10_000, u32::MAX)),
        &[
            (AckLoss, 5_000, 5_000),
            (Acks(5), 6_000, 5_000),
            (AckLoss, 3_000, 3_000),
            (AckLoss, 2_000, 2_000),
            (Rto { flight: 2_000, backoff: 1 }, 1_000, 2_000),
            (AckLoss, 1_000, 2_000),
        ],
    );
}

fn initial(cwnd: u32, ssthresh: u32) -> Initial {
    Initial {
        mss: MSS,
        cwnd,
        ssthresh,
        byte_counting: true,
        slow_start_segments: 1,
        av: crate::TcpAvConfig::DEFAULT,
        ack_loss: crate::AckLossOptions::DEFAULT,
    }
}

fn play(algorithm: &mut dyn Controller, story: &[(Step, u32, u32)]) {
    for (n, (step, cwnd, ssthresh)) in story.iter().enumerate() {
        act(algorithm, *step);
        assert_eq!(
            (algorithm.cwnd(), algorithm.ssthresh()),
            (*cwnd, *ssthresh),
            "after step {n}, {step:?}"
        );
    }
}

fn act(algorithm: &mut dyn Controller, step: Step) {
    let now = Instant::ZERO;
    let loss = |flight| LossEvent { now, flight, una: 0, next: 100_000 };
    match step {
        Acks(n) => (0..n).for_each(|_| algorithm.on_ack(&ack(MSS))),
        Ack(bytes) => algorithm.on_ack(&ack(bytes)),
        AcksInRecovery(n) => {
            (0..n).for_each(|_| algorithm.on_ack(&AckEvent { in_recovery: true, ..ack(MSS) }));
        }
        AckNotLimited => algorithm.on_ack(&AckEvent { cwnd_limited: false, ..ack(MSS) }),
        Loss { flight } => algorithm.on_loss(&loss(flight)),
        Mark { flight } => algorithm.on_ecn(&loss(flight)),
        Rto { flight, backoff } => {
            let keeps_ssthresh = false;
            algorithm.on_rto(&RtoEvent { now, flight, backoff, keeps_ssthresh });
        }
        Spurious => algorithm.on_spurious(now),
        AckLoss => algorithm.on_ack_loss(&loss(0), Fraction::WHOLE),
        Idle => algorithm.on_idle_restart(Duration::from_secs(5)),
    }
}

/// An ACK below the end of any window that was reduced here.
fn ack(acked: u32) -> AckEvent {
    AckEvent {
        now: Instant::ZERO,
        acked,
        sacked: 0,
        una: 50_000,
        next: 100_000,
        flight: 50_000,
        rtt: None,
        in_recovery: false,
        cwnd_limited: true,
        covers_retransmission: false,
        echo_gap: None,
        ..AckEvent::default()
    }
}
