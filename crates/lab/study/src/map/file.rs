//! The declaration of a study's map: a TOML file with axes, claims and anchors.

use super::grid::{Axis, Grid};
pub use super::order::{OrderFile, RunFile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use toml::Spanned;

/// The word that requests every claim of a map.
const ALL: &str = "all";
/// Maximum number of set-ups of a map.
pub const MAX_SETUPS: usize = 10_000;

/// A map's file, inside the binary.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The file, in the repository.
    pub file: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// Contents of a map's file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MapFile")]
pub struct Declared {
    /// The day on which grid, weights and anchors were settled, as 2026-11-23. Runs that confirm
    /// are later and have other seeds.
    pub declared: String,
    /// Number of seeds that a set-up has.
    #[serde(default)]
    pub seeds: Seeds,
    /// Settings of every run in the quick form, as `key=value`.
    #[serde(default)]
    pub quick: Vec<String>,
    /// Settings of every run, as `key=value`.
    #[serde(default)]
    pub set: Vec<String>,
    /// Parameters that the paper leaves open.
    #[serde(default)]
    pub axis: Vec<AxisFile>,
    /// The claims that are mapped.
    #[serde(default)]
    pub claim: Vec<ClaimFile>,
    /// Claims whose grid has one set-up, the study's own, as the paper leaves none of their
    /// parameters open.
    #[serde(default)]
    pub single: Vec<SingleFile>,
    /// Criteria, each with the sentence of the paper that it stands for.
    #[serde(default)]
    pub criterion: Vec<CriterionFile>,
    /// Facts that the paper states about its set-up.
    #[serde(default)]
    pub anchor: Vec<AnchorFile>,
}

/// Number of seeds that a set-up has, and which.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Seeds {
    /// Seeds that every set-up has in the quick form and in the exploring run of the full one.
    pub quick: u64,
    /// Seeds that every set-up has in the confirming run; the maximum of an exploring one.
    pub full: u64,
    /// Maximum number of seeds of a set-up in the confirming run while its verdict is open.
    pub max: u64,
    /// The first seed of exploring runs.
    pub explore_from: u64,
    /// The first seed of confirming runs.
    pub confirm_from: u64,
}

impl Default for Seeds {
    /// One of each kind: for a map whose claims have one set-up each.
    fn default() -> Self {
        Self { quick: 1, full: 1, max: 1, explore_from: 1001, confirm_from: 2001 }
    }
}

/// A claim that needs no grid.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SingleFile {
    /// Its identifier, as the study has it.
    pub id: String,
    /// Reason for which the paper admits this one set-up only, in a sentence.
    pub why: String,
    /// The day on which this was settled, where it is another than the file's.
    pub declared: Option<String>,
}

/// A criterion and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CriterionFile {
    /// The claim's identifier.
    pub id: String,
    /// The day on which the criterion was settled.
    pub declared: String,
    /// Sentence of the paper, and its place.
    pub sentence: String,
    /// Earlier criterion in words, if it changed.
    pub before: Option<String>,
    /// Criterion since then, in words.
    pub now: Option<String>,
}

/// One parameter that the paper leaves open.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AxisFile {
    /// Its short name, by which `--at` and placeholders call it.
    #[schemars(with = "String")]
    pub key: Spanned<String>,
    /// Its name in words, with which a sentence can begin.
    pub name: String,
    /// Whether its values ascend, so that a threshold can be found.
    #[serde(default)]
    pub ordered: bool,
    /// Whether its other values are tried with the base of all other axes alone, so that the map
    /// grows by their number instead of by a factor.
    #[serde(default)]
    pub alone: bool,
    /// The claims and anchors whose runs it changes, by identifier; all where it is empty.
    #[serde(default, rename = "for")]
    #[schemars(with = "Vec<String>")]
    pub only: Vec<Spanned<String>>,
    /// The label of the value that the study's own scenario files have.
    #[schemars(with = "String")]
    pub base: Spanned<String>,
    /// Its values.
    pub value: Vec<ValueFile>,
    /// The day on which it was settled, where it is another than the file's.
    pub declared: Option<String>,
}

/// A value of an axis.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValueFile {
    /// Its name.
    pub label: String,
    /// Settings, as `key=value`; `{key}` stands for the label that another axis has.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub set: Vec<Spanned<String>>,
    /// Labels of sweep axes under which the criterion shall find its runs, by their keys: a
    /// criterion about a rate of 0.3 is applied to the rate that stands for it here.
    #[serde(default)]
    pub read_as: BTreeMap<String, String>,
    /// Its weight in shares.
    #[serde(default = "one")]
    pub weight: f64,
    /// Whether the quick form leaves it out.
    #[serde(default)]
    pub full: bool,
    /// System of the time that had this value, and the source that states it.
    pub why: String,
}

fn one() -> f64 {
    1.0
}

/// A claim that is mapped.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimFile {
    /// Its identifier, as the study has it.
    pub id: String,
    /// Measured quantities whose conditions are about magnitude; the others are about direction,
    /// which is judged by itself as well.
    #[serde(default)]
    pub magnitude: Vec<String>,
    /// Runs that are made for it.
    pub run: Vec<RunFile>,
    /// Whether the quick form of the study leaves its map out, as that takes too long.
    #[serde(default)]
    pub full: bool,
    /// The day on which this was settled, where it is another than the file's.
    pub declared: Option<String>,
}

/// A fact that the paper states about its set-up.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnchorFile {
    /// Its identifier.
    pub id: String,
    /// The fact, and where the paper states it.
    pub statement: String,
    /// The claims whose set-ups it admits, by identifier; all where it is empty.
    #[serde(default, rename = "for")]
    #[schemars(with = "Vec<String>")]
    pub only: Vec<Spanned<String>>,
    /// Name of the measured value, one of those that the study gives in `quantities`.
    #[schemars(with = "String")]
    pub quantity: Spanned<String>,
    /// It contradicts a set-up in which this is less.
    pub at_least: Option<f64>,
    /// It contradicts a set-up in which this is more.
    pub at_most: Option<f64>,
    /// Runs that are made for it.
    pub run: Vec<RunFile>,
    /// The day on which it was settled, where it is another than the file's.
    pub declared: Option<String>,
}

/// A fault of a map, and its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct Error {
    /// The file.
    pub file: String,
    /// Number of the line, from 1.
    pub line: usize,
    /// Number of the column in characters, from 1.
    pub column: usize,
    /// The fault, and the values that would be right.
    pub message: String,
}

/// The byte of the text at which something is wrong, and the message.
type Fault = (usize, String);

/// Names of a study that a map may use.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Names of its experiments.
    pub experiments: &'a [&'a str],
    /// Identifiers of its claims, with the names of the quantities in their conditions.
    pub claims: &'a BTreeMap<&'static str, Vec<String>>,
    /// Names of the quantities that anchors may ask for.
    pub quantities: &'a [&'a str],
}

impl Declared {
    /// Reads a map.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn parse(source: Source<'_>, known: Known<'_>) -> Result<Self, Error> {
        let declared: Self = toml::from_str(source.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            source.error(at, error.message().to_owned())
        })?;
        declared.check(known).map_err(|(at, message)| source.error(at, message))?;
        Ok(declared)
    }

    /// The map that has one set-up: these labels by their keys, and of the other axes the values
    /// of the study's own scenario files.
    ///
    /// # Errors
    /// An unknown key or label, with those that exist.
    pub fn at(mut self, pairs: &[(String, String)]) -> Result<Self, String> {
        let keys: Vec<String> = self.axis.iter().map(|axis| axis.key.get_ref().clone()).collect();
        if let Some((key, _)) = pairs.iter().find(|(key, _)| !keys.contains(key)) {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            return Err(one_of(&format!("the map has no axis {key:?}"), &keys));
        }
        for axis in &mut self.axis {
            let requested = pairs.iter().rev().find(|(key, _)| key == axis.key.get_ref());
            let label = requested.map_or(axis.base.get_ref(), |(_, label)| label).clone();
            let labels: Vec<&str> = axis.value.iter().map(|value| value.label.as_str()).collect();
            if !labels.contains(&label.as_str()) {
                let message = format!("{} has no value {label:?}", axis.key.get_ref());
                return Err(one_of(&message, &labels));
            }
            axis.value.retain(|value| value.label == label);
            axis.value.iter_mut().for_each(|value| value.full = false);
        }
        Ok(self)
    }

    /// The grid of one form; the quick one goes along one axis at a time.
    pub fn grid(&self, quick: bool) -> Grid {
        let axes = self.axis.iter().map(|axis| axis.grid_axis(quick)).collect();
        Grid { axes, is_star: quick }
    }

    /// Indices of the axes that change the runs of the claim or anchor `id`.
    pub fn axes_of(&self, id: &str) -> Vec<usize> {
        let changes = |axis: &AxisFile| axis.only.is_empty() || names(&axis.only, id);
        let axes = self.axis.iter().enumerate().filter(|(_, axis)| changes(axis));
        axes.map(|(index, _)| index).collect()
    }

    /// The anchors that admit set-ups of a claim.
    pub fn anchors_of(&self, claim: &str) -> impl Iterator<Item = &AnchorFile> {
        let binds = move |a: &&AnchorFile| a.only.is_empty() || names(&a.only, claim);
        self.anchor.iter().filter(binds)
    }

    /// Indices of the axes of a claim's map: its own, and those of its anchors.
    pub fn axes_of_map(&self, claim: &str) -> Vec<usize> {
        let anchors = self.anchors_of(claim).flat_map(|anchor| self.axes_of(&anchor.id));
        let axes: BTreeSet<usize> = self.axes_of(claim).into_iter().chain(anchors).collect();
        axes.into_iter().collect()
    }

    /// The day on which the last input of a claim's verdict was settled: an axis, an anchor or the
    /// criterion. Days that are written alike sort as text.
    pub fn settled(&self, claim: &str) -> &str {
        let axes = self.axes_of_map(claim).into_iter().map(|axis| &self.axis[axis].declared);
        let own = self.claim.iter().filter(|c| c.id == claim).map(|c| &c.declared);
        let single = self.single.iter().filter(|s| s.id == claim).map(|s| &s.declared);
        let anchors = self.anchors_of(claim).map(|anchor| &anchor.declared);
        let days = axes.chain(own).chain(single).chain(anchors);
        let days = days.map(|day| day.as_deref().unwrap_or(&self.declared));
        let criteria = self.criterion.iter().filter(|c| c.id == claim);
        days.chain(criteria.map(|c| c.declared.as_str())).max().unwrap_or(&self.declared)
    }

    /// The last day that the file names.
    pub fn last_day(&self) -> &str {
        self.days().max().unwrap_or(&self.declared)
    }

    /// Identifiers of the claim `wanted`, in any case, or of every claim for `ALL`.
    ///
    /// # Errors
    /// The known names, if there is no such claim.
    pub fn select(&self, wanted: &str) -> Result<Vec<String>, String> {
        let ids: Vec<String> = self.claim.iter().map(|claim| claim.id.clone()).collect();
        match ids.iter().find(|id| id.eq_ignore_ascii_case(wanted)) {
            _ if wanted == ALL => Ok(ids),
            Some(id) => Ok(vec![id.clone()]),
            None => Err(format!("no claim {wanted:?}; there are: {}, {ALL}", ids.join(", "))),
        }
    }

    /// Identifiers of the claims whose maps a form of the study runs.
    pub fn mapped(&self, quick: bool) -> Vec<String> {
        let runs = self.claim.iter().filter(|claim| !(quick && claim.full));
        runs.map(|claim| claim.id.clone()).collect()
    }

    /// Whether runs of a claim's map have other settings in the quick form, such as less time.
    pub fn is_shorter(&self, claim: &str) -> bool {
        let runs = self.claim.iter().filter(|one| one.id == claim).flat_map(|one| &one.run);
        !self.quick.is_empty() || runs.into_iter().any(|run| !run.full.is_empty())
    }

    /// Reason for which a claim has one set-up only, if that is declared.
    pub fn single(&self, claim: &str) -> Option<&str> {
        self.single.iter().find(|single| single.id == claim).map(|single| single.why.as_str())
    }

    fn check(&self, known: Known<'_>) -> Result<(), Fault> {
        let Seeds { quick, full, max, explore_from, confirm_from } = self.seeds;
        let whole = |message: &str| Err((0, message.to_owned()));
        if self.axis.is_empty() != self.claim.is_empty()
            || self.claim.is_empty() && self.single.is_empty()
        {
            return whole("a map needs an [[axis]] and a [[claim]], or a [[single]]");
        }
        if let Some(day) = self.days().find(|day| !is_day(day)) {
            return Err((0, format!("{day:?} is no day: write it as 2026-11-23")));
        }
        if quick == 0 || quick > full || full > max || max > 1000 {
            return whole("seeds must ascend: 1 <= quick <= full <= max <= 1000");
        }
        if explore_from.abs_diff(confirm_from) < max || explore_from.max(confirm_from) > 1 << 60 {
            return whole(
                "seeds that confirm must be others than those that explore: set confirm_from \
                 beyond explore_from + max",
            );
        }
        let setups = self.grid(false).len();
        if setups > MAX_SETUPS {
            let message = format!("{setups} set-ups; a map has at most {MAX_SETUPS}");
            return Err((0, format!("{message}: leave values out")));
        }
        self.axis.iter().try_for_each(|axis| self.check_axis(axis))?;
        self.check_claims(known)?;
        self.anchor.iter().try_for_each(|anchor| self.check_anchor(anchor, known))
    }

    fn check_axis(&self, axis: &AxisFile) -> Result<(), Fault> {
        let at = axis.key.span().start;
        let key = axis.key.get_ref();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if key.is_empty() || !key.chars().all(plain) {
            return Err((at, format!("{key:?}: write small letters, digits and hyphens")));
        }
        if self.axis.iter().filter(|other| other.key.get_ref() == key).count() > 1 {
            return Err((at, format!("the axis {key:?} is there twice")));
        }
        let labels: Vec<&str> = axis.value.iter().map(|value| value.label.as_str()).collect();
        if labels.iter().collect::<BTreeSet<_>>().len() < labels.len().max(2) {
            return Err((at, format!("the axis {key:?} needs two values of different labels")));
        }
        let base = axis.value.iter().find(|value| value.label == *axis.base.get_ref());
        if base.is_none_or(|value| value.full) {
            let message = format!("no value of the quick form is called {:?}", axis.base.get_ref());
            return Err((axis.base.span().start, one_of(&message, &labels)));
        }
        let sane = |value: &&ValueFile| !(value.weight > 0.0 && value.weight.is_finite());
        if let Some(value) = axis.value.iter().find(sane) {
            return Err((at, format!("the weight of {:?} must be above zero", value.label)));
        }
        self.check_names(&axis.only, true)?;
        axis.value.iter().flat_map(|value| &value.set).try_for_each(|set| {
            let at = set.span().start;
            let keys: Vec<&str> =
                self.axis.iter().map(|axis| axis.key.get_ref().as_str()).collect();
            match placeholders(set.get_ref()).find(|name| !keys.contains(name)) {
                Some(name) => Err((at, one_of(&format!("no axis is called {name:?}"), &keys))),
                None => self.check_reach(axis, set.get_ref()).map_err(|message| (at, message)),
            }
        })
    }

    /// A placeholder must stand for an axis that changes the same runs.
    fn check_reach(&self, axis: &AxisFile, set: &str) -> Result<(), String> {
        let ids = self.claim.iter().map(|c| &c.id).chain(self.anchor.iter().map(|a| &a.id));
        for id in ids.filter(|id| axis.only.is_empty() || names(&axis.only, id)) {
            let reached = self.axes_of(id);
            let misses =
                |name: &&str| !reached.iter().any(|&index| self.axis[index].key.get_ref() == name);
            if let Some(name) = placeholders(set).find(misses) {
                return Err(format!("the axis {name:?} does not change the runs of {id}"));
            }
        }
        Ok(())
    }

    fn check_claims(&self, known: Known<'_>) -> Result<(), Fault> {
        for claim in &self.claim {
            let ids: Vec<&str> = known.claims.keys().copied().collect();
            let Some(quantities) = known.claims.get(claim.id.as_str()) else {
                let message = format!("the study has no claim {:?}", claim.id);
                return Err((0, one_of(&message, &ids)));
            };
            if self.claim.iter().filter(|other| other.id == claim.id).count() > 1 {
                return Err((0, format!("the claim {} is there twice", claim.id)));
            }
            if let Some(name) = claim.magnitude.iter().find(|name| !quantities.contains(name)) {
                let names: Vec<&str> = quantities.iter().map(String::as_str).collect();
                let message = format!("{} has no condition on {name:?}", claim.id);
                return Err((0, one_of(&message, &names)));
            }
            self.check_runs(&claim.id, &claim.run, known)?;
        }
        self.check_singles(known)
    }

    fn check_singles(&self, known: Known<'_>) -> Result<(), Fault> {
        let singles = self.single.iter().map(|single| &single.id);
        let criteria = self.criterion.iter().map(|criterion| &criterion.id);
        if let Some(id) =
            singles.clone().chain(criteria).find(|id| !known.claims.contains_key(id.as_str()))
        {
            let ids: Vec<&str> = known.claims.keys().copied().collect();
            return Err((0, one_of(&format!("the study has no claim {id:?}"), &ids)));
        }
        let is_mapped = |id: &&String| self.claim.iter().any(|claim| claim.id == **id);
        match singles.clone().find(is_mapped) {
            Some(id) => Err((0, format!("{id} has a grid, and is a [[single]], too"))),
            None => Ok(()),
        }
    }

    /// Every day that the file names.
    fn days(&self) -> impl Iterator<Item = &str> {
        let axes = self.axis.iter().map(|axis| &axis.declared);
        let claims = self.claim.iter().map(|claim| &claim.declared);
        let anchors = self.anchor.iter().map(|anchor| &anchor.declared);
        let singles = self.single.iter().map(|single| &single.declared);
        let own = axes.chain(claims).chain(anchors).chain(singles).flatten().map(String::as_str);
        let criteria = self.criterion.iter().map(|criterion| criterion.declared.as_str());
        own.chain(criteria).chain([self.declared.as_str()])
    }

    fn check_anchor(&self, anchor: &AnchorFile, known: Known<'_>) -> Result<(), Fault> {
        let at = anchor.quantity.span().start;
        if !known.quantities.contains(&anchor.quantity.get_ref().as_str()) {
            let message = format!("the study has no quantity {:?}", anchor.quantity.get_ref());
            return Err((at, one_of(&message, known.quantities)));
        }
        if anchor.at_least.is_none() && anchor.at_most.is_none() {
            return Err((at, "an anchor needs at_least or at_most".to_owned()));
        }
        self.check_names(&anchor.only, false)?;
        self.check_runs(&anchor.id, &anchor.run, known)
    }

    /// Placeholders in the settings of runs must stand for axes that change these runs.
    fn check_runs(&self, id: &str, runs: &[RunFile], known: Known<'_>) -> Result<(), Fault> {
        let axes = self.axes_of(id).into_iter();
        let keys: Vec<&str> = axes.map(|axis| self.axis[axis].key.get_ref().as_str()).collect();
        for run in runs {
            let (name, at) = (run.experiment.get_ref().as_str(), run.experiment.span().start);
            if !known.experiments.contains(&name) {
                let message = format!("the study has no experiment {name:?}");
                return Err((at, one_of(&message, known.experiments)));
            }
            let mut names = run.set.iter().flat_map(|set| placeholders(set));
            if let Some(name) = names.find(|name| !keys.contains(name)) {
                return Err((at, one_of(&format!("no axis of {id} is called {name:?}"), &keys)));
            }
        }
        Ok(())
    }

    fn check_names(&self, only: &[Spanned<String>], anchors: bool) -> Result<(), Fault> {
        let claims = self.claim.iter().map(|claim| claim.id.as_str());
        let of_anchors = self.anchor.iter().map(|anchor| anchor.id.as_str());
        let ids: Vec<&str> = claims.chain(of_anchors.filter(|_| anchors)).collect();
        match only.iter().find(|name| !ids.contains(&name.get_ref().as_str())) {
            None => Ok(()),
            Some(name) => {
                let message = format!("this map has no {:?}", name.get_ref());
                Err((name.span().start, one_of(&message, &ids)))
            }
        }
    }
}

impl CriterionFile {
    /// Returns the paper's sentence, the earlier criterion, and the present one, in sentences.
    pub fn reported(&self) -> String {
        let part = |name: &str, text: &Option<String>| {
            text.as_ref().map_or(String::new(), |text| format!(" {name}: {text}"))
        };
        format!("{}{}{}", self.sentence, part("Before", &self.before), part("Now", &self.now))
    }
}

impl AxisFile {
    /// Its values in one form.
    pub fn values(&self, quick: bool) -> impl Iterator<Item = &ValueFile> {
        self.value.iter().filter(move |value| !(quick && value.full))
    }

    fn grid_axis(&self, quick: bool) -> Axis {
        let base = self.values(quick).position(|value| value.label == *self.base.get_ref());
        Axis {
            key: self.key.get_ref().clone(),
            name: self.name.clone(),
            is_ordered: self.ordered,
            labels: self.values(quick).map(|value| value.label.clone()).collect(),
            weights: self.values(quick).map(|value| value.weight).collect(),
            base,
            is_alone: self.alone,
        }
    }
}

impl Source<'_> {
    /// A fault at a byte of the text.
    fn error(&self, at: usize, message: String) -> Error {
        let before = self.text.get(..at).unwrap_or(self.text);
        let last = before.rsplit('\n').next().unwrap_or_default();
        Error {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: last.chars().count() + 1,
            message,
        }
    }
}

fn names(only: &[Spanned<String>], id: &str) -> bool {
    only.iter().any(|name| name.get_ref() == id)
}

fn one_of(message: &str, accepted: &[&str]) -> String {
    match accepted {
        [] => format!("{message}; there is none"),
        _ => format!("{message}; there are: {}", accepted.join(", ")),
    }
}

/// Whether this is a day as ISO 8601 writes it, such as 2026-11-23.
fn is_day(day: &str) -> bool {
    let digits = day.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    digits && day.len() == 10
}

/// The names in braces. A brace of TOML, as in `{ every = 2 }`, is none: it holds more than a name.
fn placeholders(set: &str) -> impl Iterator<Item = &str> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let inside = set.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    inside.filter(move |name| !name.is_empty() && name.chars().all(plain))
}

/// `set` with each placeholder replaced by the label of its axis.
pub(super) fn filled<'l>(set: &str, label: impl Fn(&str) -> Option<&'l str>) -> String {
    placeholders(set).fold(set.to_owned(), |filled, name| match label(name) {
        Some(label) => filled.replace(&format!("{{{name}}}"), label),
        None => filled,
    })
}
