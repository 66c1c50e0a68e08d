//! A Parquet table from a list of column definitions, written row group by row group.

use super::Error;
use super::file::Pending;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Rows of one row group, which is the maximum that a writer holds in memory.
const ROWS_PER_GROUP: usize = 16_384;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A signed 64-bit integer.
    Integer,
    /// UTF-8 text.
    Text,
}

/// One value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// An integer.
    Integer(i64),
    /// Text, shared among rows.
    Text(Arc<str>),
    /// Nothing, in a column that allows it.
    Null,
}

impl Cell {
    /// An unsigned number, limited to 2^63 - 1.
    pub fn unsigned(value: u64) -> Self {
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

/// One column of a table whose rows are made of `R`.
#[derive(Debug)]
pub struct Column<R> {
    /// Its name, ending in its unit where it has one.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Whether it may be null.
    pub nullable: bool,
    /// Its meaning.
    pub doc: &'static str,
    /// Takes its value from a row.
    pub cell: fn(&R) -> Cell,
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
    /// Cells by column.
    cells: Vec<Vec<Cell>>,
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
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("fairwave {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(table.metadata()))
            .build();
        let open = table.schema().and_then(|schema| {
            SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
        });
        let writer = open.map_err(Error::parquet(pending.path()))?;
        let cells = table.columns.iter().map(|_| Vec::new()).collect();
        Ok(Self { table, pending, writer, cells })
    }

    /// Adds a row.
    pub fn push(&mut self, row: &R) -> Result<(), Error> {
        for (column, cells) in self.table.columns.iter().zip(&mut self.cells) {
            cells.push((column.cell)(row));
        }
        if self.cells[0].len() >= ROWS_PER_GROUP {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        let Self { table, pending, writer, cells } = self;
        write_group(table, writer, cells).map_err(Error::parquet(pending.path()))?;
        cells.iter_mut().for_each(Vec::clear);
        Ok(())
    }

    /// Completes the file.
    pub fn finish(mut self) -> Result<(), Error> {
        if !self.cells[0].is_empty() {
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
    cells: &[Vec<Cell>],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for (column, cells) in table.columns.iter().zip(cells) {
        write_column(&mut group, column.kind, column.nullable, cells)?;
    }
    group.close()?;
    Ok(())
}

fn write_column(
    group: &mut SerializedRowGroupWriter<'_, BufWriter<File>>,
    kind: Kind,
    nullable: bool,
    cells: &[Cell],
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("fewer columns than the schema has".to_owned());
    let mut out = group.next_column()?.ok_or_else(missing)?;
    let present: Vec<i16> = cells.iter().map(|c| i16::from(*c != Cell::Null)).collect();
    let levels = nullable.then_some(&present[..]);
    match kind {
        Kind::Integer => {
            let values: Vec<i64> = cells.iter().filter_map(as_integer).collect();
            out.typed::<Int64Type>().write_batch(&values, levels, None)?;
        }
        Kind::Text => {
            let values: Vec<ByteArray> = cells.iter().filter_map(as_bytes).collect();
            out.typed::<ByteArrayType>().write_batch(&values, levels, None)?;
        }
    }
    out.close()
}

fn as_integer(cell: &Cell) -> Option<i64> {
    if let Cell::Integer(value) = cell { Some(*value) } else { None }
}

fn as_bytes(cell: &Cell) -> Option<ByteArray> {
    if let Cell::Text(text) = cell { Some(ByteArray::from(&**text)) } else { None }
}
