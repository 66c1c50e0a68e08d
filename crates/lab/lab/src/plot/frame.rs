//! Parts that all figures share: size, title, legend, axes.

use super::figure::{Error, Figure, Interval};
use super::layout::Layout;
use super::look::Look;
use super::surface::{Area, Chart, Failure};
use plotters::prelude::*;

/// The colour of that palette which is too light for a line.
pub(super) const LIGHT: RGBColor = RGBColor(240, 228, 66);
pub(super) const INK: RGBColor = RGBColor(40, 40, 40);
const GRID: RGBColor = RGBColor(225, 225, 225);
const FONT: &str = "sans-serif";

/// A figure and its layout.
#[derive(Clone, Copy)]
pub(super) struct Sheet<'a> {
    pub(super) figure: &'a Figure,
    pub(super) layout: Layout,
}

/// Text of `size` pixels.
pub(super) fn text_style(size: u32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&INK)
}

/// An entry of the legend: its place, and the lines of its label.
struct Entry {
    x: i32,
    y: i32,
    lines: Vec<String>,
}

/// Places of the legend's entries, and the first pixel below them. A row ends before an entry
/// would be clipped; a label that is wider than a row is broken at blanks.
fn legend(layout: Layout, labels: &[&str]) -> (Vec<Entry>, i32) {
    let (left, row) = (layout.legend_left(), layout.row());
    let (mark, gap, right) = (layout.scaled(26), layout.scaled(18), layout.right() - 10);
    let (mut x, mut y, mut deepest) = (left, layout.legend_top(), 1);
    let mut entries = Vec::new();
    for label in labels {
        let lines = broken(label, |line| left + mark + layout.text_width(line) <= right);
        let widest = lines.iter().map(|line| layout.text_width(line)).max().unwrap_or(0);
        let width = mark + widest + gap;
        if x > left && x + width > right {
            (x, y, deepest) = (left, y + row * deepest, 1);
        }
        deepest = deepest.max(lines.len() as i32);
        entries.push(Entry { x, y, lines });
        x += width;
    }
    (entries, y + row * deepest)
}

/// The words of a text in lines that fit, of one word at least.
fn broken(text: &str, fits: impl Fn(&str) -> bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let longer = lines.last().map(|line| format!("{line} {word}"));
        match (lines.last_mut(), longer.filter(|longer| fits(longer))) {
            (Some(last), Some(longer)) => *last = longer,
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Fills the background, writes title and legend, and gives the area left for the axes.
pub(super) fn open<'a>(
    sheet: Sheet<'_>,
    svg: &'a mut String,
    labels: &[&str],
) -> Result<Area<'a>, Error> {
    let entries: Vec<_> =
        labels.iter().enumerate().map(|(i, label)| (*label, Look::of(i))).collect();
    open_with(sheet, svg, &entries)
}

/// The same with a look for each entry of the legend. Rows of the legend after the first one make
/// the figure higher, so that its axes keep their space.
pub(super) fn open_with<'a>(
    Sheet { figure, layout }: Sheet<'_>,
    svg: &'a mut String,
    entries: &[(&str, Look)],
) -> Result<Area<'a>, Error> {
    let fail = |error: Failure| Error::new(&figure.title, error);
    let labels: Vec<&str> = entries.iter().map(|(label, _)| *label).collect();
    let (places, bottom) = legend(layout, &labels);
    let one_row = layout.legend_top() + layout.row();
    let further = u32::try_from(bottom - one_row).unwrap_or(0);
    let size = (layout.width, layout.height + further);
    let root = SVGBackend::with_string(svg, size).into_drawing_area();
    root.fill(&WHITE).map_err(fail)?;
    if let Some(size) = layout.title {
        root.draw_text(&figure.title, &text_style(size), (16, 12)).map_err(fail)?;
    }
    let (text, row) = (text_style(layout.text), layout.row());
    let mark = (layout.scaled(18), layout.scaled(9));
    for ((_, look), Entry { x, y, lines }) in entries.iter().zip(places) {
        look.swatch(&root, x, y + 3, mark).map_err(fail)?;
        for (i, line) in lines.iter().enumerate() {
            let at = (x + layout.scaled(24), y + row * i as i32);
            root.draw_text(line, &text, at).map_err(fail)?;
        }
    }
    let right = if layout.title.is_some() { 26 } else { 12 };
    Ok(root.margin(bottom, 8, 8, right))
}

/// Grid, ticks and axis titles of a chart over two real axes.
pub(super) fn axes(
    Sheet { figure, layout }: Sheet<'_>,
    chart: &mut Chart<'_, '_>,
    x_labels: usize,
    x_text: &dyn Fn(&f64) -> String,
    vertical_grid: bool,
) -> Result<(), Error> {
    let mut mesh = chart.configure_mesh();
    if !vertical_grid {
        mesh.disable_x_mesh();
    }
    mesh.light_line_style(WHITE)
        .bold_line_style(GRID)
        .axis_style(INK)
        .label_style(text_style(layout.text))
        .axis_desc_style(text_style(layout.axis))
        .x_desc(&figure.x_label)
        .y_desc(&figure.y_label)
        .x_labels(x_labels)
        .y_labels(layout.labels(7))
        .x_label_formatter(x_text)
        .y_label_formatter(&|y| number(*y))
        .draw()
        .map_err(|error| Error::new(&figure.title, error))
}

/// A number as short as it can be without losing digits that a tick needs.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Bounds of the y axis: as the figure says, or from zero to a little beyond the values. Below zero
/// only where a mean is: that an interval reaches there says nothing about what the figure shows.
pub(super) fn y_range(
    figure: &Figure,
    values: impl Iterator<Item = Interval> + Clone,
) -> (f64, f64) {
    let is_signed = values.clone().any(|value| value.mean < 0.0);
    let bottom = if is_signed { values.clone().map(|v| v.low).fold(0.0, f64::min) } else { 0.0 };
    let top = values.map(|value| value.high).fold(0.0, f64::max);
    let is_flat = bottom == 0.0 && top == 0.0;
    figure.y_range.unwrap_or((bottom * 1.06, if is_flat { 1.0 } else { top * 1.06 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_units::Metres;

    #[test]
    fn a_legend_breaks_into_rows_and_a_long_label_into_lines() {
        let (entries, bottom) = legend(Layout::SCREEN, &["short", "also short"]);
        assert_eq!((entries[0].y, entries[1].y, bottom), (40, 40, 60), "one row");
        let long = "congestion_control = ack-loss+compound, queue = 100 packets";
        let (entries, bottom) = legend(Layout::SCREEN, &[long; 3]);
        assert_eq!(entries.iter().map(|entry| entry.y).collect::<Vec<_>>(), [40, 60, 80]);
        assert_eq!(bottom, 100);
        let column = Layout::printed(Metres(0.085));
        let (entries, bottom) = legend(column, &[long, "b"]);
        assert_eq!(entries[0].lines.join(" "), long);
        assert_eq!((entries[0].lines.len(), entries[1].y, bottom), (2, 6 + 36, 6 + 54));
        let widest = entries[0].lines.iter().map(|line| column.text_width(line)).max().unwrap();
        assert!(8 + 22 + widest <= column.right() - 10, "{widest}");
    }
}
