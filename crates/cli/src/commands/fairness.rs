//! `fairwave fairness`: how stations share a real network.

use crate::args::Common;
use crate::outcome::Failure;
use crate::terminal::Terminal;
use fairwave_fairness::command;
use fairwave_fairness::command::options::Fairness;

/// Serves, takes part, shows or compares.
pub(crate) fn run(common: &Common, fairness: &Fairness) -> Result<(), Failure> {
    Ok(command::run(&Terminal::of(common), common.out.as_deref(), fairness)?)
}
