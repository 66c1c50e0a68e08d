//! `fairwave probe`: the buffer probe on real networks.

use crate::args::Common;
use crate::outcome::Failure;
use crate::terminal::Terminal;
use fairwave_probe_tool::command::{self, Probe};

/// Serves, or probes a host.
pub(crate) fn run(common: &Common, probe: &Probe) -> Result<(), Failure> {
    Ok(command::run(&Terminal::of(common), common.out.as_deref(), probe)?)
}
