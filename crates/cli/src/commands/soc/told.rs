//! What access points on this machine know and do.

use crate::args::Common;
use crate::args::soc::Watching;
use crate::outcome::Failure;
use crate::output;
use fairwave_soc_tool::Error;
use fairwave_soc_tool::command::tasks::{self, Told, status_told};
use fairwave_soc_tool::status::Status;

/// What the agent's errors mean to whoever typed the command.
pub(super) fn failure(error: Error) -> Failure {
    match error {
        Error::Usage(text) => Failure::Usage(text),
        _ => Failure::run(error),
    }
}

/// The access points that are meant.
pub(super) fn found(watching: &Watching) -> Result<Vec<Status>, Failure> {
    tasks::found(watching.interface.as_deref()).map_err(failure)
}

/// Shows one access point.
pub(super) fn show(common: &Common, status: &Status) -> Result<(), Failure> {
    print(common, &status_told(status))
}

/// Prints a result as it is asked for.
pub(super) fn print(common: &Common, told: &Told) -> Result<(), Failure> {
    match common.json {
        true => Ok(output::print_json(&told.value)?),
        false => Ok(output::print(&told.words)?),
    }
}
