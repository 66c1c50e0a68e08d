//! Levels in single precision, in blocks of radios that are near each other.
//!
//! Neighbours receive a frame at similar levels, so that mostly the lowest and the highest level in
//! a block decide for all its radios whether they detect the frame.

use super::super::RadioConfig;
use super::super::levels::Levels;
use wide::f32x8;

/// Radios of a block.
pub(super) const WIDTH: usize = 8;

/// A number for each radio of a block, or for each block of a group.
pub(super) type Lanes = f32x8;

/// The lowest and the highest levels in the blocks of a group.
#[derive(Clone, Copy, Debug, Default)]
struct Extremes {
    low: Lanes,
    high: Lanes,
}

/// Sums and maxima over frames of the extremes in the blocks of a group.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    /// Sums of the lowest levels, and of the highest.
    pub(super) low: Lanes,
    pub(super) high: Lanes,
    /// The greatest of the lowest levels.
    pub(super) low_max: Lanes,
    /// The greatest of the highest levels, and the next.
    pub(super) high_max: Lanes,
    pub(super) second: Lanes,
}

/// Levels of all radios at all others.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// Groups of blocks of each transmitter. The last blocks may have no radios.
    groups: usize,
    /// Per transmitter and block; zero at its own radio.
    levels: Vec<Lanes>,
    /// Per transmitter and group.
    extremes: Vec<Extremes>,
}

impl Blocks {
    /// The means of `levels`, whose radios have their places by `order`.
    pub(super) fn new(levels: &Levels, order: &[u32]) -> Self {
        let blocks = order.chunks(WIDTH);
        let groups = blocks.len().div_ceil(WIDTH);
        let mut this = Self { groups, levels: Vec::new(), extremes: Vec::new() };
        for from in 0..order.len() as u32 {
            let row = levels.row(from);
            let mut extremes = vec![Extremes::default(); groups];
            for (block, radios) in blocks.clone().enumerate() {
                let mut lanes = Lanes::default();
                let mut low = f32::INFINITY;
                let mut high = 0.0;
                for (lane, radio) in lanes.as_mut_array().iter_mut().zip(radios) {
                    *lane = row[*radio as usize] as f32;
                    high = f32::max(high, *lane);
                    // The transmitter itself receives nothing, whatever the others do.
                    low = if *radio == from { low } else { f32::min(low, *lane) };
                }
                this.levels.push(lanes);
                let Extremes { low: lows, high: highs } = &mut extremes[block / WIDTH];
                let lane = block % WIDTH;
                lows.as_mut_array()[lane] = if low.is_finite() { low } else { 0.0 };
                highs.as_mut_array()[lane] = high;
            }
            this.levels.resize((from as usize + 1) * groups * WIDTH, Lanes::default());
            this.extremes.append(&mut extremes);
        }
        this
    }

    /// Whether there are none yet.
    pub(super) fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Groups of blocks.
    pub(super) fn groups(&self) -> usize {
        self.groups
    }

    /// Levels of a frame from `from` in a block.
    pub(super) fn levels(&self, from: u32, block: usize) -> &Lanes {
        &self.levels[from as usize * self.groups * WIDTH + block]
    }

    /// The lowest and the highest level of a frame from `from` in a block.
    pub(super) fn extremes(&self, from: u32, block: usize) -> (f32, f32) {
        let of = &self.extremes[from as usize * self.groups + block / WIDTH];
        (of.low.as_array()[block % WIDTH], of.high.as_array()[block % WIDTH])
    }

    /// Sums of frames from `froms` in a group of blocks.
    pub(super) fn sum(&self, froms: &[u32], group: usize) -> Sums {
        let mut sums = Sums::default();
        for from in froms {
            let Extremes { low, high } = self.extremes[*from as usize * self.groups + group];
            sums = Sums {
                low: sums.low + low,
                high: sums.high + high,
                low_max: sums.low_max.fast_max(low),
                high_max: sums.high_max.fast_max(high),
                second: sums.second.fast_max(sums.high_max.fast_min(high)),
            };
        }
        sums
    }
}

/// Side of the square on whose cells the curve runs.
const SIDE: u32 = 1 << 10;

/// An order of radios in which those near each other follow each other: along the curve of Hilbert
/// ("Ueber die stetige Abbildung einer Linie auf ein Flaechenstueck", Mathematische Annalen 38,
/// 1891).
pub(super) fn along_curve(radios: &[RadioConfig]) -> Vec<u32> {
    let extremes = |of: fn(&RadioConfig) -> f64| {
        let low = radios.iter().map(of).fold(f64::INFINITY, f64::min);
        (low, radios.iter().map(of).fold(low, f64::max))
    };
    let (left, right) = extremes(|radio| radio.position.0.0);
    let (bottom, top) = extremes(|radio| radio.position.1.0);
    let cell = f64::max(right - left, top - bottom) / f64::from(SIDE - 1);
    // Where all are at one place, the quotient is not a number, and as an integer zero.
    let number = |from: f64, to: f64| (((to - from) / cell) as u32).min(SIDE - 1);
    let mut order: Vec<u32> = (0..radios.len() as u32).collect();
    order.sort_by_cached_key(|radio| {
        let (x, y) = radios[*radio as usize].position;
        on_curve(number(left, x.0), number(bottom, y.0))
    });
    order
}

/// Number of a cell on the curve.
fn on_curve(mut x: u32, mut y: u32) -> u32 {
    let (mut number, mut side) = (0, SIDE / 2);
    while side > 0 {
        let (right, up) = (x & side > 0, y & side > 0);
        number += side * side * ((3 * u32::from(right)) ^ u32::from(up));
        if !up {
            if right {
                (x, y) = (SIDE - 1 - x, SIDE - 1 - y);
            }
            (x, y) = (y, x);
        }
        side /= 2;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_meets_every_cell_and_steps_to_a_neighbour() {
        let cells = (0..SIDE).flat_map(|x| (0..SIDE).map(move |y| (on_curve(x, y), x, y)));
        let mut cells: Vec<_> = cells.collect();
        cells.sort_unstable();
        for (number, two) in cells.windows(2).enumerate() {
            let [(first, x, y), (next, x2, y2)] = two else { unreachable!("windows of two") };
            assert_eq!((*first, *next), (number as u32, number as u32 + 1));
            assert_eq!(x.abs_diff(*x2) + y.abs_diff(*y2), 1, "after {x}, {y}");
        }
    }
}
