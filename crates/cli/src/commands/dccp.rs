//! `fairwave dccp`: datagrams with congestion control on real networks.

use crate::args::Common;
use crate::outcome::Failure;
use crate::terminal::Terminal;
use fairwave_dccp_tool::command::{self, Dccp};

/// Serves or sends.
pub(crate) fn run(common: &Common, dccp: &Dccp) -> Result<(), Failure> {
    Ok(command::run(&Terminal::of(common), dccp)?)
}
