//! Figures and comparisons of existing runs.

use crate::common::{ends_with, json, scratch, tiny};
use std::fs;
use std::path::Path;

/// A sweep of two congestion control algorithms, two queues and three seeds.
fn sweep(place: &Path, out: &str, more: &[&str]) {
    let scenario = tiny().display().to_string();
    let args = [
        "sweep",
        &scenario,
        "--out",
        out,
        "--set",
        "sweep.seeds=3",
        "--set",
        "sweep.node.ap.queue=[\"5 packets\", \"50 packets\"]",
        "--quiet",
    ];
    ends_with(0, place, &[&args[..], more].concat());
}

#[test]
fn a_sweep_is_drawn_over_an_axis() {
    let place = scratch();
    sweep(place.path(), "s", &[]);
    let args = ["plot", "s", "--y", "flow.up.goodput_mbps", "--x", "queue"];
    let (out, _) = ends_with(0, place.path(), &args);
    assert_eq!(out.lines().count(), 2, "{out}");
    let svg = fs::read_to_string(place.path().join(out.lines().next().unwrap())).unwrap();
    for printed in ["queue (packets)", "congestion_control = reno", "flow.up.goodput_mbps"] {
        assert!(svg.contains(printed), "{printed}");
    }
    ends_with(0, place.path(), &["plot", "s", "--y", "jain", "--file", "j.png"]);
    assert!(fs::read(place.path().join("j.png")).unwrap().starts_with(b"\x89PNG"));
    let both = ["plot", "s", "--y", "jain", "--y", "delay_p99_ms"];
    let (_, err) = ends_with(2, place.path(), &both);
    assert!(err.contains("no figure \"delay_p99_ms\"; the nearest are: flow."), "{err}");
    assert!(err.contains("flow.up.delay_p99_ms") && err.contains("flow.down.delay_p99"), "{err}");
    let (_, err) = ends_with(2, place.path(), &["plot", "s", "--y", "jain", "--x", "speed"]);
    assert!(err.contains("there is no axis \"speed\"; the axes are: "), "{err}");
    let (_, err) = ends_with(2, place.path(), &["plot", "s", "--y", "speed"]);
    assert!(err.contains("the nearest are: ") && err.contains("tcp.congestion_control"), "{err}");
    let column = ["plot", "s", "--y", "jain", "--width", "85 mm", "--file", "c.svg"];
    ends_with(0, place.path(), &column);
    let svg = fs::read_to_string(place.path().join("c.svg")).unwrap();
    assert!(svg.starts_with("<svg width=\"321\""), "85 mm at 96 pixels an inch: {svg}");
    let (_, err) = ends_with(2, place.path(), &[&column[..5], &["8 mm"]].concat());
    assert!(err.contains("such as '85 mm'"), "{err}");
    ends_with(1, place.path(), &["plot", "nowhere", "--y", "jain"]);
}

/// By directory names `long` would come before `short`, and `seed-10` before `seed-2`.
#[test]
fn points_stand_in_the_order_of_their_sweep() {
    let place = scratch();
    let scenario = tiny().display().to_string();
    let args = ["sweep", &scenario, "--out", "s", "--quiet", "--set", "sweep.seeds=11"];
    let algorithm = ["--set", "tcp.congestion_control=reno", "--set", "duration=600 ms"];
    let variants = "sweep.variant=[{ name = \"short\", \"node.ap.queue\" = \"9 packets\" }, \
                    { name = \"long\", \"node.ap.queue\" = \"50 packets\" }]";
    ends_with(0, place.path(), &[&args[..], &algorithm, &["--set", variants]].concat());
    let compared = json(place.path(), &["compare", "s", "s", "--metric", "jain"]);
    let points = compared["comparisons"].as_array().unwrap().iter();
    let points = points.map(|one| one["point"].as_str().unwrap_or_default());
    let names: Vec<&str> = points.filter_map(|point| point.split("variant = ").nth(1)).collect();
    assert_eq!(names, ["short", "long"], "{compared}");
    ends_with(0, place.path(), &["plot", "s", "--y", "jain", "--file", "j.svg"]);
    let svg = fs::read_to_string(place.path().join("j.svg")).unwrap();
    assert!(svg.find("short") < svg.find("long"), "{svg}");
    let runs = fairwave_lab::points::Digest::read_all(&place.path().join("s")).unwrap();
    let seeds: Vec<u64> = runs.iter().map(|run| run.seed).collect();
    assert_eq!(seeds, (1..=11).chain(1..=11).collect::<Vec<_>>());
}

#[test]
fn a_run_is_drawn_over_time() {
    let place = scratch();
    sweep(place.path(), "s", &["--set", "sweep.seeds=1", "--set", "node.ap.queue=9 packets"]);
    let points = fs::read_dir(place.path().join("s")).unwrap();
    let point = points.map(|entry| entry.unwrap().path()).next().unwrap();
    let run = point.join("seed-1").display().to_string();
    let value = json(place.path(), &["plot", &run, "--y", "flows.cwnd_bytes"]);
    let svg = fs::read_to_string(value["files"][0].as_str().unwrap()).unwrap();
    assert!(svg.contains("cwnd_bytes") && svg.contains("time (s)"), "{svg}");
    for y in ["pairs.mcs", "pairs.airtime_ppm", "delays.p99_ns"] {
        let value = json(place.path(), &["plot", &run, "--y", y]);
        let svg = fs::read_to_string(value["files"][0].as_str().unwrap()).unwrap();
        let label = if y.starts_with("pairs") { "ap&gt;sta2" } else { "down" };
        assert!(svg.contains(label), "{y}: {svg}");
    }
    let (_, err) = ends_with(2, place.path(), &["plot", &run, "--y", "flows.speed"]);
    assert!(err.contains("there is no column \"speed\"; the nearest are: "), "{err}");
}

#[test]
fn runs_are_drawn_over_each_other() {
    let place = scratch();
    sweep(place.path(), "s", &["--set", "sweep.seeds=1", "--set", "node.ap.queue=9 packets"]);
    let points = fs::read_dir(place.path().join("s")).unwrap();
    let runs = points.map(|entry| entry.unwrap().path().join("seed-1").display().to_string());
    let runs: Vec<String> = runs.collect();
    let [first, second] = runs.as_slice() else { panic!("{runs:?}") };
    let args = ["plot", first, second, "--y", "flows.cwnd_bytes", "--file", "both.svg"];
    ends_with(0, place.path(), &args);
    let svg = fs::read_to_string(place.path().join("both.svg")).unwrap();
    let labels = ["=reno,queue=9_packets: up", "=ack-loss+compound,queue=9_packets: down"];
    assert!(labels.iter().all(|label| svg.contains(label)), "{svg}");
    let (_, err) = ends_with(2, place.path(), &["plot", first, second, "--y", "jain"]);
    assert!(err.contains("as series over time"), "{err}");
    let (_, err) = ends_with(2, place.path(), &["plot", first, "s", "--y", "flows.cwnd_bytes"]);
    assert!(err.contains("s: not the directory of one run"), "{err}");
}

#[test]
fn what_differs_is_told_from_what_chance_makes() {
    let place = scratch();
    sweep(place.path(), "a", &[]);
    sweep(place.path(), "b", &["--set", "link.ap-server.delay=40 ms"]);
    let same = json(place.path(), &["compare", "a", "a"]);
    let all = same["comparisons"].as_array().unwrap();
    assert!(all.len() >= 16, "four points, six figures: {}", all.len());
    assert!(all.iter().all(|one| one["difference"]["p"] == 1.0), "{same}");
    let args = ["compare", "a", "b", "--metric", "goodput_mbps"];
    let (out, _) = ends_with(0, place.path(), &args);
    assert!(out.contains("p (Holm)") && out.contains("  yes"), "{out}");
    let sides = "first: a, 12 runs\nsecond: b, 12 runs\nRuns of one seed in pairs";
    assert!(out.contains(sides), "{out}");
    let (_, err) = ends_with(2, place.path(), &["compare", "a", "b", "--metric", "speed"]);
    assert!(err.contains("figures, the nearest are: "), "{err}");
    let (_, err) = ends_with(2, place.path(), &[&args[..], &["--metric", "speed"]].concat());
    assert!(err.contains("no point and figure \"speed\" in common; of figures"), "{err}");
}

/// A link to runs made `compare` count them twice, and their p-values smaller.
#[cfg(unix)]
#[test]
fn runs_behind_links_are_not_counted_again() {
    let place = scratch();
    sweep(place.path(), "s", &[]);
    std::os::unix::fs::symlink("s", place.path().join("latest")).unwrap();
    std::os::unix::fs::symlink("..", place.path().join("s/up")).unwrap();
    for args in [["compare", "s", "s"], ["compare", "latest", "latest"]] {
        let (out, _) = ends_with(0, place.path(), &args);
        let sides = format!("first: {}, 12 runs\nsecond: {}, 12 runs\n", args[1], args[1]);
        assert!(out.contains(&sides), "{out}");
    }
    let found = fairwave_lab::points::Digest::read_all(place.path()).unwrap();
    assert_eq!(found.len(), 12);
}

/// `matrix --simulate` leaves such directories: means over both would be those of neither.
#[test]
fn sweeps_beside_each_other_are_not_averaged() {
    let place = scratch();
    fs::create_dir(place.path().join("m")).unwrap();
    let short = ["--set", "node.ap.queue=9 packets", "--set", "duration=600 ms"];
    sweep(place.path(), "m/kernel", &short);
    sweep(place.path(), "m/simulator", &short);
    for args in [&["plot", "m", "--y", "jain"][..], &["compare", "m", "m/kernel"]] {
        let (_, err) = ends_with(2, place.path(), args);
        assert!(err.contains("m/kernel/") && err.contains(" and m/simulator/"), "{err}");
        assert!(err.contains("the same point and seed: name the directory of one sweep"), "{err}");
    }
    ends_with(0, place.path(), &["plot", "m/kernel", "--y", "jain"]);
    let shown = json(place.path(), &["show", "m", "--out", "m.html"]);
    assert!(shown["page_bytes"].as_u64() > Some(0), "a page has both side by side: {shown}");
}
