//! Every column of a run directory is documented: on a page, and in the file itself.

use fairwave_lab::results::{
    ASSOCIATIONS, DELAY_BINS, DELAYS, DROPS, FLOWS, PAIRS, PATHS, QUEUES, SOC, STATIONS, Table,
    WINDOWS,
};
use std::fs;
use std::path::{Path, PathBuf};

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/run-tables.md")
}

fn documented<R>(table: &Table<R>) -> String {
    for column in table.columns {
        assert!(column.doc.ends_with('.'), "{}: {:?}", column.name, column.doc);
    }
    table.to_markdown()
}

/// What is written by hand, and the columns.
fn text() -> String {
    [
        include_str!("tables.md").to_owned(),
        documented(&FLOWS),
        documented(&DELAYS),
        documented(&DELAY_BINS),
        documented(&PATHS),
        documented(&WINDOWS),
        documented(&QUEUES),
        documented(&STATIONS),
        documented(&PAIRS),
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

fn names<R>(table: &Table<R>) -> Vec<String> {
    let name = table.file.trim_end_matches(".parquet");
    table.columns.iter().map(|column| format!("{name}.{}", column.name)).collect()
}

/// `queues.drops_*` stands for those that begin so.
#[test]
fn the_questions_name_columns_that_there_are() {
    let known = [names(&FLOWS), names(&DELAYS), names(&QUEUES), names(&STATIONS), names(&PAIRS)];
    let known = known.concat();
    let text = text();
    let (questions, _) = text.split_once("## Columns").unwrap();
    let series = ["flows.", "delays.", "queues.", "stations.", "pairs."];
    let quoted = questions.split('`').skip(1).step_by(2);
    let columns: Vec<&str> =
        quoted.filter(|word| series.iter().any(|start| word.starts_with(start))).collect();
    assert!(columns.len() > 15, "{columns:?}");
    for column in columns.into_iter().filter(|column| !column.ends_with(".parquet")) {
        let found = match column.strip_suffix('*') {
            Some(start) => known.iter().any(|name| name.starts_with(start)),
            None => known.iter().any(|name| name == column),
        };
        assert!(found, "{column}");
    }
}

#[test]
#[ignore = "rewrites the page"]
fn bless() {
    fs::write(page(), text()).expect("the page is written");
}
