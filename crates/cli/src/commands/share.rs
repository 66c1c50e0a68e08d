//! `fairwave share`: this host's uplink for hosts near by.

use crate::args::Common;
use crate::outcome::Failure;
use crate::terminal::Terminal;
use fairwave_share_tool::command::{self, Share};

/// Lends, makes a key, or lists lenders.
pub(crate) fn run(common: &Common, share: &Share) -> Result<(), Failure> {
    Ok(command::run(&Terminal::of(common), share)?)
}
