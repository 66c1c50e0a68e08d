//! World in which a script is played: virtual time, or a real device and a clock.

use crate::parse::Shape;
use crate::segment::{Exactness, Seen};
use fairwave_units::{Duration, Instant};

pub(crate) type Played<T> = Result<T, String>;

/// Actions of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Open,
    Listen,
    Write(u32),
    Read(u32),
    /// No more will be written.
    Close,
    Abort,
}

/// An answer to an `expect`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Exactly(String),
    /// Milliseconds that a clock measured.
    Nearly(u64),
    /// This world shows no such thing.
    Hidden,
}

/// An end under test and the way to it.
pub(crate) trait World {
    /// Time passes until `until`, or until a segment leaves, which is then returned. Where it is
    /// later already, what has left is returned.
    fn departure(&mut self, until: Instant) -> Played<Option<Seen>>;

    /// The application acts.
    fn call(&mut self, call: Call) -> Played<()>;

    /// A segment of the peer arrives.
    fn arrive(&mut self, shape: &Shape) -> Played<()>;

    /// Report of the end about itself.
    fn answer(&mut self, key: &str) -> Played<Answer>;

    /// A segment with the timestamp `actual` was that which the script expects at `nominal`.
    fn note_stamp(&mut self, nominal: u32, actual: u32);

    /// Precision with which it can be compared.
    fn exactness(&self) -> Exactness;

    /// How much earlier, and how much later, something may happen than a script says, that has
    /// waited for so long.
    fn slack(&self, waited: Duration) -> (Duration, Duration);
}
