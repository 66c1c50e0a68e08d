//! Repeats of a reset.

use fairwave_units::Instant;

/// Repeats of a reset. An idle peer sends nothing on the stream that would be answered with one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Repeated {
    /// Time of the first.
    pub(super) since: Option<Instant>,
    /// Number of them.
    pub(super) count: u32,
}
