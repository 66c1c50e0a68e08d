//! `fairwave trace` on the command line, with good and bad captures.

use crate::common::{ends_with, fairwave, json, scratch, tiny_run};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// A run of the tiny scenario with a capture, in `one/capture.pcapng`.
fn simulated(place: &Path) {
    let args = tiny_run("one");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    ends_with(0, place, &[&args[..], &["--pcap"]].concat());
}

/// JSON has the sentences that end the text.
#[test]
fn json_has_the_answer() {
    let place = scratch();
    simulated(place.path());
    let reported = json(place.path(), &["trace", "one/capture.pcapng"]);
    let sentences = reported["answer"].as_array().expect("sentences");
    let sentences: Vec<&str> = sentences.iter().filter_map(Value::as_str).collect();
    assert!(sentences[0].contains(" Mbps."), "{sentences:?}");
    let (out, _) = ends_with(0, place.path(), &["trace", "one/capture.pcapng"]);
    assert_eq!(out.lines().last(), Some(&*sentences.join(" ")));
}

#[test]
fn what_is_no_capture_ends_with_2_and_what_cannot_be_read_with_1() {
    let place = scratch();
    fs::write(place.path().join("text"), "hello, world").unwrap();
    let (out, err) = ends_with(2, place.path(), &["trace", "text"]);
    assert_eq!(out, "");
    assert!(err.contains("text: not a capture"), "{err}");
    for (name, bytes, what) in [
        ("cut.zst", &b"\x28\xb5\x2f\xfd\xff"[..], "the zstd stream is damaged"),
        ("cut.gz", b"\x1f\x8b\x08", "the gzip stream is damaged"),
        ("old.bz2", b"BZh9", "bzip2 -dc FILE"),
    ] {
        fs::write(place.path().join(name), bytes).unwrap();
        let (_, err) = ends_with(2, place.path(), &["trace", name]);
        assert!(err.contains(name) && err.contains(what), "{err}");
    }
    let (_, err) = ends_with(1, place.path(), &["trace", "missing.pcap"]);
    assert!(err.contains("missing.pcap"), "{err}");
    ends_with(2, place.path(), &["trace", "text", "--connection", "sctp:1"]);
    ends_with(2, place.path(), &["trace", "text", "--seed", "1"]);
}

/// The name of a file must not control the terminal.
#[test]
fn escape_characters_in_a_name_are_spelt_out() {
    let place = scratch();
    let name = "evil\u{1b}[2J\r.pcap";
    let (_, err) = ends_with(1, place.path(), &["trace", name]);
    assert!(err.contains("evil\\u{1b}[2J\\r.pcap: "), "{err:?}");
    fs::write(place.path().join(name), "hello, world").unwrap();
    let (_, err) = ends_with(2, place.path(), &["trace", name]);
    assert!(err.contains("evil\\u{1b}[2J\\r.pcap: not a capture"), "{err:?}");
    simulated(place.path());
    let bytes = fs::read(place.path().join("one/capture.pcapng")).unwrap();
    fs::write(place.path().join(name), &bytes[..bytes.len() - 10]).unwrap();
    let (out, err) = ends_with(0, place.path(), &["trace", name]);
    assert!(out.starts_with("evil\\u{1b}[2J\\r.pcap: pcapng"), "{out:?}");
    assert!(err.contains("warning: evil\\u{1b}[2J\\r.pcap is damaged"), "{err:?}");
}

/// Four uploads through a full queue of 60 packets at 20 Mbps (36 ms), before which the round trip
/// is 0.2 ms.
#[test]
fn captures_at_both_ends_of_a_full_queue_have_one_verdict() {
    let place = scratch();
    let scenario = r#"
        duration = "6 s"
        record.taps = ["pc", "server"]
        tcp.timestamps = true
        [[node]]
        name = "pc"
        kind = "host"
        [[node]]
        name = "server"
        kind = "host"
        [[link]]
        ends = ["pc", "server"]
        rate = "20M"
        delay = "100 us"
        queue = "60 packets"
    "#;
    let flow = |name| format!("[[flow]]\nname = \"{name}\"\nfrom = \"pc\"\nto = \"server\"\n");
    let flows = ["one", "two", "three", "four"].map(flow).concat();
    fs::write(place.path().join("queue.toml"), scenario.to_owned() + &flows).unwrap();
    ends_with(0, place.path(), &["run", "queue.toml", "--out", "one"]);
    let limits = ["pc", "server"].map(|node| {
        let found = json(place.path(), &["trace", &format!("one/capture-{node}.pcapng")]);
        let connections = found["connections"].as_array().expect("a list").clone();
        let resent = |one: &Value| one["a_sent"]["retransmitted_segments"].as_u64();
        assert!(connections.iter().all(|one| resent(one).is_some_and(|n| n > 0)), "{found:#}");
        connections.iter().map(|one| one["limit"].clone()).collect::<Vec<_>>()
    });
    assert_eq!(limits, [vec!["path"; 4], vec!["path"; 4]]);
}

#[test]
fn a_cut_capture_gives_what_is_there_and_a_warning() {
    let place = scratch();
    simulated(place.path());
    let whole = json(place.path(), &["trace", "one/capture.pcapng"]);
    assert_eq!(whole["capture"]["broken"], Value::Null);
    let bytes = fs::read(place.path().join("one/capture.pcapng")).unwrap();
    fs::write(place.path().join("cut.pcapng"), &bytes[..bytes.len() - 10]).unwrap();
    let (out, err) = ends_with(0, place.path(), &["trace", "cut.pcapng"]);
    assert!(out.contains("Connections"), "{out}");
    assert!(err.contains("warning: cut.pcapng is damaged at byte "), "{err}");
    let (out, _) = ends_with(0, place.path(), &["trace", "cut.pcapng", "--json"]);
    let cut: Value = serde_json::from_str(&out).unwrap();
    let packets = whole["capture"]["packets"].as_u64().unwrap();
    assert_eq!(cut["capture"]["packets"], packets - 1);
    assert_eq!(cut["capture"]["broken"]["packets"], packets - 1);
}

#[test]
fn standard_input_and_compressed_files_say_the_same() {
    let place = scratch();
    simulated(place.path());
    let file = json(place.path(), &["trace", "one/capture.pcapng"]);
    let bytes = fs::read(place.path().join("one/capture.pcapng")).unwrap();
    for program in ["cat", "gzip", "zstd"] {
        let mut packer =
            Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut child = fairwave(place.path(), &["trace", "-", "--json"])
            .stdin(packer.stdout.take().unwrap())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        packer.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = child.stdout.take().map(std::io::read_to_string).unwrap().unwrap();
        assert!(packer.wait().unwrap().success() && child.wait().unwrap().success());
        let piped: Value = serde_json::from_str(&output).unwrap();
        assert_eq!(piped["connections"], file["connections"], "{program}");
        assert_eq!(piped["capture"]["bytes"], file["capture"]["bytes"], "{program}");
    }
}

/// Both commands read a capture several times where it is a file. A second reader of the pipe would
/// get nothing.
#[test]
fn a_pipe_is_read_once() {
    let place = scratch();
    simulated(place.path());
    assert!(Command::new("mkfifo").arg(place.path().join("pipe")).status().unwrap().success());
    let script = "cat one/capture.pcapng > pipe; while :; do : > pipe; done";
    for command in [["trace", "pipe", "--out", "told"], ["show", "pipe", "--out", "page.html"]] {
        let mut shell = Command::new("sh");
        let mut writer = shell.args(["-c", script]).current_dir(place.path()).spawn().unwrap();
        let output = fairwave(place.path(), &command).output().unwrap();
        writer.kill().unwrap();
        writer.wait().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let told = fs::read(place.path().join("told/summary.json")).unwrap();
    let told: Value = serde_json::from_slice(&told).unwrap();
    let file = json(place.path(), &["trace", "one/capture.pcapng"]);
    assert_eq!(told["connections"], file["connections"]);
    let page = fs::read_to_string(place.path().join("page.html")).unwrap();
    assert!(page.contains("pipe: pcapng, "), "the page names the pipe");
}

#[test]
fn a_connection_is_told_in_words_and_a_missing_one_is_named() {
    let place = scratch();
    simulated(place.path());
    let args = ["trace", "one/capture.pcapng", "--connection", "0"];
    let (out, _) = ends_with(0, place.path(), &args);
    assert!(out.contains("Connection 0: ") && out.contains("Starved"), "{out}");
    let args = ["trace", "one/capture.pcapng", "--connection", "99"];
    let (_, err) = ends_with(2, place.path(), &args);
    assert!(err.contains("no connection 99"), "{err}");
    for captures in [&["one/capture.pcapng"][..], &["one/capture.pcapng"; 2]] {
        let args = [&["trace"], captures, &["--port", "81"]].concat();
        let (_, err) = ends_with(0, place.path(), &args);
        assert!(err.contains("no stream has port 81"), "{err}");
    }
}

#[test]
fn a_directory_holds_tables_figures_and_a_page_that_needs_nothing_else() {
    let place = scratch();
    simulated(place.path());
    let args = ["trace", "one/capture.pcapng", "--out", "told", "--interval", "100 ms"];
    let (out, _) = ends_with(0, place.path(), &args);
    assert!(out.contains("Report: told/report.html"), "{out}");
    let reported = place.path().join("told");
    for file in ["connections.parquet", "intervals.parquet", "points.parquet"] {
        let bytes = fs::read(reported.join(file)).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{file}");
    }
    let page = fs::read_to_string(reported.join("report.html")).unwrap();
    assert!(page.contains("time and sequence") && page.contains("<svg"));
    let page = page.replace("http://www.w3.org/2000/svg", "");
    for foreign in ["http://", "https://", "<link", "@import", "src="] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    let reported: Value =
        serde_json::from_slice(&fs::read(reported.join("summary.json")).unwrap()).unwrap();
    let printed = json(place.path(), &["trace", "one/capture.pcapng"]);
    assert_eq!(reported, printed);
    ends_with(2, place.path(), &["trace", "one/capture.pcapng", "--interval", "1 s"]);
    // An interval of no length had a table without rows.
    let zero = ["trace", "one/capture.pcapng", "--out", "none", "--interval", "0 ms"];
    let (_, err) = ends_with(2, place.path(), &zero);
    assert!(err.contains("more than 0") && !place.path().join("none").exists(), "{err}");
    ends_with(2, place.path(), &args);
}

#[test]
fn a_capture_compared_with_itself_lost_nothing() {
    let place = scratch();
    simulated(place.path());
    let both = ["trace", "one/capture.pcapng", "one/capture.pcapng"];
    let reported = json(place.path(), &both);
    let ways = reported["ways"].as_array().unwrap();
    assert!(!ways.is_empty());
    for way in ways {
        assert_eq!((&way["all"]["alone"][0], &way["all"]["alone"][1]), (&0.into(), &0.into()));
        assert_eq!(way["shift"]["max_ns"], 0);
    }
    let (out, _) = ends_with(0, place.path(), &[&both[..], &["--out", "told"]].concat());
    assert!(out.contains("Between the captures"), "{out}");
    for file in ["report.html", "between.parquet", "summary.json", "figures/way-1-shift.svg"] {
        assert!(place.path().join("told").join(file).exists(), "{file}");
    }
    ends_with(2, place.path(), &[&both[..], &["--connection", "1"]].concat());
    ends_with(2, place.path(), &["trace", "one/capture.pcapng", "--same-clock"]);
}
