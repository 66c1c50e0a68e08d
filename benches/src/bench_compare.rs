//! `cargo xtask bench-compare`: instructions of two commits side by side, or of this tree beside
//! recorded figures.

use crate::callgrind;
use crate::checkout::Checkout;
use crate::instructions::{self, ALL, Benchmark, Count, Programs};
use crate::machine::{conditions, load, words};
use crate::record;
use clap::Args;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use xtask::shell::{Outcome, cargo, note, root, run_aside};
use xtask::workspace;

/// Options of `bench-compare`.
#[derive(Args)]
pub(crate) struct Options {
    /// The earlier commit.
    #[arg(required_unless_present_any = ["recorded", "keep"], requires = "after")]
    before: Option<String>,
    /// The later commit.
    #[arg(conflicts_with_all = ["recorded", "keep"])]
    after: Option<String>,
    /// Instead: this tree beside the figures in benches/instructions.json. Only the benchmarks that
    /// take seconds, if the compiler is that of the figures and callgrind is installed.
    #[arg(long)]
    recorded: bool,
    /// Instead: measure this commit and write its figures into that file.
    #[arg(long, value_name = "COMMIT", num_args = 0..=1, default_missing_value = "HEAD")]
    #[arg(conflicts_with = "recorded")]
    keep: Option<String>,
    /// Excess in per cent above which a benchmark counts as slower [default: 2, and 10 beside
    /// recorded figures].
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    threshold: Option<f64>,
    /// Only benchmarks whose name begins so; may be repeated.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Benchmarks that run at once; all cores if it is not stated.
    #[arg(long)]
    jobs: Option<usize>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Add the table to `benches/runs/DATE-compare.md`.
    #[arg(long)]
    record: bool,
}

/// Threshold between two commits, in per cent.
const BETWEEN_COMMITS: f64 = 2.0;
/// Threshold beside recorded figures, in per cent. The C library and the processor may be others.
const BESIDE_RECORDED: f64 = 10.0;
/// File with the recorded figures.
const FIGURES: &str = "benches/instructions.json";

/// A benchmark in both versions; `None` where a version lacks it.
#[derive(Clone, Copy)]
struct Row {
    benchmark: &'static Benchmark,
    before: Option<Count>,
    after: Option<Count>,
}

/// Measured rows, and their circumstances in words.
struct Table {
    before: String,
    after: String,
    rows: Vec<Row>,
    threshold: f64,
    facts: String,
}

/// Compares, or writes figures. Fails where a benchmark has become slower than the threshold
/// allows.
pub(crate) fn bench(options: &Options) -> Outcome {
    if !callgrind::is_installed() {
        let missing = "callgrind, a tool of valgrind, is not installed";
        return if options.recorded { skipped(missing) } else { Err(missing.to_owned()) };
    }
    match (&options.keep, &options.before, &options.after) {
        (Some(commit), ..) => keep(commit, options),
        (None, Some(before), Some(after)) => commits(before, after, options),
        _ => recorded(options),
    }
}

/// Prints the reason why nothing was measured.
fn skipped(reason: &str) -> Outcome {
    println!("SKIPPED: {reason}");
    Ok(())
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    number.parse().map_err(|error| format!("{error}: a number in per cent"))
}

impl Options {
    /// The benchmarks to run.
    fn wanted(&self) -> Result<Vec<&'static Benchmark>, String> {
        let is_named = |benchmark: &&Benchmark| {
            self.only.is_empty() || self.only.iter().any(|name| benchmark.name.starts_with(name))
        };
        let is_short = |benchmark: &&Benchmark| benchmark.is_quick || !self.recorded;
        let wanted: Vec<_> = ALL.iter().filter(is_named).filter(is_short).collect();
        if wanted.is_empty() { Err(format!("no benchmark {:?}", self.only)) } else { Ok(wanted) }
    }

    fn jobs(&self) -> usize {
        self.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }
}

/// The comparison of two commits.
fn commits(before: &str, after: &str, options: &Options) -> Outcome {
    let wanted = options.wanted()?;
    let load = load();
    let [before, after] = [id(before)?, id(after)?];
    let first = of_commit(&before, &after, &wanted, options)?;
    let second = of_commit(&after, &after, &wanted, options)?;
    let rows = wanted.into_iter().zip(first.into_iter().zip(second));
    let rows = rows.map(|(benchmark, (before, after))| Row { benchmark, before, after }).collect();
    let threshold = options.threshold.unwrap_or(BETWEEN_COMMITS);
    let facts =
        format!("Both are built with the release profile of {after}. {}", conditions(&load)?);
    Table { before, after, rows, threshold, facts }.report(options)
}

/// The short identifier of a commit.
fn id(commit: &str) -> Result<String, String> {
    words("git", &["rev-parse", "--short", &format!("{commit}^{{commit}}")])
}

/// The sections of a commit's manifest about release builds.
fn release_profile(commit: &str) -> Result<String, String> {
    let manifest = words("git", &["show", &format!("{commit}:Cargo.toml")])?;
    Ok(sections(&manifest, "[profile.release"))
}

/// The sections whose header begins so.
fn sections(manifest: &str, header: &str) -> String {
    let mut is_wanted = false;
    let lines = manifest.lines().filter(|line| {
        if line.starts_with('[') {
            is_wanted = line.starts_with(header);
        }
        is_wanted
    });
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Builds a commit with the release profile of the commit `like`, and counts the instructions of
/// its benchmarks.
fn of_commit(
    commit: &str,
    like: &str,
    wanted: &[&Benchmark],
    options: &Options,
) -> Result<Vec<Option<Count>>, String> {
    let checkout = Checkout::of(commit)?;
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error| format!("{path}: {error}")
    };
    let config = workspace::target().join("same/profile.toml");
    fs::write(&config, release_profile(like)?).map_err(failed(&config))?;
    let manifest = checkout.tree.join("benches/Cargo.toml");
    let manifest = fs::read_to_string(&manifest).map_err(failed(&manifest))?;
    let arguments = build(wanted, |name| manifest.contains(&format!("name = \"{name}\"\n")));
    let config = ["--config".to_owned(), config.display().to_string()];
    let arguments: Vec<&str> = arguments.iter().chain(&config).map(String::as_str).collect();
    checkout.cargo(&arguments)?;
    note(&format!("counting instructions of {commit}"));
    let programs = checkout.build.join("release/examples");
    let scratch = workspace::target().join("same/instructions");
    instructions::count(
        wanted,
        &Programs { programs, tree: checkout.tree, scratch },
        options.jobs(),
    )
}

/// Arguments of cargo that build the programs of benchmarks which a version has.
fn build(wanted: &[&Benchmark], has: impl Fn(&str) -> bool) -> Vec<String> {
    let programs: BTreeSet<&str> = wanted.iter().map(|benchmark| benchmark.program).collect();
    let examples = programs.into_iter().filter(|name| has(name));
    let examples = examples.flat_map(|name| ["--example", name]);
    let all = ["build", "--release", "-p", "fairwave-benches"].into_iter().chain(examples);
    all.map(str::to_owned).collect()
}

/// Measures a commit, and writes its figures.
fn keep(commit: &str, options: &Options) -> Outcome {
    let wanted = options.wanted()?;
    let id = id(commit)?;
    let counts = of_commit(&id, &id, &wanted, options)?;
    let figure = |(benchmark, count): (&&Benchmark, Option<Count>)| {
        let count = count?;
        let per_unit = (count.instructions * 10.0).round() / 10.0;
        Some((benchmark.name.to_owned(), json!({ "instructions": per_unit, "work": count.work })))
    };
    let figures: Map<String, Value> = wanted.iter().zip(counts).filter_map(figure).collect();
    let rustc = words("rustc", &["--version"])?;
    let all = json!({ "commit": id, "rustc": rustc, "benchmarks": figures });
    let text = serde_json::to_string_pretty(&all).map_err(|error| error.to_string())? + "\n";
    let path = root().join(FIGURES);
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    note(&format!("wrote {}", path.display()));
    Ok(())
}

/// This tree beside the recorded figures.
fn recorded(options: &Options) -> Outcome {
    let path = root().join(FIGURES);
    let text = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let figures: Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    let rustc = words("rustc", &["--version"])?;
    let of = figures["rustc"].as_str().unwrap_or_default();
    if of != rustc {
        return skipped(&format!("{FIGURES} was recorded with {of}, and this is {rustc}"));
    }
    let wanted = options.wanted()?;
    let load = load();
    let arguments = build(&wanted, |_| true);
    run_aside(cargo(&arguments.iter().map(String::as_str).collect::<Vec<_>>()))?;
    let target = workspace::target();
    let programs = target.join("release/examples");
    let of = Programs { programs, tree: root(), scratch: target.join("instructions") };
    let counts = instructions::count(&wanted, &of, options.jobs())?;
    let rows = wanted.into_iter().zip(counts);
    let rows = rows.map(|(benchmark, after)| {
        let kept = &figures["benchmarks"][benchmark.name];
        let count = |instructions| Count { instructions, work: kept["work"].as_u64().unwrap_or(0) };
        Row { benchmark, before: kept["instructions"].as_f64().map(count), after }
    });
    let commit = figures["commit"].as_str().unwrap_or_default().to_owned();
    let threshold = options.threshold.unwrap_or(BESIDE_RECORDED);
    let facts = conditions(&load)?;
    let table =
        Table { before: commit, after: "this tree".into(), rows: rows.collect(), threshold, facts };
    table.report(options)
}

impl Row {
    /// Instructions of the later version over those of the earlier one.
    fn ratio(&self) -> Option<f64> {
        Some(self.after?.instructions / self.before?.instructions)
    }

    fn is_slower(&self, threshold: f64) -> bool {
        self.ratio().is_some_and(|ratio| ratio > 1.0 + threshold / 100.0)
    }

    fn markdown(&self, threshold: f64) -> String {
        let cell = |count: Option<Count>| {
            count.map_or("-".to_owned(), |count| format!("{:.1}", count.instructions))
        };
        let work = match (self.before, self.after) {
            (Some(a), Some(b)) if a.work != b.work => format!("{}, then {}", a.work, b.work),
            (a, b) => a.or(b).map_or("-".to_owned(), |count| count.work.to_string()),
        };
        let ratio = match self.ratio() {
            Some(ratio) if self.is_slower(threshold) => format!("**{ratio:.3}**"),
            Some(ratio) => format!("{ratio:.3}"),
            None => "-".to_owned(),
        };
        let Benchmark { name, unit, .. } = self.benchmark;
        let [before, after] = [self.before, self.after].map(cell);
        format!("| {name} | {unit} | {work} | {before} | {after} | {ratio} |\n")
    }

    fn json(&self, threshold: f64) -> Value {
        let of = |part: fn(Count) -> Value| [self.before, self.after].map(|count| count.map(part));
        let [before, after] = of(|count| json!(count.instructions));
        json!({
            "name": self.benchmark.name,
            "unit": self.benchmark.unit,
            "work": of(|count| json!(count.work)),
            "before": before,
            "after": after,
            "ratio": self.ratio(),
            "is_slower": self.is_slower(threshold),
        })
    }
}

impl Table {
    /// Prints and records the table. Fails if a benchmark is slower than the threshold allows.
    fn report(&self, options: &Options) -> Outcome {
        match options.json {
            true => println!("{}", self.json()),
            false => println!("{}", self.markdown()),
        }
        if options.record {
            record::add("compare", "instructions of two commits", &self.markdown())?;
        }
        let slower = self.rows.iter().filter(|row| row.is_slower(self.threshold));
        let slower: Vec<&str> = slower.map(|row| row.benchmark.name).collect();
        match slower[..] {
            [] => Ok(()),
            _ => Err(format!("slower by over {} %: {}", self.threshold, slower.join("; "))),
        }
    }

    fn markdown(&self) -> String {
        let Self { before, after, rows, threshold, facts } = self;
        let rows: String = rows.iter().map(|row| row.markdown(*threshold)).collect();
        format!(
            "Instructions by callgrind for each unit of work. {facts}. Of most benchmarks the \
             difference of two lengths; a ratio over {} is bold.\n\n\
             | benchmark | for each | of them | {before} | {after} | ratio |\n\
             |---|---|---:|---:|---:|---:|\n{rows}",
            1.0 + threshold / 100.0
        )
    }

    fn json(&self) -> String {
        let rows: Vec<Value> = self.rows.iter().map(|row| row.json(self.threshold)).collect();
        let all = json!({
            "before": self.before,
            "after": self.after,
            "threshold_percent": self.threshold,
            "benchmarks": rows,
        });
        format!("{all:#}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(before: f64, after: f64) -> Row {
        let count = |instructions| Some(Count { instructions, work: 100 });
        Row { benchmark: &ALL[0], before: count(before), after: count(after) }
    }

    #[test]
    fn a_ratio_above_the_threshold_fails() {
        assert!(!row(100.0, 101.9).is_slower(2.0));
        assert!(row(100.0, 102.1).is_slower(2.0));
        assert!(!Row { before: None, ..row(1.0, 2.0) }.is_slower(2.0));
        let line = row(100.0, 110.0).markdown(2.0);
        assert_eq!(
            line,
            "| one-run udp, 10 stations | frame | 100 | 100.0 | 110.0 | **1.100** |\n"
        );
    }

    #[test]
    fn a_threshold_is_in_per_cent() {
        assert_eq!([percent("2 %"), percent("2%"), percent("2.5")], [Ok(2.0), Ok(2.0), Ok(2.5)]);
        assert!(percent("two").is_err());
    }

    #[test]
    fn a_profile_is_that_of_the_release() {
        let manifest = "[profile.dev]\na = 1\n[profile.release]\nlto = \"off\"\n\
                        [profile.release.package.x]\nb = 2\n[profile.agent]\nc = 3\n";
        let release = sections(manifest, "[profile.release");
        assert_eq!(
            release,
            "[profile.release]\nlto = \"off\"\n[profile.release.package.x]\nb = 2\n"
        );
    }

    #[test]
    fn recorded_figures_are_those_of_benchmarks() {
        let text = fs::read_to_string(root().join(FIGURES)).unwrap();
        let figures: Value = serde_json::from_str(&text).unwrap();
        let names = figures["benchmarks"].as_object().unwrap().keys();
        names.for_each(|name| assert!(ALL.iter().any(|known| known.name == name), "{name}"));
        let is_there = |known: &&Benchmark| figures["benchmarks"].get(known.name).is_some();
        assert!(ALL.iter().filter(|known| known.is_quick).all(|known| is_there(&known)));
    }
}
