//! Appearance of series, which differs for each: eight colours, then the same with other strokes.

use super::pixels;
use super::surface::{Area, Chart, Failure};
use plotters::prelude::*;

/// Okabe and Ito's palette (2008), which readers with any common colour blindness can distinguish.
/// Yellow is left out, being too light for a line on white; the last colour is a brown.
const PALETTE: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(60, 60, 60),
    RGBColor(133, 77, 27),
];

/// Appearance of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) colour: RGBColor,
    /// Times that the palette was used up before.
    round: i32,
}

impl Look {
    /// The look of series number `index`.
    pub(super) fn of(index: usize) -> Self {
        let round = i32::try_from(index / PALETTE.len()).unwrap_or(i32::MAX);
        Self { colour: PALETTE[index % PALETTE.len()], round }
    }

    /// A look of this colour with a solid stroke.
    pub(super) const fn solid(colour: RGBColor) -> Self {
        Self { colour, round: 0 }
    }

    /// Length of dashes and of the gaps between them; `None` for a solid line.
    fn dashes(self) -> Option<(i32, i32)> {
        match self.round {
            0 => None,
            1 => Some((8, 4)),
            2 => Some((2, 4)),
            round => Some((16, 4 * (round - 2).min(1000))),
        }
    }

    /// Fill of an area: solid at first, then lighter inside an outline.
    pub(super) fn fill(self) -> ShapeStyle {
        let part = 1.0 / f64::from(self.round.saturating_add(1));
        self.colour.mix(part).filled()
    }

    /// Outline of an area; `None` where its fill is solid.
    pub(super) fn outline(self) -> Option<ShapeStyle> {
        (self.round > 0).then(|| self.colour.stroke_width(1))
    }

    /// A dot: filled at first, then a ring.
    pub(super) fn dot(self) -> ShapeStyle {
        if self.round == 0 { self.colour.filled() } else { self.colour.stroke_width(1) }
    }

    /// Draws a line of this look through points of a chart.
    pub(super) fn line(
        self,
        chart: &mut Chart<'_, '_>,
        points: &[(f64, f64)],
        width: u32,
    ) -> Result<(), Failure> {
        let style = self.colour.stroke_width(width);
        let points = pixels::of_line(chart, points);
        match self.dashes() {
            None => chart.draw_series(LineSeries::new(points, style))?,
            Some((dash, gap)) => {
                chart.draw_series(DashedLineSeries::new(points, dash, gap, style))?
            }
        };
        Ok(())
    }

    /// Draws a rectangle of this look between two corners of a chart.
    pub(super) fn area(
        self,
        chart: &mut Chart<'_, '_>,
        corners: [(f64, f64); 2],
    ) -> Result<(), Failure> {
        chart.draw_series([Rectangle::new(corners, self.fill())])?;
        if let Some(outline) = self.outline() {
            chart.draw_series([Rectangle::new(corners, outline)])?;
        }
        Ok(())
    }

    /// Draws its mark in the legend: a box, or a piece of its line.
    pub(super) fn swatch(
        self,
        root: &Area<'_>,
        x: i32,
        y: i32,
        size: (i32, i32),
    ) -> Result<(), Failure> {
        let (width, height) = size;
        let Some((dash, gap)) = self.dashes() else {
            return root
                .draw(&Rectangle::new([(x, y), (x + width, y + height)], self.colour.filled()));
        };
        let middle = y + height / 2;
        let mut at = x;
        while at < x + width {
            let end = (at + dash).min(x + width);
            let piece = [(at, middle), (end, middle)];
            root.draw(&PathElement::new(piece, self.colour.stroke_width(2)))?;
            at = end + gap;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_of_a_hundred_looks_are_alike() {
        let looks: Vec<(RGBColor, Option<(i32, i32)>)> =
            (0..100).map(|i| (Look::of(i).colour, Look::of(i).dashes())).collect();
        for (i, look) in looks.iter().enumerate() {
            assert!(!looks[..i].contains(look), "series {i}");
        }
        assert!(looks[..8].iter().all(|(_, dashes)| dashes.is_none()));
    }
}
