//! Rate control: the rate of an attempt, learnt from the outcome of earlier ones.
//!
//! A controller is kept for each pair of a radio and a receiver. It knows its rates only as indices
//! into a list, and the cost of a usual frame at each.

mod arf;
mod chosen;
mod control;
mod minstrel;
#[cfg(test)]
mod tests;

pub use arf::Arf;
pub use chosen::{Chosen, Make};
pub use control::{Choice, Rate, RateControl, Setup};
use fairwave_units::Instant;
pub use minstrel::Minstrel;

/// A way of controlling rates as users choose it.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// Its spelling in scenarios.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// The paper or program that defines it.
    pub source: &'static str,
    /// Its state at the start.
    pub build: fn(Setup) -> Box<dyn RateControl>,
}

/// Every algorithm, in the order in which it is listed.
pub const ALL: &[Algorithm] = &[
    Algorithm {
        name: "constant",
        summary: "always the rate that was set, else the fastest",
        source: "",
        build: |setup| Box::new(Constant(setup.initial.unwrap_or(setup.rates.len() - 1))),
    },
    Algorithm {
        name: "arf",
        summary: "a rate up after 10 successes, down after 2 failures or one of the first frame",
        source: "Kamerman and Monteban 1997",
        build: |setup| Box::new(Arf::new(&setup)),
    },
    Algorithm {
        name: "aarf",
        summary: "ARF that waits twice as long after each rate that did not hold",
        source: "Lacage, Manshaei and Turletti 2004",
        build: |setup| Box::new(Arf::adaptive(&setup)),
    },
    Algorithm {
        name: "minstrel",
        summary: "measures each rate's success and takes the best throughput; a sample every 20 ms",
        source: "Linux, net/mac80211/rc80211_minstrel_ht.c",
        build: |setup| Box::new(Minstrel::new(setup)),
    },
];

/// The algorithm called `name`.
pub fn find(name: &str) -> Option<&'static Algorithm> {
    ALL.iter().find(|algorithm| algorithm.name == name)
}

/// The rate that was set, or the fastest.
#[derive(Clone, Copy, Debug)]
struct Constant(usize);

impl RateControl for Constant {
    fn choose(&mut self, _: Instant, _: u32) -> Choice {
        Choice::usual(self.0)
    }

    fn current(&self) -> usize {
        self.0
    }

    fn on_attempt(&mut self, _: Instant, _: usize, _: u32, _: u32) {}
}
