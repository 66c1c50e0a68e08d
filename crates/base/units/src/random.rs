//! Randomness as an argument: one master seed, one stream per named use.
//!
//! A stream's seed depends on the master seed and the stream's *name* only, through a hash
//! that is ours and will not change. Adding a station therefore leaves every other station's
//! draws as they were.

use core::fmt;
use core::str::FromStr;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// The master seed of a run.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Seed(pub u64);

/// A reproducible stream of random numbers (xoshiro256++).
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Seed {
    /// The stream for one use, such as `"backoff/sta3"`.
    pub fn stream(self, name: &str) -> Stream {
        Stream(Xoshiro256PlusPlus::seed_from_u64(mix(self.0 ^ fnv1a(name.as_bytes()))))
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Seed {
    type Err = core::num::ParseIntError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl Stream {
    /// Uniform over all 64-bit numbers.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform over `0..n`; zero for `n == 0`. The bias of at most n / 2^64 is accepted.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform over `[0, 1)`, with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `p`. Draws nothing where the answer is certain, so that an
    /// error model that is off costs nothing.
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && (p >= 1.0 || self.unit() < p)
    }
}

/// FNV-1a, 64 bit.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &b| {
        (hash ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The finaliser of SplitMix64: spreads near seeds far apart.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pins the streams: a change here changes every result of every user.
    #[test]
    fn streams_are_stable_over_versions() {
        let mut a = Seed(1).stream("backoff/sta0");
        let first: Vec<u64> = (0..3).map(|_| a.next_u64()).collect();
        let mut again = Seed(1).stream("backoff/sta0");
        assert_eq!(first, (0..3).map(|_| again.next_u64()).collect::<Vec<_>>());
        assert_eq!(first[0], 15_740_955_691_347_690_296);
    }

    #[test]
    fn names_and_seeds_give_different_streams() {
        let draw = |seed: u64, name: &str| Seed(seed).stream(name).next_u64();
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
    }

    #[test]
    fn uniform_draws_have_the_right_mean() {
        let mut s = Seed(7).stream("test");
        let mean = (0..100_000).map(|_| s.below(16) as f64).sum::<f64>() / 1e5;
        assert!((mean - 7.5).abs() < 0.05, "{mean}");
    }
}
