//! State of the access points on this machine.

use crate::args::Common;
use crate::args::soc::Watching;
use crate::outcome::Failure;
use crate::output;
use fairwave_soc_tool::Error;
use fairwave_soc_tool::command::tasks::{self, Told, status_told};
use fairwave_soc_tool::status::Status;

/// Converts an error of the agent to the failure of this command.
pub(super) fn failure(error: Error) -> Failure {
    match error {
        Error::Usage(text) => Failure::Usage(text),
        _ => Failure::run(error),
    }
}

/// The requested access points.
pub(super) fn found(watching: &Watching) -> Result<Vec<Status>, Failure> {
    tasks::found(watching.interface.as_deref()).map_err(failure)
}

/// Shows one access point.
pub(super) fn show(common: &Common, status: &Status) -> Result<(), Failure> {
    print(common, &status_told(status))
}

/// Prints a result in the requested form.
pub(super) fn print(common: &Common, told: &Told) -> Result<(), Failure> {
    match common.json {
        true => Ok(output::print_json(&told.value)?),
        false => Ok(output::print(&told.words)?),
    }
}
