//! Signals end commands in an orderly way, and commands report that at once.

use crate::common::{fairwave, scratch, tiny};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};

/// A running command, and its messages.
struct Running {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Running {
    /// Starts `fairwave args...`, and waits until a run directory exists in `out`.
    fn start(directory: &Path, args: &[&str]) -> Self {
        let mut command = fairwave(directory, &[args, &["--out", "out"]].concat());
        let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        while !has_run(&directory.join("out")) {
            assert_eq!(child.try_wait().expect("it is ours"), None, "it has ended");
            std::thread::yield_now();
        }
        let said = BufReader::new(child.stderr.take().expect("it is a pipe"));
        Self { child, said }
    }

    fn interrupt(&self) {
        let kill = format!("kill -INT {}", self.child.id());
        let status = std::process::Command::new("sh").args(["-c", &kill]).status();
        assert!(status.expect("a shell").success());
    }

    /// The next line on standard error.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("it is UTF-8");
        line
    }

    /// The exit code, and the remaining messages.
    fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).expect("it is UTF-8");
        (self.child.wait().expect("it ends").code(), rest)
    }
}

/// Whether a run directory exists somewhere below `root`.
fn has_run(root: &Path) -> bool {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        let path = entry.path();
        path.file_name().is_some_and(|name| name == "meta.json") || has_run(&path)
    })
}

#[test]
fn a_run_that_is_interrupted_says_how_far_it_came() {
    let place = scratch();
    let tiny = tiny().display().to_string();
    let point = ["--set", "tcp.congestion_control=reno", "--set", "sweep.seeds=1"];
    let long = ["run", &tiny, "--set", "duration=20 h", "--set", "record.sample_every=1 s"];
    let running = Running::start(place.path(), &[&long[..], &point].concat());
    running.interrupt();
    let (code, said) = running.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("interrupted at ") && said.contains(" of 72000.0 s"), "{said}");
    assert!(said.contains("out has no complete run"), "{said}");
}

#[test]
fn a_sweep_says_at_once_that_it_stops_and_then_what_is_missing() {
    let place = scratch();
    let tiny = tiny().display().to_string();
    let args = ["sweep", &tiny, "--set", "sweep.seeds=10000", "--jobs", "1"];
    let mut running = Running::start(place.path(), &args);
    running.interrupt();
    let line = running.line();
    assert!(line.contains("stopping after the runs under way; a second signal"), "{line}");
    let (code, said) = running.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("of 20000 runs are complete, and --out out --resume makes"), "{said}");
}

#[test]
fn a_part_of_a_sweep_that_is_interrupted_names_the_command_for_the_rest() {
    let place = scratch();
    let tiny = tiny().display().to_string();
    let args = ["sweep", &tiny, "--set", "sweep.seeds=9999", "--jobs", "1", "--shard", "2/3"];
    let running = Running::start(place.path(), &args);
    running.interrupt();
    let (code, said) = running.end();
    assert_eq!(code, Some(1), "{said}");
    let command =
        " of 6666 runs are complete, and --out out --shard 2/3 --resume makes the missing";
    assert!(said.contains(command), "{said}");
}

#[test]
fn a_second_signal_stops_at_once() {
    let place = scratch();
    let tiny = tiny().display().to_string();
    let args = ["sweep", &tiny, "--set", "duration=20 h", "--set", "record.sample_every=1 s"];
    let mut running = Running::start(place.path(), &args);
    running.interrupt();
    running.line();
    running.interrupt();
    assert_eq!(running.end(), (Some(130), String::new()));
}

#[test]
fn a_study_that_is_interrupted_says_how_many_runs_it_has() {
    let place = scratch();
    let mut running = Running::start(place.path(), &["reproduce", "ap-buffer", "--jobs", "1"]);
    running.interrupt();
    assert!(running.line().contains("stopping after the runs under way"));
    let (code, said) = running.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("interrupted after ") && said.contains("judged by all"), "{said}");
}
