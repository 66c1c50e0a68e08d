//! A map laid out as small multiples: two axes in each panel, a panel for each combination of the
//! others.

use super::grid::{Axis, Grid};
use super::summary::{ClaimMap, PointOfMap};
use std::collections::BTreeMap;

/// Set-ups that differ in two axes alone, or in one.
#[derive(Clone, Debug)]
pub(super) struct Panel<'a> {
    /// The values of the other axes, such as `rts = on, stack = ns-2`; empty where there is none.
    pub(super) caption: String,
    /// The axis whose values are the columns.
    pub(super) across: &'a Axis,
    /// The axis whose values are the rows.
    pub(super) down: Option<&'a Axis>,
    /// Rows of cells; a cell is `None` where the map has no such set-up.
    pub(super) rows: Vec<Vec<Option<&'a PointOfMap>>>,
}

/// The panels of a claim's map. In a whole map the axis that decides lies across, and of the others
/// the one with the largest number of values lies down. Each combination of the rest has a panel. A
/// star has a panel for each axis, and in a whole map so has an axis that stands alone.
pub(super) fn of<'a>(grid: &'a Grid, claim: &'a ClaimMap) -> Vec<Panel<'a>> {
    let is_along = |axis: &&Axis| grid.is_star || axis.is_alone;
    let axes = grid.axes.iter().filter(is_along).filter(|axis| axis.labels.len() > 1);
    let mut panels = if grid.is_star { Vec::new() } else { multiples(grid, claim) };
    panels.extend(axes.map(|axis| along(grid, axis, claim)));
    panels
}

/// The panels of the axes that are combined; axes that stand alone have the study's own values.
fn multiples<'a>(grid: &'a Grid, claim: &'a ClaimMap) -> Vec<Panel<'a>> {
    let combined: Vec<usize> =
        (0..grid.axes.len()).filter(|&axis| !grid.axes[axis].is_alone).collect();
    let alone = grid.axes.iter().filter(|axis| axis.is_alone);
    let own: Vec<(&str, &str)> = alone.map(|axis| (axis.key.as_str(), own_label(axis))).collect();
    let decides = claim.decides.as_ref().map(|decides| decides.key.as_str());
    let is_deciding = |&&axis: &&usize| Some(grid.axes[axis].key.as_str()) == decides;
    let Some(&across) = combined.iter().find(is_deciding).or(combined.first()) else {
        return Vec::new();
    };
    let others = combined.iter().copied().filter(|&axis| axis != across);
    // Of several the first: `max_by_key` takes the last.
    let down = others.clone().rev().max_by_key(|&axis| grid.axes[axis].labels.len());
    let rest: Vec<usize> = others.filter(|&axis| Some(axis) != down).collect();
    let (across, down) = (&grid.axes[across], down.map(|axis| &grid.axes[axis]));
    let rest = grid.of(&rest);
    let panel = |set_up: Vec<usize>| {
        let fixed = rest.labels(&set_up).chain(own.iter().copied()).collect();
        Panel { caption: rest.text(&set_up), across, down, rows: rows(across, down, &fixed, claim) }
    };
    rest.set_ups().map(panel).collect()
}

/// The set-ups that differ from the study's own on this axis.
fn along<'a>(grid: &'a Grid, axis: &'a Axis, claim: &'a ClaimMap) -> Panel<'a> {
    let others = grid.axes.iter().filter(|other| other.key != axis.key);
    let fixed = others.map(|other| (other.key.as_str(), own_label(other)));
    let rows = rows(axis, None, &fixed.collect(), claim);
    Panel { caption: String::new(), across: axis, down: None, rows }
}

/// The label of the study's own value.
fn own_label(axis: &Axis) -> &str {
    &axis.labels[axis.base.unwrap_or_default()]
}

fn rows<'a>(
    across: &Axis,
    down: Option<&Axis>,
    fixed: &BTreeMap<&str, &str>,
    claim: &'a ClaimMap,
) -> Vec<Vec<Option<&'a PointOfMap>>> {
    let row = |row: Option<&str>| {
        let cell = |column: &String| {
            claim.points.iter().find(|point| {
                is_at(point, &across.key, column)
                    && row.zip(down).is_none_or(|(row, axis)| is_at(point, &axis.key, row))
                    && fixed.iter().all(|(key, label)| is_at(point, key, label))
            })
        };
        across.labels.iter().map(cell).collect()
    };
    match down {
        Some(axis) => axis.labels.iter().map(|label| row(Some(label))).collect(),
        None => vec![row(None)],
    }
}

impl<'a> Panel<'a> {
    /// Labels of the rows; one that is empty where there is no axis for them.
    pub(super) fn row_labels(&self) -> Vec<&'a str> {
        let labels = self.down.map(|axis| axis.labels.iter().map(String::as_str).collect());
        labels.unwrap_or_else(|| vec![""])
    }

    /// Text of the corner: the keys of rows and columns.
    pub(super) fn corner(&self) -> String {
        let down = self.down.map_or(String::new(), |axis| format!("{} \\ ", axis.key));
        format!("{down}{}", self.across.key)
    }

    /// The column before which the claim begins or ends to hold more often, if a threshold on the
    /// columns decides.
    pub(super) fn threshold(&self, claim: &ClaimMap) -> Option<usize> {
        let decides = claim.decides.as_ref().filter(|decides| decides.key == self.across.key)?;
        let at = |label: &str| self.across.labels.iter().position(|other| other == label);
        let min = decides.threshold.strip_prefix("at least ").and_then(at);
        let max = decides.threshold.strip_prefix("at most ").and_then(at);
        min.or(max.map(|column| column + 1))
    }
}

/// Whether a set-up has this value on this axis.
fn is_at(point: &PointOfMap, key: &str, label: &str) -> bool {
    point.setup.get(key).is_some_and(|other| other == label)
}

/// The letter of a cell: `H` holds, `–` does not hold, `?` undecided, `·` left out.
pub(super) fn letter(point: &PointOfMap) -> &'static str {
    match point.outcome {
        "holds" => "H",
        "does not hold" => "–",
        "left out" => "·",
        _ => "?",
    }
}
