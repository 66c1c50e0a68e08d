//! The rule against cycles: within a crate, no two files use each other, directly or through other
//! files. A reader can then read a crate from the leaves upwards.
//!
//! A file is read as text: paths that begin with `crate`, `self`, `super` or a module that the file
//! declares. A name that a module re-exports with `pub use` counts as one of the file that defines
//! it. The re-export itself does not count as a use.

use super::paths::{Named, names};
use super::{Finding, Source, demand, sources};
use std::collections::{BTreeMap, BTreeSet};

/// A module: its crate, then its names from the crate's root on.
type Module = Vec<String>;

/// Definitions and uses of the workspace's files.
struct Graph<'a> {
    files: BTreeMap<Module, &'a Source>,
    names: BTreeMap<Module, Vec<Named>>,
}

/// The module of a source file; `None` for tests and for files outside of `src`.
fn module(source: &Source) -> Option<Module> {
    let (member, inside) = source.path.split_once("/src/")?;
    let is_test = source.is_test() || inside.ends_with("tests.rs") || inside.contains("tests/");
    if is_test && !inside.starts_with("tidy/") {
        return None;
    }
    let path = inside.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").unwrap_or(path);
    let names = path.split('/').filter(|name| !["lib", "main"].contains(name));
    Some(std::iter::once(member).chain(names).map(str::to_owned).collect())
}

impl<'a> Graph<'a> {
    fn of(sources: &'a [Source]) -> Self {
        let files: BTreeMap<Module, &Source> =
            sources.iter().filter_map(|source| Some((module(source)?, source))).collect();
        let names = files.iter().map(|(at, source)| (at.clone(), names(source))).collect();
        Self { files, names }
    }

    /// The file that defines the item at `path`, seen from the module `from`, if the crate has it.
    fn resolve(&self, from: &[String], path: &[String], depth: u32) -> Option<Module> {
        let mut at = from.to_vec();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => (at, rest) = (from[..1].to_vec(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {}
            child => {
                let is_child = self.files.contains_key(&[from, &[child.to_owned()]].concat());
                is_child.then_some(())?;
            }
        }
        while let Some((name, behind)) = rest.split_first() {
            if name == "super" {
                (at.len() > 1).then(|| at.pop())?;
            } else if self.files.contains_key(&[&at[..], std::slice::from_ref(name)].concat()) {
                at.push(name.clone());
            } else {
                break;
            }
            rest = behind;
        }
        let item = rest.first();
        let exported = self.names.get(&at)?.iter().find(|name| {
            name.is_exported && item.is_some() && name.path.last() == item && depth < 8
        });
        match exported {
            Some(name) => self.resolve(&at, &name.path, depth + 1).or(Some(at)),
            None => Some(at),
        }
    }

    /// The files that each file uses.
    fn arrows(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let targets = |from: &Module, used: &[Named]| {
            let used = used.iter().filter(|name| !name.is_exported);
            let found = used.filter_map(|name| self.resolve(from, &name.path, 0));
            found.filter(|to| to != from).collect()
        };
        self.names.iter().map(|(from, used)| (from, targets(from, used))).collect()
    }

    /// One finding for each set of files that form cycles.
    fn circles(&self) -> Vec<Finding> {
        let arrows = self.arrows();
        let mut reported: BTreeSet<&Module> = BTreeSet::new();
        let mut findings = Vec::new();
        for &from in arrows.keys() {
            let Some(way) = shortest(&arrows, from).filter(|_| !reported.contains(from)) else {
                continue;
            };
            reported
                .extend(way.iter().filter_map(|at| arrows.get_key_value(at)).map(|(at, _)| *at));
            let files: Vec<&str> = way.iter().map(|at| self.files[at].path.as_str()).collect();
            findings.push(self.files[from].finding(1, format!("-> {}", files.join(" -> "))));
        }
        findings
    }
}

/// The shortest path from a file back to itself.
fn shortest(arrows: &BTreeMap<&Module, BTreeSet<Module>>, start: &Module) -> Option<Vec<Module>> {
    let mut ways: Vec<Vec<Module>> = vec![Vec::new()];
    let mut seen = BTreeSet::new();
    // A breadth-first search, so the first path found is a shortest one.
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            for to in &arrows[way.last().unwrap_or(start)] {
                let next = [&way[..], std::slice::from_ref(to)].concat();
                if to == start {
                    return Some(next);
                }
                if arrows.contains_key(to) && seen.insert(to.clone()) {
                    longer.push(next);
                }
            }
        }
        ways = longer;
    }
    None
}

#[test]
fn no_files_of_a_crate_use_each_other() {
    let sources = sources();
    demand(
        "within a crate, no two files use each other",
        "move what both need into a file that uses neither",
        &Graph::of(&sources).circles(),
    );
}

#[cfg(test)]
fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let sources: Vec<Source> = files.iter().map(|(path, text)| Source::new(path, text)).collect();
    Graph::of(&sources).circles().iter().map(ToString::to_string).collect()
}

#[test]
fn a_circle_over_three_files_is_found_once() {
    let found = circles_of(&[
        ("crates/a/src/lib.rs", "mod b;\nmod c;\nmod d;\nuse b::B;\n"),
        ("crates/a/src/b.rs", "use crate::c::{self, C};\n"),
        ("crates/a/src/c.rs", "fn f() { super::d::g() }\n"),
        ("crates/a/src/d.rs", "use super::{b::B};\n"),
    ]);
    let way = "crates/a/src/c.rs -> crates/a/src/d.rs -> crates/a/src/b.rs";
    assert_eq!(found, [format!("crates/a/src/b.rs:1: -> {way}")]);
}

#[test]
fn a_child_that_uses_its_parent_is_a_circle_unless_the_parent_only_exports_it() {
    let child = ("crates/a/src/b/c.rs", "use super::B;\n");
    let used = ("crates/a/src/b/mod.rs", "mod c;\nuse c::C;\npub struct B;\n");
    assert_eq!(circles_of(&[used, child]).len(), 1);
    let exported = ("crates/a/src/b/mod.rs", "mod c;\npub(crate) use c::C;\npub struct B;\n");
    assert_eq!(circles_of(&[exported, child]), [""; 0]);
    let called = ("crates/a/src/b/mod.rs", "mod c;\nfn f() { c::g() }\npub struct B;\n");
    assert_eq!(circles_of(&[called, child]).len(), 1);
}

#[test]
fn a_name_is_that_of_the_file_that_defines_it() {
    let found = circles_of(&[
        ("crates/a/src/lib.rs", "mod b;\nmod c;\npub use b::B;\nuse c::C;\n"),
        ("crates/a/src/b.rs", ""),
        ("crates/a/src/c.rs", "use crate::B;\n// use crate::A;\n"),
    ]);
    assert_eq!(found, [""; 0]);
}
