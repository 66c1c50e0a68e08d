//! `fairwave web`: the laboratory's page from this machine.

use crate::args::Common;
use crate::outcome::Failure;
use crate::terminal::Terminal;
use fairwave_web::command::{self, Web};
use std::ffi::OsStr;

/// Serves the page until it is interrupted.
pub(crate) fn run(common: &Common, web: &Web) -> Result<(), Failure> {
    let open = |address: &str| {
        super::show::browse(OsStr::new(address), true).map_err(|usual| {
            fairwave_console::Failure::Run(format!(
                "neither $BROWSER nor {usual} opens {address}: set BROWSER to the name of a \
                 browser, or open the address by hand with --no-open"
            ))
        })
    };
    Ok(command::run(&Terminal::of(common), web, open)?)
}
