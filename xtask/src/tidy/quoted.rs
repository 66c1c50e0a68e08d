//! The rule about quoted paths: a file that a page names between backquotes exists.

use super::{Finding, Source, demand};
use xtask::shell::{command, root};

/// Endings of the names that the rule reads as paths of this repository.
const ENDINGS: [&str; 6] = [".rs", ".md", ".toml", ".py", ".sh", ".js"];
/// Records of past days: they name files as they were then.
const RECORDS: [&str; 2] = ["CHANGELOG.md", "benches/runs/"];
/// Words of a path that stand for a name.
const PLACEHOLDERS: [&str; 3] = ["DATE", "NAME", "STUDY"];

/// Quoted texts of a line that are paths of files.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    let is_path = |text: &&str| {
        text.contains('/')
            && ENDINGS.iter().any(|ending| text.ends_with(ending))
            && !text.contains([' ', '*', '<', '$', '{', '~'])
            && !text.starts_with('/')
            && !PLACEHOLDERS.iter().any(|word| text.contains(word))
    };
    line.split('`').skip(1).step_by(2).filter(is_path)
}

/// Quoted paths of a page that are the end of no file's path. Pages count them from the root, from
/// their own directory or from the crate that they describe.
fn missing(page: &Source, files: &[String]) -> Vec<Finding> {
    let exists = |path: &str| {
        let path = path.trim_start_matches("./").trim_start_matches("../");
        let above = |file: &str| {
            file.strip_suffix(path).map(|above| above.is_empty() || above.ends_with('/'))
        };
        files.iter().any(|file| above(file) == Some(true))
    };
    let all = page.lines().flat_map(|(at, line)| quoted(line).map(move |path| (at, path)));
    all.filter(|(_, path)| !exists(path))
        .map(|(at, path)| page.finding(at, format!("`{path}` is not there")))
        .collect()
}

/// Files of the repository, new ones included.
fn files() -> Vec<String> {
    let arguments = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let output = command("git", &arguments).output().expect("git starts");
    assert!(output.status.success(), "git ls-files: {}", output.status);
    let listed = String::from_utf8_lossy(&output.stdout);
    // The index still lists a file that the next commit removes.
    listed.lines().filter(|file| root().join(file).is_file()).map(str::to_owned).collect()
}

#[test]
fn quoted_files_exist() {
    let files = files();
    let is_record = |page: &str| RECORDS.iter().any(|record| page.starts_with(record));
    let pages = files.iter().filter(|file| file.ends_with(".md") && !is_record(file));
    let findings: Vec<Finding> =
        pages.flat_map(|page| missing(&Source::read(page), &files)).collect();
    demand(
        "paths of files between backquotes exist",
        "correct the path, counted from the root, the page's directory or the crate it describes",
        &findings,
    );
}

#[test]
fn a_quoted_file_that_is_gone_is_found() {
    let files = ["crates/a/src/b.rs", "crates/a/tests/it/c.rs", "docs/d.md"].map(str::to_owned);
    let text = "In `crates/a/src/b.rs`, `src/b.rs`, `../d.md`, `tests/c.rs` and `rc/b.rs`.\n\
                Any `maps/STUDY.toml`, `src/*.rs`, `cat src/b.rs`, `/etc/e.toml`, `e.rs`.\n\
                The end: `src/gone.rs`.\n";
    let findings = missing(&Source::new("docs/README.md", text), &files);
    let found: Vec<String> = findings.iter().map(ToString::to_string).collect();
    let expected = [
        "docs/README.md:1: `tests/c.rs` is not there",
        "docs/README.md:1: `rc/b.rs` is not there",
        "docs/README.md:3: `src/gone.rs` is not there",
    ];
    assert_eq!(found, expected);
}
