//! `cargo xtask bench-shake`: SHAKE by the code of `fairwave shake`, and the kernel's MPTCP,
//! alternately over the same emulated paths.

mod combinations;
mod page;

use crate::agree::LATE;
use crate::machine::{conditions, load};
use clap::Args;
use combinations::{Combination, Line, all};
use page::Row;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use xtask::shell::{Outcome, cargo, note, root, run_aside};
use xtask::workspace;

/// Options of `bench-shake`.
#[derive(Args)]
pub(crate) struct Options {
    /// Write results/emulated/shake-paths.md and its CSV.
    #[arg(long)]
    record: bool,
    /// Measure only combinations whose name contains this text.
    #[arg(long)]
    only: Option<String>,
}

/// Code that carries the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Carrier {
    /// That of `fairwave shake`.
    Shake,
    /// The kernel's MPTCP, and its TCP over a single path.
    Mptcp,
}

impl Carrier {
    const ALL: [Self; 2] = [Self::Shake, Self::Mptcp];

    const fn name(self) -> &'static str {
        match self {
            Self::Shake => "SHAKE",
            Self::Mptcp => "MPTCP",
        }
    }
}

/// Result of one run.
#[derive(Clone, Debug, PartialEq)]
struct Measured {
    mbps: f64,
    /// Goodput of each path by the sender's counts, where it has such counts.
    paths_mbps: Vec<f64>,
    retransmissions: u64,
    timeouts: u64,
    /// Reason for which the emulator did not keep real time.
    late: Option<String>,
}

/// Measures all combinations, and prints or records the page.
pub(crate) fn bench(options: &Options) -> Outcome {
    run_aside(cargo(&["build", "--release", "-p", "fairwave-cli"]))?;
    let before = load();
    let is_chosen = |one: &Combination| options.only.as_ref().is_none_or(|w| one.name.contains(w));
    let chosen: Vec<Combination> = all().into_iter().filter(is_chosen).collect();
    let mut alone = BTreeMap::new();
    let mut rows = Vec::new();
    for (number, one) in (1..).zip(&chosen) {
        note(&format!("bench-shake: {number} of {}: {}", chosen.len(), one.name));
        for carrier in Carrier::ALL {
            let together = measured(one, &one.lines, carrier)?;
            let mut singles = Vec::new();
            for line in &one.lines {
                let key = (carrier, line.key());
                if !alone.contains_key(&key) {
                    alone.insert(key.clone(), measured(one, &[*line], carrier)?);
                }
                singles.push(alone[&key].clone());
            }
            rows.push(Row { combination: one.clone(), carrier, together, singles });
        }
    }
    let facts = conditions(&before)?;
    let (page, csv) = (page::page(&facts, &rows), page::csv(&rows));
    println!("{page}");
    if options.record {
        for (name, text) in [("shake-paths.md", &page), ("shake-paths.csv", &csv)] {
            let file = root().join("results/emulated").join(name);
            fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
            note(&format!("wrote {}", file.display()));
        }
    }
    Ok(())
}

/// Emulates a flow over some lines of a combination.
fn measured(one: &Combination, lines: &[Line], carrier: Carrier) -> Result<Measured, String> {
    let directory = workspace::target().join("bench-shake");
    let file = directory.join("scenario.toml");
    let fault = |error| format!("{}: {error}", file.display());
    fs::create_dir_all(&directory).map_err(fault)?;
    fs::write(&file, one.scenario(lines, carrier == Carrier::Mptcp)).map_err(fault)?;
    let out = directory.join("run");
    let mut command = Command::new(workspace::target().join("release/fairwave"));
    command.args(["emulate", "--realtime", "--json", "--quiet", "--force", "--out"]);
    command.arg(&out).arg(&file);
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    // A run that did not keep real time has results, and is marked.
    let has_results = output.status.success() || output.status.code() == Some(LATE);
    if !has_results {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    of_summary(&out.join("summary.json"))
}

fn of_summary(file: &Path) -> Result<Measured, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let summary: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let flow = &summary["flows"][0];
    let count = |key: &str| flow[key].as_u64().unwrap_or(0);
    let seconds = summary["measured_ns"].as_f64().ok_or("no measured_ns")? / 1e9;
    let path = |path: &Value| {
        let bytes = path["delivered_bytes"].as_f64().unwrap_or(0.0);
        bytes * 8.0 / seconds / 1e6
    };
    let paths = flow["paths"].as_array().map_or(&[][..], Vec::as_slice);
    Ok(Measured {
        mbps: flow["goodput_bps"].as_f64().ok_or("no goodput_bps")? / 1e6,
        paths_mbps: paths.iter().map(path).collect(),
        retransmissions: count("retransmissions"),
        timeouts: count("timeouts"),
        late: summary["invalid_reason"].as_str().map(str::to_owned),
    })
}
