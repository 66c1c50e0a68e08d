//! Evidence for a claim: measured quantities that have names, and conditions on them.
//!
//! A study puts its measurements into its [`Evidence`] and gets typed handles back: a
//! [`Quantity`], or an [`Interval`] of three. Conditions are made of handles alone, so a condition
//! on a value that was not measured does not compile. The JSON map `measured` and the text of the
//! criterion are generated from the same names.

use crate::results::Results;
use fairwave_lab::stats::{Estimate, Proportion};
use serde_json::{Map, Value, json};

/// Beginning of the reason for which a claim is undecided whose experiments have no run.
pub(crate) const NO_RUN: &str = "no run of experiment";

/// Reason for which there is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// No run gives it, or one of the runs that it needs is missing.
    NoRun,
    /// A single run gives a mean, but no confidence interval.
    OneSeed,
    /// The value is not finite, such as a ratio to zero.
    NotFinite,
}

/// A measured number, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    value: Result<f64, Gap>,
    /// Whether ends of confidence intervals are in it: few seeds alone move such a number far.
    has_ends: bool,
}

impl Reading {
    /// The mean of an estimate.
    pub fn mean(estimate: Option<Estimate>) -> Self {
        estimate.map(|estimate| estimate.mean).into()
    }

    /// The lower end of its confidence interval.
    pub fn low(estimate: Option<Estimate>) -> Self {
        Self::end(estimate, Estimate::low)
    }

    /// The upper end of its confidence interval.
    pub fn high(estimate: Option<Estimate>) -> Self {
        Self::end(estimate, Estimate::high)
    }

    fn end(estimate: Option<Estimate>, end: fn(&Estimate) -> f64) -> Self {
        match estimate {
            Some(Estimate { half_width: None, .. }) => Self::of_ends(Gap::OneSeed),
            other => Self::of_ends(other.as_ref().map(end)),
        }
    }

    /// A number that is computed from ends of confidence intervals, or is one.
    pub fn of_ends(value: impl Into<Self>) -> Self {
        Self { has_ends: true, ..value.into() }
    }

    /// The maximum or minimum of several numbers, as `pick` selects. If one of them is missing, so
    /// is the result: the missing one could have been the extreme.
    pub fn extreme(
        values: impl IntoIterator<Item = impl Into<Self>>,
        pick: fn(f64, f64) -> f64,
    ) -> Self {
        let values: Vec<Self> = values.into_iter().map(Into::into).collect();
        let has_ends = values.iter().any(|one| one.has_ends);
        let numbers: Result<Vec<f64>, Gap> = values.into_iter().map(|one| one.value).collect();
        let value = numbers.and_then(|all| all.into_iter().reduce(pick).ok_or(Gap::NoRun));
        Self { value, has_ends }
    }

    /// The number, if there is one.
    pub fn value(self) -> Option<f64> {
        self.value.ok()
    }
}

impl From<f64> for Reading {
    fn from(value: f64) -> Self {
        let value = if value.is_finite() { Ok(value) } else { Err(Gap::NotFinite) };
        Self { value, has_ends: false }
    }
}

impl From<Option<f64>> for Reading {
    fn from(value: Option<f64>) -> Self {
        value.map_or_else(|| Reading::from(Gap::NoRun), Self::from)
    }
}

impl From<Gap> for Reading {
    fn from(gap: Gap) -> Self {
        Self { value: Err(gap), has_ends: false }
    }
}

/// A number in the evidence of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    name: String,
    /// The number as it is printed, or the reason for which there is none.
    value: Result<f64, String>,
    has_ends: bool,
}

impl Quantity {
    /// The condition that it is greater than `limit`.
    pub fn above(&self, limit: f64) -> Condition {
        self.is(Bound::Above(limit))
    }

    /// The condition that it is less than `limit`.
    pub fn below(&self, limit: f64) -> Condition {
        self.is(Bound::Below(limit))
    }

    /// The condition that it is `limit` or more.
    pub fn at_least(&self, limit: f64) -> Condition {
        self.is(Bound::AtLeast(limit))
    }

    /// The condition that it keeps to `bound`.
    pub fn is(&self, bound: Bound) -> Condition {
        let Self { name, value, has_ends } = self.clone();
        Condition { name, value, bound, has_ends }
    }
}

/// An estimate in the evidence: its mean, and the ends of its 95 % confidence interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The mean, or the share.
    pub mean: Quantity,
    /// The lower end.
    pub low: Quantity,
    /// The upper end.
    pub high: Quantity,
}

/// Comparison of a quantity with a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Greater than this.
    Above(f64),
    /// Less than this.
    Below(f64),
    /// At least this.
    AtLeast(f64),
}

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::Above(limit) => value > limit,
            Self::Below(limit) => value < limit,
            Self::AtLeast(limit) => value >= limit,
        }
    }

    /// As criteria print it, such as `> 0.95`.
    pub fn text(self) -> String {
        match self {
            Self::Above(limit) => format!("> {limit}"),
            Self::Below(limit) => format!("< {limit}"),
            Self::AtLeast(limit) => format!(">= {limit}"),
        }
    }
}

/// A quantity and the bound that it has to keep to.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    name: String,
    value: Result<f64, String>,
    bound: Bound,
    has_ends: bool,
}

impl Condition {
    /// The name of the quantity in the evidence.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number as it is printed, or why there is none.
    pub fn value(&self) -> Result<f64, &str> {
        self.value.as_ref().copied().map_err(String::as_str)
    }

    /// The bound.
    pub fn bound(&self) -> Bound {
        self.bound
    }

    /// Whether ends of confidence intervals are in the number.
    pub fn has_ends(&self) -> bool {
        self.has_ends
    }

    /// Whether the quantity keeps to its bound; `None` if it was not measured.
    pub fn is_met(&self) -> Option<bool> {
        self.value.as_ref().ok().map(|value| self.bound.holds(*value))
    }

    /// As a criterion prints it, such as `jain_low > 0.95`.
    pub fn text(&self) -> String {
        format!("{} {}", self.name, self.bound.text())
    }
}

/// Measurements for a claim, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    measured: Map<String, Value>,
    /// Experiments that it rests on and that have no run.
    absent: Vec<String>,
}

impl Evidence {
    /// Evidence that rests on runs of these experiments.
    pub fn of(results: &Results, experiments: &[&str]) -> Self {
        let is_absent = |name: &&&str| results.runs.get(**name).is_none_or(Vec::is_empty);
        let absent = experiments.iter().filter(is_absent).map(|name| (*name).to_owned()).collect();
        Self { measured: Map::new(), absent }
    }

    /// Puts in a number; nothing is printed where there is none.
    pub fn number(&mut self, name: impl Into<String>, value: impl Into<Reading>) -> Quantity {
        let name = name.into();
        self.named(&name, &name, value.into())
    }

    /// Puts in how many there are of something.
    pub fn count(&mut self, name: &str, count: usize) -> Quantity {
        self.measured.insert(name.to_owned(), json!(count));
        Quantity { name: name.to_owned(), value: Ok(count as f64), has_ends: false }
    }

    /// Puts in an estimate, with `name_low` and `name_high` for the ends of its interval.
    pub fn estimate(&mut self, name: impl Into<String>, estimate: Option<Estimate>) -> Interval {
        let name = name.into();
        Interval {
            mean: self.named(&name, &name, Reading::mean(estimate)),
            low: self.named(&format!("{name}_low"), &name, Reading::low(estimate)),
            high: self.named(&format!("{name}_high"), &name, Reading::high(estimate)),
        }
    }

    /// Puts in a share with the ends of its interval, which a single trial has too.
    pub fn share(&mut self, name: &str, share: Option<Proportion>) -> Interval {
        let of = |value: fn(&Proportion) -> f64| share.as_ref().map(value);
        let mut put =
            |suffix: &str, reading: Reading| self.named(&format!("{name}{suffix}"), name, reading);
        Interval {
            mean: put("", of(|share| share.share).into()),
            low: put("_low", Reading::of_ends(of(|share| share.low))),
            high: put("_high", Reading::of_ends(of(|share| share.high))),
        }
    }

    /// Puts in something that no condition asks for.
    pub fn fact(&mut self, name: &str, value: impl Into<Value>) {
        self.measured.insert(name.to_owned(), value.into());
    }

    /// `base` is the measured quantity, of which `name` may be the end of an interval.
    fn named(&mut self, name: &str, base: &str, reading: Reading) -> Quantity {
        // Conditions see the number that is printed, so that a reader can check the verdict.
        let Reading { value, has_ends } = reading;
        let value = value.map(round).map_err(|gap| self.reason(gap, base));
        if let Ok(value) = value {
            self.measured.insert(name.to_owned(), json!(value));
        }
        Quantity { name: name.to_owned(), value, has_ends }
    }

    fn reason(&self, gap: Gap, base: &str) -> String {
        match (gap, self.absent.as_slice()) {
            (Gap::NoRun, []) => format!("no run gives {base}"),
            (Gap::NoRun, [one]) => format!("{NO_RUN} {one}"),
            (Gap::NoRun, several) => format!("{NO_RUN}s {}", several.join(", ")),
            (Gap::OneSeed, _) => {
                format!("one seed gives no confidence interval of {base}")
            }
            (Gap::NotFinite, _) => format!("{base} is not a finite number"),
        }
    }

    /// The evidence with the conditions on it.
    pub fn tested(self, conditions: impl Into<Vec<Condition>>) -> Tested {
        Tested { measured: self.measured, conditions: conditions.into() }
    }
}

/// Evidence and the conditions on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tested {
    /// Measurements, by name.
    pub measured: Map<String, Value>,
    /// Conditions that must be met.
    pub conditions: Vec<Condition>,
}

/// To six decimals: more would suggest a precision that a handful of seeds does not have.
pub(crate) fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_what_is_judged() {
        let mut evidence = Evidence::default();
        let jain = evidence.number("jain", 0.950_000_4);
        assert_eq!(jain.above(0.95).is_met(), Some(false));
        assert_eq!(jain.at_least(0.95).is_met(), Some(true));
        assert_eq!(evidence.measured["jain"], 0.95);
    }

    #[test]
    fn one_seed_has_a_mean_and_no_interval() {
        let mut evidence = Evidence::default();
        let gain = evidence.estimate("gain", Estimate::of(&[0.1]));
        assert_eq!(gain.mean.above(0.0).is_met(), Some(true));
        let low = gain.low.above(0.0);
        assert_eq!(low.is_met(), None);
        assert_eq!(low.value(), Err("one seed gives no confidence interval of gain"));
        let names: Vec<&String> = evidence.measured.keys().collect();
        assert_eq!(names, ["gain"]);
    }

    #[test]
    fn a_gap_says_why_it_is_there() {
        let mut evidence = Evidence::of(&Results::default(), &["uploads"]);
        let none = evidence.estimate("jain", None).mean.above(0.0);
        assert_eq!(none.value(), Err("no run of experiment uploads"));
        let ratio = evidence.number("ratio", f64::NAN).above(0.0);
        assert_eq!(ratio.value(), Err("ratio is not a finite number"));
    }

    #[test]
    fn an_extreme_of_which_one_is_missing_is_missing() {
        assert_eq!(Reading::extreme([1.0, 3.0, 2.0], f64::max).value(), Some(3.0));
        assert_eq!(Reading::extreme([Some(1.0), None], f64::max), Reading::from(Gap::NoRun));
        assert_eq!(Reading::extreme([1.0, f64::NAN], f64::max), Reading::from(Gap::NotFinite));
        assert_eq!(Reading::extreme(Vec::<f64>::new(), f64::max), Reading::from(Gap::NoRun));
    }
}
