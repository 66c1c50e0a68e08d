//! The rule about dead files: every Rust file belongs to a target.

use super::{Finding, Source, demand, sources};
use std::collections::BTreeSet;

/// Files that no chain of `mod` leads to.
fn unreachable(sources: &[Source]) -> Vec<Finding> {
    let known: BTreeSet<&str> = sources.iter().map(|source| source.path.as_str()).collect();
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Source> = sources.iter().filter(|source| is_root(&source.path)).collect();
    while let Some(source) = open.pop() {
        if reached.insert(source.path.as_str()) {
            let children = modules(source).into_iter().filter(|path| known.contains(path.as_str()));
            let children: Vec<String> = children.collect();
            open.extend(sources.iter().filter(|source| children.contains(&source.path)));
        }
    }
    let dead = sources.iter().filter(|source| !reached.contains(source.path.as_str()));
    dead.map(|source| source.finding(1, "no `mod` leads here")).collect()
}

/// Whether the file is the root of a cargo target.
fn is_root(path: &str) -> bool {
    let (directory, file) = path.rsplit_once('/').unwrap_or(("", path));
    let named = matches!(file, "lib.rs" | "main.rs" | "build.rs");
    let place = directory.rsplit('/').next().unwrap_or_default();
    named || matches!(place, "tests" | "benches" | "examples" | "bin" | "fuzz_targets")
}

/// Possible paths of the modules that a file declares.
fn modules(source: &Source) -> Vec<String> {
    let (directory, file) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let own = is_root(&source.path) || file == "mod.rs";
    let stem = file.trim_end_matches(".rs");
    let base = if own { directory.to_owned() } else { format!("{directory}/{stem}") };
    let names = source.lines().filter_map(|(_, line)| module_name(line));
    names.flat_map(|name| [format!("{base}/{name}.rs"), format!("{base}/{name}/mod.rs")]).collect()
}

/// The module's name, if the line declares a module with its own file.
fn module_name(line: &str) -> Option<&str> {
    let (before, after) = line.trim().split_once("mod ")?;
    let visible = before.is_empty() || before.starts_with("pub");
    after.strip_suffix(';').filter(|_| visible && !before.contains("//"))
}

#[test]
fn every_file_is_part_of_a_target() {
    demand(
        "every Rust file is reached by a chain of `mod`",
        "declare it in its parent, or delete it",
        &unreachable(&sources()),
    );
}

#[test]
fn a_dead_file_is_found() {
    let sources = [
        Source::new("crates/a/src/lib.rs", "pub mod b;\n#[cfg(test)]\nmod tests;\n// mod dead;\n"),
        Source::new("crates/a/src/b.rs", "mod deep;\n"),
        Source::new("crates/a/src/b/deep.rs", ""),
        Source::new("crates/a/src/tests.rs", ""),
        Source::new("crates/a/src/dead.rs", ""),
        Source::new("crates/a/tests/whole.rs", ""),
        Source::new("crates/a/tests/data/dead.rs", ""),
    ];
    let dead: Vec<String> = unreachable(&sources).into_iter().map(|found| found.path).collect();
    assert_eq!(dead, ["crates/a/src/dead.rs", "crates/a/tests/data/dead.rs"]);
}
