//! Flows of the kernel's MPTCP over paths of the scenario.

use super::{Ended, Site, fairwave, machine_can};
use crate::common::skip;
use serde_json::Value;
use std::fs;

/// Goodput of the upload in each half second, in bit/s.
pub(super) fn bins(summary: &Value) -> Vec<f64> {
    let bins = summary["flows"][0]["bins_bps"].as_array().expect("the scenario has bins");
    bins.iter().map(|bin| bin.as_f64().expect("a rate")).collect()
}

pub(super) fn mean(bins: &[f64]) -> f64 {
    bins.iter().sum::<f64>() / bins.len() as f64
}

/// Maximum rate of one path: each cell has 12 Mbps on the air. A higher rate has used both.
pub(super) const ONE_PATH_BPS: f64 = 12e6;

/// Whether the kernel has MPTCP. If not, the test is skipped.
pub(super) fn has_mptcp() -> bool {
    let enabled = fs::read_to_string("/proc/sys/net/mptcp/enabled");
    let has_it = enabled.as_ref().is_ok_and(|text| text.trim() == "1");
    if !has_it {
        skip(format_args!("this kernel has no MPTCP: {enabled:?}"));
    }
    has_it
}

/// A run in which the wire of one path fails after 2.5 s, recorded; and the mean goodput before and
/// after that, in bit/s.
fn one_path_fails() -> (Ended, [f64; 2]) {
    let fails = r#"link.wire.changes=[{ at = "2500 ms", up = false }]"#;
    let site = Site::catalogued("emulated-paths.toml");
    let ended = site.with(&["--for", "6 s", "--set", fails, "--record"]).run();
    ended.went_well();
    let bins = bins(&ended.summary());
    let rates = [mean(&bins[1..5]), mean(&bins[8..])];
    (ended, rates)
}

#[test]
#[ignore = "real time: cargo xtask test --realtime"]
fn realtime_a_connection_fills_two_cells_and_then_one() {
    if !machine_can() || !has_mptcp() {
        return;
    }
    let (_, [before, after]) = one_path_fails();
    assert!(before > ONE_PATH_BPS, "both paths carried {before} bit/s");
    assert!(after > 0.3 * ONE_PATH_BPS && after < ONE_PATH_BPS, "one carried {after} bit/s");
}

#[test]
fn a_connection_takes_two_cells_and_goes_on_over_one() {
    if !machine_can() || !has_mptcp() {
        return;
    }
    let (ended, [before, after]) = one_path_fails();
    assert!(before > 0.0 && after > 0.0, "{before} and {after} bit/s");

    // Replayed packets use the same paths, which their addresses determine.
    let place = ended.place.path();
    let output = fairwave(place, &["run", "--replay", "out", "--quiet", "--out", "again"]).output();
    let output = output.expect("it runs");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(printed.contains("sockets of the kernel carried upload: the replay"), "{printed}");
    for name in ["queues", "drops", "stations"].map(|name| format!("{name}.parquet")) {
        let of = |run: &str| fs::read(place.join(run).join(&name)).expect("it is there");
        assert!(of("out") == of("again"), "{name} differs");
    }
}
