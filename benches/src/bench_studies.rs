//! `cargo xtask bench-studies`: cost of the studies, from an empty store of results and from a full
//! one.

use crate::machine::{conditions, load};
use crate::record;
use clap::Args;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use xtask::pages;
use xtask::shell::{Outcome, cargo, command, note, run_aside};
use xtask::workspace;

/// Options of `bench-studies`.
#[derive(Args)]
pub(crate) struct Options {
    /// The quick forms: the default.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The full forms, which take an hour or two.
    #[arg(long)]
    full: bool,
    /// Only these studies; all if none is named.
    studies: Vec<String>,
    /// Write the page of each study, and count its verdicts in README, as `cargo xtask pages` does.
    #[arg(long, requires = "full")]
    pages: bool,
    /// Add the figures to `benches/runs/DATE-studies.md`.
    #[arg(long)]
    record: bool,
    /// Measure this `fairwave`, such as that of a guided wheel, not a release build.
    #[arg(long, value_name = "FILE")]
    command: Option<PathBuf>,
}

/// Runs a command with its output in a file, and prints its cost as JSON. A process in between,
/// since the kernel reports the memory of all finished children together: the maximum of a study
/// would be that of every later one.
const TIMED: &str = "\
import json, resource, subprocess, sys, time
started = time.monotonic()
with open(sys.argv[1], 'w') as told:
    code = subprocess.run(sys.argv[2:], stdout=told).returncode
wall = time.monotonic() - started
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({'code': code, 'wall_s': wall, 'cpu_s': used.ru_utime + used.ru_stime,
                  'peak_kib': used.ru_maxrss}))
";

/// Cost of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cost {
    wall_s: f64,
    cpu_s: f64,
    peak_mib: f64,
}

/// A study: its cost from an empty store, and again from the full one.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    name: String,
    results: u64,
    store_mb: f64,
    first: Cost,
    again: Cost,
}

/// Runs the studies one after the other, each with a worker for every core.
pub(crate) fn bench(options: &Options) -> Outcome {
    let fairwave = match &options.command {
        Some(given) => given.clone(),
        None => {
            run_aside(cargo(&["build", "--release", "-p", "fairwave-cli"]))?;
            workspace::target().join("release/fairwave")
        }
    };
    let form = if options.full && !options.quick { "--full" } else { "--quick" };
    let names = match options.studies.is_empty() {
        true => pages::studies()?,
        false => options.studies.clone(),
    };
    let before = load();
    let mut rows = Vec::new();
    let mut end = Ok(());
    for name in &names {
        note(&format!("{name} {form}"));
        match measured(&fairwave, name, form, options.pages) {
            Ok(found) => {
                note(row(&found).trim_end());
                rows.push(found);
            }
            // Earlier measurements took long, so they are kept in spite of the error.
            Err(error) => {
                end = Err(error);
                break;
            }
        }
    }
    if rows.is_empty() {
        return end;
    }
    let facts = conditions(&before)?;
    let measured = match &options.command {
        Some(given) => format!("{form} --command {}", given.display()),
        None => form.to_owned(),
    };
    let text = page(&measured, &facts, &rows);
    println!("{text}");
    if options.record {
        record::add("studies", "what the studies take", &text)?;
    }
    end
}

fn measured(fairwave: &Path, name: &str, form: &str, is_page: bool) -> Result<Row, String> {
    let place = workspace::target().join("bench-studies");
    let (store, out) = (place.join("store"), place.join("out"));
    for old in [&store, &out] {
        if old.exists() {
            fs::remove_dir_all(old).map_err(|error| format!("{}: {error}", old.display()))?;
        }
    }
    let printed = place.join("printed");
    fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let first = timed(fairwave, name, form, [&store, &out, &printed])?;
    if is_page {
        let page = fs::read_to_string(&printed);
        pages::write(name, &page.map_err(|error| format!("{}: {error}", printed.display()))?)?;
    }
    let again = timed(fairwave, name, form, [&store, &out, &printed])?;
    let kept = kept(fairwave, &store)?;
    let results = kept["versions"].as_array().into_iter().flatten();
    let results = results.filter_map(|version| version["results"].as_u64()).sum();
    let store_mb = kept["bytes"].as_f64().unwrap_or(0.0) / 1e6;
    Ok(Row { name: name.to_owned(), results, store_mb, first, again })
}

fn timed(fairwave: &Path, name: &str, form: &str, files: [&Path; 3]) -> Result<Cost, String> {
    let fairwave = fairwave.display().to_string();
    let [store, out, printed] = files.map(|path| path.display().to_string());
    let study = [&fairwave, "--quiet", "--force", "--out", &out, "reproduce", name, form];
    let last = ["--markdown", "--store", &store];
    let args = [&["-c", TIMED, &printed][..], &study, &last].concat();
    let output = command("python3", &args).output().map_err(|error| format!("python3: {error}"))?;
    let reported: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let of = |key: &str| reported[key].as_f64().unwrap_or(0.0);
    match reported["code"].as_i64() {
        Some(0) => {
            Ok(Cost { wall_s: of("wall_s"), cpu_s: of("cpu_s"), peak_mib: of("peak_kib") / 1024.0 })
        }
        code => Err(format!("{name}: {code:?}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// Output of `fairwave store --json`.
fn kept(fairwave: &Path, store: &Path) -> Result<Value, String> {
    let args = ["--json", "store", "--store", &store.display().to_string()];
    let output = command(&fairwave.to_string_lossy(), &args).output();
    let output = output.map_err(|error| format!("fairwave store: {error}"))?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("fairwave store: {error}"))
}

/// The figures as Markdown.
fn page(form: &str, facts: &str, rows: &[Row]) -> String {
    let lines: String = rows.iter().map(row).collect();
    let sum = |of: fn(&Row) -> f64| rows.iter().map(of).sum::<f64>();
    let total = Row {
        name: "together".to_owned(),
        results: rows.iter().map(|row| row.results).sum(),
        store_mb: sum(|row| row.store_mb),
        first: Cost {
            wall_s: sum(|row| row.first.wall_s),
            cpu_s: sum(|row| row.first.cpu_s),
            peak_mib: rows.iter().map(|row| row.first.peak_mib).fold(0.0, f64::max),
        },
        again: Cost {
            wall_s: sum(|row| row.again.wall_s),
            cpu_s: sum(|row| row.again.cpu_s),
            peak_mib: rows.iter().map(|row| row.again.peak_mib).fold(0.0, f64::max),
        },
    };
    format!(
        "`cargo xtask bench-studies {form} --record`. {facts}. Each study by itself with a worker \
         for every core, its store of results empty at first; \"again\" takes every run from it. \
         Processor time is that of the whole command, system included; memory is the largest \
         resident set. Results are summaries, and the series of runs that have them.\n\n\
         | study | results | store, MB | wall s | CPU s | MiB | again, wall s | again, CPU s |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n{lines}{}",
        row(&total)
    )
}

fn row(row: &Row) -> String {
    let Row { name, results, store_mb, first, again } = row;
    format!(
        "| {name} | {results} | {store_mb:.1} | {:.1} | {:.1} | {:.0} | {:.1} | {:.1} |\n",
        first.wall_s, first.cpu_s, first.peak_mib, again.wall_s, again.cpu_s
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_add_up_and_memory_does_not() {
        let first = Cost { wall_s: 10.0, cpu_s: 18.0, peak_mib: 100.0 };
        let again = Cost { wall_s: 1.0, cpu_s: 0.5, peak_mib: 50.0 };
        let row =
            |name: &str| Row { name: name.to_owned(), results: 100, store_mb: 2.5, first, again };
        let page = page("--quick", "a machine", &[row("a"), row("b")]);
        assert!(page.contains("\n| a | 100 | 2.5 | 10.0 | 18.0 | 100 | 1.0 | 0.5 |\n"), "{page}");
        assert!(page.ends_with("\n| together | 200 | 5.0 | 20.0 | 36.0 | 100 | 2.0 | 1.0 |\n"));
    }
}
