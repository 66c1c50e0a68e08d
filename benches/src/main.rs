//! Drivers of measurements, guests and captures: `cargo xtask NAME` compiles and runs them.
//!
//! They run the command, other programs and virtual machines, and write the pages of `results` and
//! the records in `benches/runs`. They are no part of `xtask`, so that the suite does not compile
//! them before its first step.

#![expect(clippy::print_stdout, reason = "a developer's tool speaks to a terminal")]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "real programs are measured by the wall clock"
)]

mod agent;
mod agree;
mod bench_compare;
mod bench_dccp;
mod bench_shake;
mod bench_studies;
mod bench_video;
mod budget;
mod callgrind;
mod captures;
mod cases;
#[cfg(test)]
mod chart;
mod checkout;
mod emulator;
mod forwarding;
mod instructions;
mod lost_acks;
mod machine;
mod minstrel;
mod ns3;
mod packages;
mod pages;
mod probe_links;
mod record;
mod relay;
mod same;
mod scripted;
mod soc_cost;
mod trace;
mod vm;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Drivers of measurements, guests and captures.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    driver: Driver,
}

/// The drivers.
#[derive(Subcommand)]
enum Driver {
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
    /// Count the instructions of each benchmark in two commits, and fail where the later one needs
    /// more than a threshold allows.
    BenchCompare(bench_compare::Options),
    /// Divide the instructions of a frame by the parts of the program, measure how they grow, and
    /// write results/performance.md with its flame graphs.
    Budget(budget::Options),
    /// Run every study from an empty store of results, then from the full one, and print seconds
    /// and memory.
    BenchStudies(bench_studies::Options),
    /// Measure, as root, the cost of sharing an interface by SoC: time per packet beside a FIFO,
    /// and the access point of 200 stations.
    BenchSoc(soc_cost::Options),
    /// Carry one flow over several emulated paths by the code of `fairwave shake` and by the
    /// kernel's MPTCP, and write the shares of both to results/emulated/shake-paths.md.
    BenchShake(bench_shake::Options),
    /// Carry CCID 3 and the kernel's Reno and CUBIC over the same lossy paths, beside the
    /// simulator, and write their rates to results/emulated/ccid3-paths.md.
    BenchDccp(bench_dccp::Options),
    /// Stream ffmpeg's test source across a handover by `fairwave dccp relay`, TCP, UDP and RTP
    /// with GCC, and write the judgement of its pictures to results/emulated/video-handover.md.
    BenchVideo(bench_video::Options),
    /// Make captures with real programs over paths with a known limit, let `fairwave trace` judge
    /// them, and write its accuracy to results/captures.md.
    Captures(captures::Options),
    /// Run inputs that once failed, from a directory outside the project, and check each output.
    Cases(cases::Options),
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
    /// Check that this tree computes the same as a commit: run directories of all scenarios and of
    /// the quick studies, byte by byte.
    Same(same::Options),
    /// Build `fairwave-agent` for routers: static, at most 2 MiB, for x86_64, aarch64, armv7 and
    /// mipsel.
    Agent {
        /// Prefixes of the targets' names; all targets if none is given.
        targets: Vec<String>,
    },
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().driver {
        Driver::BenchNs3(options) => ns3::bench(&options),
        Driver::Budget(options) => budget::budget(&options),
        Driver::CompareNs3(options) => ns3::goodput::compare(&options),
        Driver::Ns3Minstrel(options) => ns3::minstrel::compare(&options),
        Driver::CompareMinstrel => minstrel::compare(),
        Driver::Agree(options) => agree::agree(&options),
        Driver::LostAcks(options) => lost_acks::lost_acks(&options),
        Driver::BenchTrace(options) => trace::bench(&options),
        Driver::BenchEmulate(options) => emulator::bench(&options),
        Driver::BenchForwarding(options) => forwarding::bench(&options),
        Driver::BenchProxy(options) => relay::bench(&options),
        Driver::BenchCompare(options) => bench_compare::bench(&options),
        Driver::BenchStudies(options) => bench_studies::bench(&options),
        Driver::BenchSoc(options) => soc_cost::bench(&options),
        Driver::BenchShake(options) => bench_shake::bench(&options),
        Driver::BenchDccp(options) => bench_dccp::bench(&options),
        Driver::BenchVideo(options) => bench_video::bench(&options),
        Driver::Captures(options) => captures::captures(&options),
        Driver::Cases(options) => cases::cases(&options),
        Driver::Vm { show } => vm::vm(show),
        Driver::ProbeLinks(options) => probe_links::probe_links(&options),
        Driver::Pages(options) => pages::pages(&options),
        Driver::Same(options) => same::same(&options),
        Driver::Agent { targets } => agent::agent(&targets),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("\nxtask: {why}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use std::fs;
    use xtask::drivers::NAMES;
    use xtask::shell::root;

    #[test]
    fn xtask_knows_every_driver() {
        let command = Cli::command();
        let mut names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        names.sort_unstable();
        assert_eq!(names, NAMES, "xtask/src/drivers.rs");
    }

    #[test]
    fn drivers_in_documents_take_their_arguments() {
        let mut found = 0;
        for document in ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"] {
            let text = fs::read_to_string(root().join(document)).expect("it can be read");
            for line in text.lines().filter(|line| line.starts_with("cargo xtask ")) {
                let words = line.split('#').next().unwrap_or_default().split_whitespace().skip(1);
                let words: Vec<&str> = words.collect();
                if NAMES.contains(&words[1]) {
                    let parsed = Cli::command().try_get_matches_from(&words);
                    assert!(parsed.is_ok(), "{document}: {line}: {}", parsed.unwrap_err());
                    found += 1;
                }
            }
        }
        assert!(found > 10, "{found} lines");
    }
}
