//! Tests of the page's modules that need no browser, by `node --test`.

use fairwave_lab::results::column::{integer, nullable_integer, text};
use fairwave_lab::results::{Cell, Table, TableWriter};
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// A row of the table that JavaScript reads.
#[derive(Clone)]
struct Row {
    number: i64,
    name: Option<&'static str>,
    maybe: Option<i64>,
    at: i64,
}

const TABLE: Table<Row> = Table {
    file: "sample.parquet",
    doc: "Values of many sizes.",
    columns: &[
        integer("value", "A number.", &|row: &Row| Cell::Integer(row.number)),
        nullable_integer("maybe_ns", "A number, or none.", &|row: &Row| {
            row.maybe.map_or(Cell::Null, Cell::Integer)
        }),
        integer("at_unix_ns", "A time.", &|row: &Row| Cell::Integer(row.at)),
        fairwave_lab::results::column::or_null(&text("name", "A name.", &|row: &Row| {
            row.name.map_or(Cell::Null, |name| Cell::Text(name.into()))
        })),
    ],
};

/// Rows over several row groups and pages: differences of any width up to 2^52, of both signs.
fn rows() -> Vec<Row> {
    const NAMES: [Option<&str>; 4] = [Some("up"), None, Some("down"), Some("ü>*")];
    let size = |i: i64| 1_i64 << (i / 7 % 52);
    let row = |i: i64| Row {
        number: if i % 3 == 0 { -size(i) } else { size(i) + i },
        name: NAMES[usize::try_from(i * i % 4).expect("a small number")],
        maybe: (i % 5 != 2 && !(40_000..50_000).contains(&i)).then_some(i * 1_000_003),
        at: 1_700_000_000_000_000_001 + 3 * i,
    };
    (0..150_000).map(row).collect()
}

#[test]
fn modules_of_the_page_pass_their_tests() {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
    assert!(
        web.join("node_modules/hyparquet").exists(),
        "`cargo xtask test` installs what the tests need; by hand: npm ci --prefix {}",
        web.display()
    );
    let place = tempfile::tempdir().expect("a temporary directory");
    let rows = rows();
    let mut writer =
        TableWriter::at(&TABLE, place.path().join(TABLE.file)).expect("a file is created");
    for row in &rows {
        writer.push(row.clone()).expect("a row is written");
    }
    writer.finish().expect("the file is complete");
    let values = json!({
        "numbers": rows.iter().map(|row| row.number).collect::<Vec<_>>(),
        "names": rows.iter().map(|row| row.name).collect::<Vec<_>>(),
        "maybe": rows.iter().map(|row| row.maybe).collect::<Vec<_>>(),
    });
    let expected = place.path().join("values.json");
    std::fs::write(&expected, values.to_string()).expect("a file is written");
    let names = ["columns", "figures", "numbers", "parquet", "range", "thin"];
    let files = names.map(|name| format!("tests/{name}.test.js"));
    let output = Command::new("node")
        .arg("--test")
        .args(files)
        .current_dir(&web)
        .env("TABLE", place.path().join(TABLE.file))
        .env("VALUES", &expected)
        .output()
        .expect("node starts; `cargo xtask test` installs it");
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{out}");
    assert!(out.contains("# skipped 0") || out.contains("skipped 0"), "{out}");
}
