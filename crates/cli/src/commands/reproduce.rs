//! `fairwave reproduce`: a paper's experiment, claim by claim, over parameters that the paper does
//! not give.

mod args;
pub(super) mod map;
#[cfg(target_os = "linux")]
pub(super) mod real;

use crate::args::Common;
use crate::clock::Stopwatch;
use crate::outcome::{CLAIM_FAILS, Failure};
use crate::progress::Progress;
use crate::{output, place, stop, store};
use args::Host;
use fairwave_lab::run::{self, Watch};
use fairwave_lab::store::{Source, Store};
use fairwave_study::terminal::{self, command_line};
use fairwave_study::{self as study, ClaimVerdict, Reproduction, Results, Study, markdown, report};
use map::Means;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub(crate) use args::Reproduce;

/// Directory for the runs of maps, within the study's directory.
const MAPS: &str = "maps";

/// A reproduction, its summary as JSON, and the file of its page.
struct Made {
    reproduction: Reproduction<'static>,
    summary: Value,
    page: PathBuf,
}

/// Runs the study and its maps, writes the report and returns the summary. If there is a `source`,
/// it makes the runs that the store lacks, and the page names no cost: this machine does not know
/// that of the others.
pub(crate) fn answer(
    common: &Common,
    args: &Reproduce,
    source: Option<Source>,
    watch: Watch<'_>,
) -> Result<Value, Failure> {
    let study = args.find(common)?;
    let directory = place::choose(common, study.name())?;
    let stopwatch = source.is_none().then(Stopwatch::start);
    let store = store::open(&args.store, args.no_store);
    let store = match (store, source) {
        (store, None) => store,
        (Some(store), Some(source)) => Some(store.with_source(source)),
        (None, Some(_)) => {
            let no_store = "results of other machines go into the store, which cannot be used";
            return Err(Failure::Run(no_store.to_owned()));
        }
    };
    Ok(made(common, args, study, directory.path(), store.as_ref(), watch, stopwatch)?.summary)
}

/// Runs the study and its maps, or reads their runs back, writes the report, and shows the claims.
pub(super) fn run(common: &Common, args: &Reproduce) -> Result<(), Failure> {
    let study = args.find(common)?;
    args.check_host()?;
    if args.host == Host::Emulate {
        #[cfg(target_os = "linux")]
        return real::run(common, args, study);
        #[cfg(not(target_os = "linux"))]
        return Err(Failure::Usage("--host emulate needs Linux".into()));
    }
    if let Some(claim) = &args.map {
        return map::run(common, args, study, claim);
    }
    let directory = place::choose(common, study.name())?;
    let stopwatch = Stopwatch::start();
    // Before any output: a script that waits for the first output may send a signal right after it.
    let stop = stop::on_saying(&stop::OF_SIMULATION, stop::AFTER_RUNS)?;
    let store = store::open(&args.store, args.no_store);
    let stopwatch = args.from.is_none().then_some(stopwatch);
    let watch = Watch { progress: &|_| (), stop: &stop };
    let made = made(common, args, study, directory.path(), store.as_ref(), watch, stopwatch)?;
    let verdicts = made.reproduction.verdicts();
    Failure::unless_closed(show(common, args, &made, &verdicts, store.as_ref()))?;
    if args.strict { judge(&verdicts) } else { Ok(()) }
}

/// Prints the claims in the requested form.
fn show(
    common: &Common,
    args: &Reproduce,
    made: &Made,
    verdicts: &[ClaimVerdict],
    store: Option<&Store>,
) -> Result<(), Failure> {
    let Made { reproduction, summary, page } = made;
    if common.json {
        output::print_json(summary)?;
    } else if args.markdown {
        let command = command_line(reproduction.study, args.is_quick());
        output::print_raw(markdown::page(reproduction, &command).as_bytes())?;
    } else {
        output::print(&terminal::text(reproduction, verdicts, summary, args.verbose))?;
        output::print(&store::taken(store))?;
        output::print(&format!("Report: {}\n", page.display()))?;
    }
    Ok(())
}

/// Runs the study and its maps, or reads them back, and writes the report, with the cost by a
/// stopwatch if there is one.
fn made(
    common: &Common,
    args: &Reproduce,
    study: &'static dyn Study,
    directory: &Path,
    store: Option<&Store>,
    watch: Watch<'_>,
    stopwatch: Option<Stopwatch>,
) -> Result<Made, Failure> {
    let reproduction = reproduced(common, args, study, directory, store, watch)?;
    let cost = stopwatch.map(|stopwatch| stopwatch.cost());
    let command = command_line(study, args.is_quick());
    let mut summary = study::to_json(&reproduction, cost);
    store::without_rates(store, &mut summary);
    let explorer = fairwave_show::explorer();
    let context = report::Context { command: &command, cost, explorer };
    let page = report::write(&context, &reproduction, directory).map_err(Failure::run)?;
    Ok(Made { reproduction, summary, page })
}

/// The study's own set-up, and its maps.
fn reproduced(
    common: &Common,
    args: &Reproduce,
    study: &'static dyn Study,
    directory: &Path,
    store: Option<&Store>,
    watch: Watch<'_>,
) -> Result<Reproduction<'static>, Failure> {
    let root = args.from.as_deref().unwrap_or(directory);
    let means = Means {
        common,
        quick: args.is_quick(),
        root,
        store,
        before: run::Before::Rerun,
        only_kept: args.from.is_some(),
        watch,
        goes_on: store.map_or("", |_| store::GOES_ON),
    };
    let results = match means.only_kept {
        true => study::read_back(study, means.quick, root).map_err(Failure::run)?,
        false => simulate(&means, study)?,
    };
    let findings = study::evaluate(study, &results).map_err(Failure::run)?;
    let root = root.join(MAPS);
    let means = Means { root: &root, ..means };
    let maps = map::of_study(&means, study, &findings.claims)?;
    Ok(Reproduction { study, results, findings, maps })
}

/// The exit status under `--strict`.
fn judge(verdicts: &[ClaimVerdict]) -> Result<(), Failure> {
    map::warn_of_open(verdicts.iter().map(|claim| (claim.id, claim.setups)));
    if verdicts.iter().any(ClaimVerdict::fails) {
        Err(Failure::Claims(CLAIM_FAILS))
    } else {
        Ok(())
    }
}

fn simulate(means: &Means<'_>, study: &dyn Study) -> Result<Results, Failure> {
    let progress = Progress::new(means.common);
    let last = Mutex::new((0, 0));
    let report = |now: run::Progress| {
        progress.set(now.done as f64 / now.total.max(1) as f64);
        progress.say(&format!("{} of {} runs of the own set-up", now.done, now.total));
        (means.watch.progress)(now);
        if let Ok(mut last) = last.lock() {
            *last = (now.done, now.total);
        }
    };
    let watch = Watch { progress: &report, ..means.watch };
    let workers = means.common.jobs().get();
    let results = study::simulate(study, means.quick, workers, means.root, means.store, watch);
    results.map_err(|error| match error {
        study::Error::Run(ended) if ended.is_interruption() => {
            let (done, total) = last.into_inner().unwrap_or_default();
            let all = "a study is judged by all of them";
            Failure::Run(format!("{ended} after {done} of {total} runs; {all}{}", means.goes_on))
        }
        other => Failure::run(other),
    })
}
