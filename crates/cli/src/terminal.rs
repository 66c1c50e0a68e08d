//! Standard output and standard error, for the commands of live tools.

use crate::args::Common;
use crate::{output, stop};
use fairwave_console::{Console, Failure};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The console of this process.
#[derive(Clone, Copy)]
pub(crate) struct Terminal {
    is_json: bool,
    is_quiet: bool,
}

impl Terminal {
    /// The console in the form that the common options request.
    pub(crate) fn of(common: &Common) -> Self {
        Self { is_json: common.json, is_quiet: common.quiet }
    }
}

impl Console for Terminal {
    fn is_json(&self) -> bool {
        self.is_json
    }

    fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    fn print(&self, text: &str) -> Result<(), Failure> {
        Ok(output::print(text)?)
    }

    fn print_raw(&self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(output::print_raw(bytes)?)
    }

    fn note(&self, text: &str) {
        output::note(text);
    }

    fn warn(&self, text: &str) {
        output::warn(text);
    }

    fn complain(&self, text: &str) {
        output::complain(text);
    }

    fn stop(&self) -> Result<Arc<AtomicBool>, Failure> {
        stop::on(&stop::SIGNALS)
    }
}
