//! The repository's rules, as tests. Each rule is a function from sources to findings. Its test
//! runs it over the workspace, and a second test shows that it can fail.

mod circles;
mod layers;
mod links;
mod lists;
mod literals;
mod parameters;
mod paths;
mod prose;
mod quoted;
mod reach;
mod size;
mod studies;
mod text;

use std::fmt;
use std::fs;
use std::path::Path;
use xtask::shell::root;

/// A file of the workspace.
struct Source {
    /// Path from the workspace's root, with slashes.
    path: String,
    text: String,
}

/// A line that breaks a rule.
#[derive(Clone, Debug, PartialEq)]
struct Finding {
    path: String,
    line: usize,
    what: String,
}

impl Source {
    fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    fn read(path: &str) -> Self {
        let text = fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
        Self::new(path, &text)
    }

    /// Whether the whole file is test or benchmark code.
    fn is_test(&self) -> bool {
        let named = self.path.ends_with("/tests.rs") || self.path.contains("/src/tidy/");
        named || self.path.contains("/tests/") || self.path.contains("/benches/")
    }

    /// Numbered lines, from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// The lines before the test module at the file's end; empty for a file of tests.
    fn product_lines(&self) -> Vec<(usize, &str)> {
        if self.is_test() {
            return Vec::new();
        }
        let lines: Vec<_> = self.lines().collect();
        let tests = lines.windows(2).position(|pair| {
            pair[0].1 == "#[cfg(test)]" && pair[1].1.starts_with("mod ") && pair[1].1.ends_with('{')
        });
        lines[..tests.unwrap_or(lines.len())].to_vec()
    }

    fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Every Rust file of the workspace and of the fuzz crate, sorted by path.
fn sources() -> Vec<Source> {
    let mut paths = Vec::new();
    for top in ["crates", "benches", "xtask", "fuzz"] {
        collect(&root().join(top), &mut paths);
    }
    paths.sort();
    assert!(paths.len() > 20, "only {} Rust files found: wrong directory?", paths.len());
    paths.iter().map(|path| Source::read(path)).collect()
}

fn collect(directory: &Path, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries {
        let path = entry.expect("the directory can be read").path();
        if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let relative = path.strip_prefix(root()).expect("it lies below the root");
            found.push(relative.to_string_lossy().replace('\\', "/"));
        }
    }
}

/// Runs a rule over every source.
fn over_sources(rule: impl Fn(&Source) -> Vec<Finding>) -> Vec<Finding> {
    sources().iter().flat_map(rule).collect()
}

/// Fails with every finding, the rule and a remedy.
fn demand(rule: &str, remedy: &str, findings: &[Finding]) {
    let list: Vec<String> = findings.iter().map(|finding| format!("  {finding}")).collect();
    assert!(findings.is_empty(), "\n{rule}:\n{}\nRemedy: {remedy}\n", list.join("\n"));
}

/// The text of a rule's failure names place and remedy.
#[test]
fn findings_name_file_line_and_remedy() {
    let finding = Source::new("a/b.rs", "").finding(7, "too odd");
    let failure = std::panic::catch_unwind(|| demand("rule", "make it even", &[finding]));
    let text = failure.unwrap_err().downcast::<String>().expect("a message");
    assert!(text.contains("a/b.rs:7: too odd"), "{text}");
    assert!(text.contains("Remedy: make it even"), "{text}");
}

#[test]
fn product_lines_end_where_tests_begin() {
    let source = Source::new("a.rs", "fn a() {}\n#[cfg(test)]\nmod tests {\nfn b() {}\n}\n");
    assert_eq!(source.product_lines(), [(1, "fn a() {}")]);
    let elsewhere = Source::new("a.rs", "#[cfg(test)]\nmod tests;\nfn a() {}\n");
    assert_eq!(elsewhere.product_lines().len(), 3);
    assert!(Source::new("crates/a/tests/b.rs", "fn a() {}").product_lines().is_empty());
}
