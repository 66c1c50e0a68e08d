//! `fairwave emulate`: a scenario in real time, with real programs in its nodes.

use super::{emulate_ctl, flag as set_by, option};
use crate::args::{Common, Emulate, EmulateTask};
use crate::outcome::Failure;
use crate::printed::EmulateOutput;
use crate::progress::Progress;
use crate::stop::{self, SIGNALS};
use crate::{output, place, show, show_agreement, show_emulation};
use fairwave_emulator::emulation::{
    Between, Emulated, Live, NoWindows, Order, Request, Turn, Uplink, Windows,
};
use fairwave_lab::doubts::doubts;
use fairwave_lab::results::EmulationSummary;
use fairwave_netns::Standing;
use fairwave_scenario::Scenario;
use fairwave_scenario::plan::{Job, Override, Plan};
use fairwave_trace::NodeId;
use fairwave_units::Duration;
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Interval between updates of the progress bar, in nanoseconds.
const SHOW_EVERY_NS: u64 = 100_000_000;

/// Emulates and shows the results; or controls a run that another process has started.
pub(crate) fn run(common: &Common, emulate: &Emulate) -> Result<(), Failure> {
    match (&emulate.task, &emulate.scenario) {
        (Some(EmulateTask::Ctl { directory, command, settings }), _) => {
            emulate_ctl::run(directory, command, settings)
        }
        (None, Some(file)) => emulate_file(common, emulate, file),
        (None, None) => Err(Failure::Usage("name a scenario file".to_owned())),
    }
}

fn emulate_file(common: &Common, emulate: &Emulate, file: &Path) -> Result<(), Failure> {
    if emulate.live && !std::io::stdout().is_terminal() {
        return Err(Failure::Usage("--live: standard output is no terminal".to_owned()));
    }
    fairwave_netns::support().map_err(Failure::run)?;
    // The kernel only lets a process with one thread enter a new user namespace.
    let standing = fairwave_netns::become_root_inside().map_err(Failure::run)?;
    let mut plan = super::load(common, file, &settings(emulate))?;
    let job = super::run::only_job(common, &plan, file)?;
    add_programs(&mut plan, job, &emulate.exec)?;
    check_shell(&plan, job, emulate.shell.as_deref())?;
    if emulate.windows {
        check_windows(&plan, job, standing)?;
    }
    let bridged = bridged(&plan, job, emulate)?;
    let directory = place::choose(common, &super::stem(file))?;
    let emulated = execute(common, emulate, (&plan, job), (directory.path(), bridged))?;
    let summary = &emulated.run.summary;
    let said = summary.emulation.as_ref().expect("an emulation says how it was");
    let mut warnings = plan.points[job.point].scenario.warnings();
    warnings.extend(doubts(summary).into_iter().map(|doubt| doubt.text));
    warnings.extend(lacks_of_uplinks(emulate));
    warnings.extend(emulated.incomplete_record.clone());
    warnings.extend(emulated.windows.and_then(missing_windows));
    warnings.extend(emulated.no_realtime.as_ref().map(usual_priority));
    let lasts_s = plan.points[job.point].scenario.duration.as_secs_f64();
    warnings.extend(emulated.is_ended.then(|| {
        let ran_s = super::simulated_s(&emulated.run);
        format!("the run was ended at {ran_s:.1} of {lasts_s:.1} s; results are those until then")
    }));
    let is_alone = emulate.beside_simulation && emulated.agreement.is_none();
    warnings.extend(
        (is_alone && !emulated.is_ended).then(|| {
            "the simulation was ended: there is nothing to compare this run with".to_owned()
        }),
    );
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

/// Traffic that the nodes' uplinks do not carry, as warnings.
fn lacks_of_uplinks(emulate: &Emulate) -> impl Iterator<Item = String> {
    emulate.uplink.iter().filter_map(|Uplink { node, interface }| {
        let lack = fairwave_netns::lack_of_ipv6(interface)?;
        Some(format!("--uplink {node}={interface}: {lack}"))
    })
}

/// The exit status of the command.
fn judge(emulated: &Emulated, said: &EmulationSummary) -> Result<(), Failure> {
    if let Some(broken) = &emulated.broken {
        return Err(Failure::Run(format!("{broken}; results are those until then")));
    }
    let failed = |program: &&fairwave_lab::results::ProgramSummary| program.failed;
    if let Some(program) = said.programs.iter().find(failed) {
        let (node, command) = (&program.node, &program.command);
        let status = match (program.status, program.signal) {
            (Some(status), _) => format!(" with status {status}"),
            (None, Some(signal)) => format!(", ended by signal {signal}"),
            (None, None) => String::new(),
        };
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
fn settings(emulate: &Emulate) -> Vec<Override> {
    let Emulate { lasts, kernel_flows, pcap, tap, .. } = emulate;
    // The run ends with the shell, not with the scenario.
    let endless = emulate.shell.as_ref().map(|_| Duration::from_secs(24 * 3600));
    let list = |name: &str, key: &str, list: &[String]| {
        (!list.is_empty()).then(|| option(name, list.join(" "), format!("{key}={list:?}")))
    };
    let settings = [
        lasts.or(endless).map(|lasts| option("--for", lasts, format!("duration={lasts}"))),
        list("--kernel-flows", "emulate.kernel_flows", kernel_flows),
        pcap.then(|| set_by("--pcap", "record.pcap=true")),
        list("--tap", "record.taps", tap),
    ];
    settings.into_iter().flatten().collect()
}

/// Adds programs of the command line to those of the scenario.
fn add_programs(plan: &mut Plan, job: Job, orders: &[Order]) -> Result<(), Failure> {
    let scenario = &mut plan.points[job.point].scenario;
    for Order(program) in orders {
        let before = scenario.programs().len();
        scenario.program.push(program.clone());
        if scenario.programs().len() == before {
            return Err(no_real_node("--exec", &program.node, &real_names(scenario, job)));
        }
    }
    Ok(())
}

/// Refuses a shell in a node that is not real.
fn check_shell(plan: &Plan, job: Job, shell: Option<&str>) -> Result<(), Failure> {
    let names = real_names(&plan.points[job.point].scenario, job);
    match shell.filter(|node| !names.iter().any(|name| name == node)) {
        Some(node) => Err(no_real_node("--shell", node, &names)),
        None => Ok(()),
    }
}

/// Refuses to trace windows if that is not possible here.
fn check_windows(plan: &Plan, job: Job, standing: Standing) -> Result<(), Failure> {
    let scenario = &plan.points[job.point].scenario;
    let checked = fairwave_emulator::emulation::check_windows(
        scenario,
        &scenario.to_world(job.seed),
        standing,
    );
    checked.map_err(|lack| match lack {
        NoWindows::NoConnection => Failure::Usage(format!("--windows: {lack}")),
        _ => Failure::Run(format!("--windows: {lack}")),
    })
}

/// Warning about a table of windows with missing rows.
fn missing_windows(windows: Windows) -> Option<String> {
    let Windows { rows, missed } = windows;
    (missed > 0).then(|| {
        format!("windows.parquet: {missed} segments came too fast and have no row; {rows} have one")
    })
}

/// The nodes that are at the interfaces of `--between`.
fn bridged(plan: &Plan, job: Job, emulate: &Emulate) -> Result<Option<[NodeId; 2]>, Failure> {
    let scenario = &plan.points[job.point].scenario;
    let places = |between: &Between| between.places(scenario, &scenario.to_world(job.seed));
    let places = emulate.between.as_ref().map(places).transpose();
    places.map_err(|error| Failure::Usage(format!("--between: {error}")))
}

fn real_names(scenario: &Scenario, job: Job) -> Vec<String> {
    let world = scenario.to_world(job.seed);
    let real = scenario.real_nodes().into_iter();
    real.map(|id| world.nodes[id.0 as usize].name.clone()).collect()
}

fn no_real_node(option: &str, node: &str, names: &[String]) -> Failure {
    let names = names[..names.len().min(24)].join(", ");
    Failure::Usage(format!("{option}: {node:?} is no real node; those are {names}"))
}

/// Warning if `--realtime` was requested without the permission.
pub(crate) fn no_realtime(realtime: bool) -> Option<String> {
    let refused = realtime.then(fairwave_linux::may_become_realtime)?.err()?;
    Some(usual_priority(&refused))
}

fn usual_priority(refused: &fairwave_netns::Error) -> String {
    format!("the loop has its usual priority, as --realtime was not permitted: {refused}")
}

fn execute(
    common: &Common,
    emulate: &Emulate,
    (plan, job): (&Plan, Job),
    (directory, bridged): (&Path, Option<[NodeId; 2]>),
) -> Result<Emulated, Failure> {
    let has_shell = emulate.shell.is_some();
    if has_shell {
        // Ctrl-C is meant for the program that runs in the shell.
        flag::register(SIGINT, Arc::default()).map_err(Failure::run)?;
    }
    let signals: &[i32] = if has_shell { &[SIGTERM, SIGHUP] } else { &SIGNALS };
    let stop = stop::on(signals)?;
    let live = Live::default();
    let program = super::own_program()?;
    let request = Request {
        plan,
        job,
        directory: Some(directory),
        uplinks: &emulate.uplink,
        between: emulate.between.as_ref().zip(bridged),
        records: emulate.record,
        windows: emulate.windows,
        beside_simulation: emulate.beside_simulation,
        stop: Arc::clone(&stop),
        shell: emulate.shell.as_deref(),
        realtime: emulate.realtime,
        program: &program,
        live: &live,
    };
    let whole_ns = plan.points[job.point].scenario.duration.as_nanos();
    let progress = if has_shell || emulate.live { Progress::none() } else { Progress::new(common) };
    let mut shown = 0;
    let over = AtomicBool::new(false);
    let mut show = |turn: &Turn<'_>| {
        let now = turn.now.as_nanos();
        // The loop must not spend its time on drawing.
        if now >= shown + SHOW_EVERY_NS {
            shown = now;
            progress.set(now as f64 / whole_ns as f64);
            progress.say(&format!("{:.1} of {:.1} s", now as f64 / 1e9, whole_ns as f64 / 1e9));
        }
    };
    thread::scope(|scope| {
        let watch = || fairwave_emulator::emulation::live_view::watch(&live, &stop, &over);
        let watching = emulate.live.then(|| scope.spawn(watch));
        let emulated = fairwave_emulator::emulation::run(&request, &mut show);
        // The view ends by this flag, so it must be set before the join.
        over.store(true, Ordering::Relaxed);
        let watched = watching.map_or(Ok(()), |thread| thread.join().expect("it does not panic"));
        if let Err(error) = watched {
            output::warn(&format!("--live: {error}"));
        }
        emulated.map_err(Failure::run)
    })
}
