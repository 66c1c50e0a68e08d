//! The outputs shown in the README are those of the command.

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
