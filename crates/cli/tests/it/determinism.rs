//! The number of workers does not affect results: run directories are the same, byte for byte.

use crate::common::{ends_with, scratch, tiny};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Every file below `top`: relative path and content.
fn contents(top: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![top.to_path_buf()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).expect("it can be read") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(top).expect("below").display().to_string();
                found.insert(name, fs::read(&path).expect("it can be read"));
            }
        }
    }
    found
}

#[test]
fn one_worker_and_two_write_the_same_bytes() {
    let place = scratch();
    let scenario = tiny().display().to_string();
    for jobs in ["1", "2"] {
        let tap = ["--set", "record.taps=[\"server\"]"];
        let args = ["sweep", &scenario, "--jobs", jobs, "--out", jobs];
        ends_with(0, place.path(), &[&args[..], &tap].concat());
    }
    let (one, two) = (contents(&place.path().join("1")), contents(&place.path().join("2")));
    let runs = one.keys().filter(|name| name.ends_with("summary.json")).count();
    assert_eq!(runs, 4, "{:?}", one.keys());
    let taps = one.keys().filter(|name| name.ends_with("capture-server.pcapng")).count();
    assert_eq!(taps, 4, "{:?}", one.keys());
    assert!(one.keys().eq(two.keys()), "{:?}\n{:?}", one.keys(), two.keys());
    for (name, bytes) in &one {
        assert!(bytes == &two[name], "{name} differs");
    }
}

/// A transfer over two paths with losses.
const SHAKE: &str = r#"
duration = "2 s"
[[node]]
name = "host"
kind = "host"
[[node]]
name = "phone"
kind = "host"
count = 2
[[node]]
name = "server"
kind = "host"
[[link]]
ends = ["host", "phone*"]
[[link]]
ends = ["phone*", "server"]
rate = "5 Mbps"
delay = "20 ms"
loss = 0.01
queue = "20 packets"
[[flow]]
name = "transfer"
from = "host"
to = "server"
transport = "shake"
size = "500 KB"
paths = [{ via = "phone1" }, { via = "phone2", bandwidth = "5 Mbps", join = "100 ms" }]
[sweep]
"flow.transfer.scheduler" = ["widest", "blest"]
seeds = 2
"#;

#[test]
fn paths_are_the_same_for_any_number_of_workers() {
    let place = scratch();
    fs::write(place.path().join("shake.toml"), SHAKE).expect("it can be written");
    for jobs in ["1", "2"] {
        ends_with(0, place.path(), &["sweep", "shake.toml", "--jobs", jobs, "--out", jobs]);
    }
    let (one, two) = (contents(&place.path().join("1")), contents(&place.path().join("2")));
    assert_eq!(one.keys().filter(|name| name.ends_with("paths.parquet")).count(), 4);
    assert!(one == two, "{:?}\n{:?}", one.keys(), two.keys());
}

#[test]
fn another_seed_writes_other_bytes() {
    let place = scratch();
    let scenario = tiny().display().to_string();
    for seed in ["1", "100"] {
        ends_with(0, place.path(), &["sweep", &scenario, "--seed", seed, "--out", seed]);
    }
    let summaries = |seed: &str| -> Vec<Vec<u8>> {
        let all = contents(&place.path().join(seed));
        all.into_iter().filter(|(name, _)| name.ends_with("summary.json")).map(|(_, b)| b).collect()
    };
    assert_ne!(summaries("1"), summaries("100"));
}
