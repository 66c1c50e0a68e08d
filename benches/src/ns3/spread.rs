//! A figure over several rounds, and tables of such figures.

use serde_json::{Value, json};

/// A figure over the rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    low: f64,
    median: f64,
    high: f64,
}

impl Spread {
    /// The spread of at least one value.
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_by(f64::total_cmp);
        let (last, middle) = (sorted.len() - 1, sorted.len() / 2);
        let median = f64::midpoint(sorted[middle], sorted[last - middle]);
        Self { low: sorted[0], median, high: sorted[last] }
    }

    /// Median and range.
    pub(crate) fn shown(&self, decimals: usize) -> String {
        let Self { low, median, high } = self;
        format!("{median:.decimals$} ({low:.decimals$}-{high:.decimals$})")
    }

    pub(crate) fn median(&self) -> f64 {
        self.median
    }

    pub(crate) fn json(&self) -> Value {
        json!({ "median": self.median, "min": self.low, "max": self.high })
    }
}

/// A Markdown table with aligned columns.
pub(crate) fn aligned<const N: usize>(heads: &[String; N], rows: &[[String; N]]) -> String {
    let all = || std::iter::once(heads).chain(rows);
    let width = |column: usize| all().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!(" {cell:width$} |"));
        format!("|{}\n", cells.collect::<String>())
    };
    let rule = line(&widths.map(|width| "-".repeat(width)));
    let body: String = rows.iter().map(line).collect();
    line(heads) + &rule + &body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_the_median_of_odd_and_even_counts() {
        let odd = Spread::of([3.0, 1.0, 2.5].into_iter());
        assert_eq!(odd, Spread { low: 1.0, median: 2.5, high: 3.0 });
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0].into_iter()).median(), 2.5);
        assert_eq!(Spread::of([7.0].into_iter()).shown(1), "7.0 (7.0-7.0)");
    }
}
