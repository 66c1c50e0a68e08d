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
/// star has a panel for each axis.
pub(super) fn of<'a>(grid: &'a Grid, claim: &'a ClaimMap) -> Vec<Panel<'a>> {
    if grid.is_star {
        let axes = grid.axes.iter().filter(|axis| axis.labels.len() > 1);
        return axes.map(|axis| along(grid, axis, claim)).collect();
    }
    let decides = claim.decides.as_ref().map(|decides| decides.key.as_str());
    let across = grid.axes.iter().position(|axis| Some(axis.key.as_str()) == decides);
    let across = across.unwrap_or(0);
    if grid.axes.is_empty() {
        return Vec::new();
    }
    let others = grid.axes.iter().enumerate().filter(|(index, _)| *index != across);
    // Of several the first: `max_by_key` takes the last.
    let down = others.rev().max_by_key(|(_, axis)| axis.labels.len()).map(|(index, _)| index);
    let rest: Vec<usize> =
        (0..grid.axes.len()).filter(|&axis| axis != across && Some(axis) != down).collect();
    let (across, down) = (&grid.axes[across], down.map(|axis| &grid.axes[axis]));
    let rest = grid.of(&rest);
    let panel = |set_up: Vec<usize>| {
        let fixed: BTreeMap<&str, &str> = rest.labels(&set_up).collect();
        Panel { caption: rest.text(&set_up), across, down, rows: rows(across, down, &fixed, claim) }
    };
    rest.set_ups().map(panel).collect()
}

/// The set-ups that differ from the study's own on this axis.
fn along<'a>(grid: &'a Grid, axis: &'a Axis, claim: &'a ClaimMap) -> Panel<'a> {
    let others = grid.axes.iter().filter(|other| other.key != axis.key);
    let label = |axis: &'a Axis| axis.labels[axis.base.unwrap_or_default()].as_str();
    let fixed = others.map(|other| (other.key.as_str(), label(other)));
    let rows = rows(axis, None, &fixed.collect(), claim);
    Panel { caption: String::new(), across: axis, down: None, rows }
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
