//! Figures as data, drawn as SVG and PNG with one look.
//!
//! A [`Figure`] knows its axes with their units and its series, nothing of runs or samples.
//! Drawing is deterministic: text is measured by rule, not by whatever fonts the system has,
//! and PNGs are rendered with fonts inside the binary.

mod bars;
mod curves;
mod figure;
mod frame;
mod heat;
mod png;
mod spans;

pub use figure::{
    BarSeries, Content, Curve, Error, Figure, Form, Interval, Map, Mark, Span, SpanSeries,
};
pub use png::to_png;

impl Figure {
    /// Draws the figure.
    pub fn to_svg(&self) -> Result<String, Error> {
        match &self.content {
            Content::Curves(curves) => curves::draw(self, curves),
            Content::Bars { groups, series } => bars::draw(self, groups, series),
            Content::Spans { series, x_range } => spans::draw(self, series, *x_range),
            Content::Map(map) => heat::draw(self, map),
        }
    }
}

#[cfg(test)]
mod tests;
