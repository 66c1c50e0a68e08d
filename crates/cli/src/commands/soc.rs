//! `fairwave soc`: stations that report their SoC, and an access point that schedules by it.

use crate::args::Common;
use crate::outcome::Failure;
use crate::terminal::Terminal;
use fairwave_soc_tool::command::program::{self, Soc};

/// Runs the command.
pub(crate) fn run(common: &Common, soc: &Soc) -> Result<(), Failure> {
    Ok(program::run(&Terminal::of(common), soc)?)
}
