//! Output files of a matrix: a self-contained HTML page, figures, and a table.

use super::figures::{Exhibit, exhibits};
use super::findings::Findings;
use super::grid::Grid;
use super::measure::FIGURES;
use fairwave_lab::page::{CSS, responsive};
use fairwave_lab::plot;
use fairwave_lab::points::{Point, to_csv};
use fairwave_lab::results::{self, write_file};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::fs;
use std::path::{Path, PathBuf};

/// Context of the results on the page.
#[derive(Clone, Debug)]
pub struct Context {
    /// The command, as typed.
    pub command: String,
    /// The scenario's name.
    pub scenario: String,
    /// Notes for the reader of the results.
    pub notes: Vec<String>,
}

/// Errors of writing a page.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A drawing failed.
    #[error(transparent)]
    Figure(#[from] plot::Error),
    /// A file could not be written.
    #[error(transparent)]
    Results(#[from] results::Error),
}

impl Findings {
    /// Writes `matrix.html`, `matrix.csv`, and each map as SVG and PNG below `figures`. Returns the
    /// path of the page.
    ///
    /// # Errors
    /// If a figure cannot be drawn, or a file cannot be written.
    pub fn write(
        &self,
        grid: &Grid,
        context: &Context,
        directory: &Path,
    ) -> Result<PathBuf, Error> {
        let folder = directory.join("figures");
        let refused = |source| results::Error::Io { path: folder.clone(), source };
        fs::create_dir_all(&folder).map_err(refused)?;
        let mut drawn = Vec::new();
        for exhibit in exhibits(grid, self) {
            let svg = exhibit.figure.to_svg()?;
            write_file(&folder.join(format!("{}.svg", exhibit.id)), svg.as_bytes())?;
            write_file(&folder.join(format!("{}.png", exhibit.id)), &plot::to_png(&svg)?)?;
            drawn.push((exhibit, svg));
        }
        write_file(&directory.join("matrix.csv"), to_csv(&self.points).as_bytes())?;
        let path = directory.join("matrix.html");
        let page = page(self, context, &drawn).into_string();
        write_file(&path, page.as_bytes())?;
        Ok(path)
    }
}

fn page(findings: &Findings, context: &Context, drawn: &[(Exhibit, String)]) -> Markup {
    let title = format!("Congestion controls over {}", context.scenario);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(CSS)) }
            }
            body {
                h1 { (title) }
                p.paper { (provenance(findings)) " Command: " code { (context.command) } }
                @for note in &context.notes { p.note { (note) } }
                @for (exhibit, svg) in drawn {
                    figure {
                        div.plot role="img" aria-label=(exhibit.figure.title) tabindex="0" {
                            (PreEscaped(responsive(svg)))
                        }
                        figcaption {
                            strong { (exhibit.figure.title) } ". " (exhibit.help)
                            " A cell is empty where no run counts. "
                            a href="#points" { "All points" } " has the values with intervals."
                        }
                    }
                }
                h2 id="points" { "All points" }
                div.wide role="region" aria-label="All points" tabindex="0" {
                    (table(&findings.points))
                }
                @if !findings.left_out.is_empty() { (left_out(findings)) }
            }
        }
    }
}

/// The origin of the figures, in a sentence.
fn provenance(findings: &Findings) -> String {
    let (version, release) = (env!("CARGO_PKG_VERSION"), crate::emulation::kernel_release());
    let (repeated, late) = (findings.repeated, findings.left_out.len());
    format!(
        "Linux {release}, Fairwave {version}. Means with 95 % intervals where there are several \
         runs. Late and made again: {repeated}; late twice, and not counted: {late}."
    )
}

fn table(points: &[Point]) -> Markup {
    let keys = points.first().map(|point| point.axes.iter().map(|(key, _)| key));
    html! {
        table.results {
            thead { tr {
                @for key in keys.into_iter().flatten() { th { (key) } }
                th { "runs" }
                @for figure in &FIGURES { th { (figure.title) } }
            } }
            tbody { @for point in points { tr {
                @for (_, value) in &point.axes { td { (value) } }
                td { (point.seeds.len()) }
                @for figure in &FIGURES { td { (cell(point, figure.name)) } }
            } } }
        }
    }
}

/// A mean with its interval.
fn cell(point: &Point, figure: &str) -> String {
    match point.metric(figure) {
        None => String::new(),
        Some(estimate) => match estimate.half_width {
            Some(half) => format!("{:.2} ± {half:.2}", estimate.mean),
            None => format!("{:.2}", estimate.mean),
        },
    }
}

fn left_out(findings: &Findings) -> Markup {
    html! {
        h2 { "Runs that do not count" }
        div.wide role="region" aria-label="Runs that do not count" tabindex="0" { table {
            thead { tr { th { "point" } th { "seed" } th { "directory" } th { "why" } } }
            tbody { @for left in &findings.left_out { tr {
                td { (left.point) } td { (left.seed) }
                td { code { (left.directory) } } td { (left.why) }
            } } }
        } }
    }
}
