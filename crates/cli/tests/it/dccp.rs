//! `fairwave dccp` over protocol 33 of IP and inside UDP, in its own namespace.

use crate::common::{ends_with, scratch, skip};
use crate::schemas::complaints;
use serde_json::Value;
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
            ! "$F" dccp send $to --for 1s > out 2> err
            grep -q 'does not speak DCCP\|No Connection' err || { cat err >&2; exit 1; }
            ! "$F" dccp send $to --udp --for 1s > out 2> err
            grep -q 'nobody listens at UDP port 6511' err || { cat err >&2; exit 1; }
        done"#;
    let _ = inside(place.path(), script);
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
    ] {
        let (_, err) = ends_with(2, place.path(), args);
        assert!(err.contains(word), "{args:?}: {err}");
    }
}
