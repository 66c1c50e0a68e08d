//! `fairwave doctor`: whether this machine can do what the tools need.

use crate::args::Common;
use crate::outcome::Failure;
use crate::output;
use clap::Args;
use fairwave_emulator::machine::DoctorOutput;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  fairwave doctor
  fairwave doctor --json
  sudo fairwave doctor

The exit code is 0, whatever is missing: each command reports what it is missing.";

/// Report what this machine can run: namespaces, timers, BPF, radios, programs, each with a remedy
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Doctor {}

/// Examines the machine and shows its abilities.
pub(super) fn run(common: &Common, _: &Doctor) -> Result<(), Failure> {
    let found = DoctorOutput::examine();
    match common.json {
        true => Ok(output::print_json(&json!(found))?),
        false => Ok(output::print(&found.text())?),
    }
}
