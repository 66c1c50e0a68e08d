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
mod studies;
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
    /// Build ns-3's programs, run both simulators alternately, and print the cost of each.
    BenchNs3(ns3::Options),
    /// Print a table of results/validation.md that compares cells with ns-3. Runs our side, and
    /// ns-3 if requested.
    CompareNs3(ns3::goodput::Options),
    /// Print the table of results/validation.md on ns-3's Minstrel-HT. Runs ns-3 only, for about
    /// half an hour.
    Ns3Minstrel(ns3::minstrel::Options),
    /// Compile Linux's Minstrel-HT, let it and ours choose rates, and print the goodput of both.
    CompareMinstrel,
    /// Run studies/emulator/agreement in the simulator and, on the kernel's sockets, in the
    /// emulator; print both and the differences.
    Agree(agree::Options),
    /// Drop ACKs on purpose and print how many the kernel's algorithm detected as lost, and that it
    /// detected none if none was dropped.
    LostAcks(lost_acks::Options),
    /// Make large captures, read them here and with other programs, and print the cost of each.
    BenchTrace(trace::Options),
    /// Find the highest rates that the emulator carries in time, beside a bare forwarder.
    BenchEmulate(emulator::Options),
    /// Measure the cost of forwarding a packet in each queue, and record it for the study `socps`.
    BenchForwarding(forwarding::Options),
    /// Measure the proxy's capacity and its effect on round-trip times, beside direct connections.
    BenchProxy(relay::Options),
    /// Run every study from an empty store of results, then from the full one, and print seconds
    /// and memory.
    BenchStudies(bench_studies::Options),
    /// Measure, as root, the cost of sharing an interface by SoC: time per packet beside a FIFO,
    /// and the access point of 200 stations.
    BenchSoc(soc_cost::Options),
    /// Make captures with real programs over paths with a known limit, let `fairwave trace` judge
    /// them, and write its accuracy to results/captures.md.
    Captures(captures::Options),
    /// Boot Debian's kernel 6.1 in a virtual machine, and load and use the algorithms of `fairwave
    /// cc` there; or run an access point and stations there, and write the results to a page.
    Vm {
        /// The programs that run in it.
        #[arg(value_enum, default_value = "cc")]
        show: vm::Show,
    },
    /// Probe links with known queues on this machine, in a virtual machine and in the emulator, and
    /// write the accuracy of `fairwave probe` to results/probe-links.md.
    ProbeLinks(probe_links::Options),
    /// Run studies in full, write their pages in results/studies, and count their verdicts in
    /// README.
    Pages(pages::Options),
    /// Build `fairwave-agent` for routers: static, at most 2 MiB, for x86_64, aarch64, armv7 and
    /// mipsel.
    Agent {
        /// Prefixes of the targets' names; all targets if none is given.
        targets: Vec<String>,
    },
    /// Check that two directories of runs contain the same bytes.
    Same {
        /// One of them.
        left: PathBuf,
        /// The other.
        right: PathBuf,
    },
    /// Fuzz every target for a number of seconds.
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

/// Runs the tests named `bless`, which write golden files and are otherwise ignored.
fn golden() -> Outcome {
    run(cargo(&["test", "--workspace", shell::WITH_LAWS, "--", "--ignored", "bless"]))?;
    run(shell::command("git", &["diff", "--stat"]))
}
