//! The command `fairwave` inside Python's interpreter.

use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// Runs the command with these words, of which the first is its name, and ends the process with its
/// exit code. `program` is the executable file that starts the command again. Python's standard
/// output has to be empty: it is not written any more.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, words: Vec<OsString>, program: PathBuf) {
    // The standard library's exit writes what is left in the buffers of Rust's standard output.
    py.detach(|| std::process::exit(fairwave_cli::run(words, Some(program)).into()))
}
