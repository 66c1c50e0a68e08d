//! Scripts in their own namespaces, in which `tests/data/probe-net.sh` builds a network. Nothing of
//! them remains after the script.

use crate::common::{scratch, skip};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Results of a script.
pub(super) struct Ended {
    place: TempDir,
    said: String,
}

/// The arguments of `unshare` for a program that is root in its own namespaces.
const APART: [&str; 8] = [
    "--user",
    "--map-root-user",
    "--net",
    "--mount",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
];

/// Whether the machine permits namespaces and queues. Prints a message if not.
fn machine_can() -> bool {
    let shape = "ip link add name x type veth && tc qdisc add dev x root tbf rate 1mbit burst 3000 \
        limit 3000";
    let tried = Command::new("unshare").args(APART).args(["sh", "-c", shape]).output();
    let can = tried.as_ref().is_ok_and(|output| output.status.success());
    if !can {
        skip(format_args!("no namespaces with queues: {tried:?}"));
    }
    can
}

/// Runs a script in which `serve` and `$probe` start the two ends, and `shape` sets the router's
/// queues; `None` if the machine does not permit it.
pub(super) fn run(script: &str) -> Option<Ended> {
    let net = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/probe-net.sh");
    apart(&format!(". {}\n{script}", net.display()))
}

/// Runs a script without that network.
pub(super) fn apart(script: &str) -> Option<Ended> {
    if !machine_can() {
        return None;
    }
    let place = scratch();
    let whole = format!("set -eu\n{script}\n");
    fs::write(place.path().join("script"), whole).expect("a script");
    let mut shell = Command::new("unshare");
    shell.args(APART).args(["sh", "script"]).current_dir(place.path());
    let output = shell.env("F", env!("CARGO_BIN_EXE_fairwave")).output().expect("unshare starts");
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into());
    let said: [String; 2] = said;
    let ended = Ended { place, said: said.concat() };
    assert!(output.status.success(), "{}", ended.told());
    Some(ended)
}

impl Ended {
    /// Messages of the script itself, then of the two ends.
    pub(super) fn told(&self) -> String {
        let files = ["errors", "served", "serve-errors"].map(|name| self.file(name));
        format!("{}{}", self.said, files.concat())
    }

    /// A file that the script wrote; empty if it did not.
    pub(super) fn file(&self, name: &str) -> String {
        fs::read_to_string(self.place.path().join(name)).unwrap_or_default()
    }

    /// Output of `probe --json > found`.
    pub(super) fn found(&self) -> Value {
        let text = self.file("found");
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}{}", self.told()))
    }
}
