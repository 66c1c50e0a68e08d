//! Runs are read back as they were made, and others are refused by name.

use super::*;
use crate::claim::{Claim, Criterion};
use crate::definition::evaluate;
use crate::evidence::Evidence;
use crate::findings::Findings;
use crate::markdown;
use crate::measure::{over, total_mbps};
use crate::reproduction::Reproduction;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

const SCENARIO: &str = r#"# Does one station upload?
title = "One upload: for tests"
duration = "600 ms"
warm_up = "100 ms"
cell.standard = "802.11a"
node = [
    { name = "ap", kind = "access-point", data_rate = "54 Mbps" },
    { name = "sta", kind = "station", data_rate = "54 Mbps" },
]
flow = [{ name = "up", from = "sta", to = "ap" }]
[sweep]
"tcp.congestion_control" = ["reno", "compound"]
seeds = 2
"#;

#[derive(Debug)]
struct Tiny;

impl Study for Tiny {
    fn name(&self) -> &'static str {
        "tiny"
    }

    fn paper(&self) -> &'static str {
        "Nobody: Nothing"
    }

    fn statement(&self) -> &'static str {
        "A station uploads."
    }

    fn experiments(&self) -> &'static [Experiment] {
        &[Experiment {
            name: "upload",
            file: "upload.toml",
            text: SCENARIO,
            quick: &["sweep.seeds=1"],
            series: true,
        }]
    }

    fn originals(&self) -> &'static [crate::Original] {
        &[]
    }

    fn not_emulated(&self) -> &'static [&'static str] {
        &[]
    }

    fn limits(&self) -> &'static [&'static str] {
        &[]
    }

    fn evaluate(&self, results: &Results) -> Result<Findings, Error> {
        let claim = |id, results: &Results| {
            let runs = results.select("upload", &[]);
            let mut evidence = Evidence::of(results, &["upload"]);
            let total = evidence.estimate("total_mbps", over(&runs, total_mbps));
            let criterion = Criterion { id, statement: "It | uploads", meaning: "In all" };
            Claim::judge(criterion, evidence.tested([total.mean.above(1.0)]), String::new())
        };
        let claims = vec![claim("TINY-X1", results).ours(), claim("TINY-1", results)];
        Ok(Findings { claims, exhibits: vec![], tables: vec![], explanations: vec![] })
    }
}

/// A directory of this test alone.
fn place(name: &str) -> PathBuf {
    let place = std::env::temp_dir().join(format!("fairwave-study-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&place);
    place
}

/// Nobody looks, and nobody ends it.
fn watch() -> Watch<'static> {
    static GOES_ON: AtomicBool = AtomicBool::new(false);
    Watch { progress: &|_| (), stop: &GOES_ON }
}

#[test]
fn runs_are_read_back_as_they_were_made() {
    let root = place("read-back");
    let made = simulate(&Tiny, true, 1, &root, None, watch()).unwrap();
    let read = read_back(&Tiny, true, &root).unwrap();
    assert_eq!(made, read);
    let page = |results: &Results| {
        let findings = evaluate(&Tiny, results).unwrap();
        let reproduction =
            Reproduction { study: &Tiny, results: results.clone(), findings, maps: None };
        markdown::page(&reproduction, "fairwave reproduce tiny")
    };
    assert_eq!(page(&made), page(&read));
    let claims = page(&read).lines().filter(|line| line.starts_with("| TINY")).count();
    let line = "| TINY-1 | conditional | holds in the only one tried | Holds in the study's own \
                set-up; no other was tried. | holds | It \\| uploads |";
    assert!(page(&read).contains(line) && claims == 2, "{}", page(&read));
    // The paper's claims come first.
    assert!(page(&read).find("TINY-1") < page(&read).find("TINY-X1"));
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn runs_that_are_missing_or_of_another_scenario_are_named() {
    let root = place("unfit");
    let none = read_back(&Tiny, true, &root).unwrap_err().to_string();
    assert!(none.contains("missing: upload/") && none.contains("seed-1"), "{none}");
    simulate(&Tiny, true, 1, &root, None, watch()).unwrap();
    let full = read_back(&Tiny, false, &root).unwrap_err().to_string();
    assert!(full.contains("seed-2") && !full.contains("seed-1"), "{full}");
    let run = root.join("upload/congestion_control=reno/seed-1/scenario.toml");
    fs::write(&run, "# another\n").unwrap();
    let other = read_back(&Tiny, true, &root).unwrap_err().to_string();
    assert!(other.contains("of another scenario: upload/congestion_control=reno"), "{other}");
    fs::remove_dir_all(&root).unwrap();
}
