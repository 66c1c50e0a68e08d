//! A table as comma-separated values, row by row.

use super::Error;
use super::cell::Cell;
use super::disk::File;
use super::file::Pending;
use super::table::Table;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// Writes the rows of one table as CSV (RFC 4180). A null cell is empty.
pub struct CsvWriter<R: 'static> {
    table: &'static Table<R>,
    pending: Pending,
    out: BufWriter<File>,
}

impl<R> CsvWriter<R> {
    /// Opens `path` and writes the names of the columns.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn create(table: &'static Table<R>, path: PathBuf) -> Result<Self, Error> {
        let (pending, out) = Pending::create(path)?;
        let mut writer = Self { table, pending, out };
        let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        writer.line(&names.join(","))?;
        Ok(writer)
    }

    /// Adds a row.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn push(&mut self, row: &R) -> Result<(), Error> {
        let cells = self.table.columns.iter().map(|column| match column.cells.cell(row) {
            Cell::Integer(number) => number.to_string(),
            Cell::Text(text) => field(&text),
            Cell::Null => String::new(),
        });
        let line = cells.collect::<Vec<_>>().join(",");
        self.line(&line)
    }

    fn line(&mut self, line: &str) -> Result<(), Error> {
        write!(self.out, "{line}\r\n").map_err(Error::io(self.pending.path()))
    }

    /// Completes the file.
    ///
    /// # Errors
    /// A file that cannot be completed.
    pub fn finish(self) -> Result<(), Error> {
        let Self { pending, mut out, .. } = self;
        out.flush().map_err(Error::io(pending.path()))?;
        drop(out);
        pending.finish()
    }
}

/// A field, in quotes where it needs them.
pub(crate) fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::columns::{integer, or_null, text};

    const PAIRS: Table<(i64, &str)> = Table {
        file: "pairs",
        doc: "Pairs.",
        columns: &[
            or_null(&integer("number", "It is null where it is negative.", &|row: &(
                i64,
                &str,
            )| {
                if row.0 < 0 { Cell::Null } else { Cell::Integer(row.0) }
            })),
            text("text", "A text.", &|row: &(i64, &str)| Cell::Text(row.1.into())),
        ],
    };

    #[test]
    fn a_file_appears_when_it_is_complete_with_a_line_for_each_row() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("pairs.csv");
        let mut writer = CsvWriter::create(&PAIRS, path.clone()).unwrap();
        writer.push(&(7, "a > b")).unwrap();
        writer.push(&(-1, "a,\"b\"")).unwrap();
        assert!(!path.exists());
        writer.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "number,text\r\n7,a > b\r\n,\"a,\"\"b\"\"\"\r\n");
    }
}
