//! The store of results: `reproduce` only makes the runs that are missing there and gives the same
//! results. Errors of a store are reported and do not prevent a result.

use crate::common::{ends_with, fairwave, json, scratch};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The study with the shortest runs.
const STUDY: [&str; 2] = ["reproduce", "ap-buffer"];

/// The store that the tests' commands use where none is named.
fn store(place: &Path) -> PathBuf {
    place.join(".cache/fairwave")
}

fn results(place: &Path) -> u64 {
    let versions = json(place, &["store"])["versions"].clone();
    versions.as_array().expect("a list").iter().filter_map(|of| of["results"].as_u64()).sum()
}

/// Starts a command whose standard error is read.
fn started(mut command: Command) -> (Child, impl BufRead) {
    let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    let printed = BufReader::new(child.stderr.take().expect("it is a pipe"));
    (child, printed)
}

/// Interrupts a command. Returns its exit code and its remaining messages.
fn interrupted(mut child: Child, mut printed: impl BufRead) -> (Option<i32>, String) {
    let kill = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
    let mut rest = String::new();
    printed.read_to_string(&mut rest).expect("it is UTF-8");
    (child.wait().expect("it ends").code(), rest)
}

/// Waits until the store has this many results, or the command has ended.
fn wait_for(place: &Path, child: &mut Child, min: u64) {
    while results(place) < min && child.try_wait().expect("it is ours").is_none() {}
}

#[test]
fn a_study_that_is_interrupted_keeps_its_runs_and_says_so() {
    let place = scratch();
    let args = [&STUDY[..], &["--jobs", "1", "--out", "out"]].concat();
    let (mut child, printed) = started(fairwave(place.path(), &args));
    wait_for(place.path(), &mut child, 2);
    let (code, printed) = interrupted(child, printed);
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.contains("the same command reuses the stored runs"), "{printed}");
    let (out, _) = ends_with(0, place.path(), &["store", "verify"]);
    assert!(out.contains(" results, each as it was written"), "{out}");
    assert!(store(place.path()).join("000001.runs").exists());
}

/// A file system of two pages: one for the lock, and one for the first results.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_said_once_and_survived() {
    let place = scratch();
    fs::create_dir(place.path().join("small")).expect("a directory");
    let mount = "mount -t tmpfs -o size=8k none small && exec \"$@\"";
    let args = [&STUDY[..], &["--jobs", "1", "--out", "out", "--store", "small"]].concat();
    let inside = fairwave(place.path(), &args);
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]);
    command.arg(inside.get_program()).args(inside.get_args()).current_dir(place.path());
    let (child, mut printed) = started(command);
    let mut line = String::new();
    printed.read_line(&mut line).expect("it is UTF-8");
    assert!(line.contains("No space left on device"), "{line}");
    assert!(line.contains("further results are not kept, and nothing else is lost"), "{line}");
    let (code, rest) = interrupted(child, printed);
    assert_eq!(code, Some(1), "{rest}");
    assert!(!rest.contains("store of results") && rest.contains("interrupted after"), "{rest}");
}

#[test]
fn a_place_that_is_no_directory_is_said_and_survived() {
    let place = scratch();
    fs::write(place.path().join("file"), "").expect("a file");
    let args = [&STUDY[..], &["--jobs", "1", "--out", "out", "--store", "file"]].concat();
    let (child, mut printed) = started(fairwave(place.path(), &args));
    let mut line = String::new();
    printed.read_line(&mut line).expect("it is UTF-8");
    assert!(line.contains("store of results file") && line.contains("not kept"), "{line}");
    let (code, rest) = interrupted(child, printed);
    assert_eq!(code, Some(1), "{rest}");
    assert!(!store(place.path()).exists(), "no other place was taken");
    let both = [&STUDY[..], &["--store", "file", "--no-store"]].concat();
    ends_with(2, place.path(), &both);
}

#[test]
fn a_store_is_seen_bounded_verified_and_cleared() {
    let place = scratch();
    let (out, _) = ends_with(0, place.path(), &["store"]);
    assert!(out.contains(".cache/fairwave: 0.0 MB of at most 4000.0 MB"), "{out}");
    ends_with(0, place.path(), &["store", "limit", "5 MB"]);
    assert_eq!(json(place.path(), &["store"])["limit_bytes"], 5_000_000);
    let args = [&STUDY[..], &["--jobs", "1", "--out", "out", "--quiet"]].concat();
    let (mut child, printed) = started(fairwave(place.path(), &args));
    wait_for(place.path(), &mut child, 2);
    interrupted(child, printed);
    let reported = json(place.path(), &["store"]);
    assert_eq!(crate::schemas::complaints(&[("store", reported.clone())]), "");
    assert_eq!(reported["versions"][0]["is_this"], true);
    let file = store(place.path()).join("000001.runs");
    let mut bytes = fs::read(&file).expect("a segment");
    *bytes.last_mut().expect("it has bytes") ^= 1;
    fs::write(&file, &bytes).expect("it is ours");
    let (_, err) = ends_with(1, place.path(), &["store", "verify"]);
    assert!(err.contains("000001.runs is damaged at byte"), "{err}");
    ends_with(0, place.path(), &["store", "clear", "--others"]);
    assert!(results(place.path()) >= 2);
    ends_with(0, place.path(), &["store", "clear"]);
    assert_eq!(results(place.path()), 0);
    ends_with(2, place.path(), &["store", "clear", "--json"]);
}

/// A study's output as JSON, without its cost, its page for docs, and its report.
fn reproduced(place: &Path, more: &[&str]) -> (Value, String, String) {
    let out = ["--force", "--out", "out", "--quiet"];
    let args = |kind| [&STUDY[..], &out, &[kind], more].concat();
    let (reported, _) = ends_with(0, place, &args("--json"));
    let mut reported: Value = serde_json::from_str(&reported).expect("JSON");
    for key in ["wall_s", "cpu_s", "frames_per_s", "frames_per_cpu_s", "simulated_s_per_cpu_s"] {
        reported[key] = Value::Null;
    }
    let (page, _) = ends_with(0, place, &args("--markdown"));
    let report = fs::read_to_string(place.join("out/report.html")).expect("a report");
    let (before, took) = report.split_once("<dt>Took</dt>").expect("it says how long it took");
    let after = took.split_once("</dd>").expect("that is an entry").1;
    (reported, page, format!("{before}{after}"))
}

#[test]
#[ignore = "minutes: a whole study several times"]
fn slow_killed_at_many_moments_and_beside_another_it_comes_to_the_same() {
    let place = scratch();
    let expected = reproduced(place.path(), &["--no-store"]);
    for min in [1, 2, 5, 9, 14, 20, 27, 35] {
        let args = [&STUDY[..], &["--force", "--out", "killed"]].concat();
        let (mut child, _said) = started(fairwave(place.path(), &args));
        wait_for(place.path(), &mut child, min);
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
    }
    let beside = [&STUDY[..], &["--force", "--out", "beside", "--quiet"]].concat();
    let (mut beside, mut printed) = started(fairwave(place.path(), &beside));
    assert_eq!(reproduced(place.path(), &[]), expected);
    let mut rest = String::new();
    printed.read_to_string(&mut rest).expect("it is UTF-8");
    assert_eq!((beside.wait().expect("it ends").code(), rest.as_str()), (Some(0), ""));
    let kept = results(place.path());
    assert_eq!(reproduced(place.path(), &["--jobs", "1"]), expected, "all of it from the store");
    assert_eq!(results(place.path()), kept, "nothing was made");
    let file = store(place.path()).join("000001.runs");
    let mut bytes = fs::read(&file).expect("a segment");
    let length = bytes.len();
    (1..8).for_each(|part| bytes[part * length / 8] ^= 0x55);
    fs::write(&file, &bytes).expect("it is ours");
    assert_eq!(reproduced(place.path(), &[]), expected, "what was damaged is made again");
    let made = results(place.path());
    assert_eq!(reproduced(place.path(), &[]), expected);
    assert_eq!(results(place.path()), made, "and once only");
    // It stays in its file, and is reported.
    let (_, err) = ends_with(1, place.path(), &["store", "verify"]);
    assert!(err.contains("7 places damaged"), "{err}");
}
