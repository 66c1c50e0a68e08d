//! Search for the parameter that decides: a decision tree of at most two levels (Breiman, Friedman,
//! Olshen and Stone, Classification and Regression Trees, 1984), and shares by one parameter at a
//! time.

use super::grid::{Grid, SetUp};
use super::outcome::Outcome;
use fairwave_units::several;

/// Levels of questions. A sentence has room for two.
const LEVELS: usize = 2;
/// A split must make the impurity smaller by more than rounding does.
const MIN_GAIN: f64 = 1e-9;

/// A judged set-up with its weight.
#[derive(Clone, Copy, Debug)]
struct Case<'a> {
    set_up: &'a [usize],
    holds: bool,
    weight: f64,
}

/// Set-ups, the number of them in which the claim holds, and the question that separates these
/// from the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// Set-ups in which the claim holds.
    pub holding: usize,
    /// Set-ups in which it was decided.
    pub decided: usize,
    /// The question that separates them best, if there is one.
    pub split: Option<Box<Split>>,
}

/// A question about one parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Index of the axis.
    pub axis: usize,
    /// The values with which the claim holds more often, in the order of the axis.
    pub values: Vec<usize>,
    /// Whether they are the first values of an ordered axis (`Some(true)`) or its last.
    pub is_lower: Option<bool>,
    /// The set-ups with these values.
    pub with: Tree,
    /// The others.
    pub without: Tree,
}

/// In how many set-ups with one value of one axis the claim holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneWay {
    /// Index of the axis.
    pub axis: usize,
    /// Index of the value.
    pub value: usize,
    /// Set-ups in which the claim holds.
    pub holding: usize,
    /// Set-ups in which it was decided.
    pub decided: usize,
}

/// Shares by one parameter at a time, axis by axis.
pub fn one_way(grid: &Grid, outcomes: &[(SetUp, Outcome)]) -> Vec<OneWay> {
    let cases = cases(grid, outcomes);
    let of = |axis: usize, value: usize| {
        let with = || cases.iter().filter(move |case| case.set_up[axis] == value);
        let holding = with().filter(|case| case.holds).count();
        OneWay { axis, value, holding, decided: with().count() }
    };
    let axes = grid.axes.iter().enumerate();
    axes.flat_map(|(axis, a)| (0..a.labels.len()).map(move |value| of(axis, value))).collect()
}

fn cases<'a>(grid: &Grid, outcomes: &'a [(SetUp, Outcome)]) -> Vec<Case<'a>> {
    let case = |(set_up, outcome): &'a (SetUp, Outcome)| {
        Some(Case { set_up, holds: outcome.holds()?, weight: grid.weight(set_up) })
    };
    outcomes.iter().filter_map(case).collect()
}

impl Tree {
    /// Grows the tree of these outcomes. Set-ups that were not judged have no part in it.
    pub fn grow(grid: &Grid, outcomes: &[(SetUp, Outcome)]) -> Self {
        Self::of(grid, &cases(grid, outcomes), LEVELS)
    }

    fn of(grid: &Grid, cases: &[Case<'_>], levels: usize) -> Self {
        let holding = cases.iter().filter(|case| case.holds).count();
        let split = (levels > 0).then(|| best(grid, cases)).flatten().map(|(axis, values)| {
            let (with, without): (Vec<Case<'_>>, Vec<Case<'_>>) =
                cases.iter().partition(|case| values.contains(&case.set_up[axis]));
            let is_lower = grid.axes[axis].is_ordered.then(|| values.contains(&least(cases, axis)));
            Box::new(Split {
                axis,
                values,
                is_lower,
                with: Self::of(grid, &with, levels - 1),
                without: Self::of(grid, &without, levels - 1),
            })
        });
        Self { holding, decided: cases.len(), split }
    }

    /// The set-ups in which the claim holds, as a sentence; empty if nothing separates the set-ups.
    pub fn sentence(&self, grid: &Grid) -> String {
        let Some(split) = &self.split else { return String::new() };
        let within = split.with.within(grid);
        let elsewhere =
            format!("elsewhere in {}{}", split.without.count(), split.without.within(grid));
        format!(
            "Holds where {} in {}{within}; {elsewhere}.",
            split.question(grid),
            split.with.count(),
        )
    }

    fn count(&self) -> String {
        match self.holding {
            0 => format!("none of {}", several(self.decided, "set-up")),
            holding => format!("{holding} of {}", several(self.decided, "set-up")),
        }
    }

    /// The question that separates the set-ups of a branch, as a part of a sentence.
    fn within(&self, grid: &Grid) -> String {
        self.split.as_ref().map_or(String::new(), |split| {
            format!(" ({} where {})", split.with.count(), split.question(grid))
        })
    }
}

impl Split {
    /// The values in words: a threshold on an ordered axis, else a list.
    pub fn threshold(&self, grid: &Grid) -> String {
        let labels = &grid.axes[self.axis].labels;
        let at = |value: Option<&usize>| value.map_or("", |&value| labels[value].as_str());
        match self.is_lower {
            Some(true) => format!("at most {}", at(self.values.last())),
            Some(false) => format!("at least {}", at(self.values.first())),
            None => {
                let names = self.values.iter().map(|&value| labels[value].as_str());
                names.collect::<Vec<_>>().join(" or ")
            }
        }
    }

    fn question(&self, grid: &Grid) -> String {
        format!("{} is {}", grid.axes[self.axis].name, self.threshold(grid))
    }
}

/// The first value of an axis that occurs.
fn least(cases: &[Case<'_>], axis: usize) -> usize {
    cases.iter().map(|case| case.set_up[axis]).min().unwrap_or(0)
}

/// The axis, and the values of its better side, that make the impurity smallest; of several the
/// first in the order of the axes.
fn best(grid: &Grid, cases: &[Case<'_>]) -> Option<(usize, Vec<usize>)> {
    let whole = impurity(cases.iter());
    let mut best: Option<(f64, usize, Vec<usize>)> = None;
    for axis in 0..grid.axes.len() {
        let order = order(grid.axes[axis].is_ordered, cases, axis);
        for cut in 1..order.len() {
            let (low, high) = order.split_at(cut);
            let inside = |side: &[usize], case: &Case<'_>| side.contains(&case.set_up[axis]);
            let parts = [low, high].map(|s| impurity(cases.iter().filter(|case| inside(s, case))));
            let gain = whole - parts[0] - parts[1];
            // Ties go to the first axis: later sums may differ by rounding alone.
            if gain > best.as_ref().map_or(MIN_GAIN, |(max, ..)| max + MIN_GAIN) {
                let share = |side| share(cases.iter().filter(|case| inside(side, case)));
                let mut values = if share(low) > share(high) { low } else { high }.to_vec();
                values.sort_unstable();
                best = Some((gain, axis, values));
            }
        }
    }
    best.map(|(_, axis, values)| (axis, values))
}

/// The values of an axis that occur: those of an ordered axis in their order, others by the share
/// of set-ups in which the claim holds. One of the cuts of that order is the best of all subsets
/// (Breiman et al., theorem 4.5).
fn order(is_ordered: bool, cases: &[Case<'_>], axis: usize) -> Vec<usize> {
    let mut values: Vec<usize> = cases.iter().map(|case| case.set_up[axis]).collect();
    values.sort_unstable();
    values.dedup();
    if !is_ordered {
        let of = |value| share(cases.iter().filter(|case| case.set_up[axis] == value));
        values.sort_by(|&a, &b| of(a).total_cmp(&of(b)));
    }
    values
}

/// Weights of the cases that hold, and of all.
fn weights<'c, 'a: 'c>(cases: impl Iterator<Item = &'c Case<'a>>) -> (f64, f64) {
    cases.fold((0.0, 0.0), |(holding, all), case| {
        (holding + if case.holds { case.weight } else { 0.0 }, all + case.weight)
    })
}

fn share<'c, 'a: 'c>(cases: impl Iterator<Item = &'c Case<'a>>) -> f64 {
    let (holding, all) = weights(cases);
    if all > 0.0 { holding / all } else { 0.0 }
}

/// Gini's impurity times the weight: zero where all hold or none.
fn impurity<'c, 'a: 'c>(cases: impl Iterator<Item = &'c Case<'a>>) -> f64 {
    let (holding, all) = weights(cases);
    if all > 0.0 { holding * (all - holding) / all } else { 0.0 }
}
