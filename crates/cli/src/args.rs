//! Options that all commands accept, and the commands on which each of them has an effect.

use clap::{Arg, Args, Command};
use fairwave_units::Seed;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Options of every command.
#[derive(Args, Debug)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Common {
    /// Print JSON, and nothing else, to standard output
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Master seed, instead of the scenario's
    #[arg(long, global = true, value_name = "N")]
    pub(crate) seed: Option<Seed>,
    /// Runs at the same time; never changes a result [default: available processors]
    #[arg(long, short, global = true, value_name = "N", value_parser = jobs)]
    jobs: Option<NonZeroUsize>,
    /// Directory for results; must be empty or new [default: a new directory in fairwave-out]
    #[arg(long, short, global = true, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write into --out even if it is not empty
    #[arg(long, global = true)]
    pub(crate) force: bool,
    /// No progress on standard error
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Set a key of the scenario, as if it were in the file; may be repeated
    #[arg(long = "set", global = true, value_name = "KEY=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<String>,
}

/// The common options that have an effect on a command, besides `--quiet`. A subcommand without
/// an entry has those of its parent command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uses {
    /// Its names, such as `probe serve`.
    command: &'static str,
    /// The options, separated by blanks.
    options: &'static str,
    /// Value and help text of `--out`, for a command that writes no files without it.
    out: Option<(&'static str, &'static str)>,
}

/// The common options with an effect on a command.
pub(crate) const fn on(command: &'static str, options: &'static str) -> Uses {
    Uses { command, options, out: None }
}

impl Uses {
    /// The same with a help text of `--out`.
    pub(crate) const fn out(self, help: &'static str) -> Self {
        self.file("DIR", help)
    }

    /// The same with a name of the value of `--out`, where that is no directory.
    pub(crate) const fn file(self, value: &'static str, help: &'static str) -> Self {
        Self { out: Some((value, help)), ..self }
    }

    fn has(&self, option: &str) -> bool {
        self.options.split(' ').any(|known| known == option)
    }
}

/// Maximum number of simultaneous runs; each needs a thread.
const MAX_JOBS: usize = 1024;

impl Common {
    /// Maximum number of simultaneous runs.
    pub(crate) fn jobs(&self) -> NonZeroUsize {
        let available = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.jobs.unwrap_or_else(available)
    }

    /// Returns an option that was given although it has no effect on this command.
    pub(crate) fn idle_option(&self, command: &str, uses: &[Uses]) -> Option<&'static str> {
        let given = [
            (self.json, "json"),
            (self.seed.is_some(), "seed"),
            (self.jobs.is_some(), "jobs"),
            (self.out.is_some(), "out"),
            (self.force, "force"),
            (!self.set.is_empty(), "set"),
        ];
        let mut idle =
            given.into_iter().filter(|(given, name)| *given && !acts(name, command, uses));
        idle.next().map(|(_, name)| name)
    }
}

/// Whether an option has an effect on a command.
fn acts(option: &str, command: &str, uses: &[Uses]) -> bool {
    match (uses.iter().find(|of| of.command == command), command.rsplit_once(' ')) {
        _ if option == "quiet" => true,
        (Some(of), _) => of.has(option),
        (None, Some((parent, _))) => acts(option, parent, uses),
        (None, None) => false,
    }
}

/// Adds the common options to each command below this one, and hides those without an effect
/// there. clap does not propagate a global option to a command that defines the same option.
pub(crate) fn on_commands(command: Command, names: &str, common: &[Arg], uses: &[Uses]) -> Command {
    command.mut_subcommands(|subcommand| {
        let names = format!("{names} {}", subcommand.get_name()).trim_start().to_owned();
        let options = common.iter().map(|option| of_command(option.clone(), &names, uses));
        let subcommand = subcommand.args(options);
        on_commands(subcommand, &names, common, uses)
    })
}

fn of_command(option: Arg, command: &str, uses: &[Uses]) -> Arg {
    let is_idle = !acts(option.get_id().as_str(), command, uses);
    let own = uses.iter().find(|of| of.command == command && option.get_id() == "out");
    let help = own.and_then(|of| of.out);
    let option = match help {
        Some((value, help)) => option.help(help).value_name(value),
        None => option,
    };
    option.hide(is_idle)
}

fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok().filter(|number: &NonZeroUsize| number.get() <= MAX_JOBS);
    number.ok_or_else(|| format!("expected a number from 1 to {MAX_JOBS}"))
}

/// `key=value`, kept as it was written: the scenario's parser names its place.
pub(crate) fn assignment(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((key, _)) if !key.trim().is_empty() => Ok(text.to_owned()),
        _ => Err("expected KEY=VALUE, such as duration='20 s'".to_owned()),
    }
}
