//! Functions for the tests of the command: running it, and directories for its results.

use serde_json::Value;
use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A sweep of two points and two seeds, a second and a half each.
pub(crate) fn tiny() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tiny.toml")
}

/// A directory that is removed with the value.
pub(crate) fn scratch() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// `fairwave args...`, to be run in `directory`.
pub(crate) fn fairwave(directory: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairwave"));
    command.args(args).current_dir(directory).env_remove("NO_COLOR");
    // Tests must not use the user's own store of results.
    command.env("XDG_CACHE_HOME", directory.join(".cache"));
    command
}

/// Runs the command until it ends.
pub(crate) fn output(directory: &Path, args: &[&str]) -> Output {
    fairwave(directory, args).output().expect("the command starts")
}

/// Runs the command and checks its exit code. Returns standard output and error as text.
pub(crate) fn ends_with(code: i32, directory: &Path, args: &[&str]) -> (String, String) {
    let output = output(directory, args);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it prints UTF-8");
    let (out, err) = (text(output.stdout), text(output.stderr));
    let line = args.join(" ");
    assert_eq!(output.status.code(), Some(code), "fairwave {line}\n{out}\n{err}");
    (out, err)
}

/// Runs the command with `--json` and parses its output.
pub(crate) fn json(directory: &Path, args: &[&str]) -> Value {
    let (out, err) = ends_with(0, directory, &[args, &["--json"]].concat());
    assert_eq!(err, "", "with --json standard error is silent");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

/// Reports that a test is skipped and why, for `cargo xtask test`, which counts such lines on
/// standard error. The macros of `print` would write to the harness, which hides them.
pub(crate) fn skip(why: impl Display) {
    let line = format!("SKIPPED: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("standard error is open");
}

/// Arguments that run the tiny scenario's first point once into `out`.
pub(crate) fn tiny_run(out: &str) -> Vec<String> {
    let scenario = tiny().display().to_string();
    let one_point = "tcp.congestion_control=reno";
    let args = ["run", &scenario, "--set", one_point, "--set", "sweep.seeds=1", "--out", out];
    args.map(str::to_owned).to_vec()
}

/// Lines that tshark prints for the frames that pass `filter`, with checksums verified.
pub(crate) fn frames(capture: &Path, filter: &str) -> Vec<String> {
    tshark(&["-n", "-Y", filter], capture)
}

/// Number of frames that pass each of `filters`, which may not contain a comma, with checksums
/// verified. One run of tshark with these arguments counts all, since each run reads the capture.
pub(crate) fn counts(args: &[&str], capture: &Path, filters: &[&str]) -> Vec<usize> {
    assert!(filters.iter().all(|filter| !filter.contains(',')), "a comma parts filters");
    let statistics = format!("io,stat,0,{}", filters.join(","));
    let lines = tshark(&[args, &["-n", "-q", "-z", &statistics]].concat(), capture);
    // The table has a single row for the whole capture: frames and bytes for each filter.
    let row = lines.iter().find(|line| line.contains("<>")).expect("a row of statistics");
    let cells: Vec<usize> = row.split('|').filter_map(|cell| cell.trim().parse().ok()).collect();
    assert_eq!(cells.len(), 2 * filters.len(), "{lines:#?}");
    cells.into_iter().step_by(2).collect()
}

/// Filter of packets that a kernel or this program sent with a wrong TCP checksum.
///
/// Where the sum is zero, a kernel that computes it itself writes 0xffff for every protocol
/// (`skb_checksum_help` of Linux): one of 65,536 packets. The two are equal in one's complement,
/// but tshark demands zero for TCP (RFC 1624).
pub(crate) const WRONG_TCP_CHECKSUM: &str = "(tcp.checksum.status == 0 \
    && !(tcp.checksum == 0xffff && tcp.checksum_calculated == 0))";

/// Lines that tshark prints for a capture with these arguments, with checksums verified.
pub(crate) fn tshark(args: &[&str], capture: &Path) -> Vec<String> {
    let mut tshark = Command::new("tshark");
    for check in ["ip", "tcp", "udp", "wlan"] {
        tshark.args(["-o", &format!("{check}.check_checksum:TRUE")]);
    }
    let output = tshark.args(args).arg("-r").arg(capture).output().unwrap_or_else(|error| {
        panic!("tshark does not start ({error}); `cargo xtask test` installs it or says how")
    });
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark {}: {err}", args.join(" "));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}
