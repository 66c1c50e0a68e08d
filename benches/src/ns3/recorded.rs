//! Output of ns-3's programs in their most recent runs, as recorded in `benches/runs`.

use std::collections::BTreeSet;
use std::fs;
use xtask::shell::root;

/// Files with rows of the form "| `arguments` | goodput | of that down | Jain | ... | failed |",
/// the newest first. The first row found counts.
const FILES: [&str; 3] =
    ["2026-11-23-ns3-agreed.md", "2026-11-21-ns3-points.md", "2026-11-22-ns3-tables.md"];

/// Cells of one recorded row, unchanged: a value, one value for each of several runs, or a mean
/// with its standard error.
#[derive(Debug, PartialEq)]
pub(super) struct Row {
    pub(super) goodput: String,
    pub(super) jain: String,
    pub(super) fifth: String,
    pub(super) sixth: String,
}

impl Row {
    /// The row as a line of `benches/runs`.
    pub(super) fn line(&self, arguments: &str) -> String {
        let Self { goodput, jain, fifth, sixth } = self;
        format!("| `{arguments}` | {goodput} | | {jain} | {fifth} | {sixth} |\n")
    }

    /// An empty row, for a cell that was never run.
    pub(super) fn nothing() -> Self {
        let empty = String::new;
        Self { goodput: empty(), jain: empty(), fifth: empty(), sixth: empty() }
    }
}

/// The recorded row of these arguments, in any order.
pub(super) fn find(arguments: &str) -> Result<Option<Row>, String> {
    for file in FILES {
        let path = root().join("benches/runs").join(file);
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        if let Some(row) = text.lines().find_map(|line| row(line, arguments)) {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

fn row(line: &str, arguments: &str) -> Option<Row> {
    let words = |text: &str| -> BTreeSet<String> { text.split(' ').map(str::to_owned).collect() };
    let (these, cells) = line.strip_prefix("| `")?.split_once("` |")?;
    if words(these) != words(arguments) {
        return None;
    }
    let cells: Vec<&str> = cells.split('|').map(str::trim).collect();
    let cell = |index: usize| cells.get(index).map_or(String::new(), |cell| (*cell).to_owned());
    Some(Row { goodput: cell(0), jain: cell(2), fifth: cell(3), sixth: cell(4) })
}

/// The mean of a cell: of its values, or of those before "+-". Crashed runs do not count.
pub(super) fn mean(cell: &str) -> Option<f64> {
    let values = cell.split("+-").next()?.split(',').filter_map(|word| word.trim().parse().ok());
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ns3::tables::Table;
    use clap::ValueEnum;

    #[test]
    fn a_cell_holds_a_mean_or_several_values() {
        assert_eq!(mean("85.33 +- 0.93"), Some(85.33));
        assert_eq!(mean("24.0, 25.0"), Some(24.5));
        assert_eq!(mean("crash, 3"), Some(3.0));
        assert_eq!(mean("crashes"), None);
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let (goodput, jain, sixth) =
            ("5.00 +- 0.10".to_owned(), "0.500".to_owned(), "0.3".to_owned());
        let reported = Row { goodput, jain, fifth: String::new(), sixth };
        assert_eq!(row(reported.line("--n=4 --bar=1").trim_end(), "--bar=1 --n=4"), Some(reported));
    }

    #[test]
    fn arguments_are_found_in_any_order() {
        let line = "| `--n=4 --bar=1` | 5.0 +- 0.1 | | .5 | 28 | 0.3 |";
        let found = row(line, "--bar=1 --n=4").expect("the same words");
        assert_eq!((found.goodput.as_str(), found.sixth.as_str()), ("5.0 +- 0.1", "0.3"));
        assert_eq!(row(line, "--n=4"), None);
    }

    #[test]
    fn every_row_of_every_table_is_recorded() {
        for table in Table::value_variants() {
            for arguments in table.rows() {
                let found = find(&arguments).expect("the files can be read");
                let goodput = found.and_then(|row| mean(&row.goodput));
                assert!(goodput.is_some(), "nothing recorded of {arguments}");
            }
        }
    }
}
