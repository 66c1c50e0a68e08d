//! `cargo xtask agree`: goodput of flows in the simulator and, on sockets of the kernel, in the
//! emulator, for each scenario of a directory.

use clap::Args;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::shell::{Outcome, cargo, note, root, run_aside, shown, succeeds};
use xtask::workspace;

/// Options of `agree`.
#[derive(Args)]
pub(crate) struct Options {
    /// The scenarios; all of their flows should be the kernel's (`emulate.kernel_flows`).
    #[arg(long, default_value = "studies/emulator/agreement")]
    scenarios: PathBuf,
    /// Number of times that a run is repeated if it did not keep real time.
    #[arg(long, default_value_t = 2)]
    repeat: u32,
}

/// Exit code of `fairwave emulate` after a run that did not keep real time.
pub(crate) const LATE: i32 = 4;

/// Emulates and simulates each scenario, and prints the table of results/validation.md.
pub(crate) fn agree(options: &Options) -> Outcome {
    run_aside(cargo(&["build", "--release", "-p", "fairwave-cli"]))?;
    println!("{HEAD}");
    let mut outside = 0;
    for file in scenarios(&root().join(&options.scenarios))? {
        let reported = emulate(&file, options.repeat)?;
        let (row, agrees) = row(&reported);
        println!("{row}");
        outside += u32::from(!agrees);
    }
    println!("\n{outside} outside: UDP by 3 % or 0.2 ms at p99, TCP by 5 % of the cell's goodput.");
    Ok(())
}

const HEAD: &str = "| scenario | simulator Mbps | emulator Mbps | difference | simulator p99 ms \
    | emulator p99 ms | lateness p99 us | agrees |\n|---|---:|---:|---:|---:|---:|---:|---|";

fn scenarios(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let fault = |error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(fault)?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    Ok(files)
}

/// Output of `fairwave emulate --beside-simulation` for a scenario, from the first valid run.
fn emulate(file: &Path, repeat: u32) -> Result<Value, String> {
    let mut tries = 0..=repeat;
    loop {
        let mut command = with_priority();
        let out = workspace::target().join("agree");
        command.args(["emulate", "--beside-simulation", "--json", "--quiet", "--force", "--out"]);
        command.arg(out).arg(file);
        note(&format!("$ {}", shown(&command)));
        let output = command.output().map_err(|error| error.to_string())?;
        let is_late = output.status.code() == Some(LATE);
        tries.next();
        if output.status.success() || (is_late && tries.is_empty()) {
            return serde_json::from_slice(&output.stdout).map_err(|error| error.to_string());
        }
        if !is_late {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        note("not valid: once more");
    }
}

/// The command, with a real-time priority if permitted, so that other programs do not delay the
/// emulator.
pub(crate) fn with_priority() -> Command {
    const REAL_TIME: [&str; 2] = ["-f", "50"];
    let program = workspace::target().join("release/fairwave");
    let mut probe = Command::new("chrt");
    probe.args(REAL_TIME).arg("true");
    if !succeeds(probe) {
        return Command::new(program);
    }
    let mut command = Command::new("chrt");
    command.args(REAL_TIME).arg(program);
    command
}

/// A row of the table, and whether both agree. Competing flows of TCP divide the capacity by
/// chance, so only their sum is judged. Flows of datagrams are judged one by one.
fn row(reported: &Value) -> (String, bool) {
    let agreement = &reported["agreement"];
    let flows = agreement["flows"].as_array().map_or(&[][..], Vec::as_slice);
    let is_tcp = flows.iter().any(|flow| flow["tcp"] == true);
    let difference = agreement["difference"].as_f64();
    let each = flows.iter().all(|flow| flow["outside"].as_array().is_some_and(Vec::is_empty));
    let sum = difference.is_some_and(|share| share.abs() <= 0.05);
    let is_valid = reported["summary"]["valid"] == true;
    let agrees = if is_tcp { sum } else { each };
    let delays = flows.iter().max_by(|a, b| late(a).total_cmp(&late(b)));
    let delay = |side: &str| delays.and_then(|flow| flow[side]["delay_p99_s"].as_f64());
    let ms = |s: Option<f64>| s.map_or_else(String::new, |s| format!("{:.3}", 1e3 * s));
    let mbps = |side: &str| agreement[side].as_f64().map_or("?".into(), |it| format!("{it:.2}"));
    let lateness = reported["summary"]["lateness"]["p99_ns"].as_f64().map_or(0.0, |ns| ns / 1e3);
    let verdict = match (is_valid, agrees) {
        (false, _) => "late",
        (true, true) => "yes",
        (true, false) => "no",
    };
    let name = reported["scenario"].as_str().map_or("?", |path| {
        Path::new(path).file_stem().and_then(|stem| stem.to_str()).unwrap_or(path)
    });
    let percent = difference.map_or("-".into(), |share| format!("{:+.1} %", 100.0 * share));
    let cells = [
        name.to_owned(),
        mbps("simulator_mbps"),
        mbps("emulator_mbps"),
        percent,
        ms(delay("simulator")),
        ms(delay("emulator")),
        format!("{lateness:.0}"),
        verdict.to_owned(),
    ];
    (format!("| {} |", cells.join(" | ")), agrees && is_valid)
}

/// Difference of a flow's delays from the simulator's at the 99th percentile, in seconds.
fn late(flow: &Value) -> f64 {
    flow["delay_p99_difference_s"].as_f64().map_or(0.0, f64::abs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reported(is_tcp: bool, difference: f64, outside: &[&str]) -> Value {
        let flow = |late: f64, outside: &[&str]| {
            json!({
                "tcp": is_tcp, "delay_p99_difference_s": late, "outside": outside,
                "simulator": { "delay_p99_s": 0.001 }, "emulator": { "delay_p99_s": 0.001 + late },
            })
        };
        json!({
            "scenario": "a/b/cell.toml",
            "agreement": {
                "simulator_mbps": 10.0, "emulator_mbps": 10.0 * (1.0 + difference),
                "difference": difference, "flows": [flow(0.0, &[]), flow(-2e-4, outside)],
            },
            "summary": { "valid": true, "lateness": { "p99_ns": 90_000 } },
        })
    }

    #[test]
    fn the_flow_that_differs_most_is_shown() {
        let (row, agrees) = row(&reported(false, 0.01, &[]));
        assert_eq!(row, "| cell | 10.00 | 10.10 | +1.0 % | 1.000 | 0.800 | 90 | yes |");
        assert!(agrees);
    }

    #[test]
    fn datagrams_are_judged_flow_by_flow_and_tcp_by_the_sum() {
        assert!(!row(&reported(false, 0.0, &["goodput"])).1);
        assert!(row(&reported(true, 0.049, &["goodput"])).1);
        assert!(!row(&reported(true, -0.051, &[])).1);
    }

    #[test]
    fn a_late_run_is_no_agreement() {
        let mut reported = reported(true, 0.0, &[]);
        reported["summary"]["valid"] = json!(false);
        let (row, agrees) = row(&reported);
        assert!(row.ends_with("| late |") && !agrees, "{row}");
    }
}
