//! `fairwave probe` between real sockets: over loopback, and through a router between namespaces.

mod field;
mod links;
mod slow;
mod tutorial;

use crate::common::{ends_with, fairwave, output, scratch};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

/// A server that ends with the value.
struct Serving {
    child: Child,
    port: String,
    code: String,
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may already have ended; in both cases its status must be collected.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server at a port that the kernel chooses, and waits until it prints the port.
fn serve(place: &Path, listen: &str, more: &[&str]) -> Serving {
    let args = [&["probe", "serve", "--listen", listen], more].concat();
    let mut child = fairwave(place, &args).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut line = || lines.next().expect("it greets").expect("text");
    let first = line();
    let command = line();
    let (_, port) = first.split_once("UDP ").expect("an address");
    let port = port.split(". On").next().and_then(|a| a.rsplit(':').next()).expect("a port");
    let code = command.rsplit(' ').next().expect("a code").to_owned();
    let port = port.to_owned();
    // Its later output must be read too: otherwise it would end when the pipe is full or closed.
    std::thread::spawn(move || lines.for_each(drop));
    Serving { child, port, code }
}

/// Probes the loopback interface, which carries all. Returns the results, their page and the
/// standard error.
fn probe_loopback() -> (Value, String, String) {
    let place = scratch();
    let server = serve(place.path(), "[::1]:0", &[]);
    let args = ["probe", "::1", "--port", &server.port, "--pairing", &server.code, "--out", "o"];
    let args = [&args[..], &["--rate", "20 Mbps", "--json"]].concat();
    let (printed, err) = ends_with(0, place.path(), &args);
    let found: Value = serde_json::from_str(&printed).unwrap();
    let kept = std::fs::read_to_string(place.path().join("o/probe.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), found);
    let page = std::fs::read_to_string(place.path().join("o/probe.html")).unwrap();
    (found, page, err)
}

#[test]
fn a_probe_has_its_figures_and_its_page() {
    let (found, page, _) = probe_loopback();
    assert!(found["kind"].is_string(), "{found:#}");
    for latency in ["idle", "up", "down", "both"] {
        assert!(found["latency_ms"][latency]["p95"].is_number(), "{latency}: {found:#}");
    }
    assert_eq!(found["rate_mbps"], 20.0);
    assert!(page.contains("<svg"), "{page}");
}

#[test]
#[ignore = "real time: cargo xtask test --realtime"]
fn realtime_a_path_that_carries_all_has_no_buffer_to_find() {
    let (found, page, err) = probe_loopback();
    assert_eq!(err, "");
    assert_eq!((&found["kind"], &found["buffer"]), (&"none-found".into(), &Value::Null));
    assert!(page.contains("No buffer on the way"), "{page}");
}

#[test]
fn caps_of_the_server_end_a_probe_and_what_was_measured_is_printed() {
    let place = scratch();
    let server = serve(place.path(), "127.0.0.1:0", &["--max-bytes", "150 KB"]);
    let args = ["probe", "127.0.0.1", "--port", &server.port, "--pairing", &server.code, "--json"];
    let (printed, err) = ends_with(1, place.path(), &args);
    let found: Value = serde_json::from_str(&printed).unwrap();
    assert!(err.contains("--max-bytes"), "{err}");
    assert!(found["error"].as_str().unwrap().contains("--max-bytes"), "{found:#}");
    assert!(found["latency_ms"]["idle"]["p50"].is_number(), "{found:#}");
}

#[test]
fn nobody_there_a_wrong_code_and_none_are_told_apart() {
    let place = scratch();
    let (_, err) = ends_with(2, place.path(), &["probe", "127.0.0.1"]);
    assert!(err.contains("--pairing CODE or --key FILE is missing"), "{err}");
    let (_, err) = ends_with(2, place.path(), &["probe", "127.0.0.1", "--pairing", "short"]);
    assert!(err.contains("at least 16"), "{err}");
    let server = serve(place.path(), "127.0.0.1:0", &[]);
    let port = server.port.clone();
    let wrong = ["probe", "127.0.0.1", "--port", &port, "--pairing", "anothersecretcode"];
    let (_, err) = ends_with(1, place.path(), &wrong);
    assert!(err.contains("same key or pairing code"), "{err}");
    drop(server);
    let output = output(place.path(), &wrong);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.contains("connection refused"), "{err}");
    let (_, err) = ends_with(2, place.path(), &["probe", "serve", "--max-rate", "0 bps"]);
    assert!(err.contains("at least one packet"), "{err}");
}
