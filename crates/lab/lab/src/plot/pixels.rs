//! Points that a drawing needs: those that change a pixel.
//!
//! Coordinates of a drawing are whole pixels, so that most points of a long series lie on others.
//! Without these, only edges of what was drawn several times become a shade lighter.

use super::surface::Chart;
use std::collections::BTreeSet;

/// Points of a line that change a pixel: of neighbours in one column the first, the lowest, the
/// highest and the last (M4; Jugel, Jerzak, Hackenbroich and Markl, VLDB 2014).
pub(super) fn of_line(chart: &Chart<'_, '_>, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let columns: Vec<i32> = points.iter().map(|point| chart.backend_coord(point).0).collect();
    let mut kept = Vec::new();
    let mut start = 0;
    for column in columns.chunk_by(|a, b| a == b) {
        let end = start + column.len();
        let run = &points[start..end];
        let by_height = |a: &usize, b: &usize| run[*a].1.total_cmp(&run[*b].1);
        let low = (0..run.len()).min_by(by_height);
        let high = (0..run.len()).max_by(by_height);
        let corners = [Some(0), low, high, Some(run.len() - 1)];
        let corners: BTreeSet<usize> = corners.into_iter().flatten().collect();
        kept.extend(corners.into_iter().map(|corner| run[corner]));
        start = end;
    }
    kept.dedup_by_key(|point| chart.backend_coord(point));
    kept
}

/// One of all points at the same pixel, in the order of the first of each.
pub(super) fn of_dots(
    chart: &Chart<'_, '_>,
    points: impl Iterator<Item = (f64, f64)>,
) -> Vec<(f64, f64)> {
    let mut taken = BTreeSet::new();
    points.filter(|point| taken.insert(chart.backend_coord(point))).collect()
}
