//! A Parquet file in pieces, of which a reader can use each before it has the others.

use super::Error;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaDataReader, RowGroupMetaData};
use std::path::Path;

/// Bytes behind the metadata: its length, and `PAR1`.
const TAIL_BYTES: usize = 8;

/// Pieces of a Parquet file.
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    /// The metadata, with what follows it.
    pub footer: &'a [u8],
    /// The columns in the order of the schema.
    pub columns: Vec<Piece>,
}

/// A column of a Parquet file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its name.
    pub name: String,
    /// Whether it has text.
    pub is_text: bool,
    /// Its bytes in all row groups, one after the other.
    pub bytes: Vec<u8>,
}

impl<'a> Pieces<'a> {
    /// Divides `file`, which messages call `path`.
    ///
    /// # Errors
    /// No Parquet file.
    pub fn of(file: &'a [u8], path: &Path) -> Result<Self, Error> {
        divide(file).map_err(Error::parquet(path))
    }
}

fn divide(file: &[u8]) -> Result<Pieces<'_>, ParquetError> {
    let cut = || ParquetError::EOF("the file is cut off".to_owned());
    let (front, tail) =
        file.len().checked_sub(TAIL_BYTES).map(|at| file.split_at(at)).ok_or_else(cut)?;
    let length = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]) as usize;
    let start = front.len().checked_sub(length).ok_or_else(cut)?;
    let metadata = ParquetMetaDataReader::decode_metadata(&front[start..])?;
    let schema = metadata.file_metadata().schema_descr();
    let mut columns = Vec::with_capacity(schema.num_columns());
    for index in 0..schema.num_columns() {
        let column = schema.column(index);
        let mut bytes = Vec::new();
        for group in metadata.row_groups() {
            bytes.extend_from_slice(chunk(file, group, index).ok_or_else(cut)?);
        }
        let is_text = column.physical_type() == parquet::basic::Type::BYTE_ARRAY;
        columns.push(Piece { name: column.name().to_owned(), is_text, bytes });
    }
    Ok(Pieces { footer: &file[start..], columns })
}

/// The bytes of a column in a row group.
fn chunk<'a>(file: &'a [u8], group: &RowGroupMetaData, index: usize) -> Option<&'a [u8]> {
    let (start, length) = group.column(index).byte_range();
    let start = usize::try_from(start).ok()?;
    file.get(start..start.checked_add(usize::try_from(length).ok()?)?)
}
