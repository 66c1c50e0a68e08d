//! Channels by number, and which cells share one.
//!
//! Cells on the same frequency are one medium: their stations hear each other as far as positions
//! and levels let them, which is what overlapping cells (OBSS) are. Cells on different
//! frequencies do not hear each other at all.

use super::diagnostic::Refusal;
use super::model::{Cell, Scenario};
use super::reader::{Read, Reader, integer, within};
use super::value::Value;
use fairwave_sim::world::World;
use fairwave_units::Hertz;

/// Centre frequencies of 20 MHz channels (IEEE 802.11-2020 annex E): the 2.4 GHz band begins at
/// 2407 MHz, with channel 14 apart, and the 5 GHz band at 5000 MHz; a number is 5 MHz.
const NARROW: &[u64] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
const WIDE: &[u64] = &[
    36, 40, 44, 48, 52, 56, 60, 64, 100, 104, 108, 112, 116, 120, 124, 128, 132, 136, 140, 144,
    149, 153, 157, 161, 165,
];

/// The centre frequency of a cell: by `channel`, by `frequency`, or `default`, which also tells
/// the band.
pub(super) fn frequency(r: &Reader<'_>, default: Hertz) -> Hertz {
    let five_ghz = default.0 > 5_000_000_000;
    let channel = r.optional("channel", |value| channel(value, five_ghz));
    let range = within(Hertz(100_000_000), Hertz(100_000_000_000));
    let written = r.or("frequency", default, range);
    if r.has("channel") {
        r.meaningless(&["frequency"], "the cell has a channel");
    }
    channel.unwrap_or(written)
}

fn channel(value: &Value, five_ghz: bool) -> Read<Hertz> {
    let (numbers, band, base) = match five_ghz {
        true => (WIDE, "5 GHz", 5_000),
        false => (NARROW, "2.4 GHz", 2_407),
    };
    let number = integer(1, 200)(value)?;
    if !numbers.contains(&number) {
        let listed: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        let refusal = Refusal::new(format!("there is no channel {number} at {band}"));
        return Err(refusal.among("", &listed));
    }
    let mhz = if number == 14 { 2_484 } else { base + 5 * number };
    Ok(Hertz(mhz * 1_000_000))
}

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
