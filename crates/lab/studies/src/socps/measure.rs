//! Measures of a run of the testbed, and verdicts on both profiles.

use super::experiments::{ARQ, VARIANT};
use fairwave_lab::run::Run;
use fairwave_lab::stats::{self, Estimate};
use fairwave_study::measure::over;
pub(super) use fairwave_study::measure::paired_ratio as ratio;
use fairwave_study::{Claim, Criterion, Reading, ResultTable, Results, Tested};
use serde_json::Value;

/// Whether frames are acknowledged and repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Profile {
    /// As WaveLAN: no.
    WaveLan,
    /// As 802.11b: yes.
    Arq,
}

impl Profile {
    pub(super) const ALL: [Self; 2] = [Self::WaveLan, Self::Arq];

    pub(super) const fn name(self) -> &'static str {
        match self {
            // A map has set-ups in which these cards repeat frames, too.
            Self::WaveLan => "WaveLAN",
            Self::Arq => "802.11b",
        }
    }

    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::WaveLan => "false",
            Self::Arq => "true",
        }
    }
}

/// The runs of a scheme in an experiment, by seed.
pub(super) fn of<'r>(
    results: &'r Results,
    experiment: &str,
    scheme: &str,
    profile: Profile,
) -> Vec<&'r Run> {
    results.select(experiment, &[(VARIANT, scheme), (ARQ, profile.key())])
}

/// Host of a flow: C1 to C8.
pub(super) fn host(name: &str) -> u32 {
    name.trim_start_matches('c').parse().unwrap_or(0)
}

/// Goodput of the hosts that `which` picks by their numbers, in Mbps.
pub(super) fn goodput(run: &Run, which: impl Fn(u32) -> bool) -> f64 {
    let flows = run.summary.flows.iter().filter(|flow| which(host(&flow.name)));
    flows.map(|flow| flow.goodput_bps as f64 / 1e6).sum()
}

/// Goodput of a flow in each 3 s bin but the first, in which it starts; in Mbps.
pub(super) fn bins(run: &Run, flow: usize) -> Vec<f64> {
    run.summary.flows[flow].bins_bps.iter().skip(1).map(|bps| *bps as f64 / 1e6).collect()
}

/// Standard deviation of the hosts' goodput over 3 s bins, mean over hosts, in Mbps.
pub(super) fn deviation(run: &Run) -> f64 {
    let each = (0..run.summary.flows.len()).map(|i| stats::std_dev(&bins(run, i)));
    stats::mean(&each.collect::<Vec<f64>>()).unwrap_or(f64::NAN)
}

/// The same over the mean goodput of a host.
pub(super) fn relative_deviation(run: &Run) -> f64 {
    let mean = goodput(run, |_| true) / run.summary.flows.len() as f64;
    deviation(run) / mean
}

/// Standard deviation of the total over 3 s bins, in Mbps.
pub(super) fn total_deviation(run: &Run) -> f64 {
    let flows = run.summary.flows.len();
    let all: Vec<Vec<f64>> = (0..flows).map(|i| bins(run, i)).collect();
    let shortest = all.iter().map(Vec::len).min().unwrap_or(0);
    let totals = (0..shortest).map(|t| all.iter().map(|bins| bins[t]).sum());
    stats::std_dev(&totals.collect::<Vec<f64>>())
}

/// The best host's goodput less the worst's, over the mean.
pub(super) fn spread(run: &Run) -> f64 {
    let rates = run.summary.goodputs();
    let (minimum, maximum) =
        rates.iter().fold((f64::INFINITY, 0.0_f64), |(minimum, maximum), rate| {
            (minimum.min(*rate), maximum.max(*rate))
        });
    (maximum - minimum) / stats::mean(&rates).unwrap_or(f64::NAN)
}

/// The distance of an estimate's mean from one.
pub(super) fn off(estimate: Option<Estimate>) -> Reading {
    estimate.map(|estimate| (estimate.mean - 1.0).abs()).into()
}

/// Judges a claim on WaveLAN; the verdict of the same conditions on 802.11b is written beside it.
pub(super) fn judge(
    criterion: Criterion<'_>,
    measure: impl Fn(Profile) -> Tested,
    note: String,
) -> Claim {
    let circumstances = "Judged on WaveLAN, without ARQ unless the set-up has it; arq_* are \
                         the same on 802.11b";
    let (without, arq) = (measure(Profile::WaveLan), measure(Profile::Arq));
    Claim::judge_beside(criterion, without, "arq", arq, circumstances, note)
}

/// The verdicts on both profiles.
pub(super) fn verdicts(claims: &[Claim]) -> ResultTable {
    let row = |claim: &Claim| {
        let arq = match claim.measured.get("arq_holds") {
            None => "the radio has no part in it",
            Some(Value::Bool(true)) => "holds",
            Some(Value::Bool(false)) => "does not hold",
            Some(_) => "undecided",
        };
        vec![claim.id.to_owned(), claim.verdict.word().to_owned(), arq.to_owned()]
    };
    ResultTable {
        title: "Verdicts by profile".into(),
        header: ["Claim", "WaveLAN without ARQ (the verdict)", "802.11b with ARQ"]
            .map(str::to_owned)
            .into(),
        rows: claims.iter().map(row).collect(),
    }
}

/// The share of time that the access point was on the air.
pub(super) fn ap_airtime(runs: &[&Run]) -> Option<Estimate> {
    over(runs, |run| {
        let ap = run.summary.stations.iter().find(|station| station.name == "ap");
        ap.map_or(f64::NAN, |ap| ap.airtime_share)
    })
}

/// Packets per second that the access point dropped because a queue was full.
pub(super) fn overflow(runs: &[&Run]) -> Option<Estimate> {
    over(runs, |run| {
        let drops: u64 = run.summary.ap_queues().map(|queue| queue.drops_queue_full).sum();
        drops as f64 / (run.summary.measured_ns as f64 / 1e9)
    })
}

/// The middles of 3 s bins, the second first.
pub(super) fn middle(bin: usize) -> f64 {
    4.5 + 3.0 * bin as f64
}
