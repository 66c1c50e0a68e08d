//! Outcome of a command: success, or one of the documented exit codes.

use std::fmt::Display;
use std::io;

/// Reason for exit code 3 under `--strict`, if claims are mapped.
pub(crate) const CLAIM_FAILS: &str =
    "a claim of the paper is \"nowhere\", or the answer to a question of ours is not always yes";

/// Reason why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A run failed, or a file could not be read or written: exit code 1.
    Run(String),
    /// Bad usage or a bad scenario: exit code 2.
    Usage(String),
    /// Bad usage or a bad scenario, already reported: exit code 2.
    Invalid,
    /// A claim fails under `--strict`, for this reason: exit code 3.
    Claims(&'static str),
    /// An emulation did not keep real time: exit code 4.
    #[cfg(target_os = "linux")]
    Late(String),
    /// The work of this process ended with this exit code, already reported.
    #[cfg(target_os = "linux")]
    Ended(u8),
    /// The reader of standard output has closed it, which is no error: the command just ends.
    Closed,
}

impl Failure {
    /// Prints the error to standard error, and returns the exit code.
    pub(crate) fn report(self) -> u8 {
        let (code, text) = self.into_message();
        if !text.is_empty() {
            crate::output::complain(&text);
        }
        code
    }

    /// The exit code, and the message, which is empty where there is nothing to report.
    pub(crate) fn into_message(self) -> (u8, String) {
        match self {
            Self::Run(text) => (1, text),
            Self::Usage(text) => (2, text),
            Self::Invalid => (2, String::new()),
            Self::Claims(why) => (3, why.to_owned()),
            #[cfg(target_os = "linux")]
            Self::Late(text) => (4, text),
            #[cfg(target_os = "linux")]
            Self::Ended(code) => (code, String::new()),
            Self::Closed => (0, String::new()),
        }
    }

    /// The result of printing, which succeeds if the reader of standard output has closed it: a
    /// verdict that follows counts whether it is read or not.
    pub(crate) fn unless_closed<E: Into<Self>>(printed: Result<(), E>) -> Result<(), Self> {
        match printed.map_err(Into::into) {
            Err(Self::Closed) => Ok(()),
            other => other,
        }
    }

    /// A file could not be read, which is already reported: exit code 1.
    pub(crate) const fn unread() -> Self {
        Self::Run(String::new())
    }

    /// Converts an error during a run, for `map_err`.
    pub(crate) fn run(error: impl Display) -> Self {
        Self::Run(error.to_string())
    }
}

impl From<fairwave_console::Failure> for Failure {
    fn from(failure: fairwave_console::Failure) -> Self {
        match failure {
            fairwave_console::Failure::Run(text) => Self::Run(text),
            fairwave_console::Failure::Usage(text) => Self::Usage(text),
            fairwave_console::Failure::Closed => Self::Closed,
        }
    }
}

impl From<io::Error> for Failure {
    /// Converts an error in writing to standard output.
    fn from(error: io::Error) -> Self {
        fairwave_console::Failure::from(error).into()
    }
}
