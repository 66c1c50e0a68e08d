//! Cells of a table, and the buffer in which a column's cells wait for their file.

use super::recurring::Recurring;
use parquet::data_type::ByteArray;
use std::sync::Arc;

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
    #[inline]
    pub fn unsigned(value: u64) -> Self {
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

/// A function from rows to the cells of a column. It is a trait so that the loop over rows is
/// compiled with the function in it: a call for each cell costs several times the cell.
pub trait Cells<R>: Sync {
    /// The cell of a row.
    fn cell(&self, row: &R) -> Cell;
    /// Appends the cells of some rows to the column's buffer.
    fn append(&self, rows: &[R], to: &mut Buffer);
}

impl<R, F: Fn(&R) -> Cell + Sync> Cells<R> for F {
    fn cell(&self, row: &R) -> Cell {
        self(row)
    }

    fn append(&self, rows: &[R], to: &mut Buffer) {
        to.append(rows.iter().map(self));
    }
}

/// The cells of one column as Parquet takes them: values, and for each row whether it has one.
#[derive(Debug)]
pub struct Buffer {
    kind: Kind,
    is_nullable: bool,
    integers: Vec<i64>,
    texts: Vec<ByteArray>,
    /// Of a nullable column, for each row 1 if it has a value and 0 if it is null.
    levels: Vec<i16>,
    /// Bytes of each text so far, which its cells share.
    known: Recurring<ByteArray>,
}

impl Buffer {
    /// An empty buffer.
    pub(super) fn new(kind: Kind, is_nullable: bool) -> Self {
        let (integers, texts, levels) = Default::default();
        Self { kind, is_nullable, integers, texts, levels, known: Recurring::new() }
    }

    /// Values of a column of integers.
    pub(super) fn integers(&self) -> &[i64] {
        &self.integers
    }

    /// Values of a column of texts.
    pub(super) fn texts(&self) -> &[ByteArray] {
        &self.texts
    }

    /// Definition levels; `None` of a column without nulls.
    pub(super) fn levels(&self) -> Option<&[i16]> {
        self.is_nullable.then_some(&self.levels)
    }

    /// Appends cells. Columns of integers have loops of their own, in which a cell is a number and
    /// no enumeration.
    #[inline]
    fn append(&mut self, cells: impl ExactSizeIterator<Item = Cell>) {
        match (self.kind, self.is_nullable) {
            (Kind::Integer, false) => self.integers.extend(cells.map(|cell| match cell {
                Cell::Integer(value) => value,
                Cell::Text(_) | Cell::Null => unreachable!("the column has integers alone"),
            })),
            (Kind::Integer, true) => {
                self.integers.reserve(cells.len());
                self.levels.extend(cells.map(|cell| match cell {
                    Cell::Integer(value) => {
                        self.integers.push(value);
                        1
                    }
                    Cell::Text(_) | Cell::Null => 0,
                }));
            }
            (Kind::Text, _) => cells.for_each(|cell| self.push_text(&cell)),
        }
    }

    // Apart: the loops over columns of integers have nothing of it.
    #[inline(never)]
    fn push_text(&mut self, cell: &Cell) {
        let text = match cell {
            Cell::Text(text) => Some(text),
            Cell::Integer(_) | Cell::Null => None,
        };
        if self.is_nullable {
            self.levels.push(i16::from(text.is_some()));
        }
        if let Some(text) = text {
            let bytes = self.known.get(text, || (text.clone(), ByteArray::from(&**text)));
            self.texts.push(bytes.clone());
        }
    }

    /// Removes all cells.
    pub(super) fn clear(&mut self) {
        self.integers.clear();
        self.texts.clear();
        self.levels.clear();
    }
}
