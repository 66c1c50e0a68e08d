//! `fairwave shake` between two hosts with two links, with curl as the application.

use crate::common::{ends_with, scratch};
use crate::real::in_namespaces;
use crate::schemas::complaints;
use serde_json::{Value, json};
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
fn replays_and_forgeries_change_nothing_and_cost_little_memory() {
    let Some(found) = found("withstands") else { return };
    let (client, server) = (&found["client"], &found["server"]);
    assert_eq!((&client["failed"], &client["sessions"]), (&0.into(), &1.into()), "{found:#}");
    assert!(server["refused"].as_u64().is_some_and(|refused| refused > 100), "{found:#}");
    assert_eq!(server["connections"], 1, "{found:#}");
    let peak_kb = found["peak_kb"].as_u64().expect("a number");
    assert!(peak_kb < 200_000, "{found:#}");
}

#[test]
fn a_download_outlives_a_link_that_is_cut_and_one_without_a_carrier() {
    let Some(client) = found("survives") else { return };
    assert_eq!((&client["failed"], &client["sessions"]), (&0.into(), &1.into()), "{client:#}");
    assert_eq!(client["paths"][1]["is_up"], false, "{client:#}");
}

#[test]
fn a_download_outlives_a_stop_of_either_process() {
    let Some(client) = found("pauses") else { return };
    assert_eq!((&client["failed"], &client["sessions"]), (&0.into(), &1.into()), "{client:#}");
}

#[test]
fn after_a_restart_of_the_server_streams_end_and_new_ones_work() {
    let Some(client) = found("restarts") else { return };
    assert!(client["sessions"].as_u64().is_some_and(|sessions| sessions >= 2), "{client:#}");
    assert!(client["failed"].as_u64().is_some_and(|failed| failed >= 1), "{client:#}");
}

#[test]
fn datagrams_come_back_from_allowed_targets() {
    let Some(found) = found("associates") else { return };
    for mode in ["shake", "redundant"] {
        let found = &found[mode];
        for family in ["4", "6"] {
            let echoed = found["echoed"][family].as_array().expect("a list");
            // Queues of the links are empty: a loss would be one of the tool.
            assert!(echoed.len() >= 48, "{mode}, {family}: {found:#}");
        }
        // A target that is not allowed, and datagrams longer than a packet of 1500 bytes takes.
        assert_eq!((&found["refused"], &found["long"]), (&json!([]), &json!([])), "{found:#}");
        let client = &found["client"];
        let server = found["server"].clone();
        assert_eq!(complaints(&[("shake", client.clone()), ("shake-serve", server)]), "");
        let received = client["datagrams"]["received"].as_u64().expect("a number");
        assert!((96..=100).contains(&received), "{client:#}");
        assert_eq!(client["datagrams"]["dropped"], 2, "{client:#}");
    }
    let cut = found["cut"].as_array().expect("a list");
    assert!(cut.len() >= 20 && cut.contains(&json!(29)), "{cut:?}");
}

#[test]
fn a_host_behind_the_client_is_carried_and_no_rule_outlives_a_kill() {
    let Some(found) = found("leads") else { return };
    let client = &found["client"];
    assert_eq!((&client["connections"], &client["failed"]), (&3.into(), &1.into()), "{found:#}");
    assert_ne!(found["direct"], 0, "{found:#}");
    let led = found["led"].as_str().expect("a text");
    assert!(led.contains("fairwave_") && led.ends_with("1\n"), "{led}");
    assert_eq!((&found["ended"], &found["stopped"]), (&"0\n".into(), &"0\n".into()));
}

#[test]
fn a_download_outlives_a_new_address_and_a_lost_route() {
    let Some(client) = found("changes") else { return };
    let paths = &client["paths"];
    assert_eq!((&client["failed"], &client["sessions"]), (&0.into(), &1.into()), "{client:#}");
    assert_eq!(
        (&paths[0]["is_up"], &paths[1]["is_up"]),
        (&true.into(), &false.into()),
        "{client:#}"
    );
}

#[test]
fn paths_outlive_a_lack_of_descriptors() {
    let Some(found) = found("starves") else { return };
    assert_eq!(found["client"]["sessions"], 1, "{found:#}");
    let notes = found["notes"].as_str().expect("a text");
    assert!(notes.contains("w0 can be used") && !notes.contains("cannot be used"), "{notes}");
}

#[test]
fn idle_connections_are_checked_by_keep_alive() {
    let Some(client) = found("idles") else { return };
    assert_eq!(client["connections"], 1, "{client:#}");
}

#[test]
fn a_metered_link_is_spared_and_metrics_name_the_paths() {
    let Some(found) = found("spares") else { return };
    let paths = &found["client"]["paths"];
    let bytes = |path: usize| paths[path]["bytes_received"].as_u64().expect("a number");
    assert!(bytes(0) > 1_000_000 && bytes(1) < 60_000, "{paths:#}");
    assert_eq!(paths[1]["priority"], "backup");
    let page = found["page"].as_str().expect("a text");
    assert!(
        page.contains("fairwave_shake_path_bytes_total{via=\"w1\",direction=\"in\"}"),
        "{page}"
    );
}

#[test]
fn a_diagnosis_names_losses_and_silent_links() {
    let Some(found) = found("diagnoses") else { return };
    for run in ["sound", "lossy", "cut"] {
        assert_eq!(complaints(&[("shake-diagnose", found[run].clone())]), "", "{run}");
        assert!(
            found[run]["alone"][0]["mbps"].as_f64().is_some_and(|mbps| mbps > 1.0),
            "{found:#}"
        );
    }
    let causes = |run: &str| -> Vec<String> {
        let findings = found[run]["findings"].as_array().expect("a list");
        let of = |one: &Value| format!("{} {}", one["cause"], one["via"]).replace('"', "");
        findings.iter().map(of).collect()
    };
    assert!(causes("lossy").contains(&"loss w1".to_owned()), "{found:#}");
    assert_eq!(found["cut"]["limit"], "down", "{found:#}");
    assert_eq!(causes("cut")[0], "down w1");
}

#[test]
fn strangers_and_forbidden_targets_are_refused() {
    let Some(found) = found("refuses") else { return };
    assert_eq!(found["code"], 1, "{found:#}");
    assert!(found["text"].as_str().is_some_and(|text| text.contains("the same key")), "{found:#}");
    // curl's 97: the proxy has refused; SOCKS5's answer says why.
    assert_eq!(found["codes"], json!([0, 97, 97]), "{found:#}");
    // RFC 1928 section 6: succeeded, not allowed, refused.
    assert_eq!(found["replies"], json!([0, 2, 5]), "{found:#}");
    assert!(found["server"]["strangers"].as_u64().is_some_and(|count| count > 0), "{found:#}");
    assert_eq!(
        (&found["server"]["failed"], &found["client"]["failed"]),
        (&4.into(), &4.into()),
        "{found:#}"
    );
}

#[test]
fn a_path_is_given_once() {
    let place = scratch();
    let connect: &[&str] = &["shake", "connect", "192.0.2.7", "--key", "k", "--via", "w0"];
    let diagnose: &[&str] = &["shake", "diagnose", "192.0.2.7", "--key", "k", "--via", "w0"];
    let lenders: &[&str] = &["--borrow-key", "s", "--borrow", "phone", "--borrow", "phone"];
    for (line, again, name) in [
        (connect, &["--via", "w0=20M"][..], "w0"),
        (connect, lenders, "phone"),
        (connect, &["--borrow-key", "s", "--borrow", "w0"], "w0"),
        (diagnose, &["--via", "w0"], "w0"),
    ] {
        let (_, err) = ends_with(2, place.path(), &[line, again].concat());
        assert!(err.contains(&format!("{name} is given twice")), "{err}");
    }
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

/// The server was blamed for an interface that does not exist, and an interruption for the end.
#[test]
fn a_session_that_cannot_open_is_explained() {
    let place = scratch();
    ends_with(0, place.path(), &["shake", "pair", "--key", "a.key"]);
    let with = ["192.0.2.1", "--key", "a.key", "--via"];
    let args = [&["shake", "diagnose"], &with[..], &["nosuch0"]].concat();
    let (_, err) = ends_with(2, place.path(), &args);
    assert!(err.contains("--via nosuch0: there is no such interface"), "{err}");
    let late = ["nosuch0", "--socks", "127.0.0.1:0", "--for", "10 ms"];
    let args = [&["shake", "connect"], &with[..], &late].concat();
    let (_, err) = ends_with(1, place.path(), &args);
    assert!(err.contains("--for ended before a session was open"), "{err}");
}
