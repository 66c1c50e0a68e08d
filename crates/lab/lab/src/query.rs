//! Run directories as tables of a database: SQL for DuckDB, which reads Parquet itself.

use crate::axes::{self, AxisKind};
use crate::results::{Error, Meta, read_meta, run_directories, series_in};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A run directory, by its path.
struct Found {
    directory: PathBuf,
    meta: Meta,
}

/// Statements that make the table `runs`, with a row for each complete run in the directories and
/// below them, and a view for each series that they have, whose rows begin with the run's path,
/// seed and axes. The view `results` has a row for each flow of each run. A run is there once, by
/// the first of its paths.
///
/// # Errors
/// Directories without a run, or a file that cannot be read.
pub fn views(directories: &[PathBuf]) -> Result<String, Error> {
    let (mut runs, mut known) = (Vec::new(), BTreeSet::new());
    let mut files: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for directory in directories {
        let found = run_directories(directory)?;
        if found.is_empty() {
            let what = "no complete run is here or below".to_owned();
            return Err(Error::Content { path: directory.clone(), what });
        }
        for directory in found {
            // Directories overlap, as those that a shell lists by a pattern may.
            let place = directory.canonicalize().map_err(Error::io(&directory))?;
            if !known.insert(place.clone()) {
                continue;
            }
            // DuckDB shortens the names of files that it finds by a pattern.
            let directory = if is_pattern(&directory) { place } else { directory };
            let series = series_in(&directory)?.into_iter();
            for table in series.filter_map(|name| Some(name.strip_suffix(".parquet")?.to_owned())) {
                files.entry(table).or_default().push(directory.clone());
            }
            runs.push(Found { meta: read_meta(&directory)?, directory });
        }
    }
    let mut sql = table_of_runs(&runs);
    for (table, places) in &files {
        let list = list(places, &format!("{table}.parquet"));
        let _ = writeln!(
            sql,
            "CREATE VIEW {} AS SELECT runs.*, rows.* EXCLUDE (filename) FROM \
             read_parquet([{list}], filename = true, union_by_name = true, \
             hive_partitioning = false) AS rows JOIN runs ON \
             rows.filename = runs.run || '/{table}.parquet';",
            name(table)
        );
    }
    let places: Vec<PathBuf> = runs.into_iter().map(|run| run.directory).collect();
    let list = list(&places, "summary.json");
    let _ = writeln!(
        sql,
        "CREATE VIEW results AS SELECT runs.*, unnest(flows, max_depth := 2) FROM \
         read_json([{list}], filename = true, union_by_name = true, \
             hive_partitioning = false) AS rows JOIN runs ON \
         rows.filename = runs.run || '/summary.json';"
    );
    Ok(sql)
}

/// The table of runs: path, seed, and a column for each axis that one of them has.
fn table_of_runs(runs: &[Found]) -> String {
    let keys = runs.iter().flat_map(|run| run.meta.axes.keys());
    let keys: BTreeSet<&String> = keys.filter(|key| axes::has_column(key)).collect();
    let value = |run: &'_ Found, key: &str| {
        run.meta.axes.get(key).map(|value| value.trim_matches('"').to_owned())
    };
    let mut columns = String::new();
    for key in &keys {
        let values: Vec<String> = runs.iter().filter_map(|run| value(run, key)).collect();
        let kind = match AxisKind::of(values.iter().map(String::as_str)) {
            AxisKind::Integer => "BIGINT",
            AxisKind::Number => "DOUBLE",
            AxisKind::Text => "VARCHAR",
        };
        let _ = write!(columns, ", {} {kind}", name(key));
    }
    let mut sql = format!("CREATE TABLE runs (run VARCHAR, seed UBIGINT{columns});\n");
    for run in runs {
        let of = |key: &&String| value(run, key).map_or("NULL".to_owned(), |v| text(&v));
        let values: String = keys.iter().map(|key| format!(", {}", of(key))).collect();
        let (place, seed) = (text(&run.directory.display().to_string()), run.meta.seed.0);
        let _ = writeln!(sql, "INSERT INTO runs VALUES ({place}, {seed}{values});");
    }
    sql
}

/// Paths of a file in several directories, as elements of a list of patterns.
fn list(places: &[PathBuf], file: &str) -> String {
    let path = |place: &PathBuf| text(&literal(&format!("{}/{file}", place.display())));
    places.iter().map(path).collect::<Vec<_>>().join(", ")
}

/// Characters of patterns for names of files.
const WILD: [char; 3] = ['*', '?', '['];

fn is_pattern(path: &Path) -> bool {
    path.display().to_string().contains(WILD)
}

/// A pattern for files that this path alone matches.
fn literal(path: &str) -> String {
    let mut pattern = String::with_capacity(path.len());
    for c in path.chars() {
        match WILD.contains(&c) {
            true => pattern.extend(['[', c, ']']),
            false => pattern.push(c),
        }
    }
    pattern
}

/// A text of SQL.
fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

/// A name of SQL.
fn name(value: &str) -> String {
    format!("\"{}\"", value.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_are_quoted() {
        assert_eq!(text("o'clock"), "'o''clock'");
        assert_eq!(name("node.\"a\""), "\"node.\"\"a\"\"\"");
        let places = ["a b", "c"].map(PathBuf::from);
        assert_eq!(list(&places, "x.parquet"), "'a b/x.parquet', 'c/x.parquet'");
        assert_eq!(list(&["*[1]?".into()], "x"), "'[*][[]1][?]/x'");
    }
}
