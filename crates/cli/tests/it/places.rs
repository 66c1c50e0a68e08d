//! Directories for results: one writer at a time, and no remains of a killed one.

use crate::common::{ends_with, fairwave, scratch, tiny, tiny_run};
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

fn arguments(out: &str) -> Vec<String> {
    tiny_run(out)
}

fn as_str(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

fn entries(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_directory_that_another_process_writes_into_is_refused_even_with_force() {
    let place = scratch();
    let out = place.path().join("out");
    fs::create_dir(&out).unwrap();
    let lock = File::create(out.join(".fairwave.lock")).unwrap();
    lock.lock().unwrap();
    let args = arguments("out");
    for more in [&[][..], &["--force"]] {
        let (_, err) = ends_with(2, place.path(), &[&as_str(&args)[..], more].concat());
        assert!(err.contains("another fairwave is writing into it"), "{err}");
    }
    lock.unlock().unwrap();
    ends_with(0, place.path(), &as_str(&args));
    assert!(!entries(&out).contains(&".fairwave.lock".to_owned()), "the lock goes with its holder");
}

/// What another process makes at the moment cannot be resumed, with or without `--resume`.
#[test]
fn a_sweep_that_another_process_makes_is_not_to_be_resumed() {
    let place = scratch();
    let scenario = tiny().display().to_string();
    let args = ["sweep", &scenario, "--set", "sweep.seeds=1", "--out", "out"];
    ends_with(0, place.path(), &args);
    let lock = File::create(place.path().join("out/.fairwave.lock")).unwrap();
    lock.lock().unwrap();
    for more in [&[][..], &["--resume"]] {
        let (_, err) = ends_with(2, place.path(), &[&args[..], more].concat());
        assert!(err.contains("another fairwave is writing into it"), "{err}");
        assert!(!err.contains("--resume"), "{err}");
    }
}

#[test]
fn of_several_processes_with_one_new_directory_one_has_it() {
    let place = scratch();
    let args = arguments("shared");
    let start = || {
        let mut command = fairwave(place.path(), &as_str(&args));
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
    };
    let children: Vec<_> = (0..6).map(|_| start()).collect();
    let ends = children.into_iter().map(|mut child| child.wait().unwrap().code());
    let ends: Vec<_> = ends.collect();
    assert_eq!(ends.iter().filter(|code| **code == Some(0)).count(), 1, "{ends:?}");
    assert_eq!(ends.iter().filter(|code| **code == Some(2)).count(), 5, "{ends:?}");
}

#[test]
fn force_removes_what_a_killed_run_left_unfinished_and_nothing_else() {
    let place = scratch();
    let out = place.path().join("out");
    fs::create_dir_all(out.join("old/seed-9")).unwrap();
    for name in ["flows.parquet.partial", "capture-pc1.pcapng.partial", "film.mp4.partial"] {
        fs::write(out.join("old/seed-9").join(name), "half").unwrap();
    }
    let args = arguments("out");
    ends_with(0, place.path(), &[&as_str(&args)[..], &["--force"]].concat());
    assert_eq!(entries(&out.join("old/seed-9")), ["film.mp4.partial"]);
}

#[test]
fn an_interrupted_sweep_says_what_is_missing_and_goes_on() {
    let place = scratch();
    let scenario = tiny().display().to_string();
    let args = ["sweep", &scenario, "--out", "s"];
    ends_with(0, place.path(), &args);
    let points = entries(&place.path().join("s"));
    let reno = points.iter().find(|name| name.ends_with("reno")).expect("a point");
    let lost = place.path().join("s").join(reno).join("seed-2");
    let whole = fs::read_to_string(lost.join("summary.json")).unwrap();
    fs::remove_file(lost.join("summary.json")).unwrap();
    let kept = place.path().join("s").join(reno).join("seed-1/flows.parquet");
    let before = fs::metadata(&kept).unwrap().modified().unwrap();
    let (_, err) = ends_with(2, place.path(), &args);
    assert!(err.contains("3 of the 4 runs") && err.contains("--resume"), "{err}");
    let (out, err) = ends_with(0, place.path(), &[&args[..], &["--resume"]].concat());
    assert!(err.contains("3 of 4 runs are there") && err.contains("seed-2"), "{err}");
    assert!(out.contains("Runs\n"), "{out}");
    assert_eq!(fs::read_to_string(lost.join("summary.json")).unwrap(), whole);
    assert_eq!(fs::metadata(&kept).unwrap().modified().unwrap(), before, "it was not run again");
    // As a power failure leaves files that were not on the disk yet.
    fs::write(lost.join("summary.json"), "").unwrap();
    let (_, err) = ends_with(0, place.path(), &[&args[..], &["--resume"]].concat());
    assert!(err.contains("3 of 4 runs are there") && err.contains("seed-2"), "{err}");
    assert_eq!(fs::read_to_string(lost.join("summary.json")).unwrap(), whole);
}

#[test]
fn runs_of_another_scenario_are_neither_gone_on_with_nor_replaced() {
    let place = scratch();
    let scenario = tiny().display().to_string();
    let args = ["sweep", &scenario, "--out", "s", "--set", "sweep.seeds=1"];
    ends_with(0, place.path(), &args);
    let other = [&args[..], &["--set", "node.ap.queue=9 packets", "--resume"]].concat();
    let all = || -> Vec<_> {
        let points = entries(&place.path().join("s")).into_iter();
        let summary =
            |point: String| place.path().join("s").join(point).join("seed-1/summary.json");
        points.map(|point| fs::read(summary(point)).unwrap_or_default()).collect()
    };
    let before = all();
    let (_, err) = ends_with(2, place.path(), &other);
    assert!(err.contains("do not belong to this sweep") && err.contains("--force"), "{err}");
    assert_eq!(all(), before);
    let (_, err) = ends_with(0, place.path(), &[&other[..], &["--force"]].concat());
    assert!(err.contains("0 of 2 runs are there"), "{err}");
    assert_ne!(all(), before);
}

#[test]
fn a_sweep_that_is_whole_simulates_nothing() {
    let place = scratch();
    let scenario = tiny().display().to_string();
    let args = ["sweep", &scenario, "--out", "s", "--set", "sweep.seeds=1"];
    ends_with(0, place.path(), &args);
    // The position of --out on the command line does not matter.
    let first = ["--out", "s", "sweep", &scenario, "--set", "sweep.seeds=1", "--resume"];
    let (out, _) = ends_with(0, place.path(), &first);
    assert!(out.contains("Nothing was left to simulate"), "{out}");
    let (_, err) = ends_with(2, place.path(), &first[2..]);
    assert!(err.contains("--resume continues") && err.contains("--out"), "{err}");
}
