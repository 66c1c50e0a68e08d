//! The documents that describe what `fairwave trace` writes are made from the code that writes it.

use fairwave_capture::trace::{out, schema};
use std::fs;
use std::path::{Path, PathBuf};

fn docs(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs").join(file)
}

/// Each document with what it should be.
fn documents() -> [(PathBuf, String); 2] {
    let mut schema = serde_json::to_string_pretty(&schema()).expect("a schema is JSON");
    schema.push('\n');
    let tables = [
        "# Tables of `fairwave trace --out`\n\nMade by `cargo xtask golden`. Times in Unix \
         nanoseconds are those of the capture; what a figure means is in \
         [models/trace.md](models/trace.md).\n"
            .to_owned(),
        out::ENDS.to_markdown(),
        out::INTERVALS.to_markdown(),
        out::POINTS.to_markdown(),
        "With two captures:\n".to_owned(),
        out::BETWEEN.to_markdown(),
    ];
    [(docs("trace.schema.json"), schema), (docs("trace-tables.md"), tables.join("\n"))]
}

#[test]
fn the_documents_are_up_to_date() {
    for (path, text) in documents() {
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(found == text, "{}: `cargo xtask golden` rewrites it", path.display());
    }
}

#[test]
#[ignore = "rewrites the documents"]
fn bless() {
    for (path, text) in documents() {
        fs::write(path, text).expect("a document is written");
    }
}
