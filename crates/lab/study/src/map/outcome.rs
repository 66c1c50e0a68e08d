//! Outcome of a claim in one set-up.

/// Outcome of a claim in one set-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Holds,
    /// It does not hold.
    Fails,
    /// It could not be decided.
    Undecided,
    /// The set-up contradicts this anchor, given by its identifier.
    LeftOut(String),
}

impl Outcome {
    /// Whether the claim holds; `None` where that was not judged.
    pub const fn holds(&self) -> Option<bool> {
        match self {
            Self::Holds => Some(true),
            Self::Fails => Some(false),
            Self::Undecided | Self::LeftOut(_) => None,
        }
    }

    /// In words: `holds`, `does not hold`, `undecided` or `left out`.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "does not hold",
            Self::Undecided => "undecided",
            Self::LeftOut(_) => "left out",
        }
    }
}
