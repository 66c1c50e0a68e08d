//! One page in Markdown for each study, without figures and without anything that differs between
//! two runs of the same command.

use crate::claim::Claim;
use crate::definition::Study;
use crate::findings::{Findings, ResultTable};
use crate::results::Results;
use crate::values::measurements;
use fairwave_units::several;
use std::fmt::Write as _;

/// The page. `command` is what anybody types to get the same results.
pub fn page(study: &dyn Study, command: &str, results: &Results, findings: &Findings) -> String {
    let effort = results.effort();
    let name = study.name();
    let mut page = format!(
        "# Study {name}\n\n\
         Written by `{command} --markdown`; do not edit.\n\n\
         {}.\n\n{}\n\n\
         `{command}`: {}, {} s of simulated time, seeds {}.\n\n",
        text(study.paper()),
        text(study.statement()),
        several(effort.runs, "run"),
        effort.simulated_s(),
        effort.listed_seeds(),
    );
    let (ours, papers): (Vec<&Claim>, Vec<&Claim>) =
        findings.claims.iter().partition(|claim| claim.is_ours);
    for (title, claims) in [("Claims", papers), ("Questions of ours", ours)] {
        if !claims.is_empty() {
            let _ = write!(page, "## {title}\n\n{}\n", verdicts(&claims));
        }
    }
    page.push_str("## How each verdict was reached\n\n");
    page.extend(findings.claims.iter().map(reached));
    push_list(&mut page, "Mechanisms", findings.explanations.iter().map(String::as_str));
    page.push_str("## Results\n\nMeans with half widths of 95 % confidence intervals.\n\n");
    page.extend(findings.tables.iter().map(result_table));
    push_list(
        &mut page,
        "What is not modelled, and what is assumed",
        study.limits().iter().copied(),
    );
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

/// A line a claim: the verdict, and the numbers that decided it.
fn verdicts(claims: &[&Claim]) -> String {
    let row = |claim: &&Claim| {
        let decided: Vec<String> = claim
            .conditions
            .iter()
            .map(|condition| match condition.value() {
                Ok(value) => {
                    format!("`{}` {value} (asked: {})", condition.name(), condition.bound().text())
                }
                Err(why) => text(why),
            })
            .collect();
        let statement = text(claim.statement);
        vec![claim.id.to_owned(), claim.verdict.word().to_owned(), statement, decided.join("; ")]
    };
    table(&["Claim", "Verdict", "Statement", "Measured"].map(str::to_owned), claims.iter().map(row))
}

/// Everything that was measured for a claim, its criterion, and its note.
fn reached(claim: &Claim) -> String {
    let measured: Vec<String> = measurements(claim)
        .into_iter()
        .map(|(name, value)| format!("`{name}` {}", text(&value)))
        .collect();
    let mut section = format!("### {}: {}\n\n", claim.id, claim.verdict.word());
    let rows = [
        ("Because", claim.verdict.reason().map(text).unwrap_or_default()),
        ("Measured", measured.join(", ")),
        ("Criterion", text(&claim.criterion)),
        ("Note", text(&claim.note)),
    ];
    for (name, row) in rows.into_iter().filter(|(_, row)| !row.is_empty()) {
        let _ = writeln!(section, "- {name}: {row}");
    }
    section.push('\n');
    section
}

fn push_list<'a>(page: &mut String, title: &str, lines: impl Iterator<Item = &'a str>) {
    let lines: String = lines.map(|line| format!("- {}\n", text(line))).collect();
    if !lines.is_empty() {
        let _ = write!(page, "## {title}\n\n{lines}\n");
    }
}

fn result_table(result: &ResultTable) -> String {
    let rows = result.rows.iter().map(|row| row.iter().map(|cell| text(cell)).collect());
    format!("### {}\n\n{}\n", text(&result.title), table(&result.header, rows))
}

/// A table; its cells are Markdown.
pub(crate) fn table(header: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut table = line(header);
    let _ = writeln!(table, "|{}", "---|".repeat(header.len()));
    table.extend(rows.map(|row| line(&row)));
    table
}

/// Plain text as Markdown: what would begin an emphasis, a tag or a cell stands for itself.
pub(crate) fn text(plain: &str) -> String {
    let mut escaped = String::with_capacity(plain.len());
    for character in plain.chars() {
        if matches!(character, '*' | '|' | '<' | '[' | '`' | '\\') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stands_for_itself() {
        assert_eq!(text("|ln x| of *_low < 1"), "\\|ln x\\| of \\*_low \\< 1");
    }
}
