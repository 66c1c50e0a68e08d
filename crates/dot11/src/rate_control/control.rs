//! What every algorithm does, and what it begins with.

use core::fmt::Debug;
use fairwave_units::{Duration, Instant, Stream};

/// Chooses rates for the frames of one radio to one receiver.
pub trait RateControl: Debug + Send {
    /// Index of the rate for an attempt at a frame; `attempt` is 0 for the first, counting up.
    fn choose(&mut self, now: Instant, attempt: u32) -> usize;

    /// An attempt at the rate with index `rate` is over: of `sent` MPDUs, `acknowledged` were.
    fn hear(&mut self, now: Instant, rate: usize, sent: u32, acknowledged: u32);
}

/// What a controller begins with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Time that a frame of usual length occupies the medium at each rate, its overhead
    /// included; slowest first, not empty.
    pub airtimes: Vec<Duration>,
    /// Index of the first attempt's rate.
    pub initial: usize,
    /// For controllers that draw.
    pub stream: Stream,
}
