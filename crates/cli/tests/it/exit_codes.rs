//! Exit codes, on which scripts and CI rely.

use crate::common::{ends_with, fairwave, scratch, tiny, tiny_run};
use std::fs;
use std::process::Stdio;

#[test]
fn help_and_version_end_well_and_name_the_codes() {
    let place = scratch();
    let (help, _) = ends_with(0, place.path(), &["--help"]);
    for code in ["0  everything ran", "1  a run or a program", "2  bad usage", "3  with --strict"] {
        assert!(help.contains(code), "{code}: {help}");
    }
    let (version, _) = ends_with(0, place.path(), &["--version"]);
    assert_eq!(version, format!("fairwave {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn bad_usage_ends_with_2() {
    let place = scratch();
    let cases: [&[&str]; 7] = [
        &[],
        &["fly"],
        &["run"],
        &["run", "s.toml", "--jobs", "0"],
        &["run", "s.toml", "--jobs", "100000"],
        &["run", "s.toml", "--set", "duration"],
        &["reproduce", "no-such-study"],
    ];
    for args in cases {
        let (out, err) = ends_with(2, place.path(), args);
        assert_eq!(out, "", "{args:?}");
        assert!(!err.is_empty(), "{args:?} says nothing");
    }
}

#[test]
fn a_bad_scenario_ends_with_2_and_names_its_place() {
    let place = scratch();
    fs::write(place.path().join("bad.toml"), "# Why?\nduratoin = \"1 s\"\n").unwrap();
    for verb in ["run", "sweep", "check"] {
        let (out, err) = ends_with(2, place.path(), &[verb, "bad.toml"]);
        assert_eq!(out, "");
        assert!(err.contains("bad.toml:2"), "{err}");
        assert!(err.contains("duration"), "{err}");
    }
}

#[test]
fn a_missing_file_ends_with_1_wherever_it_is_read() {
    let place = scratch();
    for args in [&["run"][..], &["sweep"], &["check"], &["trace"]] {
        let (out, err) = ends_with(1, place.path(), &[args, &["missing.toml"]].concat());
        assert_eq!(out, "");
        assert!(err.contains("missing.toml: No such file"), "{err}");
    }
    fs::write(place.path().join("bad.toml"), "duratoin = 1\n").unwrap();
    ends_with(2, place.path(), &["check", "missing.toml", "bad.toml"]);
}

#[test]
fn a_sweep_is_not_run_as_one_scenario() {
    let place = scratch();
    let (_, err) = ends_with(2, place.path(), &["run", &tiny().display().to_string()]);
    assert!(err.contains("4 runs") && err.contains("fairwave sweep"), "{err}");
}

#[test]
fn runs_that_are_not_there_cannot_be_judged() {
    let place = scratch();
    let args = ["reproduce", "tcp-av", "--full", "--from", "nowhere"];
    let (out, err) = ends_with(1, place.path(), &args);
    assert_eq!(out, "");
    assert!(err.contains("nowhere") && err.contains("missing: effective/"), "{err}");
    let both = ["reproduce", "tcp-av", "--markdown", "--json"];
    assert!(ends_with(2, place.path(), &both).1.contains("--markdown"));
    ends_with(2, place.path(), &["reproduce", "tcp-av", "--quick", "--full"]);
}

#[test]
fn a_directory_that_is_not_empty_is_refused() {
    let place = scratch();
    let out = place.path().join("kept");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("thesis.tex"), "years").unwrap();
    let args = tiny_run("kept");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (_, err) = ends_with(2, place.path(), &args);
    assert!(err.contains("--force"), "{err}");
    ends_with(0, place.path(), &[&args[..], &["--force"]].concat());
    assert_eq!(fs::read_to_string(out.join("thesis.tex")).unwrap(), "years");
    assert!(out.join("summary.json").exists());
}

#[test]
fn a_directory_that_cannot_be_made_ends_with_1() {
    let place = scratch();
    fs::write(place.path().join("file"), "").unwrap();
    let args = tiny_run("file/below");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (_, err) = ends_with(1, place.path(), &args);
    assert!(err.contains("file/below"), "{err}");
}

#[test]
fn a_reader_that_leaves_early_is_not_an_error() {
    let place = scratch();
    for args in [&["completions", "bash"][..], &["list", "schema"], &["man"], &["--help"]] {
        let mut command = fairwave(place.path(), args);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("the command starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {err}");
        assert_eq!(err, "", "{args:?}");
    }
}

/// The verdict counts, whether it is read or not.
#[test]
fn a_reader_that_leaves_early_changes_no_verdict() {
    let place = scratch();
    let script = "# RFC 9293 section 3.5: an open that nobody makes\n0 listen\n10 > S 0\n";
    fs::write(place.path().join("wrong.pkt"), script).expect("a file");
    let packets = ["packets", "wrong.pkt", "--against", "simulator"];
    let set_up = "radio=802.11g,rate=40,lost=0,payload=1472";
    let map = ["reproduce", "ap-buffer", "--map", "BUF-1", "--at", set_up, "--strict", "--quiet"];
    for (args, code) in [(&packets[..], 1), (&map, 3), (&[&map[..], &["--json"]].concat(), 3)] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = fairwave(place.path(), args);
        let output = command.stdout(writer).output().expect("it ends");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {err}");
        assert!(err.starts_with("error: "), "{args:?}: {err}");
    }
}
