//! `fairwave shake`: connections of applications over all links of a host.

use crate::args::Common;
use crate::outcome::Failure;
use crate::terminal::Terminal;
use fairwave_shake_tool::command::{self, Shake};

/// Serves, connects or makes a key.
pub(crate) fn run(common: &Common, shake: &Shake) -> Result<(), Failure> {
    Ok(command::run(Terminal::of(common), shake)?)
}
