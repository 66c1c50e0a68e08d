//! Times of packets on wires, and on pipes that go by a clock.

use super::*;
use crate::packet::address;
use crate::world::{Back, GilbertElliott};
use fairwave_machine::{Named, contract};
use fairwave_queue::{Backlog, CakeConfig, HostConfig, Limit, OwnConfig, Scheduler, Spec, Weight};
use fairwave_trace::{FlowId, NodeId};
use fairwave_units::Seed;
use fairwave_wire::datagram::{Datagram, Transport};
use std::sync::Arc;

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
    Packet {
        flow: FlowId(0),
        source,
        destination,
        via,
        number,
        sent,
        datagram,
        report: 0,
        report_len: 0,
    }
}

/// 100 Mbps and 100 ms.
fn link(jitter: Duration, loss: f64, queue: u32) -> Link {
    Link {
        ends: (NodeId(0), NodeId(1)),
        rate: Some(BitRate::mbps(100)),
        delay: Duration::from_millis(100),
        distribution: DelayDistribution::Fixed,
        tick: None,
        jitter,
        loss: Loss::both(loss),
        back: None,
        queue: Limit::Packets(queue).into(),
        changes: Vec::new(),
    }
}

fn forth(link: &Link) -> Line {
    Line::new(link, 0, streams(Seed(1)))
}

fn back(link: &Link) -> Line {
    Line::new(link, 1, streams(Seed(1)))
}

fn streams(seed: Seed) -> Streams {
    let [random, delays, bursts, queue] =
        ["link", "delay", "bursts", "queue"].map(|name| seed.stream(name));
    Streams { random, delays, bursts, queue }
}

fn line(jitter: Duration, loss: f64, queue: u32) -> Line {
    forth(&link(jitter, loss, queue))
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

/// 10 Mbps before 100 Mbps: packets of 1500 bytes leave every 1.2 ms, and take 0.12 ms.
#[test]
fn a_shaper_spaces_packets_before_a_faster_line() {
    let cake = CakeConfig { rate: Some(BitRate::mbps(10)), ..CakeConfig::of(Limit::Packets(100)) };
    let link = Link { queue: Spec::Cake(cake), ..link(Duration::ZERO, 0.0, 100) };
    let got = arrivals(&mut forth(&link));
    let expected: Vec<_> = (0..10).map(|i| (100_120 + 1200 * u64::from(i), i)).collect();
    assert_eq!(got, expected);
}

/// Holds packets back until `batch` of them wait, or until its deadline, if it has one. A deadline
/// that has passed remains.
#[derive(Clone, Debug)]
struct Batches {
    batch: u32,
    waiting: u32,
    is_released: bool,
    deadline: Option<Instant>,
}

impl Scheduler for Batches {
    fn joined(&mut self, _: Instant, backlog: Backlog, _: u32) {
        self.waiting = backlog.packets;
    }

    fn next(&mut self, now: Instant) -> Option<u32> {
        let is_due = self.deadline == Some(now);
        self.is_released |= is_due || self.waiting >= self.batch;
        (self.is_released && self.waiting > 0).then_some(0)
    }

    fn taken(&mut self, _: Instant, backlog: Backlog, _: u32) {
        self.waiting = backlog.packets;
        self.is_released = backlog.packets > 0;
    }

    fn shed(&mut self, _: Backlog, _: u32) {}

    fn weighed(&mut self, _: Instant, _: Backlog, _: Weight) {}

    fn deadline(&self) -> Option<Instant> {
        self.deadline.filter(|_| !self.is_released)
    }
}

fn batching(batch: u32, deadline_us: Option<u64>) -> Line {
    let deadline = deadline_us.map(|at| Instant::from_nanos(at * 1000));
    let scheduler = Batches { batch, waiting: 0, is_released: false, deadline };
    let make = Arc::new(move || Box::new(scheduler.clone()) as Box<dyn Scheduler>);
    let scheduler = Named::new("batches", make as Arc<fairwave_queue::MakeScheduler>);
    let queue = Spec::Own(OwnConfig { hosts: HostConfig::of(Limit::Packets(100)), scheduler });
    forth(&Link { queue, ..link(Duration::ZERO, 0.0, 100) })
}

/// 1500 bytes take 120 us. The third packet of a batch releases it; the last one waits for ever.
#[test]
fn a_scheduler_may_hold_packets_back_until_another_arrives() {
    let sent = [0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000];
    let got = out_of(&mut batching(3, None), &sent);
    assert_eq!(got, [102_120, 102_240, 102_360, 105_120, 105_240, 105_360]);
    let mut line = batching(3, None);
    assert_eq!(out_of(&mut line, &[0]), []);
    assert_eq!((line.deadline(), line.queue.len()), (None, 1));
}

/// The deadline comes before the batch is complete, or a complete batch before the deadline.
#[test]
fn a_scheduler_may_hold_packets_back_until_a_time() {
    assert_eq!(out_of(&mut batching(3, Some(7_000)), &[0, 1_000]), [107_120, 107_240]);
    assert_eq!(out_of(&mut batching(2, Some(7_000)), &[0, 1_000]), [101_120, 101_240]);
}

/// The line asks again, but at a later time.
#[test]
fn a_deadline_that_has_passed_does_not_stop_time() {
    let mut line = batching(2, Some(0));
    line.handle(Instant::from_nanos(100), packet(0));
    assert_eq!(line.deadline(), Some(Instant::from_nanos(101)));
    line.wake(Instant::from_nanos(101));
    assert_eq!(line.deadline(), Some(Instant::from_nanos(102)));
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

/// 1500 bytes take 120 us at 100 Mbps and 600 us at 20 Mbps. The queue of the way back holds two
/// packets beside the one being sent.
#[test]
fn the_way_back_has_a_rate_a_delay_and_a_queue_of_its_own() {
    let pace = Pace { rate: Some(BitRate::mbps(20)), delay: Duration::from_millis(10) };
    let uplink = Some(Back { pace, queue: Limit::Packets(2).into() });
    let home = Link { back: uplink, ..link(Duration::ZERO, 0.0, 100) };
    assert_eq!(out_of(&mut forth(&home), &[0, 0]), [100_120, 100_240]);
    let mut uplink = back(&home);
    assert_eq!(out_of(&mut uplink, &[0, 0, 0, 0, 0]), [10_600, 11_200, 11_800]);
    assert_eq!(uplink.queue.sample().drops[DropCause::QueueFull as usize], 2);
}

/// A change that names the way back changes that alone: from 1 ms on 1500 bytes take 1200 us
/// there.
#[test]
fn a_change_may_differ_by_direction() {
    let slow = Pace { rate: Some(BitRate::mbps(10)), delay: Duration::from_millis(1) };
    let home = changing(vec![change(1.0, |change| change.back = Some(slow))]);
    assert_eq!(out_of(&mut forth(&home), &[0, 2_000]), [100_120, 102_120]);
    let mut uplink = back(&home);
    assert_eq!(out_of(&mut uplink, &[2_000]), [4_200]);
}

/// A pipe on a kernel clock of 1 ms.
fn pipe(rate: Option<BitRate>, delay_us: u64, queue: u32) -> Line {
    let tick = Some(Duration::from_millis(1));
    let delay = Duration::from_micros(delay_us);
    forth(&Link { rate, delay, tick, ..link(Duration::ZERO, 0.0, queue) })
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

/// Runs of lost and of delivered packets, their mean lengths.
fn mean_runs(fates: &[bool]) -> (f64, f64) {
    let runs = fates.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as f64));
    let mean = |lost: bool| {
        let (count, sum) = runs
            .clone()
            .filter(|(is_lost, _)| *is_lost == lost)
            .fold((0.0, 0.0), |(count, sum), (_, len)| (count + 1.0, sum + len));
        sum / count
    };
    (mean(true), mean(false))
}

/// Losses of 300 000 packets on a link without a rate, in order.
fn fates(link: &Link, way: usize) -> Vec<bool> {
    let mut line = Line::new(link, way, streams(Seed(3)));
    let fate = |_| {
        line.handle(Instant::ZERO, packet(0));
        line.event().is_some()
    };
    (0..300_000).map(fate).collect()
}

/// Runs are geometric with the given means; runs of one are never longer. Back all arrive.
#[test]
fn bursts_are_counted_in_packets_and_by_direction() {
    let lossy = |mean_burst: f64, mean_gap: f64| {
        let chain = GilbertElliott { p: 1.0 / mean_gap, r: 1.0 / mean_burst, good: 0.0, bad: 1.0 };
        let loss = [Loss::Bursts(chain), Loss::Rate(0.0)];
        Link { rate: None, loss, ..link(Duration::ZERO, 0.0, 1) }
    };
    let (burst, gap) = mean_runs(&fates(&lossy(3.0, 50.0), 0));
    assert!((burst / 3.0 - 1.0).abs() < 0.03, "{burst}");
    assert!((gap / 50.0 - 1.0).abs() < 0.03, "{gap}");
    let (burst, gap) = mean_runs(&fates(&lossy(1.0, 50.0), 0));
    assert_eq!(burst, 1.0);
    assert!((gap / 50.0 - 1.0).abs() < 0.03, "{gap}");
    assert!(!fates(&lossy(3.0, 50.0), 1).contains(&true));
}

/// What holds from `ms` on: 100 Mbps and 100 ms but for what `set` does.
fn change(ms: f64, set: impl Fn(&mut Change)) -> Change {
    let at = Instant::ZERO + Duration::from_secs_f64(ms / 1e3);
    let (rate, delay) = (Some(BitRate::mbps(100)), Duration::from_millis(100));
    let mut change = Change { at, rate, delay, back: None, loss: Loss::NONE, is_up: true };
    set(&mut change);
    change
}

fn changing(changes: Vec<Change>) -> Link {
    Link { changes, ..link(Duration::ZERO, 0.0, 100) }
}

/// Arrivals in microseconds, and ids, of packets sent at these times in microseconds.
fn arrivals_of(line: &mut Line, sent_us: &[u64]) -> Vec<(u64, u16)> {
    let at = |us: &u64| Instant::from_nanos(us * 1000);
    let inputs = sent_us.iter().enumerate().map(|(id, us)| (at(us), packet(id as u16)));
    let out = contract::check(line, inputs, Instant::from_nanos(1_000_000_000));
    out.iter().map(|(at, p)| (at.as_nanos() / 1000, p.datagram.id)).collect()
}

/// 1500 bytes take 120 us at 100 Mbps. A quarter of the first has left after 30 us; the other 90
/// us take 900 us at 10 Mbps. The second begins then and takes 1200 us.
#[test]
fn what_is_being_sent_goes_on_at_the_new_rate() {
    let slower = change(0.03, |c| c.rate = Some(BitRate::mbps(10)));
    let got = arrivals_of(&mut forth(&changing(vec![slower])), &[0, 0]);
    assert_eq!(got, [(100_930, 0), (102_130, 1)]);
    // Without a rate all that waits leaves at once.
    let free = change(0.03, |c| c.rate = None);
    let got = arrivals_of(&mut forth(&changing(vec![free])), &[0, 0, 0]);
    assert_eq!(got, [(100_030, 0), (100_030, 1), (100_030, 2)]);
    // What had left is as it was: at 120 us nothing is being sent.
    let late = change(0.12, |c| c.rate = Some(BitRate::mbps(10)));
    assert_eq!(arrivals_of(&mut forth(&changing(vec![late])), &[0, 0])[0], (100_120, 0));
}

/// The delay falls from 100 to 1 ms while the second of three is being sent: that and the third
/// would arrive first on their own, but a wire keeps its order.
#[test]
fn a_delay_that_shrinks_reorders_nothing() {
    let nearer = change(0.2, |c| c.delay = Duration::from_millis(1));
    let got = arrivals_of(&mut forth(&changing(vec![nearer])), &[0, 0, 0, 200_000]);
    assert_eq!(got, [(100_120, 0), (100_120, 1), (100_120, 2), (201_120, 3)]);
    let farther = change(0.2, |c| c.delay = Duration::from_millis(150));
    let got = arrivals_of(&mut forth(&changing(vec![farther])), &[0, 0, 0]);
    assert_eq!(got, [(100_120, 0), (150_240, 1), (150_360, 2)]);
}

/// Down from 0.2 to 0.3 ms, with packets of 120 us sent one after the other: the second is cut
/// off, the third begins while the link is down, the fourth finds it up again; the first, which
/// had left, arrives.
#[test]
fn a_link_that_is_down_loses_what_is_sent_and_what_is_being_sent() {
    let (down, up) = (change(0.2, |c| c.is_up = false), change(0.3, |_| ()));
    let mut line = forth(&changing(vec![down, up]));
    let got = arrivals_of(&mut line, &[0, 0, 0, 0]);
    assert_eq!(got, [(100_120, 0), (100_480, 3)]);
    assert_eq!(line.queue.sample().drops[DropCause::LinkLoss as usize], 2);
}

/// Each direction takes its own share of a change, and from its time on.
#[test]
fn losses_may_begin_and_end() {
    let lossy = change(1.0, |c| c.loss = [Loss::Rate(1.0), Loss::Rate(0.0)]);
    let link = changing(vec![lossy, change(2.0, |_| ())]);
    assert_eq!(
        arrivals_of(&mut forth(&link), &[0, 1_000, 1_999, 2_000]),
        [(100_120, 0), (102_120 + 119, 3)],
        "the third, lost, is being sent until 2.119 ms"
    );
    assert_eq!(arrivals_of(&mut back(&link), &[0, 1_000, 1_999, 2_000]).len(), 4);
}

/// A pipe of 20 Mbps on a clock of 1 ms: the first packet, 600 us, would take effect at 1 ms. After
/// 0.3 ms half of it is left, which takes 3 ms at 2 Mbps: to 3.3 ms, so it does at 4 ms. The second
/// then takes 6 ms, to 9.3 ms.
#[test]
fn a_pipe_changes_between_ticks() {
    let link = Link {
        rate: Some(BitRate::mbps(20)),
        delay: Duration::from_millis(1),
        tick: Some(Duration::from_millis(1)),
        ..changing(vec![change(0.3, |c| {
            (c.rate, c.delay) = (Some(BitRate::mbps(2)), Duration::from_millis(1));
        })])
    };
    assert_eq!(arrivals_of(&mut forth(&link), &[100, 100]), [(5_000, 0), (11_000, 1)]);
}

/// Jitter of what was being sent is drawn once, and lost packets leave no trace.
#[test]
fn a_change_moves_what_is_being_sent_by_as_much_as_it_delays_it() {
    let at_once = |changes| {
        let link = Link { jitter: Duration::from_millis(10), ..changing(changes) };
        arrivals_of(&mut forth(&link), &[0, 0])
    };
    let find = |arrivals: &[(u64, u16)], id| {
        arrivals.iter().find(|arrival| arrival.1 == id).expect("it arrives").0
    };
    let (before, after) =
        (at_once(Vec::new()), at_once(vec![change(0.03, |c| c.rate = Some(BitRate::mbps(10)))]));
    assert_eq!(find(&after, 0) - find(&before, 0), 930 - 120);
    assert_eq!(find(&after, 1) - find(&before, 1), 2_130 - 240);
}

const DRAWN: [DelayDistribution; 2] = [DelayDistribution::Uniform, DelayDistribution::Exponential];

/// Delays in milliseconds of packets sent one every `apart_us`, over a link without a rate whose
/// mean is 100 ms.
fn delays(distribution: DelayDistribution, apart_us: u64, count: u64) -> Vec<f64> {
    let wire = Link { rate: None, distribution, ..link(Duration::ZERO, 0.0, 1) };
    let mut line = forth(&wire);
    let mut all = Vec::new();
    let arrive = |line: &mut Line, until: Instant, all: &mut Vec<f64>| {
        while let Some(at) = line.deadline().filter(|at| *at <= until) {
            line.wake(at);
            while let Some(packet) = line.poll(at) {
                assert_eq!(packet.number as usize, all.len(), "in order");
                let sent = u64::from(packet.number) * apart_us;
                all.push((at.as_nanos() / 1000 - sent) as f64 / 1e3);
            }
        }
    };
    for number in 0..count {
        let now = Instant::from_nanos(number * apart_us * 1000);
        arrive(&mut line, now, &mut all);
        line.handle(now, Packet { number: number as u32, ..packet(0) });
    }
    arrive(&mut line, Instant::MAX, &mut all);
    assert_eq!(all.len() as u64, count);
    all
}

/// Packets so far apart that none waits for the one before it: the mean, and the standard deviation
/// that is the mean over the root of three, or the mean itself.
#[test]
fn a_delay_has_the_mean_and_the_spread_of_its_distribution() {
    for (distribution, expected) in DRAWN.into_iter().zip([100.0 / 3f64.sqrt(), 100.0]) {
        let all = delays(distribution, 5_000_000, 40_000);
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let squares = all.iter().map(|delay| (delay - mean) * (delay - mean)).sum::<f64>();
        let deviation = (squares / all.len() as f64).sqrt();
        assert!((mean - 100.0).abs() < 2.0, "{distribution:?}: mean {mean} ms");
        assert!((deviation / expected - 1.0).abs() < 0.03, "{distribution:?}: {deviation} ms");
        let most = all.iter().copied().fold(0.0, f64::max);
        assert_eq!(most > 200.0, distribution == DelayDistribution::Exponential, "{most} ms");
    }
}

/// Where packets are 20 ms apart many would overtake: they arrive in order, and on average later.
#[test]
fn packets_keep_their_order_whatever_delay_they_draw() {
    for distribution in DRAWN {
        let all = delays(distribution, 20_000, 10_000);
        assert!(all.iter().sum::<f64>() / 10_000.0 > 105.0, "{distribution:?}");
    }
}

/// Draws are the line's own: the two directions differ, and losses are those without them.
#[test]
fn draws_of_delays_move_no_loss() {
    let lossy = |distribution| Link { distribution, rate: None, ..link(Duration::ZERO, 0.3, 1) };
    let [fixed, drawn] = [DelayDistribution::Fixed, DelayDistribution::Exponential].map(lossy);
    assert_eq!(fates(&fixed, 0), fates(&drawn, 0));
}

/// A packet in transmission keeps its draw: its delay has the same share of the new mean.
#[test]
fn a_change_keeps_the_draw_of_what_is_being_sent() {
    let drawn = |delay_ms: u64| {
        let nearer = change(0.06, |c| c.delay = Duration::from_millis(delay_ms));
        let wire = Link { distribution: DelayDistribution::Uniform, ..changing(vec![nearer]) };
        arrivals_of(&mut forth(&wire), &[0])[0].0 - 120
    };
    let (before, after) = (drawn(100), drawn(50));
    assert!(before.abs_diff(2 * after) <= 1, "{before} us of a mean of 100 ms, {after} of 50");
}
