//! Reading a run directory back: figures are drawn from these files alone.

use super::disk;
use super::recurring::Recurring;
use super::{Error, Meta, Summary};
use crate::nearest;
use parquet::basic::Type as Physical;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A column that was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Integers; `None` where the file has null.
    Integers(Vec<Option<i64>>),
    /// Text; `None` where the file has null.
    Texts(Vec<Option<Arc<str>>>),
}

/// Some columns of a Parquet file in a run directory.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    path: PathBuf,
    columns: BTreeMap<String, Values>,
}

impl Series {
    /// Reads `columns` of the file `name` in `directory`.
    pub fn read(directory: &Path, name: &str, columns: &[&str]) -> Result<Self, Error> {
        let path = directory.join(name);
        let file = File::open(&path).map_err(Error::io(&path))?;
        let reader = SerializedFileReader::new(file).map_err(Error::parquet(&path))?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let mut read = BTreeMap::new();
        for &column in columns {
            let index = (0..schema.num_columns())
                .find(|&i| schema.column(i).name() == column)
                .ok_or_else(|| {
                    let known =
                        (0..schema.num_columns()).map(|i| schema.column(i).name().to_owned());
                    let known: Vec<String> = known.collect();
                    let names = nearest::listed(column, known.iter().map(String::as_str));
                    Error::NoColumn { path: path.clone(), column: column.to_owned(), names }
                })?;
            let values = read_column(&reader, index).map_err(Error::parquet(&path))?;
            read.insert(column.to_owned(), values);
        }
        Ok(Self { path, columns: read })
    }

    /// A column of integers.
    pub fn integers(&self, column: &str) -> Result<&[Option<i64>], Error> {
        match self.columns.get(column) {
            Some(Values::Integers(values)) => Ok(values),
            _ => Err(Error::content(&self.path, format!("no integers in {column:?}"))),
        }
    }

    /// A column of text.
    pub fn texts(&self, column: &str) -> Result<&[Option<Arc<str>>], Error> {
        match self.columns.get(column) {
            Some(Values::Texts(values)) => Ok(values),
            _ => Err(Error::content(&self.path, format!("no text in {column:?}"))),
        }
    }

    /// Points (`t_ns` in seconds, `y` times `scale`) of the rows where every named text column
    /// has its value; rows with a null in `y` are left out.
    pub fn points(
        &self,
        filters: &[(&str, &str)],
        y: &str,
        scale: f64,
    ) -> Result<Vec<(f64, f64)>, Error> {
        let (times, values) = (self.integers("t_ns")?, self.integers(y)?);
        let filters: Result<Vec<_>, Error> =
            filters.iter().map(|&(column, value)| Ok((self.texts(column)?, value))).collect();
        let filters = filters?;
        let keep = |row: usize| filters.iter().all(|(c, v)| c[row].as_deref() == Some(*v));
        let rows = (0..times.len()).filter(|&row| keep(row));
        Ok(rows
            .filter_map(|row| Some((times[row]? as f64 / 1e9, values[row]? as f64 * scale)))
            .collect())
    }
}

fn read_column(reader: &SerializedFileReader<File>, index: usize) -> Result<Values, ParquetError> {
    let mut integers = Vec::new();
    let mut texts = Vec::new();
    let schema = reader.metadata().file_metadata().schema_descr();
    let textual = schema.column(index).physical_type() == Physical::BYTE_ARRAY;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let rows = group.metadata().num_rows() as usize;
        match group.get_column_reader(index)? {
            ColumnReader::Int64ColumnReader(column) => read_chunk(column, rows, &mut integers)?,
            ColumnReader::ByteArrayColumnReader(column) => {
                read_chunk(column, rows, &mut texts)?;
            }
            _ => return Err(ParquetError::General("a column of another type".to_owned())),
        }
    }
    if textual {
        let mut known = Recurring::new();
        let mut text = |bytes: ByteArray| {
            let text = bytes.as_utf8()?;
            let new = || {
                let shared: Arc<str> = text.into();
                (shared.clone(), shared)
            };
            Ok(known.get(text, new).clone())
        };
        let texts: Result<Vec<_>, ParquetError> =
            texts.into_iter().map(|value| value.map(&mut text).transpose()).collect();
        return Ok(Values::Texts(texts?));
    }
    Ok(Values::Integers(integers))
}

/// Appends one row group's values, with nulls in their places.
fn read_chunk<T: DataType>(
    mut column: ColumnReaderImpl<T>,
    rows: usize,
    out: &mut Vec<Option<T::T>>,
) -> Result<(), ParquetError> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut read = 0;
    while read < rows {
        let (records, ..) =
            column.read_records(rows - read, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Err(ParquetError::General("the file ends early".to_owned()));
        }
        read += records;
    }
    let mut values = values.into_iter();
    if levels.is_empty() {
        out.extend(values.map(Some));
    } else {
        out.extend(levels.iter().map(|&level| if level > 0 { values.next() } else { None }));
    }
    Ok(())
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = disk::read_to_string(path).map_err(Error::io(path))?;
    serde_json::from_str(&text).map_err(Error::json(path))
}

/// Whether a description or the summary of a run directory is missing, or was cut short or
/// overwritten, as a crash of the machine can leave it. Files of another version are none of that.
pub(crate) fn is_damaged(directory: &Path) -> bool {
    let is_json = |name| read_json::<IgnoredAny>(&directory.join(name)).is_ok();
    let is_text = |text: String| !text.is_empty() && !text.contains('\0');
    let is_whole = is_json("summary.json")
        && is_json("meta.json")
        && read_scenario(directory).is_ok_and(is_text);
    !is_whole
}

/// The summary of a run directory.
pub fn read_summary(directory: &Path) -> Result<Summary, Error> {
    read_json(&directory.join("summary.json"))
}

/// The provenance of a run directory.
pub fn read_meta(directory: &Path) -> Result<Meta, Error> {
    read_json(&directory.join("meta.json"))
}

/// The resolved scenario of a run directory, as TOML.
pub fn read_scenario(directory: &Path) -> Result<String, Error> {
    let path = directory.join("scenario.toml");
    disk::read_to_string(&path).map_err(Error::io(&path))
}
