//! Standard output and standard error of a command, and the reasons why it fails.

use serde_json::Value;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Reason why a command of a tool failed.
#[derive(Debug)]
pub enum Failure {
    /// A step failed, or a file could not be read or written: exit code 1.
    Run(String),
    /// Bad usage: exit code 2.
    Usage(String),
    /// The reader of standard output has closed it, which is no error: the command just ends.
    Closed,
}

impl Failure {
    /// Converts an error of a step, for `map_err`.
    pub fn run(error: impl Display) -> Self {
        Self::Run(error.to_string())
    }

    /// Converts an error about a file or directory, for `map_err`.
    pub fn at<E: Display>(path: &Path) -> impl FnOnce(E) -> Self + use<'_, E> {
        move |error| Self::Run(format!("{}: {error}", path.display()))
    }
}

impl From<io::Error> for Failure {
    /// Converts an error in writing to standard output.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Run(format!("standard output: {error}")),
        }
    }
}

/// Standard output and standard error of a command, in the form that its options request. Programs
/// implement it; libraries do not print.
pub trait Console {
    /// Whether standard output is reserved for JSON.
    fn is_json(&self) -> bool;
    /// Whether progress is unwanted.
    fn is_quiet(&self) -> bool;
    /// Prints a text to standard output, with its styles only on a terminal.
    ///
    /// # Errors
    /// If standard output is closed or cannot be written.
    fn print(&self, text: &str) -> Result<(), Failure>;
    /// Prints bytes to standard output as they are.
    ///
    /// # Errors
    /// If standard output is closed or cannot be written.
    fn print_raw(&self, bytes: &[u8]) -> Result<(), Failure>;
    /// Prints a note on the progress of the command to standard error.
    fn note(&self, text: &str);
    /// Prints a warning about a valid result to standard error.
    fn warn(&self, text: &str);
    /// Prints an error that does not end the command to standard error.
    fn complain(&self, text: &str);
    /// Returns a flag that the first signal to end the command sets. The second signal ends the
    /// process at once.
    ///
    /// # Errors
    /// If the signals cannot be handled.
    fn stop(&self) -> Result<Arc<AtomicBool>, Failure>;

    /// Prints the one JSON value of a command.
    ///
    /// # Errors
    /// If standard output is closed or cannot be written.
    fn print_json(&self, value: &Value) -> Result<(), Failure> {
        self.print_raw(format!("{value:#}\n").as_bytes())
    }

    /// Prints one of several JSON values, on a line of its own.
    ///
    /// # Errors
    /// If standard output is closed or cannot be written.
    fn print_json_line(&self, value: &Value) -> Result<(), Failure> {
        self.print_raw(format!("{value}\n").as_bytes())
    }

    /// Prints a message that is no result: to standard error if standard output is reserved for
    /// JSON.
    ///
    /// # Errors
    /// If standard output is closed or cannot be written.
    fn inform(&self, text: &str) -> Result<(), Failure> {
        match self.is_json() {
            true if self.is_quiet() => {}
            true => self.note(text.trim_end()),
            false => self.print(text)?,
        }
        Ok(())
    }

    /// Prints a result: the JSON value, or the text if JSON is not requested.
    ///
    /// # Errors
    /// If standard output is closed or cannot be written.
    fn show(&self, value: &Value, text: &str) -> Result<(), Failure> {
        if self.is_json() { self.print_json(value) } else { self.print(text) }
    }
}
