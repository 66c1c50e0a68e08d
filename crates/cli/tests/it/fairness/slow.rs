//! Tests that need a program from the network; part of `cargo xtask test --slow`.

use super::{serve, station};
use crate::common::{json, scratch};
use std::path::Path;
use std::process::Command;

/// The version that our files name.
const FLENT: &str = "flent==2.3.0";

/// Output of a program in this directory.
fn said(place: &Path, program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).current_dir(place).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {errors}");
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}

#[test]
#[ignore = "pip fetches flent: cargo test -p fairwave-cli --test it -- fairness::slow --ignored"]
fn flent_opens_the_files_and_finds_the_same_means() {
    let place = scratch();
    let server = serve(place.path(), &[]);
    let requested = ["-t", "2", "-i", "0.5", "-b", "5M", "-P", "2", "-n", "2", "--name", "here"];
    let found =
        json(place.path(), &station(&server, &[&requested[..], &["--out", "kept"]].concat()));
    said(place.path(), "python3", &["-m", "venv", "apart"]);
    said(place.path(), "apart/bin/pip", &["install", "--quiet", FLENT]);
    let flent = place.path().join("apart/bin/flent").display().to_string();
    let mut sums = Vec::new();
    for repetition in 1..=2 {
        let file = format!("kept/repetition-{repetition}.flent.gz");
        let summary = said(place.path(), &flent, &["-i", &file, "-f", "summary"]);
        let line = summary.lines().find(|line| line.trim_start().starts_with("TCP upload sum"));
        let figures = line.and_then(|line| line.split_once(':')).expect(&summary).1;
        let mean = figures.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
        sums.push(mean.expect(&summary));
    }
    let mean = sums.iter().sum::<f64>() / 2.0;
    let ours = found["summary"]["total_mbps"]["mean"].as_f64().expect("a mean");
    // flent prints two decimals.
    assert!(ours > 5.0 && (mean - ours).abs() < 0.02, "{sums:?} beside {ours}");
}
