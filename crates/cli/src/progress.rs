//! A progress bar with the time left, for people at a terminal.

use crate::args::Common;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// A progress bar, which is hidden if standard error is no terminal.
pub(crate) struct Progress(ProgressBar);

/// Steps of a full bar.
const FULL: u64 = 1000;

impl Progress {
    /// A bar on standard error if that is a terminal and neither `--quiet` nor `--json` is given.
    pub(crate) fn new(common: &Common) -> Self {
        let watched = std::io::stderr().is_terminal() && !common.quiet && !common.json;
        let target =
            if watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template("{bar:40} {percent:>3} %  {msg}  {eta} left");
        let bar = ProgressBar::with_draw_target(Some(FULL), target);
        Self(bar.with_style(style.expect("the template is valid")))
    }

    /// A hidden bar, for commands that use the terminal for other output.
    #[cfg(target_os = "linux")]
    pub(crate) fn none() -> Self {
        Self(ProgressBar::with_draw_target(Some(FULL), ProgressDrawTarget::hidden()))
    }

    /// Sets the completed fraction of the work, from 0 to 1.
    pub(crate) fn set(&self, fraction: f64) {
        self.0.set_position((fraction.clamp(0.0, 1.0) * FULL as f64) as u64);
    }

    /// Sets the description of the current work.
    pub(crate) fn say(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
