//! A progress bar with the time left, for people at a terminal.

use crate::args::Common;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// A bar over thousandths of the work, or nothing where nobody looks.
pub(crate) struct Progress(ProgressBar);

/// Steps of a full bar.
const FULL: u64 = 1000;

impl Progress {
    /// Shown on standard error if that is a terminal and neither `--quiet` nor `--json` is on.
    pub(crate) fn new(common: &Common) -> Self {
        let watched = std::io::stderr().is_terminal() && !common.quiet && !common.json;
        let target =
            if watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template("{bar:40} {percent:>3} %  {msg}  {eta} left");
        let bar = ProgressBar::with_draw_target(Some(FULL), target);
        Self(bar.with_style(style.expect("the template is valid")))
    }

    /// Shown nowhere: somebody else has the terminal.
    #[cfg(target_os = "linux")]
    pub(crate) fn none() -> Self {
        Self(ProgressBar::with_draw_target(Some(FULL), ProgressDrawTarget::hidden()))
    }

    /// So much of the work is done, 0 to 1.
    pub(crate) fn set(&self, fraction: f64) {
        self.0.set_position((fraction.clamp(0.0, 1.0) * FULL as f64) as u64);
    }

    /// What is being done.
    pub(crate) fn say(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
