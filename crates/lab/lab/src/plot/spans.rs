//! Spans over two numeric axes: ranges of many points between two times.

use super::figure::{Error, Form, Span, SpanSeries};
use super::frame::{self, Sheet};
use super::look::Look;
use super::surface::{Chart, Failure};
use plotters::prelude::*;

/// Minimum height of a bar, as a part of the axis: about a pixel and a half.
const MIN: f64 = 0.004;

pub(super) fn draw(
    sheet: Sheet<'_>,
    series: &[SpanSeries],
    x_range: Option<(f64, f64)>,
) -> Result<String, Error> {
    let Sheet { figure, layout } = sheet;
    let fail = |error: String| Error::new(&figure.title, error);
    let spans = || series.iter().flat_map(|one| &one.spans);
    if !spans().all(|s| [s.from, s.to, s.low, s.high].iter().all(|value| value.is_finite())) {
        return Err(fail("a value is not finite".to_owned()));
    }
    let x = x_range.unwrap_or_else(|| range(spans().flat_map(|span| [span.from, span.to])));
    let y = figure.y_range.unwrap_or_else(|| range(spans().flat_map(|s| [s.low, s.high])));
    let look = |i: usize, one: &SpanSeries| match one.form {
        Form::Bands => Look::solid(frame::LIGHT),
        _ => Look::of(i),
    };
    let coloured = || series.iter().enumerate().map(|(i, one)| (one, look(i, one)));
    let entries: Vec<_> = coloured().map(|(one, look)| (one.label.as_str(), look)).collect();
    let mut svg = String::new();
    {
        let area = frame::open_with(sheet, &mut svg, &entries)?;
        let mut chart = ChartBuilder::on(&area)
            .x_label_area_size(layout.scaled(46))
            .y_label_area_size(layout.scaled(76))
            .build_cartesian_2d(x.0..x.1, y.0..y.1)
            .map_err(|e| fail(e.to_string()))?;
        frame::axes(sheet, &mut chart, layout.labels(10), &|x| frame::number(*x), true)?;
        let minimum = (y.1 - y.0) * MIN;
        let is_band = |one: &SpanSeries| one.form == Form::Bands;
        let ground = coloured().filter(|(one, _)| is_band(one));
        let ahead = coloured().filter(|(one, _)| !is_band(one));
        for (one, look) in ground.chain(ahead) {
            let one = &clipped(one, y.0, y.1);
            draw_series(&mut chart, one, look, minimum).map_err(|e| fail(e.to_string()))?;
        }
        area.present().map_err(|e| fail(e.to_string()))?;
    }
    Ok(svg)
}

/// The spans without their parts beyond the axis; a band is as high as that.
fn clipped(series: &SpanSeries, bottom: f64, top: f64) -> SpanSeries {
    if series.form == Form::Bands {
        let high = |span: &Span| Span { low: bottom, high: top, ..*span };
        return SpanSeries { spans: series.spans.iter().map(high).collect(), ..series.clone() };
    }
    let within = series.spans.iter().filter(|span| span.low <= top && span.high >= bottom);
    let cut = |span: &Span| Span { low: span.low.max(bottom), high: span.high.min(top), ..*span };
    SpanSeries { spans: within.map(cut).collect(), ..series.clone() }
}

/// From the smallest to the largest value, with a margin where they leave no room.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    match () {
        () if low > high => (0.0, 1.0),
        () if low == high => (low - 0.5, high + 0.5),
        () => (low, low + (high - low) * 1.02),
    }
}

fn draw_series(
    chart: &mut Chart<'_, '_>,
    series: &SpanSeries,
    look: Look,
    minimum: f64,
) -> Result<(), Failure> {
    let spans = || series.spans.iter();
    let colour = look.colour;
    match series.form {
        Form::Bars => {
            for span in spans() {
                let (low, high) = (span.low.min(span.high - minimum), span.high);
                if span.to > span.from {
                    look.area(chart, [(span.from, low), (span.to, high)])?;
                }
                let middle = (span.from + span.to) / 2.0;
                let stroke =
                    PathElement::new([(middle, low), (middle, high)], colour.stroke_width(2));
                chart.draw_series([stroke])?;
            }
        }
        Form::Steps => {
            let mut before = None;
            let corners = spans().flat_map(|span| {
                let held = before.replace(span.high).unwrap_or(span.low);
                [(span.from, held), (span.from, span.low), (span.to, span.high)]
            });
            look.line(chart, &corners.collect::<Vec<_>>(), 1)?;
        }
        Form::Bands => {
            for span in spans() {
                let corners = [(span.from, span.low), (span.to, span.high)];
                chart.draw_series([Rectangle::new(corners, colour.mix(0.5).filled())])?;
            }
        }
        Form::Line => {
            let ends = spans().flat_map(|span| [(span.from, span.low), (span.to, span.high)]);
            look.line(chart, &ends.collect::<Vec<_>>(), 1)?;
        }
        Form::Dots => {
            for span in spans() {
                let middle = (span.from + span.to) / 2.0;
                if span.high - span.low > minimum {
                    let ends = [(middle, span.low), (middle, span.high)];
                    chart.draw_series([PathElement::new(ends, colour.stroke_width(2))])?;
                } else {
                    chart.draw_series([Circle::new((middle, span.high), 2, look.dot())])?;
                }
            }
        }
    }
    Ok(())
}
