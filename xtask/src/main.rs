//! One door for developers: `cargo xtask <verb>`.
//!
//! `test` is what CI runs, so a green run here is a green run there. The rules of the house that
//! no compiler checks stand in `tidy`, as ordinary tests.

#![expect(clippy::print_stdout, reason = "a developer's tool speaks to a terminal")]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "steps are timed by the wall clock; nothing here is part of a simulation"
)]

mod agent;
mod agree;
mod bench_studies;
mod captures;
mod changed;
#[cfg(test)]
mod chart;
mod compare;
mod emulator;
mod forwarding;
mod lost_acks;
mod minstrel;
mod ns3;
mod pages;
mod probe_links;
mod record;
mod relay;
mod runner;
mod shared;
mod shell;
mod soc_cost;
mod suite;
mod system;
#[cfg(test)]
mod tidy;
mod trace;
mod vm;
mod workspace;

use clap::{Parser, Subcommand};
use shell::{Outcome, cargo, run};
use std::path::PathBuf;
use std::process::ExitCode;
use suite::Extent;

/// Developer tasks of Fairwave.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

/// What to do.
#[derive(Subcommand)]
enum Verb {
    /// Install what the tests need and run every one of them. This is what CI runs.
    Test {
        /// Instead: the tests that measure in real time, one at a time. Leave the machine alone.
        #[arg(long, conflicts_with_all = ["slow", "changed"])]
        realtime: bool,
        /// Also: full property-test counts, theory in release, fuzzing, the full studies.
        #[arg(long, conflicts_with = "changed")]
        slow: bool,
        /// Only what the change since this commit can affect, files not committed included.
        #[arg(long, value_name = "COMMIT", num_args = 0..=1, default_missing_value = "HEAD")]
        changed: Option<String>,
    },
    /// The same as `test`.
    Ci,
    /// Only format, lints and the rules of the house: a minute, before each commit.
    Tidy,
    /// Bless every golden file: rewrites them from what the code does now. Read the diff.
    Golden,
    /// Run the benchmarks.
    Bench,
    /// Build ns-3's programs, run both simulators alternately, and print what each costs.
    BenchNs3(ns3::Options),
    /// Print a table of results/validation.md that compares cells with ns-3: runs ours, and ns-3
    /// if asked.
    CompareNs3(ns3::goodput::Options),
    /// Print the table of results/validation.md on ns-3's Minstrel-HT: runs ns-3 alone, about half
    /// an hour.
    Ns3Minstrel(ns3::minstrel::Options),
    /// Compile Linux's Minstrel-HT, have it choose rates beside ours, and print what both carry.
    CompareMinstrel,
    /// Run studies/emulator/agreement in the simulator and, on the kernel's sockets, in the
    /// emulator; print both and what differs.
    Agree(agree::Options),
    /// Drop ACKs on purpose and print how many the kernel's law found lost, and that it found none
    /// where none was dropped.
    LostAcks(lost_acks::Options),
    /// Make large captures, have them read here and by other programs, and print what that costs.
    BenchTrace(trace::Options),
    /// Find the highest rates that the emulator carries in time, a bare forwarder beside it.
    BenchEmulate(emulator::Options),
    /// Measure what forwarding a packet costs in each queue, and record it for the study `socps`.
    BenchForwarding(forwarding::Options),
    /// Measure what the proxy carries, and what it adds to round trips; directly beside.
    BenchProxy(relay::Options),
    /// Run every study from an empty store of results, and again from the full one, and print
    /// seconds and memory.
    BenchStudies(bench_studies::Options),
    /// Measure, as root, what sharing an interface by SoC costs: time a packet beside a FIFO, and
    /// the access point of 200 stations.
    BenchSoc(soc_cost::Options),
    /// Make captures with real programs over paths whose limit is known, have `fairwave trace`
    /// judge them, and write how often it was right to results/captures.md.
    Captures(captures::Options),
    /// Boot Debian's kernel 6.1 in a virtual machine, and load and use the laws of `fairwave cc`
    /// there; or have an access point and stations there, and write a page of what is seen.
    Vm {
        /// What runs in it.
        #[arg(value_enum, default_value = "cc")]
        show: vm::Show,
    },
    /// Probe links whose queues are known, here, in a virtual machine and in the emulator, and
    /// write how often `fairwave probe` was right to results/probe-links.md.
    ProbeLinks(probe_links::Options),
    /// Run studies in full, write their pages in results/studies, and count their verdicts in
    /// README.
    Pages(pages::Options),
    /// Build `fairwave-agent` for routers: static, at most 2 MiB, for x86_64, aarch64, armv7 and
    /// mipsel.
    Agent {
        /// What the names of targets begin with; all of them without one.
        targets: Vec<String>,
    },
    /// Say whether two directories of runs hold the same bytes.
    Same {
        /// One of them.
        left: PathBuf,
        /// The other.
        right: PathBuf,
    },
    /// Fuzz every target for so many seconds each.
    Fuzz {
        /// Seconds for each target.
        #[arg(long, default_value_t = 60)]
        seconds: u32,
    },
    /// Rewrite generated files: the scenario schema, man pages and completions.
    Gen,
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
        Verb::BenchNs3(options) => ns3::bench(&options),
        Verb::CompareNs3(options) => ns3::goodput::compare(&options),
        Verb::Ns3Minstrel(options) => ns3::minstrel::compare(&options),
        Verb::CompareMinstrel => minstrel::compare(),
        Verb::Agree(options) => agree::agree(&options),
        Verb::LostAcks(options) => lost_acks::lost_acks(&options),
        Verb::BenchTrace(options) => trace::bench(&options),
        Verb::BenchEmulate(options) => emulator::bench(&options),
        Verb::BenchForwarding(options) => forwarding::bench(&options),
        Verb::BenchProxy(options) => relay::bench(&options),
        Verb::BenchStudies(options) => bench_studies::bench(&options),
        Verb::BenchSoc(options) => soc_cost::bench(&options),
        Verb::Captures(options) => captures::captures(&options),
        Verb::Vm { show } => vm::vm(show),
        Verb::ProbeLinks(options) => probe_links::probe_links(&options),
        Verb::Pages(options) => pages::pages(&options),
        Verb::Agent { targets } => agent::agent(&targets),
        Verb::Same { left, right } => compare::same(&left, &right),
        Verb::Fuzz { seconds } => suite::fuzz(seconds),
        Verb::Gen => suite::generate(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("\nxtask: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Golden files are written by tests named `bless`, which are ignored otherwise.
fn golden() -> Outcome {
    run(cargo(&["test", "--workspace", shell::WITH_LAWS, "--", "--ignored", "bless"]))?;
    run(shell::command("git", &["diff", "--stat"]))
}
