//! The small multiples of a claim's map as a drawing, and as text for a terminal or Markdown.

use super::panels::{Panel, letter};
use super::summary::{ClaimMap, PointOfMap};
use maud::{Markup, html};

/// Sizes in pixels.
const CELL: (usize, usize) = (44, 24);
const LETTER_WIDTH: usize = 7;
const GAP: usize = 26;
const MARGIN: usize = 12;
/// As wide as the drawing gets before panels go into another row.
const WIDTH: usize = 1040;
/// The same for the text, in characters.
const COLUMNS: usize = 150;

/// Positions of the panels, in pixels.
struct Layout {
    labels: usize,
    column: usize,
    panel: (usize, usize),
    columns: usize,
}

impl Layout {
    fn of(panels: &[Panel<'_>]) -> Self {
        let maximum = |of: &dyn Fn(&Panel<'_>) -> usize| panels.iter().map(of).max().unwrap_or(0);
        let count = |text: &str| text.chars().count();
        let label = |labels: &[&str]| labels.iter().map(|label| count(label)).max().unwrap_or(0);
        let first = maximum(&|panel| label(&panel.row_labels()).max(count(&panel.corner())));
        let labels = first * LETTER_WIDTH + 8;
        let heads =
            maximum(&|panel| panel.across.labels.iter().map(|l| count(l)).max().unwrap_or(0));
        let column = CELL.0.max(heads * LETTER_WIDTH + 10);
        let wide = labels + maximum(&|panel| panel.across.labels.len()) * column;
        let width = wide.max(maximum(&|panel| count(&panel.caption)) * LETTER_WIDTH) + GAP;
        let height = 44 + maximum(&|panel| panel.rows.len()) * CELL.1 + GAP;
        Self { labels, column, panel: (width, height), columns: ((WIDTH - MARGIN) / width).max(1) }
    }

    fn size(&self, panels: usize) -> (usize, usize) {
        let across = panels.min(self.columns).max(1);
        let rows = panels.div_ceil(self.columns).max(1);
        (
            (2 * MARGIN + across * self.panel.0).max(LEGEND_WIDTH),
            MARGIN + rows * self.panel.1 + 2 * LEGEND_LINE,
        )
    }
}

const LEGEND_WIDTH: usize = 820;
const LEGEND_LINE: usize = 24;

/// The drawing. `what` is its alternative text. Set-ups that contradict an anchor are hatched, the
/// study's own one is framed, and a dashed line marks a threshold on the columns that decides.
pub(super) fn svg(panels: &[Panel<'_>], claim: &ClaimMap, what: &str) -> String {
    let layout = Layout::of(panels);
    let (width, height) = layout.size(panels.len());
    let hatch = format!("out-{}", claim.id);
    let drawn = panels.iter().enumerate().map(|(index, panel)| {
        let (row, column) = (index / layout.columns, index % layout.columns);
        let (x, y) = (MARGIN + column * layout.panel.0, MARGIN + row * layout.panel.1);
        drawn(panel, claim, &layout, x, y, &hatch)
    });
    html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height)
            viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(what)
            font-family="system-ui, sans-serif" font-size="12" {
            defs {
                pattern id=(hatch) width="6" height="6" patternUnits="userSpaceOnUse"
                    patternTransform="rotate(45)" {
                    rect width="6" height="6" fill="#ffffff" {}
                    line x1="0" y1="0" x2="0" y2="6" stroke="#8a9099" stroke-width="2" {}
                }
            }
            rect width=(width) height=(height) fill="#ffffff" {}
            @for panel in drawn { (panel) }
            (legend(&hatch, height - 2 * LEGEND_LINE))
        }
    }
    .into_string()
}

fn drawn(
    panel: &Panel<'_>,
    claim: &ClaimMap,
    layout: &Layout,
    x: usize,
    y: usize,
    hatch: &str,
) -> Markup {
    let wide = layout.column;
    let at = |index: usize| x + layout.labels + index * wide;
    let top = y + 42;
    let bottom = top + panel.rows.len() * CELL.1;
    html! {
        text x=(x) y=(y + 14) font-weight="600" { (panel.caption) }
        text x=(x) y=(y + 34) fill="#5a6068" { (panel.corner()) }
        @for (index, label) in panel.across.labels.iter().enumerate() {
            text x=(at(index) + wide / 2) y=(y + 34) text-anchor="middle" { (label) }
        }
        @for (row, (cells, label)) in panel.rows.iter().zip(panel.row_labels()).enumerate() {
            text x=(x) y=(top + row * CELL.1 + 16) { (label) }
            @for (index, point) in cells.iter().enumerate() {
                @if let Some(point) = point {
                    (cell(point, at(index), top + row * CELL.1, wide, hatch))
                }
            }
        }
        @if let Some(column) = panel.threshold(claim) {
            line x1=(at(column)) x2=(at(column)) y1=(top - 6) y2=(bottom + 6) stroke="#1d1f21"
                stroke-width="2" stroke-dasharray="4 3" {}
        }
    }
}

fn cell(point: &PointOfMap, x: usize, y: usize, wide: usize, hatch: &str) -> Markup {
    let (fill, ink) = match point.outcome {
        "holds" => ("#bfe6d8".to_owned(), "#00664a"),
        "does not hold" => ("#f6cdb9".to_owned(), "#9a3500"),
        "left out" => (format!("url(#{hatch})"), "#5a6068"),
        _ => ("#e4e7ea".to_owned(), "#1d1f21"),
    };
    let why = point.reason.as_deref().or(point.contradicts.as_deref()).unwrap_or(point.outcome);
    let text = format!("{}{}", letter(point), if point.open { "*" } else { "" });
    html! {
        g {
            title { (why) }
            rect x=(x + 1) y=(y + 1) width=(wide - 2) height=(CELL.1 - 2) fill=(fill) {}
            @if point.base {
                rect x=(x + 2) y=(y + 2) width=(wide - 4) height=(CELL.1 - 4) fill="none"
                    stroke="#1d1f21" stroke-width="2.5" {}
            }
            @if point.outcome != "left out" {
                text x=(x + wide / 2) y=(y + 16) text-anchor="middle" fill=(ink)
                    font-weight="600" { (text) }
            }
        }
    }
}

fn legend(hatch: &str, y: usize) -> Markup {
    let hatch = format!("url(#{hatch})");
    let (holds, fails, open) = ("#bfe6d8", "#f6cdb9", "#e4e7ea");
    let entries = [
        (MARGIN, holds, "H  holds"),
        (MARGIN + 110, fails, "–  does not hold"),
        (MARGIN + 260, open, "?  undecided"),
        (MARGIN + 390, hatch.as_str(), "left out: contradicts an anchor of the paper"),
    ];
    html! {
        @for (x, fill, text) in entries {
            rect x=(x) y=(y) width="18" height="14" fill=(fill) stroke="#8a9099" {}
            text x=(x + 24) y=(y + 12) { (text) }
        }
        rect x=(MARGIN + 1) y=(y + LEGEND_LINE) width="17" height="14" fill="none"
            stroke="#1d1f21" stroke-width="2.5" {}
        text x=(MARGIN + 24) y=(y + LEGEND_LINE + 12) { "the study's own set-up" }
        text x=(MARGIN + 260) y=(y + LEGEND_LINE + 12) { "*  leaving out one seed changes it" }
        line x1=(MARGIN + 520) x2=(MARGIN + 520) y1=(y + LEGEND_LINE - 2)
            y2=(y + LEGEND_LINE + 16) stroke="#1d1f21" stroke-width="2" stroke-dasharray="4 3" {}
        text x=(MARGIN + 530) y=(y + LEGEND_LINE + 12) { "the threshold that decides most" }
    }
}

/// The panels as text, several beside each other: `(H)` is the study's own set-up, and `*` stands
/// where leaving out one seed changes the verdict.
pub(super) fn text(panels: &[Panel<'_>]) -> String {
    let blocks: Vec<Vec<String>> = panels.iter().map(block).collect();
    let wide = blocks.iter().flatten().map(|line| line.chars().count()).max().unwrap_or(0) + 4;
    let beside = (COLUMNS / wide).max(1);
    let mut text = String::new();
    for (index, row) in blocks.chunks(beside).enumerate() {
        if index > 0 {
            text.push('\n');
        }
        for line in 0..row.iter().map(Vec::len).max().unwrap_or(0) {
            let cells = row.iter().map(|block| padded(block.get(line).map_or("", |l| l), wide));
            let line: String = cells.collect();
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

fn block(panel: &Panel<'_>) -> Vec<String> {
    let labels = panel.row_labels();
    let corner = panel.corner();
    let longest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let first = longest.max(corner.chars().count()) + 2;
    let wide =
        panel.across.labels.iter().map(|label| label.chars().count()).max().unwrap_or(0).max(4) + 1;
    let heads = panel.across.labels.iter().map(|label| padded(&format!(" {label}"), wide));
    let mut lines = Vec::new();
    if !panel.caption.is_empty() {
        lines.push(panel.caption.clone());
    }
    lines.push(format!("{}{}", padded(&corner, first), heads.collect::<String>()));
    for (cells, label) in panel.rows.iter().zip(labels) {
        let cells = cells.iter().map(|point| padded(&point.map_or(String::new(), marked), wide));
        lines.push(format!("{}{}", padded(label, first), cells.collect::<String>()));
    }
    lines
}

fn marked(point: &PointOfMap) -> String {
    let (left, right) = if point.base { ("(", ")") } else { (" ", " ") };
    format!("{left}{}{right}{}", letter(point), if point.open { "*" } else { "" })
}

fn padded(text: &str, wide: usize) -> String {
    format!("{text}{}", " ".repeat(wide.saturating_sub(text.chars().count())))
}
