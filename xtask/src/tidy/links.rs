//! The rule about documents: the targets of their links exist.

use super::{Finding, Source, demand};
use std::fs;
use xtask::shell::root;

/// The documents for newcomers.
const DOCUMENTS: [&str; 9] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/README.md",
    "docs/json.md",
    "docs/limits.md",
    "docs/tutorials/home-network.md",
    "docs/validation.md",
    "results/validation.md",
];
/// Beginnings of paths of this repository between backquotes.
const TOPS: [&str; 8] =
    ["crates/", "benches/", "xtask/", "docs/", "results/", "studies/", "scenarios/", "fuzz/"];

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

/// The index of the manual.
const INDEX: &str = "docs/README.md";

/// Pages of the manual to which the index has no link.
fn unlinked(index: &Source, pages: &[String]) -> Vec<Finding> {
    let links: Vec<String> = index
        .lines()
        .flat_map(|(_, line)| paths(line))
        .map(|path| format!("docs/{}", path.split('#').next().unwrap_or_default()))
        .collect();
    let lacking = pages.iter().filter(|page| *page != INDEX && !links.contains(page));
    lacking.map(|page| index.finding(1, format!("no link to `{page}`"))).collect()
}

/// The pages in a directory and in those inside it, as paths from the root, sorted.
pub(super) fn pages_below(directory: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(directory));
    let entries = entries.unwrap_or_else(|error| panic!("{directory}: {error}"));
    let mut pages: Vec<String> = entries
        .map(|entry| entry.expect("it can be read"))
        .flat_map(|entry| {
            let path = format!("{directory}/{}", entry.file_name().to_string_lossy());
            match path.ends_with(".md") {
                true => vec![path],
                false if entry.path().is_dir() => pages_below(&path),
                false => Vec::new(),
            }
        })
        .collect();
    pages.sort();
    pages
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
fn the_index_links_every_page_of_the_manual() {
    demand(
        "docs/README.md links every page below docs",
        "give the page a line in the index, or move it to results if a run wrote it",
        &unlinked(&Source::read(INDEX), &pages_below("docs")),
    );
}

#[test]
fn a_page_without_a_link_is_found() {
    let index = Source::new(INDEX, "[A](a.md), [B](models/b.md#top), [site](https://c.example)\n");
    let pages = [INDEX, "docs/a.md", "docs/b.md", "docs/models/b.md"].map(str::to_owned);
    let findings = unlinked(&index, &pages);
    let what: Vec<&str> = findings.iter().map(|finding| finding.what.as_str()).collect();
    assert_eq!(what, ["no link to `docs/b.md`"]);
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
