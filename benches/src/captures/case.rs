//! One transfer that was captured at both ends: the reference, and the verdict of `fairwave trace`.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// One case: the reference and the verdict.
pub(super) struct Case {
    pub(super) name: String,
    /// The cause that limited the flow; `None` for UDP, for which only losses are judged.
    pub(super) limit: Option<String>,
    /// The record of `make.py`.
    pub(super) truth: Value,
    /// The main stream as seen at the sender and at the receiver.
    ends: [Value; 2],
    /// The comparison of both captures.
    between: Value,
}

impl Case {
    /// Reads the reference and analyses the captures.
    pub(super) fn read(program: &Path, place: &Path, name: &str) -> Result<Self, String> {
        let file = place.join(format!("{name}.json"));
        let text = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let truth: Value = serde_json::from_slice(&text)
            .map_err(|error| format!("{}: {error}", file.display()))?;
        let limit = truth["limit"].as_str().map(str::to_owned);
        let files = ["sender", "receiver"]
            .map(|end| place.join(format!("{name}-{end}.pcap")).to_string_lossy().into_owned());
        let end = |file: &String| {
            let reported = trace(program, &[file])?;
            main_stream(&reported, limit.is_some()).ok_or(format!("{file}: no stream"))
        };
        let ends = [end(&files[0])?, end(&files[1])?];
        let between = trace(program, &[&files[0], &files[1], "--same-clock"])?;
        Ok(Self { name: name.to_owned(), limit, truth, ends, between })
    }

    /// The limit found in the capture of an end.
    pub(super) fn reported(&self, end: usize) -> &str {
        self.ends[end]["limit"].as_str().unwrap_or("?")
    }

    /// The busier direction of the stream, as seen at an end.
    pub(super) fn way(&self, end: usize) -> &Value {
        let stream = &self.ends[end];
        let key = |key: &str| stream["a_sent"][key].as_u64().max(stream["b_sent"][key].as_u64());
        let maximum = key("payload_bytes");
        let is_a = stream["a_sent"]["payload_bytes"].as_u64() == maximum;
        if is_a { &stream["a_sent"] } else { &stream["b_sent"] }
    }

    /// Packets that the path and its queues dropped: towards the receiver, and back.
    pub(super) fn dropped(&self) -> [u64; 2] {
        let dropped = &self.truth["dropped"];
        [("there", "r2"), ("back", "r1")].map(|(way, link)| {
            let flows = dropped["drops"][way].as_object();
            let counts = flows.into_iter().flatten().filter_map(|(_, counts)| counts.as_array());
            let path: u64 = counts.flatten().filter_map(Value::as_u64).sum();
            path + dropped["queues"][link].as_u64().unwrap_or(0)
        })
    }

    /// Packets lost by the comparison of both captures: towards the receiver, and back.
    pub(super) fn lost_between(&self) -> [u64; 2] {
        ["10.79.2.2:", "10.79.1.2:"].map(|receiver| {
            let ways = self.between["ways"].as_array().into_iter().flatten();
            let there =
                ways.filter(|way| way["b"].as_str().is_some_and(|b| b.starts_with(receiver)));
            there.filter_map(|way| way["lost"].as_u64()).sum()
        })
    }

    /// ACKs of the main connection that the path dropped: packets without payload, of the flow that
    /// lost the largest number of them.
    pub(super) fn acks_dropped(&self) -> u64 {
        let flows = self.truth["dropped"]["drops"]["back"].as_object();
        let counts = flows.into_iter().flatten().filter(|(name, _)| name.starts_with("tcp"));
        counts.filter_map(|(_, counts)| counts[1].as_u64()).max().unwrap_or(0)
    }
}

fn trace(program: &Path, args: &[&str]) -> Result<Value, String> {
    let mut trace = Command::new(program);
    trace.arg("trace").args(args).args(["--json", "--quiet"]);
    let output = trace.output().map_err(|error| format!("{}: {error}", program.display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{args:?}: {error}"))
}

/// The stream with the largest payload.
fn main_stream(reported: &Value, is_tcp: bool) -> Option<Value> {
    let streams = reported[if is_tcp { "connections" } else { "udp" }].as_array()?;
    let bytes = |stream: &&Value| {
        let sent = |key: &str| stream[key]["payload_bytes"].as_u64().unwrap_or(0);
        sent("a_sent") + sent("b_sent")
    };
    streams.iter().max_by_key(bytes).cloned()
}
