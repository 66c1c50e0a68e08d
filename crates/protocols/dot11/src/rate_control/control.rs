//! Common interface of the algorithms, and their inputs.

use core::fmt::Debug;
use fairwave_units::{Duration, Instant, Stream};

/// Chooses rates for the frames of one radio to one receiver.
pub trait RateControl: Debug + Send {
    /// The rate for an attempt at a frame; `attempt` is 0 for the first, counting up.
    fn choose(&mut self, now: Instant, attempt: u32) -> Choice;

    /// Index of the preferred rate for frames now.
    fn current(&self) -> usize;

    /// An attempt at the rate with index `rate` is over: of `sent` MPDUs, `acknowledged` were.
    fn on_attempt(&mut self, now: Instant, rate: usize, sent: u32, acknowledged: u32);
}

/// The rate of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its index.
    pub rate: usize,
    /// Whether the attempt only measures a rate, or is the retry of such a one. It has a single
    /// MPDU: an A-MPDU at a rate that does not work would occupy the medium for up to 5 ms.
    pub is_sample: bool,
}

impl Choice {
    /// An attempt that is no sample.
    pub const fn usual(rate: usize) -> Self {
        Self { rate, is_sample: false }
    }
}

/// Cost of a frame at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Time of the data of an MPDU of usual length. Of a rate with aggregation it is its share of
    /// a long A-MPDU, as one MPDU rounded up to whole symbols takes the same time at several
    /// rates.
    pub mpdu: Duration,
    /// Time that a PPDU takes besides, whatever the number of its MPDUs: access to the medium,
    /// preamble and response.
    pub overhead: Duration,
    /// Spatial streams.
    pub streams: u8,
    /// Number of the rate's group: the rates of one format, number of streams and width. Within a
    /// group a faster rate needs more SNR; between groups there is no such order.
    pub group: usize,
}

/// Parameters of a new controller.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The rates: group by group in ascending order, slowest first within each; not empty.
    pub rates: Vec<Rate>,
    /// Index of the first attempt's rate; `None` leaves it to the algorithm.
    pub initial: Option<usize>,
    /// For controllers that draw.
    pub stream: Stream,
}
