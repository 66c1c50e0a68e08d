//! Curves over a numeric axis, with confidence bands, dots and event strokes.

use super::figure::{Curve, Error, Interval, Mark};
use super::frame::{self, INK, Sheet};
use super::look::Look;
use super::pixels;
use super::surface::{Chart, Failure};
use plotters::prelude::*;

pub(super) fn draw(sheet: Sheet<'_>, curves: &[Curve]) -> Result<String, Error> {
    let Sheet { figure, layout } = sheet;
    let fail = |error: String| Error::new(&figure.title, error);
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let finite = |&(x, y): &(f64, Interval)| x.is_finite() && y.mean.is_finite();
    if !points().all(finite) {
        return Err(fail("a value is not finite".to_owned()));
    }
    let (left, right) = x_range(points().map(|p| p.0));
    let (bottom, top) = frame::y_range(figure, points().map(|p| p.1));
    let labels: Vec<&str> = curves.iter().map(|curve| curve.label.as_str()).collect();
    let mut svg = String::new();
    {
        let area = frame::open(sheet, &mut svg, &labels)?;
        let mut chart = ChartBuilder::on(&area)
            .x_label_area_size(layout.scaled(46))
            .y_label_area_size(layout.scaled(66))
            .build_cartesian_2d(left..right, bottom..top)
            .map_err(|e| fail(e.to_string()))?;
        frame::axes(sheet, &mut chart, layout.labels(10), &|x| frame::number(*x), true)?;
        for (i, curve) in curves.iter().enumerate() {
            let height = (top - bottom) * 0.025;
            draw_curve(&mut chart, curve, i, height).map_err(|e| fail(e.to_string()))?;
        }
        area.present().map_err(|e| fail(e.to_string()))?;
    }
    Ok(svg)
}

/// From the smallest to the largest x, with a margin where the data leave no width.
fn x_range(xs: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = xs.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    if low > high {
        return (0.0, 1.0);
    }
    if low == high { (low - 0.5, high + 0.5) } else { (low, high) }
}

fn draw_curve(
    chart: &mut Chart<'_, '_>,
    curve: &Curve,
    index: usize,
    stroke: f64,
) -> Result<(), Failure> {
    let look = Look::of(index);
    let colour = look.colour;
    let means = || curve.points.iter().map(|&(x, y)| (x, y.mean));
    match curve.mark {
        Mark::Line | Mark::DottedLine => {
            draw_band(chart, curve, colour)?;
            look.line(chart, &means().collect::<Vec<_>>(), 2)?;
        }
        Mark::Dots => {}
        Mark::Strokes => {
            let line = |(x, y)| {
                PathElement::new([(x, y - stroke), (x, y + stroke)], colour.stroke_width(1))
            };
            let points = pixels::of_dots(chart, means());
            chart.draw_series(points.into_iter().map(line))?;
        }
    }
    if matches!(curve.mark, Mark::DottedLine | Mark::Dots) {
        let points = pixels::of_dots(chart, means());
        chart.draw_series(points.into_iter().map(|point| Circle::new(point, 4, look.dot())))?;
    }
    Ok(())
}

/// The band over the intervals, with bars at each point so that it shows in greyscale too.
fn draw_band(chart: &mut Chart<'_, '_>, curve: &Curve, colour: RGBColor) -> Result<(), Failure> {
    if curve.points.iter().all(|(_, y)| y.low == y.high) {
        return Ok(());
    }
    let lower = curve.points.iter().map(|&(x, y)| (x, y.low));
    let upper = curve.points.iter().rev().map(|&(x, y)| (x, y.high));
    let outline: Vec<(f64, f64)> = lower.chain(upper).collect();
    chart.draw_series([Polygon::new(outline, colour.mix(0.15))])?;
    let bar = |&(x, y): &(f64, Interval)| {
        PathElement::new([(x, y.low), (x, y.high)], INK.mix(0.6).stroke_width(1))
    };
    chart.draw_series(curve.points.iter().map(bar))?;
    Ok(())
}
