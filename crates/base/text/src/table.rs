//! Aligned text: names to the left, numbers to the right.

use crate::{HEADING, printable, styled};

/// A table under construction.
#[derive(Clone, Debug)]
pub struct Table {
    title: &'static str,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with a title and the heads of its columns; heads that are all empty are not shown.
    pub fn new(title: &'static str, heads: &[&str]) -> Self {
        let heads = heads.iter().map(|head| (*head).to_owned()).collect();
        Self { title, rows: vec![heads] }
    }

    /// Adds a row: as many cells as there are heads.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.rows[0].len(), "{}", self.title);
        self.rows.push(cells.into_iter().map(|cell| printable(&cell)).collect());
    }

    /// The text; nothing at all for a table without rows.
    pub fn render(&self) -> String {
        if self.rows.len() == 1 {
            return String::new();
        }
        let columns = 0..self.rows[0].len();
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = columns.map(|column| width(column).unwrap_or(0)).collect();
        let mut text = format!("{}\n", styled(HEADING, self.title));
        let unnamed = self.rows[0].iter().all(String::is_empty);
        for row in self.rows.iter().skip(usize::from(unnamed)) {
            let mut line = format!("  {:<width$}", row[0], width = widths[0]);
            for (cell, width) in row.iter().zip(&widths).skip(1) {
                line.push_str(&format!("  {cell:>width$}"));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text.push('\n');
        text
    }
}

/// Bits per second as megabits per second.
pub fn mbps(bits_per_second: u64) -> String {
    format!("{:.3}", bits_per_second as f64 / 1e6)
}

/// Nanoseconds as milliseconds.
pub fn millis(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e6)
}

/// Nanoseconds as seconds.
pub fn seconds(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_left_and_numbers_right() {
        let mut table = Table::new("Flows", &["flow", "Mbps"]);
        table.row(vec!["up".into(), mbps(12_345_678)]);
        table.row(vec!["download".into(), mbps(0)]);
        let text = anstream::adapter::strip_str(&table.render()).to_string();
        assert_eq!(text, "Flows\n  flow        Mbps\n  up        12.346\n  download   0.000\n\n");
    }

    #[test]
    fn a_table_without_rows_is_not_shown() {
        assert_eq!(Table::new("Queues", &["queue"]).render(), "");
    }
}
