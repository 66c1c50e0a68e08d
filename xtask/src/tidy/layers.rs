//! The rule of the layers: dependencies between crates point downwards, as in ARCHITECTURE.md.

use super::{Finding, Source, demand};
use std::collections::{BTreeMap, BTreeSet};
use xtask::workspace;

/// The table of layers in ARCHITECTURE.md.
#[derive(Debug, Default)]
struct Floors {
    /// Layer of each crate; 0 is the lowest.
    floor: BTreeMap<String, u32>,
    /// Dependencies allowed within one layer: from, to.
    sideways: BTreeSet<(String, String)>,
    /// Line of each crate's row.
    line: BTreeMap<String, usize>,
}

/// A dependency of one crate of the workspace on another.
type Arrow = (String, String);

/// Reads rows of the form ``| 0 | name | `units` `wire` | `wire -> units` |``.
fn parse(document: &Source) -> Floors {
    let mut floors = Floors::default();
    for (at, line) in document.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, number, _, crates, sideways, _] = cells[..] else { continue };
        let Ok(number) = number.parse() else { continue };
        for name in quoted(crates) {
            floors.floor.insert(name.to_owned(), number);
            floors.line.insert(name.to_owned(), at);
        }
        for arrow in quoted(sideways) {
            let (from, to) = arrow.split_once(" -> ").unwrap_or_else(|| {
                panic!("{}:{at}: `{arrow}` is not of the form `from -> to`", document.path)
            });
            floors.sideways.insert((from.to_owned(), to.to_owned()));
        }
    }
    floors
}

/// The parts of a text between backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Crates without a row, rows without a crate, and dependencies that do not point down.
fn violations(document: &Source, crates: &[String], arrows: &[Arrow]) -> Vec<Finding> {
    let floors = parse(document);
    let line = |name: &str| floors.line.get(name).copied().unwrap_or(1);
    let mut findings = Vec::new();
    for name in crates.iter().filter(|name| !floors.floor.contains_key(*name)) {
        findings.push(document.finding(1, format!("crate `{name}` stands on no floor")));
    }
    for name in floors.floor.keys().filter(|name| !crates.contains(name)) {
        findings.push(document.finding(line(name), format!("there is no crate `{name}`")));
    }
    for (from, to) in arrows {
        let (Some(high), Some(low)) = (floors.floor.get(from), floors.floor.get(to)) else {
            continue;
        };
        let beside = floors.sideways.contains(&(from.clone(), to.clone()));
        if high < low || (high == low && !beside) {
            let what = format!("`{from}` (floor {high}) depends on `{to}` (floor {low})");
            findings.push(document.finding(line(from), what));
        }
    }
    for (from, to) in floors.sideways.iter().filter(|arrow| !arrows.contains(arrow)) {
        findings.push(document.finding(line(from), format!("`{from} -> {to}` is listed, unused")));
    }
    findings
}

/// The crates of the workspace, without the prefix, and the dependencies between them in a user's
/// build. Tests may depend on more: an algorithm's test drives a whole connection.
fn workspace() -> (Vec<String>, Vec<Arrow>) {
    let short = |name: &str| name.strip_prefix("fairwave-").map(str::to_owned);
    let mut crates = Vec::new();
    let mut arrows = Vec::new();
    for member in workspace::members().expect("cargo metadata runs") {
        let Some(name) = short(&member.name) else { continue };
        arrows.extend(member.links.iter().filter_map(|to| Some((name.clone(), short(to)?))));
        crates.push(name);
    }
    (crates, arrows)
}

#[test]
fn arrows_point_downwards() {
    let (crates, arrows) = workspace();
    assert!(!arrows.is_empty(), "cargo metadata shows no arrow: was the prefix renamed?");
    demand(
        "crates depend on lower floors only, as the table in ARCHITECTURE.md has them",
        "move the code to the floor it belongs to; or change the table, and say why",
        &violations(&Source::read("ARCHITECTURE.md"), &crates, &arrows),
    );
}

#[test]
fn an_arrow_that_points_up_is_found() {
    let table =
        "| 1 | rules | `cc` `queue` | |\n| 0 | ground | `units` `wire` | `wire -> units` |\n";
    let document = Source::new("ARCHITECTURE.md", table);
    let crates = ["cc", "queue", "units", "wire"].map(str::to_owned);
    let arrow = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let good = [arrow("cc", "units"), arrow("wire", "units")];
    assert_eq!(violations(&document, &crates, &good), []);

    let up = [good.as_slice(), &[arrow("units", "cc")]].concat();
    assert_eq!(violations(&document, &crates, &up)[0].line, 2);
    let beside = [good.as_slice(), &[arrow("cc", "queue")]].concat();
    assert_eq!(violations(&document, &crates, &beside)[0].line, 1);
    assert!(violations(&document, &crates, &[])[0].what.contains("unused"));
    assert!(violations(&document, &crates[1..], &good)[0].what.contains("no crate `cc`"));
    let more = [crates.as_slice(), &["soc".to_owned()]].concat();
    assert!(violations(&document, &more, &good)[0].what.contains("no floor"));
}
