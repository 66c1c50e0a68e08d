//! `fairwave share` between a borrower, a lender and a server, with curl as the application.

use crate::common::{ends_with, scratch};
use crate::real::in_namespaces;
use crate::schemas::complaints;
use serde_json::Value;

/// Result of a task of `share.py`, in namespaces of its own.
fn found(task: &str) -> Option<Value> {
    in_namespaces("share.py", &[task])
}

#[test]
fn a_file_comes_whole_over_the_own_uplink_and_a_borrowed_one() {
    let Some(found) = found("carries") else { return };
    let (client, lender) = (&found["client"], &found["lender"]);
    let checked = [
        ("shake", client.clone()),
        ("share-lend", lender.clone()),
        ("share-list", found["listed"].clone()),
        ("serve", found["first"].clone()),
    ];
    assert_eq!(complaints(&checked), "");
    let listed = &found["listed"]["lenders"][0];
    assert_eq!((&listed["name"], &listed["rate_mbps"]), (&"lender".into(), &20.0.into()));
    assert_eq!(listed["addresses"], serde_json::json!(["10.88.0.2:17996"]), "{found:#}");
    assert_eq!((&client["failed"], &client["sessions"]), (&0.into(), &1.into()), "{client:#}");
    let paths = client["paths"].as_array().expect("a list");
    for (path, (via, rate)) in paths.iter().zip([("up0", None), ("lender", Some(20.0))]) {
        assert_eq!((&path["via"], &path["is_up"]), (&via.into(), &true.into()), "{client:#}");
        assert_eq!(path["bandwidth_mbps"].as_f64(), rate, "{client:#}");
        assert!(path["bytes_received"].as_u64().is_some_and(|bytes| bytes > 50_000), "{client:#}");
    }
    // What the lender adds to a packet does not fit beside one of 1500 bytes.
    assert_eq!((&paths[0]["mtu"], &paths[1]["mtu"]), (&1500.into(), &1400.into()), "{client:#}");
    let lease = &lender["latest"][0];
    assert_eq!(lease["server"], "10.77.9.9:17995", "{lender:#}");
    assert!(lease["down_bytes"].as_u64() > paths[1]["bytes_received"].as_u64(), "{found:#}");
    assert_eq!((&lender["leases"], &lender["strangers"]), (&1.into(), &0.into()), "{lender:#}");
}

#[test]
fn a_download_outlives_its_lender_and_then_the_own_uplink() {
    let Some(found) = found("survives") else { return };
    let client = &found["client"];
    assert_eq!((&client["failed"], &client["sessions"]), (&0.into(), &1.into()), "{client:#}");
    let are_up: Vec<&Value> =
        client["paths"].as_array().expect("a list").iter().map(|path| &path["is_up"]).collect();
    assert_eq!(are_up, [false, true], "{client:#}");
    assert_eq!(found["lender"]["leases"], 1, "{found:#}");
}

#[test]
fn a_lease_goes_on_over_an_interface_that_is_replugged() {
    let Some(note) = found("replugs") else { return };
    assert!(note.as_str().is_some_and(|note| note.contains("uplink")), "{note}");
}

#[test]
fn a_lender_that_ends_reports_the_leases_of_that_time() {
    let Some(lender) = found("ends") else { return };
    assert_eq!(lender["leases"], 1, "{lender:#}");
    let lease = &lender["latest"][0];
    assert!(lease["down_bytes"].as_u64().is_some_and(|bytes| bytes > 6_000_000), "{lender:#}");
}

#[test]
fn the_rate_and_the_bytes_of_a_day_are_kept() {
    let Some(found) = found("limits") else { return };
    let lender = &found["rate"]["lender"];
    let lease = &lender["latest"][0];
    let seconds = lender["seconds"].as_f64().expect("a number");
    for way in ["up_bytes", "down_bytes"] {
        // 2 Mbit/s, a bucket of 20 ms, and the packets that still waited at the end.
        let bytes = lease[way].as_f64().expect("a number");
        assert!(bytes <= 250e3 * seconds + 5e3 + 25e3, "{lender:#}");
    }
    assert!(lease["down_bytes"].as_u64().is_some_and(|bytes| bytes > 1_500_000), "{lender:#}");
    assert_eq!(found["rate"]["client"]["paths"][0]["bandwidth_mbps"], 2.0, "{found:#}");
    let quota = &found["quota"];
    for end in ["client", "lender"] {
        let note = quota[end].as_str().expect("a text");
        assert!(note.ends_with("the bytes that it lends in a day are used up"), "{note}");
    }
    assert_eq!(quota["bytes"], 1_000_000, "{quota:#}");
}

#[test]
fn the_lenders_network_strangers_and_other_times_are_refused_with_a_reason() {
    let Some(found) = found("refuses") else { return };
    for (task, reason) in [
        ("lan", "does not carry datagrams to this server"),
        ("itself", "does not carry datagrams to this server"),
        ("closed", "does not lend at this time of the day"),
        ("stranger", "no answer from there with this key"),
    ] {
        let text = found[task][1].as_str().expect("a text");
        assert!(found[task][0] == 1 && text.contains(reason), "{task}: {text}");
    }
    let lender = &found["lender"];
    assert!(lender["strangers"].as_u64().is_some_and(|count| count > 0), "{lender:#}");
    assert_eq!((&lender["leases"], &lender["today_bytes"]), (&0.into(), &0.into()), "{lender:#}");
    let neighbour = &found["neighbour"];
    assert_eq!(
        (&neighbour["strangers"], &neighbour["refused"], &neighbour["connections"]),
        (&0.into(), &0.into(), &0.into()),
        "{neighbour:#}"
    );
}

#[test]
fn wrong_options_are_refused_with_a_remedy() {
    let place = scratch();
    ends_with(0, place.path(), &["share", "pair", "--key", "share.key"]);
    let lend = ["share", "lend", "--key", "share.key", "--via"];
    let (_, err) = ends_with(1, place.path(), &[&lend[..], &["nothing0"]].concat());
    assert!(err.contains("--via nothing0: no such interface"), "{err}");
    for wrong in [["--hours", "8-22"], ["--allow", "lan"], ["--rate", "0"], ["--interval", "0 s"]] {
        ends_with(2, place.path(), &[&lend[..], &["lo"], &wrong].concat());
    }
    let connect = ["shake", "connect", "192.0.2.7", "--key", "share.key"];
    ends_with(2, place.path(), &connect);
    let (_, err) = ends_with(2, place.path(), &[&connect[..], &["--borrow", "phone"]].concat());
    assert!(err.contains("--borrow-key"), "{err}");
    let keys = ["--borrow-key", "share.key", "--borrow-key", "share.key", "--borrow-key", "x"];
    let borrow = ["--borrow", "phone", "--borrow", "laptop"];
    let (_, err) = ends_with(2, place.path(), &[&connect[..], &borrow, &keys].concat());
    assert!(err.contains("3 files for 2 lenders"), "{err}");
}
