//! Live tools whose peer ends, dies, stops reading, is cut off or restarts, with 256 MB of address
//! space: what they queue is bounded, and a run without its peer ends with exit code 1 and the
//! figures so far.

use crate::real::in_namespaces;
use serde_json::Value;

/// Memory that a tool may take, in MB: several times what it takes beside a healthy peer.
const MAX_MB: f64 = 100.0;
const CLOSED: &str = "closed early by the other end";
const SILENT: &str = "the other end is silent";
const RESET: &str = "reset by the other end: No Connection";
const KEPT: &str = "measurements until then are kept";
const UNANSWERED: &str = "answer";

/// Result of a task of `peers.py`, in namespaces of its own.
fn found(task: &str, event: &str) -> Option<Value> {
    in_namespaces("peers.py", &[task, event])
}

/// Checks the rows of a table: tool, event, exit code, and a word of its last lines.
fn check(rows: &[(&str, &str, i64, &str)]) {
    for (task, event, code, word) in rows {
        let Some(found) = found(task, event) else { return };
        assert_eq!(found["code"], *code, "{task} {event}: {found:#}");
        let text = found["text"].as_str().expect("text");
        assert!(text.contains(word), "{task} {event}: no {word}: {text}");
        assert!(found["mb"].as_f64().is_some_and(|mb| mb < MAX_MB), "{task} {event}: {found:#}");
    }
}

#[test]
fn a_dccp_client_ends_with_its_server() {
    check(&[
        ("dccp", "end", 1, CLOSED),
        ("dccp", "death", 1, SILENT),
        // Its packets may be refused by ICMP before the new server is there.
        ("dccp", "restart", 1, "the other end"),
        ("dccp_udp", "end", 1, CLOSED),
        ("dccp_udp", "death", 1, SILENT),
        ("dccp_udp", "stop", 1, SILENT),
        ("dccp_udp", "cut", 1, SILENT),
        ("dccp_udp", "restart", 1, RESET),
    ]);
}

#[test]
fn a_station_keeps_what_was_counted_without_its_server() {
    for task in ["fairness", "fairness_udp"] {
        check(
            &[("end", 1, KEPT), ("death", 1, KEPT), ("restart", 1, KEPT)]
                .map(|(event, code, word)| (task, event, code, word)),
        );
    }
}

#[test]
fn a_probe_ends_with_its_server() {
    // With a server that restarts before it has agreed to a session, a probe goes on.
    check(&["end", "death", "stop", "cut"].map(|event| ("probe", event, 1, UNANSWERED)));
}

#[test]
fn a_station_and_an_access_point_outlive_each_other() {
    for event in ["end", "death", "stop", "cut", "restart"] {
        check(&[("soc_station", event, 0, "reports were made")]);
        check(&[("soc_ap", event, 0, "reports accepted")]);
    }
}

/// The client pushes as much as the proxy takes.
#[test]
fn a_proxy_outlives_the_servers_that_it_relays_to() {
    let events = ["end", "death", "stop", "cut", "restart"];
    check(&events.map(|event| ("proxy", event, 0, "went up")));
}
