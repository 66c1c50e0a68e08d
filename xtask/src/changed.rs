//! The crates that a change can affect: those that it touches, and those that depend on them.

use std::collections::BTreeSet;
use xtask::shell::command;
use xtask::workspace::Member;

/// Extent of the tests after a change.
#[derive(Debug, PartialEq)]
pub(crate) enum Reach {
    /// The change affects no test.
    Nothing,
    /// Crates whose build or tests the change affects.
    Crates(BTreeSet<String>),
    /// The change affects files that all crates are built with.
    Everything,
}

/// Files that differ from `base`, including untracked ones that git does not ignore.
pub(crate) fn files(base: &str) -> Result<Vec<String>, String> {
    let mut files = lines(&["diff", "--name-only", "--no-renames", base])?;
    files.extend(lines(&["ls-files", "--others", "--exclude-standard"])?);
    Ok(files)
}

fn lines(arguments: &[&str]) -> Result<Vec<String>, String> {
    let output = command("git", arguments).output().map_err(|error| format!("git: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().map(str::to_owned).collect())
}

/// The extent of the tests for a change of `files`.
pub(crate) fn reach(files: &[String], members: &[Member]) -> Reach {
    let mut reached = BTreeSet::new();
    for file in files {
        let inside = |member: &&Member| {
            file.strip_prefix(member.directory.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        let member = members.iter().find(inside);
        reached.extend(member.map(|member| member.name.clone()));
        match reader(file) {
            Reader::Everybody if member.is_none() => return Reach::Everything,
            Reader::Everybody | Reader::Nobody => {}
            Reader::Crates(names) => {
                reached.extend(names.iter().map(|name| (*name).to_owned()));
            }
        }
    }
    if reached.is_empty() { Reach::Nothing } else { Reach::Crates(closure(reached, members)) }
}

/// The crates that read a file, besides the crate that contains it.
enum Reader {
    Nobody,
    Crates(&'static [&'static str]),
    Everybody,
}

/// Scenario files are built into studies and checked by the command; a record of benchmarks is
/// built into a study. Documents are compared with code by the repository's rules, which always
/// run, and by tests of these crates.
fn reader(file: &str) -> Reader {
    let top = file.split('/').next().unwrap_or_default();
    match top {
        "studies" | "scenarios" => Reader::Crates(&["fairwave-study", "fairwave-scenario"]),
        "docs" => Reader::Crates(&[
            "fairwave-wire",
            "fairwave-scenario",
            "fairwave-capture",
            "fairwave-cli",
        ]),
        "README.md" | "results" => Reader::Crates(&["fairwave-cli"]),
        "benches" if file.starts_with("benches/runs/") => Reader::Crates(&["fairwave-studies"]),
        "fuzz" | "gstreamer" => Reader::Nobody,
        _ if file.ends_with(".md") => Reader::Nobody,
        _ => Reader::Everybody,
    }
}

/// Adds all crates that are built from these, including tests.
fn closure(mut reached: BTreeSet<String>, members: &[Member]) -> BTreeSet<String> {
    // A test that links a changed crate may fail, but nothing links a test. So a crate reached only
    // by its tests' dependencies does not pass the change on.
    loop {
        let links = |member: &&Member| !member.links.is_disjoint(&reached);
        let new: Vec<String> = members.iter().filter(links).map(|one| one.name.clone()).collect();
        let before = reached.len();
        reached.extend(new);
        if reached.len() == before {
            break;
        }
    }
    let tested = members.iter().filter(|member| !member.tests_link.is_disjoint(&reached));
    let tested: Vec<String> = tested.map(|member| member.name.clone()).collect();
    reached.extend(tested);
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cli` links `sim`, which links `tcp`; `cc` links neither, but its tests link `tcp`.
    fn members() -> Vec<Member> {
        let member = |name: &str, links: &[&str], tests_link: &[&str]| Member {
            name: name.to_owned(),
            directory: format!("crates/{name}"),
            links: links.iter().map(|&name| name.to_owned()).collect(),
            tests_link: tests_link.iter().map(|&name| name.to_owned()).collect(),
        };
        vec![
            member("cc", &[], &["tcp"]),
            member("tcp", &["cc"], &[]),
            member("sim", &["tcp"], &[]),
            member("cli", &["sim"], &[]),
            member("soc", &[], &[]),
        ]
    }

    fn reached(files: &[&str]) -> Reach {
        let files: Vec<String> = files.iter().map(|&file| file.to_owned()).collect();
        reach(&files, &members())
    }

    fn crates(names: &[&str]) -> Reach {
        Reach::Crates(names.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn a_crate_reaches_what_is_built_from_it_and_whose_tests_use_it() {
        assert_eq!(reached(&["crates/sim/src/a.rs"]), crates(&["cli", "sim"]));
        assert_eq!(reached(&["crates/tcp/src/a.rs"]), crates(&["cc", "cli", "sim", "tcp"]));
        assert_eq!(reached(&["crates/soc/tests/a.rs"]), crates(&["soc"]));
    }

    #[test]
    fn what_all_are_built_with_reaches_all_and_a_changelog_nobody() {
        assert_eq!(reached(&["crates/soc/a.rs", "Cargo.lock"]), Reach::Everything);
        assert_eq!(reached(&["CHANGELOG.md", "fuzz/fuzz_targets/a.rs"]), Reach::Nothing);
        assert_eq!(reached(&["README.md"]), crates(&["fairwave-cli"]));
        assert_eq!(reached(&["benches/runs/a.json"]), crates(&["fairwave-studies"]));
        let scenarios = reached(&["scenarios/a.toml"]);
        assert_eq!(scenarios, crates(&["fairwave-scenario", "fairwave-study"]));
    }
}
