//! Figures as data, drawn as SVG and PNG with one look.
//!
//! A [`Figure`] knows its axes with their units and its series, nothing of runs or samples.
//! Drawing is deterministic: text is measured by rule, not by whatever fonts the system has,
//! and PNGs are rendered with fonts inside the binary.

mod bars;
mod compact;
mod curves;
mod data;
mod explore;
mod figure;
mod frame;
mod heat;
mod layout;
mod look;
mod pixels;
mod png;
mod spans;
mod surface;

pub use explore::{Explorer, Plots};
pub use figure::{
    BarSeries, Content, Curve, Error, Figure, Form, Interval, Map, Mark, Span, SpanSeries,
};
pub use layout::Layout;
pub use png::{to_png, to_png_as};

impl Figure {
    /// Draws the figure for a screen.
    pub fn to_svg(&self) -> Result<String, Error> {
        self.to_svg_as(Layout::SCREEN)
    }

    /// Draws the figure in a layout.
    pub fn to_svg_as(&self, layout: Layout) -> Result<String, Error> {
        let sheet = frame::Sheet { figure: self, layout };
        match &self.content {
            Content::Curves(curves) => curves::draw(sheet, curves),
            Content::Bars { groups, series } => bars::draw(sheet, groups, series),
            Content::Spans { series, x_range } => spans::draw(sheet, series, *x_range),
            Content::Map(map) => heat::draw(sheet, map),
        }
    }
}

#[cfg(test)]
mod tests;
