//! Losses of reports, and their effect on weights. No claim of the paper's.

use super::experiments::{ARQ, MOVING, VARIANT, WEIGHTED};
use super::measure::Profile;
use fairwave_lab::results::Series;
use fairwave_lab::run::Run;
use fairwave_lab::stats::Estimate;
use fairwave_soc::{Curve, POLICIES, Policies, TableConfig};
use fairwave_study::measure::show;
use fairwave_study::{Error, ResultTable, Results};
use fairwave_units::Db;

/// PW by its interval: the interval in words, and the scheme.
const INTERVALS: [(&str, &str); 2] = [("200 ms", "pw"), ("20 ms", "pw-20ms")];

/// Reports of C2 to C8, which have good links, in a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reported {
    scheme: String,
    profile: Profile,
    /// Reports sent in a second, and those refused or not received by the access point.
    sent: f64,
    lost: f64,
    /// Reports in a second that the access point waited for in vain.
    missed: f64,
    /// Share of samples in which such a host weighed nothing.
    weightless: f64,
}

/// Reads the reports of the runs under PW that keep series.
pub(super) fn read(results: &Results) -> Result<Vec<Reported>, Error> {
    let mut all = Vec::new();
    for run in results.runs.get(MOVING).into_iter().flatten() {
        let known = INTERVALS.iter().any(|(_, scheme)| *scheme == run.axis(VARIANT));
        if known {
            all.extend(of_run(run)?);
        }
    }
    Ok(all)
}

fn of_run(run: &Run) -> Result<Option<Reported>, Error> {
    let Some(directory) = &run.directory else { return Ok(None) };
    let columns = ["t_ns", "station", "weight_ppm", "alone", "in_front", "accepted", "missed"];
    let series = Series::read(directory, "soc.parquet", &columns)?;
    let seconds = run.summary.simulated_ns as f64 / 1e9;
    let (mut samples, mut weightless) = (0, 0);
    let (mut sent, mut accepted, mut missed) = (0.0, 0.0, 0.0);
    for host in 1..=7 {
        let of = |column| series.points(&[("station", &*format!("others{host}"))], column, 1.0);
        let last = |column| of(column).map(|points| points.last().map_or(0.0, |point| point.1));
        sent += last("alone")? + last("in_front")?;
        accepted += last("accepted")?;
        missed += last("missed")?;
        let weights = of("weight_ppm")?;
        samples += weights.len();
        weightless += weights.iter().filter(|(_, weight)| *weight == 0.0).count();
    }
    let profile = if run.axis(ARQ) == "true" { Profile::Arq } else { Profile::WaveLan };
    Ok(Some(Reported {
        scheme: run.axis(VARIANT).to_owned(),
        profile,
        sent: sent / seconds,
        lost: (sent - accepted) / seconds,
        missed: missed / seconds,
        weightless: weightless as f64 / samples.max(1) as f64,
    }))
}

fn over(
    all: &[Reported],
    scheme: &str,
    profile: Profile,
    value: fn(&Reported) -> f64,
) -> Option<Estimate> {
    let of = all.iter().filter(|run| run.scheme == scheme && run.profile == profile);
    Estimate::of(&of.map(value).collect::<Vec<f64>>())
}

pub(super) fn table(all: &[Reported]) -> ResultTable {
    let mut rows = Vec::new();
    for profile in Profile::ALL {
        for (interval, scheme) in INTERVALS {
            let cell = |value, digits| show(over(all, scheme, profile, value), digits);
            rows.push(vec![
                profile.name().to_owned(),
                interval.to_owned(),
                cell(|run| run.sent, 1),
                cell(|run| run.lost, 1),
                cell(|run| run.missed, 1),
                cell(|run| run.weightless, 3),
            ]);
        }
    }
    let header = [
        "Profile",
        "T_soc",
        "Sent (1/s)",
        "Lost (1/s)",
        "Counted missed (1/s)",
        "Samples with weight 0",
    ];
    ResultTable {
        title: "Reports of C2 to C8 under PW, Env_m, Tr_tcp".into(),
        header: header.map(str::to_owned).into(),
        rows,
    }
}

/// The reason for which short intervals cost more than the airtime of their frames.
pub(super) fn explanation(all: &[Reported]) -> String {
    let mut parts = Vec::new();
    for profile in Profile::ALL {
        for (interval, scheme) in INTERVALS {
            let cell = |value, digits| show(over(all, scheme, profile, value), digits);
            parts.push(format!(
                "{interval}, {}: of {} a second {} are lost and {} counted missed, and such a host \
                 weighs nothing in {} of the samples",
                profile.name(),
                cell(|run| run.sent, 1),
                cell(|run| run.lost, 1),
                cell(|run| run.missed, 1),
                cell(|run| run.weightless, 3),
            ));
        }
    }
    format!(
        "Reports of C2 to C8, who hear well, PW, Env_m: {}. Part of what 20 ms cost is Fairwave's \
         reading of the lost Fig. 4: a report is missed one and a half intervals after the last, \
         so that one which waits 10 ms for the air counts as missed though it arrives, and a good \
         host is damped until it weighs nothing.",
        parts.join("; ")
    )
}

/// Fig. 4 as Fairwave reads it: the effect of missing reports on 20 dB, and on the weights.
pub(super) fn damping() -> ResultTable {
    let config = TableConfig::new(Policies::per_host(Curve::Equal));
    let curves = WEIGHTED.map(|name| {
        let policy = POLICIES.iter().find(|policy| policy.name == name);
        policy.map_or(Curve::Equal, |policy| (policy.curve)())
    });
    let mut soc = Db(20.0);
    let mut rows = Vec::new();
    for missed in 0..8 {
        let weights = curves.iter().map(|curve| format!("{:.2}", curve.at(soc)));
        let row = [missed.to_string(), format!("{:.2}", soc.0)].into_iter().chain(weights);
        rows.push(row.collect());
        soc = Db(config.floor.0 + config.beta * (soc.0 - config.floor.0));
    }
    let header = ["Missed", "SoC (dB)"].into_iter().map(str::to_owned);
    ResultTable {
        title: format!("Missing reports in a row, beta = {}: SoC and weight", config.beta),
        header: header.chain(WEIGHTED.map(|name| format!("w, {name}"))).collect(),
        rows,
    }
}
