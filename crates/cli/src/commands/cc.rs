//! `fairwave cc`: congestion control algorithms in the kernel.

use crate::args::Common;
use crate::outcome::Failure;
use crate::progress::Progress;
use crate::terminal::Terminal;
use fairwave_cc_tool::command;
use fairwave_cc_tool::command::options::Cc;

/// Runs the command.
pub(crate) fn run(common: &Common, cc: &Cc) -> Result<(), Failure> {
    let mut bar = None;
    let mut progress = |step: Option<fairwave_cc_tool::Progress<'_>>| match step {
        Some(step) => {
            let bar = bar.get_or_insert_with(|| Progress::new(common));
            bar.set(step.fraction);
            bar.say(step.text);
        }
        None => bar = None,
    };
    Ok(command::run(&Terminal::of(common), &mut progress, cc)?)
}
