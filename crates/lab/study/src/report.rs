//! One self-contained HTML page for each study: claims with their maps, figures and assumptions.
//!
//! No script, no font, no image from elsewhere: the page can be mailed, printed and archived.

use crate::claim::Claim;
use crate::definition::Error;
use crate::findings::{Cost, ResultTable};
use crate::map::{ClaimMap, page as map};
use crate::page::{exhibit, frame, measured, verdict};
use crate::reproduction::Reproduction;
use crate::verdict::{ClaimVerdict, Maps, words};
use fairwave_lab::plot;
use fairwave_lab::results::{self, write_file};
use fairwave_units::several;
use maud::{Markup, html};
use std::fs;
use std::path::{Path, PathBuf};

/// What stands around the findings.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The command that made the report, as it would be typed.
    pub command: &'a str,
    /// What it took; left out of the page where the bytes must not differ between two runs.
    pub cost: Option<Cost>,
}

/// Writes `report.html` into `directory`, each figure beside it as SVG and PNG, and each map as
/// SVG; returns the page's path.
///
/// # Errors
/// When a figure cannot be drawn or a file not written.
pub fn write(
    context: &Context<'_>,
    reproduction: &Reproduction<'_>,
    directory: &Path,
) -> Result<PathBuf, Error> {
    let figures = directory.join("figures");
    let refused = |source| results::Error::Io { path: figures.clone(), source };
    fs::create_dir_all(&figures).map_err(refused)?;
    for exhibit in &reproduction.findings.exhibits {
        let svg = exhibit.figure.to_svg()?;
        write_file(&figures.join(format!("{}.svg", exhibit.id)), svg.as_bytes())?;
        write_file(&figures.join(format!("{}.png", exhibit.id)), &plot::to_png(&svg)?)?;
    }
    if let Some(maps) = &reproduction.maps {
        for claim in &maps.judged().claims {
            if let Some(svg) = map::svg(&maps.declared, maps.judged().quick, claim) {
                write_file(&figures.join(format!("map-{}.svg", claim.id)), svg.as_bytes())?;
            }
        }
    }
    let path = directory.join("report.html");
    write_file(&path, page(context, reproduction)?.as_bytes())?;
    Ok(path)
}

/// The page as text.
///
/// # Errors
/// When a figure cannot be drawn.
pub fn page(context: &Context<'_>, reproduction: &Reproduction<'_>) -> Result<String, Error> {
    let Reproduction { study, findings, maps, .. } = reproduction;
    let figures: Result<Vec<Markup>, Error> = findings.exhibits.iter().map(exhibit).collect();
    let verdicts = reproduction.verdicts();
    let sections = html! {
        (provenance(context, reproduction))
        section { h2 { "What the paper says" } p { (study.statement()) } }
        section {
            h2 { "Claims" }
            p { (words(&verdicts)) "." }
            (claims(&verdicts, &findings.claims))
        }
        section {
            h2 { "Joint consistency" }
            (map::joint(&reproduction.joint(), reproduction.papers_claims()))
        }
        @if let Some(maps) = maps { @for claim in &maps.judged().claims { (mapped(maps, claim)) } }
        section { h2 { "Figures" } @for figure in figures? { (figure) } }
        section {
            h2 { "Mechanisms" }
            ul { @for text in &findings.explanations { li { (text) } } }
        }
        section { h2 { "Results" } @for table in &findings.tables { (rows(table)) } }
        @if let Some(maps) = maps { (map::axes(&maps.declared, maps.judged().quick)) }
        section {
            h2 { "What is not modelled, and what is assumed" }
            ul { @for text in study.limits() { li { (text) } } }
        }
    };
    Ok(frame(*study, &sections).into_string())
}

fn provenance(context: &Context<'_>, reproduction: &Reproduction<'_>) -> Markup {
    let effort = reproduction.results.effort();
    html! {
        section {
            @if reproduction.results.quick {
                p.quick role="note" {
                    strong { "Quick form: " }
                    "fewer seeds, points and set-ups than the full study. Intervals are wide."
                }
            }
            dl {
                dt { "Command" } dd { code { (context.command) } }
                dt { "Own set-up" }
                dd {
                    (several(effort.runs, "run")) ", " (effort.simulated_s())
                    " s of simulated time, seeds " (effort.listed_seeds())
                }
                @if let Some(maps) = &reproduction.maps {
                    dt { "Maps" }
                    dd { (map::days(maps.runs())) }
                }
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

fn claims(verdicts: &[ClaimVerdict], claims: &[Claim]) -> Markup {
    html! {
        div.wide {
            table.claims {
                caption {
                    "Verdicts are over the set-ups that the paper leaves open; each is computed \
                     from measured values by its criterion."
                }
                thead {
                    tr {
                        @for name in ["Claim", "Verdict", "Statement and criterion",
                            "In the study's own set-up"] {
                            th scope="col" { (name) }
                        }
                    }
                }
                tbody { @for (one, claim) in verdicts.iter().zip(claims) { (row(one, claim)) } }
            }
        }
    }
}

fn row(one: &ClaimVerdict, claim: &Claim) -> Markup {
    html! {
        tr {
            th scope="row" {
                @if one.only_setup.is_none() { a href={ "#" (one.id) } { (one.id) } }
                @else { (one.id) }
            }
            td {
                (map::word(one.verdict))
                p.note { (one.counted()) }
                @if one.explored.is_some() { p.note { (one.beside()) } }
            }
            td {
                p { (one.statement) @if one.ours { " (a question of ours)" } }
                @if !one.condition.is_empty() { p { b { "Where: " } (one.condition) } }
                @if let Some(why) = &one.only_setup { p.note { "One set-up: " (why) } }
                p.criterion { b { "Criterion: " } (one.criterion) }
            }
            td {
                (verdict(claim))
                @if let Some(reason) = &one.reason { p { b { "Because: " } (reason) } }
                (measured(claim))
                p.note { (one.note) }
            }
        }
    }
}

/// A claim's map.
fn mapped(maps: &Maps, claim: &ClaimMap) -> Markup {
    let judged = maps.judged();
    html! {
        section id=(claim.id) {
            h2 { "Map of " (claim.id) ": " (claim.verdict) }
            p { (claim.statement) "." }
            @if !claim.condition.is_empty() { p { strong { (claim.condition) } } }
            @if let Some(direction) = &claim.direction {
                p { "Direction alone: " (direction.verdict) ". " (direction.condition) }
            }
            p.note { "Declared " (claim.declared) "; run " (judged.ran) "." }
            p { code { (map::command(judged, claim)) } }
            (map::drawing(&maps.declared, judged.quick, claim))
        }
    }
}

/// A table of results.
pub(crate) fn rows(table: &ResultTable) -> Markup {
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
