//! `fairwave reproduce STUDY --map CLAIM`: a claim over parameters that its paper does not give.

use crate::args::{Common, Reproduce};
use crate::clock::{self, Stopwatch};
use crate::outcome::{CLAIM_FAILS, Failure};
use crate::output::{self, BAD, GOOD, HEADING, WORTH_A_LOOK, styled};
use crate::place::{self, Before};
use crate::progress::Progress;
use crate::{stop, store};
use fairwave_lab::run::{self, Watch};
use fairwave_lab::store::Store;
use fairwave_study::map::file::Declared;
use fairwave_study::map::{self, Ask, ClaimMap, Earlier, Explored, MapSummary, markdown, page};
use fairwave_study::{Claim, Maps, Study, alone};
use fairwave_units::several;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Files with the output of `--json`, in the map's directory.
const EXPLORED: &str = "explored.json";
const CONFIRMED: &str = "confirmed.json";
/// The word that requests every claim of the map.
const ALL: &str = "all";

/// Judges the claim over its grid, writes the page, and shows the result.
pub(crate) fn run(
    common: &Common,
    args: &Reproduce,
    study: &dyn Study,
    claim: &str,
) -> Result<(), Failure> {
    let declared = declared(study)?;
    let claims = wanted(&declared, claim)?;
    let is_single = !args.at.is_empty();
    let declared = match is_single {
        true => declared.at(&pairs(&args.at)?).map_err(|e| Failure::Usage(format!("--at: {e}")))?,
        false => declared,
    };
    let before = if args.resume { Before::Results } else { Before::Nothing };
    let directory = place::choose_with(common, &format!("{}-map", study.name()), before)?;
    let stopwatch = Stopwatch::start();
    let stop = stop::on_saying(&stop::OF_SIMULATION, stop::AFTER_RUNS)?;
    let store = store::open(args);
    let means = Means {
        common,
        quick: args.is_quick(),
        root: directory.path(),
        store: store.as_ref(),
        before: if args.resume { run::Before::Resume } else { run::Before::Rerun },
        only_kept: false,
        stop: &stop,
        goes_on: match store {
            Some(_) => store::GOES_ON,
            None => "; --resume with the same --out goes on",
        },
    };
    let ask = Ask {
        claims: &claims,
        confirms: args.confirm,
        with_traces: is_single,
        ..means.ask(study, &declared)
    };
    let explored = explore(&means, ask)?;
    let summary = map::to_json(&ask, &explored, stopwatch.cost(), clock::today());
    let told = serde_json::json!(summary);
    let command = command_line(args, &summary, claim);
    let explored = args.confirm.then(|| earlier(directory.path(), &summary)).flatten();
    let (command, explored) = (command.as_str(), explored.as_ref());
    let context = page::Context { study, declared: &declared, command, explored };
    let page = directory.path().join("map.html");
    write(&page, page::page(&context, &summary).as_bytes())?;
    let file = if args.confirm { CONFIRMED } else { EXPLORED };
    write(&directory.path().join(file), format!("{told:#}\n").as_bytes())?;
    match (common.json, args.markdown) {
        (true, _) => output::print_json(&told)?,
        (false, true) => output::print_raw(markdown::page(&context, &summary).as_bytes())?,
        (false, false) => {
            output::print(&text(study, &summary, is_single))?;
            output::print(&store::taken(store.as_ref()))?;
            output::print(&format!("Page: {}\n", page.display()))?;
        }
    }
    if args.strict { judge(&summary) } else { Ok(()) }
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

fn wanted(declared: &Declared, claim: &str) -> Result<Vec<String>, Failure> {
    let ids: Vec<String> = declared.claim.iter().map(|claim| claim.id.clone()).collect();
    match ids.iter().find(|id| id.eq_ignore_ascii_case(claim)) {
        _ if claim == ALL => Ok(ids),
        Some(id) => Ok(vec![id.clone()]),
        None => {
            let known = ids.join(", ");
            Err(Failure::Usage(format!("--map: no claim {claim:?}; there are: {known}, {ALL}")))
        }
    }
}

fn pairs(at: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let pair = |text: &String| match text.split_once('=') {
        Some((key, label)) => Ok((key.trim().to_owned(), label.trim().to_owned())),
        None => Err(Failure::Usage(format!("--at: {text:?} is not KEY=VALUE"))),
    };
    at.iter().map(pair).collect()
}

/// Options for making runs or reading them back.
#[derive(Clone, Copy)]
pub(crate) struct Means<'a> {
    pub(crate) common: &'a Common,
    pub(crate) quick: bool,
    /// Directory of the run directories.
    pub(crate) root: &'a Path,
    /// Store for results, if there is one.
    pub(crate) store: Option<&'a Store>,
    pub(crate) before: run::Before,
    /// Whether nothing is simulated.
    pub(crate) only_kept: bool,
    pub(crate) stop: &'a AtomicBool,
    /// Text behind "interrupted": the way to continue, if there is one.
    pub(crate) goes_on: &'static str,
}

impl<'a> Means<'a> {
    /// A request for an exploring run, without a claim.
    fn ask(&self, study: &'a dyn Study, declared: &'a Declared) -> Ask<'a> {
        Ask {
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
            watch: Watch { progress: &|_| (), stop: self.stop },
        }
    }
}

/// The maps of a study whose own set-up led to `claims`; `None` if the study declares none. The
/// full form explores and then confirms with separate seeds.
pub(crate) fn of_study(
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
        let ask = Ask { claims: &ids, confirms, alone: &alone, ..ask };
        let explored = explore(means, ask)?;
        let file = means.root.join(if confirms { CONFIRMED } else { EXPLORED });
        // Runs that are read back keep the day on which they were made.
        let ran = if means.only_kept { day_of(&file) } else { None };
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

/// The day of the runs whose summary is in this file.
fn day_of(file: &Path) -> Option<String> {
    let told: serde_json::Value = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    told["ran"].as_str().map(str::to_owned)
}

/// Runs the map with a progress bar. Signals end it after the runs in progress.
fn explore(means: &Means<'_>, ask: Ask<'_>) -> Result<Explored, Failure> {
    let progress = Progress::new(means.common);
    let what = if ask.confirms { "confirming" } else { "exploring" };
    let report = |now: run::Progress| {
        progress.set(now.done as f64 / now.total.max(1) as f64);
        progress.say(&format!("{} of {} {what} runs", now.done, now.total));
    };
    let ask = Ask { watch: Watch { progress: &report, stop: means.stop }, ..ask };
    map::explore(&ask).map_err(|error| match error {
        fairwave_study::Error::Run(ended) if ended.is_interruption() => {
            Failure::Run(format!("{ended}{}", means.goes_on))
        }
        other => Failure::run(other),
    })
}

/// Findings of an earlier exploring run in the same directory.
fn earlier(directory: &Path, summary: &MapSummary) -> Option<Earlier> {
    let told = fs::read(directory.join(EXPLORED)).ok()?;
    Earlier::of(&serde_json::from_slice(&told).ok()?, summary)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(|error| Failure::Run(format!("{}: {error}", path.display())))
}

/// The command that gives the same results on any machine. The number of jobs and the directory do
/// not affect them.
fn command_line(args: &Reproduce, summary: &MapSummary, claim: &str) -> String {
    let mut command = format!("fairwave reproduce {} --map {claim}", summary.study);
    if !args.at.is_empty() {
        command.push_str(&format!(" --at {}", args.at.join(",")));
    }
    for (given, option) in [(!summary.quick, " --full"), (summary.confirms, " --confirm")] {
        command.push_str(if given { option } else { "" });
    }
    command
}

/// Returns an error if a claim of the paper holds nowhere, or one of ours does not hold everywhere.
fn judge(summary: &MapSummary) -> Result<(), Failure> {
    let fails = |claim: &ClaimMap| match claim.ours {
        true => claim.setups.holding + claim.setups.undecided < claim.setups.admitted,
        false => claim.verdict == map::Word::Nowhere.text(),
    };
    if summary.claims.iter().any(fails) { Err(Failure::Claims(CLAIM_FAILS)) } else { Ok(()) }
}

fn text(study: &dyn Study, summary: &MapSummary, is_single: bool) -> String {
    let mut text = format!("{}\n\n", styled(HEADING, study.paper()));
    text.extend(summary.claims.iter().map(if is_single { single } else { claim }));
    for set in summary.joint.iter().filter(|_| summary.claims.len() > 1) {
        let count = several(set.setups, "set-up");
        text.push_str(&format!("Together hold {} in {count}\n", set.claims.join(", ")));
    }
    if summary.quick {
        text.push_str("This was the quick form, with fewer values and seeds; --full runs all.\n");
    }
    let (runs, wall) = (several(summary.runs, "run"), summary.wall_s);
    text.push_str(&format!("{runs}, {:.0} simulated s in {wall:.1} s\n", summary.simulated_s));
    text
}

/// A claim in the single requested set-up.
fn single(claim: &ClaimMap) -> String {
    let Some(point) = claim.points.first() else { return String::new() };
    let colour = match point.outcome {
        "holds" => GOOD,
        "does not hold" => BAD,
        _ => WORTH_A_LOOK,
    };
    let word = styled(colour, &point.outcome.to_uppercase());
    let set_up = point.setup.iter().map(|(key, label)| format!("{key} = {label}"));
    let measured = claim.measured.iter().map(|(name, value)| format!("{name} = {value}"));
    let because = point.reason.as_deref().or(point.contradicts.as_deref()).unwrap_or_default();
    let rows = [
        ("claim", claim.statement),
        ("set-up", &set_up.collect::<Vec<_>>().join(", ")),
        ("because", because),
        ("measured", &measured.collect::<Vec<_>>().join(", ")),
        ("criterion", &claim.criterion),
        ("note", &claim.note),
    ];
    format!("{}  {word}\n{}\n", styled(HEADING, &claim.id), lines(&rows))
}

/// Named rows; rows without text are left out.
fn lines(rows: &[(&str, &str)]) -> String {
    let rows = rows.iter().filter(|(_, row)| !row.is_empty());
    rows.map(|(name, row)| format!("  {name:<10} {}\n", row.trim_end())).collect()
}

/// One of the four words in its colour.
pub(crate) fn word(verdict: &str) -> String {
    let colour = match verdict {
        "robust" => GOOD,
        "nowhere" => BAD,
        _ => WORTH_A_LOOK,
    };
    styled(colour, &verdict.to_uppercase())
}

fn claim(claim: &ClaimMap) -> String {
    let word = word(claim.verdict);
    let direction = claim.direction.as_ref();
    let direction = direction.map(|d| format!("{} {}", d.verdict, d.condition)).unwrap_or_default();
    let rows = [
        ("claim", claim.statement),
        ("where", &claim.condition),
        ("set-ups", &claim.setups.text(claim.share)),
        ("direction", &direction),
        ("criterion", &claim.criterion),
    ];
    format!("{}  {word}\n{}\n", styled(HEADING, &claim.id), lines(&rows))
}
