//! `fairwave sweep`: every point of a scenario, for every seed.

use crate::args::Common;
use crate::clock::{Speed, Stopwatch};
use crate::outcome::Failure;
use crate::progress::Progress;
use crate::table::{Table, mbps};
use crate::{output, place, show};
use fairwave_lab::run::{self, Output, Run};
use fairwave_scenario::plan::Plan;
use fairwave_units::Duration;
use serde_json::{Value, json};
use std::path::Path;

/// Simulates all of it, and shows each run.
pub(crate) fn run(common: &Common, file: &Path) -> Result<(), Failure> {
    let plan = super::load(common, file, &[])?;
    let directory = place::choose(common, &super::stem(file))?;
    let stopwatch = Stopwatch::start();
    let runs = simulate(common, &plan, &directory)?;
    let speed = Speed {
        cost: stopwatch.cost(),
        simulated_s: runs.iter().map(super::simulated_s).sum(),
        frames: runs.iter().map(|run| run.summary.frames).sum(),
    };
    if common.json {
        return Ok(output::print_json(&as_json(file, &directory, &runs, speed))?);
    }
    let tables = each_flow(&runs) + &each_run(&runs);
    let place = directory.display();
    Ok(output::print(&format!("{tables}{}Run directories: {place}\n", speed.line()))?)
}

fn simulate(common: &Common, plan: &Plan, directory: &Path) -> Result<Vec<Run>, Failure> {
    let durations = plan.jobs().into_iter().map(|job| plan.points[job.point].scenario.duration);
    let whole_s: f64 = durations.map(Duration::as_secs_f64).sum();
    let progress = Progress::new(common);
    let report = |now: run::Progress| {
        progress.set(now.simulated.as_secs_f64() / whole_s);
        progress.say(&format!("{} of {} runs", now.done, now.total));
    };
    run::sweep(plan, common.jobs().get(), Output::Full(directory), &report).map_err(Failure::run)
}

/// Where a run is in its sweep, in a few words.
fn label(run: &Run) -> String {
    let axes = run.axes.keys().map(|key| format!("{key} = {}", run.axis(key)));
    axes.collect::<Vec<_>>().join(", ")
}

fn each_flow(runs: &[Run]) -> String {
    let mut table = Table::new("Flows", &["point", "seed", "flow", "Mbps", "timeouts"]);
    for run in runs {
        for flow in &run.summary.flows {
            table.row(vec![
                label(run),
                run.seed.to_string(),
                flow.name.clone(),
                mbps(flow.goodput_bps),
                flow.timeouts.to_string(),
            ]);
        }
    }
    table.render()
}

fn each_run(runs: &[Run]) -> String {
    let heads = ["point", "seed", "Mbps", "up", "down", "Jain", "starved"];
    let mut table = Table::new("Runs", &heads);
    for run in runs {
        let totals = &run.summary.totals;
        table.row(vec![
            label(run),
            run.seed.to_string(),
            mbps(totals.goodput_bps),
            mbps(totals.up_bps),
            mbps(totals.down_bps),
            show::jain(totals.jain),
            totals.starved_flows.to_string(),
        ]);
    }
    table.render()
}

fn as_json(file: &Path, directory: &Path, runs: &[Run], speed: Speed) -> Value {
    let mut value = json!({
        "scenario": file.display().to_string(),
        "directory": directory.display().to_string(),
        "runs": runs.iter().map(super::run_json).collect::<Vec<_>>(),
    });
    speed.add_to(&mut value);
    value
}
