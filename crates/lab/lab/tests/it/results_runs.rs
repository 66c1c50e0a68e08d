//! Runs and sweeps: the same bytes however they are scheduled, and errors that name the seed.

use fairwave_lab::results::{FLOWS, Series, read_meta, read_summary};
use fairwave_lab::run::{self, Before, Output, Progress, SweepOptions, Watch};
use fairwave_scenario::plan::Plan;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

const SCENARIO: &str = r#"
duration = "3 s"
warm_up = "1 s"
cell.standard = "802.11a"
node = [
    { name = "ap", kind = "access-point", data_rate = "54 Mbps", queue = "20 packets" },
    { name = "sta", kind = "station", data_rate = "54 Mbps", count = 2 },
    { name = "server", kind = "host" },
]
link = [{ ends = ["ap", "server"], delay = "10 ms" }]
flow = [{ name = "up", from = "sta*", to = "server", start_spread = "100 ms" }]

[sweep]
"node.sta.count" = [1, 3]
seeds = 2
"#;

fn plan() -> Plan {
    Plan::parse("test", SCENARIO, &[]).unwrap_or_else(|e| panic!("{e}"))
}

fn scratch() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Every file under `root` with its content.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_owned();
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

#[test]
fn one_worker_and_two_leave_the_same_bytes() {
    let places = [scratch(), scratch()];
    let [a, b] = places.each_ref().map(TempDir::path);
    let one = run::sweep(&plan(), 1, Output::Full(a), &|_| {}).unwrap();
    let two = run::sweep(&plan(), 2, Output::Full(b), &|_| {}).unwrap();
    let (first, second) = (files(a), files(b));
    assert_eq!(first.keys().collect::<Vec<_>>(), second.keys().collect::<Vec<_>>());
    assert_eq!(first.len(), 4 * 11, "four runs of eleven files");
    for (name, bytes) in &first {
        assert!(bytes == &second[name], "{} differs", name.display());
    }
    let points = |runs: &[run::Run]| -> Vec<(String, u64)> {
        runs.iter().map(|run| (run.axis("node.sta.count").to_owned(), run.seed)).collect()
    };
    let expected = [("1", 1), ("1", 2), ("3", 1), ("3", 2)].map(|(n, s)| (n.to_owned(), s));
    assert_eq!(points(&one), expected);
    assert_eq!(points(&two), expected);
}

#[test]
fn a_run_directory_tells_what_the_run_returned() {
    let place = scratch();
    let root = place.path();
    let runs = run::sweep(&plan(), 2, Output::Full(root), &|_| {}).unwrap();
    for run in &runs {
        let directory = run.directory.as_ref().unwrap();
        assert_eq!(read_summary(directory).unwrap(), run.summary);
        assert_eq!(read_meta(directory).unwrap().axes, run.axes);
        let flows = Series::read(directory, FLOWS.file, &["t_ns", "flow", "cwnd_bytes"]).unwrap();
        let name = &run.summary.flows[0].name;
        let points = flows.points(&[("flow", name)], "cwnd_bytes", 1.0).unwrap();
        assert!(points.len() >= 29, "{} samples in 3 s", points.len());
        assert!(run.summary.totals.goodput_bps > 1_000_000, "seed {}", run.seed);
    }
}

#[test]
fn summaries_alone_leave_no_series() {
    let place = scratch();
    let root = place.path();
    let runs = run::sweep(&plan(), 2, Output::Summary(root), &|_| {}).unwrap();
    let directory = runs[0].directory.as_ref().unwrap();
    assert!(directory.join("summary.json").exists() && !directory.join(FLOWS.file).exists());
    let nothing = run::sweep(&plan(), 2, Output::Nothing, &|_| {}).unwrap();
    let summary = |runs: &[run::Run]| runs.iter().map(|r| r.summary.clone()).collect::<Vec<_>>();
    assert_eq!(summary(&nothing), summary(&runs), "recording changes nothing");
}

#[test]
fn only_the_tables_that_somebody_reads_are_written() {
    let places = [scratch(), scratch()];
    let [all, some] = places.each_ref().map(TempDir::path);
    let whole = run::sweep(&plan(), 2, Output::Full(all), &|_| {}).unwrap();
    let tables = Output::Tables(some, &["flows.parquet", "drops.parquet"]);
    let part = run::sweep(&plan(), 2, tables, &|_| {}).unwrap();
    let (all, some) = (files(all), files(some));
    assert_eq!(some.len(), 4 * 5, "four runs of three files and two tables");
    assert!(some.iter().all(|(name, bytes)| all[name] == *bytes));
    for (part, whole) in part.iter().zip(&whole) {
        assert_eq!(part.summary, whole.summary, "seed {}", part.seed);
    }
}

#[test]
fn progress_ends_at_the_total() {
    let last = Mutex::new(None);
    let note = |now: Progress| *last.lock().unwrap() = Some(now);
    run::sweep(&plan(), 1, Output::Nothing, &note).unwrap();
    let last = last.into_inner().unwrap().unwrap();
    assert_eq!((last.done, last.total), (4, 4));
}

#[test]
fn a_sweep_that_is_ended_completes_what_it_has_begun_and_no_more() {
    let place = scratch();
    let root = place.path();
    let stop = AtomicBool::new(false);
    let note = |now: Progress| stop.store(now.done == 1, Ordering::Relaxed);
    let watch = Watch { progress: &note, stop: &stop };
    let output = (Output::Summary(root), Before::Rerun);
    let error = run::sweep_with(&plan(), 1, output, watch, &|run| run).unwrap_err();
    assert!(error.is_interruption() && error.to_string() == "interrupted", "{error}");
    assert_eq!(run::missing(&plan(), None, root).len(), 3, "one of four is complete");
    let one = |_| false;
    let job = plan().jobs()[0];
    let error = run::execute_while(&plan(), job, Output::Nothing, &mut { one }).unwrap_err();
    assert!(error.is_interruption(), "{error}");
}

#[test]
fn a_sweep_can_end_the_runs_under_way() {
    let place = scratch();
    let root = place.path();
    let stop = AtomicBool::new(false);
    let begun = |now: Progress| stop.store(!now.simulated.is_zero(), Ordering::Relaxed);
    let watch = Watch { progress: &begun, stop: &stop };
    let how = (Output::Summary(root), Before::Rerun);
    let how = SweepOptions { end: Some(&stop), ..how.into() };
    let error = run::sweep_with(&plan(), 1, how, watch, &|run| run).unwrap_err();
    assert!(error.is_interruption(), "{error}");
    assert_eq!(run::missing(&plan(), None, root).len(), 4, "none of four is complete");
}

#[test]
fn a_failure_names_the_seed_and_the_path() {
    let place = scratch();
    let root = place.path().join("file");
    fs::write(&root, "a file where a directory should be").unwrap();
    let error = run::sweep(&plan(), 2, Output::Full(&root), &|_| {}).unwrap_err().to_string();
    assert!(error.contains("seed 1") && error.contains("node.sta.count = "), "{error}");
    assert!(error.contains(root.to_str().unwrap()), "{error}");
}
