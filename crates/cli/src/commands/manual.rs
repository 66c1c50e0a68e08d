//! `fairwave completions` and `fairwave man`: views of the command line's definition.

use crate::args::Common;
use crate::outcome::Failure;
use crate::{output, place};
use clap::{Args, Command};
use clap_complete::Shell;
use std::fs;
use std::path::Path;

/// Print a completion script for a shell
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

/// Write the manual: to standard output, or one page for each command into --out
#[derive(Args, Debug)]
pub(crate) struct Man {}

/// Prints the completion script of a command line.
pub(super) fn completions(args: &Completions, definition: &Command) -> Result<(), Failure> {
    let (shell, mut shown) = (args.shell, shown(definition));
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut shown, "fairwave", &mut script);
    if shell == Shell::Fish {
        // The generator leaves the values of positional arguments out for this shell alone.
        let condition = "__fish_fairwave_using_subcommand explain";
        let keys = Vec::from_iter(fairwave_scenario::keys()).join(" ");
        script
            .extend(format!("complete -c fairwave -n \"{condition}\" -f -a \"{keys}\"\n").bytes());
    }
    Ok(output::print_raw(&script)?)
}

/// A command line without its hidden commands, which shells would complete.
fn shown(definition: &Command) -> Command {
    let commands = definition.get_subcommands().filter(|command| !command.is_hide_set());
    // clap removes no command from a definition, so that the rest is copied.
    Command::new("fairwave")
        .version(env!("CARGO_PKG_VERSION"))
        .long_about(definition.get_long_about().cloned().unwrap_or_default())
        .args(definition.get_arguments().cloned())
        .subcommands(commands.cloned())
}

/// One page for each command and each of its parts into `--out`, or the main page to standard
/// output.
pub(super) fn man(common: &Common, mut command: Command) -> Result<(), Failure> {
    command.build();
    if common.out.is_none() {
        return Ok(output::print_raw(&page(command)?)?);
    }
    let place = place::choose(common, "man")?;
    let out = place.path();
    pages(out, "fairwave", &command)
}

/// The page of a command, and those of its subcommands: `fairwave-probe-serve`.
fn pages(out: &Path, name: &str, command: &Command) -> Result<(), Failure> {
    let is_shown = |sub: &&Command| sub.get_name() != "help" && !sub.is_hide_set();
    for subcommand in command.get_subcommands().filter(is_shown) {
        pages(out, &format!("{name}-{}", subcommand.get_name()), subcommand)?;
    }
    save(out, name, command.clone().display_name(name.to_owned()))
}

fn save(out: &Path, name: &str, command: Command) -> Result<(), Failure> {
    let path = out.join(format!("{name}.1"));
    let failed = |error| Failure::run(format!("{}: {error}", path.display()));
    fs::write(&path, page(command)?).map_err(failed)
}

fn page(command: Command) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    Ok(text)
}
