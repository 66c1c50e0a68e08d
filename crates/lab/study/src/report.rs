//! One self-contained HTML page for each study: verdicts, claims with their figures, set-ups and
//! assumptions.
//!
//! The page loads nothing, so that it can be mailed, printed and archived. Its script only lets
//! readers explore the figures.

mod claims;

use crate::compared;
use crate::definition::Error;
use crate::findings::{Cost, Findings, ResultTable};
use crate::map::page as map;
use crate::page::{Drawings, frame, wide};
use crate::reproduction::Reproduction;
use fairwave_lab::plot::{self, Explorer};
use fairwave_lab::results::{self, write_file};
use fairwave_units::several;
use maud::{Markup, html};
use std::fs;
use std::path::{Path, PathBuf};

/// Command and cost of a study, which its page names, and the script of the page.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The command that made the report, as it would be typed.
    pub command: &'a str,
    /// Its cost; left out of the page where the bytes must not differ between two runs.
    pub cost: Option<Cost>,
    /// Script and style by which the figures can be explored.
    pub explorer: Explorer,
}

/// Writes `report.html` into `directory`, each figure beside it as SVG and PNG, and each map as
/// SVG; returns the page's path.
///
/// # Errors
/// A figure that cannot be drawn, or a file that cannot be written.
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
/// A figure that cannot be drawn.
pub fn page(context: &Context<'_>, reproduction: &Reproduction<'_>) -> Result<String, Error> {
    let Reproduction { study, results, findings, .. } = reproduction;
    let verdicts = reproduction.verdicts();
    let mut drawings = Drawings::new(context.explorer);
    let sections = claims::sections(reproduction, &verdicts, &mut drawings)?;
    let others = findings.exhibits.iter().filter(|exhibit| exhibit.claims.is_empty());
    let others: Result<Vec<Markup>, Error> = others.map(|exhibit| drawings.show(exhibit)).collect();
    let content = html! {
        @if results.quick { (quick_form()) }
        section { h2 { "Verdicts" } (claims::verdicts(&verdicts, &reproduction.joint())) }
        section { h2 { "What the paper says" } p { (study.statement()) } }
        (sections)
        (compared::section(&reproduction.originals()))
        (further(&others?, findings))
        (set_ups(reproduction))
        section {
            h2 { "What is not modelled, and what is assumed" }
            ul { @for text in study.limits() { li { (text) } } }
        }
        (again(context, reproduction))
    };
    Ok(frame(*study, &content, &drawings.end()).into_string())
}

fn quick_form() -> Markup {
    html! {
        p.quick role="note" {
            strong { "Quick form: " }
            "fewer seeds, points and set-ups than the full study. Intervals are wide."
        }
    }
}

/// Figures that show no claim by itself, mechanisms, and the tables.
fn further(others: &[Markup], findings: &Findings) -> Markup {
    html! {
        @if !others.is_empty() {
            section {
                h2 { "Further figures" }
                details {
                    summary { (several(others.len(), "figure")) }
                    @for figure in others { (figure) }
                }
            }
        }
        @if !findings.explanations.is_empty() {
            section {
                h2 { "Mechanisms" }
                ul { @for text in &findings.explanations { li { (text) } } }
            }
        }
        @if !findings.tables.is_empty() {
            section {
                h2 { "Tables" }
                p.note { "Means and half widths of 95 % confidence intervals." }
                @for table in &findings.tables { (rows(table)) }
            }
        }
    }
}

/// The study's own set-up, the maps, and the parameters that the paper leaves open.
fn set_ups(reproduction: &Reproduction<'_>) -> Markup {
    let effort = reproduction.results.effort();
    html! {
        section {
            h2 { "Set-ups" }
            dl {
                dt { "Own set-up" }
                dd {
                    (several(effort.runs, "run")) ", " (effort.simulated_s())
                    " s of simulated time, seeds " (effort.listed_seeds())
                }
                @if let Some(maps) = &reproduction.maps {
                    dt { "Maps" }
                    dd { (map::days(maps.runs())) }
                }
            }
            details {
                summary { "Claims that hold together" }
                (map::joint(&reproduction.joint(), reproduction.papers_claims()))
            }
            @if let Some(maps) = &reproduction.maps {
                @if !maps.declared.axis.is_empty() {
                    details {
                        summary { "What the paper leaves open" }
                        (map::open(&maps.declared, maps.judged().quick))
                    }
                }
            }
        }
    }
}

/// The command that gives the same results, the time that it took, and the files of the figures.
fn again(context: &Context<'_>, reproduction: &Reproduction<'_>) -> Markup {
    html! {
        section {
            h2 { "Reproduce" }
            dl {
                dt { "Command" } dd { code { (context.command) } }
                @if reproduction.results.quick {
                    dt { "In full" } dd { code { (context.command) " --full" } }
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
                dt { "Files" } dd { "Figures as SVG and PNG, in " code { "figures/" } }
            }
        }
    }
}

/// A table of results, folded below its title.
pub(crate) fn rows(table: &ResultTable) -> Markup {
    let cells = html! {
        table.results {
            thead { tr { @for name in &table.header { th scope="col" { (name) } } } }
            tbody {
                @for row in &table.rows { tr { @for cell in row { td { (cell) } } } }
            }
        }
    };
    html! { details { summary { (table.title) } (wide(&table.title, &cells)) } }
}
