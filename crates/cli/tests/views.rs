//! Completion scripts and manual pages follow from the command line's definition.

mod common;

use common::{ends_with, scratch};
use std::fs;

/// What every view must know.
const COMMANDS: [&str; 7] = ["run", "sweep", "reproduce", "check", "list", "completions", "man"];

#[test]
fn each_shell_gets_a_script_that_knows_every_command() {
    let place = scratch();
    for (shell, mark) in [("bash", "complete "), ("zsh", "#compdef"), ("fish", "complete -c")] {
        let (script, _) = ends_with(0, place.path(), &["completions", shell]);
        assert!(script.contains(mark), "{shell}: {mark}");
        for command in COMMANDS {
            assert!(script.contains(command), "{shell} does not know {command}");
        }
    }
}

#[test]
fn each_command_has_a_page() {
    let place = scratch();
    ends_with(0, place.path(), &["man", "--out", "pages"]);
    for command in COMMANDS {
        let name = format!("fairwave-{command}.1");
        let page = fs::read_to_string(place.path().join("pages").join(&name)).expect(&name);
        assert!(page.contains(".SH SYNOPSIS") && page.contains(command), "{name}: {page}");
    }
    let main = fs::read_to_string(place.path().join("pages/fairwave.1")).unwrap();
    let (printed, _) = ends_with(0, place.path(), &["man"]);
    assert_eq!(main, printed);
    assert!(main.contains("Exit codes"), "{main}");
}
