//! Running a map: every claim in every set-up of its grid, each different run once.

use super::evaluations::{EvaluationKey, Evaluations, Given, Part};
use super::file::{AnchorFile, ClaimFile, Declared, RunFile, ValueFile, filled};
use super::grid::{Grid, SetUp};
use super::joint::{self, Alone, JointSet};
use super::judge::Judged;
use super::outcome::Outcome;
use crate::cache::RunCache;
use crate::claim::{Claim, Verdict};
use crate::definition::{Error, Study};
use crate::evidence::Condition;
use crate::experiment::Experiment;
use crate::results::{Effort, Results};
use crate::simulate::{self, Planned};
use fairwave_lab::run::{self, Before, Output, Progress, Run, SweepOptions, Watch};
use fairwave_lab::store::Store;
use fairwave_scenario::plan::Override;
use fairwave_units::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Inputs of a map.
#[derive(Clone, Copy)]
pub struct MapRequest<'a> {
    /// The study.
    pub study: &'a dyn Study,
    /// Its map.
    pub declared: &'a Declared,
    /// Identifiers of the claims to map: those of the file.
    pub claims: &'a [String],
    /// Whether values that are marked `full` are left out, and runs are short.
    pub quick: bool,
    /// Whether this run confirms an earlier one, with seeds that no exploring run had.
    pub confirms: bool,
    /// Whether the runs write everything, and captures of the radio: for a single set-up.
    pub with_traces: bool,
    /// Worker threads.
    pub workers: usize,
    /// Parent of the run directories.
    pub root: &'a Path,
    /// Treatment of complete runs that exist already.
    pub before: Before,
    /// Whether nothing is simulated: a run that is neither there nor in the store is an error.
    pub only_kept: bool,
    /// Store of results. A run that it has is not made again, and runs without series leave no
    /// directory.
    pub store: Option<&'a Store>,
    /// Claims without a grid that hold in the study's own set-up, for the joint sets.
    pub alone: &'a [Alone],
    /// Receiver of the progress, which can also stop the map.
    pub watch: Watch<'a>,
}

/// A claim in one set-up.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit {
    /// Outcome of the claim.
    pub outcome: Outcome,
    /// Outcome of the conditions on direction alone.
    pub direction: Outcome,
    /// Number of seeds that it took.
    pub seeds: u64,
    /// Whether its verdict depends on a single seed, so that another one may change it.
    pub is_open: bool,
    /// The claim as it was judged there; `None` where the set-up is left out.
    pub claim: Option<Claim>,
}

/// A claim over its grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapped {
    /// Its identifier.
    pub id: String,
    /// Its grid: the axes that change its runs, and those of its anchors.
    pub grid: Grid,
    /// Its visits, in the order of [`Grid::set_ups`].
    pub visits: Vec<Visit>,
    /// The whole claim over the grid.
    pub judged: Judged,
    /// Its direction alone; `None` where no condition is about magnitude.
    pub direction: Option<Judged>,
}

impl Mapped {
    /// The set-up of the study's own scenario files.
    pub fn base(&self) -> Option<&Visit> {
        let base = self.grid.base()?;
        let at = self.judged.outcomes.iter().position(|(set_up, _)| *set_up == base)?;
        self.visits.get(at)
    }

    /// The claim as it was judged in some set-up; `None` if all are left out.
    pub fn any(&self) -> Option<&Claim> {
        self.visits.iter().find_map(|visit| visit.claim.as_ref())
    }
}

/// Results of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Explored {
    /// Its claims.
    pub claims: Vec<Mapped>,
    /// The largest sets of them that one set-up satisfies.
    pub joint: Vec<JointSet>,
    /// Number of runs, seeds and frames, and simulated time, over all runs.
    pub effort: Effort,
}

/// Axes by their indices in the file, each with a value.
type Place<'a> = Vec<(usize, &'a ValueFile)>;

/// Judges every claim that is asked for in every set-up of its grid.
///
/// # Errors
/// A scenario or a setting that is wrong, a run that fails, or a stop by the watch.
pub fn explore(ask: &MapRequest<'_>) -> Result<Explored, Error> {
    let mut explorer = Explorer {
        ask,
        parts: BTreeMap::new(),
        evaluations: Evaluations::default(),
        quantities: BTreeMap::new(),
        progress: ask.expected(),
    };
    explorer.ahead()?;
    let wanted = |claim: &&ClaimFile| ask.claims.contains(&claim.id);
    let claims = ask.declared.claim.iter().filter(wanted).map(|claim| explorer.claim(claim));
    let claims: Vec<Mapped> = claims.collect::<Result<_, _>>()?;
    let runs = explorer
        .parts
        .into_iter()
        .map(|((name, sets), runs)| (format!("{name} {}", sets.join(" ")), runs));
    let effort = Results { runs: runs.collect(), ..Results::default() }.effort();
    Ok(Explored { joint: joint_sets(ask, &claims), claims, effort })
}

impl MapRequest<'_> {
    fn first_seed(&self) -> u64 {
        let seeds = self.declared.seeds;
        if self.confirms { seeds.confirm_from } else { seeds.explore_from }
    }

    /// Seeds that every set-up has.
    fn seeds(&self) -> u64 {
        let seeds = self.declared.seeds;
        if self.confirms && !self.quick { seeds.full } else { seeds.quick }
    }

    /// Maximum number of seeds of a set-up. The quick form adds none, so that its verdicts may stay
    /// open. An exploring run leaves the last word to the confirming one.
    fn most(&self) -> u64 {
        let seeds = self.declared.seeds;
        match (self.quick, self.confirms) {
            (true, _) => seeds.quick,
            (false, false) => seeds.full,
            (false, true) => seeds.most,
        }
    }

    /// The progress before the first run: the number of runs without further seeds.
    fn expected(&self) -> Progress {
        // A set, as claims that have runs in common share them.
        let mut parts = BTreeSet::new();
        for claim in self.declared.claim.iter().filter(|c| self.claims.contains(&c.id)) {
            let axes = self.declared.axes_of_map(&claim.id);
            let grid = self.declared.grid(self.quick).of(&axes);
            for set_up in grid.set_ups() {
                let place = self.place(&axes, &set_up);
                let anchors = self.declared.anchors_of(&claim.id);
                let of_anchors = anchors.map(|anchor| (anchor.id.as_str(), &anchor.run));
                for (id, runs) in of_anchors.chain([(claim.id.as_str(), &claim.run)]) {
                    let own = self.own(id, &place);
                    parts.extend(runs.iter().map(|run| (experiment(run), self.sets(run, &own))));
                }
            }
        }
        let total = parts.len() * usize::try_from(self.seeds()).unwrap_or(1);
        Progress { done: 0, total, simulated: Duration::ZERO }
    }

    fn place(&self, axes: &[usize], set_up: &[usize]) -> Place<'_> {
        let value = |(&axis, &value): (&usize, &usize)| {
            Some((axis, self.declared.axis[axis].values(self.quick).nth(value)?))
        };
        axes.iter().zip(set_up).filter_map(value).collect()
    }

    /// The values of those axes that change the runs of a claim or anchor.
    fn own<'p>(&self, id: &str, place: &Place<'p>) -> Place<'p> {
        let axes = self.declared.axes_of(id);
        place.iter().copied().filter(|(axis, _)| axes.contains(axis)).collect()
    }

    /// The runs of a claim or anchor in one set-up, by experiment and settings.
    fn parts(&self, id: &str, runs: &[RunFile], place: &Place<'_>) -> Vec<Part> {
        let own = self.own(id, place);
        let all = self.study.experiments();
        let known = |run: &RunFile| all.iter().find(|known| known.name == experiment(run));
        let part = |run: &RunFile| Some((known(run)?.name, self.sets(run, &own)));
        runs.iter().filter_map(part).collect()
    }

    fn asked(&self, id: &str, runs: &[RunFile], place: &Place<'_>, seeds: u64) -> EvaluationKey {
        let own = self.own(id, place);
        let labels = own.iter().map(|(axis, value)| (*axis, value.label.clone())).collect();
        EvaluationKey { parts: self.parts(id, runs, place), labels, seeds }
    }

    /// The plan of a part with these seeds, and where its runs go.
    fn planned(&self, part: &Part, seeds: Seeds) -> Result<(Planned, PathBuf), Error> {
        let ((name, sets), (first, count)) = (part, seeds);
        let all = self.study.experiments();
        let experiment = all.iter().find(|known| known.name == *name);
        let experiment = experiment.expect("parts are those of experiments of the study");
        let mut settings = sets.clone();
        settings.extend([format!("seed={first}"), format!("sweep.seeds={count}")]);
        if self.with_traces {
            settings.push("record.pcap=true".to_owned());
        }
        let sets_of: Vec<Override> = settings.iter().map(|set| Override::set(set)).collect();
        // The quick settings of the experiment are not used: those of the map are in `sets`.
        let plan = experiment.plan_with(false, &sets_of)?;
        let directory = self.root.join("runs").join(directory_name(name, sets));
        Ok((Planned { experiment, plan, tables: self.study.tables() }, directory))
    }

    /// Settings of a run: those of every run, its own, and then those of the axes.
    fn sets(&self, run: &RunFile, place: &Place<'_>) -> Vec<String> {
        let quick = if self.quick { self.declared.quick.as_slice() } else { &[] };
        let full = if self.quick { &[] } else { run.full.as_slice() };
        let of_all = self.declared.set.iter().chain(quick).chain(full).chain(&run.set).cloned();
        let label = |name: &str| {
            let is_called = |axis: usize| self.declared.axis[axis].key.get_ref() == name;
            let found = place.iter().find(|(axis, _)| is_called(*axis));
            found.map(|(_, value)| value.label.as_str())
        };
        let of_axes = place.iter().flat_map(|(_, value)| &value.set);
        of_all.chain(of_axes.map(|set| filled(set.get_ref(), label))).collect()
    }
}

fn experiment(run: &RunFile) -> &str {
    run.experiment.get_ref()
}

/// Seeds of the runs of a part: the first, and how many.
type Seeds = (u64, u64);

struct Explorer<'a> {
    ask: &'a MapRequest<'a>,
    /// Runs that were made, in the order of points and then of seeds.
    parts: BTreeMap<Part, Vec<Run>>,
    /// Claims over runs that were judged already.
    evaluations: Evaluations,
    /// Quantities that a study measured over the runs of an anchor, by those runs.
    quantities: BTreeMap<EvaluationKey, Vec<(&'static str, Option<f64>)>>,
    progress: Progress,
}

impl Explorer<'_> {
    fn claim(&mut self, claim: &ClaimFile) -> Result<Mapped, Error> {
        let axes = self.ask.declared.axes_of_map(&claim.id);
        let grid = self.ask.declared.grid(self.ask.quick).of(&axes);
        let mut visits = Vec::with_capacity(grid.len());
        for set_up in grid.set_ups() {
            let place = self.ask.place(&axes, &set_up);
            visits.push(self.visit(claim, &place)?);
        }
        let of = |pick: fn(&Visit) -> &Outcome| {
            let outcomes = visits.iter().map(|visit| pick(visit).clone());
            Judged::of(&grid, grid.set_ups().zip(outcomes).collect())
        };
        let judged = of(|visit| &visit.outcome);
        let direction = (!claim.magnitude.is_empty()).then(|| of(|visit| &visit.direction));
        Ok(Mapped { id: claim.id.clone(), grid, visits, judged, direction })
    }

    /// Judges a claim in one set-up, with more seeds as long as one of them decides.
    fn visit(&mut self, claim: &ClaimFile, place: &Place<'_>) -> Result<Visit, Error> {
        if let Some(anchor) = self.contradicted(claim, place)? {
            let outcome = Outcome::LeftOut(anchor.clone());
            let direction = outcome.clone();
            // A single set-up is requested for its measurements, which an anchor does not replace.
            let (claim, seeds) = if self.ask.with_traces {
                let seeds = self.ask.seeds();
                let given = self.given(&claim.id, &claim.run, place, seeds)?;
                (self.judge(claim, &given)?, seeds)
            } else {
                (None, 0)
            };
            return Ok(Visit { outcome, direction, seeds, is_open: false, claim });
        }
        let mut seeds = self.ask.seeds();
        loop {
            let given = self.given(&claim.id, &claim.run, place, seeds)?;
            let judged = self.judge(claim, &given)?;
            let is_open = self.is_open(claim, &given, judged.as_ref())?;
            // Seeds double, so that a set-up near a limit is judged a few times only.
            if !is_open || seeds >= self.ask.most() {
                let judged = match self.ask.quick && is_open {
                    true => judged.map(|judged| undecided(judged, seeds)),
                    false => judged,
                };
                let verdict = |c: &Option<Claim>| c.as_ref().map(|c| c.verdict.clone());
                let whole = outcome(verdict(&judged).as_ref());
                let of_direction = judged.as_ref().map(|judged| self.direction(judged, claim));
                let of_direction = of_direction.filter(|_| !(self.ask.quick && is_open));
                let direction = outcome(of_direction.as_ref());
                return Ok(Visit { outcome: whole, direction, seeds, is_open, claim: judged });
            }
            seeds = (2 * seeds).min(self.ask.most());
        }
    }

    /// The anchor that a set-up contradicts, if there is one. A missing measurement contradicts
    /// nothing.
    fn contradicted(&mut self, claim: &ClaimFile, at: &Place<'_>) -> Result<Option<String>, Error> {
        let ask = self.ask;
        for anchor in ask.declared.anchors_of(&claim.id) {
            let Given { asked, results } = self.given(&anchor.id, &anchor.run, at, ask.seeds())?;
            let quantities =
                self.quantities.entry(asked).or_insert_with(|| ask.study.quantities(&results));
            let is_wanted = |(name, _): &&(&str, Option<f64>)| name == anchor.quantity.get_ref();
            let value = quantities.iter().find(is_wanted).and_then(|(_, value)| *value);
            if value.is_some_and(|value| contradicts(anchor, value)) {
                return Ok(Some(anchor.id.clone()));
            }
        }
        Ok(None)
    }

    fn judge(&self, claim: &ClaimFile, given: &Given) -> Result<Option<Claim>, Error> {
        let claims = self.evaluations.claims(self.ask.study, given, None)?;
        Ok(self.among(claim, claims))
    }

    /// A claim among those of its study, with its verdict.
    fn among(&self, claim: &ClaimFile, claims: Vec<Claim>) -> Option<Claim> {
        let judged = claims.into_iter().find(|judged| judged.id == claim.id);
        judged.map(|judged| Claim { verdict: self.verdict(&judged.conditions), ..judged })
    }

    /// The verdict by some conditions. The quick form cannot ask for more seeds.
    fn verdict(&self, conditions: &[Condition]) -> Verdict {
        match self.ask.quick {
            true => Verdict::of_few_seeds(conditions, self.ask.seeds()),
            false => Verdict::of(conditions),
        }
    }

    /// The verdict by the conditions that are not about magnitude.
    fn direction(&self, judged: &Claim, claim: &ClaimFile) -> Verdict {
        let is_magnitude = |c: &&Condition| claim.magnitude.iter().any(|name| name == c.name());
        let conditions = judged.conditions.iter().filter(|c| !is_magnitude(c)).cloned();
        self.verdict(&conditions.collect::<Vec<_>>())
    }

    /// Whether the verdict would be another without some one of the seeds. Of two seeds that leaves
    /// one, which has no interval: a verdict by intervals is open then.
    fn is_open(
        &self,
        claim: &ClaimFile,
        given: &Given,
        judged: Option<&Claim>,
    ) -> Result<bool, Error> {
        let verdict = judged.map(|judged| judged.verdict.holds());
        let seeds: Vec<u64> = given.results.effort().seeds.into_iter().collect();
        for some in seeds.chunks(self.ask.workers.max(1)) {
            let without = self.evaluations.without_each(self.ask.study, given, some)?;
            let holds = |claims| self.among(claim, claims).map(|claim| claim.verdict.holds());
            if without.into_iter().map(holds).any(|holds| holds != verdict) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The runs of a claim or anchor in one set-up, as its criterion shall find them.
    fn given(
        &mut self,
        id: &str,
        runs: &[RunFile],
        place: &Place<'_>,
        seeds: u64,
    ) -> Result<Given, Error> {
        let ask = self.ask;
        let asked = ask.asked(id, runs, place, seeds);
        let place = ask.own(id, place);
        let cache = RunCache::keeping();
        let mut results = Results { quick: ask.quick, cache, ..Results::default() };
        for run in runs {
            let all = ask.study.experiments();
            let Some(experiment) = all.iter().find(|e| e.name == experiment(run)) else { continue };
            let made = self.part(experiment, ask.sets(run, &place), seeds)?;
            // Another claim may have asked for more seeds of the same runs.
            let last = ask.first_seed() + seeds;
            let made = made.iter().filter(|run| run.seed < last).cloned();
            let read = made.map(|run| read_as(run, &place));
            results.runs.entry(experiment.name.to_owned()).or_default().extend(read);
        }
        Ok(Given { asked, results })
    }

    /// The runs of an experiment with some settings. Missing runs are made.
    fn part(
        &mut self,
        experiment: &'static Experiment,
        sets: Vec<String>,
        seeds: u64,
    ) -> Result<&[Run], Error> {
        let part = (experiment.name, sets);
        let first = self.ask.first_seed();
        let known = self.parts.get(&part).map_or(&[][..], Vec::as_slice);
        let next = known.iter().map(|run| run.seed + 1).max().unwrap_or(first);
        if next < first + seeds {
            let wanted = [(part.clone(), (next, first + seeds - next))];
            let more = self.made(&wanted)?.into_iter().flatten();
            self.parts.entry(part.clone()).or_default().extend(more);
        }
        Ok(self.parts.get(&part).map_or(&[][..], Vec::as_slice))
    }

    /// Makes the runs that every set-up has, all at once: those of anchors, and then those of
    /// claims where no anchor is contradicted. One by one they would leave workers idle.
    fn ahead(&mut self) -> Result<(), Error> {
        let ask = self.ask;
        let claims = ask.declared.claim.iter().filter(|claim| ask.claims.contains(&claim.id));
        for of_anchors in [true, false] {
            let mut wanted = BTreeSet::new();
            for claim in claims.clone() {
                let axes = ask.declared.axes_of_map(&claim.id);
                for set_up in ask.declared.grid(ask.quick).of(&axes).set_ups() {
                    let place = ask.place(&axes, &set_up);
                    if of_anchors {
                        for anchor in ask.declared.anchors_of(&claim.id) {
                            wanted.extend(ask.parts(&anchor.id, &anchor.run, &place));
                        }
                    } else if self.contradicted(claim, &place)?.is_none() {
                        wanted.extend(ask.parts(&claim.id, &claim.run, &place));
                    }
                }
            }
            let seeds = (ask.first_seed(), ask.seeds());
            let is_new = |part: &Part| !self.parts.contains_key(part);
            let parts: Vec<(Part, Seeds)> =
                wanted.into_iter().filter(is_new).map(|part| (part, seeds)).collect();
            let made = self.made(&parts)?;
            self.parts.extend(parts.into_iter().map(|(part, _)| part).zip(made));
        }
        Ok(())
    }

    /// Makes the runs of each part.
    fn made(&mut self, parts: &[(Part, Seeds)]) -> Result<Vec<Vec<Run>>, Error> {
        let ask = self.ask;
        let plans: Result<Vec<_>, Error> =
            parts.iter().map(|(part, seeds)| ask.planned(part, *seeds)).collect();
        let plans = plans?;
        if ask.only_kept {
            let kept = |(planned, directory): &(Planned, PathBuf)| {
                simulate::kept(&planned.plan, directory, ask.store)
            };
            return plans.iter().map(kept).collect();
        }
        // Captures are large, and belong to a single set-up that is looked at once.
        let store = ask.store.filter(|_| !ask.with_traces);
        let sweeps = plans.iter().map(|(planned, directory)| {
            let output = match (ask.with_traces, planned.output(directory)) {
                (true, _) => Output::Full(directory),
                (false, Output::Summary(_)) if ask.store.is_some() => Output::Nothing,
                (false, output) => output,
            };
            (&planned.plan, SweepOptions { output, before: ask.before, store })
        });
        let sweeps: Vec<_> = sweeps.collect();
        let base = self.progress;
        let report = |now: Progress| {
            (ask.watch.progress)(Progress {
                done: base.done + now.done,
                total: base.total.max(base.done + now.total),
                simulated: base.simulated + now.simulated,
            });
        };
        let watch = Watch { progress: &report, ..ask.watch };
        let runs = run::sweep_all(&sweeps, ask.workers, watch, &|run| run)?;
        self.progress.done += runs.iter().map(Vec::len).sum::<usize>();
        self.progress.total = self.progress.total.max(self.progress.done);
        let simulated = runs.iter().flatten().map(|run| run.summary.simulated_ns).sum();
        self.progress.simulated += Duration::from_nanos(simulated);
        Ok(runs)
    }
}

/// A claim whose verdict hangs on one of its seeds. The full form would ask for more of them.
fn undecided(claim: Claim, seeds: u64) -> Claim {
    let reason = match seeds {
        1 => "one seed cannot decide it".to_owned(),
        seeds => format!("without one of its {seeds} seeds the verdict would be another"),
    };
    Claim { verdict: Verdict::Undecided(reason), ..claim }
}

/// The outcome of a verdict; a claim that the study does not judge is undecided.
fn outcome(verdict: Option<&Verdict>) -> Outcome {
    match verdict.and_then(Verdict::holds) {
        Some(true) => Outcome::Holds,
        Some(false) => Outcome::Fails,
        None => Outcome::Undecided,
    }
}

fn contradicts(anchor: &AnchorFile, value: f64) -> bool {
    anchor.at_least.is_some_and(|minimum| value < minimum)
        || anchor.at_most.is_some_and(|most| value > most)
}

/// The run under the labels that the criterion asks for.
fn read_as(mut run: Run, place: &Place<'_>) -> Run {
    for (key, label) in place.iter().flat_map(|(_, value)| &value.read_as) {
        run.axes.insert(key.clone(), label.clone());
    }
    run
}

/// A directory for the runs of a part: the same settings have the same one, whatever else the
/// map holds, so that an interrupted map finds its runs again.
fn directory_name(experiment: &str, sets: &[String]) -> String {
    let name = fairwave_units::Seed(0).stream(&sets.join("\n")).next_u64();
    format!("{experiment}-{name:016x}")
}

/// The sets of the paper's claims that hold together. A set-up that contradicts an anchor of one
/// of them is none for the others. A claim without a grid was judged in the study's own set-up:
/// it is known to hold there, or everywhere if the paper leaves none of its parameters open.
fn joint_sets(ask: &MapRequest<'_>, claims: &[Mapped]) -> Vec<JointSet> {
    let is_ours = |claim: &&Mapped| claim.any().is_some_and(|claim| claim.is_ours);
    let claims: Vec<&Mapped> = claims.iter().filter(|claim| !is_ours(claim)).collect();
    let axes: Vec<Vec<usize>> =
        claims.iter().map(|claim| ask.declared.axes_of_map(&claim.id)).collect();
    let all: Vec<usize> =
        axes.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let grid = ask.declared.grid(ask.quick).of(&all);
    let base = grid.base();
    let outcomes: Vec<BTreeMap<&SetUp, &Outcome>> = claims
        .iter()
        .map(|claim| claim.judged.outcomes.iter().map(|(s, o)| (s, o)).collect())
        .collect();
    let held = |set_up: SetUp| {
        let alone =
            ask.alone.iter().filter(|alone| alone.everywhere || base.as_ref() == Some(&set_up));
        let mut held: BTreeSet<String> = alone.map(|alone| alone.id.clone()).collect();
        for ((claim, axes), outcomes) in claims.iter().zip(&axes).zip(&outcomes) {
            let at = |axis: &usize| all.iter().position(|other| other == axis);
            let own: SetUp = axes.iter().filter_map(|axis| Some(set_up[at(axis)?])).collect();
            match outcomes.get(&own) {
                Some(Outcome::LeftOut(_)) => return None,
                Some(Outcome::Holds) => drop(held.insert(claim.id.clone())),
                _ => {}
            }
        }
        Some((set_up, held))
    };
    let held: Vec<_> = grid.set_ups().filter_map(held).collect();
    joint::sets(&grid, &held)
}
