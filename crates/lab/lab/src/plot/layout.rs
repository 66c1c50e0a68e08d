//! Size of a figure and of its text.

use fairwave_units::Metres;

/// Pixels of an SVG without units for each metre (CSS: 96 for each inch).
const PIXELS_PER_METRE: f64 = 96.0 / 0.0254;
/// Height of a figure in print, as a part of its width.
const PRINTED_HEIGHT: f64 = 0.62;
/// Pixels of a PNG for each of the SVG: sharp on a dense screen.
const ON_SCREEN: f32 = 2.0;
/// The same in print: 600 for each inch.
const IN_PRINT: f32 = 600.0 / 96.0;

/// Size of a figure and of its text, in pixels of the SVG.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layout {
    /// Width of the whole figure.
    pub(super) width: u32,
    /// Height with one row of legend. Further rows add to it.
    pub(super) height: u32,
    /// Size of labels and of the legend.
    pub(super) text: u32,
    /// Size of the names of axes.
    pub(super) axis: u32,
    /// Size of the title; `None` leaves it to the caption.
    pub(super) title: Option<u32>,
    /// Pixels of a PNG for each of the SVG.
    pub(super) scale: f32,
}

impl Layout {
    /// For a screen, or the width of a page.
    pub const SCREEN: Self =
        Self { width: 820, height: 440, text: 13, axis: 14, title: Some(18), scale: ON_SCREEN };

    /// For print at this width, such as 85 mm for a column of a paper: text of eight points, no
    /// title, since a caption has it, and PNGs of 600 pixels an inch.
    pub fn printed(width: Metres) -> Self {
        let width = width.0 * PIXELS_PER_METRE;
        Self {
            width: width.round() as u32,
            height: (width * PRINTED_HEIGHT).round() as u32,
            // Eight points are 10.7 pixels.
            text: 11,
            axis: 11,
            title: None,
            scale: IN_PRINT,
        }
    }

    /// Height of a row of the legend.
    pub(super) const fn row(&self) -> i32 {
        self.text as i32 + 7
    }

    /// Distance of the legend from the top.
    pub(super) const fn legend_top(&self) -> i32 {
        if self.title.is_some() { 40 } else { 6 }
    }

    /// Distance of the legend from the left: where the x axis begins on a screen.
    pub(super) const fn legend_left(&self) -> i32 {
        if self.title.is_some() { 78 } else { 8 }
    }

    /// Width of `text`, by rule instead of by the fonts of a system.
    pub(super) fn text_width(&self, text: &str) -> i32 {
        let per_character = f64::from(self.text) / 13.0 * 6.9;
        (text.chars().count() as f64 * per_character) as i32
    }

    /// A size that is `pixels` on a screen, in proportion to the text.
    pub(super) const fn scaled(&self, pixels: i32) -> i32 {
        pixels * self.text as i32 / Self::SCREEN.text as i32
    }

    /// The whole width, as a coordinate.
    pub(super) const fn right(&self) -> i32 {
        self.width as i32
    }

    /// Number of labels of an axis that has room for `count` on a screen.
    pub(super) fn labels(&self, count: usize) -> usize {
        if self.title.is_some() { count } else { count.div_ceil(2) }
    }
}
