//! `fairwave shake` between two hosts with two links, with curl as the application.

use crate::common::{ends_with, scratch};
use crate::real::in_namespaces;
use crate::schemas::complaints;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;

/// Result of a task of `shake.py`, in namespaces of its own.
fn found(task: &str) -> Option<Value> {
    in_namespaces("shake.py", &[task])
}

#[test]
fn a_file_comes_whole_over_both_links_by_either_family() {
    let Some(found) = found("carries") else { return };
    for run in found.as_array().expect("a list") {
        let client = &run["client"];
        let checked = [("shake", client.clone()), ("shake-serve", run["server"].clone())];
        assert_eq!(complaints(&checked), "");
        assert_eq!(client["mode"], run["mode"]);
        assert_eq!((&client["connections"], &client["failed"]), (&1.into(), &0.into()), "{run:#}");
        let paths = client["paths"].as_array().expect("a list");
        assert_eq!(paths.len(), 2);
        for (path, via) in paths.iter().zip(["w0", "w1"]) {
            assert_eq!((&path["via"], &path["is_up"]), (&via.into(), &true.into()), "{run:#}");
            let bytes = path["bytes_received"].as_u64().expect("a number");
            // Each link has its share; in redundant mode each may carry the whole file.
            assert!(bytes > 50_000, "{run:#}");
            assert!(path["rtt_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{run:#}");
            assert!(
                path["loss"].as_f64().is_some_and(|loss| (0.0..0.5).contains(&loss)),
                "{run:#}"
            );
            assert_eq!(path["mtu"], 1500, "{run:#}");
        }
    }
}

#[test]
fn a_download_outlives_a_link_that_is_cut_and_one_without_a_carrier() {
    let Some(client) = found("survives") else { return };
    assert_eq!((&client["failed"], &client["sessions"]), (&0.into(), &1.into()), "{client:#}");
    assert_eq!(client["paths"][1]["is_up"], false, "{client:#}");
}

#[test]
fn after_a_restart_of_the_server_streams_end_and_new_ones_work() {
    let Some(client) = found("restarts") else { return };
    assert!(client["sessions"].as_u64().is_some_and(|sessions| sessions >= 2), "{client:#}");
    assert!(client["failed"].as_u64().is_some_and(|failed| failed >= 1), "{client:#}");
}

#[test]
fn strangers_and_forbidden_targets_are_refused() {
    let Some(found) = found("refuses") else { return };
    assert_eq!(found["code"], 1, "{found:#}");
    assert!(found["text"].as_str().is_some_and(|text| text.contains("the same key")), "{found:#}");
    // curl's 97: the proxy has refused; SOCKS5's answer says why.
    assert_eq!(found["codes"], serde_json::json!([0, 97, 97]), "{found:#}");
    assert!(found["server"]["strangers"].as_u64().is_some_and(|count| count > 0), "{found:#}");
    assert_eq!(found["server"]["failed"], 2, "{found:#}");
}

#[test]
fn a_key_is_made_once_and_copied_by_its_code() {
    let place = scratch();
    let (text, _) = ends_with(0, place.path(), &["shake", "pair", "--key", "a.key", "--json"]);
    let made: Value = serde_json::from_str(&text).expect("JSON");
    let code = made["code"].as_str().expect("a code");
    ends_with(0, place.path(), &["shake", "pair", "--key", "b.key", "--code", code]);
    let [one, other] = ["a.key", "b.key"].map(|name| place.path().join(name));
    assert_eq!(std::fs::read(&one).expect("made"), std::fs::read(&other).expect("made"));
    let mode = std::fs::metadata(&one).expect("made").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (_, err) = ends_with(1, place.path(), &["shake", "pair", "--key", "a.key"]);
    assert!(err.contains("a.key"), "{err}");
    ends_with(2, place.path(), &["shake", "pair", "--key", "c.key", "--code", "short"]);
}
