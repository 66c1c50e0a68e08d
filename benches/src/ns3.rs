//! `cargo xtask bench-ns3`: cost of a simulated second here and in ns-3, on the same machine.
//!
//! ns-3's side consists of separate programs under its licence (`benches/ns3`), run as processes.

mod cell;
pub(crate) mod goodput;
mod growth;
mod measure;
pub(crate) mod minstrel;
mod pairs;
mod recorded;
mod report;
mod spread;
mod tables;

use crate::machine::{load, processor, words};
use crate::packages;
use crate::record;
use clap::Args;
use measure::Round;
use pairs::PAIRS;
use report::{Case, Conditions};
use std::fs;
use std::path::Path;
use std::time::SystemTime;
use xtask::shell::{Outcome, cargo, command, note, root, run_aside};
use xtask::workspace;

/// Options of `bench-ns3`.
#[derive(Args)]
pub(crate) struct Options {
    /// Rounds; figures are medians over them.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of traffic that ns-3 simulates; the first does not count.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..))]
    seconds: u32,
    /// Print JSON, and nothing else, to standard output.
    #[arg(long)]
    json: bool,
    /// Append the figures to `benches/runs/DATE-ns3.md`.
    #[arg(long)]
    record: bool,
    /// The date for `--record`, as 2026-11-20. Default: today, by the system.
    #[arg(long, value_parser = date)]
    date: Option<String>,
}

/// ns-3's libraries, each before those it uses.
const LIBRARIES: [&str; 15] = [
    "applications",
    "internet-apps",
    "mobility",
    "network",
    "point-to-point",
    "traffic-control",
    "wifi",
    "internet",
    "bridge",
    "energy",
    "spectrum",
    "propagation",
    "antenna",
    "stats",
    "core",
];

/// Builds both sides, runs them alternately and reports their costs, for any ratio.
pub(crate) fn bench(options: &Options) -> Outcome {
    packages::ns3()?;
    let version = words("dpkg-query", &["-W", "-f", "${Version}", "libns3-dev"])?;
    run_aside(cargo(&["build", "--release", "-p", "fairwave-cli"]))?;
    let ours = ["build", "--release", "-p", "fairwave-benches", "--example", "measured-run"];
    run_aside(cargo(&ours))?;
    let programs = workspace::target().join("ns3");
    for pair in &PAIRS {
        build(pair.peer, &programs, &version)?;
    }
    let before = load();
    let mut rounds: [Vec<Round>; PAIRS.len()] = Default::default();
    for round in 1..=options.rounds {
        for (pair, found) in PAIRS.iter().zip(&mut rounds) {
            note(&format!("round {round}: {}", pair.title));
            found.push(measure::round(pair, &programs, round, options.seconds)?);
        }
    }
    let cases: Vec<Case> =
        PAIRS.iter().zip(&rounds).map(|(pair, rounds)| Case::new(pair, rounds)).collect();
    let growth = growth::measure(options.rounds)?;
    let conditions = conditions(options, version, [before, load()]);
    if options.json {
        println!("{:#}", report::json(&cases, &growth, &conditions));
    } else {
        println!("{}", report::section(&cases, &growth, &conditions));
    }
    if options.record {
        let today = || words("date", &["+%F"]);
        let date = options.date.clone().map_or_else(today, Ok)?;
        let section = format!("\n{}", report::section(&cases, &growth, &conditions));
        record::append(&date, "ns3", "against ns-3", &section)?;
    }
    Ok(())
}

/// Compiles one of ns-3's programs, unless it is newer than its sources.
fn build(peer: &str, programs: &Path, version: &str) -> Outcome {
    let sources = root().join("benches/ns3");
    let source = sources.join(format!("{peer}.cpp"));
    let program = programs.join(peer);
    if is_newer(&program, &[&source, &sources.join("common.hpp")]) {
        return Ok(());
    }
    fs::create_dir_all(programs).map_err(|error| format!("{}: {error}", programs.display()))?;
    let mut compiler = command("g++", &["-std=c++17", "-O3"]);
    // 3.37 needs IPv6 for a helper that later versions use without.
    if version.starts_with("3.37") {
        compiler.arg("-DNS337");
    }
    compiler.arg(source).arg("-o").arg(program);
    compiler.args(LIBRARIES.map(|library| format!("-lns3-{library}")));
    run_aside(compiler)
}

/// Whether the file exists and is newer than all of the others.
fn is_newer(file: &Path, others: &[&Path]) -> bool {
    let changed = |path: &Path| -> Option<SystemTime> { path.metadata().ok()?.modified().ok() };
    changed(file).is_some_and(|made| {
        others.iter().all(|other| changed(other).is_some_and(|before| before < made))
    })
}

/// Conditions on which the figures depend besides the programs.
fn conditions(options: &Options, ns3: String, loads: [String; 2]) -> Conditions {
    let [load_before, load_after] = loads;
    let unknown = || "unknown".to_owned();
    let commit = words("git", &["describe", "--always", "--dirty"]);
    Conditions {
        processor: processor().unwrap_or_else(unknown),
        cores: std::thread::available_parallelism().map_or(0, usize::from),
        load_before,
        load_after,
        ns3,
        rustc: words("rustc", &["--version"]).unwrap_or_else(|_| unknown()),
        compiler: words("g++", &["-dumpfullversion"]).unwrap_or_else(|_| unknown()),
        commit: commit.unwrap_or_else(|_| unknown()),
        rounds: options.rounds,
        seconds: options.seconds,
    }
}

/// Accepts a date of the form 2026-11-20: it becomes part of a file's name.
fn date(text: &str) -> Result<String, String> {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    if shape == "9999-99-99" {
        Ok(text.to_owned())
    } else {
        Err("not of the form 2026-11-20".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_no_path() {
        assert_eq!(date("2026-11-20"), Ok("2026-11-20".to_owned()));
        for wrong in ["", "2026-11-2", "../2026-11-20", "20/6-11-20", "2026-11-200"] {
            assert!(date(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn both_sides_of_every_pair_are_there() {
        for pair in &PAIRS {
            assert!(root().join(pair.scenario).exists(), "{}", pair.scenario);
            let source = root().join(format!("benches/ns3/{}.cpp", pair.peer));
            let text = fs::read_to_string(&source).expect("it can be read");
            assert!(text.starts_with("// SPDX-License-Identifier: GPL-2.0-only\n"), "{source:?}");
        }
    }

    #[test]
    fn a_program_that_was_never_built_is_not_newer() {
        let here = root().join("benches/Cargo.toml");
        assert!(!is_newer(&root().join("no-such-program"), &[&here]));
        assert!(!is_newer(&here, &[&here]));
    }
}
