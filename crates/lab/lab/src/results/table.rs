//! A Parquet table from a list of column definitions, written row group by row group.

use super::Error;
use super::cell::{Buffer, Cells, Kind};
use super::disk::File;
use super::file::Pending;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Rows of one row group, which is the maximum that a writer holds in memory.
const ROWS_PER_GROUP: usize = 16_384;
/// Rows after which their cells are taken, column by column: few enough to stay in a cache.
const ROWS_AT_ONCE: usize = 64;

/// One column of a table whose rows are made of `R`.
pub struct Column<R: 'static> {
    /// Its name, ending in its unit where it has one.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Whether it may be null.
    pub nullable: bool,
    /// Its meaning.
    pub doc: &'static str,
    /// Takes its values from rows.
    pub cells: &'static dyn Cells<R>,
}

impl<R> std::fmt::Debug for Column<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Column").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A table: the one definition that writer and documentation share.
#[derive(Debug)]
pub struct Table<R: 'static> {
    /// Name of its file in a run directory.
    pub file: &'static str,
    /// Meaning of a row.
    pub doc: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column<R>],
}

impl<R> Table<R> {
    /// The table as Markdown, for the documentation.
    pub fn to_markdown(&self) -> String {
        let mut text = format!(
            "### {}\n{}\n\n| column | type | meaning |\n|---|---|---|\n",
            self.file, self.doc
        );
        for column in self.columns {
            let kind = match (column.kind, column.nullable) {
                (Kind::Integer, false) => "integer",
                (Kind::Integer, true) => "integer or null",
                (Kind::Text, false) => "text",
                (Kind::Text, true) => "text or null",
            };
            text.push_str(&format!("| `{}` | {kind} | {} |\n", column.name, column.doc));
        }
        text
    }

    /// Descriptions in the file for its readers: `table`, and for each column `NAME` the keys
    /// `NAME.description` and, if it has a unit, `NAME.unit`.
    fn metadata(&self) -> Vec<KeyValue> {
        let mut entries = vec![KeyValue::new("table".to_owned(), self.doc.to_owned())];
        for column in self.columns {
            let name = column.name;
            entries.push(KeyValue::new(format!("{name}.description"), column.doc.to_owned()));
            let unit = crate::schema::unit(name)
                .map(|unit| KeyValue::new(format!("{name}.unit"), unit.to_owned()));
            entries.extend(unit);
        }
        entries
    }

    /// Integers are stored as differences from row to row. A dictionary of them would hash each
    /// value, though most occur once. Names recur, and have one; every group has all of them, so
    /// that a reader learns nothing from the first and the last.
    fn properties(&self) -> WriterProperties {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("fairwave {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(self.metadata()));
        let properties = self.columns.iter().fold(properties, |properties, column| {
            let path = ColumnPath::from(column.name);
            match column.kind {
                Kind::Integer => properties
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
                Kind::Text => {
                    properties.set_column_statistics_enabled(path, EnabledStatistics::None)
                }
            }
        });
        properties.build()
    }

    fn schema(&self) -> Result<Type, ParquetError> {
        let fields: Result<Vec<_>, _> =
            self.columns.iter().map(|c| field(c).map(Arc::new)).collect();
        Type::group_type_builder("rows").with_fields(fields?).build()
    }
}

fn field<R>(column: &Column<R>) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.kind {
        Kind::Integer => (Physical::INT64, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let repetition = if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    Type::primitive_type_builder(column.name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .build()
}

/// Writes the rows of one table with bounded memory.
pub struct Writer<R: 'static> {
    table: &'static Table<R>,
    pending: Pending,
    writer: SerializedFileWriter<BufWriter<File>>,
    /// Rows whose cells are not in the columns.
    rows: Vec<R>,
    /// Rows whose cells are.
    taken: usize,
    columns: Vec<Buffer>,
}

impl<R> Writer<R> {
    /// Opens the table's file in `directory`.
    pub fn create(table: &'static Table<R>, directory: &std::path::Path) -> Result<Self, Error> {
        Self::at(table, directory.join(table.file))
    }

    /// Opens a table's file at `path`.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn at(table: &'static Table<R>, path: PathBuf) -> Result<Self, Error> {
        let (pending, out) = Pending::create(path)?;
        let properties = table.properties();
        let open = table.schema().and_then(|schema| {
            SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
        });
        let writer = open.map_err(Error::parquet(pending.path()))?;
        let columns =
            table.columns.iter().map(|column| Buffer::new(column.kind, column.nullable)).collect();
        let rows = Vec::with_capacity(ROWS_AT_ONCE);
        Ok(Self { table, pending, writer, rows, taken: 0, columns })
    }

    /// Adds a row.
    pub fn push(&mut self, row: R) -> Result<(), Error> {
        self.rows.push(row);
        if self.rows.len() < ROWS_AT_ONCE {
            return Ok(());
        }
        self.take();
        if self.taken >= ROWS_PER_GROUP { self.flush() } else { Ok(()) }
    }

    /// Moves the cells of the rows into the columns.
    fn take(&mut self) {
        for (column, buffer) in self.table.columns.iter().zip(&mut self.columns) {
            column.cells.append(&self.rows, buffer);
        }
        self.taken += self.rows.len();
        self.rows.clear();
    }

    fn flush(&mut self) -> Result<(), Error> {
        let Self { table, pending, writer, columns, .. } = self;
        write_group(table, writer, columns).map_err(Error::parquet(pending.path()))?;
        columns.iter_mut().for_each(Buffer::clear);
        self.taken = 0;
        Ok(())
    }

    /// Completes the file.
    pub fn finish(mut self) -> Result<(), Error> {
        self.take();
        if self.taken > 0 {
            self.flush()?;
        }
        let Self { pending, writer, .. } = self;
        let mut out = writer.into_inner().map_err(Error::parquet(pending.path()))?;
        out.flush().map_err(Error::io(pending.path()))?;
        drop(out);
        pending.finish()
    }
}

fn write_group<R>(
    table: &Table<R>,
    writer: &mut SerializedFileWriter<BufWriter<File>>,
    columns: &[Buffer],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for (column, buffer) in table.columns.iter().zip(columns) {
        write_column(&mut group, column.kind, buffer)?;
    }
    group.close()?;
    Ok(())
}

fn write_column(
    group: &mut SerializedRowGroupWriter<'_, BufWriter<File>>,
    kind: Kind,
    buffer: &Buffer,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("fewer columns than the schema has".to_owned());
    let mut out = group.next_column()?.ok_or_else(missing)?;
    match kind {
        Kind::Integer => {
            out.typed::<Int64Type>().write_batch(buffer.integers(), buffer.levels(), None)?;
        }
        Kind::Text => {
            out.typed::<ByteArrayType>().write_batch(buffer.texts(), buffer.levels(), None)?;
        }
    }
    out.close()
}
