//! `fairwave reproduce`: a paper's experiment, claim by claim, over parameters that the paper does
//! not give.

use super::reproduce_map::{self, Means};
use crate::args::{Common, Host, Reproduce};
use crate::clock::Stopwatch;
use crate::outcome::{CLAIM_FAILS, Failure};
use crate::output::{self, BAD, GOOD, HEADING, WORTH_A_LOOK, styled};
use crate::progress::Progress;
use crate::{place, stop, store};
use fairwave_lab::run::{self, Watch};
use fairwave_lab::store::Store;
use fairwave_study::{self as study, ClaimVerdict, KeyFigure, Reproduction, Results, Standing};
use fairwave_study::{Study, markdown, report};
use fairwave_units::several;
use serde_json::Value;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// Directory for the runs of maps, within the study's directory.
const MAPS: &str = "maps";

/// Runs the study and its maps, or reads their runs back, writes the report, and shows the claims.
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
    let directory = place::choose(common, study.name())?;
    let stopwatch = Stopwatch::start();
    // Before any output: a script that waits for the first output may send a signal right after it.
    let stop = stop::on_saying(&stop::OF_SIMULATION, stop::AFTER_RUNS)?;
    let store = store::open(args);
    let place = (directory.path(), store.as_ref());
    let reproduction = reproduced(common, args, study, place, &stop)?;
    let cost = args.from.is_none().then(|| stopwatch.cost());
    let command = command_line(study, args.is_quick());
    let mut summary = study::to_json(&reproduction, cost);
    store::without_rates(store.as_ref(), &mut summary);
    let context = report::Context { command: &command, cost };
    let page = report::write(&context, &reproduction, directory.path()).map_err(Failure::run)?;
    let verdicts = reproduction.verdicts();
    if common.json {
        output::print_json(&summary)?;
    } else if args.markdown {
        output::print_raw(markdown::page(&reproduction, &command).as_bytes())?;
    } else {
        output::print(&text(study, &verdicts, &summary, args.verbose))?;
        output::print(&store::taken(store.as_ref()))?;
        output::print(&format!("Report: {}\n", page.display()))?;
    }
    if args.strict { judge(&verdicts) } else { Ok(()) }
}

/// The study's own set-up, and its maps.
fn reproduced(
    common: &Common,
    args: &Reproduce,
    study: &'static dyn Study,
    (directory, store): (&Path, Option<&Store>),
    stop: &AtomicBool,
) -> Result<Reproduction<'static>, Failure> {
    let root = args.from.as_deref().unwrap_or(directory);
    let means = Means {
        common,
        quick: args.is_quick(),
        root,
        store,
        before: run::Before::Rerun,
        only_kept: args.from.is_some(),
        stop,
        goes_on: store.map_or("", |_| store::GOES_ON),
    };
    let results = match means.only_kept {
        true => study::read_back(study, means.quick, root).map_err(Failure::run)?,
        false => simulate(&means, study)?,
    };
    let findings = study::evaluate(study, &results).map_err(Failure::run)?;
    let root = root.join(MAPS);
    let means = Means { root: &root, ..means };
    let maps = reproduce_map::of_study(&means, study, &findings.claims)?;
    Ok(Reproduction { study, results, findings, maps })
}

/// The exit status under `--strict`. An undecided claim is no failure, since nothing contradicts
/// it, but it is reported.
fn judge(verdicts: &[ClaimVerdict]) -> Result<(), Failure> {
    let is_open = |claim: &&ClaimVerdict| claim.setups.undecided == claim.setups.admitted;
    let open: Vec<&str> = verdicts.iter().filter(is_open).map(|claim| claim.id).collect();
    if !open.is_empty() {
        output::warn(&format!("not judgeable: {}", open.join(", ")));
    }
    if verdicts.iter().any(ClaimVerdict::fails) {
        Err(Failure::Claims(CLAIM_FAILS))
    } else {
        Ok(())
    }
}

/// The requested study, if the options are compatible.
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

fn simulate(means: &Means<'_>, study: &dyn Study) -> Result<Results, Failure> {
    let progress = Progress::new(means.common);
    let last = Mutex::new((0, 0));
    let report = |now: run::Progress| {
        progress.set(now.done as f64 / now.total.max(1) as f64);
        progress.say(&format!("{} of {} runs of the own set-up", now.done, now.total));
        if let Ok(mut last) = last.lock() {
            *last = (now.done, now.total);
        }
    };
    let watch = Watch { progress: &report, stop: means.stop };
    let workers = means.common.jobs().get();
    let place = (means.root, means.store);
    let results = study::simulate(study, means.quick, workers, place, watch);
    results.map_err(|error| match error {
        study::Error::Run(ended) if ended.is_interruption() => {
            let (done, total) = last.into_inner().unwrap_or_default();
            let all = "a study is judged by all of them";
            Failure::Run(format!("{ended} after {done} of {total} runs; {all}{}", means.goes_on))
        }
        other => Failure::run(other),
    })
}

/// The command that gives the same results on any machine. The number of jobs and the directory do
/// not affect them.
pub(crate) fn command_line(study: &dyn Study, quick: bool) -> String {
    let full = if quick { "" } else { " --full" };
    format!("fairwave reproduce {}{full}", study.name())
}

/// The claims of the paper, then questions of ours, then the cost of the runs. With `is_verbose`
/// each claim has its criterion and all that was measured.
fn text(study: &dyn Study, verdicts: &[ClaimVerdict], summary: &Value, is_verbose: bool) -> String {
    let (ours, papers): (Vec<&ClaimVerdict>, Vec<&ClaimVerdict>) =
        verdicts.iter().partition(|claim| claim.ours);
    let show =
        |claim: &ClaimVerdict| brief(claim) + &if is_verbose { all(claim) } else { "\n".into() };
    let mut text = wrapped(study.paper(), "") + "\n";
    text.extend(papers.into_iter().map(show));
    if !ours.is_empty() {
        text.push_str(&format!("{}\n\n", styled(HEADING, "Questions of ours")));
    }
    text.extend(ours.into_iter().map(show));
    for set in summary["joint"].as_array().into_iter().flatten() {
        let ids = set["claims"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let (ids, count) = (ids.collect::<Vec<_>>(), set["setups"].as_u64().unwrap_or(0));
        if ids.len() > 1 {
            let together = ids.join(", ");
            text.push_str(&format!("Together {together} hold in {}.\n", several(count, "set-up")));
        }
    }
    if summary["quick"] == true {
        let full = command_line(study, false);
        let quick = "This was the quick form, with fewer seeds, points and set-ups";
        text.push_str(&wrapped(&format!("{quick}; `{full}` runs all."), ""));
    }
    if !is_verbose {
        text.push_str("--verbose adds criteria and everything that was measured.\n");
    }
    text.push_str(&format!("{}\n", effort(summary)));
    text
}

/// Maximum width of the printed text, in columns.
const COLUMNS: usize = 100;

/// A text in lines of at most [`COLUMNS`], each behind `indent`.
fn wrapped(text: &str, indent: &str) -> String {
    let options = textwrap::Options::new(COLUMNS).initial_indent(indent).subsequent_indent(indent);
    textwrap::fill(text, options) + "\n"
}

/// A claim: its verdict in words, the claim, and the figures that decide it.
fn brief(claim: &ClaimVerdict) -> String {
    const INDENT: &str = "         ";
    let colour = match claim.standing() {
        Standing::Holds => GOOD,
        Standing::HoldsInPart | Standing::Open => WORTH_A_LOOK,
        Standing::Fails => BAD,
    };
    let verdict = wrapped(&claim.in_words(), INDENT);
    let verdict = styled(colour, verdict.trim());
    let mut text = format!("{} {verdict}\n", styled(HEADING, &format!("{:<8}", claim.id)));
    text.push_str(&wrapped(claim.statement, INDENT));
    let figures: Vec<String> = claim.figures().iter().map(KeyFigure::to_string).collect();
    let figures = claim.gap().unwrap_or_else(|| figures.join("; "));
    if !figures.is_empty() {
        text.push_str(&wrapped(&format!("{}: {figures}", claim.own_set_up()), INDENT));
    }
    text
}

/// Everything else that is known of a claim.
fn all(claim: &ClaimVerdict) -> String {
    let measured = claim.measured.iter().map(|(name, value)| format!("{name} = {value}"));
    let rows = [
        ("where", claim.condition.clone()),
        ("set-ups", claim.counted()),
        ("beside", claim.beside()),
        ("measured", measured.collect::<Vec<_>>().join(", ")),
        ("criterion", claim.criterion.clone()),
        ("note", claim.note.clone()),
    ];
    let rows = rows.iter().filter(|(_, row)| !row.is_empty());
    rows.map(|(name, row)| wrapped(&format!("{name}: {row}"), "         "))
        .chain(["\n".to_owned()])
        .collect()
}

/// Cost of the study, from the figures that `--json` prints.
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
