//! `cargo xtask bench-emulate`: capacity of the emulator, beside a bare forwarder.

use crate::machine::{conditions, load};
use crate::record;
use clap::Args;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use xtask::shell::{Outcome, cargo, note, root, run_aside};
use xtask::workspace;

/// Options of `bench-emulate`.
#[derive(Args)]
pub(crate) struct Options {
    /// Add the figures to `benches/runs/DATE-emulate.md`.
    #[arg(long)]
    record: bool,
}

/// Share of the forwarder's rate that is the goal.
const GOAL: f64 = 0.8;

/// Scenarios that are measured beside the forwarder.
const WORLDS: [&str; 2] = ["wired", "ax"];

/// Measures for some two minutes, and prints or records the results.
pub(crate) fn bench(options: &Options) -> Outcome {
    let build = ["build", "--release", "-p", "fairwave-benches", "--example", "emulator-limits"];
    run_aside(cargo(&build))?;
    let before = load();
    let rows = measure()?;
    let facts = conditions(&before)?;
    let text = table(&facts, &rows);
    println!("{text}");
    if options.record {
        record::add("emulate", "the emulator's limits", &text)?;
    }
    Ok(())
}

/// The program's output, line by line.
fn measure() -> Result<Vec<Value>, String> {
    let program = workspace::target().join("release/examples/emulator-limits");
    let mut command = Command::new(&program);
    let file = |name: &str| {
        format!("{name}={}", root().join("benches/emulator").join(name).display()) + ".toml"
    };
    command.args(WORLDS.map(file)).stdout(Stdio::piped());
    let fault = |error: std::io::Error| format!("{}: {error}", program.display());
    let mut child = command.spawn().map_err(fault)?;
    let lines = child.stdout.take().map(BufReader::new).ok_or("the program has no output")?;
    let mut rows = Vec::new();
    // Read line by line, so that the rows of two minutes are shown when they are known.
    for line in lines.lines() {
        let line = line.map_err(fault)?;
        note(&line);
        rows.push(serde_json::from_str(&line).map_err(|error| format!("{line}: {error}"))?);
    }
    match child.wait().map_err(fault)?.success() {
        true => Ok(rows),
        false => Err(format!("{} failed", program.display())),
    }
}

/// The figures as Markdown.
fn table(facts: &str, rows: &[Value]) -> String {
    let rows: String = rows.iter().map(|entry| row(entry, rows)).collect();
    format!(
        "`cargo xtask bench-emulate --record`. {facts}. The highest rate that was carried from \
         one namespace to another without a loss and, but in the rows \"forwarder\" and \
         \"forwarder, steered\", in time: with events, writing and reading late at p99 by at \
         most 1.5 times what a bare timer loop of the same priority was just before \
         (`benches/emulator_limits.rs` defines each); found by bisection. The last columns \
         compare Mbps with those of the bare forwarder; {:.0} % is \
         the goal.\n\n\
         | path | load | packets/s | Mbps | of the forwarder | of it in time | late p99 us | \
         timer p99 us | processor | turns/packet | refused at Mbps, as |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|\n{rows}",
        100.0 * GOAL
    )
}

fn number(entry: &Value, key: &str) -> f64 {
    entry[key].as_f64().unwrap_or(0.0)
}

/// Rate as a share of another path's rate under the same load, both in Mbps.
fn share(entry: &Value, all: &[Value], path: &str) -> String {
    let is_other = |other: &&Value| other["path"] == path && other["load"] == entry["load"];
    let bare = all.iter().find(is_other).map_or(0.0, |bare| number(bare, "mbps"));
    if bare > 0.0 { format!("{:.0} %", 100.0 * number(entry, "mbps") / bare) } else { "-".into() }
}

fn row(entry: &Value, all: &[Value]) -> String {
    let us = |key: &str| entry[key].as_f64().map_or("-".into(), |ns| format!("{:.0}", ns / 1e3));
    let cells = [
        entry["path"].as_str().unwrap_or("?").to_owned(),
        entry["load"].as_str().unwrap_or("?").to_owned(),
        format!("{:.0}", number(entry, "packets_per_second")),
        format!("{:.0}", number(entry, "mbps")),
        share(entry, all, "forwarder"),
        share(entry, all, "forwarder in time"),
        us("late_p99_ns"),
        us("timer_p99_ns"),
        format!("{:.2}", number(entry, "cpu_load")),
        format!("{:.2}", number(entry, "turns_per_packet")),
        format!(
            "{:.0}, {}",
            number(entry, "refused_mbps"),
            entry["refused_because"].as_str().unwrap_or("?")
        ),
    ];
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_compares_with_the_forwarder_under_the_same_load() {
        let reported = |path: &str, load: &str, mbps: f64| {
            json!({
                "path": path, "load": load, "mbps": mbps, "late_p99_ns": 120_000,
                "timer_p99_ns": 100_000, "refused_mbps": 9, "refused_because": "late",
            })
        };
        let rows = [
            reported("forwarder", "one TCP", 1000.0),
            reported("forwarder", "UDP, 92 B", 50.0),
            reported("forwarder in time", "one TCP", 820.0),
            reported("ax", "one TCP", 820.0),
        ];
        let text = table("facts", &rows);
        assert!(text.contains("| ax | one TCP | 0 | 820 | 82 % | 100 % | 120 | 100 |"), "{text}");
        assert!(text.contains("| 9, late |"), "{text}");
    }
}
