//! `fairwave proxy`: on this host, and on a router between namespaces.

use crate::common::{ends_with, fairwave, scratch};
use crate::real::in_namespaces;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write, stderr};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Stdio;

/// Result of a task of `proxy.py`, in its own namespaces.
fn found(task: &str) -> Option<Value> {
    in_namespaces("proxy.py", &[task])
}

#[test]
fn a_transparent_proxy_keeps_addresses_and_leaves_a_network_that_works() {
    if let Some(found) = found("passes") {
        assert_eq!(found["passed"], true);
    }
}

#[test]
fn strangers_are_not_served_and_nobody_is_led_to_the_proxys_own_host() {
    if let Some(found) = found("allowed") {
        assert_eq!(found["passed"], true);
    }
}

#[test]
fn servers_with_the_port_of_a_transparent_proxy_are_reached() {
    if let Some(found) = found("own_port") {
        assert_eq!(found["passed"], true);
    }
}

#[test]
fn a_router_without_ipv6_serves_ipv4() {
    if let Some(found) = found("without_six") {
        assert_eq!(found["passed"], true);
    }
}

#[test]
fn a_host_that_takes_all_it_can_get_does_no_harm_to_others() {
    if let Some(found) = found("hostile") {
        assert_eq!(found["passed"], true);
    }
}

#[test]
#[ignore = "half a minute: cargo test -p fairwave-cli --test it -- proxy:: --ignored --nocapture"]
fn ten_thousand_connections_are_carried_at_once() {
    if let Some(found) = found("many") {
        let _ = writeln!(stderr(), "{found}");
        // The limit of open files may allow fewer. The guest of `cargo xtask vm measure` carries
        // all 11,000.
        assert!(found["flows"].as_u64().expect("a number") > 9_000, "{found}");
        assert!(found["bytes_a_flow"].as_u64().expect("a number") < 10_000, "{found}");
    }
}

#[test]
fn a_run_of_given_length_says_what_it_carried() {
    let place = scratch();
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("its address");
    let args = ["proxy", "--listen", "127.0.0.1:0", "--target", "5M", "--for", "2s"];
    let mut child =
        fairwave(place.path(), &args).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    out.read_line(&mut line).expect("it greets");
    let at = line.split("TCP ").nth(1).and_then(|rest| rest.split(' ').next()).expect("an address");
    let mut client = TcpStream::connect(at).expect("it listens");
    write!(client, "CONNECT {address} HTTP/1.1\r\n\r\nhello").expect("it reads");
    client.shutdown(Shutdown::Write).expect("open");
    let mut sent = String::new();
    server.accept().expect("a client").0.read_to_string(&mut sent).expect("text");
    assert_eq!(sent, "hello");
    let mut reported = String::new();
    out.read_to_string(&mut reported).expect("text");
    assert!(child.wait().expect("it ends").success());
    assert!(reported.contains("1 connection, 0 of them still open; 0 broke"), "{reported}");
    assert!(reported.contains("No 5 s bin had a target."), "{reported}");
}

#[test]
fn a_target_that_no_connection_can_have_is_a_warning() {
    let place = scratch();
    let args = ["proxy", "--listen", "127.0.0.1:0", "--target", "5M", "--capacity", "1M"];
    let (_, err) = ends_with(0, place.path(), &[&args[..], &["--for", "1s"]].concat());
    assert!(err.contains("the target of 5 Mbps exceeds the capacity of 1 Mbps"), "{err}");
}

#[test]
fn what_cannot_be_meant_is_refused_with_a_remedy() {
    let place = scratch();
    std::fs::write(place.path().join("bad.toml"), "[[target]]\nrate = 'x'\n").expect("a file");
    std::fs::write(place.path().join("users"), "ann:s3cret\nben\n").expect("a file");
    for (args, reported) in [
        (&["--listen", "0.0.0.0:1080"][..], "--allow 192.0.2.0/24"),
        (&["--target", "fast"], "\"5 Mbps\" or \"5M\""),
        (&["--target", "5"], "it has no unit"),
        (&["--targets", "bad.toml"], "line 2"),
        (&["--target", "5M", "--max-flows", "0"], "--max-flows has to be 1 or more"),
        (&["--target", "5M", "--max-flows", "9000000"], "ulimit -n"),
        (&["--interval", "1 ms"], "one second or more"),
        (&["--target", "5M", "--for", "0 s"], "--for has to be one second or more"),
        (&["--refuse"], "--capacity"),
        (&["--listen", "127.0.0.1:0", "-C", "nobodys"], "no congestion control \"nobodys\""),
        (&["--users", "users"], "line 2: expected NAME:PASSWORD"),
        (&["--direction", "down"], "--target"),
    ] {
        let (_, err) = ends_with(2, place.path(), &[&["proxy"], args].concat());
        assert!(err.contains(reported), "{args:?}: {err}");
    }
    let (_, err) = ends_with(1, place.path(), &["proxy", "--targets", "gone.toml"]);
    assert!(err.contains("gone.toml"), "{err}");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = taken.local_addr().expect("its address").to_string();
    let (_, err) = ends_with(1, place.path(), &["proxy", "--listen", &at]);
    assert!(err.contains(&format!("cannot listen at TCP {at}")), "{err}");
}
