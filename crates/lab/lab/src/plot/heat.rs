//! A map: a value for each pair of named columns and rows, as colour and as a number.

use super::figure::{Error, Map};
use super::frame::{self, INK, Sheet, text_style};
use super::surface::{Chart, Failure};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Anchors of Matplotlib's `cividis` (Nuñez, Anderton and Renslow, PLoS ONE 13(7), 2018): it
/// rises evenly in lightness, for all common kinds of colour vision and in greyscale.
const SCALE: [RGBColor; 5] = [
    RGBColor(0, 34, 78),
    RGBColor(66, 78, 108),
    RGBColor(124, 123, 120),
    RGBColor(187, 173, 108),
    RGBColor(254, 232, 56),
];
/// From this part of the scale on its colours are light enough for dark digits.
const LIGHT: f64 = 0.55;
/// Strips that the scale beside the map is made of.
const STRIPS: u32 = 64;
/// Position of the scale, in columns right of the map's edge: left, right, and its whole width.
const BAR: (f64, f64, f64) = (0.25, 0.5, 1.1);

pub(super) fn draw(sheet: Sheet<'_>, map: &Map) -> Result<String, Error> {
    let Sheet { figure, layout } = sheet;
    let fail = |error: String| Error::new(&figure.title, error);
    let values = || map.cells.iter().flatten().copied().flatten();
    if !values().chain(map.line.iter().copied().flatten()).all(f64::is_finite) {
        return Err(fail("a value is not finite".to_owned()));
    }
    let range = || (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
    let range = figure.y_range.unwrap_or_else(range);
    let (columns, rows) = (map.columns.len() as f64, map.rows.len().max(1) as f64);
    let mut svg = String::new();
    {
        let area = frame::open(sheet, &mut svg, &[])?;
        let mut chart = ChartBuilder::on(&area)
            .x_label_area_size(layout.scaled(46))
            .y_label_area_size(layout.scaled(190).min(layout.right() / 3))
            .build_cartesian_2d(-0.5..columns - 0.5 + BAR.2, -0.5..rows - 0.5)
            .map_err(|e| fail(e.to_string()))?;
        labels(sheet, &mut chart, map).map_err(|e| fail(e.to_string()))?;
        cells(&mut chart, map, range, layout.text).map_err(|e| fail(e.to_string()))?;
        line(&mut chart, map).map_err(|e| fail(e.to_string()))?;
        scale(&mut chart, columns - 0.5, rows, range, layout.text)
            .map_err(|e| fail(e.to_string()))?;
        area.present().map_err(|e| fail(e.to_string()))?;
    }
    Ok(svg)
}

/// The colour at `part` (0..=1) of the scale.
fn colour(part: f64) -> RGBColor {
    let place = part.clamp(0.0, 1.0) * (SCALE.len() - 1) as f64;
    let below = (place as usize).min(SCALE.len() - 2);
    let (a, b, t) = (SCALE[below], SCALE[below + 1], place - below as f64);
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * t).round() as u8;
    RGBColor(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// Position of `value` in `range`, from 0 to 1.
fn part(range: (f64, f64), value: f64) -> f64 {
    let (low, high) = range;
    if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 }
}

/// The name at a whole number, nothing between two.
fn name_at(names: &[String], x: f64) -> String {
    let nearest = x.round();
    let known = (x - nearest).abs() < 1e-6 && nearest >= 0.0;
    known.then(|| names.get(nearest as usize).cloned()).flatten().unwrap_or_default()
}

fn labels(
    Sheet { figure, layout }: Sheet<'_>,
    chart: &mut Chart<'_, '_>,
    map: &Map,
) -> Result<(), Failure> {
    let from_below: Vec<String> = map.rows.iter().rev().cloned().collect();
    let mut mesh = chart.configure_mesh();
    mesh.disable_mesh()
        .axis_style(WHITE)
        .label_style(text_style(layout.text))
        .axis_desc_style(text_style(layout.axis))
        .x_desc(&figure.x_label)
        .y_desc(&figure.y_label)
        .x_labels(map.columns.len() * 2 + 3)
        .y_labels(map.rows.len() * 2 + 1)
        .x_label_formatter(&|x| name_at(&map.columns, *x))
        .y_label_formatter(&|y| name_at(&from_below, *y))
        .draw()
}

fn cells(
    chart: &mut Chart<'_, '_>,
    map: &Map,
    range: (f64, f64),
    text: u32,
) -> Result<(), Failure> {
    let middle = Pos::new(HPos::Center, VPos::Center);
    for (row, cells) in map.cells.iter().enumerate().take(map.rows.len()) {
        let y = (map.rows.len() - 1 - row) as f64;
        for (column, value) in cells.iter().enumerate() {
            let (x, Some(value)) = (column as f64, *value) else { continue };
            let part = part(range, value);
            let corners = [(x - 0.49, y - 0.48), (x + 0.49, y + 0.48)];
            chart.draw_series([Rectangle::new(corners, colour(part).filled())])?;
            let ink = if part < LIGHT { WHITE } else { INK };
            let style = text_style(text).color(&ink).pos(middle);
            chart.draw_series([Text::new(frame::number(round(value)), (x, y), style)])?;
        }
    }
    Ok(())
}

/// To two decimals, which fit into a cell.
fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// The line of the map: upright strokes between columns, joined from row to row.
fn line(chart: &mut Chart<'_, '_>, map: &Map) -> Result<(), Failure> {
    let rows = map.rows.len();
    let edge = (-0.5, map.columns.len() as f64 - 0.5);
    let points: Vec<(f64, f64)> = map
        .line
        .iter()
        .enumerate()
        .take(rows)
        .filter_map(|(row, x)| Some((x.as_ref()?.clamp(edge.0, edge.1), (rows - 1 - row) as f64)))
        .flat_map(|(x, y)| [(x, y + 0.5), (x, y - 0.5)])
        .collect();
    chart.draw_series([PathElement::new(points.clone(), WHITE.stroke_width(6))])?;
    chart.draw_series([PathElement::new(points, RGBColor(213, 94, 0).stroke_width(3))])?;
    Ok(())
}

/// The scale of colours, right of the map.
fn scale(
    chart: &mut Chart<'_, '_>,
    edge: f64,
    rows: f64,
    range: (f64, f64),
    text: u32,
) -> Result<(), Failure> {
    let (low, high) = range;
    let (left, right) = (edge + BAR.0, edge + BAR.1);
    let y = |part: f64| part * rows - 0.5;
    let strip = |i: u32| {
        let (from, to) = (f64::from(i) / f64::from(STRIPS), f64::from(i + 1) / f64::from(STRIPS));
        let corners = [(left, y(from)), (right, y(to))];
        Rectangle::new(corners, colour((from + to) / 2.0).filled())
    };
    chart.draw_series((0..STRIPS).map(strip))?;
    for (part, anchor) in [(0.0, VPos::Bottom), (0.5, VPos::Center), (1.0, VPos::Top)] {
        let style = text_style(text).pos(Pos::new(HPos::Left, anchor));
        let value = frame::number(low + part * (high - low));
        chart.draw_series([Text::new(value, (right + 0.08, y(part)), style)])?;
    }
    Ok(())
}
