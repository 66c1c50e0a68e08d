//! Groups of hosts, links between groups, and converters with hosts behind them.

use fairwave_lab::results::{Direction, Names};
use fairwave_lab::run::{self, Output};
use fairwave_queue::Limit;
use fairwave_scenario::Scenario;
use fairwave_scenario::plan::Plan;
use fairwave_sim::queue_names;
use fairwave_sim::world::{Change, GilbertElliott, Loss, Pace, World};
use fairwave_units::{BitRate, Duration, Instant};

/// The test bed of five terminals, each behind a converter of its own.
const TEST_BED: &str = r#"
duration = "2 s"
cell.standard = "802.11g"
[[node]]
name = "ap"
kind = "access-point"
data_rate = "54 Mbps"
[[node]]
name = "conv"
kind = "converter"
data_rate = "54 Mbps"
count = 5
[[node]]
name = "pc"
kind = "host"
count = 5
[[node]]
name = "server"
kind = "host"
[[link]]
ends = ["pc*", "conv*"]
[[link]]
ends = ["ap", "server"]
delay = "2.5 ms"
[[flow]]
name = "up"
from = "pc*"
to = "server"
"#;

fn scenario(text: &str) -> Scenario {
    let scenario = Scenario::parse("bed.toml", text).unwrap_or_else(|e| panic!("{e}"));
    let written = scenario.to_toml();
    let again = Scenario::parse("again.toml", &written).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(scenario, again, "{written}");
    scenario
}

fn wires(world: &World) -> Vec<String> {
    let name = |id: fairwave_trace::NodeId| world.nodes[id.0 as usize].name.clone();
    world.links.iter().map(|l| format!("{}-{}", name(l.ends.0), name(l.ends.1))).collect()
}

#[test]
fn two_patterns_are_joined_one_by_one_in_order() {
    let scenario = scenario(TEST_BED);
    assert_eq!(scenario.link[0].name, "pc-conv");
    let world = scenario.to_world(1);
    let expected = ["pc1-conv1", "pc2-conv2", "pc3-conv3", "pc4-conv4", "pc5-conv5", "ap-server"];
    assert_eq!(wires(&world), expected);
    assert_eq!(world.nodes.iter().filter(|node| node.radio.is_some()).count(), 6);
    assert!(queue_names(&world).contains(&"conv3>pc3".to_owned()));
}

/// Three hosts on a switch behind one converter, and the switch as a name at the other end.
#[test]
fn one_pattern_joins_each_to_the_same_node() {
    let shared = TEST_BED
        .replace("data_rate = \"54 Mbps\"\ncount = 5", "data_rate = \"54 Mbps\"")
        .replace("\"conv*\"", "\"conv\"");
    assert_eq!(wires(&scenario(&shared).to_world(1))[4], "pc5-conv");
    let other_way = shared.replace("[\"pc*\", \"conv\"]", "[\"conv\", \"pc*\"]");
    assert_eq!(wires(&scenario(&other_way).to_world(1))[4], "conv-pc5");
    // A prefix that matches the node at the other end as well: it has no link to itself.
    let switch = shared.replace("[\"pc*\", \"conv\"]", "[\"pc*\", \"pc1\"]")
        + "[[link]]\nends = [\"pc1\", \"conv\"]\n";
    let wires = wires(&scenario(&switch).to_world(1));
    assert_eq!(wires[..4], ["pc2-pc1", "pc3-pc1", "pc4-pc1", "pc5-pc1"]);
}

/// A sweep over the number of terminals sets both groups, whose pairs follow.
#[test]
fn sweeps_reach_groups_of_hosts_and_their_links() {
    let sets = ["node.pc.count=3", "node.conv.count=3", "link.pc-conv.delay=1 ms"];
    let sets: Vec<String> = sets.map(str::to_owned).to_vec();
    let plan = Plan::parse("bed.toml", TEST_BED, &sets).unwrap_or_else(|e| panic!("{e}"));
    let world = plan.points[0].scenario.to_world(1);
    assert_eq!(wires(&world), ["pc1-conv1", "pc2-conv2", "pc3-conv3", "ap-server"]);
    assert_eq!(world.links[2].delay, Duration::from_millis(1));
    let one: Vec<String> = ["node.pc.count=1", "node.conv.count=1"].map(str::to_owned).to_vec();
    let plan = Plan::parse("bed.toml", TEST_BED, &one).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(wires(&plan.points[0].scenario.to_world(1)), ["pc1-conv1", "ap-server"]);
}

/// The paper's pipe: 2.5 ms one way on a clock of 1 ms, no limit of bandwidth.
#[test]
fn a_link_may_be_a_dummynet_pipe() {
    let delay = "delay = \"2.5 ms\"\n";
    let pipe = format!("{delay}rate = \"unlimited\"\ntick = \"1 ms\"\nqueue = \"50 packets\"\n");
    let world = scenario(&TEST_BED.replace(delay, &pipe)).to_world(1);
    let (wire, pipe) = (&world.links[0], &world.links[5]);
    assert_eq!((wire.tick, pipe.tick), (None, Some(Duration::from_millis(1))));
    assert_eq!((pipe.rate, pipe.delay), (None, Duration::from_micros(2_500)));
}

/// Each change is resolved to all that holds from then on; the way back follows `loss` unless it
/// is written.
#[test]
fn a_link_may_change_and_lose_in_bursts() {
    let delay = "delay = \"2.5 ms\"\n";
    let changing = "loss = { mean_burst = 4, mean_gap = 50 }\nloss_back = 0\nchanges = [\
                    { at = \"1 s\", rate = \"16 kbps\" }, { at = \"2 s\", up = false }, \
                    { at = \"3 s\", up = true, rate = \"unlimited\", loss = 0.05 }, \
                    { at = \"4 s\", delay = \"9 ms\", loss_back = 0.5 }]\n";
    let world = scenario(&TEST_BED.replace(delay, &format!("{delay}{changing}"))).to_world(1);
    let link = &world.links[5];
    let bursts = GilbertElliott { p: 0.02, r: 0.25, good: 0.0, bad: 1.0 };
    let bursts = [Loss::Bursts(bursts), Loss::Rate(0.0)];
    assert_eq!(link.loss, bursts);
    let change = |secs, rate, micros, loss, is_up| {
        let at = Instant::ZERO + Duration::from_secs(secs);
        let delay = Duration::from_micros(micros);
        Change { at, rate, delay, back: Some(Pace { rate, delay }), loss, is_up }
    };
    let slow = Some(BitRate(16_000));
    let expected = [
        change(1, slow, 2_500, bursts, true),
        change(2, slow, 2_500, bursts, false),
        change(3, None, 2_500, Loss::both(0.05), true),
        change(4, None, 9_000, [Loss::Rate(0.05), Loss::Rate(0.5)], true),
    ];
    assert_eq!(link.changes, expected);
    assert_eq!(world.links[0].loss, Loss::NONE);
    assert!(world.links[0].changes.is_empty());
}

/// A home's line: 100 Mbps down, 20 up. What is not written for the way back is as for the way
/// forth, also in changes.
#[test]
fn a_link_may_differ_by_direction() {
    let delay = "delay = \"2.5 ms\"\n";
    let home = "rate = \"100 Mbps\"\nrate_back = \"20 Mbps\"\nqueue_back = \"50 packets\"\n\
                changes = [{ at = \"1 s\", rate_back = \"5 Mbps\" }, \
                { at = \"2 s\", delay = \"9 ms\" }, \
                { at = \"3 s\", rate = \"1 Mbps\", delay_back = \"1 ms\" }]\n";
    let world = scenario(&TEST_BED.replace(delay, &format!("{delay}{home}"))).to_world(1);
    let link = &world.links[5];
    let pace = |mbps, micros| Pace {
        rate: Some(BitRate::mbps(mbps)),
        delay: Duration::from_micros(micros),
    };
    let paces = |way| [0, 1, 2].map(|i: usize| link.changes[i].pace(way));
    assert_eq!([link.pace(0), link.pace(1)], [pace(100, 2_500), pace(20, 2_500)]);
    assert_eq!(paces(0), [pace(100, 2_500), pace(100, 9_000), pace(1, 9_000)]);
    assert_eq!(paces(1), [pace(5, 2_500), pace(5, 9_000), pace(1, 1_000)]);
    assert_eq!(*link.queue(1), Limit::Packets(50).into());
    assert_eq!(world.links[0].pace(0), world.links[0].pace(1));
}

/// A sweep reaches a change by its number.
#[test]
fn a_change_has_a_dotted_key() {
    let delay = "delay = \"2.5 ms\"\n";
    let text =
        TEST_BED.replace(delay, &format!("{delay}changes = [{{ at = \"1 s\", up = false }}]\n"));
    let later = ["link.ap-server.changes.0.at=\"1500 ms\"".to_owned()];
    let plan = Plan::parse("bed.toml", &text, &later).unwrap_or_else(|e| panic!("{e}"));
    let world = plan.points[0].scenario.to_world(1);
    assert_eq!(world.links[5].changes[0].at, Instant::ZERO + Duration::from_millis(1500));
}

/// Seen from the radio, a host behind a converter sends up, as a station does.
#[test]
fn directions_are_those_of_the_converter() {
    let down = "[[flow]]\nname = \"down\"\nfrom = \"server\"\nto = \"pc1\"\n\
                [[flow]]\nname = \"across\"\nfrom = \"pc1\"\nto = \"pc2\"\n";
    let text = format!("{TEST_BED}{down}");
    let plan = Plan::parse("bed.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let world = plan.points[0].scenario.to_world(1);
    let job = plan.jobs()[0];
    let run = run::execute(&plan, job, Output::Nothing, &mut |_| {}).unwrap();
    let directions: Vec<_> = run.summary.flows.iter().map(|f| f.direction).collect();
    let expected = [vec![Direction::Up; 5], vec![Direction::Down, Direction::Other]].concat();
    assert_eq!(directions, expected);
    assert!(run.summary.flows.iter().all(|flow| flow.goodput_bps > 0), "{:?}", run.summary);
    assert!(Names::of(&world).radios().eq(["ap", "conv1", "conv2", "conv3", "conv4", "conv5"]));
}

/// It may roam, as a station does.
#[test]
fn a_converter_may_roam() {
    let second = r#"
[[cell]]
name = "other"
standard = "802.11g"
channel = 6
[[node]]
name = "ap2"
kind = "access-point"
data_rate = "54 Mbps"
cell = "other"
[[link]]
ends = ["ap2", "server"]
"#;
    let roams = "count = 5\nap = \"ap\"\n\
                 roaming = { aps = [\"ap2\"], handovers = [{ at = \"1 s\", to = \"ap2\" }] }\n";
    let cell = "[[cell]]\nname = \"one\"\nstandard = \"802.11g\"";
    let first = TEST_BED
        .replace("cell.standard = \"802.11g\"", cell)
        .replace("kind = \"access-point\"", "kind = \"access-point\"\ncell = \"one\"")
        .replacen("count = 5\n", roams, 1);
    let scenario = scenario(&format!("{first}{second}"));
    let world = scenario.to_world(1);
    assert!(world.nodes[1].radio.as_ref().is_some_and(|radio| radio.roaming.is_some()));
}
