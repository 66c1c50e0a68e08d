//! A map as one self-contained HTML page: words and conditions, small multiples, axes with reasons;
//! and the parts of it that a study's report has, too.

use super::earlier::Earlier;
use super::figure;
use super::file::Declared;
use super::joint::JointSet;
use super::panels;
use super::summary::{ClaimMap, MapSummary};
use crate::definition::Study;
use crate::page::{frame, wide};
use fairwave_lab::page::responsive;
use fairwave_units::several;
use maud::{Markup, PreEscaped, html};
use std::collections::BTreeMap;

/// Study, declaration and command of a map's page.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The study.
    pub study: &'a dyn Study,
    /// Contents of the map's file.
    pub declared: &'a Declared,
    /// Command line that gives the same map.
    pub command: &'a str,
    /// Verdicts of the exploring run beside which this one stands, and the day of that.
    pub explored: Option<&'a Earlier>,
}

/// The page.
pub fn page(context: &Context<'_>, map: &MapSummary) -> String {
    let Context { study, declared, command, explored } = *context;
    let form = if map.quick { " Quick form: fewer values, seeds and seconds." } else { "" };
    let sections = html! {
        section {
            p { "Made by " code { (command) } "." (form) }
            p { (days([map])) }
        }
        section { h2 { "Claims" } (words(map, explored)) }
        section { h2 { "Joint consistency" } (joint(&map.joint, map.claims.len())) }
        @for claim in &map.claims { (section(declared, map, claim)) }
        (axes(declared, map.quick))
    };
    frame(study, &sections, &html! {}).into_string()
}

/// The days on which maps were declared and run, as sentences. A day in common is named once.
pub fn days<'a>(maps: impl IntoIterator<Item = &'a MapSummary>) -> String {
    let mut declared = None;
    let mut sentences = Vec::new();
    for map in maps {
        if declared != Some(&map.declared) {
            sentences.push(format!("Grid, weights, anchors and criteria of {}.", map.declared));
            declared = Some(&map.declared);
        }
        sentences.push(format!(
            "{} run of {}: {}, seeds from {} on.",
            if map.confirms { "Confirming" } else { "Exploring" },
            map.ran,
            runs(map),
            map.first_seed,
        ));
    }
    sentences.join(" ")
}

/// Number of runs, and of those that were not needed.
pub(super) fn runs(map: &MapSummary) -> String {
    match (map.runs, map.runs_not_needed) {
        (runs, 0) => several(runs, "run"),
        (runs, rest) => format!(
            "{runs} of {}, as the other {rest} could not change a verdict",
            several(runs + rest, "run")
        ),
    }
}

fn words(map: &MapSummary, explored: Option<&Earlier>) -> Markup {
    html! {
        div.wide { table.claims {
            thead { tr { th { "Claim" } th { "Verdict" } th { "Where" } th { "Set-ups" } } }
            tbody { @for claim in &map.claims { tr {
                th scope="row" { a href={ "#" (claim.id) } { (claim.id) } }
                td {
                    (word(claim.verdict))
                    @if let Some(earlier) = explored { p.note { (earlier.of_claim(claim)) } }
                }
                td { p { (claim.statement) } p.note { (claim.condition) } }
                td { (claim.setups.text(claim.share)) }
            } } }
        } }
    }
}

/// One of the four words in its colour.
pub(crate) fn word(verdict: &str) -> Markup {
    let class = match verdict {
        "robust" => "holds",
        "nowhere" => "fails",
        _ => "open",
    };
    html! { span class={ "verdict " (class) } { (verdict) } }
}

/// The largest sets of the `all` claims that one set-up satisfies.
pub(crate) fn joint(sets: &[JointSet], all: usize) -> Markup {
    html! {
        p { (joint_in_words(sets, all)) }
        ul { @for set in sets { li { (joint_set(set)) } } }
    }
}

/// Sentence above the list of joint sets.
pub(crate) fn joint_in_words(sets: &[JointSet], all: usize) -> &'static str {
    match sets.first() {
        None => "No claim holds in any set-up that no anchor contradicts.",
        Some(set) if set.claims.len() == all => {
            "There are set-ups in which all of these claims hold."
        }
        Some(_) => "No set-up satisfies all of these claims. The largest sets that one does:",
    }
}

/// A set of claims, in how many set-ups they hold, and one of those.
pub(crate) fn joint_set(set: &JointSet) -> String {
    let pairs = pairs(&set.setup);
    let such = if pairs.is_empty() { "the study's own".to_owned() } else { pairs };
    format!("{}: {}, such as {such}", set.claims.join(", "), several(set.setups, "set-up"))
}

fn pairs(set_up: &BTreeMap<String, String>) -> String {
    let pairs = set_up.iter().map(|(key, label)| format!("{key} = {label}"));
    pairs.collect::<Vec<_>>().join(", ")
}

fn section(declared: &Declared, map: &MapSummary, claim: &ClaimMap) -> Markup {
    let has_own = claim.points.iter().any(|point| point.base);
    let whose = if has_own { "In the study's own set-up: " } else { "" };
    html! {
        section id=(claim.id) {
            h2 { (claim.id) ": " (claim.verdict) }
            p { (claim.statement) "." }
            @if !claim.condition.is_empty() { p { strong { (claim.condition) } } }
            @if let Some(direction) = &claim.direction {
                p { "Direction alone: " (direction.verdict) ". " (direction.condition) }
            }
            p.criterion { "Criterion: " (claim.criterion) }
            p { code { (command(map, claim)) } }
            (drawing(declared, map.quick, claim))
            @if !claim.note.is_empty() { p.note { (whose) (claim.note) } }
        }
    }
}

/// Command line that maps this claim alone.
pub(crate) fn command(map: &MapSummary, claim: &ClaimMap) -> String {
    let full = if map.quick { "" } else { " --full" };
    let confirm = if map.confirms { " --confirm" } else { "" };
    format!("fairwave reproduce {} --map {}{full}{confirm}", map.study, claim.id)
}

/// The small multiples of a claim.
pub(crate) fn drawing(declared: &Declared, quick: bool, claim: &ClaimMap) -> Markup {
    let Some(svg) = svg(declared, quick, claim) else { return html! {} };
    html! {
        figure id={ "map-" (claim.id) } {
            div.plot tabindex="0" { (PreEscaped(responsive(&svg))) }
            figcaption {
                @for index in declared.axes_of_map(&claim.id) {
                    b { (declared.axis[index].key.get_ref()) } ": " (declared.axis[index].name) ". "
                }
            }
            @for anchor in declared.anchors_of(&claim.id) {
                figcaption { "Anchor " (anchor.id) ": " (anchor.statement) ". "
                    (left_out(claim, &anchor.id)) " set-ups contradict it." }
            }
        }
    }
}

/// The small multiples of a claim as a drawing; `None` where its grid has no axes.
pub fn svg(declared: &Declared, quick: bool, claim: &ClaimMap) -> Option<String> {
    let grid = declared.grid(quick).of(&declared.axes_of_map(&claim.id));
    let panels = panels::of(&grid, claim);
    if panels.is_empty() {
        return None;
    }
    let what =
        format!("Map of {}: {}. {}", claim.id, claim.setups.text(claim.share), claim.condition);
    Some(figure::svg(&panels, claim, &what))
}

/// Number of set-ups that contradict an anchor.
pub(crate) fn left_out(claim: &ClaimMap, anchor: &str) -> usize {
    claim.points.iter().filter(|point| point.contradicts.as_deref() == Some(anchor)).count()
}

/// The parameters that the paper leaves open, its anchors, and the sentence behind each criterion,
/// as sections.
fn axes(declared: &Declared, quick: bool) -> Markup {
    html! {
        @if !declared.axis.is_empty() {
            section { h2 { "What the paper leaves open" } (open(declared, quick)) }
        }
        @if !declared.criterion.is_empty() {
            section {
                h2 { "What the criteria stand for" }
                @for criterion in &declared.criterion {
                    p {
                        strong { (criterion.id) } " (" (criterion.declared) "): "
                        (criterion.reported())
                    }
                }
            }
        }
    }
}

/// Each value of each axis with its source, and the anchors.
pub(crate) fn open(declared: &Declared, quick: bool) -> Markup {
    let values = html! {
        table {
            thead { tr {
                @for name in ["Axis", "Value", "Who had it", "What is set"] {
                    th scope="col" { (name) }
                }
            } }
            tbody { @for axis in &declared.axis { @for value in axis.values(quick) { tr {
                td { (axis.key.get_ref()) ": " (axis.name) }
                td { (value.label) }
                td { (value.why) }
                td { @for set in &value.set { code { (set.get_ref()) } " " } }
            } } } }
        }
    };
    html! {
        (wide("What the paper leaves open", &values))
        @for anchor in &declared.anchor {
            p { strong { (anchor.id) } ": " (anchor.statement) }
        }
    }
}
