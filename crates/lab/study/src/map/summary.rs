//! A map as one JSON value.

use super::decide::{Split, one_way};
use super::file::Declared;
use super::grid::Grid;
use super::joint::JointSet;
use super::judge::{Judged, Tally, Word};
use super::mapped::{Mapped, Visit};
use super::outcome::Outcome;
use super::request::MapRequest;
use super::run::Explored;
use crate::findings::Cost;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Output of `fairwave reproduce --map --json`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "MapOutput")]
pub struct MapSummary {
    /// Name of the study.
    pub study: &'static str,
    /// The mapped claims, in the order of the map's file.
    pub claims: Vec<ClaimMap>,
    /// The largest sets of claims that one set-up satisfies; a set that another one contains is
    /// not among them.
    pub joint: Vec<JointSet>,
    /// The last day on which something of the map was settled: an axis, a weight, an anchor or a
    /// criterion.
    pub declared: String,
    /// The day of this run, in UTC.
    pub ran: String,
    /// Whether this run confirms with seeds that no exploring run had.
    pub confirms: bool,
    /// The first seed.
    pub first_seed: u64,
    /// Whether it was the quick form, with fewer values and seeds and shorter runs.
    pub quick: bool,
    /// Number of runs.
    pub runs: usize,
    /// Number of further runs that could not change a verdict, and were not made.
    pub runs_not_needed: usize,
    /// Time that it took.
    #[schemars(extend("unit" = "s"))]
    pub wall_s: f64,
    /// Virtual time of all runs.
    #[schemars(extend("unit" = "s"))]
    pub simulated_s: f64,
    /// Processor time; null where that is not known.
    #[schemars(extend("unit" = "s"))]
    pub cpu_s: Option<f64>,
    /// Version of Fairwave.
    pub fairwave_version: &'static str,
}

impl MapSummary {
    /// Whether a claim of the paper holds nowhere, or one of ours does not hold everywhere.
    pub fn fails(&self) -> bool {
        self.claims.iter().any(|claim| match claim.ours {
            true => claim.setups.holding + claim.setups.undecided < claim.setups.admitted,
            false => claim.verdict == Word::Nowhere.text(),
        })
    }

    /// The day of the run whose summary is in `file`.
    pub fn day_of(file: &Path) -> Option<String> {
        let found: Value = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
        found["ran"].as_str().map(str::to_owned)
    }
}

/// A claim with its map.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClaimMap {
    /// Its identifier, such as `ACK-4`.
    pub id: String,
    /// Whether the question is ours, and not a claim of the paper.
    pub ours: bool,
    /// Statement of the claim.
    pub statement: &'static str,
    /// `robust`, `conditional`, `nowhere` or `not judgeable`; `undecided` where the quick form
    /// has too few seeds or seconds.
    pub verdict: &'static str,
    /// The set-ups in which it holds, or the reason for which it cannot be judged, as a sentence;
    /// may be empty.
    pub condition: String,
    /// The day on which the last input of the verdict was settled: axes, weights, anchors or
    /// criterion.
    pub declared: String,
    /// By weight, the share of admitted and decided set-ups in which it holds; null without such.
    #[schemars(extend("unit" = "1"))]
    pub share: Option<f64>,
    /// Number of set-ups of each kind.
    pub setups: Tally,
    /// The parameter that separates the set-ups best; null where none does.
    pub decides: Option<Decides>,
    /// The same for the conditions on direction alone; null where none is about magnitude.
    pub direction: Option<Direction>,
    /// Measurements in the set-up of the study's own scenario files.
    pub measured: Map<String, Value>,
    /// Conditions under which it holds, and the meaning of their names.
    pub criterion: String,
    /// Explanation of the outcome in that set-up, in numbers.
    pub note: String,
    /// Numbers of set-ups in which it holds, by one value of one axis at a time.
    pub one_way: Vec<Row>,
    /// Statements of the anchors that set-ups contradict, by identifier.
    pub anchors: BTreeMap<String, String>,
    /// Outcome in each set-up.
    pub points: Vec<PointOfMap>,
}

/// The parameter that decides.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Decides {
    /// Key of the axis.
    pub key: String,
    /// Its name in words.
    pub name: String,
    /// The values with which the claim holds more often: `at most 4`, or a list.
    pub threshold: String,
    /// Set-ups with such a value in which it holds, and all of them.
    pub with: [usize; 2],
    /// Other set-ups in which it holds, and all of them.
    pub without: [usize; 2],
}

/// The conditions on direction alone.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Direction {
    /// `robust`, `conditional`, `nowhere` or `not judgeable`.
    pub verdict: &'static str,
    /// The share of set-ups in which they are met.
    #[schemars(extend("unit" = "1"))]
    pub share: Option<f64>,
    /// The set-ups in which they are met, as a sentence.
    pub condition: String,
}

/// A value of an axis, and in how many set-ups with it the claim holds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// Key of the axis.
    pub key: String,
    /// Label of the value.
    pub value: String,
    /// Set-ups in which the claim holds.
    pub holding: usize,
    /// Set-ups in which it was decided.
    pub decided: usize,
}

/// A claim in one set-up.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PointOfMap {
    /// The set-up, as keys and labels.
    pub setup: BTreeMap<String, String>,
    /// `holds`, `does not hold`, `undecided` or `left out`.
    pub outcome: &'static str,
    /// The anchor that it contradicts; null unless it is left out.
    pub contradicts: Option<String>,
    /// Reason for which it does not hold or could not be decided.
    pub reason: Option<String>,
    /// Number of seeds that it took.
    pub seeds: u64,
    /// Whether leaving out a single one of them changes the verdict.
    pub open: bool,
    /// Whether this is the set-up of the study's own scenario files.
    pub base: bool,
}

/// Returns the output of `reproduce --map --json`; `ran` is the day of this run.
pub fn to_json(ask: &MapRequest<'_>, explored: &Explored, cost: Cost, ran: String) -> MapSummary {
    let seeds = ask.declared.seeds;
    let of = |mapped: &Mapped| ClaimMap::of(mapped, ask.declared);
    MapSummary {
        study: ask.study.name(),
        claims: explored.claims.iter().map(of).collect(),
        joint: explored.joint.clone(),
        declared: ask.declared.last_day().to_owned(),
        ran,
        confirms: ask.confirms,
        first_seed: if ask.confirms { seeds.confirm_from } else { seeds.explore_from },
        quick: ask.quick,
        runs: explored.effort.runs,
        runs_not_needed: explored.runs_not_needed,
        wall_s: cost.wall_s,
        simulated_s: explored.effort.simulated.as_secs_f64(),
        cpu_s: cost.cpu_s,
        fairwave_version: env!("CARGO_PKG_VERSION"),
    }
}

impl ClaimMap {
    pub(super) fn of(mapped: &Mapped, declared: &Declared) -> Self {
        let Mapped { id, grid, visits, judged, direction } = mapped;
        let base = mapped.base().and_then(|visit| visit.claim.as_ref());
        let claim = base.or_else(|| mapped.any());
        let base = grid.base();
        let anchors = contradicted(judged, declared);
        let condition = match judged.tally.admitted {
            0 => format!("{} {}", judged.condition(grid), explained(&anchors)),
            _ => judged.condition(grid),
        };
        let points = judged.outcomes.iter().zip(visits).map(|((set_up, _), visit)| PointOfMap {
            base: base.as_ref() == Some(set_up),
            ..PointOfMap::of(grid, set_up, visit)
        });
        Self {
            id: id.clone(),
            ours: claim.is_some_and(|claim| claim.is_ours),
            statement: claim.map_or("", |claim| claim.statement),
            verdict: judged.word.text(),
            condition,
            declared: declared.settled(id).to_owned(),
            share: judged.share.map(crate::evidence::round),
            setups: judged.tally,
            decides: judged.tree.split.as_ref().map(|split| Decides::of(grid, split)),
            direction: direction.as_ref().map(|judged| Direction {
                verdict: judged.word.text(),
                share: judged.share.map(crate::evidence::round),
                condition: judged.condition(grid),
            }),
            measured: claim.map_or_else(Map::new, |claim| claim.measured.clone()),
            criterion: claim.map_or_else(String::new, |claim| claim.criterion.clone()),
            note: claim.map_or_else(String::new, |claim| claim.note.clone()),
            one_way: rows(grid, mapped),
            anchors,
            points: points.collect(),
        }
    }
}

impl ClaimMap {
    /// The number of set-ups with another outcome in another run of the same map.
    pub fn differs(&self, other: &Self) -> usize {
        let outcome = |point: &PointOfMap| {
            let same = other.points.iter().find(|there| there.setup == point.setup);
            same.map(|same| same.outcome)
        };
        let differs = |point: &&PointOfMap| outcome(point).is_some_and(|o| o != point.outcome);
        self.points.iter().filter(differs).count()
    }
}

/// Statements of the anchors that some set-up contradicts, by identifier.
fn contradicted(judged: &Judged, declared: &Declared) -> BTreeMap<String, String> {
    let is_contradicted = |id: &str| {
        let left_out = |outcome: &Outcome| matches!(outcome, Outcome::LeftOut(by) if by == id);
        judged.outcomes.iter().any(|(_, outcome)| left_out(outcome))
    };
    let anchors = declared.anchor.iter().filter(|anchor| is_contradicted(&anchor.id));
    anchors.map(|anchor| (anchor.id.clone(), anchor.statement.clone())).collect()
}

/// Anchors with their statements, as sentences.
pub(super) fn explained(anchors: &BTreeMap<String, String>) -> String {
    let sentences = anchors.iter().map(|(id, statement)| format!("{id}: {statement}."));
    sentences.collect::<Vec<_>>().join(" ")
}

fn rows(grid: &Grid, mapped: &Mapped) -> Vec<Row> {
    let rows = one_way(grid, &mapped.judged.outcomes).into_iter();
    rows.map(|row| Row {
        key: grid.axes[row.axis].key.clone(),
        value: grid.axes[row.axis].labels[row.value].clone(),
        holding: row.holding,
        decided: row.decided,
    })
    .collect()
}

impl Decides {
    fn of(grid: &Grid, split: &Split) -> Self {
        Self {
            key: grid.axes[split.axis].key.clone(),
            name: grid.axes[split.axis].name.clone(),
            threshold: split.threshold(grid),
            with: [split.with.holding, split.with.decided],
            without: [split.without.holding, split.without.decided],
        }
    }
}

impl PointOfMap {
    fn of(grid: &Grid, set_up: &[usize], visit: &Visit) -> Self {
        let pairs = grid.labels(set_up).map(|(k, v)| (k.to_owned(), v.to_owned()));
        let verdict = visit.claim.as_ref().map(|claim| &claim.verdict);
        Self {
            setup: pairs.collect(),
            outcome: visit.outcome.word(),
            contradicts: match &visit.outcome {
                Outcome::LeftOut(anchor) => Some(anchor.clone()),
                _ => None,
            },
            reason: verdict.and_then(|verdict| verdict.reason()).map(str::to_owned),
            seeds: visit.seeds,
            open: visit.is_open,
            base: false,
        }
    }
}
