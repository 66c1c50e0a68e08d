//! Scenario files as a user meets them: the catalogue, defaults, groups, sweeps, overrides.

use fairwave_scenario::plan::{Job, Plan};
use fairwave_scenario::{Scenario, schema};
use fairwave_sim::world::{Role, Source, Traffic};
use fairwave_tcp::{Config, Profile};
use fairwave_units::{BitRate, Duration, Instant, Metres};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

const SMALL: &str = r#"
[cell]
standard = "802.11a"
[[node]]
name = "ap"
kind = "access-point"
[[node]]
name = "sta"
kind = "station"
count = 3
[[node]]
name = "server"
kind = "host"
[[link]]
ends = ["ap", "server"]
[[flow]]
name = "up"
from = "sta*"
to = "server"
start = "5 s"
start_spread = "1 s"
"#;

fn small(appended: &str) -> Scenario {
    let text = format!("{SMALL}{appended}");
    Scenario::parse("small.toml", &text).unwrap_or_else(|e| panic!("{e}"))
}

fn plan(appended: &str, sets: &[&str]) -> Result<Plan, String> {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    Plan::parse("small.toml", &format!("{SMALL}{appended}"), &sets).map_err(|e| e.to_string())
}

fn catalogue() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
    let entries = std::fs::read_dir(folder).expect("scenarios/ is there");
    let mut files: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "toml"));
    files.sort();
    files
}

/// Reads what `scenario` writes, and compares both what it says and what it simulates.
fn assert_round_trip(scenario: &Scenario) {
    let text = scenario.to_toml();
    let again = Scenario::parse("resolved.toml", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(*scenario, again, "{text}");
    let worlds = [scenario, &again].map(|s| format!("{:?}", s.to_world(7)));
    assert_eq!(worlds[0], worlds[1], "{text}");
}

#[test]
fn the_catalogue_asks_questions_and_resolves() {
    let files = catalogue();
    assert!(files.len() >= 8, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let first = text.lines().next().unwrap_or_default();
        assert!(first.starts_with("# ") && first.ends_with('?'), "{}: {first}", file.display());
        let plan = Plan::load(&file, &[]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(plan.warnings(), Vec::<String>::new(), "{}", file.display());
        plan.points.iter().for_each(|p| assert_round_trip(&p.scenario));
    }
}

#[test]
fn every_default_is_written_out() {
    let text = small("").to_toml();
    for line in
        ["duration = \"60 s\"", "capture = \"10 dB\"", "min_rto = \"1 s\"", "stop = \"never\""]
    {
        assert!(text.contains(line), "no {line} in\n{text}");
    }
}

/// What flow `up` of three stations runs with, at both ends.
fn ends_with(tcp: &str, flow: &str) -> (Config, Config, String) {
    let text = format!("[tcp]\n{tcp}\n{SMALL}{flow}\n");
    let scenario = Scenario::parse("stack.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    assert_round_trip(&scenario);
    match &scenario.to_world(1).flows[0].traffic {
        Traffic::Tcp(tcp) => (tcp.sender, tcp.receiver, tcp.congestion_control.name().to_owned()),
        other => panic!("{other:?}"),
    }
}

/// The flow's own keys, then the table `[tcp]`, then the flow's stack, or else the table's.
#[test]
fn explicit_keys_override_the_stack_whichever_table_names_it() {
    let profile = |name: &str| (Profile::find(name).expect(name).config)();
    let (linux, bsd) = (profile("linux-6"), profile("bsd-reno"));
    assert_eq!(ends_with("", ""), (Config::default(), Config::default(), "reno".to_owned()));
    let (sender, receiver, algorithm) = ends_with("stack = \"linux-6\"", "");
    assert_eq!((sender, receiver, algorithm.as_str()), (linux, linux, "cubic"));
    let (sender, _, algorithm) =
        ends_with("stack = \"linux-6\"\nmin_rto = \"2 s\"", "stack = \"bsd-reno\"");
    let min_rto = Duration::from_secs(2);
    assert_eq!((sender, algorithm.as_str()), (Config { min_rto, ..bsd }, "reno"));
    let own = "min_rto = \"3 s\"\ncongestion_control = \"compound\"\nnagle = false";
    let (sender, _, algorithm) = ends_with("stack = \"linux-6\"\nmin_rto = \"2 s\"", own);
    let min_rto = Duration::from_secs(3);
    assert_eq!(
        (sender, algorithm.as_str()),
        (Config { min_rto, nagle: false, ..linux }, "compound")
    );
}

/// The receiving end may be another stack: the keys are then the sender's.
#[test]
fn a_receiver_may_have_a_stack_of_its_own() {
    let (sender, receiver, _) =
        ends_with("quick_acks = 3", "stack = \"linux-6\"\nreceiver_stack = \"windows-xp\"");
    assert_eq!((sender.quick_acks, receiver.quick_acks), (3, 0));
    assert_eq!(receiver, (Profile::find("windows-xp").unwrap().config)());
}

#[test]
fn a_group_stands_on_a_circle_and_each_member_has_its_flow() {
    let world = small("").to_world(1);
    let names: Vec<_> = world.nodes.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["ap", "sta1", "sta2", "sta3", "server"]);
    let flows: Vec<_> = world.flows.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(flows, ["up-sta1", "up-sta2", "up-sta3"]);
    for node in &world.nodes[1..4] {
        let radio = node.radio.as_ref().unwrap();
        let (x, y) = radio.position;
        assert!((x.0 * x.0 + y.0 * y.0 - 16.0).abs() < 1e-9, "{:?}", radio.position);
        assert!(matches!(radio.role, Role::Station { ap } if ap.0 == 0));
        assert_eq!(radio.mode.rate(), BitRate::mbps(54));
    }
}

#[test]
fn two_groups_around_one_access_point_do_not_stand_on_each_other() {
    let more = "[[node]]\nname = \"more\"\nkind = \"station\"\ncount = 3\n";
    let world = small(more).to_world(1);
    let radios = world.nodes.iter().filter_map(|n| n.radio.as_ref());
    let places: Vec<_> = radios.map(|r| r.position).collect();
    for (i, a) in places.iter().enumerate() {
        let apart = |b: &(Metres, Metres)| (a.0.0 - b.0.0).abs() + (a.1.0 - b.1.0).abs() > 0.1;
        assert!(places[..i].iter().all(apart), "{places:?}");
    }
}

#[test]
fn a_star_taps_every_node_and_is_no_end_of_a_link() {
    let taps = small("[record]\ntaps = [\"*\"]\n").tapped();
    assert_eq!(taps.len(), 5);
    let error = plan("[[link]]\nends = [\"*\", \"server\"]\n", &[]).unwrap_err();
    assert!(error.contains("\"*\" alone names no group of nodes"), "{error}");
}

#[test]
fn start_times_are_drawn_by_name_and_stay_when_a_station_is_added() {
    let starts = |scenario: &Scenario, seed| -> Vec<Instant> {
        scenario.to_world(seed).flows.iter().map(|f| f.start).collect()
    };
    let three = starts(&small(""), 1);
    let four = &plan("", &["node.sta.count=4"]).unwrap().points[0].scenario;
    assert_eq!(three, starts(four, 1)[..3]);
    assert_ne!(three, starts(&small(""), 2));
    let seconds = |s| Instant::ZERO + Duration::from_secs(s);
    assert!(three.iter().all(|s| (seconds(5)..=seconds(6)).contains(s)), "{three:?}");
    assert_ne!(three[0], three[1]);
}

#[test]
fn a_constant_rate_becomes_an_interval() {
    let flow = "[[flow]]\nname = \"voice\"\nfrom = \"server\"\nto = \"sta1\"\n\
        transport = \"udp\"\ntraffic = \"cbr\"\npayload = \"160 B\"\nrate = \"64 kbps\"\n";
    let world = small(flow).to_world(1);
    let Traffic::Datagrams(Source::Cbr { payload_bytes, interval }) = world.flows[3].traffic else {
        panic!()
    };
    assert_eq!((payload_bytes, interval), (160, Duration::from_millis(20)));
}

/// On one channel two cells share what each has alone on two. It is not quite half: where a station
/// of each sends at once, both access points decode their own, 4 m away, over the other at 30 m.
#[test]
fn cells_on_one_channel_share_its_medium() {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios/overlapping-cells.toml");
    let plan = Plan::load(&file, &["duration=3 s".to_owned()]).unwrap_or_else(|e| panic!("{e}"));
    let media = |point: usize| plan.points[point].scenario.to_world(1).cells.len();
    assert_eq!((media(0), media(1)), (1, 2));
    let goodput = |point: usize| {
        let world = plan.points[point].scenario.to_world(1);
        let run = fairwave_sim::run(&world, &mut fairwave_trace::Discard, &mut |_| {});
        run.expect("the world is right").flows.iter().map(|f| f.goodput.0).sum::<u64>() as f64
    };
    let gain = goodput(1) / goodput(0);
    assert!((1.5..2.0).contains(&gain), "{gain}");
}

const SOURCES: [&str; 12] = [
    "transport = \"udp\"\ntraffic = \"poisson\"\nrate = \"1 Mbps\"",
    "transport = \"udp\"\ntraffic = \"on-off\"\ninterval = \"2 ms\"\non = \"300 ms\"",
    "transport = \"udp\"\ntraffic = \"on-off\"\ninterval = \"2 ms\"\npareto_shape = 1.5",
    "transport = \"udp\"\ntraffic = \"voip\"",
    "transport = \"udp\"\ntraffic = \"voip\"\npayload = \"350 B\"\ninterval = \"30 ms\"",
    "transport = \"udp\"\ntraffic = \"video\"\nrate = \"2 Mbps\"\nspread = 0",
    "transport = \"udp\"\ntraffic = \"trace\"\nemissions = [\"0 s 1 B\", \"1500 us 2268 B\"]",
    "transport = \"udp\"\ntraffic = \"trace\"\nemissions = [\"1 s 9 B\"]\nrepeat_every = \"2 s\"",
    "transport = \"udp\"\ntraffic = \"saturate\"\npayload = \"1 B\"",
    "web = {}",
    "web = { objects = 3, main_object = \"1 MB\", embedded_object = { mean = \"9 KB\" } }",
    "web = { main_object = { shape = 1.3, min = \"2 KB\" }, objects = { max = 9 } }",
];

#[test]
fn every_source_is_resolved_and_reads_back_equal() {
    for source in SOURCES {
        let flow = format!("[[flow]]\nname = \"s\"\nfrom = \"server\"\nto = \"sta1\"\n{source}\n");
        assert_round_trip(&small(&flow));
    }
}

#[test]
fn a_sweep_is_every_combination_and_every_seed() {
    let sweep = "[sweep]\n\"node.sta.count\" = [2, 4]\n\
        \"flow.up.congestion_control\" = [\"reno\", \"compound\", \"ack-loss+reno\"]\nseeds = 2\n";
    let plan = plan(sweep, &[]).unwrap();
    assert_eq!(plan.points.len(), 6);
    let axes: Vec<_> = plan.points[4].axes.iter().map(|(_, v)| v.as_str()).collect();
    assert_eq!(axes, ["4", "compound"]);
    assert_eq!(plan.points[4].scenario.to_world(1).flows.len(), 4);
    let jobs = plan.jobs();
    assert_eq!(jobs.len(), 12);
    assert_eq!(jobs[..3], [(0, 1), (0, 2), (1, 1)].map(|(point, seed)| Job { point, seed }));
    assert_eq!(plan.scenario(jobs[1]).seed, 2);
}

#[test]
fn keys_of_one_axis_change_together() {
    let sweep = "[sweep]\n\
        \"node.sta.count, cell.standard\" = [[2, \"802.11b\"], [3, \"802.11a\"]]\n\
        \"flow.up.congestion_control\" = [\"reno\", \"compound\"]\n";
    let both = plan(sweep, &[]).unwrap();
    let axes = |i: usize| both.points[i].axes.iter().map(|(_, v)| v.as_str()).collect::<Vec<_>>();
    assert_eq!(both.points.len(), 4);
    assert_eq!(axes(1), ["2", "802.11b", "compound"]);
    assert_eq!(axes(2), ["3", "802.11a", "reno"]);
    let one = plan(sweep, &["node.sta.count, cell.standard=[5, '802.11g']"]).unwrap();
    assert_eq!(one.points.len(), 2);
    assert_eq!(one.points[0].scenario.to_world(1).nodes.len(), 7);
    for (argument, expected) in [
        ("node.sta.count=[2, 7]", "the sweep has no 7 here"),
        ("sweep.cell.standard, seed=[['802.11a', 2]]", "together with others"),
        ("node.sta.count, cell.standard=[5]", "a list of 2"),
        ("sweep.seed, seed=[[1, 2]]", "a key twice"),
    ] {
        let error = plan(sweep, &[argument]).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

/// A group that a sweep makes a group of one: its first node keeps its name at each point, and a
/// flow that names the group without a pattern still finds it.
#[test]
fn a_group_of_one_keeps_its_number() {
    let names = |scenario: &Scenario| -> Vec<String> {
        scenario.to_world(1).nodes.iter().map(|node| node.name.clone()).collect()
    };
    let both = plan("", &["sweep.node.sta.count=[1, 2]"]).unwrap();
    let shown: Vec<_> = both.points.iter().map(|point| names(&point.scenario)).collect();
    assert_eq!(shown[0], ["ap", "sta1", "server"]);
    assert_eq!(shown[1], ["ap", "sta1", "sta2", "server"]);
    assert_round_trip(&both.points[0].scenario);
    let one = plan("", &["node.sta.count=1", "flow.up.from=sta"]).unwrap();
    assert_eq!(names(&one.points[0].scenario), ["ap", "sta1", "server"]);
    let plain = SMALL.replace("count = 3\n", "").replace("sta*", "sta");
    assert_eq!(names(&Scenario::parse("plain.toml", &plain).unwrap()), ["ap", "sta", "server"]);
}

/// The axes of each point, after settings.
fn points_with(sweep: &str, sets: &[&str]) -> Vec<Vec<String>> {
    let plan = plan(sweep, sets).unwrap_or_else(|error| panic!("{sets:?}: {error}"));
    let values = |point: &fairwave_scenario::plan::Point| {
        point.axes.iter().map(|(_, value)| value.clone()).collect()
    };
    plan.points.iter().map(values).collect()
}

#[test]
fn a_list_leaves_or_replaces_the_values_of_an_axis() {
    let sweep = "[sweep]\n\"node.sta.count\" = [2, 4, 8]\n";
    assert_eq!(points_with(sweep, &["node.sta.count=[2, 8]"]), [["2"], ["8"]]);
    assert_eq!(points_with(sweep, &["node.sta.count=[3]"]), [["3"]]);
    let both = "node.sta.count, seed=[[2, 7], [3, 9]]";
    let joint = "[sweep]\n\"node.sta.count, seed\" = [[1, 1]]\n";
    assert_eq!(points_with(joint, &[both]), [["2", "7"], ["3", "9"]]);
    let replaced = [&*format!("sweep.{both}")];
    assert_eq!(points_with(sweep, &replaced), [["2", "7"], ["3", "9"]], "an axis within");
}

#[test]
fn one_key_of_several_that_change_together_narrows_them_or_leaves_them() {
    let sweep = "[sweep]\n\"duration, warm_up\" = \
        [[\"9 s\", \"1 s\"], [\"8 s\", \"2 s\"], [\"7 s\", \"2 s\"]]\n";
    assert_eq!(points_with(sweep, &["warm_up=2s"]), [["8 s", "2 s"], ["7 s", "2 s"]]);
    for narrowed in ["duration=['7 s', '9 s']", "sweep.duration=['9 s', '7 s']"] {
        assert_eq!(points_with(sweep, &[narrowed]), [["9 s", "1 s"], ["7 s", "2 s"]]);
    }
    assert_eq!(points_with(sweep, &["duration=6500 ms"]), [["1 s"], ["2 s"]], "each once");
    let outside = plan(sweep, &["duration=6500 ms"]).unwrap();
    assert_eq!(outside.points[0].scenario.duration, Duration::from_millis(6500));
    let apart = points_with(sweep, &["sweep.duration=['6500 ms', '6200 ms']"]);
    let expected = [["1 s", "6500 ms"], ["1 s", "6200 ms"], ["2 s", "6500 ms"], ["2 s", "6200 ms"]];
    assert_eq!(apart, expected);
    let twice = points_with(sweep, &["warm_up=2 s", "duration=7 s"]);
    assert_eq!(twice, [["7 s", "2 s"]], "settings act one after the other");
}

#[test]
fn variants_set_the_keys_that_they_write() {
    let sweep = "[sweep]\n\"node.sta.count\" = [2, 3]\nvariant = [{ name = \"as it is\" }, \
        { name = \"b\", \"cell.standard\" = \"802.11b\", \"tcp.sack\" = false }]\n";
    let all = plan(sweep, &[]).unwrap();
    let axes: Vec<_> = all.points.iter().map(|p| p.axes[1].1.as_str()).collect();
    assert_eq!(axes, ["as it is", "b", "as it is", "b"]);
    let standard = |i: usize| all.points[i].scenario.cell[0].standard;
    assert_ne!(standard(2), standard(3));
    let one = plan(sweep, &["variant=b"]).unwrap();
    assert_eq!(one.points.len(), 2);
    assert_eq!(one.points[0].scenario, all.points[1].scenario);
    let both = plan(sweep, &["variant=['b', 'as it is']"]).unwrap();
    assert_eq!(both.points, all.points, "in the file's order");
    assert_eq!(plan(sweep, &["variant=['b']"]).unwrap().points, one.points);
    let other = plan(sweep, &["variant='as it is'", "tcp.sack=true"]).unwrap();
    assert_eq!(other.points.len(), 2, "what only other variants change is free");
    assert!(plan(sweep, &["variant=b", "variant=b", "tcp.sack=true"]).is_err());
    for (argument, expected) in [
        ("tcp.sack=true", "variants of the sweep change this key"),
        ("variant=c", "there is no variant called"),
        ("variant=['b', 'c']", "there is no variant called c"),
        ("variant=[]", "there is no variant called"),
        ("sweep.variant=[1]", "a variant is a table"),
        ("sweep.variant=[{}]", "a variant needs a name"),
        ("sweep.variant=[{ name = 'x', 'tcp.sakc' = true }]", "did you mean"),
    ] {
        let error = plan(sweep, &[argument]).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

/// Also values that are written in different ways.
#[test]
fn a_value_that_an_axis_has_twice_is_refused() {
    let sweep = "[sweep]\n\"node.sta.count\" = [2, 4]\n\"duration, warm_up\" = [['7 s', '1 s']]\n";
    for argument in [
        "node.sta.count=[3, 5, 3]",
        "sweep.cell.errors.data=[0, 0.1, 0.0]",
        "sweep.flow.up.packets=[2, 0b10]",
        "duration=['8 s', '8 s']",
        "duration, warm_up=[['7 s', '1 s'], ['8 s', '1 s'], ['7 s', '1 s']]",
        "sweep.variant=[{ name = 'a' }, { name = 'a', 'tcp.sack' = false }]",
    ] {
        let error = plan(sweep, &[argument]).unwrap_err();
        assert!(error.contains("this value is there twice"), "{argument}: {error}");
    }
    let narrowed = plan(sweep, &["duration=['7 s', '7 s']"]).unwrap();
    assert_eq!(narrowed.points.len(), 2, "it leaves a step that is there once");
}

#[test]
fn an_override_sets_a_value_and_replaces_an_axis() {
    let sweep = "[sweep]\n\"node.sta.count\" = [2, 4]\n";
    let one = plan(sweep, &["node.sta.count=5", "cell.standard=802.11b", "seed = 9"]).unwrap();
    assert_eq!(one.points.len(), 1);
    assert_eq!(one.points[0].axes, [("node.sta.count".to_owned(), "5".to_owned())]);
    assert_eq!(one.points[0].scenario.to_world(9).nodes.len(), 7);
    assert_eq!(one.jobs(), [Job { point: 0, seed: 9 }]);
    let axis = plan(sweep, &["sweep.node.sta.count=[1, 2, 3]", "sweep.seeds=2"]).unwrap();
    assert_eq!(axis.jobs().len(), 6);
}

#[test]
fn a_wrong_override_is_named_in_its_message() {
    for (argument, expected) in [
        ("node.sta.cuont=2", "unknown key; did you mean \"count\"?"),
        ("node.stb.count=2", "there is no node called \"stb\"; did you mean \"sta\"?"),
        ("duration=5", "it has no unit"),
        ("duration", "this has no \"=\""),
        ("node.sta=3", "this is a table"),
        ("tcp=3", "must be a table"),
        ("flow..x=1", "empty part"),
        ("sweep.seeds=0", "runs"),
    ] {
        let error = plan("", &[argument]).unwrap_err();
        let start = format!("--set {argument}:1:");
        assert!(error.starts_with(&start) && error.contains(expected), "{error}");
    }
}

#[test]
fn the_schema_knows_exactly_the_keys_that_are_written() {
    let schema = schema();
    let defs = &schema["$defs"];
    let tables = [("cell", "Cell"), ("link", "Link"), ("record", "Record")];
    let written: toml::Table = small("").to_toml().parse().unwrap();
    for (key, definition) in tables {
        let table = match &written[key] {
            toml::Value::Array(list) => list[0].as_table().unwrap(),
            other => other.as_table().unwrap(),
        };
        let properties = defs[definition]["properties"].as_object().unwrap();
        for name in table.keys() {
            assert!(properties.contains_key(name), "{definition} lacks {name}");
        }
    }
    for key in written.keys().map(String::as_str).chain(["tcp", "sweep"]) {
        assert!(schema["properties"].get(key).is_some(), "no {key}");
    }
    assert_eq!(defs["Cell"]["required"], serde_json::json!(["standard"]));
    assert!(schema.get("required").is_none_or(|r| r.as_array().unwrap().is_empty()));
}

fn quoted(values: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(values).prop_map(|v| format!("{v:?}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_is_resolved_reads_back_equal(
        seed in 0..i64::MAX as u64,
        millis in 100_u64..1_000_000,
        count in 1_u32..40,
        standard in quoted(&["802.11a", "802.11b", "802.11g"]),
        exponent in 1.0..10.0_f64,
        power in -50.0..50.0_f64,
        loss in 0.0..=1.0_f64,
        distance in 0.0..1000.0_f64,
        errors in prop_oneof![
            Just("\"snr\"".to_owned()),
            (0.0..=1.0_f64).prop_map(|p| format!("{{ data = {p:?} }}")),
        ],
        acks in prop_oneof![
            quoted(&["on", "off"]),
            (2..64_u32).prop_map(|n| format!("{{ every = {n}, timeout = \"7 ms\" }}")),
        ],
        queue in quoted(&["7 packets", "64 KiB", "1000000 packets"]),
        rts in quoted(&["off", "2347 B", "0 B"]),
        size in quoted(&["unlimited", "1 MB", "3 GiB"]),
    ) {
        let text = format!(
            "seed = {seed}\nduration = \"{millis} ms\"\n\
             [cell]\nstandard = {standard}\npath_loss_exponent = {exponent:?}\nerrors = {errors}\n\
             rts_threshold = {rts}\n\
             [[node]]\nname = \"ap\"\nkind = \"access-point\"\nqueue = {queue}\n\
             [[node]]\nname = \"sta\"\nkind = \"station\"\ncount = {count}\n\
             power = \"{power} dBm\"\ndistance = \"{distance} m\"\n\
             [[node]]\nname = \"server\"\nkind = \"host\"\n\
             [[link]]\nends = [\"ap\", \"server\"]\nloss = {loss:?}\n\
             [tcp]\ndelayed_ack = {acks}\n\
             [[flow]]\nname = \"up\"\nfrom = \"sta*\"\nto = \"server\"\nsize = {size}\n\
             start_spread = \"90 ms\"\n"
        );
        let scenario = Scenario::parse("drawn.toml", &text)
            .map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        assert_round_trip(&scenario);
    }

    #[test]
    fn no_text_makes_it_panic(
        cut in 0..SMALL.len(),
        noise in "[\\[\\]=\"a-z0-9.{}\n é\u{0}]{0,12}",
    ) {
        let text = format!("{}{noise}{}", &SMALL[..cut], &SMALL[cut..]);
        if let Err(error) = Plan::parse("noise.toml", &text, &[]) {
            prop_assert!(error.to_string().starts_with("noise.toml:"));
        }
    }
}
