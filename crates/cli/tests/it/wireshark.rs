//! The dissector of `docs/wireshark` on captures of Fairwave's own formats: tshark finds the
//! messages that the flows have counted.

use crate::common::{self, ends_with, scratch, tshark};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Two paths from a host to a server.
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

/// Results of a run with both paths.
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

/// Arguments that load the dissector.
fn dissector() -> [String; 4] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let script = format!("lua_script:{}", root.join("docs/wireshark/fairwave.lua").display());
    ["-X", &script, "-o", "tcp.reassemble_out_of_order:TRUE"].map(str::to_owned)
}

/// Lines of the frames that pass `filter`.
fn frames(capture: &Path, filter: &str, further: &[&str]) -> Vec<String> {
    let dissector = dissector();
    let args: Vec<&str> = dissector.iter().map(String::as_str).collect();
    tshark(&[&args[..], &["-n", "-Y", filter], further].concat(), capture)
}

/// Number of frames that pass each of `filters`.
fn counts(capture: &Path, filters: &[&str]) -> Vec<usize> {
    let dissector = dissector();
    let args: Vec<&str> = dissector.iter().map(String::as_str).collect();
    common::counts(&args, capture, filters)
}

/// Errors and warnings of any dissector. Losses and retransmissions are no errors of the frames.
const WRONG: &str = "_ws.malformed || _ws.lua.error || fwshake.cut || fwmulti.cut \
                     || (_ws.expert.severity >= 6291456 && !tcp.analysis.flags) \
                     || ip.checksum.status == 0 || tcp.checksum.status == 0 \
                     || udp.checksum.status == 0";

/// The same, after a check that there are no errors.
fn counts_of_right(capture: &Path, filters: &[&str]) -> Vec<usize> {
    let mut counts = counts(capture, &[filters, &[WRONG]].concat());
    if counts.pop() != Some(0) {
        panic!("wrong frames: {:#?}", frames(capture, WRONG, &[]));
    }
    counts
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
    let data = "fwshake.kind == 4 && fwshake.flags.opener == 1";
    let on_path = [0, 1].map(|number| format!("{data} && fwshake.path == {number}"));
    let filters = ["fwshake", "udp", data, &on_path[0], &on_path[1]];
    let host = counts_of_right(&run.tap("host"), &filters);
    assert_eq!(host[0], host[1]);
    assert_eq!(run.flow["sent_packets"], host[2]);
    assert_eq!(run.flow["paths"][0]["sent_packets"], host[3]);
    assert_eq!(run.flow["paths"][1]["sent_packets"], host[4]);

    let acks = "fwshake.kind == 5 && fwshake.flags.opener == 0";
    // A megabyte and the end of the stream.
    let end = ["==", ">"].map(|than| format!("{acks} && fwshake.cumulative {than} 1000001"));
    let blocks = "fwshake.block.from > fwshake.cumulative && fwshake.block.to <= 1000001";
    let filters = ["fwshake", "udp", acks, &end[0], &end[1], blocks, "fwshake.block"];
    let server = counts_of_right(&run.tap("server"), &filters);
    assert_eq!(server[0], server[1]);
    assert_eq!(run.flow["acks_sent"], server[2]);
    assert_ne!(server[3], 0);
    assert_eq!(server[4], 0);
    assert_eq!(server[5], server[6]);
    assert_ne!(server[6], 0, "losses leave gaps");
}

/// A capture of only the first bytes of each packet does not contain malformed messages.
#[test]
fn wireshark_does_not_blame_messages_for_a_snap_length() {
    let run = Run::of(SHAKE, &["record.snap_length=90 B"]);
    let malformed = "fwshake.malformed || _ws.malformed || _ws.lua.error";
    let data = "fwshake.kind == 4 && fwshake.flags.opener == 1 && fwshake.seq && fwshake.cut";
    let answers = "fwshake.kind == 3 && fwshake.answers";
    let counts = counts(&run.tap("host"), &[malformed, data, answers]);
    assert_eq!(counts[0], 0);
    assert_eq!(run.flow["sent_packets"], counts[1]);
    assert_eq!(counts[2], 2);
}

#[test]
fn wireshark_puts_the_streams_of_multi_tcp_together() {
    let run = Run::of(MULTI, &[]);
    for capture in [run.tap("host"), run.tap("server")] {
        let end = "fwmulti.kind == 2 && fwmulti.offset == 1000000";
        let counts = counts_of_right(&capture, &["fwmulti.connections == 2", end]);
        assert_eq!(counts[0], 4, "a preface each way");
        assert_ne!(counts[1], 0);
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
