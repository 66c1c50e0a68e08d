//! `fairwave proxy`: TCP connections on their way to a server, with target rates.

use crate::args::Common;
use crate::outcome::Failure;
use crate::terminal::Terminal;
use fairwave_proxy::command::{self, Proxy};

/// Relays until it is interrupted.
pub(crate) fn run(common: &Common, proxy: &Proxy) -> Result<(), Failure> {
    Ok(command::run(Terminal::of(common), proxy)?)
}
