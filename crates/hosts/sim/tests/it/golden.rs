//! The golden table: every algorithm over each link, alone and in company. A change of behaviour,
//! wherever it comes from, shows as a diff of `golden/links.txt`.

use crate::common::{AP, flow, tcp, uploads, world};
use fairwave_dot11::Standard;
use fairwave_queue::Limit;
use fairwave_sim::run;
use fairwave_sim::world::{DelayDistribution, ErrorModel, Link, Loss, Node, Traffic, World};
use fairwave_trace::{Discard, DropCause, NodeId};
use fairwave_units::{BitRate, Duration};
use std::fmt::Write as _;
use std::fs;
use std::thread;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/links.txt");

/// A link's name and the world of so many greedy flows of an algorithm over it.
type Case = (&'static str, fn(&str, u32) -> World);

const LINKS: &[Case] = &[
    ("wired 10 Mbps 20 ms q50", |algorithm, flows| wired(algorithm, flows, 0.0)),
    ("wired 10 Mbps 20 ms 1 %", |algorithm, flows| wired(algorithm, flows, 0.01)),
    ("11a 54 Mbps 20 ms up", |algorithm, flows| cell(algorithm, flows, Standard::A, 54, 0.0)),
    ("11a 54 Mbps 20 ms up 20 %", |algorithm, flows| cell(algorithm, flows, Standard::A, 54, 0.2)),
    ("11b 11 Mbps 20 ms up", |algorithm, flows| cell(algorithm, flows, Standard::B, 11, 0.0)),
    ("11a 54 Mbps 20 ms down", |algorithm, flows| down(algorithm, flows)),
];

fn cell(algorithm: &str, flows: u32, standard: Standard, mbps: u64, data: f64) -> World {
    let mut world =
        uploads(world(standard, mbps, flows, Duration::from_millis(20)), &tcp(algorithm, 2));
    world.cells[0].errors = ErrorModel::Rate { data, control: 0.0 };
    shorten(world)
}

fn down(algorithm: &str, flows: u32) -> World {
    let mut world = cell(algorithm, flows, Standard::A, 54, 0.0);
    for flow in &mut world.flows {
        (flow.source, flow.sink) = (flow.sink, flow.source);
    }
    world
}

fn wired(algorithm: &str, flows: u32, loss: f64) -> World {
    let mut world = world(Standard::A, 54, 0, Duration::ZERO);
    world.nodes = ["left", "right"].map(|name| Node { name: name.into(), radio: None }).into();
    world.cells = Vec::new();
    let (rate, delay) = (Some(BitRate::mbps(10)), Duration::from_millis(20));
    let queue = Limit::Packets(50).into();
    let ends = (AP, NodeId(1));
    let (loss, jitter, changes) = (Loss::both(loss), Duration::ZERO, Vec::new());
    world.links = vec![Link {
        ends,
        rate,
        delay,
        distribution: DelayDistribution::Fixed,
        tick: None,
        jitter,
        loss,
        queue,
        back: None,
        changes,
    }];
    let greedy = |i| flow(&format!("flow{i}"), AP, NodeId(1), Traffic::Tcp(tcp(algorithm, 2)));
    world.flows = (0..flows).map(greedy).collect();
    shorten(world)
}

fn shorten(mut world: World) -> World {
    (world.duration, world.warm_up) = (Duration::from_secs(12), Duration::from_secs(2));
    world
}

fn row(link: &str, algorithm: &str, flows: u32, world: &World) -> String {
    let outcome = run(world, &mut Discard, &mut |_| {}).expect("the world is right");
    let rates: Vec<f64> = outcome.flows.iter().map(|flow| flow.goodput.as_mbps_f64()).collect();
    let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|r| r * r).sum::<f64>());
    let jain = if squares > 0.0 { sum * sum / (squares * rates.len() as f64) } else { 0.0 };
    let minimum = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let maximum = rates.iter().copied().fold(0.0, f64::max);
    let full = DropCause::QueueFull as usize;
    let drops: u64 = outcome.queues.iter().map(|queue| queue.at_end.drops[full]).sum();
    let timeouts: u64 = outcome.flows.iter().map(|flow| flow.at_end.timeouts).sum();
    format!(
        "{link:<26} {algorithm:<18} {flows:>5} {sum:>7.3} {minimum:>7.3} {maximum:>7.3} \
         {jain:>6.3} {drops:>6} {timeouts:>8}"
    )
}

/// Every algorithm, each followed by itself under the ACK-loss remedy where that can act.
fn algorithms() -> impl Iterator<Item = String> {
    let remedied = |algorithm: &fairwave_cc::Algorithm| {
        algorithm.reacts_to_ack_loss.then(|| format!("ack-loss+{}", algorithm.name))
    };
    fairwave_cc::ALL
        .iter()
        .flat_map(move |algorithm| [Some(algorithm.name.to_owned()), remedied(algorithm)])
        .flatten()
}

fn table() -> String {
    let mut text = String::from(
        "Goodput in Mbps over 10 s after 2 s, seed 1, delayed ACKs; drops at full queues.\n\n",
    );
    let _ = writeln!(
        text,
        "{:<26} {:<18} flows   total     min     max   Jain  drops timeouts",
        "link", "algorithm"
    );
    thread::scope(|scope| {
        let links: Vec<_> = LINKS.iter().map(|case| scope.spawn(|| rows(*case))).collect();
        for link in links {
            text.push_str(&link.join().expect("a link's runs end"));
        }
    });
    text
}

fn rows((link, make): Case) -> String {
    let mut text = String::new();
    for algorithm in algorithms() {
        for flows in [1, 4] {
            let _ = writeln!(text, "{}", row(link, &algorithm, flows, &make(&algorithm, flows)));
        }
    }
    text
}

#[test]
fn throughput_and_fairness_are_as_recorded() {
    let recorded = fs::read_to_string(PATH).expect("the golden table is part of the source");
    let now = table();
    let changed = recorded.lines().zip(now.lines()).filter(|(was, is)| was != is);
    let diff = changed.fold(String::new(), |mut text, (was, is)| {
        let _ = writeln!(text, "- {was}\n+ {is}");
        text
    });
    assert!(recorded == now, "results changed; if meant, run `cargo xtask golden`\n{diff}");
}

#[test]
#[ignore = "rewrites the golden table; cargo xtask golden calls it"]
fn bless() {
    fs::write(PATH, table()).expect("the golden table can be written");
}
