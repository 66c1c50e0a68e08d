//! The JSON of every command has a schema, which is derived from the printed types. Every property
//! has a description, and a unit if it needs one. An independent validator accepts real outputs.

use crate::common::{ends_with, json, output, scratch, tiny};
use crate::python::answer;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const SCRIPT: &str = include_str!("schemas.py");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Outputs with a schema, from the error message for any other name.
fn described() -> Vec<String> {
    let place = scratch();
    let (_, err) = ends_with(2, place.path(), &["list", "schema", "no-such"]);
    let (_, rest) = err.split_once("[possible values: ").expect("the message lists them");
    let (names, _) = rest.split_once(']').expect("the list ends");
    names.split(", ").map(str::to_owned).collect()
}

fn schema(name: &str) -> Value {
    let place = scratch();
    let (printed, _) = ends_with(0, place.path(), &["list", "schema", name]);
    serde_json::from_str(&printed).expect(name)
}

#[test]
fn the_schemas_in_docs_are_those_that_the_command_prints() {
    let names = described();
    assert!(names.len() >= 12, "{names:?}");
    for name in names {
        let place = scratch();
        let file = format!("docs/{name}.schema.json");
        let (printed, _) = ends_with(0, place.path(), &["list", "schema", &name]);
        let kept = fs::read_to_string(root().join(&file)).unwrap_or_default();
        assert!(kept == printed, "{file} is out of date: `cargo xtask gen`, `cargo xtask golden`");
    }
    let place = scratch();
    let (_, err) = ends_with(2, place.path(), &["list", "queues", "run"]);
    assert!(err.contains("list schema"), "{err}");
}

/// The properties of a schema and all of its parts, with the path to each.
fn properties<'s>(schema: &'s Value, path: &str, found: &mut Vec<(String, &'s Value)>) {
    if let Some(own) = schema.get("properties").and_then(Value::as_object) {
        found.extend(own.iter().map(|(name, part)| (format!("{path}.{name}"), part)));
    }
    match schema {
        Value::Object(parts) => {
            parts.iter().for_each(|(key, part)| properties(part, &format!("{path}/{key}"), found));
        }
        Value::Array(parts) => parts.iter().for_each(|part| properties(part, path, found)),
        _ => {}
    }
}

#[test]
fn every_field_has_a_description_and_every_real_number_a_unit() {
    for name in described().iter().filter(|name| *name != "scenario") {
        let schema = schema(name);
        let mut found = Vec::new();
        properties(&schema, name, &mut found);
        assert!(name == "list" || !found.is_empty(), "{name} has no field");
        for (path, field) in found {
            let text = field["description"].as_str().unwrap_or_default();
            assert!(text.len() > 5 && text.contains(' '), "{path} is not described: {field}");
            let is_real = field["type"].to_string().contains("\"number\"");
            assert!(!is_real || field["unit"].is_string(), "{path} has no unit: {field}");
        }
    }
}

/// The independent validator's errors for real outputs, each with the name of its schema.
pub(crate) fn complaints(cases: &[(&str, Value)]) -> String {
    let schemas: BTreeSet<&str> = cases.iter().map(|(name, _)| *name).collect();
    let schemas: Vec<(&str, Value)> = schemas.iter().map(|name| (*name, schema(name))).collect();
    let of = |wanted: &str| &schemas.iter().find(|(name, _)| *name == wanted).expect("read").1;
    let cases = cases
        .iter()
        .map(|(name, value)| json!({ "name": name, "schema": of(name), "value": value }));
    let input = Value::Array(cases.collect()).to_string();
    answer("jsonschema", SCRIPT, &input)
}

/// Output of a command with `--json`, also if it fails.
fn printed(directory: &Path, args: &[&str]) -> Value {
    let output = output(directory, &[args, &["--json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}"))
}

/// A file of the run directory in `place`.
fn kept(place: &Path, run: &str, file: &str) -> Value {
    let text = fs::read_to_string(place.join(run).join(file)).expect(file);
    serde_json::from_str(&text).expect(file)
}

#[test]
fn what_runs_and_sweeps_print_is_valid_by_the_schemas() {
    let place = scratch();
    let here = place.path();
    let sorts = root().join("crates/cli/tests/data/sorts.toml").display().to_string();
    let tiny = tiny().display().to_string();
    let run = json(here, &["run", &sorts, "--out", "run"]);
    for key in ["datagrams", "web", "playout", "proxy", "probe", "shake", "paths", "bins_bps"] {
        let flows = run["summary"]["flows"].as_array().expect("flows");
        assert!(flows.iter().any(|flow| flow.get(key).is_some_and(|v| !v.is_null())), "no {key}");
    }
    let sweep = json(here, &["sweep", &tiny, "--out", "sweep"]);
    let point = "sweep/congestion_control=reno/seed-1";
    let cases = [
        ("summary", kept(here, "run", "summary.json")),
        ("meta", kept(here, "run", "meta.json")),
        ("summary", kept(here, point, "summary.json")),
        ("meta", kept(here, point, "meta.json")),
        ("run", run),
        ("sweep", sweep),
        ("compare", json(here, &["compare", "sweep", "sweep"])),
        ("compare", json(here, &["compare", "run", "run"])),
        ("plot", json(here, &["plot", "sweep", "--y", "jain"])),
        ("show", json(here, &["show", "sweep", "--out", "sweep.html"])),
    ];
    assert_eq!(complaints(&cases), "");
}

#[test]
fn what_other_commands_print_is_valid_by_the_schemas() {
    let place = scratch();
    let here = place.path();
    let tiny = tiny().display().to_string();
    let lossy = root().join("crates/cli/tests/data/lossy.pcap.gz").display().to_string();
    let script =
        root().join("crates/protocols/tcp/tests/conformance/prr.pkt").display().to_string();
    #[cfg(target_os = "linux")]
    let iperf3 = root().join("crates/tools/fairness/tests/data/iperf3").display().to_string();
    fs::write(here.join("bad.toml"), "duraton = \"5 s\"\n").expect("a file");
    let cases = [
        ("check", printed(here, &["check", &tiny, "bad.toml", "gone.toml"])),
        ("list", json(here, &["list", "queues"])),
        ("list", json(&root(), &["list", "scenarios"])),
        ("explain", json(here, &["explain", "flow.mss"])),
        ("explain", json(here, &["explain"])),
        #[cfg(target_os = "linux")]
        ("doctor", json(here, &["doctor"])),
        #[cfg(target_os = "linux")]
        ("packets", json(here, &["packets", &script, "--against", "simulator"])),
        #[cfg(target_os = "linux")]
        ("fairness", json(here, &["fairness", "show", &iperf3, "--target", "1M"])),
        #[cfg(target_os = "linux")]
        ("compare", json(here, &["fairness", "--compare", &iperf3, &iperf3])),
        ("trace", json(here, &["trace", &lossy])),
        ("trace", json(here, &["trace", &lossy, &lossy])),
    ];
    assert_eq!(complaints(&cases), "");
}

#[test]
fn what_is_not_as_described_is_found() {
    let mut list = json(scratch().path(), &["list", "queues"]);
    list[0]["name"] = json!(1);
    list[1]["more"] = json!("a key without a description");
    assert!(complaints(&[("list", list)]).contains("list: $["));
}
