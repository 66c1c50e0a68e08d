//! Fates over time.

use super::{Fate, Fates, nanos_between};
use fairwave_units::Duration;

/// Maximum number of bins of a direction; beyond it, two are joined into one.
const BINS: u64 = 4_096;
/// Maximum number of bins of all directions together, likewise: about 20 MB.
const BINS_IN_ALL: usize = 1 << 18;

/// Counts of one bin of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Packets that crossed.
    pub crossed: u64,
    /// Packets seen at one place only: at the first, at the second.
    pub alone: [u64; 2],
    /// Sum of the shifts of the packets that crossed, in nanoseconds.
    pub shift_total_ns: i128,
    /// Smallest and largest shift in nanoseconds.
    pub shift_ns: Option<(i64, i64)>,
}

/// Collects fates in bins of equal length, for each way of each flow, by [`Fate::since_start`].
#[derive(Clone, Debug)]
pub struct Bins {
    length: Duration,
    /// By flow, and by which end sent: bins in which something happened, with their numbers.
    ways: Vec<[Vec<(u32, Bin)>; 2]>,
    /// Number of bins in all.
    held: usize,
}

impl Bins {
    /// Bins of this length, at least a microsecond; they double when a capture is longer than
    /// 4096 of them, and when many flows fill 262,144 in all.
    pub fn new(length: Duration) -> Self {
        let length = length.max(Duration::from_micros(1));
        Self { length, ways: Vec::new(), held: 0 }
    }

    /// Their length in the end.
    pub const fn length(&self) -> Duration {
        self.length
    }

    /// The bins of one way of a flow in which something happened, in order, with their numbers
    /// from the first frame of the first capture on.
    pub fn of(&self, flow: usize, from: usize) -> &[(u32, Bin)] {
        self.ways.get(flow).and_then(|ways| ways.get(from)).map_or(&[], Vec::as_slice)
    }

    /// Maximum number of bins: at least two for each direction, or doubling would not end.
    fn room(&self) -> usize {
        BINS_IN_ALL.max(4 * self.ways.len())
    }

    fn double(&mut self) {
        self.length = self.length * 2;
        self.held = 0;
        for bins in self.ways.iter_mut().flatten() {
            bins.iter_mut().for_each(|(number, _)| *number /= 2);
            bins.dedup_by(|next, kept| {
                let joined = next.0 == kept.0;
                if joined {
                    kept.1 = kept.1.with(&next.1);
                }
                joined
            });
            self.held += bins.len();
        }
    }
}

impl Bin {
    /// Mean shift in nanoseconds.
    pub fn mean_shift_ns(&self) -> Option<i64> {
        (self.crossed > 0).then(|| (self.shift_total_ns / i128::from(self.crossed)) as i64)
    }

    fn with(self, other: &Self) -> Self {
        let range = match (self.shift_ns, other.shift_ns) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, other) => one.or(other),
        };
        Self {
            crossed: self.crossed + other.crossed,
            alone: [self.alone[0] + other.alone[0], self.alone[1] + other.alone[1]],
            shift_total_ns: self.shift_total_ns + other.shift_total_ns,
            shift_ns: range,
        }
    }
}

impl From<&Fate> for Bin {
    fn from(fate: &Fate) -> Self {
        match fate.at {
            [Some(first), Some(second)] => {
                let shift = nanos_between(first, second);
                let range = Some((shift, shift));
                Self { crossed: 1, shift_total_ns: shift.into(), shift_ns: range, alone: [0; 2] }
            }
            [first, second] => {
                let alone = [u64::from(first.is_some()), u64::from(second.is_some())];
                Self { alone, ..Self::default() }
            }
        }
    }
}

impl Fates for Bins {
    fn fate(&mut self, fate: &Fate) {
        while fate.since_start / self.length >= BINS || self.held >= self.room() {
            self.double();
        }
        let number = (fate.since_start / self.length) as u32;
        if self.ways.len() <= fate.flow {
            self.ways.resize_with(fate.flow + 1, Default::default);
        }
        let Some(bins) = self.ways[fate.flow].get_mut(fate.from) else { return };
        let bin = Bin::from(fate);
        // Fates come almost in the order of time.
        match bins.iter().rposition(|(held, _)| *held <= number) {
            Some(place) if bins[place].0 == number => bins[place].1 = bins[place].1.with(&bin),
            before => {
                bins.insert(before.map_or(0, |place| place + 1), (number, bin));
                self.held += 1;
            }
        }
    }
}
