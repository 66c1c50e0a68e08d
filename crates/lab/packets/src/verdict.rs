//! Result of a script in a world, compared with the result that the script expects.

use crate::parse::Remark;
use crate::script::Script;

/// Result of a script in one world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything was as the script says.
    Follows,
    /// Something was not: where, and what.
    Differs(String),
    /// Something was not, as the script itself says, and why.
    Known {
        /// The first difference.
        difference: String,
        /// Reason for the kernel's behaviour.
        reason: String,
    },
    /// The script says that the kernel differs, and it did not.
    Surprises(String),
    /// It was not played, for this reason.
    Omitted(String),
}

impl Verdict {
    /// Of our endpoint, which has to follow every script.
    pub fn of_endpoint(answer: Result<(), String>) -> Self {
        answer.map_or_else(Self::Differs, |()| Self::Follows)
    }

    /// Of a kernel, of which the script may say something.
    pub fn of_kernel(script: &Script, answer: Result<(), String>) -> Self {
        match (script.remark(), answer) {
            (Some(Remark::Differs(reason)), Ok(())) => Self::Surprises(reason.clone()),
            (Some(Remark::Differs(reason)), Err(difference)) => {
                Self::Known { difference, reason: reason.clone() }
            }
            (_, answer) => Self::of_endpoint(answer),
        }
    }

    /// Whether it is what the script leads to expect.
    pub fn is_expected(&self) -> bool {
        !matches!(self, Self::Differs(_) | Self::Surprises(_))
    }

    /// In a word, for tables.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Follows => "follows",
            Self::Differs(_) => "differs",
            Self::Known { .. } => "known",
            Self::Surprises(_) => "surprises",
            Self::Omitted(_) => "-",
        }
    }

    /// Details of the verdict.
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::Follows => None,
            Self::Differs(difference) => Some(difference.clone()),
            Self::Known { difference, .. } => Some(difference.clone()),
            Self::Surprises(reason) => Some(format!("it no longer differs: {reason}")),
            Self::Omitted(reason) => Some(reason.clone()),
        }
    }
}
