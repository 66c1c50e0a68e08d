//! Running other programs.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Feature of the command with `fairwave cc`, whose loader needs headers that tests install.
pub const WITH_KERNEL_CC: &str = "--features=fairwave-cli/kernel-cc";

/// Result of a step; the error is a message for the terminal.
pub type Outcome = Result<(), String>;

/// The workspace's root.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies in the workspace").to_path_buf()
}

/// `program args...`, to be run in the workspace's root.
pub fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(root());
    command
}

/// `cargo args...`.
pub fn cargo(args: &[&str]) -> Command {
    command("cargo", args)
}

/// Runs a command with its output on the terminal.
pub fn run(mut command: Command) -> Outcome {
    let line = shown(&command);
    println!("$ {line}");
    ended(&line, &mut command)
}

/// The same with all output on standard error, since standard output is reserved for the result.
pub fn run_aside(mut command: Command) -> Outcome {
    let line = shown(&command);
    note(&format!("$ {line}"));
    ended(&line, command.stdout(io::stderr()))
}

/// Prints a line to standard error. An error is ignored: the reader may be gone.
pub fn note(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn ended(line: &str, command: &mut Command) -> Outcome {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{line}` ended with {status}")),
        Err(error) => Err(format!("`{line}` could not start: {error}")),
    }
}

/// Whether a command runs and succeeds; its output is discarded.
pub fn succeeds(mut command: Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// The command as a user would type it.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
