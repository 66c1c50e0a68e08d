//! The order in which the points of a set-up are run: those first that can decide a claim.
//!
//! A claim does not hold if one of its conditions is measured and not met, whatever the others come
//! to. So a set-up in which the first points show that needs no others: they cannot change its
//! verdict. This is a curtailed test (Eisenberg and Ghosh, Annals of Statistics 8, 1980), which has
//! the verdicts of the whole one and not only its error rates.

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

/// Runs of one experiment.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunFile {
    /// The experiment's name.
    #[schemars(with = "String")]
    pub experiment: Spanned<String>,
    /// Settings before those of the axes, as `key=value`; `{key}` stands for the label that an axis
    /// has, for keys that one experiment of a claim has and another has not.
    #[serde(default)]
    pub set: Vec<String>,
    /// The same, in the full form alone.
    #[serde(default)]
    pub full: Vec<String>,
    /// The order of its points; all at once where there is none.
    pub order: Option<OrderFile>,
}

/// The order of the points of an experiment. A condition that has a value after some steps must
/// have the same value after all: each quantity rests on points of whole steps.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrderFile {
    /// The key of the sweep by whose values points are ordered; several keys are joined by `, `,
    /// and so are their values.
    pub axis: String,
    /// Values of each step. Points with other values are the last step.
    pub first: Vec<Vec<String>>,
    /// Values that no condition is about: only the study's own set-up has their points.
    #[serde(default)]
    pub shown: Vec<String>,
}

impl RunFile {
    /// Number of steps that a verdict may need.
    pub fn steps(&self) -> usize {
        1 + self.order.as_ref().map_or(0, |order| order.first.len())
    }

    /// Number of all steps.
    pub fn all_steps(&self) -> usize {
        let is_shown = self.order.as_ref().is_some_and(|order| !order.shown.is_empty());
        self.steps() + usize::from(is_shown)
    }
}

impl OrderFile {
    /// The step of the point with these values, as TOML, on the axes of its sweep.
    pub fn step(&self, axes: &[(String, String)]) -> usize {
        let value = |key: &str| axes.iter().find(|(known, _)| known == key).map(|(_, value)| value);
        let values =
            self.axis.split(", ").map(|key| value(key).map_or("", |v| v.trim_matches('"')));
        let values = values.collect::<Vec<_>>().join(", ");
        let rest = self.first.len();
        match self.first.iter().position(|step| step.contains(&values)) {
            Some(step) => step,
            None if self.shown.contains(&values) => rest + 1,
            None => rest,
        }
    }
}
