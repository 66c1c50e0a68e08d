//! Reasons why results cannot be shown.

/// Reason why results cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The request does not fit the results.
    #[error("{0}")]
    Request(String),
    /// The results cannot be read, or there are none.
    #[error("{0}")]
    Results(String),
}
