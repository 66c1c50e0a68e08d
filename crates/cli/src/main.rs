//! The `fairwave` command: parses arguments, prints reports and sets the exit code. The work and
//! the reports are those of the crates below.

mod args;
mod clock;
mod commands;
mod outcome;
mod output;
mod place;
mod progress;
mod schema;
mod stop;
mod store;
#[cfg(target_os = "linux")]
mod terminal;

use outcome::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let read = commands::read(std::env::args_os());
    let (cli, command) = read.unwrap_or_else(|error| error.exit());
    if let Some(option) = cli.idle_option(&command) {
        return Failure::Usage(format!("--{option} has no effect on this command")).report();
    }
    match cli.command.run(&cli.common) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
