//! `cargo xtask compare-ns3`: what contended uplinks carry here and in ns-3, with BlockAckReqs
//! after a missing BlockAck and without.

use super::spread::aligned;
use super::{build, words};
use crate::shell::{Outcome, cargo, command, note, run_aside, shown};
use crate::{suite, system, workspace};
use clap::Args;
use serde_json::Value;

/// What `compare-ns3` can be told.
#[derive(Args)]
pub(crate) struct Options {
    /// Seeds of ours.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
    /// Runs of ns-3.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

/// Whether senders ask for a BlockAck that is missing.
const WAYS: [(&str, &str, &str); 2] =
    [("asked", "after-missing", "--bar=1"), ("not", "on-drop", "--bar=0")];

/// A cell of stations that upload.
struct Point {
    /// For the table.
    title: &'static str,
    stations: u32,
    is_tcp: bool,
    /// 802.11 what, MCS, streams, width in MHz, guard interval in ns.
    link: (&'static str, u8, u8, u16, u16),
}

const fn point(title: &'static str, stations: u32, link: Link) -> Point {
    Point { title, stations, is_tcp: false, link }
}

const fn tcp(title: &'static str, stations: u32, link: Link) -> Point {
    Point { title, stations, is_tcp: true, link }
}

type Link = (&'static str, u8, u8, u16, u16);

/// The first three and the first by TCP are those where the difference was noticed.
const POINTS: [Point; 21] = [
    point("HT40 MCS 7, UDP", 12, ("n", 7, 1, 40, 800)),
    point("HT20 MCS 4, UDP", 7, ("n", 4, 1, 20, 800)),
    point("HE20 MCS 3, UDP", 15, ("ax", 3, 1, 20, 800)),
    tcp("HT40 MCS 7, TCP", 12, ("n", 7, 1, 40, 800)),
    point("HT20 MCS 7, UDP", 4, ("n", 7, 1, 20, 800)),
    point("HT20 MCS 7, UDP", 10, ("n", 7, 1, 20, 800)),
    point("HT20 MCS 7, UDP", 20, ("n", 7, 1, 20, 800)),
    point("HT20 MCS 2, UDP", 5, ("n", 2, 1, 20, 800)),
    point("HT40 MCS 7, 2 streams, 400 ns, UDP", 10, ("n", 7, 2, 40, 400)),
    point("VHT80 MCS 9, UDP", 4, ("ac", 9, 1, 80, 800)),
    point("VHT80 MCS 9, UDP", 10, ("ac", 9, 1, 80, 800)),
    point("VHT80 MCS 9, UDP", 20, ("ac", 9, 1, 80, 800)),
    point("VHT40 MCS 5, UDP", 8, ("ac", 5, 1, 40, 800)),
    point("HE80 MCS 9, UDP", 5, ("ax", 9, 1, 80, 800)),
    point("HE80 MCS 9, UDP", 10, ("ax", 9, 1, 80, 800)),
    point("HE20 MCS 9, UDP", 10, ("ax", 9, 1, 20, 800)),
    point("HE40 MCS 11, UDP", 6, ("ax", 11, 1, 40, 800)),
    tcp("HT20 MCS 7, TCP", 4, ("n", 7, 1, 20, 800)),
    tcp("HT20 MCS 7, TCP", 10, ("n", 7, 1, 20, 800)),
    tcp("VHT80 MCS 9, TCP", 10, ("ac", 9, 1, 80, 800)),
    tcp("HE20 MCS 7, TCP", 8, ("ax", 7, 1, 20, 800)),
];

/// Goodput in Mbps and share of failed attempts, of several runs.
struct Found {
    mbps: Vec<f64>,
    failed: Vec<f64>,
}

/// Builds both sides, runs them and prints the table of docs/validation.md.
pub(crate) fn compare(options: &Options) -> Outcome {
    system::install_ns3()?;
    let version = words("dpkg-query", &["-W", "-f", "${Version}", "libns3-dev"])?;
    run_aside(cargo(&["build", "--release", "-p", "fairwave-cli"]))?;
    let programs = workspace::target().join("ns3");
    build("s4", &programs, &version)?;
    let mut rows = Vec::new();
    for point in &POINTS {
        for (asked, request, peer) in WAYS {
            note(&format!("{}, {} stations, {request}", point.title, point.stations));
            let ours = repeat(options.seeds, |seed| point.ours(request, seed))?;
            let program = programs.join("s4");
            let program = program.to_string_lossy();
            let theirs = repeat(options.runs, |run| point.theirs(&program, peer, run))?;
            rows.push(row(point, asked, &ours, &theirs));
        }
    }
    let heads = ["case", "n", "BlockAckReq", "ours", "ns-3", "difference", "failed", "ns-3"];
    println!("{}", aligned(&heads.map(str::to_owned), &rows));
    Ok(())
}

/// Runs that end; ns-3's programs may abort, and those are left out.
fn repeat(
    times: u32,
    mut run: impl FnMut(u32) -> Result<Option<[f64; 2]>, String>,
) -> Result<Found, String> {
    let mut found = Found { mbps: Vec::new(), failed: Vec::new() };
    for number in 1..=times {
        if let Some([mbps, failed]) = run(number)? {
            found.mbps.push(mbps);
            found.failed.push(failed);
        }
    }
    Ok(found)
}

impl Point {
    fn ours(&self, request: &str, seed: u32) -> Result<Option<[f64; 2]>, String> {
        let (standard, mcs, streams, width, guard) = self.link;
        let scenario = if self.is_tcp { "tcp-uplinks" } else { "udp-uplinks" };
        let mut run = suite::fairwave("release", &["run", "--json", "--quiet", "--force"]);
        run.arg(format!("benches/ns3/{scenario}.toml"));
        run.args(["--seed".to_owned(), seed.to_string()]);
        let out = workspace::target().join("ns3/out");
        run.arg("--out").arg(out);
        let mut set = |key: &str| {
            run.args(["--set", key]);
        };
        set(&format!("cell.standard=802.11{standard}"));
        set(&format!("cell.width={width} MHz"));
        set(&format!("cell.block_ack_request={request}"));
        set(&format!("node.sta.count={}", self.stations));
        for node in ["ap", "sta"] {
            set(&format!("node.{node}.mcs={mcs}"));
            set(&format!("node.{node}.streams={streams}"));
            set(&format!("node.{node}.guard_interval={} us", f64::from(guard) / 1000.0));
        }
        let told: Value = serde_json::from_str(&output(run)?).map_err(|error| error.to_string())?;
        let bps = told["summary"]["totals"]["goodput_bps"].as_f64();
        let stations = told["summary"]["stations"].as_array().ok_or("no stations in a summary")?;
        let sum = |key: &str| stations.iter().filter_map(|s| s[key].as_f64()).sum::<f64>();
        let mbps = bps.ok_or("no goodput in a summary")? / 1e6;
        Ok(Some([mbps, sum("failures") / sum("attempts")]))
    }

    fn theirs(&self, program: &str, way: &str, run: u32) -> Result<Option<[f64; 2]>, String> {
        let (standard, mcs, streams, width, guard) = self.link;
        let mut peer = command(program, &[way, "--retries=1000"]);
        peer.args([
            format!("--std={standard}"),
            format!("--mcs={mcs}"),
            format!("--nss={streams}"),
        ]);
        peer.args([format!("--width={width}"), format!("--gi={guard}")]);
        peer.args([format!("--n={}", self.stations), format!("--run={run}")]);
        // Windows of TCP need longer to settle.
        let of_tcp: &[&str] = &["--proto=tcp", "--warm=10", "--dur=20"];
        peer.arg("--dir=up").args(if self.is_tcp { of_tcp } else { &["--warm=1", "--dur=8"] });
        let Ok(text) = output(peer) else { return Ok(None) };
        let number = |name: &str| {
            let (_, rest) = text.split_once(&format!(" {name}="))?;
            rest.split_whitespace().next()?.parse::<f64>().ok()
        };
        Ok(number("goodput_Mbps").zip(number("failed")).map(|(mbps, failed)| [mbps, failed]))
    }
}

/// What a program prints.
fn output(mut program: std::process::Command) -> Result<String, String> {
    let line = shown(&program);
    let output = program.output().map_err(|error| format!("`{line}`: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    Err(format!("`{line}`: {}", String::from_utf8_lossy(&output.stderr)))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard error of the mean; of a single value nothing is known.
fn error(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let n = values.len() as f64;
    (squares / (n - 1.0) / n).sqrt()
}

fn row(point: &Point, asked: &str, ours: &Found, theirs: &Found) -> [String; 8] {
    let shown = |found: &Found| format!("{:.2} +- {:.2}", mean(&found.mbps), error(&found.mbps));
    let difference = 100.0 * (mean(&ours.mbps) / mean(&theirs.mbps) - 1.0);
    [
        point.title.to_owned(),
        point.stations.to_string(),
        asked.to_owned(),
        shown(ours),
        shown(theirs),
        format!("{difference:+.1} %"),
        format!("{:.3}", mean(&ours.failed)),
        format!("{:.3}", mean(&theirs.failed)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::root;

    #[test]
    fn the_error_of_a_mean_by_hand() {
        assert!((error(&[1.0, 2.0, 3.0]) - (1.0_f64 / 3.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_run_that_aborts_is_left_out() {
        let found = repeat(3, |run| Ok((run != 2).then_some([f64::from(run), 0.5]))).unwrap();
        assert_eq!(found.mbps, [1.0, 3.0]);
    }

    #[test]
    fn scenarios_of_both_transports_are_there() {
        for name in ["udp-uplinks", "tcp-uplinks"] {
            assert!(root().join(format!("benches/ns3/{name}.toml")).exists(), "{name}");
        }
    }
}
