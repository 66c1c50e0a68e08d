//! `cargo xtask bench-video`: a video of ffmpeg's from a mobile that changes its access point, by
//! several transports, judged by the pictures that another ffmpeg decodes at the other end.

mod judged;
mod page;
mod stream;

use crate::agree::LATE;
use crate::machine::{conditions, load};
use clap::Args;
use judged::Pictures;
use page::Row;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};
use stream::{Place, Stream, Way};
use xtask::shell::{Outcome, WITH_KERNEL_CC, cargo, note, root, run_aside};
use xtask::workspace;

/// Options of `bench-video`.
#[derive(Args)]
pub(crate) struct Options {
    /// Write results/emulated/video-handover.md and its CSV.
    #[arg(long)]
    record: bool,
    /// Measure a gap of 1 s with one seed.
    #[arg(long)]
    quick: bool,
    /// Measure only ways whose name contains this text.
    #[arg(long)]
    only: Option<String>,
    /// State of the mobile's device in the gap: no-carrier, dormant or up.
    #[arg(long, default_value = "no-carrier")]
    away: String,
    /// Rate of the encoder in kbps, without the headers of the transport stream.
    #[arg(long, default_value_t = 420)]
    rate: u32,
    /// Measure the unoptimised build.
    #[arg(long)]
    debug: bool,
}

/// Times without an access point in milliseconds, and seeds of the scenario.
const GAPS_MS: [u32; 5] = [500, 1_000, 2_000, 4_000, 6_000];
const SEEDS: [u32; 2] = [1, 2];
/// A run that did not keep real time is repeated up to this number of runs.
const ATTEMPTS: usize = 3;

/// The program for RTP with GCC.
const GCC: [&str; 3] = ["-p=fairwave-benches", "--example", "rtc-relay"];

/// Measures all ways with all gaps, and prints or records the page.
pub(crate) fn bench(options: &Options) -> Outcome {
    let profile: &[&str] = if options.debug { &[] } else { &["--release"] };
    for build in [["-p", "fairwave-cli", WITH_KERNEL_CC], GCC] {
        run_aside(cargo(&[&["build"], &build[..], profile].concat()))?;
    }
    let before = load();
    let (gaps, seeds) = match options.quick {
        true => (&GAPS_MS[1..2], &SEEDS[..1]),
        false => (&GAPS_MS[..], &SEEDS[..]),
    };
    let is_chosen = |way: &Way| options.only.as_ref().is_none_or(|w| way.name().contains(&**w));
    let build = if options.debug { "unoptimised build" } else { "release build" };
    let mut rows = Vec::new();
    let mut text = String::new();
    for &gap_ms in gaps {
        for way in Way::ALL.into_iter().filter(is_chosen) {
            for &seed in seeds {
                let (away, rate_kbps) = (options.away.clone(), options.rate);
                let stream = Stream { way, gap_ms, seed, away, rate_kbps };
                note(&format!("bench-video: {}, {gap_ms} ms, seed {seed}", way.name()));
                rows.push(punctual(&stream, options.debug)?);
            }
        }
        let facts = format!("{}; {build}; {}", conditions(&before)?, player()?);
        text = page::page(&facts, &rows);
        // After each gap, so that an interruption does not take those before.
        if options.record {
            record(&text, &page::csv(&rows))?;
        }
    }
    println!("{text}");
    Ok(())
}

fn record(page: &str, csv: &str) -> Outcome {
    for (name, text) in [("video-handover.md", page), ("video-handover.csv", csv)] {
        let file = root().join("results/emulated").join(name);
        fs::write(&file, text).map_err(|error| failed(&file, &error))?;
        note(&format!("wrote {}", file.display()));
    }
    Ok(())
}

fn failed(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Version of ffmpeg.
fn player() -> Result<String, String> {
    let text = crate::machine::words("ffmpeg", &["-version"])?;
    let words: Vec<&str> = text.split_whitespace().take(3).collect();
    Ok(words.join(" "))
}

/// The result of a run that kept real time, or else of the last of some.
fn punctual(stream: &Stream, is_debug: bool) -> Result<Row, String> {
    let mut row = measured(stream, is_debug)?;
    for _ in 1..ATTEMPTS {
        let Some(late) = &row.late else { break };
        note(&format!("again: {late}"));
        row = measured(stream, is_debug)?;
    }
    Ok(row)
}

fn measured(stream: &Stream, is_debug: bool) -> Result<Row, String> {
    // The last run of each way stays for whoever wants to look at its pictures.
    let directory = workspace::target().join("bench-video").join(stream.way.name());
    fs::create_dir_all(&directory).map_err(|error| failed(&directory, &error))?;
    let scenario = directory.join("scenario.toml");
    fs::write(&scenario, stream.scenario()).map_err(|error| failed(&scenario, &error))?;
    let built = workspace::target().join(if is_debug { "debug" } else { "release" });
    let epoch_us = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|e| e.to_string())?;
    let epoch_us = epoch_us.as_micros() as u64;
    let place = Place { built: &built, directory: &directory, epoch_us };
    let run = directory.join("run");
    let mut command = Command::new(built.join("fairwave"));
    command.args(["emulate", "--realtime", "--quiet", "--force", "--out"]).arg(&run);
    command.arg(&scenario).args(["--seed", &stream.seed.to_string()]);
    for program in stream.programs(&place) {
        command.args(["--exec", &program]);
    }
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let has_results = output.status.success() || output.status.code() == Some(LATE);
    if !has_results {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let (residents_kbps, late) = of_summary(&run.join("summary.json"))?;
    let logs = run.join("programs");
    let player = read(&logs.join("host.log"))?;
    let pictures = Pictures::read(&player, &read(&logs.join("mobile.log"))?, epoch_us)?;
    let ssim = ssim(&directory)?;
    Ok(Row { stream: stream.clone(), judged: pictures.judged(&ssim), residents_kbps, late })
}

fn read(file: &PathBuf) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| failed(file, &error))
}

/// Goodput of the residents in kbps, and the reason for which a run is late.
fn of_summary(file: &PathBuf) -> Result<(Vec<f64>, Option<String>), String> {
    let summary: Value = serde_json::from_str(&read(file)?).map_err(|error| error.to_string())?;
    let flows = summary["flows"].as_array().ok_or("no flows")?;
    let kbps = flows.iter().filter_map(|flow| flow["goodput_bps"].as_f64()).map(|bps| bps / 1e3);
    Ok((kbps.collect(), summary["invalid_reason"].as_str().map(str::to_owned)))
}

/// Structural similarity of each received picture with the test source's of the same time.
fn ssim(directory: &Path) -> Result<Vec<f64>, String> {
    let stats = directory.join("ssim.log");
    let graph = format!(
        "[0:v]settb=1/90000[a];[1:v]format=yuv420p,settb=1/90000[b];\
         [a][b]ssim=shortest=1:stats_file={}",
        stats.display()
    );
    let source = format!("{}:duration=120", stream::SOURCE);
    let mut command = Command::new("ffmpeg");
    command.args(["-hide_banner", "-loglevel", "fatal", "-copyts", "-i"]);
    command.arg(directory.join(stream::RECEIVED)).args(["-f", "lavfi", "-i", &source]);
    command.args(["-lavfi", &graph, "-f", "null", "-"]);
    run_aside(command)?;
    judged::ssim(&read(&stats)?)
}
