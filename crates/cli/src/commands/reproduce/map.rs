//! `fairwave reproduce STUDY --map CLAIM`: a claim over parameters that its paper does not give.

use super::args::Reproduce;
use crate::args::Common;
use crate::clock::{self, Stopwatch};
use crate::outcome::{CLAIM_FAILS, Failure};
use crate::output;
use crate::place::{self, Before};
use crate::progress::Progress;
use crate::{stop, store};
use fairwave_lab::place::is_vacant;
use fairwave_lab::run::{self, Watch};
use fairwave_lab::store::Store;
use fairwave_study::map::file::Declared;
use fairwave_study::map::{
    self, CONFIRMED, EXPLORED, Earlier, Explored, MapRequest, MapSummary, Tally, markdown, page,
    terminal,
};
use fairwave_study::{Claim, Maps, Study, alone};
use fairwave_text::quoted;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Judges the claim over its grid, writes the page, and shows the result.
pub(super) fn run(
    common: &Common,
    args: &Reproduce,
    study: &dyn Study,
    claim: &str,
) -> Result<(), Failure> {
    let declared = declared(study)?;
    let claims = declared.select(claim);
    let claims = claims.map_err(|error| Failure::Usage(format!("--map: {error}")))?;
    let is_single = !args.at.is_empty();
    let declared = match is_single {
        true => declared.at(&pairs(&args.at)?).map_err(|e| Failure::Usage(format!("--at: {e}")))?,
        false => declared,
    };
    let before = if args.resume { Before::Results } else { Before::Nothing };
    let directory = place::choose_with(common, &format!("{}-map", study.name()), before)?;
    let stopwatch = Stopwatch::start();
    let stop = stop::on_saying(&stop::OF_SIMULATION, stop::AFTER_RUNS)?;
    let store = store::open(&args.store, args.no_store);
    let means = Means {
        common,
        quick: args.is_quick(),
        root: directory.path(),
        store: store.as_ref(),
        before: if args.resume { run::Before::Resume } else { run::Before::Rerun },
        only_kept: false,
        watch: Watch { progress: &|_| (), stop: &stop },
        goes_on: match store {
            Some(_) => store::GOES_ON,
            None => "; --resume with the same --out goes on",
        },
    };
    let ask = MapRequest {
        claims: &claims,
        confirms: args.confirm,
        with_traces: is_single,
        ..means.ask(study, &declared)
    };
    if args.resume && !common.force {
        refuse_to_replace(&ask, directory.path())?;
    }
    let explored = explore(&means, ask)?;
    let summary = map::to_json(&ask, &explored, stopwatch.cost(), clock::today());
    let value = serde_json::json!(summary);
    let command = command_line(args, &summary, claim);
    let explored = args.confirm.then(|| Earlier::read(directory.path(), &summary)).flatten();
    let (command, explored) = (command.as_str(), explored.as_ref());
    let context = page::Context { study, declared: &declared, command, explored };
    let page = directory.path().join("map.html");
    write(&page, page::page(&context, &summary).as_bytes())?;
    let file = if args.confirm { CONFIRMED } else { EXPLORED };
    write(&directory.path().join(file), format!("{value:#}\n").as_bytes())?;
    let shown = match (common.json, args.markdown) {
        (true, _) => output::print_json(&value),
        (false, true) => output::print_raw(markdown::page(&context, &summary).as_bytes()),
        (false, false) => {
            let text = terminal::text(study, &summary, is_single);
            let taken = store::taken(store.as_ref());
            output::print(&format!("{text}{taken}Page: {}\n", page.display()))
        }
    };
    Failure::unless_closed(shown)?;
    if args.strict { judge(&summary) } else { Ok(()) }
}

/// The exit status under `--strict`.
fn judge(summary: &MapSummary) -> Result<(), Failure> {
    warn_of_open(summary.claims.iter().map(|claim| (claim.id.as_str(), claim.setups)));
    if summary.fails() { Err(Failure::Claims(CLAIM_FAILS)) } else { Ok(()) }
}

/// Refuses to continue a map in a directory with results of another one, or of something else.
fn refuse_to_replace(ask: &MapRequest<'_>, directory: &Path) -> Result<(), Failure> {
    let files = [EXPLORED, CONFIRMED].map(|name| directory.join(name));
    let found: Vec<&PathBuf> = files.iter().filter(|file| file.exists()).collect();
    let remedy = "give another --out, or --force as well";
    for file in &found {
        let read = fs::read(file).map_err(|error| error.to_string());
        let read = read.and_then(|read| serde_json::from_slice(&read).map_err(|e| e.to_string()));
        if !read.is_ok_and(|reported: Value| map::is_of_map(&reported, ask)) {
            let why = "not of this map, form, claims and set-ups; --resume would replace it";
            return Err(Failure::Usage(format!("{}: {why}: {remedy}", file.display())));
        }
    }
    // Before its end a map whose runs are in the store has left nothing.
    if found.is_empty() && !directory.join("runs").is_dir() && !is_vacant(directory) {
        let why = "not empty, and there is no map to continue";
        return Err(Failure::Usage(format!("{}: {why}: {remedy}", directory.display())));
    }
    Ok(())
}

/// Warns of claims that are decided in no set-up. They are no failure, since nothing contradicts
/// them.
pub(super) fn warn_of_open<'c>(claims: impl Iterator<Item = (&'c str, Tally)>) {
    let is_open = |(_, setups): &(&str, Tally)| setups.undecided == setups.admitted;
    let open: Vec<&str> = claims.filter(is_open).map(|(id, _)| id).collect();
    if !open.is_empty() {
        output::warn(&format!("not judgeable: {}", open.join(", ")));
    }
}

fn declared(study: &dyn Study) -> Result<Declared, Failure> {
    let without = || {
        let with: Vec<&str> = fairwave_studies::ALL
            .iter()
            .filter(|study| study.map().is_some())
            .map(|study| study.name())
            .collect();
        Failure::Usage(format!("{} has no map; there are: {}", study.name(), with.join(", ")))
    };
    map::of(study).map_err(Failure::run)?.ok_or_else(without)
}

/// Values of axes by their keys. A part without `=` belongs to the label before it, which has a
/// comma, as in `buffers=80 of Linux, 64 of XP`.
fn pairs(at: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for text in at {
        match (text.split_once('='), pairs.last_mut()) {
            (Some((key, label)), _) => pairs.push((key.trim().to_owned(), label.trim().to_owned())),
            (None, Some((_, label))) => *label = format!("{label},{}", text.trim_end()),
            (None, None) => {
                return Err(Failure::Usage(format!("--at: {text:?} is not KEY=VALUE")));
            }
        }
    }
    Ok(pairs)
}

/// Options for making runs or reading them back.
#[derive(Clone, Copy)]
pub(super) struct Means<'a> {
    pub(super) common: &'a Common,
    pub(super) quick: bool,
    /// Directory of the run directories.
    pub(super) root: &'a Path,
    /// Store for results, if there is one.
    pub(super) store: Option<&'a Store>,
    pub(super) before: run::Before,
    /// Whether nothing is simulated.
    pub(super) only_kept: bool,
    /// Receiver of the progress beside the bar, and the stop request.
    pub(super) watch: Watch<'a>,
    /// Text behind "interrupted": the way to continue, if there is one.
    pub(super) goes_on: &'static str,
}

impl<'a> Means<'a> {
    /// A request for an exploring run, without a claim.
    fn ask(&self, study: &'a dyn Study, declared: &'a Declared) -> MapRequest<'a> {
        MapRequest {
            study,
            declared,
            claims: &[],
            quick: self.quick,
            confirms: false,
            with_traces: false,
            workers: self.common.jobs().get(),
            root: self.root,
            store: self.store,
            before: self.before,
            only_kept: self.only_kept,
            alone: &[],
            watch: self.watch,
        }
    }
}

/// The maps of a study whose own set-up led to `claims`; `None` if the study declares none. The
/// full form explores and then confirms with separate seeds.
pub(super) fn of_study(
    means: &Means<'_>,
    study: &dyn Study,
    claims: &[Claim],
) -> Result<Option<Maps>, Failure> {
    let Some(declared) = map::of(study).map_err(Failure::run)? else { return Ok(None) };
    let ids = declared.mapped(means.quick);
    let alone = alone(claims, Some(&declared), &ids);
    let pass = |confirms: bool| {
        let stopwatch = Stopwatch::start();
        let ask = means.ask(study, &declared);
        let ask = MapRequest { claims: &ids, confirms, alone: &alone, ..ask };
        let explored = explore(means, ask)?;
        let file = means.root.join(if confirms { CONFIRMED } else { EXPLORED });
        // Runs that are read back keep the day on which they were made.
        let ran = if means.only_kept { MapSummary::day_of(&file) } else { None };
        let ran = ran.unwrap_or_else(clock::today);
        let summary = map::to_json(&ask, &explored, stopwatch.cost(), ran);
        if !means.only_kept {
            fs::create_dir_all(means.root).map_err(Failure::run)?;
            write(&file, format!("{:#}\n", serde_json::json!(summary)).as_bytes())?;
        }
        Ok::<_, Failure>((summary, explored.effort))
    };
    let (explored, effort) = pass(false)?;
    // Claims without a grid have nothing that another run could confirm.
    let confirmed = (!means.quick && !ids.is_empty()).then(|| pass(true)).transpose()?;
    Ok(Some(match confirmed {
        None => Maps { declared, explored, confirmed: None, effort },
        Some((confirmed, more)) => {
            Maps { declared, explored, confirmed: Some(confirmed), effort: effort.and(&more) }
        }
    }))
}

/// Runs the map with a progress bar. Signals end it after the runs in progress.
fn explore(means: &Means<'_>, ask: MapRequest<'_>) -> Result<Explored, Failure> {
    let progress = Progress::new(means.common);
    let what = if ask.confirms { "confirming" } else { "exploring" };
    let report = |now: run::Progress| {
        progress.set(now.done as f64 / now.total.max(1) as f64);
        progress.say(&format!("{} of {} {what} runs", now.done, now.total));
        (means.watch.progress)(now);
    };
    let ask = MapRequest { watch: Watch { progress: &report, ..means.watch }, ..ask };
    map::explore(&ask).map_err(|error| match error {
        fairwave_study::Error::Run(ended) if ended.is_interruption() => {
            Failure::Run(format!("{ended}{}", means.goes_on))
        }
        // Runs of maps that have no series leave no directory beside a store.
        error @ fairwave_study::Error::Incomplete(_) => Failure::Run(format!(
            "{error}; --from takes runs of maps from the store in which they were kept: name it \
             by --store"
        )),
        other => Failure::run(other),
    })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(|error| Failure::Run(format!("{}: {error}", path.display())))
}

/// The command that gives the same results on any machine. The number of jobs and the directory do
/// not affect them.
fn command_line(args: &Reproduce, summary: &MapSummary, claim: &str) -> String {
    let mut command = format!("fairwave reproduce {} --map {claim}", summary.study);
    if !args.at.is_empty() {
        command.push_str(&format!(" --at {}", quoted(&args.at.join(","))));
    }
    for (given, option) in [(!summary.quick, " --full"), (summary.confirms, " --confirm")] {
        command.push_str(if given { option } else { "" });
    }
    command
}
