//! Broken scenario files and the messages they get, word for word.
//!
//! `cargo test -p fairwave-scenario --test it -- --ignored bless` rewrites the messages.

use fairwave_scenario::Diagnostics;
use fairwave_scenario::plan::Plan;
use std::path::{Path, PathBuf};

fn broken() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken");
    let entries = std::fs::read_dir(folder).expect("tests/broken is there");
    let paths = entries.map(|e| e.expect("a readable entry").path());
    let mut files: Vec<_> = paths.filter(|p| p.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    files
}

fn diagnose(path: &Path) -> Diagnostics {
    let bytes = std::fs::read(path).expect("a readable file");
    let name = path.file_name().expect("a file has a name").to_string_lossy();
    match Plan::parse_bytes(&name, &bytes, &[]) {
        Ok(_) => panic!("{name} is not broken"),
        Err(diagnostics) => diagnostics,
    }
}

#[test]
fn every_message_is_as_blessed_and_names_file_line_and_key() {
    let files = broken();
    assert!(files.len() >= 30, "only {} broken files", files.len());
    for path in files {
        let diagnostics = diagnose(&path);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(!diagnostics.0.is_empty(), "{name}");
        for d in &diagnostics.0 {
            let key: String = d.key.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            let start = format!("{name}:{}:{}: {key}: ", d.line, d.column);
            assert!(d.to_string().starts_with(&start), "{d}");
            assert!(d.line > 0 && d.column > 0 && !d.key.is_empty(), "{d:?}");
        }
        let blessed = std::fs::read_to_string(path.with_extension("txt")).unwrap_or_default();
        assert_eq!(format!("{diagnostics}\n"), blessed, "{name}");
    }
}

#[test]
#[ignore = "rewrites the golden messages"]
fn bless() {
    for path in broken() {
        let text = format!("{}\n", diagnose(&path));
        std::fs::write(path.with_extension("txt"), text).expect("a writable folder");
    }
}

/// The text of a file goes to a terminal: only what can be seen of it.
#[test]
fn no_message_commands_a_terminal_or_repeats_a_long_line() {
    let long = format!("title = \"{}\"\n", "x\u{1b}[31m\u{9b}2J".repeat(20_000));
    let key = format!("\"{}\" = 1\n", "k".repeat(100_000));
    let binary = "\u{7}\u{1b}]0;title\u{7}".repeat(30_000);
    for text in [long, key, binary] {
        let printed = Plan::parse("s", &text, &[]).expect_err("it is wrong").to_string();
        assert!(printed.chars().all(|c| c == '\n' || !c.is_control()), "{printed:?}");
        assert!(printed.len() < 3_000, "{} bytes", printed.len());
    }
}

#[test]
fn a_key_of_many_parts_is_refused() {
    let deep = vec!["a"; 50_000].join(".");
    let text = format!("duration = \"1 s\"\n[sweep]\n\"{deep}\" = [1]\n");
    let sweep = Plan::parse("s", &text, &[]).expect_err("it is wrong");
    let set = Plan::parse("s", "duration = \"1 s\"\n", &[format!("{deep}=1")]);
    for printed in [sweep, set.expect_err("it is wrong")] {
        assert!(printed.to_string().contains("a dotted key of 50000 parts"), "{printed}");
    }
    let bare = [
        format!("duration = \"1 s\"\n[sweep]\n{deep} = [1]\n"),
        format!("duration = \"1 s\"\n\n{deep} = 1\n"),
        format!("duration = \"1 s\"\n\n[{deep}]\n"),
        format!("duration = \"1 s\"\n\nx = {{ {deep} = 1 }}\n"),
    ];
    for text in bare {
        let printed = Plan::parse("s", &text, &[]).expect_err("it is wrong").to_string();
        assert!(printed.starts_with("s:3:"), "{printed}");
        assert!(
            printed.contains("a dotted key of 50000 parts") && !printed.contains("recurs"),
            "{printed}"
        );
    }
}

#[test]
fn values_that_are_nested_without_end_are_refused_in_words_of_ours() {
    for nest in ["[", "{ a = "] {
        let text = format!("duration = \"1 s\"\nx = {}\n", nest.repeat(50_000));
        let printed = Plan::parse("s", &text, &[]).expect_err("it is wrong").to_string();
        assert!(
            printed.starts_with("s:2:") && printed.contains("lists or tables nested"),
            "{printed}"
        );
    }
}

#[test]
fn a_list_of_tables_that_is_set_as_a_value_names_its_tables() {
    let text = "duration = \"1 s\"\n[[node]]\nname = \"pc\"\nkind = \"host\"\n";
    for (set, printed) in [
        ("node=5", "this is a list of tables, not a value"),
        ("node=5", "as in node.pc.name"),
        ("flow=5", "there is no flow in the file"),
        ("node.pcs.count=5", "there is no node called \"pcs\""),
    ] {
        let error = Plan::parse("s", text, &[set.to_owned()]).expect_err("it is wrong");
        assert!(error.to_string().contains(printed), "{set}: {error}");
    }
}

/// A device without an end is not read to its end.
#[test]
#[cfg(unix)]
fn a_file_that_is_too_long_is_not_read_whole() {
    let error = Plan::load(Path::new("/dev/zero"), &[]).expect_err("no scenario").to_string();
    assert!(error.contains("more than 1048576 bytes"), "{error}");
}
