//! Every column of a run directory is documented: on a page, and in the file itself.

use fairwave_lab::results::{ASSOCIATIONS, DROPS, FLOWS, PATHS, QUEUES, SOC, STATIONS, Table};
use std::fs;
use std::path::{Path, PathBuf};

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/run-tables.md")
}

fn documented<R>(table: &Table<R>) -> String {
    for column in table.columns {
        assert!(column.doc.ends_with('.'), "{}: {:?}", column.name, column.doc);
    }
    table.to_markdown()
}

fn text() -> String {
    [
        "# Tables of a run directory\n\nMade by `cargo xtask golden`. Each Parquet file has the \
         same in its metadata, `COLUMN.description` and `COLUMN.unit`. A name ends in its unit: \
         `ns` nanoseconds, `bps` bits per second, `mdb` thousandths of a decibel, `ppb` parts \
         per thousand million, `milli` thousandths.\n"
            .to_owned(),
        documented(&FLOWS),
        documented(&PATHS),
        documented(&QUEUES),
        documented(&STATIONS),
        documented(&ASSOCIATIONS),
        documented(&SOC),
        documented(&DROPS),
    ]
    .join("\n")
}

#[test]
fn the_page_of_tables_is_up_to_date() {
    let found = fs::read_to_string(page()).unwrap_or_default();
    assert!(found == text(), "docs/run-tables.md: `cargo xtask golden` rewrites it");
}

#[test]
#[ignore = "rewrites the page"]
fn bless() {
    fs::write(page(), text()).expect("the page is written");
}
