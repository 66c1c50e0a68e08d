//! One self-contained HTML page for each study: claims, figures, tables, assumptions.
//!
//! No script, no font, no image from elsewhere: the page can be mailed, printed and archived.

use crate::claim::{Claim, Verdict};
use crate::definition::{Error, Study};
use crate::findings::{Cost, Exhibit, Findings, ResultTable};
use crate::results::Results;
use crate::values::measurements;
use fairwave_lab::page::{CSS, responsive};
use fairwave_lab::plot;
use fairwave_lab::results::{self, write_file};
use fairwave_units::several;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::fs;
use std::path::{Path, PathBuf};

/// What stands around the findings.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The study.
    pub study: &'a dyn Study,
    /// The command that made the report, as it would be typed.
    pub command: &'a str,
    /// What it took; left out of the page where the bytes must not differ between two runs.
    pub cost: Option<Cost>,
}

/// Writes `report.html` into `directory`, and each figure beside it as SVG and PNG; returns the
/// page's path.
///
/// # Errors
/// When a figure cannot be drawn or a file not written.
pub fn write(
    context: &Context<'_>,
    results: &Results,
    findings: &Findings,
    directory: &Path,
) -> Result<PathBuf, Error> {
    let figures = directory.join("figures");
    let refused = |source| results::Error::Io { path: figures.clone(), source };
    fs::create_dir_all(&figures).map_err(refused)?;
    for exhibit in &findings.exhibits {
        let svg = exhibit.figure.to_svg()?;
        write_file(&figures.join(format!("{}.svg", exhibit.id)), svg.as_bytes())?;
        write_file(&figures.join(format!("{}.png", exhibit.id)), &plot::to_png(&svg)?)?;
    }
    let path = directory.join("report.html");
    write_file(&path, page(context, results, findings)?.as_bytes())?;
    Ok(path)
}

/// The page as text.
///
/// # Errors
/// When a figure cannot be drawn.
pub fn page(
    context: &Context<'_>,
    results: &Results,
    findings: &Findings,
) -> Result<String, Error> {
    let figures: Result<Vec<Markup>, Error> = findings.exhibits.iter().map(exhibit).collect();
    let study = context.study;
    let sections = html! {
        (provenance(context, results))
        section { h2 { "What the paper says" } p { (study.statement()) } }
        section { h2 { "Claims" } (claims(&findings.claims)) }
        section { h2 { "Figures" } @for figure in figures? { (figure) } }
        section {
            h2 { "Mechanisms" }
            ul { @for text in &findings.explanations { li { (text) } } }
        }
        section { h2 { "Results" } @for table in &findings.tables { (rows(table)) } }
        section {
            h2 { "What is not modelled, and what is assumed" }
            ul { @for text in study.limits() { li { (text) } } }
        }
    };
    Ok(frame(study, &sections).into_string())
}

/// A page of a study around its sections.
pub(crate) fn frame(study: &dyn Study, sections: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Fairwave: " (study.name()) }
                style { (PreEscaped(CSS)) }
            }
            body {
                header {
                    h1 { "Study " (study.name()) }
                    p.paper { (study.paper()) }
                }
                main { (sections) }
                footer { p { "Fairwave " (env!("CARGO_PKG_VERSION")) } }
            }
        }
    }
}

fn provenance(context: &Context<'_>, results: &Results) -> Markup {
    let effort = results.effort();
    html! {
        section {
            @if results.quick {
                p.quick role="note" {
                    strong { "Quick form: " }
                    "fewer seeds and fewer points than the full study. Intervals are wide."
                }
            }
            dl {
                dt { "Command" } dd { code { (context.command) } }
                dt { "Runs" }
                dd {
                    (several(effort.runs, "run")) ", " (effort.simulated_s()) " s of simulated time"
                }
                dt { "Seeds" } dd { (effort.listed_seeds()) }
                @if let Some(cost) = context.cost {
                    dt { "Took" }
                    dd {
                        (format!("{:.1} s", cost.wall_s))
                        @if let Some(cpu_s) = cost.cpu_s {
                            (format!(", {cpu_s:.1} s of processor time"))
                        }
                    }
                }
            }
        }
    }
}

fn claims(claims: &[Claim]) -> Markup {
    html! {
        div.wide {
            table.claims {
                caption { "Each verdict is computed from measured values by its criterion." }
                thead {
                    tr {
                        th scope="col" { "Claim" }
                        th scope="col" { "Verdict" }
                        th scope="col" { "Statement and criterion" }
                        th scope="col" { "Measured" }
                    }
                }
                tbody { @for one in claims { (claim(one)) } }
            }
        }
    }
}

fn claim(claim: &Claim) -> Markup {
    html! {
        tr {
            th scope="row" { (claim.id) }
            td { (verdict(claim)) }
            td {
                p { (claim.statement) @if claim.is_ours { " (a question of ours)" } }
                @if let Some(reason) = claim.verdict.reason() { p { b { "Because: " } (reason) } }
                p.criterion { b { "Criterion: " } (claim.criterion) }
                p.note { (claim.note) }
            }
            td { (measured(claim)) }
        }
    }
}

/// The verdict as a mark and a word.
pub(crate) fn verdict(claim: &Claim) -> Markup {
    let (class, text) = match claim.verdict {
        Verdict::Holds => ("holds", "✓ holds"),
        Verdict::DoesNotHold(_) => ("fails", "✗ does not hold"),
        Verdict::Undecided(_) => ("open", "? undecided"),
    };
    html! { span.verdict.(class) { (text) } }
}

/// What was measured for a claim.
pub(crate) fn measured(claim: &Claim) -> Markup {
    html! {
        dl.measured { @for (key, text) in measurements(claim) { dt { (key) } dd { (text) } } }
    }
}

/// A figure with its captions.
pub(crate) fn exhibit(exhibit: &Exhibit) -> Result<Markup, Error> {
    let svg = exhibit.figure.to_svg()?;
    let alternative = format!("{}. {}", exhibit.figure.title, exhibit.ours);
    Ok(html! {
        figure id=(exhibit.id) {
            div.plot role="img" aria-label=(alternative) { (PreEscaped(responsive(&svg))) }
            figcaption {
                p { b { "Paper: " } (exhibit.paper) }
                p { b { "Ours: " } (exhibit.ours) }
            }
        }
    })
}

fn rows(table: &ResultTable) -> Markup {
    html! {
        div.wide {
            table.results {
                caption { (table.title) ". Mean and half width of the 95 % confidence interval." }
                thead { tr { @for name in &table.header { th scope="col" { (name) } } } }
                tbody {
                    @for row in &table.rows { tr { @for cell in row { td { (cell) } } } }
                }
            }
        }
    }
}
