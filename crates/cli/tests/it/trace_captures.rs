//! Captures of real programs with a known limit, made by `cargo xtask captures` with offloads on.
//! The verdict at both ends must be correct, and the comparison of both must find the losses
//! between them. The results for the whole set are in results/captures.md.

use crate::common::{ends_with, json, scratch};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A case: its name, its limit (`None` for UDP), and the number of packets that the path and its
/// queues dropped towards the receiver and back.
struct Case(&'static str, Option<&'static str>, [u64; 2]);

const CASES: [Case; 7] = [
    Case("application-loss-iperf3-on", Some("application"), [6, 0]),
    Case("application-ssh-on", Some("application"), [0, 0]),
    Case("loss-curl-on", Some("loss"), [34, 0]),
    Case("window-slow-curl-on", Some("receive_window"), [0, 0]),
    Case("acks-few-curl-on", Some("path"), [6, 145]),
    Case("udp-loss-iperf3-on", None, [34, 0]),
    Case("rtp-ffmpeg-on", None, [3, 0]),
];

/// The hosts at which each transfer was captured.
const ENDS: [&str; 2] = ["sender", "receiver"];

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/captures")
}

/// Verdicts at the sender and at the receiver.
fn ends(case: &Case) -> [Value; 2] {
    ["sender", "receiver"]
        .map(|end| json(&data(), &["trace", &format!("{}-{end}.pcap.gz", case.0)]))
}

/// The busier direction of the busiest stream.
fn way(streams: &Value) -> &Value {
    let ways = streams.as_array().expect("a list of streams").iter();
    let ways = ways.flat_map(|stream| [&stream["a_sent"], &stream["b_sent"]]);
    ways.max_by_key(|way| way["payload_bytes"].as_u64()).expect("a stream")
}

fn main_connection(reported: &Value) -> &Value {
    let connections = reported["connections"].as_array().expect("a list of connections");
    let bytes = |one: &&Value| {
        ["a_sent", "b_sent"]
            .map(|end| one[end]["unique_bytes"].as_u64().unwrap_or(0))
            .iter()
            .sum::<u64>()
    };
    connections.iter().max_by_key(bytes).expect("a connection")
}

#[test]
fn both_ends_of_a_connection_find_what_limited_it() {
    for case in &CASES {
        let Some(limit) = case.1 else { continue };
        for (reported, end) in ends(case).iter().zip(ENDS) {
            let one = main_connection(reported);
            assert_eq!(one["limit"], limit, "{} at the {end}", case.0);
            // The terminal lines of a session come from the host to which the copies go.
            let near = if case.0.contains("ssh") { ["receiver", "sender"] } else { ENDS };
            assert_eq!(one["captured_near"], near[usize::from(end == ENDS[1])], "{}", case.0);
        }
    }
}

#[test]
fn joined_segments_are_no_losses_between_two_captures() {
    for Case(name, _, dropped) in &CASES {
        let files = ENDS.map(|end| format!("{name}-{end}.pcap.gz"));
        let reported = json(&data(), &["trace", &files[0], &files[1], "--same-clock"]);
        let ways = reported["ways"].as_array().expect("a list of ways");
        let lost = |receiver: &str| {
            let there = |way: &&Value| way["b"].as_str().is_some_and(|b| b.starts_with(receiver));
            ways.iter().filter(there).filter_map(|way| way["lost"].as_u64()).sum::<u64>()
        };
        assert_eq!([lost("10.79.2.2:"), lost("10.79.1.2:")], *dropped, "{name}");
        let joined = ways.iter().map(|way| way["offloaded_packets"][0].as_u64());
        let joined = joined.sum::<Option<u64>>().expect("counts");
        assert!(joined > 0 || name.contains("rtp") || name.contains("udp"), "{name}");
    }
}

#[test]
fn lost_acks_are_counted_at_the_sender_and_stretch_acks_are_none() {
    for case in CASES.iter().filter(|case| case.1.is_some()) {
        let [sender, receiver] = ends(case);
        let lost = |reported: &Value| way(&reported["connections"])["acks_lost_inferred"].as_u64();
        let [at_sender, at_receiver] = [lost(&sender), lost(&receiver)];
        let dropped = case.2[1];
        assert!(at_sender.is_none_or(|lost| lost.abs_diff(dropped) <= 3), "{}", case.0);
        assert!(dropped == 0 || at_sender.is_some(), "{}", case.0);
        assert!(at_receiver.is_none_or(|lost| lost == 0), "{}: {at_receiver:?}", case.0);
    }
}

#[test]
fn numbers_of_datagrams_are_read_where_iperf3_and_ffmpeg_put_them() {
    for (Case(name, _, dropped), numbering) in CASES[5..].iter().zip(["iperf3", "rtp"]) {
        let reported = json(&data(), &["trace", &format!("{name}-receiver.pcap.gz")]);
        let numbers = &way(&reported["udp"])["numbers"];
        assert_eq!(numbers["numbering"], numbering, "{name}");
        assert_eq!(numbers["lost"], dropped[0], "{name}");
    }
}

#[test]
fn repairs_by_sack_have_a_name() {
    let args = ["trace", "loss-curl-on-sender.pcap.gz", "--connection", "0"];
    let (out, _) = ends_with(0, &data(), &args);
    assert!(out.contains(" by SACK"), "{out}");
    assert!(out.contains("Segments are joined here"), "{out}");
    assert!(out.contains("Captured near the sender"), "{out}");
}

/// An upload over a radio that loses one segment in thirty, and delays others by retries.
const RADIO: &str = "duration = \"8 s\"\n[cell]\nstandard = \"802.11a\"\nshort_retry_limit = 3\n\
    errors = { data = 0.3 }\n[[node]]\nname = \"ap\"\nkind = \"access-point\"\n\
    [[node]]\nname = \"sta\"\nkind = \"station\"\n[[node]]\nname = \"server\"\nkind = \"host\"\n\
    [[link]]\nends = [\"ap\", \"server\"]\nrate = \"1 Gbps\"\n[tcp]\nstack = \"linux-6\"\n\
    [[flow]]\nname = \"up\"\nfrom = \"sta\"\nto = \"server\"\n";

/// On a short path the window after losses suffices, and the goodput is nearly that without losses;
/// on a longer path it does not. The reference is the goodput: 15.6 Mbps without losses.
#[test]
fn losses_of_a_radio_limit_where_they_cost_goodput() {
    let place = scratch();
    std::fs::write(place.path().join("s.toml"), RADIO).expect("a file");
    for (delay, truth, goodput_mbps) in [("1 ms", "path", 13.0..16.0), ("5 ms", "loss", 4.0..8.0)] {
        let delay = format!("link.ap-server.delay={delay}");
        let taps = ["--tap", "sta", "--tap", "server", "--out", "o", "--force"];
        let run = json(place.path(), &[&["run", "s.toml", "--set", &delay][..], &taps].concat());
        let goodput = run["summary"]["flows"][0]["goodput_bps"].as_f64().expect("a rate") / 1e6;
        assert!(goodput_mbps.contains(&goodput), "{delay}: {goodput} Mbps");
        for node in ["sta", "server"] {
            let printed = json(place.path(), &["trace", &format!("o/capture-{node}.pcapng")]);
            assert_eq!(printed["connections"][0]["limit"], truth, "{delay} at {node}");
        }
    }
}

/// Downloads in A-MPDUs of up to 256 MPDUs reach a station in bursts, with pauses longer than the
/// path's minimum round-trip time. A greedy sender must not appear idle there.
const BURSTS: &str = "duration = \"3 s\"\n[cell]\nstandard = \"802.11ax\"\nwidth = \"80 MHz\"\n\
    ampdu_frames = 256\n[[node]]\nname = \"ap\"\nkind = \"access-point\"\nmcs = 9\n\
    queue = { discipline = \"fq-codel\" }\n[[node]]\nname = \"sta\"\nkind = \"station\"\n\
    count = 4\nmcs = 9\n[[node]]\nname = \"server\"\nkind = \"host\"\n\
    [[link]]\nends = [\"server\", \"ap\"]\nrate = \"1 Gbps\"\ndelay = \"5 ms\"\n\
    [tcp]\ncongestion_control = \"cubic\"\n\
    [[flow]]\nname = \"down\"\nfrom = \"server\"\nto = \"sta*\"\n";

#[test]
fn pauses_between_bursts_are_not_those_of_an_application() {
    let place = scratch();
    std::fs::write(place.path().join("s.toml"), BURSTS).expect("a file");
    let run = ["run", "s.toml", "--tap", "server", "--tap", "sta4", "--out", "o"];
    ends_with(0, place.path(), &run);
    let limit = |node: &str| {
        let file = format!("o/capture-{node}.pcapng");
        json(place.path(), &["trace", &file, "--host", "10.0.0.5"])["connections"][0]["limit"]
            .clone()
    };
    assert_eq!([limit("server"), limit("sta4")], ["path", "path"]);
}

/// A router's tap captures each packet twice, incoming and outgoing.
const ROUTED: &str = "duration = \"3 s\"\n[[node]]\nname = \"a\"\nkind = \"host\"\n\
    [[node]]\nname = \"router\"\nkind = \"host\"\n[[node]]\nname = \"b\"\nkind = \"host\"\n\
    [[link]]\nends = [\"a\", \"router\"]\nrate = \"100 Mbps\"\n\
    [[link]]\nends = [\"router\", \"b\"]\nrate = \"10 Mbps\"\ndelay = \"5 ms\"\n\
    queue = \"200 packets\"\n[[flow]]\nname = \"up\"\nfrom = \"a\"\nto = \"b\"\nsize = \"2 MB\"\n";

#[test]
fn what_passes_a_router_is_counted_once() {
    let place = scratch();
    std::fs::write(place.path().join("s.toml"), ROUTED).expect("a file");
    let run = ["run", "s.toml", "--tap", "router", "--tap", "a", "--out", "o"];
    ends_with(0, place.path(), &run);
    let reported = |node: &str| json(place.path(), &["trace", &format!("o/capture-{node}.pcapng")]);
    let [router, end] = ["router", "a"].map(reported);
    let packets = |reported: &Value| reported["capture"]["ip"]["tcp"].as_u64();
    assert_eq!(packets(&router), packets(&end));
    assert_eq!(router["capture"]["ip"]["copies"], router["capture"]["ip"]["tcp"]);
    let resent = |reported: &Value| way(&reported["connections"])["retransmissions"].clone();
    assert_eq!(resent(&router), resent(&end));
    assert_eq!(router["connections"][0]["limit"], end["connections"][0]["limit"]);
}
