//! Tests with real namespaces. Where the machine lacks them they are skipped, and say so.

#![cfg(target_os = "linux")]
#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a skipped test must be seen, and a test may fail"
)]

mod inside;
mod programs;
mod whole;

use fairwave_netns::{
    Invocation, KeeperCommand, Namespaces, NodePlan, Plan, Prefix, Program, ProgramPlan,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{Read, Seek, Write, stderr};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The program that runs whole emulations for tests.
const RUNNER: &str = env!("CARGO_BIN_EXE_netns-run");

/// Whether this process can make namespaces. If not, the test is skipped.
fn can() -> bool {
    let missing = fairwave_netns::support().err().map(|missing| missing.to_string());
    let not_root = (!rustix::process::geteuid().is_root()).then(|| "run as root".to_owned());
    let Some(why) = missing.or(not_root) else { return true };
    // Past the harness, which keeps what a passing test prints to itself.
    let _ = writeln!(stderr().lock(), "SKIPPED: it needs namespaces: {why}");
    false
}

/// `sta1` and `server`.
fn plan() -> Plan {
    let node = |name: &str, number: u8| {
        let mut node = NodePlan::new(name);
        let six = Ipv6Addr::new(0xfdfa, 0x1afe, 0, 0, 0, 0, 0, number.into());
        node.addresses =
            vec![Prefix::new(Ipv4Addr::new(10, 0, 0, number), 8), Prefix::new(six, 64)];
        node
    };
    let arguments = vec![fairwave_netns::keeper::COMMAND.into()];
    let keeper = KeeperCommand { program: RUNNER.into(), arguments };
    Plan { nodes: vec![node("sta1", 1), node("server", 2)], keeper, ..Plan::default() }
}

fn build() -> Namespaces {
    Namespaces::build(&plan()).unwrap()
}

/// Starts a line of the shell, whose output goes to the file.
fn start(namespaces: &Namespaces, node: usize, line: &str, output: &File) -> Program {
    let invocation = Invocation::Shell(line.to_owned());
    let output = output.try_clone().unwrap();
    let environment = vec![("GREETING".into(), "hello".into())];
    let plan = ProgramPlan { invocation, output, environment, directory: None };
    namespaces.spawn(node, plan).unwrap()
}

/// Waits for at most 20 seconds for the end of a program.
fn await_end(program: &Program) {
    let max = Timespec { tv_sec: 20, tv_nsec: 0 };
    assert_eq!(poll(&mut [PollFd::new(program, PollFlags::IN)], Some(&max)).unwrap(), 1);
}

/// Runs a line of the shell to its end; what it wrote.
fn output(namespaces: &Namespaces, node: usize, line: &str) -> String {
    let mut file = tempfile::tempfile().unwrap();
    let program = start(namespaces, node, line, &file);
    await_end(&program);
    let mut text = String::new();
    file.rewind().unwrap();
    file.read_to_string(&mut text).unwrap();
    let status = program.try_wait().unwrap().unwrap();
    assert!(status.success(), "{line}: {status}: {text}");
    text
}
