//! A map as one self-contained HTML page: words and conditions, small multiples, axes with reasons.

use super::file::{Declared, ValueFile};
use super::grid::Grid;
use super::summary::{ClaimMap, MapSummary, PointOfMap};
use crate::definition::Study;
use crate::markdown::{table, text};
use crate::report;
use maud::{Markup, PreEscaped, html};
use std::collections::BTreeMap;

/// Colours of the panels, which also bear a letter: a page in black on white loses nothing.
const STYLE: &str = "
.panels { display: flex; flex-wrap: wrap; gap: 1rem; }
.panel table { width: auto; } .panel td { text-align: center; min-width: 2.4rem; }
.panel td.base { outline: 2px solid var(--ink); outline-offset: -2px; }
.panel caption { font-size: .85rem; max-width: 16rem; }
.out { color: var(--soft); }
";

/// What stands around a map.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The study.
    pub study: &'a dyn Study,
    /// What the map's file says.
    pub declared: &'a Declared,
    /// What anybody types to get the same.
    pub command: &'a str,
    /// Verdicts of the exploring run beside which this one stands, and the day of that.
    pub explored: Option<&'a Earlier>,
}

/// What an earlier run found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Earlier {
    /// Its day, in UTC.
    pub ran: String,
    /// What it said of each claim, by identifiers.
    pub claims: BTreeMap<String, Said>,
}

/// What an earlier run said of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Its word.
    pub verdict: String,
    /// The parameter that decided, its name and its threshold.
    pub decides: Option<[String; 3]>,
}

impl Earlier {
    /// What `--json` printed for the same map, if it is of an exploring run of the same grid.
    pub fn of(told: &serde_json::Value, map: &MapSummary) -> Option<Self> {
        let is_same = told["study"] == map.study
            && told["declared"] == map.declared
            && told["quick"] == map.quick
            && told["confirms"] == false;
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        let claims = told["claims"].as_array().filter(|_| is_same)?.iter();
        let decides = |told: &serde_json::Value| {
            Some([text(&told["key"])?, text(&told["name"])?, text(&told["threshold"])?])
        };
        let said = |c: &serde_json::Value| {
            let said = Said { verdict: text(&c["verdict"])?, decides: decides(&c["decides"]) };
            Some((text(&c["id"])?, said))
        };
        Some(Self { ran: text(&told["ran"])?, claims: claims.filter_map(said).collect() })
    }

    /// The word of that run, and what decided in it if something else decides in this one.
    fn of_claim(&self, claim: &ClaimMap) -> String {
        let Some(said) = self.claims.get(&claim.id) else {
            return format!("not mapped in the exploring run of {}", self.ran);
        };
        let text = format!("{} in the exploring run of {}", said.verdict, self.ran);
        let now = claim.decides.as_ref().map(|decides| (&decides.key, &decides.threshold));
        match &said.decides {
            Some([key, name, threshold]) if now != Some((key, threshold)) => {
                format!("{text}, where it was decided by {name} ({threshold})")
            }
            _ => text,
        }
    }
}

/// The page.
pub fn page(context: &Context<'_>, map: &MapSummary) -> String {
    let Context { study, declared, command, explored } = *context;
    let form = if map.quick { " Quick form: fewer values, seeds and seconds." } else { "" };
    let kind = if map.confirms { "Confirming" } else { "Exploring" };
    let sections = html! {
        style { (PreEscaped(STYLE)) }
        section {
            p { "Made by " code { (command) } "." (form) }
            p {
                "Grid, weights and anchors of " (map.declared) ". " (kind) " run of " (map.ran)
                ", " (map.runs) " runs, seeds from " (map.first_seed) " on."
            }
        }
        section { h2 { "Claims" } (words(map, explored)) }
        section { h2 { "Joint consistency" } (joint(map)) }
        @for claim in &map.claims { (section(declared, map, claim)) }
        section { h2 { "What the paper leaves open" } (axes(declared, map.quick)) }
    };
    report::frame(study, &sections).into_string()
}

fn words(map: &MapSummary, explored: Option<&Earlier>) -> Markup {
    html! {
        div.wide { table.claims {
            thead { tr { th { "Claim" } th { "Verdict" } th { "Where" } th { "Set-ups" } } }
            tbody { @for claim in &map.claims { tr {
                th scope="row" { a href={ "#" (claim.id) } { (claim.id) } }
                td {
                    span class={ "verdict " (class_of_word(claim.verdict)) } { (claim.verdict) }
                    @if let Some(earlier) = explored { p.note { (earlier.of_claim(claim)) } }
                }
                td { p { (claim.statement) } p.note { (claim.condition) } }
                td { (counts(claim)) }
            } } }
        } }
    }
}

fn class_of_word(word: &str) -> &'static str {
    match word {
        "robust" => "holds",
        "nowhere" => "fails",
        _ => "open",
    }
}

/// How many set-ups there are of each kind, in words.
pub fn counts(claim: &ClaimMap) -> String {
    let super::judge::Tally { tried, admitted, holding, undecided } = claim.setups;
    let share = claim.share.map_or(String::new(), |share| format!(" ({:.0} %)", 100.0 * share));
    let mut text = format!("holds in {holding} of {}{share}", admitted - undecided);
    for (count, what) in [(undecided, "undecided"), (tried - admitted, "left out")] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text
}

fn joint(map: &MapSummary) -> Markup {
    let all = map.claims.len();
    html! {
        @if map.joint.is_empty() {
            p { "No claim holds in any set-up that no anchor contradicts." }
        }
        @else {
            p { @if map.joint[0].claims.len() == all {
                "There are set-ups in which all of these claims hold."
            } @else { "No set-up satisfies all of these claims. The largest sets that one does:" } }
            ul { @for set in &map.joint { li {
                (set.claims.join(", ")) ": " (fairwave_units::several(set.setups, "set-up"))
                ", such as " (pairs(&set.setup))
            } } }
        }
    }
}

fn pairs(set_up: &BTreeMap<String, String>) -> String {
    let pairs = set_up.iter().map(|(key, label)| format!("{key} = {label}"));
    pairs.collect::<Vec<_>>().join(", ")
}

fn section(declared: &Declared, map: &MapSummary, claim: &ClaimMap) -> Markup {
    let grid = declared.grid(map.quick).of(&declared.axes_of_map(&claim.id));
    html! {
        section id=(claim.id) {
            h2 { (claim.id) ": " (claim.verdict) }
            p { (claim.statement) "." }
            @if !claim.condition.is_empty() { p { strong { (claim.condition) } } }
            @if let Some(direction) = &claim.direction {
                p { "Direction alone: " (direction.verdict) ". " (direction.condition) }
            }
            p.criterion { "Criterion: " (claim.criterion) }
            p { code {
                "fairwave reproduce " (map.study) " --map " (claim.id)
                @if !map.quick { " --full" }
            } }
            p {
                "H: holds. –: does not hold. ?: undecided. ·: left out, as it contradicts an "
                "anchor. *: leaving out one seed changes it. Framed: the set-up of the study's own "
                "scenario files."
            }
            div.panels { @for panel in panels(&grid, claim) { (panel) } }
            @if !claim.note.is_empty() { p.note { "In the study's own set-up: " (claim.note) } }
        }
    }
}

/// The axes of a panel: the one that decides lies across, the one with most values of the others
/// down. Each combination of the rest is a panel.
fn laid_out(grid: &Grid, claim: &ClaimMap) -> (usize, Option<usize>) {
    let decides = claim.decides.as_ref().map(|decides| decides.key.as_str());
    let across = grid.axes.iter().position(|axis| Some(axis.key.as_str()) == decides);
    let across = across.unwrap_or(0);
    let others = grid.axes.iter().enumerate().filter(|(index, _)| *index != across);
    // Of several the first: `max_by_key` takes the last.
    let down = others.rev().max_by_key(|(_, axis)| axis.labels.len()).map(|(index, _)| index);
    (across, down)
}

fn panels(grid: &Grid, claim: &ClaimMap) -> Vec<Markup> {
    let (across, down) = laid_out(grid, claim);
    let rest: Vec<usize> =
        (0..grid.axes.len()).filter(|&axis| axis != across && Some(axis) != down).collect();
    let rest_grid = grid.of(&rest);
    let panel = |set_up: Vec<usize>| {
        let fixed: BTreeMap<&str, &str> = rest_grid.labels(&set_up).collect();
        let columns = &grid.axes[across];
        let rows = down.map(|axis| &grid.axes[axis]);
        let labels = rows.map_or_else(|| vec![String::new()], |axis| axis.labels.clone());
        let at = |column: &str, row: &str| {
            claim.points.iter().find(|point| {
                let is = |key: &str, label: &str| point.setup.get(key).is_some_and(|l| l == label);
                is(&columns.key, column)
                    && rows.is_none_or(|axis| is(&axis.key, row))
                    && fixed.iter().all(|(key, label)| is(key, label))
            })
        };
        html! {
            div.panel { table {
                caption { (rest_grid.text(&set_up)) }
                thead { tr {
                    th { (rows.map_or("", |axis| axis.key.as_str())) " \\ " (columns.key) }
                    @for column in &columns.labels { th { (column) } }
                } }
                tbody { @for row in &labels { tr {
                    th scope="row" { (row) }
                    @for column in &columns.labels { (cell(at(column, row))) }
                } } }
            } }
        }
    };
    rest_grid.set_ups().map(panel).collect()
}

fn cell(point: Option<&PointOfMap>) -> Markup {
    let Some(point) = point else { return html! { td {} } };
    let (class, letter) = match point.outcome {
        "holds" => ("holds", "H"),
        "does not hold" => ("fails", "–"),
        "left out" => ("out", "·"),
        _ => ("open", "?"),
    };
    let base = if point.base { " base" } else { "" };
    let why = point.reason.as_deref().or(point.contradicts.as_deref()).unwrap_or(point.outcome);
    html! { td class={ (class) (base) } title=(why) { (letter) @if point.open { "*" } } }
}

fn axes(declared: &Declared, quick: bool) -> Markup {
    html! {
        div.wide { table {
            thead { tr { th { "Axis" } th { "Value" } th { "Who had it" } th { "What is set" } } }
            tbody { @for axis in &declared.axis { @for value in axis.values(quick) { tr {
                td { (axis.key.get_ref()) ": " (axis.name) }
                td { (value.label) }
                td { (value.why) }
                td { @for set in &value.set { code { (set.get_ref()) } " " } }
            } } } }
        } }
        @for anchor in &declared.anchor { p { strong { (anchor.id) } ": " (anchor.statement) } }
    }
}

/// The map in Markdown, for docs/maps: no figure, and nothing that differs between two runs of the
/// same command but the day.
pub fn markdown(context: &Context<'_>, map: &MapSummary) -> String {
    let Context { declared, command, explored, .. } = *context;
    let kind = if map.confirms { "Confirming" } else { "Exploring" };
    let mut page = format!(
        "# Map of the study {}\n\nWritten by `{command} --markdown`; do not edit.\n\n\
         Grid, weights and anchors of {}. {kind} run of {}: {}, seeds from {} on.\n\n",
        map.study,
        map.declared,
        map.ran,
        fairwave_units::several(map.runs, "run"),
        map.first_seed,
    );
    let words = map.claims.iter().map(|claim| {
        let earlier = explored.map(|earlier| format!(" ({})", earlier.of_claim(claim)));
        let word = format!("{}{}", claim.verdict, earlier.unwrap_or_default());
        [&claim.id, &word, &counts(claim), &claim.condition].map(|cell| text(cell)).to_vec()
    });
    page.push_str(&table(&["Claim", "Verdict", "Set-ups", "Where"].map(str::to_owned), words));
    page.push_str("\n## Joint consistency\n\n");
    for set in &map.joint {
        let count = fairwave_units::several(set.setups, "set-up");
        let (claims, such) = (set.claims.join(", "), pairs(&set.setup));
        page.push_str(&text(&format!("- {claims}: {count}, such as {such}\n")));
    }
    for claim in &map.claims {
        page.push_str(&of_claim(claim));
    }
    page.push_str("\n## What the paper leaves open\n\n");
    let axes = declared.axis.iter().flat_map(|axis| {
        let row = |value: &ValueFile| {
            let key = format!("{}: {}", axis.key.get_ref(), axis.name);
            [key.as_str(), &value.label, &value.why].map(text).to_vec()
        };
        axis.values(map.quick).map(row).collect::<Vec<_>>()
    });
    page.push_str(&table(&["Axis", "Value", "Who had it"].map(str::to_owned), axes));
    page
}

fn of_claim(claim: &ClaimMap) -> String {
    let mut page = format!("\n## {}\n\n{}.\n\n", claim.id, text(claim.statement));
    if let Some(direction) = &claim.direction {
        let share = direction.share.map_or(String::new(), |s| format!(" ({:.0} %)", 100.0 * s));
        let line =
            format!("Direction alone: {}{share}. {}", direction.verdict, direction.condition);
        page.push_str(&format!("{}\n\n", text(line.trim_end())));
    }
    page.push_str(&format!("Criterion: {}.\n\n", text(&claim.criterion)));
    let rows = claim.one_way.iter().map(|row| {
        let count = format!("{} of {}", row.holding, row.decided);
        [&row.key, &row.value, &count].map(|cell| text(cell)).to_vec()
    });
    page.push_str(&table(&["Axis", "Value", "Holds in"].map(str::to_owned), rows));
    page
}
