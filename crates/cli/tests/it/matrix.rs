//! `fairwave matrix`: a short matrix of the kernel's algorithms over emulated links. On a busy
//! machine runs may be late and do not count, which fails no test.

use crate::common::{ends_with, fairwave, scratch};
use crate::emulate::machine_can;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Two delays with runs of a second and a half each, on both hosts.
const ARGS: [&str; 17] = [
    "matrix",
    "--algorithms",
    "reno",
    "--beside",
    "alone",
    "--over",
    "link.wire.delay=5 ms,15 ms",
    "--set",
    "link.wire.loss=0",
    "--set",
    "emulate.lateness_limit=1 s",
    "--set",
    "warm_up=0.5 s",
    "--for=1.5s",
    "--simulate",
    "--json",
    "--out=out",
];

fn matrix(place: &Path, more: &[&str]) -> (Option<i32>, Value) {
    let output = fairwave(place, &[&ARGS, more].concat()).output().expect("the command starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    let value = serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}\n{err}"));
    (output.status.code(), value)
}

/// Checks goodput and round-trip time of each point. On a busy machine the kernel's sockets carry
/// less, and the last round trips take longer.
fn assert_figures(points: &[Value], is_idle: bool) {
    for point in points {
        let [host, delay] = ["host", "link.wire.delay"].map(|key| &point["axes"][key]);
        let [goodput, rtt] = ["goodput_mbps", "rtt_ms"].map(|name| &point["metrics"][name]["mean"]);
        // A link of 20 Mbps, and a queue of at most 25 ms. Data that waited for a retransmission
        // until the end of the warm-up may count.
        let (goodput, rtt) = (goodput.as_f64().expect("goodput"), rtt.as_f64().expect("rtt"));
        let is_sharp = is_idle || host == "simulator";
        let min_mbps = if is_sharp { 5.0 } else { 0.0 };
        assert!(goodput > min_mbps && goodput < 25.0, "{host} {delay}: {goodput} Mbps");
        let min_ms = if delay == "5 ms" { 10.0 } else { 30.0 };
        let max_ms = if is_sharp { 4.0 * min_ms + 30.0 } else { f64::INFINITY };
        assert!((min_ms..max_ms).contains(&rtt), "{host} {delay}: {rtt} ms");
    }
}

#[test]
#[ignore = "real time: cargo xtask test --realtime"]
fn realtime_an_algorithm_fills_the_links_of_a_matrix() {
    if machine_can() {
        let (code, value) = matrix(scratch().path(), &[]);
        assert_eq!(code, Some(0), "{value}");
        assert_figures(value["points"].as_array().expect("a list"), true);
    }
}

#[test]
fn an_algorithm_runs_at_each_point_in_both_hosts_and_is_not_run_again() {
    if !machine_can() {
        return;
    }
    let place = scratch();
    let (code, value) = matrix(place.path(), &[]);
    let late = value["left_out"].as_array().expect("a list").len();
    assert_eq!(code, Some(if late == 0 { 0 } else { 4 }), "{value}");
    let points = value["points"].as_array().expect("a list");
    assert_eq!(points.len() + late, 4, "{value}");
    assert_figures(points, false);
    let out = place.path().join("out");
    let page = fs::read_to_string(out.join("matrix.html")).expect("a page");
    assert!(page.contains("<svg") && page.contains("reno") && !page.contains("http://localhost"));
    // Its figures are maps, whose values with intervals are in a table.
    assert!(page.contains("<a href=\"#points\">") && page.contains("<h2 id=\"points\">"));
    if late == 0 {
        let csv = fs::read_to_string(out.join("matrix.csv")).expect("a table");
        assert!(csv.starts_with("host,algorithm,company,link.wire.delay,"), "{csv}");
        let svg = out.join("figures/goodput_mbps-alone.svg");
        let svg = fs::read_to_string(svg).expect("a map");
        assert!(svg.contains("reno, simulated") && svg.contains("15 ms"), "{svg}");
        let resumed = matrix(place.path(), &["--resume", "--quiet"]);
        assert_eq!((resumed.0, &resumed.1["points"]), (Some(0), &value["points"]));
        let others = ["--resume", "--set", "link.wire.loss_back=0.01"];
        let (_, err) = ends_with(2, place.path(), &[&ARGS[..], &others].concat());
        assert!(err.contains("do not belong to this matrix") && err.contains("--force"), "{err}");
    }
}

#[test]
fn what_cannot_be_run_is_refused_with_what_to_do() {
    let place = scratch();
    let refused = |args: &[&str], part: &str| {
        let (out, err) = ends_with(2, place.path(), &[&["matrix"], args].concat());
        assert!(out.is_empty() && err.contains(part), "{args:?}: {err}");
    };
    refused(&["--algorithms", "reno,fw_nobodys"], "`fairwave cc load fw_nobodys` as root");
    refused(&["--algorithms", "nobodys"], "`modprobe tcp_nobodys` as root");
    refused(&["--beside", "0"], "a number of flows is from 1 to 256");
    refused(&["--beside", "nobodys"], "no congestion control nobodys");
    refused(&["--flow", "call"], "called \"call\"; it has bulk");
    refused(&["--over", "link.wire.rate=fast"], "link.wire.rate");
    refused(&["--over", "link.wire.rate"], "expected KEY=VALUE");
    refused(&["--repeat", "0"], "--repeat");
    refused(&["--resume"], "--out");
    refused(&["--csv", "--json"], "--json");
    fs::create_dir(place.path().join("full")).expect("a directory");
    fs::write(place.path().join("full/file"), "").expect("a file");
    refused(&["--algorithms", "reno", "--out", "full"], "not empty");
}
