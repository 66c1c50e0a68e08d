//! The conformance scripts of `crates/protocols/tcp` against our endpoint, in virtual time and
//! behind a TUN device, and against the TCP of the running kernel.

use crate::common::{ends_with, json, output, scratch};
use crate::emulate::machine_can;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const SCRIPTS: &str = "crates/protocols/tcp/tests/conformance";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Number of scripts with this verdict on a side.
fn count(reported: &Value, side: &str, verdict: &str) -> usize {
    let scripts = reported["scripts"].as_array().expect("scripts");
    let verdicts = scripts.iter().flat_map(|script| script["verdicts"].as_array().expect("some"));
    verdicts.filter(|reported| reported["side"] == side && reported["verdict"] == verdict).count()
}

/// An unexpected difference makes the command fail, and is printed.
#[test]
fn the_kernel_and_our_endpoint_follow_the_quick_scripts() {
    if !machine_can() {
        return;
    }
    let reported = json(&root(), &["packets", SCRIPTS, "--tries", "5"]);
    let all = reported["scripts"].as_array().expect("scripts").len();
    assert_eq!(count(&reported, "simulator", "follows"), all);
    assert!(count(&reported, "endpoint", "follows") >= 100, "{reported:#}");
    assert!(count(&reported, "kernel", "follows") >= 70, "{reported:#}");
    assert!(count(&reported, "kernel", "known") >= 15, "{reported:#}");
}

/// Takes minutes: retransmissions until the connection is abandoned, and TIME-WAIT until its end.
#[test]
#[ignore = "minutes: cargo test -p fairwave-cli --test it -- packets::slow --ignored"]
fn slow_scripts_are_followed_too() {
    if !machine_can() {
        return;
    }
    let reported = json(&root(), &["packets", SCRIPTS, "--slow", "--tries", "5"]);
    assert_eq!(count(&reported, "endpoint", "-"), 0, "{reported:#}");
}

/// Every divergence is in results/validation.md with the text of its script.
#[test]
fn divergences_are_listed_in_the_documents() {
    let args = ["packets", SCRIPTS, "--against", "simulator", "--markdown"];
    let (table, _) = ends_with(0, &root(), &args);
    let page = fs::read_to_string(root().join("results/validation.md")).expect("a page");
    let missing: Vec<&str> =
        table.lines().filter(|row| row.starts_with("| `") && !page.contains(row)).collect();
    assert!(missing.is_empty(), "not in results/validation.md:\n{}", missing.join("\n"));
    let row = |line: &&str| line.starts_with("| `") && root().join(script(line)).exists();
    let listed = page.lines().filter(row).count();
    assert_eq!(listed, table.lines().filter(|line| line.starts_with("| `")).count());
}

/// The file of a row of the table.
fn script(row: &str) -> String {
    let name = row.split('`').nth(1).unwrap_or_default();
    format!("{SCRIPTS}/{name}.pkt")
}

#[test]
fn what_differs_is_told_with_its_line_and_fails() {
    let place = scratch();
    let text = "# RFC 9293 section 3.5: an open that nobody makes\n0 listen\n10 > S 0\n";
    fs::write(place.path().join("wrong.pkt"), text).expect("a file");
    let against = ["packets", "wrong.pkt", "--against", "simulator"];
    let (out, err) = ends_with(1, place.path(), &against);
    assert!(out.contains("wrong: line 3: segment 1 of 1 did not leave"), "{out}");
    assert!(err.contains("1 of 1 scripts differ"), "{err}");
    fs::write(place.path().join("broken.pkt"), "0 listen\n").expect("a file");
    let (_, err) = ends_with(2, place.path(), &["packets", "broken.pkt"]);
    assert!(err.contains("broken.pkt:1: the first line must cite the source"), "{err}");
    let none = output(place.path(), &["packets", "gone.pkt"]);
    assert_eq!(none.status.code(), Some(1));
}
