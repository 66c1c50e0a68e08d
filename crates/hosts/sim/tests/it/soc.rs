//! Strength of Connection in a whole world: what is reported, by which frames, and what follows.

use crate::common::{AP, flow, server, world};
use fairwave_dot11::{AccessCategory, Edca, Interpolation, Standard};
use fairwave_queue::{ALL, HfscConfig, Limit, SocpsConfig, Spec};
use fairwave_sim::world::{
    ErrorModel, FilterSpec, SnrTrace, Soc, Source, TableConfig, Traffic, World,
};
use fairwave_sim::{Outcome, run};
use fairwave_soc::{POLICIES, Policies};
use fairwave_trace::{FrameBody, Kind, NodeId, Sample, Sink, SocSample};
use fairwave_units::{Db, Dbm, Duration, Instant};
use fairwave_wire::ethernet::EtherType;
use fairwave_wire::soc::{self, Plain, Written};

const FIRST: NodeId = NodeId(1);
/// A channel that is good all the time.
const GOOD: &[(u64, f64)] = &[(0, 30.0)];

/// What stations reported over time, and the frames that carried it.
#[derive(Default)]
struct Watch {
    socs: Vec<(Instant, NodeId, SocSample)>,
    alone: u64,
    in_front: u64,
    received: u64,
}

impl Sink for Watch {
    fn wants(&self, kind: Kind) -> bool {
        matches!(kind, Kind::Soc | Kind::Frame)
    }

    fn record(&mut self, at: Instant, sample: &Sample) {
        match sample {
            Sample::Soc(node, soc) => self.socs.push((at, *node, *soc)),
            Sample::Frame(frame) => match (frame.body, frame.report) {
                (FrameBody::Report, Some(bytes)) => {
                    assert_eq!(next(&bytes), None);
                    self.alone += u64::from(!frame.retry);
                    self.received += u64::from(frame.received);
                }
                (FrameBody::Data(_), Some(bytes)) => {
                    assert_eq!(next(&bytes), Some(EtherType::IPV4));
                    self.in_front += u64::from(!frame.retry);
                }
                (FrameBody::Report, None) => panic!("a report without one"),
                _ => {}
            },
            _ => {}
        }
    }
}

/// The type of the payload that follows a report of either format.
fn next(bytes: &Written) -> Option<EtherType> {
    if Plain::is_meant(bytes) {
        return Plain::next(bytes);
    }
    let (claim, _) = soc::parse(bytes).expect("a station writes what is read");
    claim.unchecked().next
}

impl Watch {
    fn last(&self, node: NodeId) -> SocSample {
        let of_node = self.socs.iter().rfind(|(_, of, _)| *of == node);
        of_node.unwrap_or_else(|| panic!("no sample of {node:?}")).2
    }

    fn at(&self, node: NodeId, secs: f64) -> SocSample {
        let at = Instant::ZERO + Duration::from_secs_f64(secs);
        let found = self.socs.iter().find(|(time, of, _)| *of == node && *time >= at);
        found.unwrap_or_else(|| panic!("no sample of {node:?} at {secs} s")).2
    }
}

fn soc(policy: &str) -> Soc {
    let kind = POLICIES.iter().find(|kind| kind.name == policy).expect("it is listed");
    Soc {
        ap: AP,
        interval: Duration::from_millis(200),
        hold: Duration::from_millis(50),
        read_every: Duration::from_millis(10),
        filter: FilterSpec::Mean,
        table: TableConfig::new(Policies::per_host((kind.curve)())),
    }
}

/// Stations of 802.11b at 2 Mbps, each at the SNR of its trace (seconds, dB), that get
/// 93 kbps of voice and report; the access point serves by `queue`.
fn voices(queue: &str, policy: &str, snrs: &[&[(u64, f64)]]) -> World {
    let mut world = world(Standard::B, 2, snrs.len() as u32, Duration::ZERO);
    (world.duration, world.warm_up) = (Duration::from_secs(10), Duration::ZERO);
    world.cells[0].beacon_interval = Some(Duration::from_micros(102_400));
    world.cells[0].carrier_sense = Dbm(-99.0);
    world.cells[0].preamble_detection = None;
    let server = server(&world);
    for (index, snrs) in snrs.iter().enumerate() {
        let node = NodeId(index as u32 + 1);
        let point = |&(secs, db): &(u64, f64)| (Instant::ZERO + Duration::from_secs(secs), Db(db));
        let trace = SnrTrace::new(snrs.iter().map(point).collect(), Interpolation::Step);
        let radio = world.nodes[node.0 as usize].radio.as_mut().expect("a station has one");
        radio.snr_trace = Some(trace.expect("a trace"));
        let (payload_bytes, interval) = (322, Duration::from_millis(30));
        let voice = Traffic::Datagrams(Source::Cbr { payload_bytes, interval });
        world.flows.push(flow(&format!("voice{index}"), server, node, voice));
    }
    let kind = ALL.iter().find(|kind| kind.name == queue).expect("it is listed");
    let radio = world.nodes[AP.0 as usize].radio.as_mut().expect("the AP has one");
    radio.queue = (kind.spec)(Limit::Packets(200));
    world.soc = vec![soc(policy)];
    world
}

/// The same with the frame of the paper's Fig. 8.
fn plain(mut world: World) -> World {
    let table = &mut world.soc[0].table;
    (table.compat, table.compat_interval) = (true, Duration::from_millis(200));
    world
}

fn simulate(world: &World) -> (Outcome, Watch) {
    let mut watch = Watch::default();
    let outcome = run(world, &mut watch, &mut |_| {}).expect("the world is right");
    (outcome, watch)
}

#[test]
fn on_a_steady_channel_the_access_point_knows_the_truth() {
    let (_, watch) = simulate(&voices("wfq", "pw", &[&[(0, 7.0)], &[(0, 30.0)]]));
    for (node, db, weight) in [(1, 7.0, 0.5), (2, 30.0, 1.0)] {
        let seen = watch.last(NodeId(node));
        assert!((seen.channel.0 - db).abs() < 1e-6, "{seen:?}");
        assert!((seen.soc.expect("it is known").0 - db).abs() < 0.01, "{seen:?}");
        assert!((seen.weight - weight).abs() < 1e-3, "{seen:?}");
        // 10 s of reports each 200 ms, in frames of their own since there is no other uplink.
        assert!((48..=50).contains(&seen.alone) && seen.in_front == 0, "{seen:?}");
        assert_eq!((seen.accepted, seen.missed, seen.refused), (seen.alone, 0, 0));
    }
    assert_eq!(watch.alone, watch.last(FIRST).alone + watch.last(NodeId(2)).alone);
    // Before the first report it weighs 1.
    let first = watch.at(FIRST, 0.1);
    assert_eq!((first.soc, first.weight), (None, 1.0));
}

#[test]
fn uplink_data_takes_reports_along() {
    let mut world = voices("wfq", "pw", &[&[(0, 20.0)]]);
    let (payload_bytes, interval) = (322, Duration::from_millis(30));
    let voice = Traffic::Datagrams(Source::Cbr { payload_bytes, interval });
    world.flows.push(flow("up", FIRST, server(&world), voice));
    let (outcome, watch) = simulate(&world);
    let seen = watch.last(FIRST);
    assert!(seen.in_front >= 48 && seen.alone == 0, "{seen:?}");
    assert_eq!((seen.accepted, watch.in_front, watch.alone), (seen.in_front, seen.in_front, 0));
    let up = outcome.flows[1].datagrams.expect("a datagram flow");
    assert_eq!(up.lost, 0, "the data behind a report arrives too");
    world.soc[0].hold = Duration::ZERO;
    let (_, watch) = simulate(&world);
    let seen = watch.last(FIRST);
    assert!(seen.alone >= 48 && seen.in_front == 0, "{seen:?}");
}

#[test]
fn good_or_bad_stops_and_resumes_with_the_channel() {
    let fades: &[(u64, f64)] = &[(0, 20.0), (3, 8.0), (6, 20.0)];
    let (outcome, watch) = simulate(&voices("wfq", "gb1", &[fades, &[(0, 20.0)]]));
    for (secs, weight) in [(2.9, 1.0), (3.5, 0.0), (5.9, 0.0), (6.5, 1.0)] {
        assert_eq!(watch.at(FIRST, secs).weight, weight, "at {secs} s");
        assert_eq!(watch.at(NodeId(2), secs).weight, 1.0, "at {secs} s");
    }
    // Some 3 s without service, from the report after 3 s to that after 6 s.
    let silence = outcome.flows[0].longest_silence;
    assert!(silence.abs_diff(Duration::from_secs(3)) < Duration::from_millis(450), "{silence}");
    assert!(outcome.flows[1].longest_silence < Duration::from_millis(100));
    // What came meanwhile waited up to the host's limit; the other lost nothing.
    assert_eq!(outcome.flows[1].datagrams.expect("datagrams").lost, 0);
    let (fifo, _) = simulate(&voices("drop-tail", "gb1", &[fades, &[(0, 20.0)]]));
    assert!(fifo.flows[0].longest_silence < Duration::from_millis(200), "FIFO does not listen");
}

/// Greedy datagrams to three stations whose channels weigh 1, 0.5 and 0: the access point shares
/// out what it sends by that, over WFQ and over H-FSC.
#[test]
fn socps_shares_by_the_strength_of_connection() {
    let over_hfsc = Spec::Socps(SocpsConfig::Hfsc(HfscConfig::of(Limit::Packets(200))));
    let listed = ALL.iter().find(|kind| kind.name == "socps").expect("it is listed");
    for spec in [(listed.spec)(Limit::Packets(200)), over_hfsc] {
        let steady: [&[(u64, f64)]; 3] = [&[(0, 30.0)], &[(0, 7.0)], &[(0, -1.0)]];
        let mut world = voices("socps", "pw", &steady);
        world.nodes[AP.0 as usize].radio.as_mut().expect("the AP has one").queue = spec;
        // No report, no weight below one: the third's reports must get through.
        world.cells[0].errors = ErrorModel::Rate { data: 0.0, control: 0.0 };
        world.warm_up = Duration::from_secs(1);
        for flow in &mut world.flows {
            let interval = Duration::from_millis(3);
            flow.traffic = Traffic::Datagrams(Source::Cbr { payload_bytes: 972, interval });
        }
        let (outcome, watch) = simulate(&world);
        assert_eq!([1, 2, 3].map(|node| watch.last(NodeId(node)).weight), [1.0, 0.5, 0.0]);
        let got = [0, 1, 2].map(|flow: usize| outcome.flows[flow].goodput.0 as f64);
        assert!((got[0] / got[1] - 2.0).abs() < 0.04, "{got:?}");
        assert_eq!(got[2], 0.0, "a host without weight is sent nothing");
    }
}

/// Greedy voice and greedy best effort to two stations of 7 and 30 dB. Voice is weighed 0 below
/// 12 dB, best effort by `pw`, which gives 0.5 at 7 dB.
#[test]
fn each_category_is_weighed_by_its_own_curve() {
    let mut world = voices("wfq", "pw", &[&[(0, 7.0)], GOOD]);
    let phy = world.cells[0].phy;
    world.cells[0].edca = Some(Edca::defaults(phy));
    world.cells[0].errors = ErrorModel::Rate { data: 0.0, control: 0.0 };
    let named =
        |name| (POLICIES.iter().find(|kind| kind.name == name).expect("it is listed").curve)();
    world.soc[0].table.policies = Policies::per_class(["pw", "pw", "pw", "gb1"].map(named).into());
    world.warm_up = Duration::from_secs(1);
    for index in 0..2 {
        // Together half of the medium's 1.6 Mbps for voice, the rest of it for best effort.
        let (payload_bytes, interval) = (322, Duration::from_millis(8));
        let voice = Traffic::Datagrams(Source::Cbr { payload_bytes, interval });
        let interval = Duration::from_millis(3);
        let data = Traffic::Datagrams(Source::Cbr { payload_bytes: 972, interval });
        world.flows[index].traffic = voice;
        world.flows[index].category = AccessCategory::Voice;
        let name = format!("data{index}");
        let more = flow(&name, world.flows[index].source, world.flows[index].sink, data);
        world.flows.push(more);
    }
    let (outcome, _) = simulate(&world);
    let got: Vec<f64> = outcome.flows.iter().map(|flow| flow.goodput.0 as f64).collect();
    assert_eq!(got[0], 0.0, "voice to a station of 7 dB");
    assert!((got[1] / 322_000.0 - 1.0).abs() < 0.02, "{got:?}: all of the other's voice");
    assert!((got[3] / got[2] - 2.0).abs() < 0.06, "{got:?}: best effort 2 : 1");
}

#[test]
fn reports_that_are_lost_damp_what_is_known() {
    let mut world = voices("wfq", "pw", &[&[(0, 30.0)]]);
    world.cells[0].errors = ErrorModel::Rate { data: 0.5, control: 0.0 };
    world.cells[0].acknowledges = false;
    let (_, watch) = simulate(&world);
    let seen = watch.last(FIRST);
    assert!(seen.accepted < seen.alone && seen.accepted > 10, "{seen:?}");
    assert!(seen.missed > 5 && seen.accepted + seen.missed + 3 > seen.alone, "{seen:?}");
    let damped = watch.socs.iter().filter_map(|(_, _, seen)| seen.soc).any(|soc| soc.0 < 22.0);
    assert!(damped, "no report was missed twice in a row");
}

#[test]
fn a_silent_access_point_is_not_read_and_not_reported() {
    let mut world = voices("wfq", "pw", &[&[(0, 30.0)]]);
    world.cells[0].beacon_interval = None;
    world.flows.clear();
    let (_, watch) = simulate(&world);
    assert_eq!(watch.last(FIRST).alone, 0);
}

/// With the frame of the paper: whole decibels, of which pw makes 0.5 at 7 dB, and none below 0.
#[test]
fn the_access_point_believes_the_frame_of_the_paper() {
    let steady: [&[(u64, f64)]; 3] = [&[(0, 7.3)], &[(0, 30.0)], &[(0, -2.0)]];
    let mut world = plain(voices("wfq", "pw", &steady));
    world.cells[0].errors = ErrorModel::Rate { data: 0.0, control: 0.0 };
    let (payload_bytes, interval) = (322, Duration::from_millis(30));
    let voice = Traffic::Datagrams(Source::Cbr { payload_bytes, interval });
    world.flows.push(flow("up", NodeId(2), server(&world), voice));
    let (outcome, watch) = simulate(&world);
    for (node, db, weight) in [(1, 7.0, 0.5), (2, 30.0, 1.0), (3, 0.0, 0.0)] {
        let seen = watch.last(NodeId(node));
        assert_eq!((seen.soc, seen.weight), (Some(Db(db)), weight), "{seen:?}");
        let (alone, in_front) = if node == 2 { (0, 48) } else { (48, 0) };
        assert!(seen.alone >= alone && seen.in_front >= in_front, "{seen:?}");
        assert_eq!((seen.accepted, seen.missed, seen.refused), (seen.alone + seen.in_front, 0, 0));
    }
    assert!(watch.in_front >= 48 && watch.last(NodeId(2)).alone == 0);
    let up = outcome.flows[3].datagrams.expect("a datagram flow");
    assert_eq!(up.lost, 0, "the data behind a report arrives too");
}

/// 44 bytes at 2 Mbps behind a long preamble: 192 + 176 us.
#[test]
fn the_frame_of_the_paper_takes_less_airtime() {
    let mut world = plain(voices("drop-tail", "pw", &[GOOD; 4]));
    world.soc[0].hold = Duration::ZERO;
    let (outcome, watch) = simulate(&world);
    let stations = outcome.stations[1..].iter().map(|station| station.at_end.airtime);
    let each = stations.map(Duration::as_secs_f64).sum::<f64>() / watch.alone as f64;
    assert!(watch.alone > 190 && (368e-6..380e-6).contains(&each), "{each} s for a report");
}

#[test]
fn reports_cost_airtime_by_their_rate() {
    let airtime = |interval: u64| {
        let mut world = voices("drop-tail", "pw", &[GOOD; 4]);
        (world.soc[0].interval, world.soc[0].hold) =
            (Duration::from_millis(interval), Duration::ZERO);
        let (outcome, watch) = simulate(&world);
        let stations = outcome.stations[1..].iter().map(|station| station.at_end.airtime);
        (stations.map(Duration::as_secs_f64).sum::<f64>(), watch.alone)
    };
    // 100 bytes at 2 Mbps behind a long preamble: 192 + 400 us.
    for (interval, reports) in [(200, 200.0), (20, 2000.0)] {
        let (airtime, alone) = airtime(interval);
        assert!((alone as f64 / reports - 1.0).abs() < 0.03, "{alone} at {interval} ms");
        let each = airtime / alone as f64;
        assert!((592e-6..620e-6).contains(&each), "{each} s for a report");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |change: fn(&mut World)| {
        let mut world = voices("wfq", "pw", &[&[(0, 30.0)]]);
        change(&mut world);
        run(&world, &mut Watch::default(), &mut |_| {}).expect_err("it cannot be").to_string()
    };
    assert_eq!(refused(|w| w.soc[0].ap = FIRST), "soc of sta1: it is no access point");
    assert_eq!(refused(|w| w.soc.push(w.soc[0].clone())), "soc of ap: it is there twice");
    let interval = refused(|w| w.soc[0].interval = Duration::from_secs(2));
    assert_eq!(interval, "soc of ap: interval 2 s is not within 20 ms and 1 s");
    let curves = refused(|w| {
        let curve = w.soc[0].table.policies.curves[0].clone();
        w.soc[0].table.policies.curves.push(curve);
    });
    assert_eq!(curves, "soc of ap: one curve, or with EDCA one for each access category");
}

#[test]
fn the_same_seed_gives_the_same_reports() {
    let fades: &[(u64, f64)] = &[(0, 20.0), (3, 8.0), (6, 20.0)];
    let socs = |seed: u64| {
        let mut world = voices("wfq", "pw", &[fades; 3]);
        world.seed = fairwave_units::Seed(seed);
        simulate(&world).1.socs
    };
    assert_eq!(socs(1), socs(1));
    assert_ne!(socs(1), socs(2));
}
