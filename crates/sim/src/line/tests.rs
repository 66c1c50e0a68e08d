//! Times of packets on wires, and on pipes that go by a clock.

use super::*;
use crate::packet::address;
use fairwave_machine::contract;
use fairwave_queue::Limit;
use fairwave_trace::{FlowId, NodeId};
use fairwave_units::Seed;
use fairwave_wire::datagram::{Datagram, Transport};

fn packet(id: u16) -> Packet {
    let (source, destination) = (NodeId(0), NodeId(1));
    let transport = Transport::Udp { source_port: 1, destination_port: 2 };
    let datagram = Datagram {
        source: address(source),
        destination: address(destination),
        id,
        ttl: 64,
        tos: 0,
        transport,
        payload_len: 1472,
    };
    let (number, sent) = (u32::from(id), Instant::ZERO);
    let via = destination;
    Packet { flow: FlowId(0), source, destination, via, number, sent, datagram, report: 0 }
}

fn line(jitter: Duration, loss: f64, queue: u32) -> Line {
    let link = Link {
        ends: (NodeId(0), NodeId(1)),
        rate: Some(BitRate::mbps(100)),
        delay: Duration::from_millis(100),
        tick: None,
        jitter,
        loss,
        queue: Limit::Packets(queue).into(),
    };
    Line::new(&link, Seed(1).stream("link"))
}

/// Ten packets at once; the arrivals in microseconds and order.
fn arrivals(line: &mut Line) -> Vec<(u64, u16)> {
    let inputs = (0..10).map(|id| (Instant::ZERO, packet(id)));
    let out = contract::check(line, inputs, Instant::from_nanos(1_000_000_000));
    out.iter().map(|(at, p)| (at.as_nanos() / 1000, p.datagram.id)).collect()
}

#[test]
fn packets_are_sent_one_after_another() {
    let got = arrivals(&mut line(Duration::ZERO, 0.0, 100));
    let expected: Vec<_> = (0..10).map(|i| (100_000 + 120 * (u64::from(i) + 1), i)).collect();
    assert_eq!(got, expected);
}

#[test]
fn a_full_queue_drops_at_the_tail() {
    let mut line = line(Duration::ZERO, 0.0, 4);
    let got = arrivals(&mut line);
    assert_eq!(got.iter().map(|a| a.1).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(line.queue.sample().drops[DropCause::QueueFull as usize], 5);
}

#[test]
fn jitter_reorders_and_loses_nothing() {
    let got = arrivals(&mut line(Duration::from_millis(10), 0.0, 100));
    let mut order: Vec<u16> = got.iter().map(|a| a.1).collect();
    assert!(got.is_sorted_by_key(|a| a.0) && !order.is_sorted());
    order.sort_unstable();
    assert_eq!(order, (0..10).collect::<Vec<_>>());
}

#[test]
fn losses_are_counted() {
    let mut line = line(Duration::ZERO, 0.5, 100);
    let got = arrivals(&mut line).len() as u64;
    let lost = line.queue.sample().drops[DropCause::LinkLoss as usize];
    assert_eq!(got + lost, 10);
    assert!(lost > 0 && got > 0);
}

/// A pipe on a kernel clock of 1 ms.
fn pipe(rate: Option<BitRate>, delay_us: u64, queue: u32) -> Line {
    let link = Link {
        ends: (NodeId(0), NodeId(1)),
        rate,
        delay: Duration::from_micros(delay_us),
        tick: Some(Duration::from_millis(1)),
        jitter: Duration::ZERO,
        loss: 0.0,
        queue: Limit::Packets(queue).into(),
    };
    Line::new(&link, Seed(1).stream("pipe"))
}

/// Packets sent at these times, in microseconds; when each came out.
fn out_of(line: &mut Line, sent_us: &[u64]) -> Vec<u64> {
    let at = |us: &u64| Instant::from_nanos(us * 1000);
    let inputs = sent_us.iter().enumerate().map(|(id, us)| (at(us), packet(id as u16)));
    let out = contract::check(line, inputs, Instant::from_nanos(1_000_000_000));
    assert!(out.is_sorted_by_key(|(_, packet)| packet.datagram.id), "{out:?}");
    out.iter().map(|(at, _)| at.as_nanos() / 1000).collect()
}

/// Without a rate: 2.5 ms are three ticks from the tick before the arrival, so that the delay is
/// between two and three; all that came within a tick leaves in one burst.
#[test]
fn a_pipe_without_rate_releases_bursts_at_ticks() {
    let got = out_of(&mut pipe(None, 2_500, 50), &[0, 300, 999, 1_000, 1_001, 4_500]);
    assert_eq!(got, [3_000, 3_000, 3_000, 4_000, 4_000, 7_000]);
}

/// A delay of whole ticks is not rounded; none at all is none.
#[test]
fn a_delay_of_no_ticks_is_none() {
    assert_eq!(out_of(&mut pipe(None, 2_000, 50), &[1_000, 1_999]), [3_000, 3_000]);
    assert_eq!(out_of(&mut pipe(None, 0, 50), &[1_000, 1_999, 2_001]), [1_000, 1_999, 2_001]);
}

/// 1500 bytes take 600 us at 20 Mbps. Credit runs from the tick before the arrival: transmissions
/// end at 0.6, 1.2, 1.8, 2.4 and 3.0 ms, and take effect at the ticks 1, 2, 2, 3 and 3.
#[test]
fn a_pipe_with_a_rate_sends_as_its_credit_allows_at_each_tick() {
    let rate = Some(BitRate::mbps(20));
    let got = out_of(&mut pipe(rate, 1_000, 50), &[100, 100, 100, 100, 100]);
    assert_eq!(got, [2_000, 3_000, 3_000, 4_000, 4_000]);
    // Idle since the third tick, it begins anew: from 5 ms to 5.6 ms, so at the tick 6.
    let got = out_of(&mut pipe(rate, 1_000, 50), &[100, 5_900]);
    assert_eq!(got, [2_000, 7_000]);
}

/// Fifty slots beside the packet in service: of 60 at once 51 pass.
#[test]
fn a_pipe_of_fifty_slots_overflows() {
    let mut pipe = pipe(Some(BitRate::mbps(20)), 1_000, 50);
    assert_eq!(out_of(&mut pipe, &[0; 60]).len(), 51);
    assert_eq!(pipe.queue.sample().drops[DropCause::QueueFull as usize], 9);
}

#[test]
fn a_link_without_a_rate_takes_no_time_and_queues_nothing() {
    let mut line = pipe(None, 100, 1);
    line.tick = None;
    line.delay = Duration::from_micros(100);
    assert_eq!(out_of(&mut line, &[0, 0, 0, 7]), [100, 100, 100, 107]);
}
