//! Findings of a study, and their cost.

use crate::claim::Claim;
use fairwave_lab::plot::Figure;

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

/// Cost of a study. The lab has no clock: the caller measures the times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Wall-clock time in seconds.
    pub wall_s: f64,
    /// Processor time in seconds, over all workers; `None` where it is not known.
    pub cpu_s: Option<f64>,
}
