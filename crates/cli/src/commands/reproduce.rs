//! `fairwave reproduce`: a paper's experiment, claim by claim.

use super::reproduce_map;
use crate::args::{Common, Host, Reproduce};
use crate::clock::Stopwatch;
use crate::outcome::Failure;
use crate::output::{self, BAD, GOOD, HEADING, WORTH_A_LOOK, styled};
use crate::progress::Progress;
use crate::{place, stop, store};
use fairwave_lab::run::{self, Watch};
use fairwave_lab::store::Store;
use fairwave_study::{self as study, Claim, Findings, Results, Study, Verdict, markdown, report};
use fairwave_units::several;
use serde_json::Value;
use std::path::Path;
use std::sync::Mutex;

/// Runs the study, or reads its runs back, writes its report, and shows its claims.
pub(crate) fn run(common: &Common, args: &Reproduce) -> Result<(), Failure> {
    let study = find(common, args)?;
    if args.host == Host::Emulate {
        return Err(Failure::Usage("--host emulate needs Linux".into()));
    }
    if let Some(option) = args.stray() {
        return Err(Failure::Usage(format!("{option} goes with --host emulate alone")));
    }
    if let Some(claim) = &args.map {
        return reproduce_map::run(common, args, study, claim);
    }
    let quick = args.is_quick();
    let directory = place::choose(common, study.name())?;
    let stopwatch = Stopwatch::start();
    let store = store::open(args).filter(|_| args.from.is_none());
    let results = match &args.from {
        Some(from) => study::read_back(study, quick, from).map_err(Failure::run)?,
        None => simulate(common, study, quick, (directory.path(), store.as_ref()))?,
    };
    let findings = study::evaluate(study, &results).map_err(Failure::run)?;
    let cost = args.from.is_none().then(|| stopwatch.cost());
    let command = command_line(study, quick);
    let mut summary = study::to_json(study, &results, &findings, cost);
    store::without_rates(store.as_ref(), &mut summary);
    let context = report::Context { study, command: &command, cost };
    let page = report::write(&context, &results, &findings, directory.path());
    let page = page.map_err(Failure::run)?;
    if common.json {
        output::print_json(&summary)?;
    } else if args.markdown {
        let page = markdown::page(study, &command, &results, &findings);
        output::print_raw(page.as_bytes())?;
    } else {
        output::print(&text(study, &findings, &summary))?;
        output::print(&store::taken(store.as_ref()))?;
        output::print(&format!("Report: {}\n", page.display()))?;
    }
    if args.strict { judge(&findings.claims) } else { Ok(()) }
}

/// How the command ends under `--strict`. A claim that is undecided is no failure, since nothing
/// contradicts it, but it is not passed over in silence either.
pub(crate) fn judge(claims: &[Claim]) -> Result<(), Failure> {
    let undecided: Vec<&str> = claims
        .iter()
        .filter(|claim| claim.verdict.holds().is_none())
        .map(|claim| claim.id)
        .collect();
    if !undecided.is_empty() {
        output::warn(&format!("undecided: {}", undecided.join(", ")));
    }
    let fails = claims.iter().any(|claim| claim.verdict.holds() == Some(false));
    if fails { Err(Failure::Claims) } else { Ok(()) }
}

/// The study that is asked for, if what is asked for goes together.
pub(crate) fn find(common: &Common, args: &Reproduce) -> Result<&'static dyn Study, Failure> {
    if args.markdown && common.json {
        return Err(Failure::Usage("--json and --markdown both print to standard output".into()));
    }
    let name = &args.study;
    fairwave_studies::find(name).ok_or_else(|| {
        let known: Vec<&str> = fairwave_studies::ALL.iter().map(|study| study.name()).collect();
        Failure::Usage(format!("there is no study {name:?}; there are: {}", known.join(", ")))
    })
}

fn simulate(
    common: &Common,
    study: &dyn Study,
    quick: bool,
    (directory, store): (&Path, Option<&Store>),
) -> Result<Results, Failure> {
    let stop = stop::on_saying(&stop::OF_SIMULATION, stop::AFTER_RUNS)?;
    let progress = Progress::new(common);
    let last = Mutex::new((0, 0));
    let report = |now: run::Progress| {
        progress.set(now.done as f64 / now.total.max(1) as f64);
        progress.say(&format!("{} of {} runs", now.done, now.total));
        if let Ok(mut last) = last.lock() {
            *last = (now.done, now.total);
        }
    };
    let watch = Watch { progress: &report, stop: &stop };
    let results = study::simulate(study, quick, common.jobs().get(), (directory, store), watch);
    results.map_err(|error| match error {
        study::Error::Run(ended) if ended.is_interruption() => {
            let (done, total) = last.into_inner().unwrap_or_default();
            let all = "a study is judged by all of them";
            let kept = store.map_or("", |_| "; they are kept, and the same command goes on");
            Failure::Run(format!("{ended} after {done} of {total} runs; {all}{kept}"))
        }
        other => Failure::run(other),
    })
}

/// What anybody types to get the same results. Workers and places leave no trace in them.
pub(crate) fn command_line(study: &dyn Study, quick: bool) -> String {
    let full = if quick { "" } else { " --full" };
    format!("fairwave reproduce {}{full}", study.name())
}

/// Every claim of the paper, then every question of ours, then what it took.
fn text(study: &dyn Study, findings: &Findings, summary: &Value) -> String {
    let (ours, papers): (Vec<&Claim>, Vec<&Claim>) =
        findings.claims.iter().partition(|claim| claim.is_ours);
    let mut text = format!("{}\n\n", styled(HEADING, study.paper()));
    text.extend(papers.into_iter().map(claim));
    if !ours.is_empty() {
        text.push_str(&format!("{}\n\n", styled(HEADING, "Questions of ours")));
    }
    text.extend(ours.into_iter().map(claim));
    if summary["quick"] == true {
        text.push_str("This was the quick form, with fewer seeds and points; --full runs all.\n");
    }
    text.push_str(&format!("{}\n", effort(summary)));
    text
}

/// A verdict as a word in its colour.
pub(crate) fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Holds => styled(GOOD, "HOLDS"),
        Verdict::DoesNotHold(_) => styled(BAD, "DOES NOT HOLD"),
        Verdict::Undecided(_) => styled(WORTH_A_LOOK, "UNDECIDED"),
    }
}

fn claim(claim: &Claim) -> String {
    let verdict = verdict(&claim.verdict);
    let measured = claim.measured.iter().map(|(name, value)| format!("{name} = {value}"));
    let mut text = format!("{}  {verdict}\n", styled(HEADING, claim.id));
    let rows = [
        ("claim", claim.statement),
        ("because", claim.verdict.reason().unwrap_or_default()),
        ("measured", &measured.collect::<Vec<_>>().join(", ")),
        ("criterion", &claim.criterion),
        ("note", &claim.note),
    ];
    for (name, row) in rows.into_iter().filter(|(_, row)| !row.is_empty()) {
        text.push_str(&format!("  {name:<10} {row}\n"));
    }
    text.push('\n');
    text
}

/// What the study took, from the figures that `--json` prints.
fn effort(summary: &Value) -> String {
    let figure = |name: &str| summary[name].as_f64().unwrap_or(0.0);
    let number = |name: &str, noun| several(summary[name].as_u64().unwrap_or(0), noun);
    let (runs, seeds) = (number("runs", "run"), number("seeds", "seed"));
    let runs = format!("{runs}, {seeds}, {:.0} simulated s", figure("simulated_s"));
    if summary["wall_s"].is_null() {
        return format!("{runs}, read back from their directories");
    }
    if summary["frames_per_cpu_s"].is_null() {
        return format!("{runs} in {:.1} s", figure("wall_s"));
    }
    format!(
        "{runs} in {:.1} s: {:.1} simulated s and {:.0} frames per CPU s",
        figure("wall_s"),
        figure("simulated_s_per_cpu_s"),
        figure("frames_per_cpu_s"),
    )
}
