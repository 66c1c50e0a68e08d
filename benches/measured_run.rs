//! One run of a scenario file with the requested amount of observation, whose cost `cargo xtask
//! bench-ns3` measures: `measured-run FILE none|off|DIRECTORY`. `none` runs the simulator alone.
//! `off` does the same as a sweep without recording (a summary, no files). With a directory,
//! everything is recorded that the scenario requests. Prints the amount simulated and the memory
//! used, as JSON.

use fairwave_lab::run::{self, Output};
use fairwave_scenario::plan::{Job, Plan};
use fairwave_trace::Discard;
use std::path::Path;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, observation] = &arguments[..] else {
        return Err("usage: measured-run FILE none|off|DIRECTORY".into());
    };
    let plan = Plan::load(Path::new(file), &[]).map_err(|error| format!("{file}: {error:?}"))?;
    let [job] = plan.jobs()[..] else { return Err(format!("{file}: has a sweep")) };
    let [simulated_ns, frames, events] = match observation.as_str() {
        "none" => bare(&plan, job)?,
        "off" => observed(&plan, job, Output::Nothing)?,
        directory => observed(&plan, job, Output::Full(Path::new(directory)))?,
    };
    let simulated_s = simulated_ns as f64 / 1e9;
    let peak_kib = peak_kib().unwrap_or(0);
    print(&format!(
        "{{\"simulated_s\": {simulated_s}, \"frames\": {frames}, \"events\": {events}, \
         \"peak_kib\": {peak_kib}}}"
    ));
    Ok(())
}

fn bare(plan: &Plan, job: Job) -> Result<[u64; 3], String> {
    let world = plan.scenario(job).to_world(job.seed);
    let outcome = fairwave_sim::run(&world, &mut Discard, &mut |_| {});
    let outcome = outcome.map_err(|error| error.to_string())?;
    Ok([outcome.simulated.as_nanos(), outcome.frames, outcome.events])
}

fn observed(plan: &Plan, job: Job, output: Output<'_>) -> Result<[u64; 3], String> {
    let run = run::execute(plan, job, output, &mut |_| {}).map_err(|error| error.to_string())?;
    Ok([run.summary.simulated_ns, run.summary.frames, run.summary.events])
}

/// Peak resident memory of this process, in KiB, if the system reports it.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[expect(clippy::print_stdout, reason = "a program's answer")]
fn print(line: &str) {
    println!("{line}");
}
