//! `cargo xtask budget`: where the instructions of a frame go, and how its cost grows. Writes
//! results/performance.md and its flame graphs.

use crate::callgrind;
use crate::instructions::lasting;
use crate::machine::words;
use clap::Args;
use cost::Cost;
use inferno::flamegraph;
use std::fs;
use std::path::{Path, PathBuf};
use xtask::shell::{Outcome, cargo, note, root, run_aside};
use xtask::workspace;

mod cost;
mod page;
mod place;

/// Options of `cargo xtask budget`.
#[derive(Args)]
pub(crate) struct Options {
    /// Print the page instead of writing it and the flame graphs
    #[arg(long)]
    print: bool,
}

/// The function at which the flame graphs begin: the event loop.
const LOOP: &str = "fairwave_sim::simulation::Simulation::run_until";

/// A scenario whose cost is measured.
struct Case {
    /// Its name in tables.
    name: String,
    scenario: String,
    /// The two durations between which the cost is measured, in seconds.
    seconds: [u32; 2],
    /// The sampling interval, if series are recorded.
    series: Option<&'static str>,
}

/// Measures, and writes the page.
pub(crate) fn budget(options: &Options) -> Outcome {
    if !callgrind::is_installed() {
        return Err("no valgrind: install Debian's package `valgrind`".into());
    }
    let build = ["build", "--profile", "profiling", "-p", "fairwave-benches"];
    run_aside(cargo(&[&build[..], &["--example", "measured-run"]].concat()))?;
    let scratch = workspace::target().join("budget");
    fs::create_dir_all(&scratch).map_err(failed(&scratch))?;
    let budgets = costs(budgets()?, &scratch)?;
    let growth = growth()?.into_iter().map(|(title, cases)| Ok((title, costs(cases, &scratch)?)));
    let growth = growth.collect::<Result<Vec<_>, String>>()?;
    let commit = words("git", &["rev-parse", "--short=8", "HEAD"])?;
    let text = page::page(&commit, &words("rustc", &["--version"])?, &budgets, &growth);
    if options.print {
        println!("{text}");
        return Ok(());
    }
    for cost in &budgets {
        draw(cost)?;
    }
    let file = root().join("results/performance.md");
    fs::write(&file, text).map_err(failed(&file))
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

/// A scenario of the comparison with ns-3.
fn scenario(name: &str) -> Result<String, String> {
    let path = root().join("benches/ns3").join(name);
    fs::read_to_string(&path).map_err(failed(&path))
}

/// The cases whose instructions are divided: those of the comparison with ns-3.
fn budgets() -> Result<Vec<Case>, String> {
    let case = |name: &str, file: &str, seconds| {
        let (name, scenario) = (name.to_owned(), scenario(file)?);
        Ok::<_, String>(Case { name, scenario, seconds, series: None })
    };
    Ok(vec![
        case("50 saturated stations", "saturation.toml", [2, 4])?,
        case("16 uploads by TCP", "uploads.toml", [6, 12])?,
        case("20 downloads, 802.11ax", "he-downloads.toml", [2, 3])?,
    ])
}

/// The cases along each axis of growth.
fn growth() -> Result<Vec<(&'static str, Vec<Case>)>, String> {
    let saturation = scenario("saturation.toml")?;
    let uploads = scenario("uploads.toml")?;
    let case = |name: String, scenario, seconds| Case { name, scenario, seconds, series: None };
    let stations = [10, 50, 200, 999].map(|count| {
        let scenario = saturation.replace("count = 50", &format!("count = {count}"));
        case(count.to_string(), scenario, [1, 2])
    });
    let flows = [1, 4, 16, 64].map(|count| {
        let scenario = uploads.replace("count = 16", &format!("count = {count}"));
        case(count.to_string(), scenario, [6, 12])
    });
    let cells = [1, 2, 4, 8].map(|count| case(count.to_string(), cells(count), [1, 3]));
    let series = [None, Some("100 ms"), Some("10 ms")].map(|series| Case {
        name: series.map_or("none".into(), |every| format!("every {every}")),
        scenario: uploads.clone(),
        seconds: [6, 12],
        series,
    });
    Ok(vec![
        ("Saturated stations", stations.into()),
        ("Uploads by TCP", flows.into()),
        ("Cells, each with four saturated stations and a channel of its own", cells.into()),
        ("Series of 16 uploads", series.into()),
    ])
}

/// Cells on channels that do not overlap.
fn cells(count: u32) -> String {
    let mut text = "title = \"Cells\"\n".to_owned();
    for at in 0..count {
        text += &format!(
            "[[cell]]\nname = \"cell{at}\"\nstandard = \"802.11a\"\nchannel = {channel}\n\
             [[node]]\nname = \"ap{at}\"\nkind = \"access-point\"\ncell = \"cell{at}\"\n\
             data_rate = \"54 Mbps\"\n\
             [[node]]\nname = \"sta{at}-\"\nkind = \"station\"\nap = \"ap{at}\"\ncount = 4\n\
             data_rate = \"54 Mbps\"\n\
             [[flow]]\nname = \"up{at}\"\nfrom = \"sta{at}-*\"\nto = \"ap{at}\"\n\
             transport = \"udp\"\ntraffic = \"saturate\"\n",
            channel = 36 + 4 * at,
        );
    }
    text
}

fn costs(cases: Vec<Case>, scratch: &Path) -> Result<Vec<Cost>, String> {
    cases.into_iter().map(|case| cost(case, scratch)).collect()
}

/// Measures a case: what its longer run costs in addition to its shorter one.
fn cost(case: Case, scratch: &Path) -> Result<Cost, String> {
    note(&format!("counting instructions of {}", case.name));
    let program = workspace::target().join("profiling/examples/measured-run");
    let run = |seconds: u32| {
        let file = scratch.join("case.toml");
        let text = lasting(&case.scenario, case.series.unwrap_or("100 ms"), seconds);
        fs::write(&file, text).map_err(failed(&file))?;
        let output = match case.series {
            Some(_) => scratch.join("run"),
            None => PathBuf::from("off"),
        };
        let arguments = [&file, &output].map(|path| path.display().to_string());
        let out = scratch.join("callgrind.out");
        let (profile, printed) = callgrind::profile(&program, &arguments, &out)?;
        let printed: serde_json::Value = serde_json::from_str(&printed)
            .map_err(|error| format!("measured-run: {error}: {printed}"))?;
        let frames = printed["frames"].as_u64().ok_or("measured-run prints no frames")?;
        Ok::<_, String>((profile, frames))
    };
    let [short, long] = case.seconds;
    let (shorter, before) = run(short)?;
    let (mut profile, frames) = run(long)?;
    profile.subtract(&shorter);
    let frames = frames.checked_sub(before).filter(|frames| *frames > 0);
    let frames = frames.ok_or_else(|| format!("{}: no frames", case.name))?;
    Ok(Cost { name: case.name, profile, frames })
}

/// Draws the call tree of a case below the event loop.
fn draw(cost: &Cost) -> Outcome {
    let stacks = cost.profile.stacks(LOOP, &place::label);
    let mut options = flamegraph::Options::default();
    options.title = format!("{}: instructions below the event loop", cost.name);
    options.count_name = "instructions".into();
    options.no_javascript = true;
    // Colours by name, so that equal profiles give equal bytes.
    options.hash = true;
    options.image_width = Some(1200);
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, stacks.iter().map(String::as_str), &mut svg)
        .map_err(|error| format!("{}: {error}", cost.name))?;
    let file = root().join("results").join(page::flame(&cost.name));
    fs::write(&file, svg).map_err(failed(&file))
}
