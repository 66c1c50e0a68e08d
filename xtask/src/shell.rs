//! Running other programs, and sequences of timed steps.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Feature of the command with `fairwave cc`, whose loader needs headers that tests install.
pub(crate) const WITH_LAWS: &str = "--features=fairwave-cli/kernel-laws";

/// Result of a step; the error is a message for the terminal.
pub(crate) type Outcome = Result<(), String>;

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies in the workspace").to_path_buf()
}

/// `program args...`, to be run in the workspace's root.
pub(crate) fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(root());
    command
}

/// `cargo args...`.
pub(crate) fn cargo(args: &[&str]) -> Command {
    command("cargo", args)
}

/// Runs a command with its output on the terminal.
pub(crate) fn run(mut command: Command) -> Outcome {
    let line = shown(&command);
    println!("$ {line}");
    ended(&line, &mut command)
}

/// The same with all output on standard error, since standard output is reserved for the result.
pub(crate) fn run_aside(mut command: Command) -> Outcome {
    let line = shown(&command);
    note(&format!("$ {line}"));
    ended(&line, command.stdout(io::stderr()))
}

/// Prints a line to standard error. An error is ignored: the reader may be gone.
pub(crate) fn note(line: &str) {
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
pub(crate) fn succeeds(mut command: Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// The command as a user would type it.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Steps one after the other, each with a header and its time. The first failure ends the sequence.
pub(crate) struct Steps {
    started: Instant,
    passed: Vec<(String, f64)>,
}

impl Steps {
    /// An empty sequence.
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), passed: Vec::new() }
    }

    /// Runs one step, and returns its result.
    pub(crate) fn step<T>(
        &mut self,
        title: &str,
        work: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        let begun = Instant::now();
        println!("\n=== {}: {title}", self.passed.len() + 1);
        let outcome = work();
        let seconds = begun.elapsed().as_secs_f64();
        if outcome.is_ok() {
            self.passed.push((title.to_owned(), seconds));
            println!("--- {title}: ok, {seconds:.1} s");
        } else {
            println!("--- {title}: FAILED after {seconds:.1} s");
            let passed = self.passed.len();
            println!("test result: FAILED. {passed} steps ok; 1 failed: {title}");
        }
        outcome
    }

    /// Prints the seconds of each step, and a last line in the style of cargo.
    pub(crate) fn finish(self) -> Outcome {
        let seconds = self.started.elapsed().as_secs_f64();
        println!();
        for (title, seconds) in &self.passed {
            println!("{seconds:>8.1} s  {title}");
        }
        println!(
            "\ntest result: ok. {} steps ok; 0 failed; finished in {seconds:.1}s",
            self.passed.len()
        );
        Ok(())
    }
}
