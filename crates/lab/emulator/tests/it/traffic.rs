//! Flows over the loopback interface of the namespace that the tests run in.

use crate::common::{SERVER, STATION, cell};
use fairwave_cc::TcpAvConfig;
use fairwave_dot11::AccessCategory;
use fairwave_emulator::address;
use fairwave_emulator::agreement::{Agreement, Tolerance, simulate};
use fairwave_emulator::traffic::{
    CallerNamespace, Connection, Datagrams, Error, KernelFlow, Load, Place, Prepared, Probe,
    Report, Running, ShakeBy, Spec, Through, Timing, Writes,
};
use fairwave_linux::clock::Clock;
use fairwave_sim::world::{
    Flow, Limits, Plan, ProbeFlow, SaturateFlow, TcpFlow, Traffic, Trial, World,
};
use fairwave_trace::{FlowId, NodeId, Sample};
use fairwave_traffic::{Emission, OnOff, Period, Source, Trace};
use fairwave_units::{BitRate, Bytes, Duration, Instant, Seed};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

pub(crate) const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub(crate) const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

pub(crate) fn spec(id: u32, address: IpAddr, load: Load) -> Spec {
    let place = |node| Place { node: NodeId(node), address: SocketAddr::new(address, 0) };
    Spec {
        id: FlowId(id),
        name: format!("flow{id}"),
        source: place(0),
        sink: place(1),
        start: Instant::ZERO,
        stop: None,
        traffic_class: 0,
        load,
    }
}

fn connection(algorithm: &str, writes: Writes) -> Load {
    Load::Connection(Connection {
        through: None,
        is_multipath: false,
        congestion_control: algorithm.to_owned(),
        av: TcpAvConfig::DEFAULT,
        mss: Some(1460),
        send_buffer: None,
        receive_buffer: None,
        no_delay: true,
        acks_at_once: false,
        writes,
    })
}

fn bulk(bytes: Option<u64>) -> Load {
    connection("reno", Writes::Bulk(bytes.map(Bytes)))
}

/// So many datagrams of 160 bytes, one every so often.
fn call(count: u64, every: Duration, echo: bool) -> Load {
    let emission = |i| Emission { at: Duration::from_nanos(every.as_nanos() * i), bytes: 160 };
    let emissions = (0..count).map(emission).collect();
    let source = Source::Trace(Trace { emissions, repeat_every: None });
    Load::Datagrams(Datagrams { source, random: Seed(1).stream("call"), echo })
}

/// Ends when every flow has, and at the latest after half a minute.
pub(crate) const UNTIL_DONE: Timing = Timing {
    duration: Duration::from_secs(30),
    warm_up: Duration::ZERO,
    sample_every: None,
    bins: None,
    ends_when_idle: true,
};

fn start(specs: Vec<Spec>, timing: Timing) -> (Running, Receiver<(Instant, Sample)>) {
    let prepared = Prepared::open(specs, &CallerNamespace).expect("the sockets open");
    let (sender, receiver) = sync_channel(10_000);
    let running = prepared.start(Clock::start(), timing, sender).expect("the thread starts");
    (running, receiver)
}

pub(crate) fn run(specs: Vec<Spec>, timing: Timing) -> Report {
    start(specs, timing).0.finish().expect("the thread ends well")
}

pub(crate) fn only(mut report: Report) -> KernelFlow {
    assert_eq!(report.flows.len(), 1);
    report.flows.remove(0)
}

#[test]
fn a_sized_transfer_arrives_whole_and_its_time_is_known() {
    for (address, size) in [(V4, 20_000_000), (V6, 1)] {
        let report = run(vec![spec(0, address, bulk(Some(size)))], UNTIL_DONE);
        let ended = report.ended;
        let KernelFlow { outcome, failure, .. } = only(report);
        assert_eq!(failure, None);
        assert_eq!(outcome.at_end.delivered_bytes, size);
        let completed = Instant::ZERO + outcome.completed.expect("it is complete");
        assert!(completed <= ended && ended < at(30_000), "{completed}, {ended}");
        assert!(outcome.at_end.sent_packets > 0 && outcome.at_end.srtt.is_some());
        assert_eq!(outcome.at_end.cwnd % 1448, 0, "the MSS is 1460, less the timestamps");
    }
}

#[test]
fn a_flow_that_stops_delivers_what_it_has_written() {
    let mut flow = spec(0, V4, bulk(None));
    flow.stop = Some(at(500));
    let report = run(vec![flow], UNTIL_DONE);
    assert!(report.ended >= at(500) && report.ended < at(30_000));
    let KernelFlow { outcome, failure, .. } = only(report);
    assert_eq!((failure, outcome.completed), (None, None));
    assert!(outcome.at_end.delivered_bytes > 0);
}

#[test]
fn goodput_counts_from_the_warm_up_and_bins_from_the_start() {
    let bins = Some(ms(50));
    let timing = Timing { duration: ms(300), warm_up: ms(200), bins, ..UNTIL_DONE };
    let outcome = only(run(vec![spec(0, V4, bulk(None))], timing)).outcome;
    let (warm, all) = (outcome.at_warm_up.delivered_bytes, outcome.at_end.delivered_bytes);
    assert!(0 < warm && warm < all);
    let rate = (all - warm) as f64 * 8.0 / 0.1;
    assert!((outcome.goodput.as_mbps_f64() * 1e6 / rate - 1.0).abs() < 1e-6);
    assert_eq!(outcome.bins.len(), 6);
    assert!(outcome.bins.iter().sum::<u64>() <= all);
}

#[test]
fn samples_come_at_their_times_while_the_flow_goes_on() {
    let timing = Timing { duration: ms(300), sample_every: Some(ms(50)), ..UNTIL_DONE };
    let (running, samples) = start(vec![spec(7, V4, bulk(None))], timing);
    let (time, sample) = samples.recv().expect("a sample comes");
    let Sample::Flow(id, sample) = sample else { panic!("it is not a flow's") };
    assert_eq!((time, id), (at(50), FlowId(7)));
    assert!(sample.cwnd > 0 && sample.delivered_bytes > 0);
    let report = running.finish().expect("the thread ends well");
    assert_eq!(report.samples_lost, 0);
    let times: Vec<_> = samples.iter().map(|(time, _)| time).collect();
    assert!(times.is_sorted() && times.iter().all(|time| time.as_nanos() % 50_000_000 == 0));
}

#[test]
fn a_full_channel_costs_samples_and_no_time() {
    let timing = Timing { duration: ms(60), sample_every: Some(ms(10)), ..UNTIL_DONE };
    let prepared =
        Prepared::open(vec![spec(0, V4, bulk(None))], &CallerNamespace).expect("they open");
    let (sender, _receiver) = sync_channel(1);
    let running = prepared.start(Clock::start(), timing, sender).expect("it starts");
    let report = running.finish().expect("it ends well");
    assert!(report.samples_lost > 0);
    let expected = format!("{} samples of flows on sockets arrived too fast", report.samples_lost);
    assert!(report.warnings()[0].starts_with(&expected), "{:?}", report.warnings());
}

/// The proxy of the first flow closes the connection at once.
#[test]
fn a_flow_that_fails_is_named_and_the_others_go_on() {
    let proxy = TcpListener::bind((V4, 0)).expect("a port is free");
    let address = proxy.local_addr().expect("it has an address");
    let proxy = thread::spawn(move || drop(proxy.accept()));
    let mut load = bulk(Some(1));
    let Load::Connection(connection) = &mut load else { unreachable!("it is one") };
    connection.through = Some(Through {
        place: Place { node: NodeId(1), address },
        target: None,
        congestion_control: "reno".to_owned(),
    });
    let report = run(vec![spec(0, V4, load), spec(1, V4, bulk(Some(1000)))], UNTIL_DONE);
    proxy.join().expect("it accepts");
    let failure = report.failure().expect("it failed");
    assert!(failure.starts_with("flow flow0 failed at "), "{failure}");
    assert!(!failure.contains("flow1"), "{failure}");
    assert_eq!(report.flows[1].outcome.at_end.delivered_bytes, 1000);
}

/// Datagrams arrive in order, each once.
#[test]
fn a_call_is_counted_and_its_delays_are_known() {
    let report = run(vec![spec(0, V4, call(100, ms(2), true))], UNTIL_DONE);
    assert!(report.ended >= at(198) && report.ended < at(30_000));
    assert_eq!(report.lateness.expect("datagrams were sent").count, 100);
    let flow = only(report);
    let datagrams = flow.outcome.datagrams.expect("they were received");
    assert_eq!((datagrams.received, datagrams.lost, flow.reordered, flow.refused), (100, 0, 0, 0));
    assert_eq!(flow.outcome.at_end.delivered_bytes, 16_000);
    let delay = flow.outcome.delay.expect("there are delays");
    assert!(!delay.least.is_zero() && delay.least <= delay.median, "{delay:?}");
    assert!(flow.echoes.is_some_and(|echoes| echoes.least >= delay.least));
}

/// Delays are those of the way and not of the thread that sends.
#[test]
#[ignore = "real time: cargo xtask test --realtime"]
fn realtime_delays_of_a_call_are_short() {
    let flow = only(run(vec![spec(0, V4, call(100, ms(2), true))], UNTIL_DONE));
    let delay = flow.outcome.delay.expect("there are delays");
    assert!(delay.median < ms(1), "{delay:?}");
}

#[test]
fn short_datagrams_are_lengthened_to_hold_number_and_time() {
    let emissions = [1, 12, 13].map(|bytes| Emission { at: Duration::ZERO, bytes }).into();
    let source = Source::Trace(Trace { emissions, repeat_every: None });
    let random = Seed(1).stream("short");
    let load = Load::Datagrams(Datagrams { source, random, echo: false });
    let outcome = only(run(vec![spec(0, V6, load)], UNTIL_DONE)).outcome;
    assert_eq!(outcome.at_end.delivered_bytes, 12 + 12 + 13);
}

#[test]
fn a_source_writes_to_a_connection_at_its_times() {
    let Load::Datagrams(Datagrams { source, random, .. }) = call(10, ms(10), false) else {
        unreachable!()
    };
    let flow = spec(0, V4, connection("reno", Writes::Timed(source, random)));
    let report = run(vec![flow], UNTIL_DONE);
    assert!(report.ended >= at(90), "{}", report.ended);
    assert_eq!(only(report).outcome.at_end.delivered_bytes, 1600);
}

#[test]
fn many_flows_share_one_thread() {
    let load = |i| if i % 4 == 0 { call(20, ms(5), false) } else { bulk(Some(300_000)) };
    let specs: Vec<_> = (0..64).map(|i| spec(i, V4, load(i))).collect();
    let report = run(specs, UNTIL_DONE);
    for (i, flow) in (0..64).zip(&report.flows) {
        let bytes = if i % 4 == 0 { 20 * 160 } else { 300_000 };
        assert_eq!((flow.id, &flow.failure), (FlowId(i), &None));
        assert_eq!(flow.outcome.at_end.delivered_bytes, bytes, "{}", flow.outcome.name);
    }
    assert!(report.ended < at(30_000));
}

fn probe((spaced, train): (u32, u32), watches: Option<FlowId>) -> Load {
    let trial = Trial { payload_bytes: 300, spaced, interval: ms(1), train };
    let limits =
        Limits { rate: BitRate::mbps(20), packets: 500, duration: Duration::from_secs(20) };
    let plan = Plan { trials: vec![trial], rest: Duration::ZERO };
    let flow = ProbeFlow { plan, limits, watches: None };
    Load::Probe(Probe { flow, seed: Seed(1), watches })
}

/// The loopback interface has no bottleneck: every packet arrives, and no buffer is found.
#[test]
fn a_probe_accounts_for_every_packet_and_another_watches_it() {
    for address in [V4, V6] {
        let specs = vec![
            spec(0, address, probe((3, 50), None)),
            spec(1, address, probe((40, 0), Some(FlowId(0)))),
        ];
        let report = run(specs, UNTIL_DONE);
        let [found, watched] = [0, 1].map(|place: usize| {
            let flow = &report.flows[place];
            assert_eq!((&flow.failure, flow.refused), (&None, 0));
            flow.outcome.probe.clone().expect("it is a probe")
        });
        assert_eq!((found.ended, watched.ended), (Some(Ok(())), Some(Ok(()))));
        assert_eq!((found.sizes[0].payload_bytes, found.sizes[0].waiting), (300, None));
        assert!(found.sharing.is_none() && watched.sharing.is_some(), "{watched:?}");
        let sent = report.flows.iter().map(|flow| flow.outcome.at_end.sent_packets);
        assert!(sent.zip([53, 40]).all(|(sent, data)| sent > data), "greetings come beside data");
    }
}

#[test]
fn a_report_replaces_the_outcomes_of_its_flows() {
    let report = run(vec![spec(1, V4, bulk(Some(5)))], UNTIL_DONE);
    let mut outcomes = vec![Default::default(); 3];
    report.put_into(&mut outcomes);
    let delivered = outcomes.iter().map(|outcome| outcome.at_end.delivered_bytes);
    assert_eq!(delivered.collect::<Vec<_>>(), [0, 5, 0]);
}

#[test]
fn flows_stop_at_once_when_told_to() {
    let mut later = spec(1, V4, bulk(None));
    later.start = at(20_000);
    let timing = Timing { sample_every: Some(ms(10)), ends_when_idle: false, ..UNTIL_DONE };
    let (running, samples) = start(vec![spec(0, V4, bulk(None)), later], timing);
    samples.recv().expect("it is under way");
    let report = running.stop().expect("the thread ends well");
    assert!(report.ended < at(20_000));
    assert!(report.flows[0].outcome.at_end.delivered_bytes > 0);
    assert_eq!(report.flows[1].outcome.at_end.delivered_bytes, 0);
    assert!(report.flows.iter().all(|flow| flow.failure.is_none()));
}

#[test]
fn dropped_flows_leave_no_thread_behind() {
    let timing = Timing { sample_every: Some(ms(10)), ends_when_idle: false, ..UNTIL_DONE };
    let (running, samples) = start(vec![spec(0, V4, bulk(None))], timing);
    drop(running);
    // The channel closes when the thread has ended.
    assert!(samples.iter().count() < 1000);
}

fn failure(specs: Vec<Spec>) -> Error {
    Prepared::open(specs, &CallerNamespace).expect_err("it is refused")
}

#[test]
fn an_unknown_congestion_control_is_refused_with_those_that_there_are() {
    let available = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let available = available.expect("Linux tells them");
    for algorithm in ["no-such-law", "a-name-of-20-letters"] {
        let error =
            failure(vec![spec(3, V4, connection(algorithm, Writes::Bulk(None)))]).to_string();
        assert!(error.starts_with("flow flow3: this kernel has no congestion control"), "{error}");
        assert!(available.split_whitespace().all(|algorithm| error.contains(algorithm)), "{error}");
    }
}

#[test]
fn an_address_of_nobody_is_refused_with_the_flows_name() {
    let elsewhere = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    let error = failure(vec![spec(0, V4, bulk(None)), spec(5, elsewhere, bulk(None))]);
    assert!(error.to_string().starts_with("flow flow5: bind: "), "{error}");
}

#[test]
fn a_port_in_use_is_refused() {
    let holder = TcpListener::bind((V4, 0)).expect("a port is free");
    let mut flow = spec(0, V4, bulk(None));
    flow.sink.address = holder.local_addr().expect("it has an address");
    let error = failure(vec![flow]).to_string();
    assert!(error.contains("Address already in use"), "{error}");
}

/// A call of speech and a short transfer over the cell of [`cell`].
fn speech_and_transfer() -> World {
    let mut world = cell();
    (world.duration, world.warm_up) = (ms(1000), ms(100));
    let flow = |name: &str, traffic| Flow {
        name: name.to_owned(),
        source: STATION,
        sink: SERVER,
        start: at(20),
        stop: Some(at(900)),
        category: AccessCategory::Voice,
        traffic,
        proxy: None,
        playout: None,
    };
    // Talk-spurts and pauses are short, so that there are some within a second.
    let period = Period::Exponential { mean: ms(20) };
    let interval = ms(2);
    let speech = Source::OnOff(OnOff { payload_bytes: 172, interval, on: period, off: period });
    let transfer = TcpFlow {
        sender: Default::default(),
        receiver: Default::default(),
        congestion_control: "newreno".into(),
        size: Some(Bytes(100_000)),
        source: None,
    };
    world.flows =
        vec![flow("speech", Traffic::Datagrams(speech)), flow("transfer", Traffic::Tcp(transfer))];
    world
}

#[test]
fn a_flow_of_a_world_has_its_addresses_class_and_algorithm_on_sockets() {
    let world = speech_and_transfer();
    let spec =
        |id| Spec::of(&world, FlowId(id), ShakeBy::Fairwave, |node| address::v4(node).into());
    let speech = spec(0).expect("datagrams can");
    assert_eq!((speech.start, speech.stop), (at(20), Some(at(900))));
    assert_eq!(speech.source.address.to_string(), "10.0.0.2:50000");
    assert_eq!(speech.sink.address.to_string(), "10.0.0.3:60100");
    assert_eq!((speech.sink.node, speech.traffic_class), (SERVER, 46 << 2));
    let transfer = spec(1).expect("TCP can");
    assert_eq!(transfer.source.address.port(), 50_001);
    let Load::Connection(connection) = transfer.load else { panic!("it is a connection") };
    assert_eq!((&*connection.congestion_control, connection.mss), ("reno", Some(1460)));
    assert!(matches!(connection.writes, Writes::Bulk(Some(Bytes(100_000)))));
    assert!(!connection.acks_at_once, "the stack delays ACKs");
    assert_eq!(connection.send_buffer, Some(4 << 20), "the stack has buffers of a fixed size");
}

#[test]
fn a_flow_of_a_world_has_its_target_on_sockets() {
    let mut world = speech_and_transfer();
    let target = Some(BitRate::mbps(5));
    let Traffic::Tcp(transfer) = &mut world.flows[1].traffic else { panic!("it is of TCP") };
    transfer.congestion_control = "tcp-av".into();
    transfer.sender.av.target = target;
    let spec = Spec::of(&world, FlowId(1), ShakeBy::Fairwave, |node| address::v4(node).into());
    let Load::Connection(connection) = spec.expect("TCP can").load else { panic!("a connection") };
    assert_eq!((&*connection.congestion_control, connection.av.target), ("fw_tcp_av", target));
}

#[test]
fn a_flow_that_no_socket_carries_is_refused_by_name() {
    let mut world = speech_and_transfer();
    world.flows[0].traffic = Traffic::Saturate(SaturateFlow { payload_bytes: 100 });
    let refused = Spec::of(&world, FlowId(0), ShakeBy::Fairwave, |node| address::v6(node).into());
    let refused = refused.expect_err("it has no times").to_string();
    assert!(refused.starts_with("flow speech cannot run on the kernel's sockets:"), "{refused}");
}

#[test]
fn a_simulation_beside_ends_when_somebody_ends_it() {
    let mut world = speech_and_transfer();
    (world.duration, world.flows[0].stop) = (Duration::from_secs(3600), None);
    let mut received = 0;
    let ended = simulate(&world, &mut |_| {
        received += 1;
        false
    });
    assert!(ended.expect("the world is right").is_none());
    assert_eq!(received, 1, "it ended when it first asked");
}

/// The source is the same machine with the same random numbers on both: it sends the same
/// datagrams, all of which arrive on either way.
#[test]
fn simulator_and_kernel_agree_on_what_a_world_offers() {
    let world = speech_and_transfer();
    let simulated = simulate(&world, &mut |_| true).expect("the world is right");
    let simulated = simulated.expect("nobody ended it");
    let specs = (0..2).map(|id| {
        let mut spec = Spec::of(&world, FlowId(id), ShakeBy::Fairwave, |_| V4).expect("both can");
        for place in [&mut spec.source, &mut spec.sink] {
            // Another test may have the port on this host.
            place.address.set_port(0);
        }
        spec
    });
    let report = run(specs.collect(), Timing::of(&world));
    assert_eq!(report.ended, at(1000));
    let mut emulated = vec![Default::default(); 2];
    report.put_into(&mut emulated);
    let counters = |i: usize| [&simulated, &emulated].map(|outcomes| outcomes[i].at_end);
    let [expected, speech] = counters(0);
    assert!(expected.sent_packets > 0);
    assert_eq!(speech.sent_packets, expected.sent_packets);
    assert_eq!(speech.delivered_bytes, expected.delivered_bytes);
    let [expected, transfer] = counters(1);
    assert_eq!((expected.delivered_bytes, transfer.delivered_bytes), (100_000, 100_000));
    assert!(simulated[1].completed.is_some() && emulated[1].completed.is_some());

    // Loopback has no delay, and the cell has: that is told.
    let agreement = Agreement::of(&world, &simulated, &emulated);
    let tolerance = Tolerance::default();
    let outside: Vec<_> = agreement.outside(&tolerance).map(|(row, _)| &*row.flow).collect();
    assert!(outside.contains(&"speech"), "{agreement}");
    assert!(agreement.to_string().contains("| speech |"), "{agreement}");
}
