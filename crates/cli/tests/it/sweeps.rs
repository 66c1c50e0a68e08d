//! Results of a sweep: means and intervals by point, and the repetition of one of its runs.

use crate::common::{ends_with, json, scratch, tiny};
use std::fs;
use std::path::Path;

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

/// Both points would have the directory `variant=__1_s`, and the name of the third is too long for
/// a file system.
#[test]
fn each_point_has_a_directory_whatever_its_values() {
    let place = scratch();
    let base = fs::read_to_string(tiny()).unwrap();
    let base = base.split("[sweep]").next().unwrap();
    let long = "x".repeat(300);
    let sweep = format!(
        "[sweep]\n\
         variant = [\n\
         {{ name = \"< 1 s\", duration = \"800 ms\" }},\n\
         {{ name = \"> 1 s\", duration = \"1200 ms\" }},\n\
         {{ name = \"{long}\", duration = \"1 s\" }}]\n"
    );
    fs::write(place.path().join("s.toml"), format!("{base}{sweep}")).unwrap();
    let args = ["sweep", "s.toml", "--jobs", "2", "--out", "out"];
    let value = json(place.path(), &args);
    let runs = value["runs"].as_array().unwrap();
    let of = |key: &str| runs.iter().map(|run| run[key].clone()).collect::<Vec<_>>();
    let simulated: Vec<f64> =
        runs.iter().map(|run| run["summary"]["simulated_ns"].as_f64().unwrap() / 1e9).collect();
    assert_eq!(simulated, [0.8, 1.2, 1.0]);
    assert!(of("directory")[0].as_str().unwrap().starts_with("out/variant=__1_s~"), "{runs:?}");
    let again = json(place.path(), &[&args[..], &["--resume"]].concat());
    assert_eq!(again["runs"], value["runs"]);
    ends_with(0, place.path(), &["merge", "out", "--out", "whole"]);
    let whole = ["sweep", "s.toml", "--out", "whole", "--resume"];
    assert_eq!(json(place.path(), &whole)["points"], value["points"]);
}

/// The command that a refusal names repeats the user's settings.
#[test]
fn a_run_of_a_sweep_is_named_with_the_options_that_were_given() {
    let place = scratch();
    fs::copy(tiny(), place.path().join("a b.toml")).unwrap();
    let given = ["--set", "duration=1 s", "--seed", "7", "--pcap"];
    let (_, err) = ends_with(2, place.path(), &[&["run", "a b.toml"], &given[..]].concat());
    let one = "`fairwave run 'a b.toml' --set 'duration=1 s' --seed 7 --pcap --set ";
    assert!(err.contains(one), "{err}");
    assert!(err.contains("`fairwave sweep 'a b.toml' --set 'duration=1 s' --seed 7`"), "{err}");
}

/// The parts that a directory names.
fn parts(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.starts_with("shard-"));
    names.sort();
    names
}

#[test]
fn a_directory_names_the_parts_whose_runs_it_has() {
    let place = scratch();
    let scenario = tiny().display().to_string();
    let make = |shard: &str, more: &[&str]| {
        let args = ["sweep", &scenario, "--out", "part", "--quiet", "--shard", shard];
        ends_with(0, place.path(), &[&args[..], more].concat());
        parts(&place.path().join("part"))
    };
    assert_eq!(make("1/3", &[]), ["shard-1-of-3"]);
    assert_eq!(make("2/3", &["--resume"]), ["shard-1-of-3", "shard-2-of-3"]);
    assert_eq!(make("1/2", &["--force", "--set", "duration=1 s"]), ["shard-1-of-2"]);
}

/// Complete runs below a directory, by their paths.
fn runs_in(directory: &Path) -> Vec<String> {
    let mut runs = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if name == "summary.json" {
            runs.push(String::new());
        } else if entry.path().is_dir() {
            runs.extend(runs_in(&entry.path()).iter().map(|run| format!("{name}/{run}")));
        }
    }
    runs.sort();
    runs
}

/// A sweep of fewer seeds in the place of a larger one, beside files and runs of the user.
#[test]
fn a_forced_sweep_leaves_a_run_that_is_no_sweeps() {
    let place = scratch();
    let scenario = tiny().display().to_string();
    let one = ["--set", "tcp.congestion_control=reno", "--quiet"];
    ends_with(0, place.path(), &[&["run", &scenario, "--out", "out"], &one[..]].concat());
    let forced = ["--force", "--quiet"];
    ends_with(0, place.path(), &[&["sweep", &scenario, "--out", "out"], &forced[..]].concat());
    let left = runs_in(&place.path().join("out"));
    assert!(left.contains(&String::new()) && left.len() > 1, "{left:?}");
}

#[test]
fn a_forced_sweep_leaves_no_runs_of_another_one() {
    let place = scratch();
    let scenario = tiny().display().to_string();
    let args = ["sweep", &scenario, "--out", "out", "--quiet"];
    ends_with(0, place.path(), &args);
    let out = place.path().join("out");
    let before = runs_in(&out);
    assert_eq!(before.len(), 4);
    let (seed_1, seed_2) = (&before[0], &before[1]);
    fs::write(out.join(seed_2).join("notes.txt"), "mine").unwrap();
    ends_with(0, place.path(), &[&args[..3], &["out/mine", "--quiet"]].concat());
    let forced = [&args[..], &["--force", "--set", "sweep.seeds=1"]].concat();
    let changed = [&forced[..], &["--set", "duration=1 s"]].concat();
    ends_with(0, place.path(), &changed);
    let sweep: Vec<String> =
        runs_in(&out).into_iter().filter(|run| !run.starts_with("mine/")).collect();
    assert_eq!(sweep, [before[0].clone(), before[2].clone()]);
    assert_eq!(fs::read_to_string(out.join(seed_2).join("notes.txt")).unwrap(), "mine");
    assert!(!out.join(&before[3]).exists(), "nothing else was there");
    assert_eq!(runs_in(&out.join("mine")), before, "another sweep below it");
    // A part leaves the other parts' runs of the same sweep.
    fs::remove_dir_all(out.join("mine")).unwrap();
    ends_with(0, place.path(), &[&changed[..], &["--shard", "2/2"]].concat());
    assert_eq!(runs_in(&out).len(), 2);
    assert!(out.join(seed_1).exists());
}
