//! `fairwave run`: one scenario, once.

use crate::args::Common;
use crate::clock::{Speed, Stopwatch};
use crate::outcome::Failure;
use crate::progress::Progress;
use crate::{output, place, show};
use fairwave_lab::run::{self, Output, Run};
use fairwave_scenario::plan::{Job, Plan};
use fairwave_units::Duration;
use serde_json::json;
use std::path::Path;

/// Simulates, and shows what came of it.
pub(crate) fn run(
    common: &Common,
    file: &Path,
    pcap: bool,
    taps: &[String],
    sample_every: Option<Duration>,
) -> Result<(), Failure> {
    let pcap = pcap.then(|| "record.pcap=true".to_owned());
    let interval = sample_every.map(|interval| format!("record.sample_every={interval}"));
    let taps = (!taps.is_empty()).then(|| format!("record.taps={taps:?}"));
    let settings: Vec<String> = pcap.into_iter().chain(taps).chain(interval).collect();
    let plan = super::load(common, file, &settings)?;
    let job = only_job(&plan, file)?;
    let directory = place::choose(common, &super::stem(file))?;
    let stopwatch = Stopwatch::start();
    let run = simulate(common, &plan, job, &directory)?;
    let speed = Speed {
        cost: stopwatch.cost(),
        simulated_s: super::simulated_s(&run),
        frames: run.summary.frames,
    };
    if common.json {
        let mut value = super::run_json(&run);
        value["scenario"] = json!(file.display().to_string());
        speed.add_to(&mut value);
        return Ok(output::print_json(&value)?);
    }
    let tables = show::summary(&run.summary);
    let place = directory.display();
    Ok(output::print(&format!("{tables}{}Run directory: {place}\n", speed.line()))?)
}

/// The one job of a scenario without a sweep.
fn only_job(plan: &Plan, file: &Path) -> Result<Job, Failure> {
    match plan.jobs()[..] {
        [job] => Ok(job),
        ref jobs => {
            let (file, runs) = (file.display(), jobs.len());
            let text = format!("{file}: its sweep makes {runs} runs; try `fairwave sweep {file}`");
            Err(Failure::Usage(text))
        }
    }
}

fn simulate(common: &Common, plan: &Plan, job: Job, directory: &Path) -> Result<Run, Failure> {
    let whole_s = plan.points[job.point].scenario.duration.as_secs_f64();
    let progress = Progress::new(common);
    let mut report = |now: fairwave_units::Instant| {
        let now_s = now.as_nanos() as f64 / 1e9;
        progress.set(now_s / whole_s);
        progress.say(&format!("{now_s:.1} of {whole_s:.1} s"));
    };
    run::execute(plan, job, Output::Full(directory), &mut report).map_err(Failure::run)
}
