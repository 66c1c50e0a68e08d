//! Cells that share a channel.
//!
//! Cells on the same frequency are one medium: their stations sense each other as far as positions
//! and levels let them, as overlapping cells (OBSS) do. Cells on different frequencies do not sense
//! each other at all.

use crate::cell::Cell;
use crate::model::Scenario;
use fairwave_sim::world::World;

/// For each cell, the first on its frequency.
fn first_on_frequency(cells: &[Cell]) -> impl Iterator<Item = usize> + '_ {
    let first = |cell: &Cell| cells.iter().position(|other| other.frequency == cell.frequency);
    cells.iter().enumerate().map(move |(i, cell)| first(cell).unwrap_or(i))
}

/// Cells that share a medium with an earlier one from which they differ in more than their name:
/// the index of each, and the name of the earlier.
pub(super) fn at_odds(scenario: &Scenario) -> Vec<(usize, String)> {
    let cells = &scenario.cell;
    let differ = |a: &Cell, b: &Cell| Cell { name: b.name.clone(), ..a.clone() } != *b;
    first_on_frequency(cells)
        .enumerate()
        .filter(|&(i, first)| differ(&cells[i], &cells[first]))
        .map(|(i, first)| (i, cells[first].name.clone()))
        .collect()
}

/// Puts cells on the same frequency onto one medium of `world`, which has one for each cell.
pub(super) fn share(scenario: &Scenario, world: &mut World) {
    let first: Vec<usize> = first_on_frequency(&scenario.cell).collect();
    let kept: Vec<usize> = (0..first.len()).filter(|&i| first[i] == i).collect();
    let place = |cell: usize| kept.iter().position(|&k| k == first[cell]).unwrap_or(0);
    for radio in world.nodes.iter_mut().filter_map(|node| node.radio.as_mut()) {
        radio.cell = place(radio.cell);
    }
    world.cells = kept.iter().map(|&i| world.cells[i].clone()).collect();
}
