//! `fairwave dccp` over protocol 33 of IP and inside UDP, in namespaces of its own.

use crate::common::{ends_with, scratch, skip};
use crate::real::in_namespaces;
use crate::schemas::complaints;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A network of one host in which the test is root; the shell script gets the command as `$F`.
fn inside(place: &Path, script: &str) -> Option<()> {
    let shape = "ip link set lo up && ";
    let apart =
        "--user --map-root-user --net --mount --pid --fork --kill-child --mount-proc sh -ec";
    let run = |script: &str| {
        let mut shell = Command::new("unshare");
        shell.args(apart.split(' ')).arg(format!("{shape}{script}")).current_dir(place);
        shell.env("F", env!("CARGO_BIN_EXE_fairwave")).output()
    };
    if !run("true").is_ok_and(|output| output.status.success()) {
        skip("no namespace to be root in");
        return None;
    }
    let output = run(script).expect("unshare starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(())
}

fn json(place: &Path, name: &str) -> Value {
    let text = fs::read_to_string(place.join(name)).expect(name);
    // A server prints a line once it listens, and its result after that.
    let last = serde_json::Deserializer::from_str(&text).into_iter().last();
    last.expect(name).unwrap_or_else(|error| panic!("{name}: {error}: {text}"))
}

/// One connection, from a client that waits until the server listens.
const ONE: &str = r#"
one() {
    "$F" dccp serve --once --json $2 > server.json 2> server.err & server=$!
    until grep -q Listening server.err; do :; done
    set -- $1 $2 $3 --for 300ms --interval 100ms --rate '4 Mbps' --json --csv rate.csv
    "$F" dccp send "$@" > client.json
    wait $server
}
"#;

#[test]
fn both_families_carry_every_profile_over_ip_and_inside_udp() {
    for (host, over, ccid) in
        [("127.0.0.1", "", 3), ("::1", "", 2), ("127.0.0.1", "", 4), ("::1", "--udp", 3)]
    {
        let place = scratch();
        let script = format!("{ONE}one {host} '{over}' '--ccid {ccid}'");
        let Some(()) = inside(place.path(), &script) else { return };
        let [client, server] = ["client.json", "server.json"].map(|name| json(place.path(), name));
        for (end, role) in [(&client, "sender"), (&server, "receiver")] {
            assert_eq!(end["role"], role);
            assert_eq!(end["error"], Value::Null, "{end:#}");
            let connection = &end["connections"][0];
            assert_eq!(
                (&connection["ended"], &connection["is_good"]),
                (&"closed".into(), &true.into())
            );
            assert_eq!(connection["ccid"], ccid, "{end:#}");
            assert!(connection["datagrams"].as_u64().is_some_and(|count| count > 0), "{end:#}");
        }
        assert_eq!(complaints(&[("dccp", client.clone()), ("dccp", server.clone())]), "");
        let carried = |end: &Value| end["connections"][0]["bytes"].as_u64().expect("a number");
        assert!(carried(&server) <= carried(&client), "nobody gets more than was sent");
        let csv = fs::read_to_string(place.path().join("rate.csv")).expect("it is written");
        assert!(csv.starts_with("peer,at_s,rate_mbps,"), "{csv}");
    }
}

/// No program reads the packets: the other host's kernel answers with ICMP, or with a Reset if it
/// has DCCP itself, and a client reports that at once.
#[test]
fn a_host_where_nobody_listens_is_recognised() {
    let place = scratch();
    let script = r#"
        mount -t tmpfs run /run
        ip netns add there
        ip link add name x0 type veth peer name x1 netns there
        ip address add 10.79.0.1/24 dev x0; ip address add fd79::1/64 dev x0 nodad
        ip link set x0 up
        ip -n there address add 10.79.0.2/24 dev x1; ip -n there address add fd79::2/64 dev x1 nodad
        ip -n there link set x1 up
        for to in 10.79.0.2 fd79::2; do
            if "$F" dccp send $to --for 1s > out 2> err; then echo "to $to: 0" >&2; exit 1; fi
            grep -q 'does not speak DCCP\|No Connection' err || { cat err >&2; exit 1; }
            if "$F" dccp send $to --udp --for 1s > out 2> err; then
                echo "to $to over UDP: 0" >&2; exit 1
            fi
            grep -q 'no program listens at UDP port 6511' err || { cat err >&2; exit 1; }
        done"#;
    let _ = inside(place.path(), script);
}

/// 1 Mbps over a loopback, whose round-trip time is far below the 11 ms between two packets.
#[test]
fn both_ends_report_the_rate_that_arrives_where_packets_are_rarer_than_round_trips() {
    let place = scratch();
    let script = r#"
        "$F" dccp serve --once --json --both --rate '1 Mbps' > server.json 2> server.err & server=$!
        until grep -q Listening server.err; do :; done
        "$F" dccp send 127.0.0.1 --for 3s --interval 50ms --rate '1 Mbps' --json > client.json
        wait $server"#;
    let Some(()) = inside(place.path(), script) else { return };
    for name in ["client.json", "server.json"] {
        let end = json(place.path(), name);
        let connection = &end["connections"][0];
        let samples = connection["samples"].as_array().expect("a list").iter();
        let mut reported: Vec<_> = samples.filter_map(|it| it["receive_mbps"].as_f64()).collect();
        reported.sort_by(f64::total_cmp);
        // A report is that of a packet or two. Eight packets of a round trip that was taken for
        // 200 ms would be 0.448 Mbps.
        let median = reported[reported.len() / 2];
        assert!((0.6..1.6).contains(&median), "{name}: {reported:?}");
        assert!(connection["back_bytes"].as_u64().is_some_and(|bytes| bytes > 100_000), "{end:#}");
    }
}

/// Result of a task of `dccp.py`, in namespaces of its own.
fn found(task: &str) -> Option<Value> {
    in_namespaces("dccp.py", &[task])
}

#[test]
fn a_relay_carries_datagrams_in_order_and_answers_back() {
    let Some(found) = found("carries") else { return };
    for run in found.as_array().expect("a list") {
        let (here, there) = (&run["here"], &run["there"]);
        for (end, counted) in [(here, ["in", "sent"]), (there, ["received", "out"])] {
            assert_eq!(complaints(&[("dccp-relay", end.clone())]), "");
            assert_eq!((&end["error"], &end["ended"]), (&Value::Null, &"closed".into()), "{run:#}");
            for count in counted {
                assert_eq!(end[count]["datagrams"], 100, "{count}: {run:#}");
            }
        }
        assert_eq!(here["in"]["bytes"], there["out"]["bytes"], "{run:#}");
        assert_eq!(
            (&here["out"]["datagrams"], &there["in"]["datagrams"]),
            (&10.into(), &10.into())
        );
        let none = json!({
            "too_old": 0, "queue_full": 0, "too_long": 0, "no_connection": 0, "no_application": 0,
            "not_taken": 0,
        });
        assert_eq!((&here["dropped"], &there["dropped"]), (&none, &none), "{run:#}");
        let known = &here["sending"];
        for name in ["allowed_mbps", "receive_mbps", "loss_event_rate", "rtt_ms"] {
            assert!(known[name].is_number(), "{name}: {run:#}");
        }
    }
}

/// REMB of one source (draft-alvestrand-rmcat-remb-03): 24 bytes, with the SSRC of the media at the
/// end.
#[test]
fn an_encoder_hears_its_rate_by_rtcp_and_by_a_socket() {
    let Some(found) = found("limits") else { return };
    let limit = found["limit"].as_str().expect("bytes");
    assert!(limit.starts_with("8fce0005") && limit.ends_with("01020304"), "{limit}");
    assert_eq!(&limit[24..32], "52454d42");
    let shown = &found["shown"];
    assert_eq!(complaints(&[("dccp-watch", shown.clone())]), "");
    assert!(shown["rate_bps"].as_u64().is_some_and(|rate| rate > 0), "{shown:#}");
    assert!(found["page"].as_str().is_some_and(|page| page.contains("Round-trip time")));
    assert_eq!(found["left"], false, "the socket's file is removed");
}

#[test]
fn a_stream_outlives_a_lost_carrier_and_a_new_address() {
    let Some(found) = found("survives") else { return };
    for over in ["ip", "udp"] {
        let here = &found[over]["here"];
        let changes: Vec<_> = here["handovers"].as_array().expect("a list").iter().collect();
        let changes: Vec<_> = changes.iter().filter_map(|one| one["change"].as_str()).collect();
        assert_eq!(changes[..2], ["lost", "back"], "{here:#}");
        assert_eq!(changes.last(), Some(&"moved"), "{here:#}");
        assert_eq!((&here["connections"], &here["restored"]), (&1.into(), &1.into()), "{here:#}");
        assert_eq!(found[over]["there"]["connections"], 2, "{found:#}");
    }
}

#[test]
fn a_peer_at_a_link_local_address_is_lost_with_its_own_link() {
    let Some(found) = found("scoped") else { return };
    assert_eq!(found, json!({ "w": 1, "x": 1 }));
}

#[test]
fn a_relay_that_was_killed_is_connected_again() {
    let Some(found) = found("restarts") else { return };
    assert_eq!(found["here"]["restored"], 1, "{found:#}");
    assert_eq!(found["there"]["connections"], 1, "{found:#}");
}

#[test]
fn no_rule_outlives_a_relay_however_it_ends() {
    let Some(found) = found("silences") else { return };
    for how in ["SIGTERM", "SIGKILL", "SIGABRT"] {
        let during = found[how].as_str().expect("rules");
        assert!(
            during.contains("fairwave_dccp_") && during.contains("dccp type reset drop"),
            "{during}"
        );
    }
}

/// A link with an MTU of 1280 takes 1252 bytes inside UDP with IPv4, and 1232 with IPv6. Longer
/// packets are cut by the router with IPv4, and by their sender with IPv6, which needs ICMP.
#[test]
fn datagrams_longer_than_a_link_of_the_path_takes_arrive() {
    let Some(found) = found("narrow") else { return };
    let takes = [("told 4", 1_252), ("told 6", 1_232), ("hole 4", 1_252), ("hole 6", 1_232)];
    for (way, takes) in takes {
        let [here, there] = [0, 1].map(|end| &found[way][end]);
        let size = here["path_bytes"].as_u64().expect("it is searched");
        let min = if way.starts_with("told") { takes } else { 1_224 };
        assert!((min..=takes).contains(&size), "{way}: {size}");
        assert_eq!((&here["ended"], &there["restored"]), (&"closed".into(), &0.into()), "{way}");
        // With IPv6 nobody fragments where ICMP is filtered: such datagrams are dropped.
        if way != "hole 6" {
            let count = |end: &Value| end["datagrams"].as_u64().expect("a number");
            assert!(count(there) * 10 >= count(here) * 9 && count(here) > 100, "{way}: {found:#}");
        }
    }
}

/// A Sync every 15 s, which the listening end answers.
#[test]
fn an_idle_connection_stays_with_a_translator_of_addresses() {
    let Some(found) = found("idles") else { return };
    assert_eq!(found["answer"], "answer");
    assert_eq!(found["here"]["connections"], 1, "{found:#}");
    assert_eq!(found["here"]["restored"], 0, "{found:#}");
}

#[test]
fn ffmpeg_streams_over_relays_unchanged() {
    let Some(found) = found("streams") else { return };
    if found.is_null() {
        skip("ffmpeg is not installed");
        return;
    }
    assert_eq!(found["frames"], 30, "{found:#}");
    assert!(found["here"]["sent"]["datagrams"].as_u64().is_some_and(|sent| sent > 30));
}

#[test]
fn nonsense_is_bad_usage() {
    let place = scratch();
    for (args, word) in [
        (&["dccp", "send", "127.0.0.1", "--rate", "0 bps"][..], "--rate"),
        (&["dccp", "send", "127.0.0.1", "--ccid", "5"], "--ccid"),
        (&["dccp", "send", "127.0.0.1", "--service", "five5"], "--service"),
        (&["dccp", "send", "127.0.0.1", "--udp", "--mark", "3"], "--mark"),
        (&["dccp", "serve", "--interval", "0 s"], "--interval"),
        (
            &["dccp", "relay", "--from", "udp:127.0.0.1:5", "--to", "udp:127.0.0.1:6"],
            "--from dccp:",
        ),
        (&["dccp", "relay", "--from", "dccp:a:b", "--to", "udp:127.0.0.1:6"], "udp:ADDRESS:PORT"),
        (&["dccp", "relay", "--from", "dccp:host:5", "--to", "udp:127.0.0.1:6"], "an address"),
    ] {
        let (_, err) = ends_with(2, place.path(), args);
        assert!(err.contains(word), "{args:?}: {err}");
    }
}
