//! Parts that all figures share: size, colours, title, legend, axes.

use super::figure::{Error, Figure};
use plotters::coord::Shift;
use plotters::prelude::*;

/// Size of a figure in pixels.
pub(super) const SIZE: (u32, u32) = (820, 440);
const LEGEND_LEFT: i32 = 78;
const LEGEND_TOP: i32 = 40;
const LEGEND_ROW: i32 = 20;

/// Okabe and Ito's palette (2008), which readers with any common colour blindness can distinguish.
/// Yellow is left out, being too light for a line on white.
const PALETTE: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(60, 60, 60),
];

/// The colour of that palette which is too light for a line.
pub(super) const LIGHT: RGBColor = RGBColor(240, 228, 66);
pub(super) const INK: RGBColor = RGBColor(40, 40, 40);
const GRID: RGBColor = RGBColor(225, 225, 225);
const FONT: &str = "sans-serif";

/// The drawing area over an SVG text.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The colour of series number `index`.
pub(super) fn colour(index: usize) -> RGBColor {
    PALETTE[index % PALETTE.len()]
}

/// Text of `size` pixels.
pub(super) fn text_style(size: u32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&INK)
}

/// Width of `text` at 13 pixels, by rule.
fn text_width(text: &str) -> i32 {
    (text.chars().count() as f64 * 6.9) as i32
}

/// Positions of the legend entries. A row ends before an entry would be clipped.
fn legend_positions(labels: &[&str]) -> (Vec<(i32, i32)>, i32) {
    let (mut x, mut y) = (LEGEND_LEFT, LEGEND_TOP);
    let mut positions = Vec::new();
    for label in labels {
        let width = 26 + text_width(label) + 18;
        if x > LEGEND_LEFT && x + width > SIZE.0 as i32 - 10 {
            (x, y) = (LEGEND_LEFT, y + LEGEND_ROW);
        }
        positions.push((x, y));
        x += width;
    }
    (positions, y + LEGEND_ROW)
}

/// Fills the background, writes title and legend, and gives the area left for the axes.
pub(super) fn open<'a>(
    figure: &Figure,
    svg: &'a mut String,
    labels: &[&str],
) -> Result<Area<'a>, Error> {
    let entries: Vec<_> = labels.iter().enumerate().map(|(i, label)| (*label, colour(i))).collect();
    open_coloured(figure, svg, &entries)
}

/// The same with a colour for each entry of the legend.
pub(super) fn open_coloured<'a>(
    figure: &Figure,
    svg: &'a mut String,
    entries: &[(&str, RGBColor)],
) -> Result<Area<'a>, Error> {
    let fail = |error| Error::new(&figure.title, error);
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE).map_err(|e| fail(e.to_string()))?;
    let title = text_style(18);
    root.draw_text(&figure.title, &title, (16, 12)).map_err(|e| fail(e.to_string()))?;
    let labels: Vec<&str> = entries.iter().map(|(label, _)| *label).collect();
    let (positions, bottom) = legend_positions(&labels);
    for ((label, colour), (x, y)) in entries.iter().zip(positions) {
        let swatch = Rectangle::new([(x, y + 3), (x + 18, y + 12)], colour.filled());
        root.draw(&swatch).map_err(|e| fail(e.to_string()))?;
        root.draw_text(label, &text_style(13), (x + 24, y)).map_err(|e| fail(e.to_string()))?;
    }
    Ok(root.margin(bottom, 8, 8, 26))
}

/// Grid, ticks and axis titles of a chart over two real axes.
pub(super) fn axes(
    figure: &Figure,
    chart: &mut ChartContext<
        '_,
        SVGBackend<'_>,
        Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
    >,
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
        .label_style(text_style(13))
        .axis_desc_style(text_style(14))
        .x_desc(&figure.x_label)
        .y_desc(&figure.y_label)
        .x_labels(x_labels)
        .y_labels(7)
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

/// Bounds of the y axis: as the figure says, or from zero to a little above `top`.
pub(super) fn y_range(figure: &Figure, top: f64) -> (f64, f64) {
    figure.y_range.unwrap_or((0.0, if top > 0.0 { top * 1.06 } else { 1.0 }))
}
