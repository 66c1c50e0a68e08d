//! Fading of the pairs of radios of a channel.

use crate::Fading;
use crate::fading::{Points, Process, Waves};
use fairwave_units::{Instant, Seed};

/// Pairs that keep their sinusoids, 640 bytes each: all pairs of 360 radios. Those of further pairs
/// are drawn again from their streams whenever they are needed. For a thousand radios that spares
/// 280 MB.
const MAX_KEPT: usize = 65_000;

/// Gain of one pair, the same in both directions.
#[derive(Clone, Debug)]
struct Link {
    points: Points,
    waves: Option<Box<Waves>>,
}

/// Gains of all pairs.
#[derive(Debug)]
pub(super) struct Links {
    fading: Fading,
    process: Process,
    /// Per pair.
    links: Vec<Link>,
    /// Pairs that have their sinusoids.
    kept: usize,
    /// Names of the random streams: the seed, the channel and its radios.
    seed: Seed,
    channel: String,
    names: Vec<String>,
}

impl Links {
    /// The pairs of radios of these names.
    pub(super) fn new(fading: Fading, seed: Seed, channel: &str, names: Vec<String>) -> Self {
        Self {
            fading,
            process: Process::new(fading),
            links: vec![Link { points: Points::NONE, waves: None }; pairs(names.len())],
            kept: 0,
            seed,
            channel: channel.to_owned(),
            names,
        }
    }

    /// Power gain between two radios at `at`, as a factor with mean 1.
    pub(super) fn gain(&mut self, a: usize, b: usize, at: Instant) -> f64 {
        let (low, high) = in_order(a, b);
        let link = &mut self.links[pair(low, high)];
        let (cell, part) = self.process.place(at);
        if !link.points.are_at(cell) {
            let draw = || {
                let (a, b) = (&self.names[low], &self.names[high]);
                let stream = self.seed.stream(&format!("fading/{}/{a}/{b}", self.channel));
                Waves::new(self.fading, stream)
            };
            // Gains that do not change need no sinusoids after this.
            if link.waves.is_none() && self.kept < MAX_KEPT && self.process.moves() {
                link.waves = Some(Box::new(draw()));
                self.kept += 1;
            }
            match &link.waves {
                Some(waves) => link.points.go_to(cell, &self.process, waves),
                None => link.points.go_to(cell, &self.process, &draw()),
            }
        }
        self.process.power(&link.points, part)
    }
}

/// Number of pairs of `n` radios.
pub(super) fn pairs(n: usize) -> usize {
    n * n.saturating_sub(1) / 2
}

/// Number of the pair of radios `low` < `high`.
pub(super) fn pair(low: usize, high: usize) -> usize {
    pairs(high) + low
}

/// Two radios, the lower number first.
pub(super) fn in_order(a: usize, b: usize) -> (usize, usize) {
    (a.min(b), a.max(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_the_same_whether_sinusoids_are_kept_or_drawn_again() {
        let names = || ["ap", "a", "b"].map(str::to_owned).to_vec();
        let links =
            |doppler_hz| Links::new(Fading { rice_k: 1.0, doppler_hz }, Seed(1), "0", names());
        for doppler_hz in [0.0, 10.0] {
            let mut kept = links(doppler_hz);
            let mut drawn = Links { kept: MAX_KEPT, ..links(doppler_hz) };
            for ms in [0, 1, 4, 7, 900, 904, 3] {
                let at = Instant::from_nanos(ms * 1_000_000);
                for (a, b) in [(0, 1), (2, 0), (1, 2), (1, 0)] {
                    assert_eq!(kept.gain(a, b, at), drawn.gain(a, b, at), "{a} {b} at {ms} ms");
                }
            }
        }
    }
}
