//! How a command ends: well, or with one of the documented exit codes.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

/// Why `--strict` gives exit code 3, where claims are mapped.
pub(crate) const CLAIM_FAILS: &str =
    "a claim of the paper is \"nowhere\", or the answer to a question of ours is not always yes";

/// Why a command did not end well.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A run failed, or a file could not be read or written: exit code 1.
    Run(String),
    /// Bad usage or a bad scenario: exit code 2.
    Usage(String),
    /// The same, where all that there is to say has been said: exit code 2.
    Invalid,
    /// A claim fails under `--strict`, for this reason: exit code 3.
    Claims(&'static str),
    /// An emulation did not keep real time: exit code 4.
    #[cfg(target_os = "linux")]
    Late(String),
    /// Nobody reads standard output any more: nothing is wrong, and nothing more to do.
    Closed,
}

impl Failure {
    /// What goes to standard error, and how the process ends.
    pub(crate) fn report(self) -> ExitCode {
        let (text, code) = match self {
            Self::Run(text) => (text, 1),
            Self::Usage(text) => (text, 2),
            Self::Invalid => (String::new(), 2),
            Self::Claims(why) => (why.to_owned(), 3),
            #[cfg(target_os = "linux")]
            Self::Late(text) => (text, 4),
            Self::Closed => (String::new(), 0),
        };
        if !text.is_empty() {
            crate::output::complain(&text);
        }
        ExitCode::from(code)
    }

    /// What could not be read: exit code 1, where all that there is to say has been said.
    pub(crate) const fn unread() -> Self {
        Self::Run(String::new())
    }

    /// For `map_err` on what happens during a run.
    pub(crate) fn run(error: impl Display) -> Self {
        Self::Run(error.to_string())
    }
}

impl From<io::Error> for Failure {
    /// Of writing to standard output.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Run(format!("standard output: {error}")),
        }
    }
}
