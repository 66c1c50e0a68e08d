//! A request for a map: its set-ups, and the plans of their runs.

use super::evaluations::Part;
use super::file::{ClaimFile, Declared, RunFile, ValueFile, filled};
use super::joint::Alone;
use crate::definition::{Error, Study};
use crate::simulate::Planned;
use fairwave_lab::run::{Before, Progress, Run, Watch};
use fairwave_lab::store::Store;
use fairwave_scenario::plan::Override;
use fairwave_units::Duration;
use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};
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

/// Axes by their indices in the file, each with a value.
pub(super) type Place<'a> = Vec<(usize, &'a ValueFile)>;

impl MapRequest<'_> {
    pub(super) fn first_seed(&self) -> u64 {
        let seeds = self.declared.seeds;
        if self.confirms { seeds.confirm_from } else { seeds.explore_from }
    }

    /// Seeds that every set-up has.
    pub(super) fn seeds(&self) -> u64 {
        let seeds = self.declared.seeds;
        if self.confirms && !self.quick { seeds.full } else { seeds.quick }
    }

    /// Maximum number of seeds of a set-up. The quick form adds none, so that its verdicts may stay
    /// open. An exploring run leaves the last word to the confirming one.
    pub(super) fn max_seeds(&self) -> u64 {
        let seeds = self.declared.seeds;
        match (self.quick, self.confirms) {
            (true, _) => seeds.quick,
            (false, false) => seeds.full,
            (false, true) => seeds.max,
        }
    }

    /// The progress before the first run: the number of runs without further points and seeds.
    pub(super) fn expected(&self) -> Progress {
        // A set, as claims that have runs in common share them.
        let mut parts = BTreeSet::new();
        for claim in self.declared.claim.iter().filter(|c| self.claims.contains(&c.id)) {
            let axes = self.declared.axes_of_map(&claim.id);
            let grid = self.declared.grid(self.quick).of(&axes);
            for set_up in grid.set_ups() {
                let place = self.place(&axes, &set_up);
                let anchors = self.declared.anchors_of(&claim.id);
                let of_anchors = anchors.map(|anchor| (anchor.id.as_str(), &anchor.run));
                for (id, runs) in of_anchors {
                    parts.extend(self.parts(id, runs, &place, 0..ALL_STEPS));
                }
                parts.extend(self.parts(&claim.id, &claim.run, &place, 0..1));
            }
        }
        let total = parts.len() * usize::try_from(self.seeds()).unwrap_or(1);
        Progress { done: 0, total, simulated: Duration::ZERO }
    }

    /// Plans the runs of every value of every axis beside the study's own values of the others, so
    /// that a map ends before its first run if a scenario does not accept a value.
    ///
    /// # Errors
    /// A setting that is wrong.
    pub fn check(&self) -> Result<(), Error> {
        let mut parts = BTreeSet::new();
        for claim in self.declared.claim.iter().filter(|c| self.claims.contains(&c.id)) {
            let axes = self.declared.axes_of_map(&claim.id);
            let grid = self.declared.grid(self.quick).of(&axes);
            let near = grid.set_ups().filter(|set_up| grid.distance_from_base(set_up) <= 1);
            for set_up in near {
                let place = self.place(&axes, &set_up);
                for anchor in self.declared.anchors_of(&claim.id) {
                    parts.extend(self.parts(&anchor.id, &anchor.run, &place, 0..1));
                }
                parts.extend(self.parts(&claim.id, &claim.run, &place, 0..1));
            }
        }
        parts.iter().try_for_each(|part| self.planned(part, (self.first_seed(), 1)).map(|_| ()))
    }

    pub(super) fn place(&self, axes: &[usize], set_up: &[usize]) -> Place<'_> {
        let value = |(&axis, &value): (&usize, &usize)| {
            Some((axis, self.declared.axis[axis].values(self.quick).nth(value)?))
        };
        axes.iter().zip(set_up).filter_map(value).collect()
    }

    /// The values of those axes that change the runs of a claim or anchor.
    pub(super) fn own<'p>(&self, id: &str, place: &Place<'p>) -> Place<'p> {
        let axes = self.declared.axes_of(id);
        place.iter().copied().filter(|(axis, _)| axes.contains(axis)).collect()
    }

    /// The runs of a claim or anchor in one set-up, by experiment, settings and step.
    pub(super) fn parts(
        &self,
        id: &str,
        runs: &[RunFile],
        place: &Place<'_>,
        steps: Range<usize>,
    ) -> Vec<Part> {
        let own = self.own(id, place);
        let all = self.study.experiments();
        let known = |run: &RunFile| all.iter().find(|known| known.name == experiment(run));
        let of = |run: &RunFile| {
            let (experiment, sets) = (known(run)?.name, self.sets(run, &own));
            let order = run.order.clone();
            let part =
                move |step| Part { experiment, sets: sets.clone(), order: order.clone(), step };
            Some((steps.start..steps.end.min(run.all_steps())).map(part))
        };
        runs.iter().filter_map(of).flatten().collect()
    }

    /// Numbers of steps after which a claim is judged in one set-up. In the study's own, whose
    /// measurements are shown, that is after all.
    pub(super) fn steps(&self, claim: &ClaimFile, is_base: bool) -> RangeInclusive<usize> {
        let is_shown = is_base || self.with_traces;
        let of = |run: &RunFile| if is_shown { run.all_steps() } else { run.steps() };
        let all = claim.run.iter().map(of).max().unwrap_or(1);
        if is_shown { all..=all } else { 1..=all }
    }

    /// The place of a run among those of its part, which come in batches: of the first seeds, and
    /// of those that were added each time. Within a batch they go by points.
    pub(super) fn rank(&self, point: usize, run: &Run) -> (u32, usize, u64) {
        let times = (run.seed - self.first_seed()) / self.seeds();
        (times.checked_ilog2().map_or(0, |power| power + 1), point, run.seed)
    }

    /// The plan of a part with these seeds, and where its runs go.
    pub(super) fn planned(&self, part: &Part, seeds: Seeds) -> Result<(Planned, PathBuf), Error> {
        let (Part { experiment: name, sets, .. }, (first, count)) = (part, seeds);
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
        let points = part.order.as_ref().map(|order| {
            let of_step = plan.points.iter().filter(|point| order.step(&point.axes) == part.step);
            of_step.map(|point| point.index).collect()
        });
        Ok((Planned { experiment, plan, tables: self.study.tables(), points }, directory))
    }

    /// Settings of a run: those of every run, its own, and then those of the axes.
    fn sets(&self, run: &RunFile, place: &Place<'_>) -> Vec<String> {
        let quick = if self.quick { self.declared.quick.as_slice() } else { &[] };
        let full = if self.quick { &[] } else { run.full.as_slice() };
        let of_all = self.declared.set.iter().chain(quick).chain(full);
        let label = |name: &str| {
            let is_called = |axis: usize| self.declared.axis[axis].key.get_ref() == name;
            let found = place.iter().find(|(axis, _)| is_called(*axis));
            found.map(|(_, value)| value.label.as_str())
        };
        let of_axes = place.iter().flat_map(|(_, value)| &value.set);
        let own = run.set.iter().map(|set| filled(set, label));
        let of_axes = of_axes.map(|set| filled(set.get_ref(), label));
        of_all.cloned().chain(own).chain(of_axes).collect()
    }
}

/// The name of the experiment of some runs.
pub(super) fn experiment(run: &RunFile) -> &str {
    run.experiment.get_ref()
}

/// More steps than any order has.
pub(super) const ALL_STEPS: usize = usize::MAX;
/// Seeds of the runs of a part: the first, and how many.
pub(super) type Seeds = (u64, u64);

/// A directory for the runs of a part: the same settings have the same one, whatever else the
/// map holds, so that an interrupted map finds its runs again.
fn directory_name(experiment: &str, sets: &[String]) -> String {
    let name = fairwave_units::Seed(0).stream(&sets.join("\n")).next_u64();
    format!("{experiment}-{name:016x}")
}
