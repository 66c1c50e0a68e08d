//! Results of one point of a sweep over its runs.

use super::experiments::{DISCONNECTION, LIMIT_KBPS, MOBILE, NEAR, STEADY_S, STEP_S};
use super::measure::{self, Courses, courses, known_over_runs, mean, over_runs};
use fairwave_lab::run::Run;
use fairwave_lab::stats::{self, Estimate};
use fairwave_study::{Error, Results};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Seconds after the handover over which goodputs and loss intervals are averaged.
const AFTER_S: f64 = 10.0;

/// The runs of a point, averaged. Curves begin with the end of the handover.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Point {
    /// Seconds without an access point.
    pub(super) disconnection: f64,
    /// The paper's recovery time; a run that does not recover counts with its whole length.
    pub(super) recovery: Option<Estimate>,
    /// Time at which the mean rate first reaches nine tenths of the residents'.
    pub(super) caught_up: Option<f64>,
    /// Until when it stays below the residents'.
    pub(super) below: Option<f64>,
    /// Time at which it is first within a fifth of the residents', and stays.
    pub(super) within: Option<f64>,
    /// Seconds of the curves.
    pub(super) length: f64,
    /// Sending rates in kbps.
    pub(super) mobile: Vec<f64>,
    pub(super) residents: Vec<f64>,
    /// Mean loss interval of the mobile, in packets; of the residents, the mean of 10 s.
    pub(super) interval: Vec<(f64, f64)>,
    pub(super) residents_interval: Option<f64>,
    /// Round-trip time of the mobile in seconds; of the residents, the mean of 2 s.
    pub(super) rtt: Vec<(f64, f64)>,
    pub(super) residents_rtt: Option<f64>,
    /// Goodput of the mobile over the residents', in the first and in the second second, if it is
    /// known of every run.
    pub(super) first_second: Option<f64>,
    pub(super) second_second: Option<f64>,
    /// The same from 1 s to 3 s.
    pub(super) from_1_s: Option<f64>,
    /// Mean goodput of a resident in 10 s, in kbps.
    pub(super) residents_goodput: Option<Estimate>,
    /// Results of the residents by run.
    pub(super) of_residents: Vec<OfResidents>,
    /// The greatest standard deviation of ten rates since the handover of any run, and the mean.
    pub(super) most_deviation: f64,
    pub(super) mean_deviation: f64,
    /// The greatest of the mean over runs, as a curve over repetitions shows it, of rates averaged
    /// over a second: the most lenient reading of the paper's 81 kbps.
    pub(super) steady_deviation: f64,
}

/// Results of the residents in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct OfResidents {
    pub(super) seed: u64,
    /// Mean goodput in the 10 s after the handover, in kbps.
    pub(super) goodput_kbps: f64,
    /// 95th percentile of the one-way delays of a resident's packets over the whole run, the mean
    /// over residents.
    pub(super) delay_p95_ms: f64,
}

impl OfResidents {
    fn of(run: &Run, courses: &Courses) -> Option<Self> {
        let residents = run.summary.flows.iter().filter(|flow| flow.name != MOBILE);
        let delays = residents.filter_map(|flow| Some(flow.delay.as_ref()?.p95_ns as f64 / 1e6));
        Some(Self {
            seed: run.seed,
            goodput_kbps: courses.residents_goodput(0.0, AFTER_S)?,
            delay_p95_ms: mean(delays)?,
        })
    }
}

impl Point {
    fn of(runs: &[Arc<Courses>]) -> Option<Self> {
        let first = runs.first()?;
        let length = first.after() as f64 * STEP_S;
        let recoveries: Vec<f64> =
            runs.iter().map(|run| run.recovery(LIMIT_KBPS).unwrap_or(length)).collect();
        let goodputs: Vec<f64> =
            runs.iter().filter_map(|run| run.residents_goodput(0.0, AFTER_S)).collect();
        let share = |from: f64, to: f64| {
            let of = |run: &Arc<Courses>| {
                Some(run.mobile_goodput(from, to)? / run.residents_goodput(from, to)?)
            };
            let shares: Option<Vec<f64>> = runs.iter().map(of).collect();
            stats::mean(&shares?)
        };
        let deviations = over_runs(runs, Courses::deviation);
        let maximum =
            runs.iter().flat_map(|run| (run.end..run.mobile.rate.len()).map(|k| run.deviation(k)));
        let rates = measure::rates(runs);
        Some(Self {
            disconnection: 0.0,
            recovery: Estimate::of(&recoveries),
            caught_up: measure::caught_up(&rates, 0.9),
            below: measure::stays_below(&rates),
            within: measure::within(&rates, NEAR, STEADY_S),
            length,
            mobile: rates.mobile,
            residents: rates.residents,
            interval: known_over_runs(runs, |run, k| run.mobile.interval[k]),
            residents_interval: until(&known_over_runs(runs, Courses::residents_interval), AFTER_S),
            rtt: known_over_runs(runs, |run, k| run.mobile.rtt[k]),
            residents_rtt: until(&known_over_runs(runs, Courses::residents_rtt), 2.0),
            first_second: share(0.0, 1.0),
            second_second: share(1.0, 2.0),
            from_1_s: share(1.0, 1.0 + STEADY_S),
            residents_goodput: Estimate::of(&goodputs),
            of_residents: Vec::new(),
            most_deviation: maximum.fold(0.0, f64::max),
            steady_deviation: steady(runs),
            mean_deviation: mean(deviations.into_iter()).unwrap_or(0.0),
        })
    }

    /// Mean loss interval of the mobile in the 10 s after the handover.
    pub(super) fn interval_after(&self) -> Option<f64> {
        until(&self.interval, AFTER_S)
    }

    /// Round-trip time of the mobile over the residents', in the 2 s after the handover.
    pub(super) fn rtt_ratio(&self) -> Option<f64> {
        Some(until(&self.rtt, 2.0)? / self.residents_rtt?)
    }
}

/// The greatest deviation of the ten rates, means over a second and over runs.
fn steady(runs: &[Arc<Courses>]) -> f64 {
    let of_runs = known_over_runs(runs, Courses::steady_deviation);
    of_runs.into_iter().map(|(_, deviation)| deviation).fold(0.0, f64::max)
}

/// The mean of a curve from its beginning to `seconds`.
fn until(curve: &[(f64, f64)], seconds: f64) -> Option<f64> {
    mean(curve.iter().take_while(|(t, _)| *t <= seconds).map(|(_, value)| *value))
}

/// The points of an experiment, by the value of `axis`, in the order of disconnections. One run is
/// in memory at a time for each seed of a point.
pub(super) fn points(
    results: &Results,
    experiment: &str,
    axis: &str,
) -> Result<BTreeMap<String, Vec<Point>>, Error> {
    points_where(results, experiment, axis, &[])
}

/// The same of the runs with these values of other axes.
pub(super) fn points_where(
    results: &Results,
    experiment: &str,
    axis: &str,
    others: &[(&str, &str)],
) -> Result<BTreeMap<String, Vec<Point>>, Error> {
    let mut all: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    for value in axis_or_all(results, experiment, axis) {
        for time in axis_or_all(results, experiment, DISCONNECTION) {
            let axes = [(axis, value.as_str()), (DISCONNECTION, time.as_str())];
            let given = axes.into_iter().filter(|(_, value)| !value.is_empty());
            let given: Vec<_> = given.chain(others.iter().copied()).collect();
            let runs = results.select(experiment, &given);
            if let Some(point) = point(results, &runs)? {
                all.entry(value.clone()).or_default().push(point);
            }
        }
    }
    for points in all.values_mut() {
        points.sort_by(|a, b| a.disconnection.total_cmp(&b.disconnection));
    }
    Ok(all)
}

fn axis_or_all(results: &Results, experiment: &str, axis: &str) -> Vec<String> {
    let values = results.axis(experiment, axis);
    if values.is_empty() { vec![String::new()] } else { values }
}

/// Results of these runs of one point.
pub(super) fn point(results: &Results, runs: &[&Run]) -> Result<Option<Point>, Error> {
    let (mut read, mut of_residents) = (Vec::new(), Vec::new());
    for run in runs {
        if let Some(courses) = courses(results, run)? {
            of_residents.extend(OfResidents::of(run, &courses));
            read.push(courses);
        }
    }
    let disconnection = runs.first().map_or(0.0, |run| measure::disconnection(run));
    Ok(Point::of(&read).map(|point| Point { disconnection, of_residents, ..point }))
}

/// The point with this disconnection.
pub(super) fn at(points: &[Point], seconds: f64) -> Option<&Point> {
    points.iter().find(|point| (point.disconnection - seconds).abs() < 1e-9)
}
