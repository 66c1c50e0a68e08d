//! Flows of datagrams and of web pages through a whole world.

use crate::common::{AP, flow, server, tcp, uploads, world};
use fairwave_dot11::Standard;
use fairwave_dot11::channel::ErrorModel;
use fairwave_queue::Limit;
use fairwave_sim::world::{Loss, Page, Source, TcpFlow, Traffic, WebFlow, World};
use fairwave_sim::{Outcome, run};
use fairwave_trace::{Discard, Kind, NodeId, Sample, Sink};
use fairwave_traffic::{Objects, OnOff, Size};
use fairwave_units::{BitRate, Bytes, Duration, Instant};

fn simulate(world: &World) -> Outcome {
    run(world, &mut Discard, &mut |_| {}).expect("the world is right")
}

/// An idle link of 1 Mbps and 10 ms.
fn wired() -> World {
    let mut world = world(Standard::A, 54, 1, Duration::from_millis(10));
    world.links[0].rate = Some(BitRate::mbps(1));
    world.warm_up = Duration::ZERO;
    world
}

fn cbr(payload_bytes: u32, interval: Duration) -> Traffic {
    Traffic::Datagrams(Source::Cbr { payload_bytes, interval })
}

/// 972 + 28 bytes at 1 Mbps take 8 ms; 10 ms of propagation follow.
#[test]
fn a_lone_datagram_takes_transmission_and_propagation() {
    let mut world = wired();
    world.flows = vec![flow("d", server(&world), AP, cbr(972, Duration::from_millis(20)))];
    let outcome = simulate(&world);
    let seen = outcome.flows[0].datagrams.expect("a datagram flow");
    let delay = outcome.flows[0].delay.expect("some arrived");
    assert_eq!((delay.least, delay.most), (Duration::from_millis(18), Duration::from_millis(18)));
    assert_eq!((seen.lost, seen.jitter), (0, Duration::ZERO));
    // From 0 to 20 s inclusive, but for the one under way at the end.
    assert_eq!((outcome.flows[0].at_end.sent_packets, seen.received), (1_001, 1_000));
}

/// One segment of 1000 bytes with at least 40 bytes of headers, and at most 20 of options, at 1
/// Mbps and 10 ms.
#[test]
fn a_lone_segment_of_tcp_takes_transmission_and_propagation() {
    let mut world = wired();
    let tcp = TcpFlow { size: Some(Bytes(1_000)), ..tcp("newreno", 1) };
    world.flows = vec![flow("d", server(&world), AP, Traffic::Tcp(tcp))];
    let delay = simulate(&world).flows[0].delay.expect("it arrived");
    assert_eq!((delay.count, delay.least), (1, delay.most));
    let expected = Duration::from_micros(18_320)..=Duration::from_micros(18_480);
    assert!(expected.contains(&delay.most), "{}", delay.most);
}

/// A tenth of the segments is lost, and those behind wait at the receiver for a retransmission.
/// Their delays end when they are in order, each counts once, and from when it first left.
#[test]
fn a_lost_segment_delays_those_behind_it() {
    let mut world = wired();
    let tcp = TcpFlow { size: Some(Bytes(100_000)), ..tcp("newreno", 1) };
    world.flows = vec![flow("d", server(&world), AP, Traffic::Tcp(tcp))];
    let alone = simulate(&world).flows.remove(0);
    world.links[0].loss = Loss::both(0.1);
    let lossy = simulate(&world).flows.remove(0);
    assert!(lossy.at_end.retransmissions > 0 && lossy.completed.is_some());
    let (alone, lossy) = (alone.delay.expect("it arrived"), lossy.delay.expect("it arrived"));
    assert_eq!(alone.count, lossy.count, "retransmissions are no deliveries");
    assert!(lossy.most > alone.most + Duration::from_millis(200), "{} {}", lossy.most, alone.most);
}

/// Wants one kind of samples, and counts them.
struct Only(Kind, u64);

impl Sink for Only {
    fn wants(&self, kind: Kind) -> bool {
        kind == self.0
    }

    fn record(&mut self, _: Instant, sample: &Sample) {
        let kind = match sample {
            Sample::Flow(..) => Kind::Flow,
            Sample::Pair(..) => Kind::Pair,
            Sample::Delay(..) | Sample::DelayBin(..) => Kind::Delay,
            other => panic!("{other:?}"),
        };
        assert_eq!(kind, self.0);
        self.1 += 1;
    }
}

/// 200 intervals of 100 ms. The access point and the station send to each other; after the
/// warm-up, 2 s of bins are at least one.
#[test]
fn samples_that_nobody_wants_are_not_made() {
    let mut world = world(Standard::A, 54, 1, Duration::from_millis(10));
    world.flows = vec![flow("d", server(&world), NodeId(1), cbr(100, Duration::from_millis(20)))];
    let made = |kind| {
        let mut only = Only(kind, 0);
        run(&world, &mut only, &mut |_| {}).expect("the world is right");
        only.1
    };
    assert_eq!(made(Kind::Flow), 200);
    // To each other, and the access point's beacons once there was one.
    assert!((399..=600).contains(&made(Kind::Pair)), "{}", made(Kind::Pair));
    assert!(made(Kind::Delay) > 200, "{}", made(Kind::Delay));
}

/// Twice the rate of the link: the queue of ten is full, half is lost, and what arrives has
/// waited for ten datagrams of 8 ms.
#[test]
fn what_a_full_queue_drops_is_missing_at_the_receiver() {
    let mut world = wired();
    world.links[0].queue = Limit::Packets(10).into();
    world.warm_up = Duration::from_secs(2);
    world.flows = vec![flow("d", server(&world), AP, cbr(972, Duration::from_millis(4)))];
    let outcome = simulate(&world);
    let seen = outcome.flows[0].datagrams.expect("a datagram flow");
    assert!(seen.received.abs_diff(18_000 / 8) <= 1, "{seen:?}");
    assert!(seen.lost.abs_diff(18_000 / 8) <= 2, "{seen:?}");
    let median = outcome.flows[0].delay.expect("some arrived").median.as_secs_f64();
    assert!((median - 0.096).abs() < 0.006, "{median} s");
}

/// Uniform jitter of 0 to 8 ms on the link: the mean difference of two delays is 8/3 ms.
#[test]
fn jitter_of_the_link_is_seen() {
    let mut world = wired();
    world.links[0].jitter = Duration::from_millis(8);
    world.duration = Duration::from_secs(200);
    world.flows = vec![flow("d", server(&world), AP, cbr(100, Duration::from_millis(20)))];
    let jitter = simulate(&world).flows[0].datagrams.expect("a datagram flow").jitter;
    assert!((jitter.as_secs_f64() * 1e3 - 2.67).abs() < 1.2, "{jitter}");
}

/// Voice of G.711 in the mean: 160 B / (1 - e^(-20 / 1004)) each 2.591 s.
#[test]
fn voice_arrives_with_its_mean_rate() {
    let mut world = wired();
    world.duration = Duration::from_secs(4_000);
    let voice = OnOff::voice(160, Duration::from_millis(20));
    world.flows = vec![flow("call", server(&world), AP, Traffic::Datagrams(Source::OnOff(voice)))];
    let got = simulate(&world).flows[0].goodput.0 as f64;
    assert!((got / 25_048.0 - 1.0).abs() < 0.05, "{got}");
}

/// Five uploads fill the cell: a call over it waits its turn, which alone it had at once.
#[test]
fn a_call_waits_beside_uploads() {
    let median = |beside: bool| {
        let mut cell = world(Standard::A, 54, 6, Duration::from_millis(1));
        if beside {
            cell = uploads(cell, &tcp("newreno", 2));
            cell.flows.truncate(5);
        }
        let voice = Source::OnOff(OnOff::voice(160, Duration::from_millis(20)));
        let server = server(&cell);
        cell.flows.push(flow("call", NodeId(6), server, Traffic::Datagrams(voice)));
        let call = simulate(&cell).flows.pop().expect("the call");
        let seen = call.datagrams.expect("datagrams");
        assert!(seen.lost < 5, "{seen:?}");
        call.delay.expect("some arrived").median.as_secs_f64() * 1e3
    };
    let (alone, beside) = (median(false), median(true));
    assert!(alone < 1.3 && beside > alone + 0.5, "{alone} ms and {beside} ms");
}

#[test]
fn a_stopped_source_sends_no_more() {
    let mut world = wired();
    let mut stopped = flow("d", server(&world), AP, cbr(100, Duration::from_millis(10)));
    (stopped.start, stopped.stop) =
        (Instant::from_nanos(1_000_000_000), Some(Instant::from_nanos(2_000_000_000)));
    world.flows = vec![stopped];
    assert_eq!(simulate(&world).flows[0].at_end.sent_packets, 100);
}

/// Pages of one main and four embedded objects of 14 600 bytes, read for a second each.
fn web(connections: u32) -> Traffic {
    let page = Page {
        main: Size::Constant(14_600),
        embedded: Size::Constant(14_600),
        objects: Objects::Constant(4),
        reading: Duration::from_secs(1),
        parsing: Duration::from_millis(100),
        request_bytes: 350,
        connections,
    };
    Traffic::Web(WebFlow { tcp: tcp("newreno", 2), page })
}

fn browse(traffic: Traffic, change: impl Fn(&mut World)) -> Outcome {
    let mut world = world(Standard::A, 54, 1, Duration::from_millis(50));
    (world.duration, world.warm_up) = (Duration::from_secs(600), Duration::ZERO);
    world.flows = vec![flow("user", server(&world), NodeId(1), traffic)];
    change(&mut world);
    simulate(&world)
}

/// In round trips of 100 ms: the main object takes one for SYN and three for windows of 3, 6 and
/// 1 segments. Over one connection each of the others takes one more, its window being open; four
/// connections, of which three are new, take four at once. Parsing is 100 ms in the mean.
#[test]
fn pages_arrive_whole_and_more_connections_make_them_faster() {
    let mean_page = |connections| {
        let outcome = browse(web(connections), |_| {});
        let flow = &outcome.flows[0];
        let seen = flow.web.expect("a web flow");
        let (pages, objects) = (seen.pages.expect("pages"), seen.objects.expect("objects"));
        assert!(objects.count - 5 * pages.count <= 5, "{seen:?}");
        // What is delivered are whole objects and a part of the last ones.
        assert!(flow.at_end.delivered_bytes >= objects.count * 14_600);
        assert!(flow.at_end.delivered_bytes < (objects.count + 6) * 14_600);
        // Each page reads for a second in the mean.
        let rounds = 600.0 / (1.0 + pages.mean.as_secs_f64());
        assert!((pages.count as f64 / rounds - 1.0).abs() < 0.15, "{seen:?}");
        assert!((0.35..0.5).contains(&objects.most.as_secs_f64()), "{objects:?}");
        pages.mean.as_secs_f64()
    };
    let (one, four) = (mean_page(1), mean_page(4));
    assert!((0.9..1.1).contains(&one), "{one} s");
    assert!((0.87..0.97).contains(&four), "{four} s");
}

/// Half of the frames and a tenth of the packets on the link are lost: users wait, but go on.
#[test]
fn a_user_survives_losses() {
    let outcome = browse(web(4), |world| {
        world.cells[0].errors = ErrorModel::Rate { data: 0.5, control: 0.2 };
        world.links[0].loss = Loss::both(0.1);
    });
    let seen = outcome.flows[0].web.expect("a web flow");
    assert!(seen.pages.expect("pages").count > 20, "{seen:?}");
    assert!(outcome.flows[0].at_end.retransmissions > 100);
}

/// Connections that give up after one silence lose their objects, and the user goes on.
#[test]
fn lost_objects_do_not_stop_a_user() {
    let mut traffic = web(2);
    if let Traffic::Web(web) = &mut traffic {
        (web.tcp.sender.max_retries, web.tcp.receiver.max_retries) = (1, 1);
    }
    let outcome = browse(traffic, |world| world.links[0].loss = Loss::both(0.4));
    let seen = outcome.flows[0].web.expect("a web flow");
    assert!(seen.objects_lost > 20 && seen.pages.expect("pages").count > 20, "{seen:?}");
}

/// A user who stops finishes the page; nothing is left to do afterwards but to leave TIME-WAIT.
#[test]
fn a_user_who_stops_leaves_no_events() {
    let outcome = browse(web(2), |world| {
        world.duration = Duration::from_secs(86_400);
        world.cells[0].beacon_interval = None;
        world.flows[0].stop = Some(Instant::from_nanos(10_000_000_000));
    });
    assert!(outcome.events < 20_000, "{}", outcome.events);
    assert!(outcome.flows[0].web.is_some_and(|seen| seen.pages.is_some()));
}
