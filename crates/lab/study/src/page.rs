//! Parts that every HTML page about a study has.

use crate::claim::{Claim, Verdict};
use crate::definition::{Error, Study};
use crate::findings::Exhibit;
use crate::values::measurements;
use crate::verdict::ClaimVerdict;
use fairwave_lab::page::CSS;
use fairwave_lab::plot::{Explorer, Plots};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::collections::BTreeMap;

/// Rules for claims: each with its figure beside the words where there is room, and below them
/// where there is not.
const LAYOUT: &str = "
:root { --link: #0b57a4; --part: #6b4e00; --part-ground: #fdf0cc; }
@media (prefers-color-scheme: dark) {
  :root { --link: #8ab8ff; --part: #f2d27a; --part-ground: #463608; } }
body { max-width: 84rem; } p, main > section > ul, main > section > dl { max-width: 50rem; }
a { color: var(--link); } h2 { font-size: 1.4rem; }
h3 { font-size: 1.1rem; margin: 1.2rem 0 .4rem; }
h4 { font-size: .95rem; margin: 1rem 0 .2rem; }
.words h3 { display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem .6rem; margin: 0; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.verdict { white-space: normal; } .partly { color: var(--part); background: var(--part-ground); }
.verdicts { list-style: none; margin: 0; padding: 0; }
.verdicts li { display: grid; grid-template-columns: 5rem minmax(0, 1fr); gap: .15rem .6rem;
  padding: .5rem 0; align-items: start; justify-items: start; }
.verdicts a { font-weight: 600; padding: .1rem 0; } .verdicts p { grid-column: 2; margin: 0; }
.claim { display: grid; grid-template-areas: 'words' 'shown' 'folds'; gap: .4rem 2rem;
  grid-template-columns: minmax(0, 1fr); border-top: 1px solid var(--line); padding: 1.4rem 0; }
.words { grid-area: words; } .shown { grid-area: shown; } .folds { grid-area: folds; }
.statement { font-size: 1.05rem; } .here { color: var(--soft); margin: .8rem 0 .2rem; }
.here::first-letter { text-transform: uppercase; }
.key { margin: 0; padding: 0; list-style: none; } .key li { margin: .15rem 0; }
.key b { font-size: 1.15rem; font-variant-numeric: tabular-nums; }
.asked { color: var(--soft); white-space: nowrap; }
.shown figure, .folds figure { margin: 0 0 1rem; } .folds figure { max-width: 52rem; }
.plot { overflow-x: auto; } .plot svg { min-width: 32rem; }
details { border-top: 1px solid var(--line); } details > summary { cursor: pointer;
  padding: .4rem 0; color: var(--link); } details[open] > summary { font-weight: 600; }
.folds h4:first-of-type { margin-top: .2rem; } .folds table { width: auto; }
@media (min-width: 62rem) { .claim.drawn { grid-template-areas: 'words shown' 'folds folds';
  grid-template-columns: minmax(0, 5fr) minmax(0, 7fr); } .plot svg { min-width: 0; } }
@media (max-width: 30rem) { body { padding: 1rem; } .verdicts li { grid-template-columns: 1fr; }
  .verdicts p { grid-column: 1; } dl { grid-template-columns: minmax(0, 1fr); }
  dd { margin: 0 0 .3rem; } dd code { overflow-wrap: anywhere; } }
@media print { details::details-content { content-visibility: visible; block-size: auto; }
  .claim, .claim.drawn { display: block; } .plot svg { min-width: 0; } }
";

/// A page of a study around its sections, with `end` behind them.
pub(crate) fn frame(study: &dyn Study, sections: &Markup, end: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Fairwave: " (study.name()) }
                style { (PreEscaped(CSS)) (PreEscaped(LAYOUT)) }
            }
            body {
                header {
                    h1 { "Study " (study.name()) }
                    p.paper { (study.paper()) }
                }
                main { (sections) }
                footer { p { "Fairwave " (env!("CARGO_PKG_VERSION")) } }
                (end)
            }
        }
    }
}

/// The verdict in the study's own set-up as a mark and a word.
pub(crate) fn verdict(claim: &Claim) -> Markup {
    let (class, text) = match claim.verdict {
        Verdict::Holds => ("holds", "✓ holds"),
        Verdict::DoesNotHold(_) => ("fails", "✗ does not hold"),
        Verdict::Undecided(_) => ("open", "? undecided"),
    };
    html! { span.verdict.(class) { (text) } }
}

/// The figures that decide a claim in one set-up, or the reason for which it is undecided there.
pub(crate) fn evidence(one: &ClaimVerdict, place: &str) -> Markup {
    let (figures, gap) = (one.figures(), one.gap());
    html! {
        @if gap.is_some() || !figures.is_empty() { p.here { (place) ":" } }
        @if let Some(gap) = gap { p { (gap) } } @else {
            ul.key {
                @for figure in figures {
                    li {
                        b { (figure.value) } " " (figure.name) " "
                        span.asked { "(asked: " (figure.bound) ")" }
                    }
                }
            }
        }
    }
}

/// Measurements for a claim.
pub(crate) fn measured(claim: &Claim) -> Markup {
    html! {
        dl.measured { @for (key, text) in measurements(claim) { dt { (key) } dd { (text) } } }
    }
}

/// Something that is wider than a narrow window, which the keyboard can scroll.
pub(crate) fn wide(label: &str, content: &Markup) -> Markup {
    html! { div.wide role="region" aria-label=(label) tabindex="0" { (content) } }
}

/// Drawings that a page has so far. The page contains each drawing once, and refers to it where
/// the same figure shows another claim.
#[derive(Debug)]
pub(crate) struct Drawings {
    plots: Plots,
    /// View boxes of the drawings, by the identifiers of their elements.
    boxes: BTreeMap<String, String>,
}

impl Drawings {
    /// No drawings.
    pub(crate) fn new(explorer: Explorer) -> Self {
        Self { plots: Plots::new(explorer), boxes: BTreeMap::new() }
    }

    /// The end of the page, by which the drawings can be explored.
    pub(crate) fn end(&self) -> Markup {
        self.plots.end()
    }

    /// Whether the page has a figure already. `prefix` is as in [`Self::show_of`].
    pub(crate) fn has(&self, prefix: &str, exhibit: &Exhibit) -> bool {
        self.boxes.contains_key(&format!("{prefix}{}", exhibit.id))
    }

    /// A figure with its captions.
    ///
    /// # Errors
    /// A figure that cannot be drawn.
    pub(crate) fn show(&mut self, exhibit: &Exhibit) -> Result<Markup, Error> {
        self.show_of("", exhibit)
    }

    /// A figure with its captions. `prefix` stands before its identifier, where figures of two
    /// hosts have the same ones.
    ///
    /// # Errors
    /// A figure that cannot be drawn.
    pub(crate) fn show_of(&mut self, prefix: &str, exhibit: &Exhibit) -> Result<Markup, Error> {
        let alternative = format!("{}. {}", exhibit.figure.title, exhibit.ours);
        let name = format!("{prefix}{}", exhibit.id);
        let (id, drawing) = match self.boxes.get(&name) {
            Some(view_box) => (None, again(&name, view_box)),
            None => {
                let svg = self.plots.drawing(&exhibit.figure, &format!("plot-{name}"), "")?;
                self.boxes.insert(name.clone(), view_box(&svg).to_owned());
                (Some(name), PreEscaped(svg))
            }
        };
        Ok(html! {
            figure id=[id] {
                div.plot role="img" aria-label=(alternative) tabindex="0" { (drawing) }
                figcaption {
                    p { b { "Paper: " } (exhibit.paper) }
                    p { b { "Ours: " } (exhibit.ours) }
                }
            }
        })
    }
}

/// A drawing that the page already has.
fn again(name: &str, view_box: &str) -> Markup {
    html! { svg viewBox=(view_box) { use href=(format!("#plot-{name}")) {} } }
}

/// The view box of a drawing: its visible range, as four numbers.
fn view_box(svg: &str) -> &str {
    let behind = svg.split_once("viewBox=\"").map_or("", |(_, behind)| behind);
    behind.split('"').next().unwrap_or_default()
}
