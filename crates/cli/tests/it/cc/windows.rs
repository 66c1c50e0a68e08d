//! `fairwave emulate --windows`: windows of the kernel's connections in run directories.

use super::turn;
use crate::common::{ends_with, fairwave, output, scratch};
use fairwave_lab::results::Series;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Two flows of TCP and one of UDP over a wire of 10 Mbps with a round-trip time of 20 ms.
const WIRE: &str = r#"# Which windows has the kernel?
duration = "1200 ms"
node = [{ name = "a", kind = "host" }, { name = "b", kind = "host" }]
[[link]]
ends = ["a", "b"]
rate = "10 Mbps"
delay = "10 ms"
[[flow]]
name = "reno"
from = "a"
to = "b"
[[flow]]
name = "cubic"
from = "b"
to = "a"
congestion_control = "cubic"
[[flow]]
name = "calls"
from = "a"
to = "b"
transport = "udp"
traffic = "cbr"
rate = "100 kbps"
[emulate]
lateness_limit = "1 s"
"#;

fn emulate<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let usual = ["emulate", "wire.toml", "--quiet", "--out", "kernel", "--windows"];
    [&usual, more].concat()
}

/// Windows of a run in which the kernel carries all flows.
fn windows_of_the_kernel(place: &Path) -> Series {
    fs::write(place.join("wire.toml"), WIRE).expect("the scenario is written");
    let ended = output(place, &emulate(&["--kernel-flows", "*"]));
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:?}");
    let columns = ["t_ns", "flow", "path", "cwnd_bytes", "srtt_ns", "acked_bytes"];
    Series::read(&place.join("kernel"), "windows.parquet", &columns).expect("a table")
}

#[test]
#[ignore = "real time: cargo xtask test --realtime"]
fn realtime_every_second_segment_of_kernel_flows_has_a_row() {
    let Some(_turn) = turn() else { return };
    let place = scratch();
    let series = windows_of_the_kernel(place.path());
    for flow in ["reno", "cubic"] {
        let points = |y| series.points(&[("flow", flow)], y, 1.0).expect("points");
        let (windows, acked) = (points("cwnd_bytes"), points("acked_bytes"));
        // Of more than 100 segments in a second, at least every second one is acknowledged.
        assert!(windows.len() > 50, "{flow}: {}", windows.len());
        assert!(acked[acked.len() - 1].1 > 100_000.0, "{flow}: {acked:?}");
    }
}

#[test]
fn each_ack_of_kernel_flows_has_a_row_and_is_drawn_beside_the_simulator() {
    let Some(_turn) = turn() else { return };
    let place = scratch();
    let series = windows_of_the_kernel(place.path());
    assert!(series.texts("path").expect("paths").iter().all(Option::is_none));
    for flow in ["reno", "cubic"] {
        let points = |y| series.points(&[("flow", flow)], y, 1.0).expect("points");
        let (windows, acked) = (points("cwnd_bytes"), points("acked_bytes"));
        assert!(!windows.is_empty(), "{flow}");
        let times = windows.iter().map(|(at, _)| *at);
        assert!(times.clone().is_sorted(), "{flow}");
        // The handshake takes a round trip. Acknowledgements also arrive after the end.
        assert!(times.clone().all(|at| (0.02..10.0).contains(&at)), "{flow}: {windows:?}");
        assert!(windows.iter().all(|(_, bytes)| *bytes >= 500.0), "{flow}: {windows:?}");
        assert!(acked.is_sorted_by(|a, b| a.1 <= b.1) && acked[acked.len() - 1].1 > 0.0);
        let srtt = points("srtt_ns");
        assert!(srtt.iter().all(|(_, ns)| *ns >= 20e6), "{flow}: {srtt:?}");
    }
    let known = ["reno", "cubic"].map(|flow| Some(std::sync::Arc::from(flow)));
    assert!(series.texts("flow").expect("flows").iter().all(|flow| known.contains(flow)));

    ends_with(0, place.path(), &["run", "wire.toml", "--quiet", "--out", "simulator"]);
    let both = ["plot", "kernel", "simulator", "--y", "windows.cwnd_bytes", "--file", "both.svg"];
    ends_with(0, place.path(), &both);
    let svg = fs::read_to_string(place.path().join("both.svg")).expect("a figure");
    for curve in ["kernel: reno", "kernel: cubic", "simulator: reno", "simulator: cubic"] {
        assert!(svg.contains(curve), "{curve}");
    }
}

#[test]
fn windows_that_cannot_be_had_are_refused_with_the_reason() {
    let Some(_turn) = turn() else { return };
    let place = scratch();
    fs::write(place.path().join("wire.toml"), WIRE).expect("the scenario is written");
    let (_, err) = ends_with(2, place.path(), &emulate(&["--kernel-flows", "calls"]));
    assert!(err.contains("--windows: no flow of TCP is on the kernel's sockets"), "{err}");
    assert!(!place.path().join("kernel").exists());
    // For the kernel's tracing, root of a user namespace has no privileges.
    let err = refused_inside(place.path(), &emulate(&["--kernel-flows", "reno"]));
    assert!(err.contains("needs root (CAP_BPF and CAP_PERFMON)"), "{err}");
}

fn refused_inside(place: &Path, args: &[&str]) -> String {
    let command = fairwave(place, args);
    let mut inside = Command::new("unshare");
    inside.args(["--user", "--map-root-user"]).arg(command.get_program()).args(args);
    let output = inside.current_dir(place).output().expect("unshare starts");
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).expect("text")
}
