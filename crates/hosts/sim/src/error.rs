//! Errors of a world that cannot be simulated.

/// Reason for which a world cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A value in the world is not usable; the text says which and why.
    #[error("{0}")]
    Invalid(String),
}
