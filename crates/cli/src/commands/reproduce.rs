//! `fairwave reproduce`: a paper's experiment, claim by claim.

use crate::args::Common;
use crate::clock::Stopwatch;
use crate::outcome::Failure;
use crate::output::{self, BAD, GOOD, HEADING, styled};
use crate::place;
use crate::progress::Progress;
use fairwave_lab::run;
use fairwave_study::{self as study, Claim, Findings, Results, Study, report};
use serde_json::Value;
use std::path::Path;

/// Runs the study, writes its report, and shows its claims.
pub(crate) fn run(common: &Common, name: &str, quick: bool, strict: bool) -> Result<(), Failure> {
    let study = find(name)?;
    let directory = place::choose(common, study.name())?;
    let stopwatch = Stopwatch::start();
    let results = simulate(common, study, quick, &directory)?;
    let findings = study.evaluate(&results).map_err(Failure::run)?;
    let cost = stopwatch.cost();
    let summary = study::to_json(study, &results, &findings, cost);
    let command = command_line(study, quick);
    let context = report::Context { study, command: &command, cost: Some(cost) };
    let page = report::write(&context, &results, &findings, &directory);
    let page = page.map_err(Failure::run)?;
    if common.json {
        output::print_json(&summary)?;
    } else {
        output::print(&text(study, &findings, &summary))?;
        output::print(&format!("Report: {}\n", page.display()))?;
    }
    let all_hold = findings.claims.iter().all(|claim| claim.holds);
    if strict && !all_hold { Err(Failure::Claims) } else { Ok(()) }
}

fn find(name: &str) -> Result<&'static dyn Study, Failure> {
    fairwave_studies::find(name).ok_or_else(|| {
        let known: Vec<&str> = fairwave_studies::ALL.iter().map(|study| study.name()).collect();
        Failure::Usage(format!("there is no study {name:?}; there are: {}", known.join(", ")))
    })
}

fn simulate(
    common: &Common,
    study: &dyn Study,
    quick: bool,
    directory: &Path,
) -> Result<Results, Failure> {
    let progress = Progress::new(common);
    let report = |now: run::Progress| {
        progress.set(now.done as f64 / now.total.max(1) as f64);
        progress.say(&format!("{} of {} runs", now.done, now.total));
    };
    study::simulate(study, quick, common.jobs().get(), directory, &report).map_err(Failure::run)
}

/// What anybody types to get the same results. Workers and places leave no trace in them.
fn command_line(study: &dyn Study, quick: bool) -> String {
    let quick = if quick { " --quick" } else { "" };
    format!("fairwave reproduce {}{quick}", study.name())
}

/// Every claim, then what it took.
fn text(study: &dyn Study, findings: &Findings, summary: &Value) -> String {
    let claims: String = findings.claims.iter().map(claim).collect();
    let quick = if summary["quick"] == true {
        "This was the quick form, with fewer seeds and points; leave out --quick for all.\n"
    } else {
        ""
    };
    let heading = styled(HEADING, study.paper());
    format!("{heading}\n\n{claims}{quick}{}\n", effort(summary))
}

fn claim(claim: &Claim) -> String {
    let verdict = if claim.holds { styled(GOOD, "HOLDS") } else { styled(BAD, "DOES NOT HOLD") };
    let measured = claim.measured.iter().map(|(name, value)| format!("{name} = {value}"));
    let mut text = format!("{}  {verdict}\n", styled(HEADING, claim.id));
    let rows = [
        ("claim", claim.statement),
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
    format!(
        "{} runs, {} seeds, {:.0} simulated s in {:.1} s: \
         {:.1} simulated s and {:.0} frames per CPU s",
        summary["runs"],
        summary["seeds"],
        figure("simulated_s"),
        figure("wall_s"),
        figure("simulated_s_per_cpu_s"),
        figure("frames_per_cpu_s"),
    )
}
