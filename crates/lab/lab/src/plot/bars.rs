//! Bars in named groups, with error bars.

use super::figure::{BarSeries, Error, Interval};
use super::frame::{self, INK, Sheet};
use super::look::Look;
use super::surface::{Chart, Failure};
use plotters::prelude::*;

/// Share of a group's width that its bars fill.
const FILL: f64 = 0.8;

pub(super) fn draw(
    sheet: Sheet<'_>,
    groups: &[String],
    series: &[BarSeries],
) -> Result<String, Error> {
    let Sheet { figure, layout } = sheet;
    let fail = |error: String| Error::new(&figure.title, error);
    let values = || series.iter().flat_map(|s| &s.values).flatten();
    if !values().all(|v| v.mean.is_finite() && v.high.is_finite() && v.low.is_finite()) {
        return Err(fail("a value is not finite".to_owned()));
    }
    let (bottom, top) = frame::y_range(figure, values().copied());
    let base = 0.0_f64.clamp(bottom, top);
    let labels: Vec<&str> = series.iter().map(|s| s.label.as_str()).collect();
    let mut svg = String::new();
    {
        let area = frame::open(sheet, &mut svg, &labels)?;
        let mut chart = ChartBuilder::on(&area)
            .x_label_area_size(layout.scaled(46))
            .y_label_area_size(layout.scaled(66))
            .build_cartesian_2d(-0.5..groups.len() as f64 - 0.5, bottom..top)
            .map_err(|e| fail(e.to_string()))?;
        frame::axes(sheet, &mut chart, groups.len() * 2 + 1, &|x| group_label(groups, *x), false)?;
        let width = FILL / series.len().max(1) as f64;
        for (i, one) in series.iter().enumerate() {
            let offset = i as f64 * width - FILL / 2.0;
            for (group, value) in one.values.iter().enumerate() {
                let Some(value) = value else { continue };
                let left = group as f64 + offset;
                draw_bar(&mut chart, left, width, base, *value, Look::of(i))
                    .map_err(|e| fail(e.to_string()))?;
            }
        }
        area.present().map_err(|e| fail(e.to_string()))?;
    }
    Ok(svg)
}

/// The group's name at its middle, nothing between two groups.
fn group_label(groups: &[String], x: f64) -> String {
    let nearest = x.round();
    if (x - nearest).abs() > 1e-6 || nearest < 0.0 {
        return String::new();
    }
    groups.get(nearest as usize).cloned().unwrap_or_default()
}

fn draw_bar(
    chart: &mut Chart<'_, '_>,
    left: f64,
    width: f64,
    base: f64,
    value: Interval,
    look: Look,
) -> Result<(), Failure> {
    let right = left + width * 0.94;
    look.area(chart, [(left, base), (right, value.mean)])?;
    if value.low < value.high {
        let middle = (left + right) / 2.0;
        let whisker = [(middle, value.low), (middle, value.high)];
        chart.draw_series([PathElement::new(whisker, INK.stroke_width(2))])?;
    }
    Ok(())
}
