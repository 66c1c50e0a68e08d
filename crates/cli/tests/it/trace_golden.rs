//! The exact output of `fairwave trace` for a small capture of real traffic. tcpdump made it at the
//! sender's link: two uploads of 150 kB over a router that lost 8 of 100 data packets, and 23
//! numbered datagrams.

use crate::common::ends_with;
use std::fs;
use std::path::{Path, PathBuf};

/// Each golden file with the arguments that print it.
const GOLDEN: [(&str, &[&str]); 3] = [
    ("lossy.txt", &["trace", "lossy.pcap.gz"]),
    ("lossy-closely.txt", &["trace", "lossy.pcap.gz", "--connection", "0"]),
    ("lossy.json", &["trace", "lossy.pcap.gz", "--connection", "0", "--json"]),
];

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn printed(args: &[&str]) -> String {
    let (out, err) = ends_with(0, &data(), args);
    assert_eq!(err, "");
    out
}

#[test]
fn a_small_capture_is_told_as_before() {
    for (file, args) in GOLDEN {
        let golden = fs::read_to_string(data().join(file)).unwrap_or_default();
        assert_eq!(printed(args), golden, "{file}; `cargo xtask golden` rewrites it");
    }
}

#[test]
#[ignore = "rewrites the golden files"]
fn bless() {
    for (file, args) in GOLDEN {
        fs::write(data().join(file), printed(args)).expect("a golden file is written");
    }
}
