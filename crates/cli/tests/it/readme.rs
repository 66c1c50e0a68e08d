//! The commands of README.md and docs/json.md print what these pages show.

use crate::common;
use std::path::Path;

#[test]
fn the_first_run_prints_what_the_readme_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).expect("README.md is there");
    let (_, block) = readme.split_once("$ fairwave ").expect("README shows a first run");
    let (command, rest) = block.split_once('\n').expect("its output");
    let (shown, _) = rest.split_once("```").expect("the block ends");
    assert!(shown.lines().count() > 3, "{shown}");

    let out = common::scratch();
    let place = out.path().display().to_string();
    let mut arguments = vec!["--quiet", "--out", &place, "--force"];
    arguments.extend(command.split_whitespace());
    let (printed, noticed) = common::ends_with(0, &root, &arguments);
    assert!(printed.contains(shown), "README shows\n{shown}\nbut it prints\n{printed}");
    // Its access point sent no data and had a rate, which a newcomer was warned about.
    assert!(!noticed.contains("warning"), "{noticed}");
}

#[test]
fn the_example_of_json_is_one_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/json.md")).expect("docs/json.md is there");
    let (_, example) = page.rsplit_once("```\nfairwave ").expect("it shows a command");
    let (command, filter) = example.split_once(" | jq ").expect("whose output jq reads");
    assert!(filter.starts_with("'.summary.flows[] | {name, goodput_bps}'"), "{filter}");
    let out = common::scratch();
    let place = out.path().display().to_string();
    let mut arguments = vec!["--quiet", "--out", &place, "--force"];
    arguments.extend(command.split_whitespace());
    let (printed, _) = common::ends_with(0, &root, &arguments);
    let found: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    let flow = &found["summary"]["flows"][0];
    assert!(flow["name"].is_string() && flow["goodput_bps"].is_u64(), "{flow}");
}
