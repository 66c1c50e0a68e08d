//! Cells that share a channel.
//!
//! Cells on the same frequency are one medium. Like overlapping cells (OBSS), their stations sense
//! each other as far as positions and signal levels permit. Stations on different frequencies never
//! sense each other.

use crate::cell::Cell;
use crate::model::Scenario;
use fairwave_sim::world::World;

/// Returns for each cell the index of the first cell on its frequency.
fn first_on_frequency(cells: &[Cell]) -> impl Iterator<Item = usize> + '_ {
    let first = |cell: &Cell| cells.iter().position(|other| other.frequency == cell.frequency);
    cells.iter().enumerate().map(move |(i, cell)| first(cell).unwrap_or(i))
}

/// Finds the cells that differ in more than their name from the first cell on their frequency.
/// Returns the index of each, and the name of that first cell.
pub(super) fn at_odds(scenario: &Scenario) -> Vec<(usize, String)> {
    let cells = &scenario.cell;
    let differ = |a: &Cell, b: &Cell| Cell { name: b.name.clone(), ..a.clone() } != *b;
    first_on_frequency(cells)
        .enumerate()
        .filter(|&(i, first)| differ(&cells[i], &cells[first]))
        .map(|(i, first)| (i, cells[first].name.clone()))
        .collect()
}

/// Merges the cells on the same frequency into one medium of `world`, which so far has a medium for
/// each cell.
pub(super) fn share(scenario: &Scenario, world: &mut World) {
    let first: Vec<usize> = first_on_frequency(&scenario.cell).collect();
    let kept: Vec<usize> = (0..first.len()).filter(|&i| first[i] == i).collect();
    let place = |cell: usize| kept.iter().position(|&k| k == first[cell]).unwrap_or(0);
    for radio in world.nodes.iter_mut().filter_map(|node| node.radio.as_mut()) {
        radio.cell = place(radio.cell);
    }
    world.cells = kept.iter().map(|&i| world.cells[i].clone()).collect();
}
