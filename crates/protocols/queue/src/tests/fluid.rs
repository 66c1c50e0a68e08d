//! Schedulers of hosts against the fluid system that they stand for (generalised processor
//! sharing, Parekh and Gallager 1993), computed in integers.

use crate::testing::Thing;
use crate::{Discipline, DrrConfig, HostConfig, Limit, Spec, Weight, WfqConfig};
use fairwave_units::{BitRate, Instant};
use proptest::prelude::*;
use std::collections::VecDeque;

/// One byte takes one microsecond.
const RATE: BitRate = BitRate(8_000_000);
const LONGEST: u64 = 1500;
/// Parts of a microsecond and of a byte that the fluid is computed in.
const SCALE: u128 = 1 << 40;

/// A packet of a trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// In microseconds.
    pub(super) at: u64,
    pub(super) host: u32,
    pub(super) bytes: u32,
}

pub(super) const fn us(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

pub(super) fn roomy() -> HostConfig {
    let limit = Limit::Packets(1_000_000);
    HostConfig { limit, host_limit: limit, idle_serve: false }
}

fn weight(tenths: u32) -> Weight {
    Weight((u64::from(tenths) * u64::from(Weight::ONE.0) / 10) as u32)
}

/// Weights in tenths, and packets in the order of arrival: about twice what the link carries.
fn trace() -> impl Strategy<Value = (Vec<u32>, Vec<Arrival>)> {
    let weights = prop::collection::vec(prop::sample::select(vec![1, 2, 5, 8, 10]), 2..6);
    weights.prop_flat_map(|weights| {
        let hosts = weights.len() as u32;
        let arrival = (0..1500u64, 0..hosts, 40..=LONGEST as u32);
        let arrivals = prop::collection::vec(arrival, 1..150).prop_map(|gaps| {
            let mut at = 0;
            let arrive = |(gap, host, bytes)| {
                // Bursts: half of the packets come with the one before.
                at += if gap < 750 { 0 } else { gap };
                Arrival { at, host, bytes }
            };
            gaps.into_iter().map(arrive).collect()
        });
        (Just(weights), arrivals)
    })
}

/// When the fluid system has served each packet, in microseconds / [`SCALE`].
fn fluid(weights: &[u32], arrivals: &[Arrival]) -> Vec<u128> {
    let mut finished = vec![0; arrivals.len()];
    let mut queues: Vec<VecDeque<(usize, u128)>> = vec![VecDeque::new(); weights.len()];
    let (mut now, mut next) = (0, 0);
    loop {
        let active = |queues: &[VecDeque<_>]| -> u128 {
            let busy = queues.iter().zip(weights).filter(|(queue, _)| !queue.is_empty());
            busy.map(|(_, &weight)| u128::from(weight)).sum()
        };
        let sum = active(&queues);
        let first = queues.iter().zip(weights).filter_map(|(queue, &weight)| {
            queue.front().map(|&(_, left)| (left * sum).div_ceil(u128::from(weight)))
        });
        let arrival = arrivals.get(next).map(|arrival| u128::from(arrival.at) * SCALE - now);
        let Some(step) = first.chain(arrival).min() else { return finished };
        now += step;
        for (queue, &weight) in queues.iter_mut().zip(weights) {
            let Some((number, left)) = queue.front_mut() else { continue };
            *left = left.saturating_sub(step * u128::from(weight) / sum);
            // Rounding leaves less than a few parts of a byte.
            if *left < 16 {
                finished[*number] = now;
                queue.pop_front();
            }
        }
        while let Some(arrival) = arrivals.get(next)
            && u128::from(arrival.at) * SCALE == now
        {
            queues[arrival.host as usize].push_back((next, u128::from(arrival.bytes) * SCALE));
            next += 1;
        }
    }
}

/// Sends a trace over the link; when the last byte of each packet left, in microseconds.
fn serve(queue: &mut dyn Discipline<Thing>, arrivals: &[Arrival]) -> Vec<u64> {
    let mut left = vec![0; arrivals.len()];
    let (mut free_at, mut next) = (0, 0);
    loop {
        let mut out = None;
        while let Some(&Arrival { at, host, bytes }) = arrivals.get(next)
            && (at <= free_at || queue.is_empty())
            && out.is_none()
        {
            let thing = Thing { id: next as u64, bytes, receiver: host, ..Thing::default() };
            if queue.is_empty() && at >= free_at {
                free_at = at;
                out = queue.pass(us(at), thing);
            } else {
                queue.push(us(at), thing);
            }
            next += 1;
        }
        let Some(thing) = out.or_else(|| queue.pop(us(free_at))) else { return left };
        free_at += u64::from(thing.bytes);
        left[thing.id as usize] = free_at;
    }
}

fn queue(spec: &Spec, weights: &[u32]) -> Box<dyn Discipline<Thing>> {
    let mut queue = spec.build(crate::testing::random());
    for (host, &tenths) in (0..).zip(weights) {
        queue.set_weight(Instant::ZERO, host, weight(tenths));
    }
    queue
}

fn wfq(rate: Option<BitRate>) -> Spec {
    Spec::Wfq(WfqConfig { hosts: roomy(), rate })
}

/// How much later than in the fluid system the latest packet left, in microseconds.
fn lateness(left: &[u64], fluid: &[u128]) -> i64 {
    let late = |(&left, &fluid): (&u64, &u128)| left as i64 - (fluid / SCALE) as i64;
    left.iter().zip(fluid).map(late).max().unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Parekh and Gallager 1993, theorem 1: no packet leaves more than L_max / r later than in
    /// the fluid system.
    #[test]
    fn wfq_is_at_most_a_packet_later_than_the_fluid((weights, arrivals) in trace()) {
        let left = serve(&mut *queue(&wfq(Some(RATE)), &weights), &arrivals);
        let late = lateness(&left, &fluid(&weights, &arrivals));
        prop_assert!(late <= LONGEST as i64 + 1, "{late} us late");
    }

    /// Each host has its share of the rate for sure (Bennett, Zhang 1997, theorem 4).
    #[test]
    fn everybody_has_its_rate((weights, arrivals) in trace()) {
        let behind = |spec: Spec| {
            let left = serve(&mut *queue(&spec, &weights), &arrivals);
            behind(&left, &weights, &arrivals)
        };
        prop_assert!(behind(Spec::Wf2qPlus(roomy())) <= LONGEST as i64 + 1);
        prop_assert!(behind(wfq(Some(RATE))) <= LONGEST as i64 + 1);
        // By the work done, an arrival finds the packet on the link as sent: a packet's time more.
        prop_assert!(behind(wfq(None)) <= 2 * LONGEST as i64 + 1);
    }
}

/// How much later a packet left, at most, than over a link with only its host's share of the
/// rate, in microseconds.
fn behind(left: &[u64], weights: &[u32], arrivals: &[Arrival]) -> i64 {
    let sum: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
    let mut done = vec![0; weights.len()];
    let late = arrivals.iter().zip(left).map(|(arrival, left)| {
        let host = arrival.host as usize;
        let takes = u64::from(arrival.bytes) * 1000 * sum / u64::from(weights[host]);
        done[host] = (arrival.at * 1000).max(done[host]) + takes;
        *left as i64 - (done[host] / 1000) as i64
    });
    late.max().unwrap_or(0)
}

/// What two hosts have got in the same time may differ by so many bytes per weight, in tenths.
type Fairness = fn(u32, u32) -> u64;

/// Bytes per tenth of weight that hosts got, after each packet of a time in which all are
/// backlogged.
fn service(spec: &Spec, weights: &[u32], lens: &[u32]) -> Vec<Vec<u64>> {
    let mut queue = queue(spec, weights);
    let mut id = 0;
    let mut push = |queue: &mut dyn Discipline<Thing>, host: u32| {
        let bytes = lens[id as usize % lens.len()];
        queue.push(Instant::ZERO, Thing { id, bytes, receiver: host, ..Thing::default() });
        id += 1;
    };
    for host in 0..weights.len() as u32 {
        (0..4).for_each(|_| push(&mut *queue, host));
    }
    let mut got = vec![0; weights.len()];
    let one = |queue: &mut dyn Discipline<Thing>, got: &mut Vec<u64>| {
        let thing = queue.pop(Instant::ZERO).expect("all are backlogged");
        got[thing.receiver as usize] += u64::from(thing.bytes);
        thing.receiver
    };
    let mut history = Vec::new();
    for _ in 0..400 {
        let host = one(&mut *queue, &mut got);
        push(&mut *queue, host);
        history.push(got.iter().zip(weights).map(|(&got, &w)| got / u64::from(w)).collect());
    }
    history
}

/// The most by which two backlogged hosts' service per weight differs in any time.
fn is_fair(history: &[Vec<u64>], weights: &[u32], bound: Fairness) -> Result<(), String> {
    for i in 0..weights.len() {
        for j in 0..i {
            let lead = |got: &Vec<u64>| got[i] as i64 - got[j] as i64;
            let maximum = history.iter().map(lead).max().unwrap_or(0);
            let minimum = history.iter().map(lead).min().unwrap_or(0);
            if maximum - minimum > bound(weights[i], weights[j]) as i64 + 2 {
                return Err(format!("hosts {i}, {j} of {weights:?}: {}", maximum - minimum));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// With everybody backlogged: WFQ and WF2Q+ within a packet of each of the two and back, DRR a
    /// quantum more (Shreedhar, Varghese 1995, theorem: quantum + L / w each).
    #[test]
    fn backlogged_hosts_are_served_by_weight(
        weights in prop::collection::vec(1..11u32, 2..6),
        lens in prop::collection::vec(40..=LONGEST as u32, 1..20),
    ) {
        let packets: Fairness = |i, j| 2 * (LONGEST / u64::from(i) + LONGEST / u64::from(j));
        let fair = |spec: Spec, bound| is_fair(&service(&spec, &weights, &lens), &weights, bound);
        prop_assert_eq!(fair(wfq(None), packets), Ok(()));
        prop_assert_eq!(fair(Spec::Wf2qPlus(roomy()), packets), Ok(()));
        let drr = Spec::Drr(DrrConfig { hosts: roomy(), quantum: 1500 });
        let with_quantum: Fairness =
            |i, j| 150 + 2 * (LONGEST / u64::from(i) + LONGEST / u64::from(j));
        prop_assert_eq!(fair(drr, with_quantum), Ok(()));
    }
}
