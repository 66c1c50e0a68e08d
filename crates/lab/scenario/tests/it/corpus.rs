//! Scenarios for tests: every file of the repository, and one for each key and way to write it.

use fairwave_scenario::plan::Plan;
use fairwave_scenario::{KeyHelp, Scenario, TableHelp, tables};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

/// A scenario as text.
pub(crate) struct Text {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Every scenario file of the repository.
pub(crate) fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![Path::new(ROOT).join("scenarios"), Path::new(ROOT).join("studies")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "toml") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Their plans, each with its file's text.
pub(crate) fn plans() -> impl Iterator<Item = (Text, Plan)> {
    files().into_iter().map(|file| {
        let text = std::fs::read_to_string(&file).expect("a readable file");
        let plan = Plan::load(&file, &[]).unwrap_or_else(|error| panic!("{error}"));
        (Text { name: file.display().to_string(), text }, plan)
    })
}

/// What may stand for a value somewhere, and often enough where nobody thinks of it.
const ODD: [&str; 12] = [
    "0",
    "1",
    "0.5",
    "true",
    "[]",
    "{}",
    "\"on\"",
    "\"off\"",
    "\"never\"",
    "\"unlimited\"",
    "\"1 s\"",
    "\"20 packets\"",
];

/// Whether everything is to be tried, which the slow suite says by the cases of property tests that
/// it wants.
fn is_slow() -> bool {
    proptest::test_runner::Config::default().cases >= 10_000
}

/// Some of many, evenly spread: `most` of them, or all in the slow suite.
pub(crate) fn some<T>(many: &[T], maximum: usize) -> impl Iterator<Item = &T> {
    let step = if is_slow() { 1 } else { many.len().div_ceil(maximum).max(1) };
    many.iter().step_by(step)
}

/// The scenarios that are accepted of one for each key, with each value that it documents and with
/// odd ones.
pub(crate) fn by_key() -> &'static [(Text, Scenario)] {
    static ALL: OnceLock<Vec<(Text, Scenario)>> = OnceLock::new();
    ALL.get_or_init(accepted)
}

fn accepted() -> Vec<(Text, Scenario)> {
    let mut accepted = Vec::new();
    for table in tables() {
        for (place, key) in table.keys.iter().enumerate() {
            let values = values(key);
            // In the usual suite another part of the values for each key.
            let (first, step) = if is_slow() { (0, 1) } else { (place % 4, 4) };
            for value in values.iter().skip(first).step_by(step) {
                let line = format!("{} = {value}", key.key);
                let text = scenario(&table, key, value);
                if let Ok(scenario) = Scenario::parse(&line, &text) {
                    accepted.push((Text { name: line, text }, scenario));
                }
            }
        }
    }
    accepted
}

fn values(key: &KeyHelp) -> Vec<String> {
    let words = key.words.iter().map(|word| format!("{word:?}"));
    let example = key.example.iter().filter_map(|line| line.split_once(" = "));
    let range = key.range.iter().filter_map(|range| range.strip_prefix("From "));
    let bounds = range.filter_map(|range| range.split_once(" to "));
    let bounds = bounds.flat_map(|(min, maximum)| [min, maximum]).flat_map(|bound| {
        [bound.to_owned(), format!("{bound:?}")]
            .into_iter()
            .chain(key.unit.iter().map(move |unit| format!("\"{bound} {unit}\"")))
    });
    let documented = words.chain(key.default.clone()).chain(bounds);
    let mut values: Vec<String> = documented
        .chain(example.map(|(_, value)| value.to_owned()))
        .chain(ODD.map(str::to_owned))
        .collect();
    values.sort();
    values.dedup();
    values
}

/// A scenario in which `key` of `table` has `value`, and what the table needs beside it.
fn scenario(table: &TableHelp, key: &KeyHelp, value: &str) -> String {
    let (place, within) = table.key.split_once('.').unwrap_or((&table.key, ""));
    let name = |dotted: &str| -> String {
        let last = dotted.rsplit('.').next().unwrap_or_default();
        if within.is_empty() { last.to_owned() } else { format!("{within}.{last}") }
    };
    let needs_name = |line: &&String| !line.ends_with("= ...");
    let mut lines: Vec<String> = table
        .conditions
        .iter()
        .filter(needs_name)
        .map(|condition| format!("{}{condition}", if within.is_empty() { "" } else { "#" }))
        .collect();
    let needed = table.keys.iter().filter(|other| other.required && other.key != key.key);
    lines.extend(needed.filter_map(|other| {
        let (_, example) = other.example.as_ref()?.split_once(" = ")?;
        Some(format!("{} = {example}", name(&other.key)))
    }));
    lines.push(format!("{} = {value}", name(&key.key)));
    with_lines(place, &lines)
}

/// A small scenario with `lines` in one of its tables, where they take the place of its own.
fn with_lines(place: &str, lines: &[String]) -> String {
    let is_node = |kind: &str| lines.iter().any(|line| *line == format!("kind = {kind:?}"));
    let tables: [(&str, bool, &[&str]); 9] = [
        ("", place.is_empty(), &["duration = \"2 s\""]),
        ("[record]", place == "record", &[]),
        ("[tcp]", place == "tcp", &[]),
        ("[cell]", place == "cell", &["standard = \"802.11g\"", "soc = {}"]),
        ("[[node]]", is_node("access-point"), &["name = \"ap\"", "kind = \"access-point\""]),
        (
            "[[node]]",
            place == "node" && is_node("station"),
            &["name = \"sta\"", "kind = \"station\""],
        ),
        ("[[node]]", is_node("host"), &["name = \"server\"", "kind = \"host\""]),
        ("[[link]]", place == "link", &["ends = [\"ap\", \"server\"]"]),
        ("[[flow]]", place == "flow", &["name = \"up\"", "from = \"sta\"", "to = \"server\""]),
    ];
    let mut text = String::new();
    for (title, is_here, own) in tables {
        let name = |line: &str| line.split_once('=').map(|(name, _)| name.trim().to_owned());
        let written = |own: &&&str| !is_here || lines.iter().all(|line| name(line) != name(own));
        let mut all: Vec<&str> = own.iter().filter(written).copied().collect();
        all.extend(lines.iter().filter(|_| is_here).map(String::as_str));
        text.push_str(&format!("{title}\n{}\n", all.join("\n")));
    }
    text
}
