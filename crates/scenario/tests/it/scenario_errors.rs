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
            let start = format!("{name}:{}:{}: {}: ", d.line, d.column, d.key);
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
