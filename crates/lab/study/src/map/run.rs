//! Running a map: every claim in every set-up of its grid, each different run once.

use super::evaluations::{EvaluationKey, Evaluations, Given, Part};
use super::file::{AnchorFile, ClaimFile, RunFile};
use super::joint::JointSet;
use super::judge::Judged;
use super::mapped::{Mapped, Visit};
use super::outcome::Outcome;
use super::request::{ALL_STEPS, MapRequest, Place, Seeds, experiment};
use super::together;
use crate::cache::RunCache;
use crate::claim::{Claim, Verdict};
use crate::definition::Error;
use crate::evidence::Condition;
use crate::results::{Effort, Results};
use crate::simulate::{self, Planned};
use fairwave_lab::run::{self, Output, Progress, Run, SweepOptions, Watch};
use fairwave_units::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Results of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Explored {
    /// Its claims.
    pub claims: Vec<Mapped>,
    /// The largest sets of them that one set-up satisfies.
    pub joint: Vec<JointSet>,
    /// Number of runs, seeds and frames, and simulated time, over all runs.
    pub effort: Effort,
    /// Number of further runs of these set-ups, which could not change a verdict and were not made.
    pub runs_not_needed: usize,
}

/// Judges every claim that is asked for in every set-up of its grid.
///
/// # Errors
/// A scenario or a setting that is wrong, a run that fails, or a stop by the watch.
pub fn explore(ask: &MapRequest<'_>) -> Result<Explored, Error> {
    if !ask.only_kept {
        ask.check()?;
    }
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
    let runs_not_needed = explorer.not_needed(&claims)?;
    let runs = explorer.parts.into_values().enumerate();
    let runs =
        runs.map(|(part, runs)| (part.to_string(), runs.into_iter().map(|(_, run)| run).collect()));
    let effort = Results { runs: runs.collect(), ..Results::default() }.effort();
    Ok(Explored { joint: together::sets(ask, &claims), claims, effort, runs_not_needed })
}

/// The index of a point in its plan, and a run of it.
type PointRun = (usize, Run);

/// How many runs a claim or anchor is judged by.
#[derive(Clone, Copy)]
struct Extent {
    /// Steps in the order of points.
    steps: usize,
    /// Seeds of each point.
    seeds: u64,
}

struct Explorer<'a> {
    ask: &'a MapRequest<'a>,
    /// Runs that were made, each with the index of its point.
    parts: BTreeMap<Part, Vec<PointRun>>,
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
            let steps = self.ask.steps(claim, grid.base().as_ref() == Some(&set_up));
            visits.push(self.visit(claim, &place, steps)?);
        }
        let of = |pick: fn(&Visit) -> &Outcome| {
            let outcomes = visits.iter().map(|visit| pick(visit).clone());
            Judged::of(&grid, grid.set_ups().zip(outcomes).collect())
        };
        let judged = of(|visit| &visit.outcome);
        let direction = (!claim.magnitude.is_empty()).then(|| of(|visit| &visit.direction));
        Ok(Mapped { id: claim.id.clone(), grid, visits, judged, direction })
    }

    /// Judges a claim in one set-up after the first of `steps` that settles it, and with more seeds
    /// as long as one of them decides.
    fn visit(
        &mut self,
        claim: &ClaimFile,
        place: &Place<'_>,
        steps: RangeInclusive<usize>,
    ) -> Result<Visit, Error> {
        if let Some(anchor) = self.contradicted(claim, place)? {
            let outcome = Outcome::LeftOut(anchor.clone());
            let direction = outcome.clone();
            // A single set-up is requested for its measurements, which an anchor does not replace.
            let (claim, seeds) = if self.ask.with_traces {
                let seeds = self.ask.seeds();
                let extent = Extent { steps: *steps.end(), seeds };
                let given = self.given(&claim.id, &claim.run, place, extent)?;
                (self.judge(claim, &given)?, seeds)
            } else {
                (None, 0)
            };
            return Ok(Visit { outcome, direction, seeds, is_open: false, claim });
        }
        let mut extent = Extent { steps: *steps.start(), seeds: self.ask.seeds() };
        loop {
            let given = self.given(&claim.id, &claim.run, place, extent)?;
            let judged = self.judge(claim, &given)?;
            let is_open = self.is_open(claim, &given, judged.as_ref())?;
            let seeds = extent.seeds;
            if !self.is_settled(claim, judged.as_ref(), is_open, seeds)
                && extent.steps < *steps.end()
            {
                extent.steps += 1;
                continue;
            }
            // Seeds double, so that a set-up near a limit is judged a few times only.
            if !is_open || seeds >= self.ask.max_seeds() {
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
            extent.seeds = (2 * seeds).min(self.ask.max_seeds());
        }
    }

    /// Whether further points can change neither the verdict nor the direction, nor whether it is
    /// open: the claim does not hold in either, with each seed and without any one of them. Without
    /// the only seed no claim is decided, whatever its points.
    fn is_settled(
        &self,
        claim: &ClaimFile,
        judged: Option<&Claim>,
        is_open: bool,
        seeds: u64,
    ) -> bool {
        let fails = |verdict: &Verdict| verdict.holds() == Some(false);
        let both = |judged: &Claim| fails(&judged.verdict) && fails(&self.direction(judged, claim));
        judged.is_some_and(both) && (!is_open || seeds == 1)
    }

    /// The anchor that a set-up contradicts, if there is one. A missing measurement contradicts
    /// nothing.
    fn contradicted(&mut self, claim: &ClaimFile, at: &Place<'_>) -> Result<Option<String>, Error> {
        let ask = self.ask;
        for anchor in ask.declared.anchors_of(&claim.id) {
            let extent = Extent { steps: ALL_STEPS, seeds: ask.seeds() };
            let Given { asked, results } = self.given(&anchor.id, &anchor.run, at, extent)?;
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
        extent: Extent,
    ) -> Result<Given, Error> {
        let ask = self.ask;
        let parts =
            |run: &RunFile| ask.parts(id, std::slice::from_ref(run), place, 0..extent.steps);
        let own = ask.own(id, place);
        let mut asked = EvaluationKey {
            parts: Vec::new(),
            labels: own.iter().map(|(axis, value)| (*axis, value.label.clone())).collect(),
            seeds: extent.seeds,
        };
        let cache = RunCache::keeping();
        let mut results = Results { quick: ask.quick, cache, ..Results::default() };
        // Another claim may have asked for more seeds of the same runs.
        let last = ask.first_seed() + extent.seeds;
        for run in runs {
            let mut made = Vec::new();
            for part in parts(run) {
                let all = self.part(&part, extent.seeds)?;
                made.extend(all.iter().filter(|(_, run)| run.seed < last).cloned());
                asked.parts.push(part);
            }
            made.sort_by_key(|(point, run)| ask.rank(*point, run));
            let read = made.into_iter().map(|(_, run)| read_as(run, &own));
            results.runs.entry(experiment(run).to_owned()).or_default().extend(read);
        }
        Ok(Given { asked, results })
    }

    /// The runs of a part. Missing runs are made.
    fn part(&mut self, part: &Part, seeds: u64) -> Result<&[PointRun], Error> {
        let first = self.ask.first_seed();
        let known = self.parts.get(part).map_or(&[][..], Vec::as_slice);
        let next = known.iter().map(|(_, run)| run.seed + 1).max().unwrap_or(first);
        if next < first + seeds && !(known.is_empty() && self.parts.contains_key(part)) {
            let wanted = [(part.clone(), (next, first + seeds - next))];
            let more = self.made(&wanted)?.into_iter().flatten();
            self.parts.entry(part.clone()).or_default().extend(more);
        }
        Ok(self.parts.get(part).map_or(&[][..], Vec::as_slice))
    }

    /// Makes the runs that every set-up has, all at once: those of anchors, and then, step by step,
    /// those of claims where no anchor is contradicted and no earlier step settles the verdict. One
    /// by one they would leave workers idle.
    fn ahead(&mut self) -> Result<(), Error> {
        let ask = self.ask;
        let claims = ask.declared.claim.iter().filter(|claim| ask.claims.contains(&claim.id));
        let (mut of_anchors, mut open) = (BTreeSet::new(), Vec::new());
        for claim in claims {
            let axes = ask.declared.axes_of_map(&claim.id);
            let grid = ask.declared.grid(ask.quick).of(&axes);
            for set_up in grid.set_ups() {
                let place = ask.place(&axes, &set_up);
                for anchor in ask.declared.anchors_of(&claim.id) {
                    of_anchors.extend(ask.parts(&anchor.id, &anchor.run, &place, 0..ALL_STEPS));
                }
                open.push((claim, place, ask.steps(claim, grid.base() == Some(set_up))));
            }
        }
        self.make(of_anchors)?;
        let seeds = ask.seeds();
        let mut step = 0;
        while !open.is_empty() {
            let (mut wanted, mut rest) = (BTreeSet::new(), Vec::new());
            for (claim, place, steps) in open {
                let known = Extent { steps: step, seeds };
                let is_done = match step {
                    0 => self.contradicted(claim, &place)?.is_some(),
                    _ if step >= *steps.end() => true,
                    _ => steps.contains(&step) && self.is_settled_by(claim, &place, known)?,
                };
                if !is_done {
                    wanted.extend(ask.parts(&claim.id, &claim.run, &place, step..step + 1));
                    rest.push((claim, place, steps));
                }
            }
            self.make(wanted)?;
            (open, step) = (rest, step + 1);
        }
        Ok(())
    }

    /// Whether the first steps settle a claim in one set-up.
    fn is_settled_by(
        &mut self,
        claim: &ClaimFile,
        place: &Place<'_>,
        extent: Extent,
    ) -> Result<bool, Error> {
        let given = self.given(&claim.id, &claim.run, place, extent)?;
        let judged = self.judge(claim, &given)?;
        let is_open = self.is_open(claim, &given, judged.as_ref())?;
        Ok(self.is_settled(claim, judged.as_ref(), is_open, extent.seeds))
    }

    /// Makes the runs of those parts that have none, with the seeds of every set-up.
    fn make(&mut self, mut parts: BTreeSet<Part>) -> Result<(), Error> {
        parts.retain(|part| !self.parts.contains_key(part));
        let seeds = (self.ask.first_seed(), self.ask.seeds());
        let parts: Vec<(Part, Seeds)> = parts.into_iter().map(|part| (part, seeds)).collect();
        let made = self.made(&parts)?;
        self.parts.extend(parts.into_iter().map(|(part, _)| part).zip(made));
        Ok(())
    }

    /// Makes the runs of each part.
    fn made(&mut self, parts: &[(Part, Seeds)]) -> Result<Vec<Vec<PointRun>>, Error> {
        let ask = self.ask;
        let plans: Result<Vec<_>, Error> =
            parts.iter().map(|(part, seeds)| ask.planned(part, *seeds)).collect();
        let plans = plans?;
        // Runs come in the order of their jobs.
        let with_points = |(planned, runs): (&(Planned, PathBuf), Vec<Run>)| {
            planned.0.jobs().into_iter().map(|job| job.point).zip(runs).collect()
        };
        if ask.only_kept {
            let kept = |(planned, directory): &(Planned, PathBuf)| {
                simulate::kept(planned, directory, ask.store)
            };
            let runs = plans.iter().map(kept).collect::<Result<Vec<_>, _>>()?;
            return Ok(plans.iter().zip(runs).map(with_points).collect());
        }
        // Captures are large, and belong to a single set-up that is looked at once.
        let store = ask.store.filter(|_| !ask.with_traces);
        let sweeps = plans.iter().map(|(planned, directory)| {
            let output = match (ask.with_traces, planned.output(directory)) {
                (true, _) => Output::Full(directory),
                (false, Output::Summary(_)) if ask.store.is_some() => Output::Nothing,
                (false, output) => output,
            };
            let points = planned.points.as_deref();
            let how = SweepOptions { store, points, ..(output, ask.before).into() };
            (&planned.plan, how)
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
        Ok(plans.iter().zip(runs).map(with_points).collect())
    }

    /// Number of runs that the visited set-ups would have had without an order of points.
    fn not_needed(&self, claims: &[Mapped]) -> Result<usize, Error> {
        let ask = self.ask;
        let mut parts = BTreeSet::new();
        for mapped in claims {
            let claim = ask.declared.claim.iter().find(|claim| claim.id == mapped.id);
            let axes = ask.declared.axes_of_map(&mapped.id);
            for (set_up, outcome) in &mapped.judged.outcomes {
                let Some(claim) = claim.filter(|_| !matches!(outcome, Outcome::LeftOut(_))) else {
                    continue;
                };
                let place = ask.place(&axes, set_up);
                parts.extend(ask.parts(&claim.id, &claim.run, &place, 0..ALL_STEPS));
            }
        }
        parts.retain(|part| !self.parts.contains_key(part));
        let seeds = (ask.first_seed(), ask.seeds());
        let jobs = parts.iter().map(|part| Ok(ask.planned(part, seeds)?.0.jobs().len()));
        jobs.sum()
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
