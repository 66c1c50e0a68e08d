//! The keeper.

use std::process::ExitCode;

/// The hidden subcommand of the door.
pub const COMMAND: &str = "keep-namespaces";

/// What the door calls for the hidden subcommand [`COMMAND`], with the arguments behind it.
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}
