//! The `fairwave` command: parses arguments, prints reports and returns the exit code. The work and
//! the reports are those of the crates below.
//!
//! It is a library, so that the native module of the Python package holds the command, too: the
//! wheel has all code once.

mod args;
mod clock;
mod commands;
mod outcome;
mod output;
mod own;
mod place;
mod progress;
mod schema;
mod stop;
mod store;
#[cfg(target_os = "linux")]
mod terminal;

use commands::Command;
use fairwave_lab::run::Watch;
pub use fairwave_lab::store::{Source, Sourced};
use outcome::Failure;
use std::ffi::OsString;
use std::path::PathBuf;

/// Runs the command line `words`, of which the first is the program's name, and returns the exit
/// code. Help and wrong arguments end the process. `program` starts this command again, as a keeper
/// or a proxy; `None` stands for the executable of this process.
///
/// To be called once, by the main thread: it reacts to signals.
pub fn run(words: Vec<OsString>, program: Option<PathBuf>) -> u8 {
    own::set(&words, program);
    let read = commands::read(words);
    let (cli, command) = read.unwrap_or_else(|error| error.exit());
    if let Some(option) = cli.idle_option(&command) {
        return Failure::Usage(format!("--{option} has no effect on this command")).report();
    }
    match cli.command.run(&cli.common) {
        Ok(()) => 0,
        Err(failure) => failure.report(),
    }
}

/// Reruns a study, as these words of `fairwave reproduce` ask for; returns the content of `--json`
/// in place of printing it. `source`, if there is one, makes the runs that the store lacks, on as
/// many threads as `--jobs` says. `watch` gets the progress of each part of the study, and can stop
/// it.
///
/// # Errors
/// The message and the exit code of the command.
pub fn reproduce(
    words: Vec<OsString>,
    source: Option<Source>,
    watch: Watch<'_>,
) -> Result<serde_json::Value, (u8, String)> {
    let (cli, _) = commands::read(words).map_err(|error| (2, error.to_string()))?;
    let Command::Reproduce(args) = &cli.command else {
        return Err((2, "this is no `fairwave reproduce`".to_owned()));
    };
    commands::answer(&cli.common, args, source, watch).map_err(Failure::into_message)
}
