//! `cargo xtask bench-dccp`: CCID 3 by the code of `fairwave dccp`, and the kernel's TCP with Reno
//! and CUBIC, over the same emulated paths, each with the simulator's figure.

mod connections;
mod page;
mod path;

use crate::agree::LATE;
use crate::machine::{conditions, load};
use clap::Args;
use page::Row;
use path::{FLOWS, Path};
use serde_json::Value;
use std::fs;
use std::process::Command;
use xtask::shell::{Outcome, WITH_KERNEL_CC, cargo, note, root, run_aside};
use xtask::workspace;

/// Options of `bench-dccp`.
#[derive(Args)]
pub(crate) struct Options {
    /// Write results/emulated/ccid3-paths.md and its CSV.
    #[arg(long)]
    record: bool,
    /// Measure only the shortest and the longest round trip.
    #[arg(long)]
    quick: bool,
    /// Measure the unoptimised build.
    #[arg(long)]
    debug: bool,
    /// Instead: memory and time of so many connections of one endpoint inside UDP.
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["record", "quick"])]
    connections: Option<usize>,
}

/// Round-trip times without a queue.
const RTTS_MS: [u32; 4] = [20, 50, 100, 200];
const LOSSES: [f64; 3] = [0.001, 0.01, 0.05];
/// A run that did not keep real time is repeated up to this number of runs.
const ATTEMPTS: usize = 3;
/// Measures every path, and prints or records the page.
pub(crate) fn bench(options: &Options) -> Outcome {
    let profile: &[&str] = if options.debug { &[] } else { &["--release"] };
    if let Some(count) = options.connections {
        return connections::bench(count, profile);
    }
    run_aside(cargo(&[&["build", "-p", "fairwave-cli", WITH_KERNEL_CC], profile].concat()))?;
    let before = load();
    let mut rows = Vec::new();
    for path in paths(options.quick) {
        note(&format!("bench-dccp: {} ms, loss {}", path.rtt_ms, path.loss));
        rows.push(punctual(path, options.debug)?);
    }
    let build = if options.debug { "unoptimised build" } else { "release build" };
    let facts = format!("{}; {build}", conditions(&before)?);
    let (page, csv) = (page::page(&facts, &rows), page::csv(&rows));
    println!("{page}");
    if options.record {
        for (name, text) in [("ccid3-paths.md", &page), ("ccid3-paths.csv", &csv)] {
            let file = root().join("results/emulated").join(name);
            fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
            note(&format!("wrote {}", file.display()));
        }
    }
    Ok(())
}

fn paths(is_quick: bool) -> Vec<Path> {
    let rtts: Vec<u32> = match is_quick {
        true => vec![RTTS_MS[0], RTTS_MS[RTTS_MS.len() - 1]],
        false => RTTS_MS.to_vec(),
    };
    let with = |is_shared| {
        let rtts = rtts.clone();
        rtts.into_iter().flat_map(move |rtt_ms| {
            LOSSES.into_iter().map(move |loss| Path { rtt_ms, loss, is_shared })
        })
    };
    with(false).chain(with(true)).collect()
}

fn punctual(path: Path, is_debug: bool) -> Result<Row, String> {
    let mut row = measured(path, is_debug)?;
    for _ in 1..ATTEMPTS {
        let Some(late) = &row.late else { break };
        note(&format!("again: {late}"));
        row = measured(path, is_debug)?;
    }
    Ok(row)
}

fn measured(path: Path, is_debug: bool) -> Result<Row, String> {
    let directory = workspace::target().join("bench-dccp");
    let file = directory.join("scenario.toml");
    let fault = |error| format!("{}: {error}", file.display());
    fs::create_dir_all(&directory).map_err(fault)?;
    fs::write(&file, path.scenario()).map_err(fault)?;
    let built = workspace::target().join(if is_debug { "debug" } else { "release" });
    // The flows' ends run in threads of the command, which other work must not delay.
    let mut command = Command::new("chrt");
    command.args(["--rr", "1"]).arg(built.join("fairwave"));
    command.args(["emulate", "--realtime", "--beside-simulation", "--json", "--quiet"]);
    command.args(["--force", "--out"]).arg(directory.join("run")).arg(&file);
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let has_results = output.status.success() || output.status.code() == Some(LATE);
    if !has_results {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let reported = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    row(path, &reported)
}

fn row(path: Path, reported: &Value) -> Result<Row, String> {
    let flows = reported["agreement"]["flows"].as_array().ok_or("no flows")?;
    let mbps = |name: &str, side: &str| {
        let flow = flows.iter().find(|flow| flow["name"] == name);
        flow.and_then(|flow| flow[side]["goodput_mbps"].as_f64()).ok_or(format!("no {name}"))
    };
    let of = |side| -> Result<Vec<f64>, String> {
        FLOWS.into_iter().map(|name| mbps(name, side)).collect()
    };
    Ok(Row {
        path,
        emulated: of("emulator")?,
        simulated: of("simulator")?,
        late: reported["summary"]["invalid_reason"].as_str().map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_scenario_is_valid() {
        assert_eq!(paths(true).len(), 2 * 2 * LOSSES.len());
        for path in paths(false) {
            let text = path.scenario();
            let plan = fairwave_scenario::plan::Plan::parse("dccp", &text, &[]);
            assert!(plan.is_ok(), "{}\n{text}", plan.expect_err("is wrong"));
        }
    }

    #[test]
    fn figures_are_those_of_both_sides() {
        let flow = |name: &str, mbps: f64| {
            json!({ "name": name, "emulator": { "goodput_mbps": mbps },
                    "simulator": { "goodput_mbps": 2.0 * mbps } })
        };
        let flows = [flow("reno", 2.0), flow("ccid3", 1.0), flow("cubic", 3.0)];
        let reported = json!({ "agreement": { "flows": flows }, "summary": {} });
        let path = Path { rtt_ms: 20, loss: 0.01, is_shared: false };
        let found = row(path, &reported).expect("it is whole");
        assert_eq!(found.emulated, [1.0, 2.0, 3.0]);
        assert_eq!((found.simulated, found.late), (vec![2.0, 4.0, 6.0], None));
        assert!(row(path, &json!({ "agreement": { "flows": [] } })).is_err());
    }
}
