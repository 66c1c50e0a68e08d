//! Rules about lists and their pages: scenarios ask a question, congestion control algorithms have
//! pages, and README's commands exist.

use super::{Finding, Source, demand};
use clap::CommandFactory;
use std::fs;
use xtask::shell::root;

/// A scenario opens with the question that it answers.
fn question(scenario: &Source) -> Vec<Finding> {
    let first = scenario.text.lines().next().unwrap_or_default();
    let asks = first.starts_with("# ") && first.ends_with('?') && first.len() > 10;
    if asks { Vec::new() } else { vec![scenario.finding(1, "the first line asks nothing")] }
}

/// Algorithms that no page names, between backquotes, in its title.
fn pageless(algorithms: &[&str], pages: &[Source]) -> Vec<Finding> {
    let titles: Vec<&str> = pages.iter().filter_map(|page| page.text.lines().next()).collect();
    let reported =
        |algorithm: &str| titles.iter().any(|title| title.contains(&format!("`{algorithm}`")));
    let index = Source::new("docs/models", "");
    let lacking = algorithms.iter().filter(|algorithm| !reported(algorithm));
    lacking
        .map(|algorithm| index.finding(1, format!("no page has `{algorithm}` in its title")))
        .collect()
}

/// Commands of this program in a document's code that its parser rejects.
fn bad_commands(document: &Source) -> Vec<Finding> {
    let commands = document.lines().filter(|(_, line)| line.starts_with("cargo xtask"));
    commands
        .filter_map(|(at, line)| {
            let words = line.split('#').next().unwrap_or_default().split_whitespace().skip(1);
            let words: Vec<&str> = words.collect();
            // Their own tests parse the arguments of drivers.
            if words.get(1).is_some_and(|name| xtask::drivers::NAMES.contains(name)) {
                return None;
            }
            // The parser takes every other name for that of a driver.
            let command = crate::Cli::command();
            if words.get(1).is_some_and(|name| command.find_subcommand(name).is_none()) {
                return Some(document.finding(at, format!("no task {:?}", words[1])));
            }
            let refused = command.try_get_matches_from(words).err()?;
            let why = refused.to_string().lines().next().unwrap_or_default().to_owned();
            Some(document.finding(at, why))
        })
        .collect()
}

/// Names of the files in a directory of the workspace, sorted.
fn names_in(directory: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(directory));
    let entries = entries.unwrap_or_else(|error| panic!("{directory}: {error}"));
    let names = entries.map(|entry| entry.expect("it can be read").file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn every_scenario_opens_with_its_question() {
    let names = names_in("scenarios").into_iter().filter(|name| name.ends_with(".toml"));
    let scenarios = names.map(|name| Source::read(&format!("scenarios/{name}")));
    let findings: Vec<Finding> = scenarios.flat_map(|scenario| question(&scenario)).collect();
    demand(
        "the first line of a scenario is a question",
        "write `# ...?`: what would somebody want to know who runs it",
        &findings,
    );
}

#[test]
fn a_scenario_can_lack_a_question() {
    assert_eq!(question(&Source::new("s.toml", "# Does a station starve?\n")), []);
    assert_eq!(question(&Source::new("s.toml", "# Stations starve.\n"))[0].line, 1);
    assert_eq!(question(&Source::new("s.toml", "duration = \"1 s\" # why?\n"))[0].line, 1);
}

#[test]
fn every_algorithm_has_a_page() {
    let algorithms: Vec<&str> = fairwave_cc::ALL.iter().map(|algorithm| algorithm.name).collect();
    let names = names_in("docs/models").into_iter().filter(|name| name.ends_with(".md"));
    let pages: Vec<Source> =
        names.map(|name| Source::read(&format!("docs/models/{name}"))).collect();
    demand(
        "every congestion control in `fairwave_cc::ALL` has a page in docs/models",
        "write it, the algorithm's name in its title: equation, source, validated against what",
        &pageless(&algorithms, &pages),
    );
}

#[test]
fn an_algorithm_can_lack_a_page() {
    let pages = [Source::new("docs/models/reno.md", "# Reno and NewReno (`reno`, `newreno`)\n")];
    assert_eq!(pageless(&["reno", "newreno"], &pages), []);
    assert!(pageless(&["reno", "vegas"], &pages)[0].what.contains("`vegas`"));
}

#[test]
fn documented_commands_exist() {
    let documents = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"];
    let findings: Vec<Finding> =
        documents.iter().flat_map(|path| bad_commands(&Source::read(path))).collect();
    demand(
        "every `cargo xtask` command in the documents is one",
        "correct the document, or keep the old name working",
        &findings,
    );
    let readme = Source::read("README.md");
    assert!(readme.lines().any(|(_, line)| line.starts_with("cargo xtask test")), "README.md");
}

#[test]
fn a_wrong_command_is_found() {
    let text = "cargo xtask test --slow # all\ncargo xtask fly\ncargo xtask test --fast\n";
    let lines: Vec<usize> =
        bad_commands(&Source::new("R.md", text)).iter().map(|found| found.line).collect();
    assert_eq!(lines, [2, 3]);
}
