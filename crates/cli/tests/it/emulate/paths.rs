//! Flows over several paths of the scenario: by the code of `fairwave shake`, and by the kernel's
//! MPTCP.

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

/// Three wires between two hosts, and a transfer over them whose keys follow.
const WIRES: &str = r#"# Do three wires carry one transfer?
duration = "20 s"
record.sample_every = "100 ms"
node = [
    { name = "host", kind = "host" },
    { name = "phone", kind = "host", count = 3 },
    { name = "server", kind = "host" },
]
[emulate]
nodes = ["host", "server"]
kernel_flows = ["*"]
lateness_limit = "1 s"
ends_when_idle = true
[[link]]
ends = ["host", "phone*"]
[[link]]
ends = ["phone*", "server"]
rate = "4 Mbps"
delay = "5 ms"
loss = 0.01
[[flow]]
name = "transfer"
from = "host"
to = "server"
size = "1 MB"
"#;

/// A run of the three wires with these keys of the transfer.
fn over_wires(keys: &str) -> Ended {
    let site = Site::new("");
    fs::write(site.place.path().join("cell.toml"), format!("{WIRES}{keys}")).expect("written");
    let ended = site.run();
    ended.went_well();
    ended
}

/// Bytes that arrived over each path of the transfer, by its summary.
fn by_path(summary: &Value) -> Vec<u64> {
    let paths = summary["flows"][0]["paths"].as_array().expect("it has paths");
    paths.iter().map(|path| path["delivered_bytes"].as_u64().expect("a count")).collect()
}

#[test]
fn shake_carries_a_transfer_whole_over_every_path_in_each_of_its_modes() {
    if !machine_can() {
        return;
    }
    let all = r#"paths = [{ via = "phone1" }, { via = "phone2" }, { via = "phone3" }]"#;
    for keys in [
        "transport = \"shake\"",
        "transport = \"shake\"\nscheduler = \"redundant\"",
        "transport = \"shake\"\nprofile = \"paper\"",
        "transport = \"multi-tcp\"\nsplit = \"equal\"",
    ] {
        let ended = over_wires(&format!("{keys}\n{all}\n"));
        let summary = ended.summary();
        let flow = &summary["flows"][0];
        // It is set when the whole size has been delivered.
        assert!(flow["completion_ns"].is_u64(), "{keys}: {flow:#}");
        let paths = by_path(&summary);
        assert!(paths.len() == 3 && paths.iter().all(|bytes| *bytes > 0), "{keys}: {paths:?}");
        assert_eq!(flow["shake"].is_object(), keys.contains("\"shake\""), "{keys}");
        assert!(summary["simulated_ns"].as_u64() < Some(20_000_000_000), "it ended when idle");
    }
}

#[test]
fn a_path_of_shake_that_joins_late_or_leaves_is_used_while_it_is_there() {
    if !machine_can() {
        return;
    }
    let keys = r#"transport = "shake"
paths = [{ via = "phone1" }, { via = "phone2", join = "300 ms" }, { via = "phone3", join = "15 s" }]
"#;
    let paths = by_path(&over_wires(keys).summary());
    assert!(paths[0] > 0 && paths[1] > 0 && paths[2] == 0, "{paths:?}");
}

#[test]
fn keys_that_cannot_act_on_sockets_are_named() {
    if !machine_can() {
        return;
    }
    let keys = r#"transport = "shake"
format = "tcp"
mss = "1460 B"
paths = [{ via = "phone1" }]
"#;
    let err = over_wires(keys).err;
    assert!(err.contains("transfer: format \"tcp\" cannot act"), "{err}");
    assert!(err.contains("transfer: an mss of 1460 B cannot act"), "{err}");
}
