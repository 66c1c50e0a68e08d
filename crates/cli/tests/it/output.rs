//! Output of commands, as text and as JSON.

use crate::common::{ends_with, json, scratch, tiny, tiny_run};
use serde_json::Value;

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn assert_speed(value: &Value) {
    for key in ["wall_s", "cpu_s", "simulated_s", "simulated_s_per_cpu_s", "frames_per_cpu_s"] {
        assert!(value[key].as_f64().is_some_and(|number| number > 0.0), "{key}: {value}");
    }
}

#[test]
fn a_run_as_json() {
    let place = scratch();
    let args = tiny_run("one");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let value = json(place.path(), &args);
    for key in ["scenario", "axes", "seed", "directory", "summary", "frames"] {
        assert!(keys(&value).contains(&key), "{key}: {value}");
    }
    assert_eq!(value["directory"], "one");
    assert_eq!(value["simulated_s"], 1.5);
    assert_speed(&value);
    let answer: Vec<&str> =
        value["answer"].as_array().expect("sentences").iter().filter_map(Value::as_str).collect();
    assert!(answer[0].starts_with("2 flows with ") && answer[0].ends_with('.'), "{answer:?}");
    let (out, _) = ends_with(0, place.path(), &[&args[..], &["--force"]].concat());
    assert!(out.contains(&answer.join(" ")), "the text has the same words: {out}");
    let summary = &value["summary"];
    let names = |list: &str| -> Vec<String> {
        let list = summary[list].as_array().expect(list);
        list.iter().map(|item| item["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names("flows"), ["up", "down"]);
    assert_eq!(names("stations"), ["ap", "sta1", "sta2"]);
    assert!(summary["totals"]["jain"].as_f64().is_some_and(|jain| jain > 0.0 && jain <= 1.0));
    let kept = std::fs::read_to_string(place.path().join("one/summary.json")).unwrap();
    assert_eq!(&serde_json::from_str::<Value>(&kept).unwrap(), summary);
}

#[test]
fn flows_and_stations_stand_before_totals() {
    let place = scratch();
    let args = tiny_run("one");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (out, err) = ends_with(0, place.path(), &args);
    assert_eq!(err, "", "no progress where nobody looks");
    let at = |title: &str| out.find(title).unwrap_or_else(|| panic!("no {title}: {out}"));
    assert!(at("Flows") < at("Totals") && at("Stations") < at("Totals"), "{out}");
    for printed in ["One-way delays", "p99.9", "Airtime by receiver", "ap>sta2", "ap>*"] {
        assert!(out.contains(printed), "{printed}: {out}");
    }
    assert!(at("Totals") < at("Jain index"), "{out}");
    assert!(out.contains("simulated s and ") && out.contains("frames per CPU s"), "{out}");
    assert!(out.ends_with("Run directory: one\n"), "{out}");
    assert!(!out.contains('\u{1b}'), "colours go to terminals only");
}

#[test]
fn a_seed_on_the_command_line_counts() {
    let place = scratch();
    let seed = |out: &str, more: &[&str]| {
        let args = tiny_run(out);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        json(place.path(), &[&args[..], more].concat())["seed"].clone()
    };
    assert_eq!(seed("one", &[]), 1);
    assert_eq!(seed("two", &["--seed", "7"]), 7);
}

#[test]
fn without_out_each_run_has_a_directory_of_its_own() {
    let place = scratch();
    let args = tiny_run("unused");
    let args: Vec<&str> = args[..args.len() - 2].iter().map(String::as_str).collect();
    let directory = || json(place.path(), &args)["directory"].clone();
    assert_eq!(directory(), "fairwave-out/tiny");
    assert_eq!(directory(), "fairwave-out/tiny-2");
}

#[test]
fn a_check_as_json_says_what_is_wrong() {
    let place = scratch();
    std::fs::write(place.path().join("bad.toml"), "# Why?\nduratoin = \"1 s\"\n").unwrap();
    let good = tiny().display().to_string();
    let (out, _) = ends_with(2, place.path(), &["check", &good, "bad.toml", "--json"]);
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["files"][0]["valid"], true);
    assert_eq!(value["files"][0]["runs"], 4);
    assert_eq!(value["files"][1]["valid"], false);
    assert_eq!(value["files"][1]["diagnostics"][0]["line"], 2);
}

#[test]
fn lists_are_views_of_what_there_is() {
    let place = scratch();
    let names = |what: &str| -> Vec<String> {
        let list = json(place.path(), &["list", what]);
        let list = list.as_array().expect(what).iter();
        list.map(|item| item["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names("congestion-controls"), fairwave_cc::names());
    let stacks: Vec<_> = fairwave_tcp::Profile::ALL.iter().map(|stack| stack.name).collect();
    assert_eq!(names("stacks"), stacks);
    assert!(names("standards").contains(&"802.11a".to_owned()));
    assert!(names("studies").contains(&"ack-loss".to_owned()));
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (out, _) = ends_with(0, &root, &["list", "scenarios"]);
    assert!(!out.is_empty() && out.lines().all(|line| line.ends_with('?')), "{out}");
    let catalogue = place.path().join("scenarios");
    std::fs::create_dir(&catalogue).unwrap();
    std::fs::write(catalogue.join("a.toml"), b"# \xff?\n").unwrap();
    std::fs::write(catalogue.join("b.toml"), "# Why?\n").unwrap();
    std::fs::write(catalogue.join("c.toml"), "duration = \"1 s\"\n").unwrap();
    let (out, err) = ends_with(1, place.path(), &["list", "scenarios"]);
    assert!(out.contains("b.toml  Why?"), "one bad file hides no other: {out}");
    assert!(out.contains("c.toml") && !out.contains("duration"), "no line is a question: {out}");
    assert!(err.contains("a.toml: not UTF-8 text"), "{err}");
    let schema = json(place.path(), &["list", "schema"]);
    assert!(schema["properties"]["duration"].is_object(), "{schema}");
}
