//! One run.

use super::combinations::{Combination, Line};
use crate::agree::LATE;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use xtask::workspace;

/// Code that carries the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Carrier {
    /// That of `fairwave shake`.
    Shake,
    /// The kernel's MPTCP, and its TCP over a single path.
    Mptcp,
}

impl Carrier {
    pub(super) const ALL: [Self; 2] = [Self::Shake, Self::Mptcp];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Shake => "SHAKE",
            Self::Mptcp => "MPTCP",
        }
    }
}

/// Result of one run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) mbps: f64,
    /// Goodput of each path by the sender's counts, where it has such counts.
    pub(super) paths_mbps: Vec<f64>,
    pub(super) retransmissions: u64,
    pub(super) timeouts: u64,
    /// Reason for which the emulator did not keep real time.
    pub(super) late: Option<String>,
}

/// Emulates a flow over some lines of a combination.
pub(super) fn measured(
    one: &Combination,
    lines: &[Line],
    carrier: Carrier,
) -> Result<Measured, String> {
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
    let flows = summary["flows"].as_array().map_or(&[][..], Vec::as_slice);
    let flow = flows.iter().find(|flow| flow["name"] == "transfer").ok_or("no flow")?;
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
