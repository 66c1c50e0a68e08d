//! Flows of DCCP by the code of `fairwave dccp` on the loopback interface.

use crate::traffic::{UNTIL_DONE, V4, V6, only, run, spec};
use fairwave_dccp::Ccid;
use fairwave_emulator::traffic::{Dccp, KernelFlow, Load, Spec, Timing};
use fairwave_sim::world::DccpFlow;
use fairwave_traffic::{Emission, Source, Trace};
use fairwave_units::{Duration, Instant, Seed};

fn flow(ccid: Ccid, source: Option<Source>) -> DccpFlow {
    DccpFlow {
        ccid,
        profile: Default::default(),
        first_interval: None,
        remedies: Default::default(),
        source,
        payload_bytes: 1000,
        send_queue: 5,
        send_within: None,
        sequence_window: 1000,
    }
}

fn load(flow: DccpFlow) -> Load {
    Load::Dccp(Box::new(Dccp { flow, random: Seed(1).stream("dccp") }))
}

/// So many datagrams of 160 bytes, one every 5 ms.
fn call(count: u64) -> Source {
    let emission = |i| Emission { at: Duration::from_millis(5 * i), bytes: 160 };
    Source::Trace(Trace { emissions: (0..count).map(emission).collect(), repeat_every: None })
}

/// The flow stops after this time.
fn until(ms: u64, spec: Spec) -> Spec {
    Spec { stop: Some(Instant::ZERO + Duration::from_millis(ms)), ..spec }
}

#[test]
fn a_call_arrives_over_both_versions_of_ip_and_ends_in_order() {
    for address in [V4, V6] {
        // CCID 2 sends what it has; TFRC begins with less than the call needs.
        let called = spec(0, address, load(flow(Ccid::TCP_LIKE, Some(call(40)))));
        let KernelFlow { outcome, failure, .. } = only(run(vec![until(1_000, called)], UNTIL_DONE));
        assert_eq!(failure, None, "{address}");
        let datagrams = outcome.datagrams.expect("it has some");
        assert!(datagrams.received > 0, "{address}");
        let at_end = outcome.at_end;
        // Statistics begin with the end of the warm-up, when the first may have arrived already.
        let arrived = at_end.delivered_bytes / 160;
        assert_eq!(at_end.delivered_bytes, 160 * arrived, "{address}");
        assert!((datagrams.received..=40).contains(&arrived), "{address}: {arrived}");
        assert!(at_end.sent_packets >= datagrams.received && at_end.acks_sent > 0, "{address}");
        assert!(at_end.srtt.is_some() && outcome.delay.is_some(), "{address}");
    }
}

#[test]
fn a_source_without_times_sends_as_tfrc_allows_until_it_stops() {
    let endless = spec(0, V4, load(flow(Ccid::TFRC, None)));
    let KernelFlow { outcome, failure, .. } = only(run(vec![until(500, endless)], UNTIL_DONE));
    assert_eq!(failure, None);
    let datagrams = outcome.datagrams.expect("it has some");
    // The first two or so go out before any feedback.
    assert!(datagrams.received > 10, "{datagrams:?}");
    let rate = outcome.at_end.rate.expect("TFRC has a rate");
    assert!(rate.allowed.0 > 0, "{rate:?}");
}

#[test]
fn a_flow_that_the_run_interrupts_counts_what_it_has_had() {
    let ms = Duration::from_millis;
    let timing = Timing { duration: ms(400), bins: Some(ms(100)), ..UNTIL_DONE };
    let endless = spec(0, V4, load(flow(Ccid::TFRC, None)));
    let KernelFlow { outcome, failure, .. } = only(run(vec![endless], timing));
    assert_eq!((failure, outcome.bins.len()), (None, 4));
    assert!(outcome.bins.iter().sum::<u64>() <= outcome.at_end.delivered_bytes);
}
