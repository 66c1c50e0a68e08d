//! Surfaces that figures are drawn on.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

/// The drawing area over an SVG text.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// A chart over two real axes.
pub(super) type Chart<'a, 'b> =
    ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
/// An error of drawing.
pub(super) type Failure = DrawingAreaErrorKind<std::io::Error>;
