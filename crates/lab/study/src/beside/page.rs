//! The HTML page of a study on two hosts: each claim with both verdicts, and both figures beside
//! the words.

use super::{Beside, Judged};
use crate::claim::Claim;
use crate::definition::{Error, Study};
use crate::page::{Drawings, evidence, frame, measured, verdict};
use crate::report::rows;
use crate::verdict::ClaimVerdict;
use fairwave_lab::plot::Explorer;
use fairwave_lab::results::write_file;
use fairwave_units::several;
use maud::{Markup, html};
use std::path::{Path, PathBuf};

/// Names of the hosts, the simulator first.
const HOSTS: [&str; 2] = ["Simulator", "Kernel"];

impl Beside {
    /// Writes `report.html` into `directory`: claims and figures of both hosts side by side.
    ///
    /// # Errors
    /// A figure that cannot be drawn, or a file that cannot be written.
    pub fn write(
        &self,
        study: &dyn Study,
        command: &str,
        explorer: Explorer,
        directory: &Path,
    ) -> Result<PathBuf, Error> {
        let path = directory.join("report.html");
        write_file(&path, page(self, study, command, explorer)?.as_bytes())?;
        Ok(path)
    }
}

/// The page as text.
///
/// # Errors
/// A figure that cannot be drawn.
pub(super) fn page(
    beside: &Beside,
    study: &dyn Study,
    command: &str,
    explorer: Explorer,
) -> Result<String, Error> {
    let mut drawings = Drawings::new(explorer);
    let hosts = [&beside.simulator, &beside.kernel];
    let mut sections = Vec::new();
    for (simulator, kernel) in beside.claims() {
        let mut shown = Vec::new();
        for (of, host) in hosts.into_iter().zip(HOSTS) {
            let found = figure(&mut drawings, host, of, simulator.id)?;
            shown.extend(found.map(|figure| (host, figure)));
        }
        sections.push(section([simulator, kernel], &shown));
    }
    let mut others = Vec::new();
    for (of, host) in hosts.into_iter().zip(HOSTS) {
        others.push(rest(&mut drawings, host, of)?);
    }
    let content = html! {
        section { h2 { "Verdicts" } (verdicts(beside)) }
        section { h2 { "Claims" } @for section in &sections { (section) } }
        @if others.iter().any(|figures| !figures.is_empty()) {
            section {
                h2 { "Further figures" }
                @for (figures, host) in others.iter().zip(HOSTS) {
                    details {
                        summary { (host) ": " (several(figures.len(), "figure")) }
                        @for figure in figures { (figure) }
                    }
                }
            }
        }
        section { h2 { "Tables" } @for table in beside.tables() { (rows(&table)) } }
        section {
            h2 { "Reproduce" }
            p { "Command: " code { (command) } }
            ul { @for line in beside.provenance(study) { li { (line) } } }
        }
    };
    Ok(frame(study, &content, &drawings.end()).into_string())
}

/// Begin of the identifiers of a host's figures.
fn prefix(host: &str) -> String {
    host.to_lowercase() + "-"
}

/// The first figure of a host that shows a claim.
fn figure(
    drawings: &mut Drawings,
    host: &str,
    of: &Judged,
    id: &str,
) -> Result<Option<Markup>, Error> {
    let first = of.findings.exhibits.iter().find(|exhibit| exhibit.claims.contains(&id));
    first.map(|exhibit| drawings.show_of(&prefix(host), exhibit)).transpose()
}

/// Figures of a host that no claim has shown.
fn rest(drawings: &mut Drawings, host: &str, of: &Judged) -> Result<Vec<Markup>, Error> {
    let mut figures = Vec::new();
    for exhibit in &of.findings.exhibits {
        if !drawings.has(&prefix(host), exhibit) {
            figures.push(drawings.show_of(&prefix(host), exhibit)?);
        }
    }
    Ok(figures)
}

fn verdicts(beside: &Beside) -> Markup {
    html! {
        ul.verdicts {
            @for (simulator, kernel) in beside.claims() {
                li {
                    a href={ "#" (simulator.id) } { (simulator.id) }
                    span { (both([simulator, kernel])) }
                    p { (simulator.statement) }
                }
            }
        }
    }
}

/// The verdict of each host behind its name.
fn both(claims: [&Claim; 2]) -> Markup {
    html! {
        @for (claim, host) in claims.into_iter().zip(HOSTS) {
            (host) ": " (verdict(claim)) " "
        }
    }
}

fn section(claims: [&Claim; 2], shown: &[(&str, Markup)]) -> Markup {
    let [simulator, _] = claims;
    let class = if shown.is_empty() { "claim" } else { "claim drawn" };
    html! {
        section class=(class) id=(simulator.id) aria-label=(simulator.id) {
            div.words {
                h3 { (simulator.id) }
                p { (both(claims)) }
                p.statement { (simulator.statement) }
                @for (claim, host) in claims.into_iter().zip(HOSTS) {
                    (evidence(&ClaimVerdict::of(claim, None), host))
                }
            }
            @if !shown.is_empty() {
                div.shown { @for (host, figure) in shown { p.here { (host) } (figure) } }
            }
            div.folds {
                details {
                    summary { "Basis of the verdicts on " (simulator.id) }
                    h4 { "Criterion" }
                    p { (simulator.criterion) }
                    @for (claim, host) in claims.into_iter().zip(HOSTS) {
                        h4 { (host) }
                        @if let Some(reason) = claim.verdict.reason() { p { (reason) } }
                        (measured(claim))
                        p.note { (claim.note) }
                    }
                }
            }
        }
    }
}
