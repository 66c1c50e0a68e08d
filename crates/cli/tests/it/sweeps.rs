//! Results of a sweep: means and intervals by point, and the repetition of one of its runs.

use crate::common::{ends_with, json, scratch, tiny};
use std::fs;

#[test]
fn a_sweep_gives_means_and_intervals_by_point() {
    let place = scratch();
    let scenario = tiny().display().to_string();
    let (out, _) = ends_with(0, place.path(), &["sweep", &scenario, "--out", "s"]);
    let line =
        |start: &str| out.lines().filter(|line| line.trim_start().starts_with(start)).count();
    assert_eq!(line("tcp.congestion_control = reno"), 5, "two flows, a point, two runs: {out}");
    assert!(out.contains("means over seeds with 95 % intervals"), "{out}");

    let value = json(place.path(), &["sweep", &scenario, "--out", "j"]);
    let runs = value["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
    let bps = |run: usize| runs[run]["summary"]["totals"]["goodput_bps"].as_f64().unwrap();
    let point = &value["points"][0];
    assert_eq!(point["axes"]["tcp.congestion_control"], "reno");
    assert_eq!(point["seeds"], serde_json::json!([1, 2]));
    let goodput = &point["metrics"]["goodput_mbps"];
    let mean = (bps(0) + bps(1)) / 2e6;
    assert!((goodput["mean"].as_f64().unwrap() - mean).abs() < 1e-9, "{goodput}");
    // Student's t for one degree of freedom is 12.706. For two values, s / sqrt(2) is half their
    // distance.
    let half = 12.706 * (bps(0) - bps(1)).abs() / 2e6;
    assert!((goodput["half_width"].as_f64().unwrap() / half - 1.0).abs() < 1e-3, "{goodput}");
    assert_eq!(value["warnings"], serde_json::json!([]));

    let (csv, _) = ends_with(0, place.path(), &["sweep", &scenario, "--out", "c", "--csv"]);
    assert!(
        csv.starts_with("tcp.congestion_control,metric,runs,mean,low,high,std_dev\r\n"),
        "{csv}"
    );
    assert!(csv.contains("\r\nreno,flow.up.goodput_mbps,2,"), "{csv}");
}

#[test]
fn a_run_of_a_sweep_is_had_as_the_message_says() {
    let place = scratch();
    let scenario = tiny().display().to_string();
    let (_, err) = ends_with(2, place.path(), &["run", &scenario]);
    let printed = "--set tcp.congestion_control=reno";
    assert!(err.contains(printed), "{err}");
    let args: Vec<&str> = ["run", &scenario].into_iter().chain(printed.split(' ')).collect();
    let value = json(place.path(), &args);
    assert_eq!(value["seed"], 1);
    let warning = value["warnings"][0].as_str().unwrap();
    assert!(warning.contains("seed 1 alone") && warning.contains("all 2 seeds"), "{warning}");
    let value = json(place.path(), &[&args[..4], &["--seed", "7"]].concat());
    assert_eq!(
        (&value["seed"], &value["axes"]["tcp.congestion_control"]),
        (&7.into(), &"reno".into())
    );
    assert_eq!(value["warnings"], serde_json::json!([]), "the seed was named");
}

#[test]
fn every_point_of_every_sort_of_axis_can_be_picked() {
    let place = scratch();
    let base = fs::read_to_string(tiny()).unwrap();
    let base = base.split("[sweep]").next().unwrap();
    let sweep = "[sweep]\n\
                 \"node.ap.queue\" = [{ discipline = \"fq-codel\", limit = \"9 packets\" }]\n\
                 \"duration, warm_up\" = [[\"1 s\", \"500 ms\"], [\"2 s\", \"500 ms\"]]\n\
                 variant = [{ name = \"no sack\", \"tcp.sack\" = false }, { name = \"b\" }]\n";
    fs::write(place.path().join("s.toml"), format!("{base}{sweep}")).unwrap();
    let (_, err) = ends_with(2, place.path(), &["run", "s.toml"]);
    let (_, command) = err.split_once("`fairwave run s.toml ").expect("it says how");
    let (command, _) = command.split_once('`').unwrap();
    let words = command
        .split(" --set ")
        .map(|word| word.trim_start_matches("--set ").trim_matches('\'').to_owned());
    let words: Vec<String> = words.flat_map(|word| ["--set".to_owned(), word]).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let value = json(place.path(), &[&["run", "s.toml"][..], &words].concat());
    assert_eq!(value["axes"]["variant"], "no sack");
    assert_eq!(value["axes"]["duration"], "1 s");
}
