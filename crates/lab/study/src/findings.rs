//! Findings of a study, and their cost.

use crate::claim::Claim;
use fairwave_lab::plot::Figure;
pub use fairwave_lab::report::cost::Cost;

/// A figure of ours beside the paper's.
#[derive(Clone, Debug, PartialEq)]
pub struct Exhibit {
    /// Name of its files.
    pub id: String,
    /// Identifiers of the claims that it shows, such as `ACK-1`. The page of the study puts it
    /// beside them; a figure without claims stands behind all of them.
    pub claims: &'static [&'static str],
    /// Content of the paper's figure, in words.
    pub paper: String,
    /// Content of ours: also the alternative text.
    pub ours: String,
    /// The figure.
    pub figure: Figure,
}

/// A table of results.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultTable {
    /// Its title.
    pub title: String,
    /// Names of the columns, with units.
    pub header: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
}

/// Findings of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// The claims with their verdicts.
    pub claims: Vec<Claim>,
    /// The figures.
    pub exhibits: Vec<Exhibit>,
    /// The tables.
    pub tables: Vec<ResultTable>,
    /// Mechanisms, each with the numbers that show it.
    pub explanations: Vec<String>,
}
