//! Maps of claims on the command line: one set-up with its traces, and refused options.

use crate::common::{ends_with, scratch};
use serde_json::{Value, json};
use std::fs;

/// One set-up of a claim whose runs are short.
const ONE: [&str; 8] =
    ["reproduce", "ap-buffer", "--map", "BUF-1", "--at", "radio=802.11b", "--out", "map"];

#[test]
fn one_set_up_of_a_map_is_judged_and_leaves_traces_and_a_page() {
    let place = scratch();
    let (printed, _) = ends_with(0, place.path(), &[&ONE[..], &["--json", "--quiet"]].concat());
    let reported: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(reported["claims"].as_array().map(Vec::len), Some(1));
    let claim = &reported["claims"][0];
    let setups = json!({ "tried": 1, "admitted": 1, "holding": 1, "undecided": 0 });
    assert_eq!((&claim["id"], &claim["setups"]), (&json!("BUF-1"), &setups));
    assert_eq!(claim["points"][0]["setup"]["radio"], "802.11b");
    assert_eq!(claim["points"][0]["setup"]["rate"], "95");
    assert_eq!(claim["condition"], "Holds in this set-up; no other was tried.");
    assert_eq!(reported["first_seed"], 1001);
    assert_eq!(crate::schemas::complaints(&[("reproduce-map", reported.clone())]), "");
    let map = place.path().join("map");
    let kept: Value = serde_json::from_slice(&fs::read(map.join("explored.json")).expect("kept"))
        .expect("it is JSON");
    assert_eq!(kept, reported);
    let page = fs::read_to_string(map.join("map.html")).expect("a page");
    assert!(page.contains("BUF-1") && page.contains("802.11b"), "{page}");
    let runs: Vec<_> = fs::read_dir(map.join("runs")).expect("runs").collect();
    assert_eq!(runs.len(), 1);

    // The second time, the existing runs are read and give the same result.
    let again = [&ONE[..], &["--resume", "--markdown", "--quiet"]].concat();
    let (markdown, _) = ends_with(0, place.path(), &again);
    assert!(markdown.contains("| BUF-1 | conditional | holds in 1 of 1 (100 %) |"), "{markdown}");

    // Results of other set-ups, or of something else, are not replaced.
    let mut other = ONE;
    other[5] = "radio=802.11g";
    let resumed = |args: &[&'static str]| [args, &["--resume", "--quiet"]].concat();
    for more in [&[][..], &["--confirm"]] {
        let (_, err) = ends_with(2, place.path(), &[&resumed(&other)[..], more].concat());
        assert!(err.contains("map/explored.json: not of this map, form, claims"), "{err}");
    }
    fs::create_dir(place.path().join("thesis")).expect("a directory");
    fs::write(place.path().join("thesis/map.html"), "years").expect("a file");
    other[7] = "thesis";
    let (_, err) = ends_with(2, place.path(), &resumed(&other));
    assert!(err.contains("thesis: not empty, and there is no map to continue"), "{err}");

    // If the first run had found that a parameter decides, the second would contradict it.
    let mut earlier = reported;
    earlier["claims"][0]["decides"] =
        json!({ "key": "lost", "name": "the loss", "threshold": "0" });
    fs::write(map.join("explored.json"), earlier.to_string()).expect("it is replaced");
    let confirmed = [&ONE[..], &["--confirm", "--resume", "--markdown", "--quiet"]].concat();
    let (markdown, _) = ends_with(0, place.path(), &confirmed);
    let day = earlier["ran"].as_str().expect("a day");
    let text =
        format!("conditional in the exploring run of {day}, where it was decided by the loss (0))");
    assert!(markdown.contains(&text), "{markdown}");
}

/// Text that `--help` promises for a claim that has no exit code of its own.
#[test]
fn a_map_warns_of_claims_that_cannot_be_judged() {
    let place = scratch();
    let args = ["reproduce", "shake", "--map", "SHK-4", "--at", "duplicates=3", "--quiet"];
    let (_, err) = ends_with(0, place.path(), &[&args[..], &["--strict"]].concat());
    assert!(err.contains("warning: not judgeable: SHK-4"), "{err}");
    let (_, err) = ends_with(0, place.path(), &args);
    assert_eq!(err, "");
}

/// Maps have thousands of runs: those without series are in the store alone.
#[test]
fn runs_of_maps_are_read_back_from_the_store() {
    let place = scratch();
    let made = ["reproduce", "ap-buffer", "--out", "made", "--store", "kept", "--quiet"];
    ends_with(0, place.path(), &made);
    let from = ["reproduce", "ap-buffer", "--from", "made", "--quiet"];
    ends_with(0, place.path(), &[&from[..], &["--store", "kept"]].concat());
    let (_, err) = ends_with(1, place.path(), &[&from[..], &["--no-store"]].concat());
    assert!(err.contains("missing: ") && err.contains("name it by --store"), "{err}");
}

#[test]
fn what_no_map_has_is_refused_with_what_there_is() {
    let place = scratch();
    let refused = |args: &[&str], expected: &str| {
        let (_, err) = ends_with(2, place.path(), &[&["reproduce"], args].concat());
        assert!(err.contains(expected), "{args:?}: {err}");
    };
    refused(&["ack-loss", "--map", "ACK-9"], "no claim \"ACK-9\"; there are: ACK-1, ACK-2");
    let at = ["ack-loss", "--map", "ACK-4", "--at"];
    refused(&[&at[..], &["attempts=5"]].concat(), "no value \"5\"; there are: 1, 4 with RTS, 7");
    refused(&[&at[..], &["attempts"]].concat(), "\"attempts\" is not KEY=VALUE");
    refused(&[&at[..], &["tries=4"]].concat(), "no axis \"tries\"; there are: attempts, ");
    let label = ["fairness", "--map", "BUF-2", "--at", "window=80 of Linux, 64 of OS/2"];
    refused(&label, "no value \"80 of Linux, 64 of OS/2\"; there are: 64, 80 of Linux, 64 of XP");
    refused(&["ack-loss", "--at", "attempts=7"], "--map <CLAIM>");
    refused(&["ack-loss", "--confirm"], "--map <CLAIM>");
}

#[test]
fn every_map_is_read_and_has_the_study_s_claims() {
    for study in fairwave_studies::ALL {
        let Some(map) = fairwave_study::map::of(*study).expect("it is right") else { continue };
        assert!(map.grid(true).len() < map.grid(false).len(), "{}: no quick form", study.name());
    }
}
