//! The ten flows of a run over time.

use super::experiments::{DISCONNECTION, HANDOVER_S, MOBILE, SOURCE_KBPS, STEP_S};
use fairwave_lab::results::{FLOWS, Series};
use fairwave_lab::run::Run;
use fairwave_lab::stats;
use fairwave_study::{Error, Results};
use fairwave_units::Duration;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// One flow, sampled every [`STEP_S`]; the first sample is one step after the run's beginning.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Course {
    /// Sending rate in kbps: the rate that congestion control allows, but not more than the source
    /// makes; for an algorithm without rates, the goodput of the last half second.
    pub(super) rate: Vec<f64>,
    /// Mean loss interval in packets; `None` before the first loss.
    pub(super) interval: Vec<Option<f64>>,
    /// Smoothed round-trip time in seconds.
    pub(super) rtt: Vec<Option<f64>>,
    /// Bytes delivered so far.
    pub(super) delivered: Vec<f64>,
}

/// The mobile's flow and those of the residents in one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Courses {
    pub(super) mobile: Course,
    residents: Vec<Course>,
    /// The step in which the mobile has its new access point.
    pub(super) end: usize,
    /// Values over all flows at each step from `end` on. They are computed once, since a map judges
    /// a run once more for each other seed that it leaves out.
    steps: Vec<Step>,
}

/// Values over the flows of a run at one step.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    residents_rate: f64,
    residents_interval: Option<f64>,
    residents_rtt: Option<f64>,
    deviation: f64,
    steady_deviation: Option<f64>,
}

/// Mean sending rates since the handover, over runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rates {
    pub(super) mobile: Vec<f64>,
    pub(super) residents: Vec<f64>,
}

/// The step that ends at `seconds` or is the next after.
pub(super) fn step(seconds: f64) -> usize {
    ((seconds / STEP_S - 1.0).ceil()).max(0.0) as usize
}

/// The time without an access point of a point of the sweep, in seconds.
pub(super) fn disconnection(run: &Run) -> f64 {
    run.axis(DISCONNECTION).parse::<Duration>().unwrap_or_default().as_secs_f64()
}

/// Reads a run's flows; `None` where no run directory was written.
pub(super) fn courses(results: &Results, run: &Run) -> Result<Option<Arc<Courses>>, Error> {
    results.cache.get(run, |directory| read(run, directory))
}

fn read(run: &Run, directory: &Path) -> Result<Courses, Error> {
    let columns = ["flow", "allowed_bps", "mean_loss_interval_milli", "srtt_ns", "delivered_bytes"];
    let series = Series::read(directory, FLOWS.file, &columns)?;
    let names = series.texts("flow")?;
    let mut rows: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (row, name) in names.iter().enumerate() {
        rows.entry(name.as_deref().unwrap_or_default()).or_default().push(row);
    }
    let mobile = match rows.remove(MOBILE) {
        Some(rows) => course(&series, &rows)?,
        None => Course::default(),
    };
    let residents: Result<_, Error> = rows.values().map(|rows| course(&series, rows)).collect();
    Ok(Courses::new(mobile, residents?, step(HANDOVER_S + disconnection(run))))
}

fn course(series: &Series, rows: &[usize]) -> Result<Course, Error> {
    let column = |name: &str, scale: f64| -> Result<Vec<Option<f64>>, Error> {
        let values = series.integers(name)?;
        Ok(rows.iter().map(|&row| values[row].map(|value| value as f64 * scale)).collect())
    };
    let known = |values: Vec<Option<f64>>| -> Vec<f64> {
        values.into_iter().map(Option::unwrap_or_default).collect()
    };
    let delivered = known(column("delivered_bytes", 1.0)?);
    let allowed = column("allowed_bps", 1e-3)?;
    let rate = (0..rows.len()).map(|k| match allowed[k] {
        Some(allowed) => allowed.min(SOURCE_KBPS),
        None => arrived_kbps(&delivered, k),
    });
    Ok(Course {
        rate: rate.collect(),
        interval: column("mean_loss_interval_milli", 1e-3)?,
        rtt: column("srtt_ns", 1e-9)?,
        delivered,
    })
}

/// Goodput of the half second that ends with step `k`.
fn arrived_kbps(delivered: &[f64], k: usize) -> f64 {
    let steps = (0.5 / STEP_S).round() as usize;
    let before = k.checked_sub(steps).map_or(0.0, |k| delivered[k]);
    (delivered[k] - before) * 8.0 / 500.0
}

impl Courses {
    pub(super) fn new(mobile: Course, residents: Vec<Course>, end: usize) -> Self {
        let mut courses = Self { mobile, residents, end, steps: Vec::new() };
        let second = (1.0 / STEP_S).round() as usize;
        let step = |k: usize| Step {
            residents_rate: mean(courses.residents.iter().map(|c| c.rate[k])).unwrap_or(0.0),
            residents_interval: courses.residents_mean(k, |course| &course.interval),
            residents_rtt: courses.residents_mean(k, |course| &course.rtt),
            deviation: courses.deviation_over(k, 1).unwrap_or(f64::NAN),
            steady_deviation: courses.deviation_over(k, second),
        };
        let steps = (end..courses.mobile.rate.len()).map(step).collect();
        courses.steps = steps;
        // The rest of residents is in the steps: a map holds the runs of a set-up at once.
        for course in &mut courses.residents {
            *course =
                Course { delivered: std::mem::take(&mut course.delivered), ..Course::default() };
        }
        courses
    }

    fn step(&self, k: usize) -> &Step {
        &self.steps[k - self.end]
    }

    /// Steps from the end of the handover to the end of the run.
    pub(super) fn after(&self) -> usize {
        self.mobile.rate.len().saturating_sub(self.end)
    }

    /// The mean sending rate of the residents at a step.
    pub(super) fn residents_rate(&self, k: usize) -> f64 {
        self.step(k).residents_rate
    }

    /// The mean loss interval at a step of the residents that have one.
    pub(super) fn residents_interval(&self, k: usize) -> Option<f64> {
        self.step(k).residents_interval
    }

    /// The mean round-trip time at a step of the residents that have one.
    pub(super) fn residents_rtt(&self, k: usize) -> Option<f64> {
        self.step(k).residents_rtt
    }

    /// The standard deviation of all sending rates at a step.
    pub(super) fn deviation(&self, k: usize) -> f64 {
        self.step(k).deviation
    }

    /// The same of rates that are averaged over the second from a step on; `None` beyond the end.
    pub(super) fn steady_deviation(&self, k: usize) -> Option<f64> {
        self.step(k).steady_deviation
    }

    /// A value averaged over the residents that have it at a step.
    fn residents_mean(&self, k: usize, value: impl Fn(&Course) -> &[Option<f64>]) -> Option<f64> {
        mean(self.residents.iter().filter_map(|course| *value(course).get(k)?))
    }

    /// The standard deviation of all sending rates, averaged over this number of steps from `k` on;
    /// `None` beyond the end. The divisor is the number of rates: the ten are no sample of others.
    fn deviation_over(&self, k: usize, steps: usize) -> Option<f64> {
        let all = self.residents.iter().chain([&self.mobile]);
        let rates: Option<Vec<f64>> =
            all.map(|course| stats::mean(course.rate.get(k..k + steps)?)).collect();
        let rates = rates?;
        let center = stats::mean(&rates)?;
        Some(mean(rates.iter().map(|rate| (rate - center) * (rate - center)))?.sqrt())
    }

    /// The paper's recovery time: from the end of the handover until that is below `limit` kbps.
    /// `None`: not before the run ends.
    pub(super) fn recovery(&self, limit: f64) -> Option<f64> {
        (self.end..self.mobile.rate.len())
            .find(|&k| self.deviation(k) < limit)
            .map(|k| (k - self.end) as f64 * STEP_S)
    }

    /// Mean goodput of the residents, in kbps, from `from` to `to` seconds after the handover.
    pub(super) fn residents_goodput(&self, from: f64, to: f64) -> Option<f64> {
        mean(self.residents.iter().filter_map(|course| self.goodput(course, from, to)))
    }

    /// Goodput of the mobile, likewise.
    pub(super) fn mobile_goodput(&self, from: f64, to: f64) -> Option<f64> {
        self.goodput(&self.mobile, from, to)
    }

    fn goodput(&self, course: &Course, from: f64, to: f64) -> Option<f64> {
        let at = |seconds: f64| {
            let k = self.end as f64 + (seconds / STEP_S).round();
            course.delivered.get(k.max(0.0) as usize)
        };
        Some((at(to)? - at(from)?) * 8e-3 / (to - from))
    }
}

/// The mean of some numbers, if there are any.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    stats::mean(&values.collect::<Vec<f64>>())
}

/// A curve over the time since the handover: the mean over runs, as far as the shortest goes.
pub(super) fn over_runs(runs: &[Arc<Courses>], value: impl Fn(&Courses, usize) -> f64) -> Vec<f64> {
    let steps = runs.iter().map(|run| run.after()).min().unwrap_or(0);
    let at = |k: usize| mean(runs.iter().map(|run| value(run, run.end + k))).unwrap_or(0.0);
    (0..steps).map(at).collect()
}

/// The same where some runs may have no value; steps at which none has any are left out.
pub(super) fn known_over_runs(
    runs: &[Arc<Courses>],
    value: impl Fn(&Courses, usize) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let steps = runs.iter().map(|run| run.after()).min().unwrap_or(0);
    let at = |k: usize| mean(runs.iter().filter_map(|run| value(run, run.end + k)));
    (0..steps).filter_map(|k| Some((k as f64 * STEP_S, at(k)?))).collect()
}

/// Time from the handover until the mobile's mean rate first reaches `share` of the residents', in
/// seconds; `None`: not before the runs end.
pub(super) fn caught_up(rates: &Rates, share: f64) -> Option<f64> {
    let there = rates.mobile.iter().zip(&rates.residents).position(|(m, r)| *m >= share * r);
    there.map(|k| k as f64 * STEP_S)
}

/// For how long after the handover the mobile's mean rate stays below the residents': until its
/// mean over the second that follows comes to theirs, in seconds. A single sample above ends
/// nothing.
/// `None`: not before the runs end.
pub(super) fn stays_below(rates: &Rates) -> Option<f64> {
    let Rates { mobile, residents } = rates;
    let second = (1.0 / STEP_S).round() as usize;
    let of = |rates: &[f64], k: usize| stats::mean(rates.get(k..k + second)?);
    let there = |k: &usize| of(mobile, *k).zip(of(residents, *k)).is_some_and(|(m, r)| m >= r);
    (0..mobile.len()).find(there).map(|k| k as f64 * STEP_S)
}

/// Time from the handover until the mobile's mean rate is within `share` of the residents', above
/// or below, and stays there on average for the following `steady` seconds.
pub(super) fn within(rates: &Rates, share: f64, steady: f64) -> Option<f64> {
    let Rates { mobile, residents } = rates;
    let near = |m: f64, r: f64| (m - r).abs() <= share * r;
    let length = (steady / STEP_S).round() as usize;
    let stays = |k: usize| {
        let of = |rates: &[f64]| stats::mean(rates.get(k..k + length)?);
        of(mobile).zip(of(residents)).is_some_and(|(m, r)| near(m, r))
    };
    let there = (0..mobile.len()).find(|&k| near(mobile[k], residents[k]) && stays(k));
    there.map(|k| k as f64 * STEP_S)
}

/// Mean sending rates of the mobile and of the residents since the handover.
pub(super) fn rates(runs: &[Arc<Courses>]) -> Rates {
    Rates {
        mobile: over_runs(runs, |run, k| run.mobile.rate[k]),
        residents: over_runs(runs, Courses::residents_rate),
    }
}
