//! `fairwave emulate`: a scenario in real time, with real programs in its nodes.

use crate::args::{Common, Emulate};
use crate::outcome::Failure;
use crate::printed::EmulateOutput;
use crate::progress::Progress;
use crate::{output, place, show, show_agreement, show_emulation};
use fairwave_emulate::{Emulated, Order, Request};
use fairwave_lab::doubts::doubts;
use fairwave_lab::results::EmulationSummary;
use fairwave_scenario::plan::{Job, Plan};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How often the progress bar is drawn, in nanoseconds.
const SHOW_EVERY_NS: u64 = 100_000_000;

/// Emulates, and shows what came of it.
pub(crate) fn run(common: &Common, emulate: &Emulate) -> Result<(), Failure> {
    fairwave_netns::support().map_err(Failure::run)?;
    // Before there is a second thread: the kernel wants that.
    fairwave_netns::become_root_inside().map_err(Failure::run)?;
    let file = &emulate.scenario;
    let mut plan = super::load(common, file, &settings(emulate))?;
    let job = super::run::only_job(common, &plan, file)?;
    add_programs(&mut plan, job, &emulate.exec)?;
    let directory = place::choose(common, &super::stem(file))?;
    let emulated = execute(common, emulate, (&plan, job), directory.path())?;
    let summary = &emulated.run.summary;
    let said = summary.emulation.as_ref().expect("an emulation says how it was");
    let mut warnings = plan.points[job.point].scenario.warnings();
    warnings.extend(doubts(summary).into_iter().map(|doubt| doubt.text));
    warnings.extend(emulated.incomplete_record.clone());
    if common.json {
        let run = super::printed(emulated.run.clone(), warnings);
        let scenario = file.display().to_string();
        let agreement = emulated.agreement.as_ref().map(show_agreement::json);
        output::print_json(&json!(EmulateOutput { run, scenario, agreement }))?;
    } else {
        let tables = show::summary(summary);
        let place = directory.path().display();
        let meter = show_emulation::emulation(said);
        let beside = emulated.agreement.as_ref().map(show_agreement::text).unwrap_or_default();
        output::print(&format!("{tables}{beside}{meter}Run directory: {place}\n"))?;
        warnings.iter().for_each(|warning| output::warn(warning));
    }
    judge(&emulated, said)
}

/// How the command ends.
fn judge(emulated: &Emulated, said: &EmulationSummary) -> Result<(), Failure> {
    if let Some(broken) = &emulated.broken {
        return Err(Failure::Run(format!("{broken}; results are those until then")));
    }
    let failed = |program: &&fairwave_lab::results::ProgramSummary| program.failed;
    if let Some(program) = said.programs.iter().find(failed) {
        let (node, command) = (&program.node, &program.command);
        let status = program.status.map(|status| format!(" with status {status}"));
        let status = status.unwrap_or_default();
        let log = program.log.as_ref().map(|log| format!("; what it wrote is in {log}"));
        let log = log.unwrap_or_default();
        return Err(Failure::Run(format!("{node}: `{command}` failed{status}{log}")));
    }
    match &said.invalid_reason {
        Some(reason) => Err(Failure::Late(format!("this run is not valid: {reason}"))),
        None => Ok(()),
    }
}

/// Keys that options of the command line set.
fn settings(emulate: &Emulate) -> Vec<String> {
    let Emulate { lasts, kernel_flows, pcap, tap, .. } = emulate;
    let list = |key: &str, list: &[String]| (!list.is_empty()).then(|| format!("{key}={list:?}"));
    let settings = [
        lasts.map(|lasts| format!("duration={lasts}")),
        list("emulate.kernel_flows", kernel_flows),
        pcap.then(|| "record.pcap=true".to_owned()),
        list("record.taps", tap),
    ];
    settings.into_iter().flatten().collect()
}

/// Puts programs of the command line among those of the scenario.
fn add_programs(plan: &mut Plan, job: Job, orders: &[Order]) -> Result<(), Failure> {
    let scenario = &mut plan.points[job.point].scenario;
    for Order(program) in orders {
        let before = scenario.programs().len();
        scenario.program.push(program.clone());
        if scenario.programs().len() == before {
            let world = scenario.to_world(job.seed);
            let names = scenario.real_nodes().into_iter();
            let names: Vec<&str> =
                names.map(|id| world.nodes[id.0 as usize].name.as_str()).take(24).collect();
            let node = &program.node;
            let names = names.join(", ");
            return Err(Failure::Usage(format!(
                "--exec: {node:?} is no real node; those are {names}"
            )));
        }
    }
    Ok(())
}

fn execute(
    common: &Common,
    emulate: &Emulate,
    (plan, job): (&Plan, Job),
    directory: &Path,
) -> Result<Emulated, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The first one ends the run in good order, the second one at once.
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop))
            .and_then(|_| flag::register(signal, Arc::clone(&stop)))
            .map_err(Failure::run)?;
    }
    let request = Request {
        plan,
        job,
        directory: Some(directory),
        uplinks: &emulate.uplink,
        records: emulate.record,
        beside_simulation: emulate.beside_simulation,
        stop,
    };
    let whole_ns = plan.points[job.point].scenario.duration.as_nanos();
    let progress = Progress::new(common);
    let mut shown = 0;
    let emulated = fairwave_emulate::run(&request, &mut |turn| {
        let now = turn.now.as_nanos();
        if now >= shown + SHOW_EVERY_NS {
            shown = now;
            progress.set(now as f64 / whole_ns as f64);
            progress.say(&format!("{:.1} of {:.1} s", now as f64 / 1e9, whole_ns as f64 / 1e9));
        }
    });
    emulated.map_err(Failure::run)
}
