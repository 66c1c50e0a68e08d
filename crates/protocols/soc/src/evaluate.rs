//! Quality with which a filter's reports follow a channel: the paper's open question (section 6),
//! as a function over samples.

use crate::filter::FilterSpec;
use fairwave_units::{Db, Duration, Instant};

/// A sample, and the true level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Time.
    pub at: Instant,
    /// SNR of the path alone, without fading: the value that a scheduler would want.
    pub mean: Db,
    /// SNR that was measured.
    pub sample: Db,
}

/// Quality of a filter's reports on a channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// Intervals that had a report.
    pub reports: u32,
    /// Excess of the reports over the mean, on average.
    pub bias: Db,
    /// Root mean square of the error of the report in force, at each sample.
    pub error: Db,
    /// The same once bias and lag are taken out: the fading that the filter lets through.
    pub noise: Db,
    /// Delay of the reports: the shift at which they fit best. `None` if the mean does not move by
    /// a decibel, and then there is no delay to find.
    pub lag: Option<Duration>,
}

/// Lags that are tried: each multiple of this up to [`MAX_LAG`].
const LAG_STEP: Duration = Duration::from_millis(10);
/// The longest lag that is tried.
const MAX_LAG: Duration = Duration::from_millis(3000);

/// Runs a filter over `points`, which are in the order of time, and compares the report in force at
/// each with the mean there. A report is in force from the end of its interval, as if it took no
/// time, until the next; points before the first do not count, nor do the first three seconds, in
/// which filters settle and there is no past to lag behind.
///
/// `None` if no point remains.
pub fn evaluate(filter: FilterSpec, interval: Duration, points: &[Point]) -> Option<Evaluation> {
    let (held, reports) = held(filter, interval, points);
    compare(points, &held, reports)
}

/// Compares the access point's estimate at each of `points`, which are in the order of time, with
/// the mean there: as [`evaluate`], for reports that took their time or were lost. `held` is as
/// long as `points`; `None` where nothing is known.
///
/// `None` if no point remains.
pub fn compare(points: &[Point], held: &[Option<Db>], reports: u32) -> Option<Evaluation> {
    debug_assert!(points.is_sorted_by_key(|point| point.at), "points are out of order");
    debug_assert_eq!(points.len(), held.len(), "one value for each point");
    let start = points.first()?.at + MAX_LAG;
    let settled = points.iter().zip(held).filter(|(point, _)| point.at >= start);
    let seen: Vec<(Point, f64)> =
        settled.filter_map(|(point, held)| Some((*point, held.as_ref()?.0))).collect();
    let now = Spread::of(seen.iter().map(|(point, held)| held - point.mean.0))?;
    let means = points.iter().map(|point| point.mean.0);
    let (minimum, maximum) =
        means.fold((f64::MAX, f64::MIN), |(a, b), mean| (a.min(mean), b.max(mean)));
    let (lag, noise) = if maximum - minimum < 1.0 {
        (None, now.variance)
    } else {
        let (lag, noise) = best_lag(points, &seen, now.variance);
        (Some(lag), noise)
    };
    Some(Evaluation {
        reports,
        bias: Db(now.mean),
        error: Db((now.mean * now.mean + now.variance).sqrt()),
        noise: Db(noise.sqrt()),
        lag,
    })
}

/// The report in force at each point, and how many there were.
fn held(filter: FilterSpec, interval: Duration, points: &[Point]) -> (Vec<Option<Db>>, u32) {
    let mut filter = filter.build();
    let mut end = points.first().map_or(Instant::ZERO, |point| point.at) + interval;
    let (mut in_force, mut reports) = (None, 0);
    let mut held = Vec::with_capacity(points.len());
    for point in points {
        while end <= point.at {
            let report = filter.close(end);
            reports += u32::from(report.is_some());
            in_force = report.or(in_force);
            end += interval;
        }
        held.push(in_force);
        filter.sample(point.at, point.sample);
    }
    (held, reports)
}

/// Returns the lag with the smallest variance of the error, and that variance.
fn best_lag(points: &[Point], seen: &[(Point, f64)], unshifted: f64) -> (Duration, f64) {
    let lags = (1..=MAX_LAG / LAG_STEP).map(|step| LAG_STEP * step);
    let start = (Duration::ZERO, unshifted);
    lags.filter_map(|lag| Some((lag, shifted(points, seen, lag)?)))
        .fold(start, |best, next| if next.1 < best.1 { next } else { best })
}

/// Variance of the error against the mean that was `lag` ago.
fn shifted(points: &[Point], seen: &[(Point, f64)], lag: Duration) -> Option<f64> {
    let mut past = Past { points, at: 0 };
    let errors = seen.iter().map(|(point, held)| held - past.mean_at(point.at - lag));
    Spread::of(errors).map(|spread| spread.variance)
}

/// Reads the mean at times that do not go back, on lines between points.
struct Past<'a> {
    points: &'a [Point],
    at: usize,
}

impl Past<'_> {
    fn mean_at(&mut self, time: Instant) -> f64 {
        while self.points.get(self.at + 1).is_some_and(|next| next.at <= time) {
            self.at += 1;
        }
        let before = &self.points[self.at];
        let Some(after) = self.points.get(self.at + 1) else { return before.mean.0 };
        let span = after.at.since(before.at).as_secs_f64();
        let way = time.since(before.at).as_secs_f64() / span;
        before.mean.0 + (after.mean.0 - before.mean.0) * way
    }
}

/// Mean and variance.
#[derive(Clone, Copy, Debug)]
struct Spread {
    mean: f64,
    variance: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        // Welford's recurrence: no cancellation, one pass.
        let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
        for value in values {
            count += 1.0;
            let off = value - mean;
            mean += off / count;
            squares += off * (value - mean);
        }
        (count > 0.0).then(|| Self { mean, variance: squares / count })
    }
}

#[cfg(test)]
mod tests;
