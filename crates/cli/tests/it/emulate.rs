//! `fairwave emulate`: real programs over a simulated cell. The tests ignore lateness: a busy
//! machine makes a run invalid, but fails no test.

mod bystanders;
mod faults;
mod outside;
mod paths;
mod programs;
mod questions;
mod roaming;
mod slow;
mod studies;
mod terminal;
mod tutorial;

use crate::common::{fairwave, scratch, skip};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// Two stations, and a server on a wire behind the access point.
const CELL: &str = r#"
duration = "20 s"
[cell]
standard = "802.11a"
[[node]]
name = "ap"
kind = "access-point"
[[node]]
name = "sta"
kind = "station"
count = 2
[[node]]
name = "server"
kind = "host"
[[link]]
ends = ["ap", "server"]
delay = "2 ms"
[emulate]
lateness_limit = "1 s"
"#;

/// Whether this machine can emulate. If not, the test is skipped.
pub(crate) fn machine_can() -> bool {
    let support = fairwave_netns::support();
    if let Err(missing) = &support {
        skip(missing);
    }
    support.is_ok()
}

/// A directory with a scenario, and arguments for it.
struct Site {
    place: TempDir,
    args: Vec<String>,
}

/// Results of an emulation.
struct Ended {
    place: TempDir,
    code: Option<i32>,
    out: String,
    err: String,
}

impl Site {
    /// The scenario `CELL` with the addition `more`.
    fn new(more: &str) -> Self {
        let place = scratch();
        let scenario = format!("# Do programs meet?\n{CELL}{more}");
        fs::write(place.path().join("cell.toml"), scenario).expect("the scenario is written");
        let args = ["emulate", "cell.toml", "--quiet", "--out", "out"].map(str::to_owned);
        Self { place, args: args.to_vec() }
    }

    /// An example scenario of the repository.
    fn catalogued(name: &str) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
        let file = file.display().to_string();
        let args = ["emulate", &file, "--quiet", "--out", "out"].map(str::to_owned);
        Self { place: scratch(), args: args.to_vec() }
    }

    fn with(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|arg| (*arg).to_owned()));
        self
    }

    /// Adds a program for a node.
    fn exec(self, order: &str) -> Self {
        self.with(&["--exec", order])
    }

    fn command(&self) -> Command {
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        fairwave(self.place.path(), &args)
    }

    fn start(self) -> Started {
        let mut command = self.command();
        self.start_as(&mut command)
    }

    /// Starts a command in this directory.
    fn start_as(self, command: &mut Command) -> Started {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("the command starts");
        Started { place: self.place, child }
    }

    fn run(self) -> Ended {
        self.start().end()
    }
}

/// A running emulation.
struct Started {
    place: TempDir,
    child: Child,
}

impl Started {
    fn end(self) -> Ended {
        let Output { status, stdout, stderr } = self.child.wait_with_output().expect("it ends");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let (out, err) = (text(stdout), text(stderr));
        Ended { place: self.place, code: status.code(), out, err }
    }
}

impl Ended {
    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join("out").join(name)
    }

    fn text(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}\n{}{}", path.display(), self.out, self.err))
    }

    /// Output of a node's programs.
    fn log(&self, name: &str) -> String {
        self.text(&format!("programs/{name}.log"))
    }

    fn summary(&self) -> Value {
        serde_json::from_str(&self.text("summary.json")).expect("it is JSON")
    }

    /// Checks that all programs succeeded. A busy machine may have been late.
    fn went_well(&self) -> &Self {
        let logs = || {
            let logs = fs::read_dir(self.path("programs")).into_iter().flatten().flatten();
            logs.filter_map(|log| fs::read_to_string(log.path()).ok()).collect::<String>()
        };
        let (code, out, err) = (self.code, &self.out, &self.err);
        assert!(matches!(code, Some(0 | 4)), "{code:?}\n{out}\n{err}\n{}", logs());
        self
    }

    /// Checks that it ended with exit code 1.
    fn failed(&self) -> &Self {
        assert_eq!(self.code, Some(1), "{}\n{}", self.out, self.err);
        self
    }
}

/// A node of the summary.
fn node<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let nodes = summary["nodes"].as_array().expect("nodes are listed");
    nodes.iter().find(|node| node["name"] == name).expect("the node is listed")
}

fn list(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries.map(|entry| name(entry.expect("an entry"))).collect();
    names.sort();
    names
}
