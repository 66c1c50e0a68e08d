//! Commands that serve print a line of JSON once they listen, from which a script takes address,
//! port and pairing code.

use crate::common::{fairwave, scratch, skip};
use crate::schemas::complaints;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The first line that a child prints.
fn first_line(child: &mut Child) -> Value {
    let out = child.stdout.take().expect("piped");
    let line = BufReader::new(out).lines().next().expect("it greets").expect("text");
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// The line that a command prints with `--json`; the command is killed afterwards.
fn listening(place: &Path, args: &[&str]) -> Value {
    let args = [args, &["--json"]].concat();
    let mut command = fairwave(place, &args);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let line = first_line(&mut child);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    line
}

#[test]
fn a_script_learns_address_port_and_code() {
    let place = scratch();
    let free = || std::net::UdpSocket::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let free = free().expect("a port").port().to_string();
    let local = "127.0.0.1";
    let cases = [
        &["probe", "serve", "--listen", "127.0.0.1:0"][..],
        &["fairness", "serve", "--listen", "127.0.0.1:0"],
        &["dccp", "serve", "--udp", "--udp-port", &free, "--listen", local],
        &["proxy", "--listen", "127.0.0.1:0", "--pace", "--target", "5M"],
        &["shake", "serve", "--listen", local, "--port", "0"],
        &["share", "lend", "--via", "lo", "--unannounced", "--listen", local, "--port", "0"],
    ];
    let lines = cases.map(|args| ("serve", listening(place.path(), args)));
    assert_eq!(complaints(&lines), "");
    for ((_, line), args) in lines.iter().zip(cases) {
        let command = line["command"].as_str().expect("a word");
        assert!(args.join(" ").starts_with(command), "{line}");
        assert_eq!(line["address"], local, "{line}");
        let port = line["port"].as_u64().expect("a number");
        assert!(port > 0, "{line}");
        assert_eq!(line["addresses"], serde_json::json!([format!("{local}:{port}")]), "{line}");
        let code = line["pairing"].as_str();
        let makes_a_code =
            ["probe serve", "fairness serve", "shake serve", "share lend"].contains(&command);
        assert_eq!(code.is_some(), makes_a_code, "{line}");
        assert!(code.is_none_or(|code| code.len() == 20), "{line}");
    }
    // A secret that the user gave is not printed again.
    let given = ["probe", "serve", "--listen", "127.0.0.1:0", "--pairing", "acodeofthesetestsonly"];
    assert_eq!(listening(place.path(), &given)["pairing"], Value::Null);
}

#[test]
fn an_access_point_names_its_interface_and_its_port() {
    let place = scratch();
    let apart = "--user --map-root-user --net --mount --pid --fork --kill-child sh -ec";
    let inside = |script: &str| {
        let mut shell = Command::new("unshare");
        shell.args(apart.split(' ')).arg(script).current_dir(place.path());
        shell.env("F", env!("CARGO_BIN_EXE_fairwave")).stdout(Stdio::piped());
        shell
    };
    let link = "mount -t tmpfs run /run; ip link add w0 type veth peer name w1; ip link set w0 up";
    if !inside(link).status().is_ok_and(|status| status.success()) {
        skip("no namespace to be root in");
        return;
    }
    let serve = r#"
        head -c 32 /dev/urandom | base64 > net.key; chmod 600 net.key
        set -- --interface w0 --key net.key --rate 20M --udp 127.0.0.1:0 --dry-run --json
        exec "$F" soc ap "$@""#;
    let mut child =
        inside(&format!("{link}; ip link set lo up; {serve}")).spawn().expect("it starts");
    let line = first_line(&mut child);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert_eq!(line["command"], "soc ap");
    assert_eq!(line["interfaces"], serde_json::json!(["w0"]));
    assert!(line["port"].as_u64().is_some_and(|port| port > 0), "{line}");
    assert_eq!(complaints(&[("serve", line)]), "");
}
