//! One page in Markdown for each study, without figures and without anything that differs between
//! two runs of the same command but the days of its maps.

use crate::claim::Claim;
use crate::compared;
use crate::findings::ResultTable;
use crate::map::markdown as map;
use crate::map::page::days;
use crate::md::{table, text};
use crate::reproduction::Reproduction;
use crate::values::measurements;
use crate::verdict::{ClaimVerdict, Maps, words};
use fairwave_units::several;
use std::fmt::Write as _;

/// Returns the page. `command` is the command line that gives the same results.
pub fn page(reproduction: &Reproduction<'_>, command: &str) -> String {
    let Reproduction { study, results, findings, maps } = reproduction;
    let effort = results.effort();
    let verdicts = reproduction.verdicts();
    let mut page = format!(
        "# Study {}\n\n\
         Written by `{command} --markdown`; do not edit.\n\n\
         {}.\n\n{}\n\n\
         Verdicts: {}.\n\n\
         `{command}`: {} in the study's own set-up, {} s of simulated time, seeds {}.\n\n",
        study.name(),
        text(study.paper()),
        text(study.statement()),
        words(&verdicts),
        several(effort.runs, "run"),
        effort.simulated_s(),
        effort.listed_seeds(),
    );
    page.extend(maps.iter().map(|maps| format!("{}\n\n", dates(maps))));
    let (ours, papers): (Vec<&ClaimVerdict>, Vec<&ClaimVerdict>) =
        verdicts.iter().partition(|claim| claim.ours);
    for (title, claims) in [("Claims", papers), ("Questions of ours", ours)] {
        if !claims.is_empty() {
            let _ = write!(page, "## {title}\n\n{}\n", table_of(&claims));
        }
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page.push_str(&map::joint(&reproduction.joint(), reproduction.papers_claims()));
    page.push('\n');
    page.push_str(&compared::markdown(&reproduction.originals()));
    page.push_str("## How each verdict was reached\n\n");
    if maps.as_ref().is_some_and(|maps| !maps.judged().claims.is_empty()) {
        let _ = write!(page, "{}\n\n", map::SIGNS);
    }
    let claims = verdicts.iter().zip(&findings.claims);
    page.extend(claims.map(|(verdict, claim)| reached(maps.as_ref(), verdict, claim)));
    push_list(&mut page, "Mechanisms", findings.explanations.iter().map(String::as_str));
    page.push_str("## Results\n\nMeans with half widths of 95 % confidence intervals.\n\n");
    page.extend(findings.tables.iter().map(result_table));
    page.truncate(page.trim_end().len());
    page.push('\n');
    page.extend(maps.iter().map(|maps| map::axes(&maps.declared, maps.judged().quick)));
    page.push('\n');
    push_list(
        &mut page,
        "What is not modelled, and what is assumed",
        study.limits().iter().copied(),
    );
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

/// The days on which the maps were declared and run.
fn dates(maps: &Maps) -> String {
    text(&days(maps.runs()))
}

/// A line a claim: the verdict, the number of set-ups, the condition, and the verdict in the
/// study's own set-up.
fn table_of(claims: &[&ClaimVerdict]) -> String {
    let row = |claim: &&ClaimVerdict| {
        let here = match claim.holds {
            Some(true) => "holds",
            Some(false) => "does not hold",
            None => "undecided",
        };
        let cells =
            [claim.id, claim.verdict, &claim.counted(), &claim.condition, here, claim.statement];
        cells.map(text).to_vec()
    };
    let header = ["Claim", "Verdict", "Set-ups", "Where", "Own set-up", "Statement"];
    table(&header.map(str::to_owned), claims.iter().map(row))
}

/// The map of a claim, everything that was measured for it in the study's own set-up, its
/// criterion, and its note.
fn reached(maps: Option<&Maps>, one: &ClaimVerdict, claim: &Claim) -> String {
    let measured: Vec<String> = measurements(claim)
        .into_iter()
        .map(|(name, value)| format!("`{name}` {}", text(&value)))
        .collect();
    let map = maps.and_then(|maps| Some((maps, maps.of(one.id)?)));
    let here = claim.verdict.reason().map_or_else(
        || claim.verdict.word().to_owned(),
        |reason| format!("{}: {}", claim.verdict.word(), text(reason)),
    );
    let settled = match (&one.declared, &one.confirmed) {
        (Some(declared), Some(confirmed)) => format!("{declared}, confirmed {confirmed}"),
        (Some(declared), None) => declared.clone(),
        _ => String::new(),
    };
    let rows = [
        ("Where", text(&one.condition)),
        ("Beside", text(&one.beside())),
        ("Direction", map.and_then(|(_, map)| map::direction(map)).unwrap_or_default()),
        ("One set-up", one.only_setup.as_deref().map(text).unwrap_or_default()),
        ("Declared", settled),
        ("Own set-up", here),
        ("Measured there", measured.join(", ")),
        ("Criterion", text(&one.criterion)),
        ("Note", text(&one.note)),
    ];
    let mut section = format!("### {}: {}\n\n", one.id, one.verdict);
    for (name, row) in rows.into_iter().filter(|(_, row)| !row.is_empty()) {
        let _ = writeln!(section, "- {name}: {row}");
    }
    section.push('\n');
    if let Some((maps, map)) = map {
        section.push_str(&map::of_claim(&maps.declared, maps.judged().quick, map));
        section.push('\n');
    }
    section
}

fn push_list<'a>(page: &mut String, title: &str, lines: impl Iterator<Item = &'a str>) {
    let lines: String = lines.map(|line| format!("- {}\n", text(line))).collect();
    if !lines.is_empty() {
        let _ = write!(page, "## {title}\n\n{lines}\n");
    }
}

/// A table of results below its title.
pub(crate) fn result_table(result: &ResultTable) -> String {
    let rows = result.rows.iter().map(|row| row.iter().map(|cell| text(cell)).collect());
    format!("### {}\n\n{}\n", text(&result.title), table(&result.header, rows))
}
