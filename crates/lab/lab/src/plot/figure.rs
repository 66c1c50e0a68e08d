//! A figure as data: its axes, its series, and their appearance.

use std::fmt;

/// Reason for which a figure could not be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the figure {title:?} cannot be drawn: {why}")]
pub struct Error {
    pub(super) title: String,
    pub(super) why: String,
}

impl Error {
    pub(super) fn new(title: &str, why: impl fmt::Display) -> Self {
        Self { title: title.to_owned(), why: why.to_string() }
    }
}

/// A value with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The value.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// A value known exactly.
    pub const fn exact(mean: f64) -> Self {
        Self { mean, low: mean, high: mean }
    }
}

impl From<crate::stats::Estimate> for Interval {
    fn from(estimate: crate::stats::Estimate) -> Self {
        Self { mean: estimate.mean, low: estimate.low(), high: estimate.high() }
    }
}

/// Appearance of a series of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line, with a band over the intervals.
    Line,
    /// A line with a dot at each point, with a band over the intervals.
    DottedLine,
    /// A dot at each point.
    Dots,
    /// A short vertical stroke at each point: an event raster.
    Strokes,
}

/// A series of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name in the legend.
    pub label: String,
    /// Its points, in order of x.
    pub points: Vec<(f64, Interval)>,
    /// Its appearance.
    pub mark: Mark,
}

/// A series of bars: one for each group.
#[derive(Clone, Debug, PartialEq)]
pub struct BarSeries {
    /// Its name in the legend.
    pub label: String,
    /// Its values, by group; `None` leaves a gap.
    pub values: Vec<Option<Interval>>,
}

/// A value for each pair of a column and a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    /// Names of the columns, from the left.
    pub columns: Vec<String>,
    /// Names of the rows, from the top.
    pub rows: Vec<String>,
    /// A row's values, by column; `None` leaves a gap.
    pub cells: Vec<Vec<Option<f64>>>,
    /// A line across the map: for each row where it passes, in columns; 0 is the middle of the
    /// first. Empty for no line.
    pub line: Vec<Option<f64>>,
}

/// Range of the points between two values of x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The first x.
    pub from: f64,
    /// The last x.
    pub to: f64,
    /// The smallest y.
    pub low: f64,
    /// The greatest y.
    pub high: f64,
}

/// Appearance of spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A bar over each, never too low to be seen.
    Bars,
    /// A line that keeps its height from span to span.
    Steps,
    /// A line from the low end to the high end of each.
    Line,
    /// A dot in the middle of each, or a stroke from end to end.
    Dots,
    /// A light ground from the bottom of the axis to its top, behind all else; the ends of a span
    /// do not matter.
    Bands,
}

/// A series of spans.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanSeries {
    /// Its name in the legend.
    pub label: String,
    /// Its spans, in order of x.
    pub spans: Vec<Span>,
    /// Their appearance.
    pub form: Form,
}

/// Content of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Curves over a numeric axis.
    Curves(Vec<Curve>),
    /// Bars in named groups.
    Bars {
        /// Names of the groups.
        groups: Vec<String>,
        /// The series.
        series: Vec<BarSeries>,
    },
    /// Spans over two numeric axes; without a `y_range` the y axis fits the data.
    Spans {
        /// The series.
        series: Vec<SpanSeries>,
        /// Bounds of the x axis; `None` fits the data.
        x_range: Option<(f64, f64)>,
    },
    /// A map in colours, with their scale; the figure's `y_range` is of the values.
    Map(Map),
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its title.
    pub title: String,
    /// Quantity on the x axis, with the unit.
    pub x_label: String,
    /// Quantity on the y axis, with the unit.
    pub y_label: String,
    /// Bounds of the y axis, or of a map's colours; `None` includes zero and fits the data.
    pub y_range: Option<(f64, f64)>,
    /// Its content.
    pub content: Content,
}
