//! Figures as JSON, for a page whose script draws them.
//!
//! ```text
//! {"title", "x", "y", "range": [low, high], "span": [low, high], "groups": [name, ...],
//!  "series": [{"label", "form", "x": NUMBERS, "to": NUMBERS, "y": NUMBERS, "low", "high"}]}
//! ```
//! `NUMBERS` are integers: the decimal places, then the first value and the differences of the
//! following ones, in units of the last place. Series in which neighbours are near take two or
//! three characters for each number.

use super::figure::{BarSeries, Content, Curve, Figure, Form, Interval, Mark, SpanSeries};
use serde::Serialize;

/// Part of the largest value that rounding may change.
const PRECISION: f64 = 5e-7;
/// Range of the decimal places.
const PLACES: std::ops::Range<i32> = -9..15;

/// A figure.
#[derive(Debug, Serialize)]
pub(super) struct Data<'a> {
    title: &'a str,
    x: &'a str,
    y: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<(f64, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<(f64, f64)>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    groups: &'a [String],
    series: Vec<Series<'a>>,
}

/// A series. `low` and `high` are left out where they equal `y`, and `to` where it equals `x`.
#[derive(Debug, Serialize)]
struct Series<'a> {
    label: &'a str,
    form: &'static str,
    x: Vec<i64>,
    y: Vec<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    to: Vec<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    low: Vec<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    high: Vec<i64>,
}

impl<'a> Data<'a> {
    /// The data of a figure; `None` for a map, whose cells show their values.
    pub(super) fn of(figure: &'a Figure) -> Option<Self> {
        let (groups, span, series) = match &figure.content {
            Content::Curves(curves) => (&[][..], None, curves.iter().map(curve).collect()),
            Content::Bars { groups, series } => {
                (&groups[..], None, series.iter().map(bars).collect())
            }
            Content::Spans { series, x_range } => {
                (&[][..], *x_range, series.iter().map(spans).collect())
            }
            Content::Map(_) => return None,
        };
        let Figure { title, x_label, y_label, y_range: range, .. } = figure;
        Some(Self { title, x: x_label, y: y_label, range: *range, span, groups, series })
    }
}

fn curve(curve: &Curve) -> Series<'_> {
    let form = match curve.mark {
        Mark::Line => "line",
        Mark::DottedLine => "dotted",
        Mark::Dots => "dots",
        Mark::Strokes => "strokes",
    };
    of_points(&curve.label, form, &curve.points)
}

fn bars(series: &BarSeries) -> Series<'_> {
    let values = series.values.iter().enumerate();
    let points = values.filter_map(|(group, value)| Some((group as f64, (*value)?)));
    of_points(&series.label, "columns", &points.collect::<Vec<_>>())
}

fn of_points<'a>(label: &'a str, form: &'static str, points: &[(f64, Interval)]) -> Series<'a> {
    let mut series = Series {
        label,
        form,
        x: numbers(points.iter().map(|(x, _)| *x)),
        y: numbers(points.iter().map(|(_, y)| y.mean)),
        to: Vec::new(),
        low: Vec::new(),
        high: Vec::new(),
    };
    if points.iter().any(|(_, y)| y.low < y.high) {
        series.low = numbers(points.iter().map(|(_, y)| y.low));
        series.high = numbers(points.iter().map(|(_, y)| y.high));
    }
    series
}

fn spans(series: &SpanSeries) -> Series<'_> {
    let form = match series.form {
        Form::Bars => "bars",
        Form::Steps => "steps",
        Form::Line => "spans",
        Form::Dots => "ranges",
        Form::Bands => "bands",
    };
    let of = || series.spans.iter();
    let given = |is_needed: bool, values: Vec<i64>| if is_needed { values } else { Vec::new() };
    Series {
        label: &series.label,
        form,
        x: numbers(of().map(|span| span.from)),
        y: numbers(of().map(|span| span.high)),
        to: given(of().any(|s| s.to != s.from), numbers(of().map(|span| span.to))),
        low: given(of().any(|s| s.low != s.high), numbers(of().map(|span| span.low))),
        high: Vec::new(),
    }
}

/// Values as integers, to half a millionth of the largest one.
fn numbers(values: impl Iterator<Item = f64> + Clone) -> Vec<i64> {
    let largest = values.clone().map(f64::abs).fold(0.0, f64::max);
    let is_exact = |places: i32| {
        let near = |value: f64| (unscaled(scaled(value, places), places) - value).abs();
        values.clone().all(|value| near(value) <= largest * PRECISION)
    };
    let places = PLACES.clone().find(|places| is_exact(*places)).unwrap_or(PLACES.end);
    let mut last = 0;
    let differences = values.map(|value| {
        let whole = scaled(value, places);
        let difference = whole - last;
        last = whole;
        difference
    });
    std::iter::once(i64::from(places)).chain(differences).collect()
}

/// The value in units of its last decimal place.
fn scaled(value: f64, places: i32) -> i64 {
    let power = power_of_ten(places);
    (if places < 0 { value / power } else { value * power }).round() as i64
}

fn unscaled(whole: i64, places: i32) -> f64 {
    let power = power_of_ten(places);
    if places < 0 { whole as f64 * power } else { whole as f64 / power }
}

/// Ten to the magnitude of `places`: up to 22 that is exact.
fn power_of_ten(places: i32) -> f64 {
    (0..places.unsigned_abs()).fold(1.0, |power, _| power * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Vec<i64> {
        numbers(values.iter().copied())
    }

    #[test]
    fn numbers_are_differences_with_as_few_places_as_six_digits_need() {
        assert_eq!(of(&[0.0, 1.5, 1.25]), [2, 0, 150, -25]);
        assert_eq!(of(&[3_000.0, 4_000.0]), [-3, 3, 1]);
        assert_eq!(of(&[1.0 / 3.0]), [7, 3_333_333]);
        assert_eq!(of(&[0.0, 0.0]), [-9, 0, 0]);
        assert_eq!(of(&[]), [-9]);
    }

    #[test]
    fn a_map_has_no_data_and_an_exact_curve_no_interval() {
        let mut figure = Figure {
            title: "t".to_owned(),
            x_label: "x".to_owned(),
            y_label: "y".to_owned(),
            y_range: None,
            content: Content::Curves(vec![Curve {
                label: "a".to_owned(),
                points: vec![(1.0, Interval::exact(2.0)), (2.0, Interval::exact(4.0))],
                mark: Mark::Dots,
            }]),
        };
        let json = serde_json::to_string(&Data::of(&figure)).expect("JSON");
        assert_eq!(
            json,
            "{\"title\":\"t\",\"x\":\"x\",\"y\":\"y\",\"series\":[{\"label\":\"a\",\
             \"form\":\"dots\",\"x\":[0,1,1],\"y\":[0,2,2]}]}"
        );
        figure.content = Content::Map(super::super::Map::default());
        assert!(Data::of(&figure).is_none());
    }
}
