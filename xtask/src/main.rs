//! Developer tasks: `cargo xtask <verb>`.
//!
//! `test` is the command that CI runs, so both have the same result. The repository's rules that no
//! compiler checks are in `tidy`, as ordinary tests.

#![expect(clippy::print_stdout, reason = "a developer's tool speaks to a terminal")]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "steps are timed by the wall clock; nothing here is part of a simulation"
)]

mod aarch64;
mod changed;
mod gstreamer;
mod guide;
mod laboratory;
mod package;
mod python;
mod runner;
mod shared;
mod site;
mod skipped;
mod steps;
mod studies;
mod suite;
#[cfg(test)]
mod tidy;
mod web;

use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;
use suite::{Extent, Package};
use xtask::drivers;
use xtask::shell::{self, Outcome, cargo, run};

/// Developer tasks of Fairwave.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", after_help = with_drivers())]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

/// The tasks.
#[derive(Subcommand)]
enum Verb {
    /// Install the packages for the tests and run all tests. This is the command that CI runs.
    Test {
        /// Instead: the tests that measure in real time, one at a time, on an otherwise idle
        /// machine.
        #[arg(long, conflicts_with_all = ["slow", "changed"])]
        realtime: bool,
        /// Also: full property-test counts, theory in release, fuzzing, the full studies.
        #[arg(long, conflicts_with = "changed")]
        slow: bool,
        /// Only tests that changes since this commit can affect, uncommitted files included.
        #[arg(long, value_name = "COMMIT", num_args = 0..=1, default_missing_value = "HEAD")]
        changed: Option<String>,
    },
    /// The same as `test`.
    Ci,
    /// Only format, lints and the repository's rules: a minute, before each commit.
    Tidy,
    /// Rewrite every golden file from the code's present output. Read the diff.
    Golden,
    /// Run the benchmarks.
    Bench,
    /// Fuzz every target for a number of seconds.
    Fuzz {
        /// Seconds for each target.
        #[arg(long, default_value_t = 60)]
        seconds: u32,
        /// Only compile the targets.
        #[arg(long, conflicts_with = "seconds")]
        check: bool,
    },
    /// Rewrite generated files: the scenario schema, man pages and completions.
    Gen,
    /// Build the documentation site in target/site; a link that leads nowhere is an error.
    Site,
    /// Make packages and try them; most are in target/package, wheels in target/python/wheels.
    Package {
        /// Their kinds.
        #[arg(value_enum, default_values = ["deb", "static"])]
        kinds: Vec<Package>,
    },
    /// Build the laboratory's page with its WebAssembly module, in target/site/lab.
    Laboratory,
    /// A driver of `benches`, and its arguments.
    #[command(external_subcommand)]
    Driver(Vec<OsString>),
}

/// The names of the drivers, for the end of the help.
fn with_drivers() -> String {
    let names = drivers::NAMES.join(", ");
    format!(
        "Measurements, guests and captures, compiled from benches/ when called:\n  {names}\n\
         `cargo xtask NAME --help` describes each."
    )
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().verb {
        Verb::Test { changed: Some(base), .. } => suite::test(&Extent::Changed(base)),
        Verb::Test { realtime: true, .. } => suite::realtime(),
        Verb::Test { slow: true, .. } => suite::test(&Extent::Slow),
        Verb::Test { .. } | Verb::Ci => suite::test(&Extent::Usual),
        Verb::Tidy => suite::tidy(),
        Verb::Golden => golden(),
        Verb::Bench => run(cargo(&["bench", "--workspace", "--benches"])),
        Verb::Fuzz { check: true, .. } => suite::check_fuzz_targets(),
        Verb::Fuzz { seconds, .. } => suite::fuzz(seconds),
        Verb::Gen => suite::generate(),
        Verb::Package { kinds } => suite::package(&kinds),
        Verb::Site => site::build().and_then(|()| laboratory::build()),
        Verb::Laboratory => laboratory::build(),
        Verb::Driver(words) => return drive(&words),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("\nxtask: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a driver, which prints its own errors.
fn drive(words: &[OsString]) -> ExitCode {
    let driven = drivers::command(words)
        .and_then(|mut driver| driver.status().map_err(|error| format!("cargo run: {error}")));
    match driven {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(why) => {
            println!("\nxtask: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the tests named `bless`, which write golden files and are otherwise ignored.
fn golden() -> Outcome {
    run(cargo(&["test", "--workspace", shell::WITH_KERNEL_CC, "--", "--ignored", "bless"]))?;
    run(shell::command("git", &["diff", "--stat"]))
}
