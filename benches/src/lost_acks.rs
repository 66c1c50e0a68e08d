//! `cargo xtask lost-acks`: ACKs that the kernel's congestion control algorithm detected as lost,
//! beside the number dropped.

use crate::agree::{LATE, with_priority};
use crate::record;
use clap::Args;
use serde_json::Value;
use std::process::Command;
use xtask::shell::{Outcome, WITH_KERNEL_CC, cargo, note, root, run_aside, shown};
use xtask::workspace;

/// Options of `lost-acks`.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of times that a run is repeated if it did not keep real time.
    #[arg(long, default_value_t = 2)]
    repeat: u32,
    /// Add the tables to `benches/runs/DATE-cc.md`.
    #[arg(long)]
    record: bool,
}

const ALGORITHM: &str = "fw_ackloss_reno";
const SCENARIO: &str = "studies/emulator/lost-acks/wire.toml";
/// Probabilities with which the reverse path drops a packet, and the number of runs for each.
const LOSSES: [f64; 4] = [0.0, 0.02, 0.1, 0.25];
const SEEDS: u32 = 3;

/// Prints the tables with the figures of docs/cc-linux.md, as root.
pub(crate) fn lost_acks(options: &Options) -> Outcome {
    run_aside(cargo(&["build", "--release", "-p", "fairwave-cli", WITH_KERNEL_CC]))?;
    let text = format!("{}\n{}", veth()?, dropped(options.repeat)?);
    println!("{text}");
    if options.record {
        record::add("cc", "what algorithms cost for each ACK", &text)?;
    }
    Ok(())
}

/// Output of a `fairwave` command as JSON, also if its run was late.
fn reported(mut command: Command) -> Result<(Value, bool), String> {
    note(&format!("$ {}", shown(&command)));
    let output = command.output().map_err(|error| error.to_string())?;
    let is_late = output.status.code() == Some(LATE);
    if !output.status.success() && !is_late {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let answer = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    Ok((answer, is_late))
}

fn cc(args: &[&str]) -> Result<Value, String> {
    let mut command = Command::new(workspace::target().join("release/fairwave"));
    command.arg("cc").args(args).arg("--json");
    reported(command).map(|(answer, _)| answer)
}

/// Algorithms over a pair of veth devices with offloads, where nothing is dropped.
fn veth() -> Result<String, String> {
    let all = cc(&["bench", "--offload", "--rounds", "5", "--seconds-each", "500ms"])?;
    let rows = all.as_array().ok_or("bench reports no algorithms")?;
    let rows = rows.iter().filter(|algorithm| algorithm["throughput_bps"].as_u64() > Some(0));
    Ok(format!("{VETH}{}", rows.map(veth_row).collect::<String>()))
}

const VETH: &str = "\
    | algorithm | Gbps | calls for ACKs | ACKs found lost |\n|---|---:|---:|---:|\n";

/// A row for an algorithm with arithmetic of its own; none for those that only call the kernel's.
fn veth_row(algorithm: &Value) -> String {
    let name = algorithm["algorithm"].as_str().unwrap_or("?");
    if name.starts_with("fw_b_") {
        return String::new();
    }
    let gbps = algorithm["throughput_bps"].as_f64().unwrap_or(0.0) / 1e9;
    let count = |key: &str| algorithm[key].as_u64().filter(|_| algorithm["acks_lost"].is_u64());
    let count = |key: &str| count(key).map_or_else(String::new, |count| count.to_string());
    format!("| `{name}` | {gbps:.1} | {} | {} |\n", count("acks"), count("acks_lost"))
}

/// The algorithm, loaded while this value lives.
struct Loaded;

impl Loaded {
    fn load() -> Result<Self, String> {
        cc(&["load", ALGORITHM]).map(|_| Self)
    }

    /// ACKs detected as lost, and reactions to them, of the closed connections.
    fn totals() -> Result<[u64; 2], String> {
        let algorithms = cc(&["list"])?;
        let algorithm = algorithms.as_array().and_then(|algorithms| {
            algorithms.iter().find(|algorithm| algorithm["name"] == ALGORITHM)
        });
        let totals =
            algorithm.map(|algorithm| &algorithm["totals"]).ok_or("the algorithm is not listed")?;
        let count = |key: &str| totals[key].as_u64().ok_or(format!("no {key}"));
        // Open connections are not in these totals, so the difference of two totals would be wrong.
        if count("opened")? != count("closed")? {
            return Err("another program has connections with the algorithm".to_owned());
        }
        Ok([count("acks_lost")?, count("answers")?])
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        if let Err(error) = cc(&["unload", ALGORITHM]) {
            note(&error);
        }
    }
}

/// Sums over the runs of a probability.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sum {
    sent: u64,
    dropped: u64,
    found: u64,
    answers: u64,
    goodput_bps: u64,
    late: u64,
}

/// ACKs dropped with a probability, and the number of them that the algorithm detects.
fn dropped(repeat: u32) -> Result<String, String> {
    let _loaded = Loaded::load()?;
    let mut text = DROPPED.to_owned();
    for loss in LOSSES {
        let mut sum = Sum::default();
        for seed in 1..=SEEDS {
            sum.add(run(loss, seed, repeat)?);
        }
        text.push_str(&sum.row(loss));
    }
    Ok(text)
}

const DROPPED: &str = "\
    | dropped with | ACKs sent | dropped | found lost | answers | Mbps | late runs |\n\
    |---|---:|---:|---:|---:|---:|---:|\n";

impl Sum {
    fn add(&mut self, run: Self) {
        self.sent += run.sent;
        self.dropped += run.dropped;
        self.found += run.found;
        self.answers += run.answers;
        self.goodput_bps += run.goodput_bps;
        self.late += run.late;
    }

    fn row(&self, loss: f64) -> String {
        let mbps = self.goodput_bps as f64 / f64::from(SEEDS) / 1e6;
        let Self { sent, dropped, found, answers, late, .. } = self;
        let percent = 100.0 * loss;
        format!(
            "| {percent:.0} % | {sent} | {dropped} | {found} | {answers} | {mbps:.1} | {late} |\n"
        )
    }
}

/// One run: the first that is not late, or the last.
fn run(loss: f64, seed: u32, repeat: u32) -> Result<Sum, String> {
    let mut tries = 0..=repeat;
    loop {
        // Read before each try, since the algorithm has counted the ACKs of a late try too.
        let before = Loaded::totals()?;
        let mut command = with_priority();
        command.args(["emulate", "--json", "--quiet", "--force", "--out"]);
        command.arg(workspace::target().join("lost-acks")).arg(root().join(SCENARIO));
        command.arg("--set").arg(format!("link.wire.loss_back={loss}"));
        command.arg("--seed").arg(seed.to_string());
        let (run, is_late) = reported(command)?;
        tries.next();
        if is_late && !tries.is_empty() {
            continue;
        }
        let after = Loaded::totals()?;
        let flow = &run["summary"]["flows"][0];
        let count = |key: &str| flow[key].as_u64().ok_or(format!("the run reports no {key}"));
        return Ok(Sum {
            sent: count("acks_sent")?,
            dropped: count("acks_dropped")?,
            found: after[0] - before[0],
            answers: after[1] - before[1],
            goodput_bps: count("goodput_bps")?,
            late: is_late.into(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_laws_that_watch_acks_have_counts() {
        let ours = json!({
            "algorithm": ALGORITHM, "throughput_bps": 33_400_000_000_u64, "acks": 9, "acks_lost": 0
        });
        assert_eq!(veth_row(&ours), "| `fw_ackloss_reno` | 33.4 | 9 | 0 |\n");
        let kernels =
            json!({ "algorithm": "reno", "throughput_bps": 40_000_000_000_u64, "acks": 0 });
        assert_eq!(veth_row(&kernels), "| `reno` | 40.0 |  |  |\n");
        assert_eq!(veth_row(&json!({ "algorithm": "fw_b_floor", "throughput_bps": 1 })), "");
    }

    #[test]
    fn runs_of_a_probability_are_added_and_their_goodput_is_a_mean() {
        let mut sum = Sum::default();
        let run =
            Sum { sent: 10, dropped: 3, found: 2, answers: 1, goodput_bps: 6_000_000, late: 1 };
        (0..SEEDS).for_each(|_| sum.add(run));
        assert_eq!(sum.row(0.1), "| 10 % | 30 | 9 | 6 | 3 | 6.0 | 3 |\n");
    }
}
