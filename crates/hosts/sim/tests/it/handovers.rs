//! Handovers at awkward moments: long absences, and access points that keep a queue full.

use crate::common::{self, AP, flow, world};
use crate::outside::{simulation, taken};
use fairwave_dot11::{AccessCategory, Edca, Phy, Standard};
use fairwave_queue::{Limit, Spec, Weight, WfqConfig};
use fairwave_sim::world::{BySignal, Flow, Handover, Link, Node, Opening, Path, Proxy, Radio};
use fairwave_sim::world::{LinkMonitor, Monitor, Roaming};
use fairwave_sim::world::{SaturateFlow, Source, Traffic, WayPoint, World};
use fairwave_sim::{Command, OutsidePacket, run};
use fairwave_trace::{DropCause, Kind, NodeId, Sample, Sink};
use fairwave_units::{Db, Duration, Instant, Metres};

const STATION: NodeId = NodeId(1);
const SERVER: NodeId = NodeId(2);
const SECOND_AP: NodeId = NodeId(3);

fn secs(secs: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(secs)
}

/// Two access points 60 m apart on channels of their own, both joined to the server, and a
/// station in the middle.
fn two_cells(roaming: Roaming) -> World {
    let mut world = world(Standard::A, 6, 1, Duration::ZERO);
    (world.duration, world.warm_up) = (Duration::from_secs(6), Duration::ZERO);
    let first = world.nodes[0].radio.clone().expect("the access point");
    let second = Radio { cell: 1, position: (Metres(60.0), Metres(0.0)), ..first };
    world.cells.push(world.cells[0].clone());
    world.nodes.push(Node { name: "ap2".into(), radio: Some(second) });
    let link = world.links[0].clone();
    world.links.push(Link { ends: (SECOND_AP, SERVER), ..link });
    let station = world.nodes[1].radio.as_mut().expect("the station");
    station.position = (Metres(30.0), Metres(0.0));
    station.mode = Phy::new(Standard::A).lowest_mode();
    station.roaming = Some(Roaming { candidates: vec![AP, SECOND_AP], hold: 50, ..roaming });
    world
}

fn goes(at: f64, to: NodeId) -> Handover {
    Handover { at: secs(at), to, disconnection: Duration::from_millis(300) }
}

/// Times of samples, in the order in which they were recorded.
#[derive(Default)]
struct Times(Vec<Instant>);

impl Sink for Times {
    fn wants(&self, kind: Kind) -> bool {
        kind == Kind::Flow || kind == Kind::Association
    }

    fn record(&mut self, at: Instant, _: &Sample) {
        self.0.push(at);
    }
}

/// A station that is away for longer than it takes to compare levels again.
#[test]
fn time_goes_on_after_a_long_absence() {
    let by_signal = BySignal {
        hysteresis: Db(3.0),
        dwell: Duration::ZERO,
        disconnection: Duration::from_millis(730),
    };
    let mut world = two_cells(Roaming { by_signal: Some(by_signal), ..Roaming::default() });
    world.sample_every = Duration::from_millis(10);
    let point = |s, x| WayPoint { at: secs(s), position: (Metres(x), Metres(0.0)) };
    let station = world.nodes[1].radio.as_mut().expect("the station");
    station.path = Path::new(vec![point(0.0, 1.0), point(6.0, 60.0)]);
    world.flows = vec![flow("down", SERVER, STATION, cbr(200, 10))];
    let mut seen = Times::default();
    let outcome = run(&world, &mut seen, &mut |_| {}).expect("the world is right");
    assert!(seen.0.is_sorted(), "time went back");
    let silence = outcome.flows[0].longest_silence.as_secs_f64();
    assert!((0.72..0.75).contains(&silence), "{silence} s");
}

fn cbr(payload_bytes: u32, millis: u64) -> Traffic {
    Traffic::Datagrams(Source::Cbr { payload_bytes, interval: Duration::from_millis(millis) })
}

fn saturating_from(source: NodeId, start: f64, handovers: Vec<Handover>) -> f64 {
    let mut world = two_cells(Roaming { handovers, ..Roaming::default() });
    let traffic = Traffic::Saturate(SaturateFlow { payload_bytes: 1000 });
    world.flows = vec![Flow { start: secs(start), ..flow("down", source, STATION, traffic) }];
    let outcome = run(&world, &mut fairwave_trace::Discard, &mut |_| {});
    outcome.expect("the world is right").flows[0].goodput.as_mbps_f64()
}

/// An access point that keeps its queue full for a station sends to it as long as that is here:
/// for 2 s and 1.7 s of 6 s.
#[test]
fn a_saturating_access_point_pauses_while_its_station_is_elsewhere() {
    let always = saturating_from(AP, 0.0, vec![]);
    let there_and_back = vec![goes(2.0, SECOND_AP), goes(4.0, AP)];
    let share = saturating_from(AP, 0.0, there_and_back) / always;
    assert!((share - 3.7 / 6.0).abs() < 0.03, "{share} of {always}");
    // It starts while the station is elsewhere, which is so until 4.3 s.
    let late = saturating_from(AP, 3.0, vec![goes(2.0, SECOND_AP), goes(4.0, AP)]) / always;
    assert!((late - 1.7 / 6.0).abs() < 0.03, "{late} of {always}");
}

/// What a station without weight was not sent, its next access point sends it.
#[test]
fn packets_of_a_weightless_station_follow_it() {
    let mut world =
        two_cells(Roaming { handovers: vec![goes(2.0, SECOND_AP)], ..Roaming::default() });
    let wfq = Spec::Wfq(WfqConfig::of(Limit::Packets(100)));
    world.nodes[0].radio.as_mut().expect("the access point").queue = wfq;
    let mut sink = fairwave_trace::Discard;
    let mut simulation = simulation(&world, &mut sink);
    let weight = Command::Weight { ap: AP, station: STATION, weight: Weight::ZERO };
    simulation.command(&weight, secs(0.5)).expect("it knows weights");
    for handle in 0..10 {
        let category = AccessCategory::BestEffort;
        let packet = OutsidePacket::opaque(handle, SERVER, STATION, category, (7, 8), 1000);
        simulation.inject(&packet, secs(1.0)).expect("there is a way");
    }
    simulation.advance_to(secs(2.0));
    assert!(taken(&mut simulation).is_empty());
    simulation.advance_to(secs(4.0));
    assert_eq!(taken(&mut simulation).len(), 10);
}

/// The other access point sends by way of the server at the rate of its link, and over its own
/// radio while the station is with it.
#[test]
fn a_saturating_access_point_sends_on_when_its_station_comes() {
    let came = saturating_from(SECOND_AP, 0.0, vec![goes(2.0, SECOND_AP)]);
    let always = saturating_from(AP, 0.0, vec![]);
    assert!((came / always - 5.7 / 6.0).abs() < 0.05, "{came} of {always}");
}

/// What waited at a station when it went over goes first, and aggregated as all else: nothing of
/// it waits for what came later.
#[test]
fn what_waited_before_a_handover_goes_first() {
    let handover = Handover { at: secs(2.0), to: SECOND_AP, disconnection: Duration::ZERO };
    let max_delay = |handovers| {
        let mut world = two_cells(Roaming { handovers, ..Roaming::default() });
        world.cells.fill(common::cell(Standard::N));
        let mode = Phy::new(Standard::N).modes(1)[7];
        for radio in world.nodes.iter_mut().filter_map(|node| node.radio.as_mut()) {
            radio.mode = mode;
            radio.position = (Metres(radio.position.0.0 / 10.0), radio.position.1);
        }
        world.flows = vec![flow(
            "up",
            STATION,
            SERVER,
            Traffic::Saturate(SaturateFlow { payload_bytes: 1000 }),
        )];
        let outcome = run(&world, &mut fairwave_trace::Discard, &mut |_| {});
        let flow = outcome.expect("the world is right").flows.remove(0);
        flow.delay.expect("some arrived").most.as_secs_f64()
    };
    let (stays, goes) = (max_delay(vec![]), max_delay(vec![handover]));
    assert!(goes < 1.5 * stays, "{goes} s instead of {stays} s");
}

/// Frames of A-MPDUs that the station sends.
#[derive(Default)]
struct Aggregated(Vec<Instant>);

impl Sink for Aggregated {
    fn wants(&self, kind: Kind) -> bool {
        kind == Kind::Frame
    }

    fn record(&mut self, at: Instant, sample: &Sample) {
        if let Sample::Frame(frame) = sample
            && frame.transmitter == STATION
            && frame.place.is_some_and(|place| place.is_ampdu && !place.is_alone)
        {
            self.0.push(at);
        }
    }
}

/// Frames of an A-MPDU that a station takes along to a cell without aggregation are given to its
/// radio one by one, however many other categories are free.
#[test]
fn frames_taken_along_wait_for_their_own_category() {
    let handover = Handover { at: secs(2.0), to: SECOND_AP, disconnection: Duration::ZERO };
    let mut world = two_cells(Roaming { handovers: vec![handover], ..Roaming::default() });
    let mut cell = common::cell(Standard::N);
    cell.edca = Some(Edca::defaults(cell.phy));
    world.cells.fill(cell);
    world.cells[1].aggregation = None;
    let mode = Phy::new(Standard::N).modes(1)[7];
    for radio in world.nodes.iter_mut().filter_map(|node| node.radio.as_mut()) {
        radio.mode = mode;
        radio.position = (Metres(radio.position.0.0 / 10.0), radio.position.1);
    }
    let traffic = Traffic::Saturate(SaturateFlow { payload_bytes: 1000 });
    world.flows = vec![flow("up", STATION, SERVER, traffic)];
    let mut seen = Aggregated::default();
    run(&world, &mut seen, &mut |_| {}).expect("the world is right");
    assert!(!seen.0.is_empty(), "the first cell aggregates");
    let late = seen.0.iter().filter(|at| **at > secs(2.1)).count();
    assert_eq!(late, 0, "the second does not");
}

/// A station on another channel has another number there, which a monitor's channel may not have.
#[test]
fn a_monitor_reads_nothing_of_a_station_that_has_roamed() {
    let mut world =
        two_cells(Roaming { handovers: vec![goes(2.0, SECOND_AP)], ..Roaming::default() });
    let neighbour = world.nodes[3].radio.clone().expect("the second access point");
    for name in ["sta2", "sta3"] {
        let role = fairwave_sim::world::Role::Station { ap: SECOND_AP };
        let radio = Some(Radio { role, ..neighbour.clone() });
        world.nodes.push(Node { name: name.into(), radio });
    }
    let monitor = Monitor::Level { threshold: Db(12.0), every: Duration::from_millis(10) };
    world.monitors = vec![LinkMonitor { ap: AP, monitor }];
    world.flows = vec![flow("down", SERVER, STATION, cbr(200, 10))];
    let outcome = run(&world, &mut fairwave_trace::Discard, &mut |_| {});
    let silence = outcome.expect("the world is right").flows[0].longest_silence;
    assert!(silence < Duration::from_millis(400), "{silence}");
}

/// A proxy at the first access point, by which the second is reached too. What is held there for
/// the station has passed the proxy, and does not pass it again on its way to the second: the
/// proxy would take it for data of the other connection. Only the frame that is in the air when the
/// station leaves is lost, and retransmitted. More than 100 packets are held then.
#[test]
fn what_is_held_for_a_station_does_not_pass_its_proxy_again() {
    let handover =
        Handover { at: secs(3.0), to: SECOND_AP, disconnection: Duration::from_millis(50) };
    let mut world = two_cells(Roaming { handovers: vec![handover], ..Roaming::default() });
    world.links[1].ends = (AP, SECOND_AP);
    for radio in world.nodes.iter_mut().filter_map(|node| node.radio.as_mut()) {
        radio.queue = Limit::Packets(1000).into();
    }
    let roaming = &mut world.nodes[1].radio.as_mut().expect("the station").roaming;
    roaming.as_mut().expect("it roams").hold = 1000;
    // The window, and so the queue, is bounded: no retransmission waits there until the RTO.
    let side = fairwave_tcp::Config { send_buffer: 200_000, ..fairwave_tcp::Config::default() };
    let congestion_control = "newreno".into();
    let opening = Opening::AfterFar;
    let proxy = Some(Proxy { at: AP, near: side, far: side, congestion_control, opening });
    let traffic = Traffic::Tcp(common::tcp("newreno", 2));
    world.flows = vec![Flow { proxy, ..flow("down", SERVER, STATION, traffic) }];
    let outcome = run(&world, &mut fairwave_trace::Discard, &mut |_| {});
    let outcome = outcome.expect("the world is right");
    let drops = |cause: DropCause| -> u64 {
        outcome.queues.iter().map(|queue| queue.at_end.drops[cause as usize]).sum()
    };
    assert_eq!((drops(DropCause::RetryLimit), drops(DropCause::QueueFull)), (1, 0));
    assert!(outcome.queues[AP.0 as usize].peak_packets > 100);
    let proxy = outcome.flows[0].at_end.proxy.expect("the flow has one");
    assert_eq!((proxy.retransmissions, proxy.timeouts), (1, 0), "{proxy:?}");
}

/// Two cells of 802.11n, all radios within 6 m, and an upload at MCS `mcs` that a handover at 2 s
/// interrupts.
fn upload(mcs: usize, traffic: Traffic, handover: Handover) -> World {
    let mut world = two_cells(Roaming { handovers: vec![handover], ..Roaming::default() });
    world.cells.fill(common::cell(Standard::N));
    let mode = Phy::new(Standard::N).modes(1)[mcs];
    for radio in world.nodes.iter_mut().filter_map(|node| node.radio.as_mut()) {
        radio.mode = mode;
        radio.position = (Metres(radio.position.0.0 / 10.0), radio.position.1);
    }
    world.flows = vec![flow("up", STATION, SERVER, traffic)];
    world
}

/// When a station was last without an access point.
#[derive(Default)]
struct Leaves(Option<Instant>);

impl Sink for Leaves {
    fn wants(&self, kind: Kind) -> bool {
        kind == Kind::Association
    }

    fn record(&mut self, at: Instant, sample: &Sample) {
        if matches!(sample, Sample::Association(STATION, None)) {
            self.0 = Some(at);
        }
    }
}

/// A station whose MAC always has frames leaves when the exchange under way ends, of up to 5.5 ms,
/// and does not first begin others.
#[test]
fn a_saturated_station_leaves_after_its_exchange() {
    for seed in 1..=5 {
        let traffic = Traffic::Saturate(SaturateFlow { payload_bytes: 1000 });
        let mut world = upload(2, traffic, goes(2.0, SECOND_AP));
        world.seed = fairwave_units::Seed(seed);
        let mut seen = Leaves::default();
        run(&world, &mut seen, &mut |_| {}).expect("the world is right");
        let late = seen.0.expect("it has left").since(secs(2.0));
        assert!(late < Duration::from_millis(8), "seed {seed}: {late}");
    }
}

/// Every datagram arrives or is dropped, also those that its access point held back when the
/// station left, because one before them was lost.
#[test]
fn no_datagram_is_lost_at_a_handover() {
    for seed in 1..=20 {
        let mut world = upload(7, cbr(1000, 1), goes(2.0, SECOND_AP));
        world.seed = fairwave_units::Seed(seed);
        if let Traffic::Datagrams(Source::Cbr { interval, .. }) = &mut world.flows[0].traffic {
            *interval = Duration::from_micros(300);
        }
        world.flows[0].stop = Some(secs(4.0));
        for cell in &mut world.cells {
            cell.errors = fairwave_dot11::channel::ErrorModel::Rate { data: 0.3, control: 0.0 };
        }
        let outcome = run(&world, &mut fairwave_trace::Discard, &mut |_| {});
        let outcome = outcome.expect("the world is right");
        let drops: u64 = outcome.queues.iter().flat_map(|queue| queue.at_end.drops).sum();
        let at_end = &outcome.flows[0].at_end;
        let arrived = at_end.delivered_bytes / 1000;
        assert_eq!(at_end.sent_packets, arrived + drops, "seed {seed}");
    }
}
