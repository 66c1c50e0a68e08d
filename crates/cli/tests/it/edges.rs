//! Scenarios with values at the limits of their keys: a correct run or a clear error, but never a
//! hang or a panic. The length of a run is judged by its events, not by a clock.

use crate::common::{ends_with, json, scratch};
use serde_json::Value;

const SMALL: &str = r#"
duration = "1 s"
[record]
sample_every = "1 s"
[cell]
standard = "802.11a"
beacon_interval = "off"
[[node]]
name = "ap"
kind = "access-point"
data_rate = "54 Mbps"
[[node]]
name = "server"
kind = "host"
[[link]]
ends = ["ap", "server"]
"#;

const STATION: &str = "[[node]]\nname = \"sta\"\nkind = \"station\"\ndata_rate = \"54 Mbps\"\n";
const UPLOAD: &str = "[[flow]]\nname = \"up\"\nfrom = \"sta*\"\nto = \"server\"\n";

fn arguments<'a>(out: &'a str, sets: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["run", "edge.toml", "--out", out];
    sets.iter().for_each(|set| arguments.extend(["--set", set]));
    arguments
}

/// The summary of a run of `text` with `sets`.
fn run(text: &str, sets: &[&str]) -> Value {
    let scratch = scratch();
    std::fs::write(scratch.path().join("edge.toml"), text).expect("a writable directory");
    json(scratch.path(), &arguments("results", sets))["summary"].take()
}

/// The error message for a refused scenario.
fn refused(text: &str, sets: &[&str]) -> String {
    let scratch = scratch();
    std::fs::write(scratch.path().join("edge.toml"), text).expect("a writable directory");
    ends_with(2, scratch.path(), &arguments("results", sets)).1
}

fn upload() -> String {
    format!("{SMALL}{STATION}{UPLOAD}")
}

fn number(summary: &Value, pointer: &str) -> u64 {
    summary.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{summary}"))
}

#[test]
fn a_cell_without_stations_or_flows_runs_a_day_in_no_events() {
    let summary = run(SMALL, &["duration=24 h", "record.sample_every=1 h"]);
    assert!(number(&summary, "/events") < 100, "{summary}");
    assert_eq!(number(&summary, "/simulated_ns"), 86_400_000_000_000);
}

#[test]
fn a_day_after_a_small_flow_is_idle() {
    let day = ["duration=24 h", "record.sample_every=1 h", "flow.up.size=1 B"];
    let summary = run(&upload(), &day);
    assert!(number(&summary, "/events") < 200, "{summary}");
    assert!(number(&summary, "/flows/0/completion_ns") < 1_000_000_000, "{summary}");
}

#[test]
fn a_day_of_calls_and_pages_costs_what_they_send() {
    let flow = |name: &str, keys: &str| {
        format!("[[flow]]\nname = \"{name}\"\nfrom = \"server\"\nto = \"sta\"\n{keys}\n")
    };
    let web = flow("web", "web = { reading = \"10 min\", objects = 2 }");
    let trace = flow(
        "beat",
        "transport = \"udp\"\ntraffic = \"trace\"\nemissions = [\"0 s 9 B\"]\n\
         repeat_every = \"1 min\"",
    );
    let text = format!("{SMALL}{STATION}{web}{trace}");
    let summary = run(&text, &["duration=24 h", "record.sample_every=1 h"]);
    assert_eq!(number(&summary, "/flows/1/datagrams/received"), 1440);
    assert_eq!(number(&summary, "/flows/1/datagrams/lost"), 0);
    assert!(number(&summary, "/flows/0/web/pages/count") > 100, "{summary}");
    assert!(number(&summary, "/events") < 200_000, "{summary}");
}

#[test]
fn a_thousand_stations_contend() {
    let summary = run(&upload(), &["node.sta.count=1000", "tcp.initial_window=1 segments"]);
    assert_eq!(summary["flows"].as_array().map(Vec::len), Some(1000));
    assert!(number(&summary, "/frames") > 100, "{summary}");
    let error = refused(&upload(), &["node.sta.count=1001"]);
    assert!(error.contains("1001 is not in 1..=1000"), "{error}");
}

#[test]
fn links_from_a_thousand_bits_a_second_to_a_hundred_billion_carry_what_they_can() {
    let goodput = |rate: &str| {
        let rate = format!("link.ap-server.rate={rate}");
        number(&run(&upload(), &[&rate, "duration=100 s"]), "/totals/goodput_bps")
    };
    let slow = goodput("1 kbps");
    assert!(slow > 0 && slow < 1_000, "{slow} bps");
    assert!(goodput("100 Gbps") > 20_000_000);
    let error = refused(&upload(), &["link.ap-server.rate=0 bps"]);
    assert!(error.contains("is not from 1 kbps to 1000 Gbps"), "{error}");
}

#[test]
fn sizes_from_a_byte_to_a_terabyte_are_sent() {
    for (size, completes) in [("1 B", true), ("1 TB", false)] {
        let summary = run(&upload(), &[&format!("flow.up.size={size}")]);
        let completion = &summary["flows"][0]["completion_ns"];
        assert_eq!(completion.is_u64(), completes, "{size}: {summary}");
    }
    let error = refused(&upload(), &["flow.up.size=0 B"]);
    assert!(error.contains("0 B is not from 1 B"), "{error}");
}

#[test]
fn segments_of_the_least_and_the_largest_size_are_sent() {
    for mss in ["64 B", "2256 B"] {
        let summary = run(&upload(), &[&format!("tcp.mss={mss}")]);
        assert!(number(&summary, "/totals/goodput_bps") > 100_000, "{mss}: {summary}");
    }
    for mss in ["63 B", "2257 B"] {
        let error = refused(&upload(), &[&format!("tcp.mss={mss}")]);
        assert!(error.contains("is not from 64 B to 2256 B"), "{error}");
    }
}

#[test]
fn seeds_reach_from_zero_to_the_largest_that_a_file_can_hold() {
    for seed in ["0", "9223372036854775807"] {
        run(&upload(), &[&format!("seed={seed}")]);
    }
    let error = refused(&upload(), &["seed=18446744073709551615"]);
    assert!(error.contains("0..=9223372036854775807"), "{error}");
}

#[test]
fn what_cannot_happen_is_refused() {
    for (set, expected) in [
        ("duration=0 s", "0 s is not from 1 ms"),
        ("duration=25 h", "90000 s is not from 1 ms to 86400 s"),
        ("flow.up.start=2 s", "may start only after the run has ended"),
        ("flow.up.stop=0 s", "0 s is not from 1 ns"),
        ("sweep.node.sta.count=[]", "this axis has no values"),
    ] {
        let error = refused(&upload(), &[set]);
        assert!(error.contains(expected), "{set}: {error}");
    }
}
