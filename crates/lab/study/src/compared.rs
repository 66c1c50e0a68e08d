//! Comparison of the figures and tables of a paper with ours.

use crate::findings::Exhibit;
use crate::md;
use crate::originals::{Counterpart, Original};
use crate::plain::Standing;
use crate::verdict::ClaimVerdict;
use fairwave_text::{HEADING, styled, wrapped};
use maud::{Markup, html};
use schemars::JsonSchema;
use serde::Serialize;

/// Title of the list of a paper's figures and tables.
pub(crate) const TITLE: &str = "Figures and tables of the paper";

/// Comparison of a figure or table of the paper with its counterpart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OriginalSummary {
    /// Its name in the paper, such as `Fig. 2`.
    pub name: &'static str,
    /// Its content.
    pub content: &'static str,
    /// `reproduced`, `reproduced in part` or `differs` by the verdicts of the claims about it;
    /// `undecided` where no claim about it is decided; `defined` where files of the repository say
    /// the same; `not drawn` where this run has no data for it; `missing`.
    pub outcome: &'static str,
    /// Claims about it.
    pub claims: &'static [&'static str],
    /// Verdicts of the claims, or the reason for which it is missing; may be empty.
    pub reason: String,
    /// Files of our figures within the report's directory, or files of the repository.
    pub files: Vec<String>,
}

impl OriginalSummary {
    /// Compares `original` with its counterpart among the figures and verdicts of a run.
    pub(crate) fn of(original: &Original, exhibits: &[Exhibit], verdicts: &[ClaimVerdict]) -> Self {
        let path = |figure: &&str| format!("figures/{figure}.svg");
        let is_drawn = |figure: &&&str| exhibits.iter().any(|exhibit| exhibit.id == **figure);
        let summary = |outcome, claims, reason, files| {
            let Original { name, content, .. } = *original;
            Self { name, content, outcome, claims, reason, files }
        };
        match original.counterpart {
            Counterpart::Drawn { figures, claims } => {
                let files: Vec<String> = figures.iter().filter(is_drawn).map(path).collect();
                let (outcome, reason) = judged(claims, verdicts);
                let outcome = if files.is_empty() { "not drawn" } else { outcome };
                summary(outcome, claims, reason, files)
            }
            Counterpart::Measured(claims) => {
                let (outcome, reason) = judged(claims, verdicts);
                summary(outcome, claims, reason, Vec::new())
            }
            Counterpart::Defined(files) => {
                let files = files.iter().map(|file| (*file).to_owned()).collect();
                summary("defined", &[], String::new(), files)
            }
            Counterpart::Missing(why) => summary("missing", &[], why.to_owned(), Vec::new()),
        }
    }
}

/// The outcome by the verdicts of claims, and these in words.
fn judged(claims: &[&str], verdicts: &[ClaimVerdict]) -> (&'static str, String) {
    let verdict = |id: &&str| verdicts.iter().find(|verdict| verdict.id == *id);
    let verdicts: Vec<&ClaimVerdict> = claims.iter().filter_map(verdict).collect();
    let all = |standing| verdicts.iter().all(|verdict| verdict.standing() == standing);
    let one = |standing| verdicts.iter().any(|verdict| verdict.standing() == standing);
    let outcome = match () {
        () if all(Standing::Open) => "undecided",
        () if all(Standing::Holds) => "reproduced",
        () if one(Standing::Holds) || one(Standing::HoldsInPart) => "reproduced in part",
        () => "differs",
    };
    let words = verdicts.iter().map(|verdict| format!("{} {}", verdict.id, verdict.in_words()));
    (outcome, words.collect::<Vec<_>>().join("; "))
}

impl OriginalSummary {
    /// The outcome, and the claims that it follows from.
    fn heading(&self) -> String {
        match self.claims {
            [] => self.outcome.to_owned(),
            claims => format!("{} ({})", self.outcome, claims.join(", ")),
        }
    }

    /// Its files, or the reason for which it has none.
    fn place(&self) -> String {
        if self.files.is_empty() { self.reason.clone() } else { self.files.join(", ") }
    }
}

/// The list for a terminal; empty where the study names no figure of its paper.
pub(crate) fn text(originals: &[OriginalSummary]) -> String {
    let Some(_) = originals.first() else { return String::new() };
    let mut text = format!("{}\n", styled(HEADING, TITLE));
    for original in originals {
        let OriginalSummary { name, content, .. } = original;
        let phrase = format!("{}: {content}; {}", original.heading(), original.place());
        text.push_str(&format!("{name:<9} {}\n", wrapped(&phrase, INDENT).trim()));
    }
    text + "\n"
}

const INDENT: &str = "          ";

/// The list for the page.
pub(crate) fn section(originals: &[OriginalSummary]) -> Markup {
    html! {
        @if !originals.is_empty() {
            section {
                h2 { (TITLE) }
                details {
                    summary { (summary(originals)) }
                    dl {
                        @for original in originals {
                            dt { (original.name) ", " (original.content) }
                            dd { (original.heading()) ": " (original.place()) }
                        }
                    }
                }
            }
        }
    }
}

/// Number of figures and tables with each outcome.
fn summary(originals: &[OriginalSummary]) -> String {
    let mut outcomes: Vec<&str> = originals.iter().map(|original| original.outcome).collect();
    outcomes.sort_unstable();
    let groups = outcomes.chunk_by(|a, b| a == b);
    groups.map(|group| format!("{} {}", group.len(), group[0])).collect::<Vec<_>>().join(", ")
}

/// The list as a table in Markdown.
pub(crate) fn markdown(originals: &[OriginalSummary]) -> String {
    if originals.is_empty() {
        return String::new();
    }
    let row = |original: &OriginalSummary| {
        let heading = original.heading();
        let cells = [original.name, original.content, &heading, &original.reason];
        let files = original.files.iter().map(|file| format!("`{file}`")).collect::<Vec<_>>();
        cells.map(md::text).into_iter().chain([files.join(", ")]).collect()
    };
    let header = ["Paper", "Content", "Here", "Reason", "Files"].map(str::to_owned);
    format!("## {TITLE}\n\n{}\n", md::table(&header, originals.iter().map(row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::{Claim, Criterion};
    use crate::evidence::Evidence;

    fn verdict(id: &'static str, value: Option<f64>) -> ClaimVerdict {
        let criterion = Criterion { id, statement: "s", meaning: "m" };
        let mut evidence = Evidence::default();
        let value = evidence.number("value", value);
        let tested = evidence.tested([value.above(1.0)]);
        ClaimVerdict::of(&Claim::judge(criterion, tested, String::new()), None)
    }

    #[test]
    fn the_outcome_follows_from_the_verdicts() {
        let verdicts =
            [verdict("HOLDS", Some(2.0)), verdict("FAILS", Some(0.5)), verdict("OPEN", None)];
        let outcome = |claims| judged(claims, &verdicts).0;
        assert_eq!(outcome(&["HOLDS"]), "reproduced");
        assert_eq!(outcome(&["FAILS"]), "differs");
        assert_eq!(outcome(&["OPEN"]), "undecided");
        assert_eq!(outcome(&["HOLDS", "FAILS"]), "reproduced in part");
        assert_eq!(outcome(&["HOLDS", "OPEN"]), "reproduced in part");
        assert_eq!(outcome(&["FAILS", "OPEN"]), "differs");
    }

    #[test]
    fn a_figure_without_data_is_not_drawn_and_a_missing_one_has_its_reason() {
        let drawn = Counterpart::Drawn { figures: &["fig2"], claims: &["HOLDS"] };
        let original = Original { name: "Fig. 2", content: "windows", counterpart: drawn };
        let compared = OriginalSummary::of(&original, &[], &[verdict("HOLDS", Some(2.0))]);
        assert_eq!((compared.outcome, compared.files.len()), ("not drawn", 0));
        let missing = Original { counterpart: Counterpart::Missing("a photograph"), ..original };
        let missing = OriginalSummary::of(&missing, &[], &[]);
        assert!(text(&[missing]).contains("Fig. 2    missing: windows; a photograph"));
    }
}
