//! `fairwave reproduce --host emulate`: a study with the kernel's sockets, the simulator beside it.

use super::args::Reproduce;
use crate::args::Common;
use crate::clock::Stopwatch;
use crate::commands::shared::option;
use crate::commands::sweep::refuse_to_replace;
use crate::outcome::Failure;
use crate::output;
use crate::own;
use crate::place::{self, Before};
use crate::progress::Progress;
use crate::stop;
use fairwave_emulator::emulation::Manner;
use fairwave_emulator::report::no_realtime;
use fairwave_scenario::plan::Override;
use fairwave_studies::real_time::{self, Agenda, Means};
use fairwave_study::beside::{Beside, terminal};
use fairwave_study::terminal::command_line as of_study;
use fairwave_study::{self as study, Claim, Study};

/// The reaction to a signal, in words.
pub(in crate::commands) const STOPS: &str = "now, or in the simulator after the runs under way";

/// Runs the study on both hosts, writes its report, and shows its claims side by side.
pub(super) fn run(
    common: &Common,
    args: &Reproduce,
    study: &'static dyn Study,
) -> Result<(), Failure> {
    fairwave_netns::support().map_err(Failure::run)?;
    // The kernel only lets a process with one thread enter a new user namespace.
    fairwave_netns::become_root_inside().map_err(Failure::run)?;
    let (only, settings) = (args.only.as_deref(), settings(args));
    let agenda = Agenda::of(study, args.is_quick(), only, &settings).map_err(failure)?;
    let before = if args.resume { Before::Results } else { Before::Nothing };
    let directory = place::choose_with(common, study.name(), before)?;
    if args.resume && !common.force {
        let other = agenda.replaced(directory.path());
        refuse_to_replace(other, directory.path(), "study")?;
    }
    let stopwatch = Stopwatch::start();
    if !common.json && !args.markdown {
        let (runs, takes) = (agenda.runs(), agenda.real_time(0).as_secs_f64());
        output::note(&format!("{runs} runs in real time, which take {takes:.0} s at least"));
    }
    let stop = stop::on_saying(&stop::SIGNALS, STOPS)?;
    let means = Means {
        workers: common.jobs().get(),
        manner: Manner { realtime: args.realtime, stop, program: own::program()? },
        resume: args.resume,
    };
    no_realtime(args.realtime).iter().for_each(|printed| output::warn(printed));
    let progress = Progress::new(common);
    let report = |now: real_time::Progress| {
        progress.set(now.done as f64 / now.total.max(1) as f64);
        let left = now.left.as_secs_f64();
        progress.say(&format!("{} of {} runs, {left:.0} s left", now.done, now.total));
    };
    let beside = agenda.run(directory.path(), &means, &report).map_err(|error| match error {
        ref error if is_interruption(error) => {
            let out = output::quoted(&directory.path().display().to_string());
            Failure::Run(format!("{error}; --out {out} --resume goes on"))
        }
        other => failure(other),
    })?;
    let beside = Beside { wall_s: Some(stopwatch.cost().wall_s), ..beside };
    let command = command_line(study, args);
    let explorer = fairwave_show::explorer();
    let page = beside.write(study, &command, explorer, directory.path()).map_err(Failure::run)?;
    let shown = if common.json {
        output::print_json(&beside.to_json(study))
    } else if args.markdown {
        output::print_raw(beside.markdown(study, &command).as_bytes())
    } else {
        let text = terminal::text(study, &beside);
        output::print(&format!("{text}Report: {}\n", page.display()))
    };
    Failure::unless_closed(shown)?;
    judge(args, &beside)
}

/// Whether the earlier runs are kept, so that the command can be continued.
fn is_interruption(error: &real_time::Error) -> bool {
    match error {
        real_time::Error::Emulation(_) => true,
        real_time::Error::Study(study::Error::Run(error)) => error.is_interruption(),
        _ => false,
    }
}

/// Settings of the command line for every scenario.
fn settings(args: &Reproduce) -> Vec<Override> {
    let lasts = args.lasts.map(|lasts| option("--for", lasts, format!("duration={lasts}")));
    let seeds = args.seeds.map(|seeds| option("--seeds", seeds, format!("sweep.seeds={seeds}")));
    lasts.into_iter().chain(seeds).collect()
}

/// The command that repeats the measurement on any machine.
fn command_line(study: &dyn Study, args: &Reproduce) -> String {
    let lasts = args.lasts.map(|lasts| format!(" --for '{lasts}'")).unwrap_or_default();
    let seeds = args.seeds.map(|seeds| format!(" --seeds {seeds}")).unwrap_or_default();
    let only = args.only.as_ref().map(|only| format!(" --only {only}")).unwrap_or_default();
    let command = of_study(study, args.is_quick());
    format!("{command} --host emulate{only}{lasts}{seeds}")
}

/// The exit status of the command. Late runs take precedence over claims that do not hold.
fn judge(args: &Reproduce, beside: &Beside) -> Result<(), Failure> {
    let late = beside.left_out.iter().filter(|left| left.why.starts_with(real_time::LATE));
    let reported: Vec<String> = late
        .map(|left| {
            let (runs, experiment, why) = (left.runs, &left.experiment, &left.why);
            let (what, of_several) =
                if runs == 1 { ("run", "") } else { ("runs", ", the first of them") };
            format!("{runs} {what} of {experiment}{of_several}: {why}")
        })
        .collect();
    if !reported.is_empty() {
        return Err(Failure::Late(reported.join("; ")));
    }
    if args.strict { judge_kernel(&beside.kernel.findings.claims) } else { Ok(()) }
}

/// The kernel's claims are judged in one set-up. An undecided claim is no failure, since nothing
/// contradicts it, but it is reported.
fn judge_kernel(claims: &[Claim]) -> Result<(), Failure> {
    let is_open = |claim: &&Claim| claim.verdict.holds().is_none();
    let undecided: Vec<&str> = claims.iter().filter(is_open).map(|claim| claim.id).collect();
    if !undecided.is_empty() {
        output::warn(&format!("undecided: {}", undecided.join(", ")));
    }
    let fails = claims.iter().any(|claim| claim.verdict.holds() == Some(false));
    let why = "a claim does not hold with the kernel";
    if fails { Err(Failure::Claims(why)) } else { Ok(()) }
}

fn failure(error: real_time::Error) -> Failure {
    match error {
        // A study's own scenarios are tested, so an error in one comes from the command line.
        real_time::Error::Nothing { .. }
        | real_time::Error::Unknown { .. }
        | real_time::Error::Study(study::Error::Scenario(_)) => Failure::Usage(error.to_string()),
        other => Failure::run(other),
    }
}
