//! Runs whose captures are read back.

use fairwave_lab::results::Summary;
use fairwave_lab::run::{self, Output};
use fairwave_scenario::plan::Plan;
use fairwave_wire::datagram::{self, Datagram};
use fairwave_wire::link;
use fairwave_wire::pcapng::Reader;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A datagram of a capture, and its payload.
pub(crate) type Captured = (Datagram, Vec<u8>);

/// What a run came to, and what its captures hold, by the names of their files.
pub(crate) struct Run {
    pub(crate) seed: u64,
    pub(crate) summary: Summary,
    captures: BTreeMap<String, Vec<Captured>>,
}

impl Run {
    /// Runs a scenario that captures.
    pub(crate) fn of(name: &str, scenario: &str) -> Self {
        let own = format!("fairwave-captured-{}-{name}", std::process::id());
        let directory = std::env::temp_dir().join(own);
        let _ = fs::remove_dir_all(&directory);
        let plan = Plan::parse("test.toml", scenario, &[]).unwrap_or_else(|e| panic!("{e}"));
        let job = plan.jobs()[0];
        let output = Output::Full(&directory);
        let run = run::execute(&plan, job, output, &mut |_| {}).unwrap_or_else(|e| panic!("{e}"));
        let files = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
        let captures = files.filter(|path| path.extension().is_some_and(|ext| ext == "pcapng"));
        let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
        let captures = captures.map(|path| (name(&path), read(&path))).collect();
        let _ = fs::remove_dir_all(directory);
        Self { seed: job.seed, summary: run.summary, captures }
    }

    /// What passed a tapped node.
    pub(crate) fn tap(&self, node: &str) -> &[Captured] {
        &self.captures[&format!("capture-{node}")]
    }

    /// What was on the air.
    pub(crate) fn air(&self) -> &[Captured] {
        &self.captures["capture"]
    }
}

/// The datagrams of a capture, checksums checked.
fn read(path: &Path) -> Vec<Captured> {
    let bytes = fs::read(path).unwrap();
    let mut datagrams = Vec::new();
    for packet in Reader::new(&bytes).unwrap() {
        let packet = packet.unwrap();
        let Ok(frame) = link::open(packet.link_type, &packet.data, packet.original_len) else {
            continue;
        };
        for ip in frame.packets() {
            let (datagram, payload) = datagram::parse(ip.bytes).unwrap();
            datagrams.push((datagram, payload.to_vec()));
        }
    }
    datagrams
}
