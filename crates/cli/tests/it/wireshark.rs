//! The dissector of `docs/wireshark` on captures of Fairwave's own formats: tshark reads what the
//! flows have said, as often as they count it.

use crate::common::{ends_with, scratch, tshark};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Two ways from a host to a server.
const WAYS: &str = r#"# What does Wireshark see of Fairwave's own formats?
title = "Two ways: for tests"
duration = "10 s"
[[node]]
name = "host"
kind = "host"
[[node]]
name = "phone"
kind = "host"
count = 2
[[node]]
name = "server"
kind = "host"
[[link]]
ends = ["host", "phone*"]
rate = "100 Mbps"
[[link]]
ends = ["phone*", "server"]
rate = "5 Mbps"
delay = "20 ms"
loss = 0.02
queue = "50 packets"
[[flow]]
name = "transfer"
from = "host"
to = "server"
size = "1 MB"
"#;

/// What a run of both ways came to.
struct Run {
    place: TempDir,
    flow: Value,
}

impl Run {
    fn of(flow: &str, sets: &[&str]) -> Self {
        let place = scratch();
        std::fs::write(place.path().join("ways.toml"), format!("{WAYS}{flow}")).expect("written");
        let args = ["run", "ways.toml", "--tap", "host", "--tap", "server", "--out", "one"];
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        ends_with(0, place.path(), &args.into_iter().chain(sets).collect::<Vec<_>>());
        let summary = std::fs::read(place.path().join("one/summary.json")).expect("a summary");
        let summary: Value = serde_json::from_slice(&summary).expect("JSON");
        Self { place, flow: summary["flows"][0].clone() }
    }

    fn tap(&self, node: &str) -> PathBuf {
        self.place.path().join(format!("one/capture-{node}.pcapng"))
    }
}

/// Lines of the frames that pass `filter`, with the dissector.
fn frames(capture: &Path, filter: &str, further: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let script = format!("lua_script:{}", root.join("docs/wireshark/fairwave.lua").display());
    let reassembly = "tcp.reassemble_out_of_order:TRUE";
    let args = ["-X", &script, "-o", reassembly, "-n", "-Y", filter];
    tshark(&[&args[..], further].concat(), capture)
}

fn count(capture: &Path, filter: &str) -> Value {
    frames(capture, filter, &[]).len().into()
}

/// Errors and warnings of any dissector; of what is lost and sent again, frames are not guilty.
fn wrong(capture: &Path) -> Vec<String> {
    let bad = "_ws.malformed || _ws.lua.error || fwshake.cut || fwmulti.cut \
               || (_ws.expert.severity >= 6291456 && !tcp.analysis.flags) \
               || ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0";
    frames(capture, bad, &[])
}

const SHAKE: &str = r#"transport = "shake"
paths = [{ via = "phone1" }, { via = "phone2" }]
"#;

const MULTI: &str = r#"transport = "multi-tcp"
split = "adaptive"
block = "5000 B"
paths = [{ via = "phone1" }, { via = "phone2" }]
"#;

#[test]
fn wireshark_counts_what_a_shake_flow_counts() {
    let run = Run::of(SHAKE, &[]);
    let (host, server) = (run.tap("host"), run.tap("server"));
    for capture in [&host, &server] {
        assert_eq!(wrong(capture), Vec::<String>::new());
        assert_eq!(count(capture, "fwshake"), count(capture, "udp"));
    }
    let data = "fwshake.kind == 4 && fwshake.flags.opener == 1";
    for (path, number) in [(&run.flow["paths"][0], 0), (&run.flow["paths"][1], 1)] {
        let on_path = format!("{data} && fwshake.path == {number}");
        assert_eq!(count(&host, &on_path), path["sent_packets"], "path {number}");
    }
    assert_eq!(count(&host, data), run.flow["sent_packets"]);
    let acks = "fwshake.kind == 5 && fwshake.flags.opener == 0";
    assert_eq!(count(&server, acks), run.flow["acks_sent"]);
    // A megabyte and the end of the stream.
    assert_ne!(count(&server, &format!("{acks} && fwshake.cumulative == 1000001")), 0);
    assert_eq!(count(&server, &format!("{acks} && fwshake.cumulative > 1000001")), 0);
    let blocks = "fwshake.block.from > fwshake.cumulative && fwshake.block.to <= 1000001";
    assert_eq!(count(&server, blocks), count(&server, "fwshake.block"));
    assert_ne!(count(&server, "fwshake.block"), 0, "losses leave gaps");
}

/// A capture of the first bytes of each packet is no capture of malformed messages.
#[test]
fn wireshark_does_not_blame_messages_for_a_snap_length() {
    let run = Run::of(SHAKE, &["record.snap_length=90 B"]);
    let host = run.tap("host");
    assert_eq!(frames(&host, "fwshake.malformed || _ws.malformed || _ws.lua.error", &[]).len(), 0);
    let data = "fwshake.kind == 4 && fwshake.flags.opener == 1 && fwshake.seq";
    assert_eq!(count(&host, &format!("{data} && fwshake.cut")), run.flow["sent_packets"]);
    assert_eq!(count(&host, "fwshake.kind == 3 && fwshake.answers"), 2);
}

#[test]
fn wireshark_puts_the_streams_of_multi_tcp_together() {
    let run = Run::of(MULTI, &[]);
    for capture in [run.tap("host"), run.tap("server")] {
        assert_eq!(wrong(&capture), Vec::<String>::new());
        assert_eq!(count(&capture, "fwmulti.connections == 2"), 4, "a preface each way");
        assert_ne!(count(&capture, "fwmulti.kind == 2 && fwmulti.offset == 1000000"), 0);
    }
    let fields = ["-T", "fields", "-e", "fwmulti.len", "-e", "fwmulti.offset"];
    let lines = frames(&run.tap("host"), "fwmulti.kind == 1", &fields);
    let mut blocks = BTreeSet::new();
    for line in &lines {
        let (lens, offsets) = line.split_once('\t').expect("two columns");
        let both = lens.split(',').zip(offsets.split(','));
        blocks.extend(both.filter(|(len, _)| *len != "0").map(|(_, offset)| offset.to_owned()));
    }
    let expected = (0..200).map(|block| (block * 5000).to_string()).collect();
    assert_eq!(blocks, expected);
}
