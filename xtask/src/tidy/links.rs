//! The rule about documents: the targets of their links exist.

use super::{Finding, Source, demand};
use crate::shell::root;

/// The documents for newcomers.
const DOCUMENTS: [&str; 7] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/json.md",
    "docs/limits.md",
    "docs/tutorials/home-network.md",
    "docs/validation.md",
];
/// Beginnings of paths of this repository between backquotes.
const TOPS: [&str; 6] = ["crates/", "xtask/", "docs/", "studies/", "scenarios/", "fuzz/"];

/// Paths in a line: targets of links within the repository, and quoted paths.
fn paths(line: &str) -> Vec<&str> {
    let links = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let local = links.filter(|link| !link.contains("://") && !link.starts_with('#'));
    let quoted = line.split('`').skip(1).step_by(2);
    let quoted = quoted.filter(|text| TOPS.iter().any(|top| text.starts_with(top)));
    local.chain(quoted.filter(|text| !text.contains(['*', ' ']))).collect()
}

fn broken(document: &Source, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let all = document.lines().flat_map(|(at, line)| {
        paths(line).into_iter().map(move |path| (at, path)).collect::<Vec<_>>()
    });
    all.filter(|(_, path)| !exists(path))
        .map(|(at, path)| document.finding(at, format!("`{path}` is not there")))
        .collect()
}

/// Whether a path leads to a file, from the document's directory or from the root.
fn is_there(document: &str, path: &str) -> bool {
    let path = path.split('#').next().unwrap_or_default();
    let root = root();
    let beside = root.join(document).with_file_name(path);
    beside.exists() || root.join(path).exists()
}

#[test]
fn documents_point_to_what_is_there() {
    let findings: Vec<Finding> = DOCUMENTS
        .iter()
        .flat_map(|document| broken(&Source::read(document), |path| is_there(document, path)))
        .collect();
    demand(
        "paths in the documents exist",
        "correct the path, counted from the document's directory or the repository's root",
        &findings,
    );
}

#[test]
fn paths_count_from_the_document_or_from_the_root() {
    assert!(is_there("docs/json.md", "models/trace.md#a"));
    assert!(is_there("docs/json.md", "docs/models/trace.md"));
    assert!(!is_there("docs/json.md", "json/gone.md"));
}

#[test]
fn a_broken_path_is_found() {
    let text = "See [map](ARCHITECTURE.md), [site](https://a.example).\n\
                In `crates/gone/src`, `crates/*/x`, `cargo test`, [page](docs/gone.md).\n";
    let findings = broken(&Source::new("R.md", text), |path| path == "ARCHITECTURE.md");
    let what: Vec<&str> = findings.iter().map(|finding| finding.what.as_str()).collect();
    assert_eq!(what, ["`docs/gone.md` is not there", "`crates/gone/src` is not there"]);
    assert_eq!(findings[0].line, 2);
}
