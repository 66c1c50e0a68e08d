//! SOC-X3: whether weighing by channels still helps on 802.11n and ax.
//!
//! The criterion, set before the first run, with TCP: the total under PW is at least 1.05 of
//! FQ-CoDel's, and at least 0.95 of that of airtime fairness, on both standards.

use super::experiments::{MODERN_TCP, MODERN_UDP, VARIANT};
use super::measure::ratio;
use fairwave_lab::plot::{BarSeries, Content, Figure, Interval};
use fairwave_lab::results::{FlowSummary, Series};
use fairwave_lab::run::Run;
use fairwave_lab::stats::{self, Estimate};
use fairwave_study::measure::{over, show};
use fairwave_study::{Claim, Criterion, Error, Evidence, Exhibit, ResultTable, Results};

const STANDARD: &str = "cell.standard";
const STANDARDS: [(&str, &str); 2] = [("802.11n", "n"), ("802.11ax", "ax")];
const PW: &str = "pw";
const RATE: &str = "pw-rate";
const AIRTIME: &str = "airtime-drr";
const FQ: &str = "fq-codel";

fn of<'r>(results: &'r Results, experiment: &str, standard: &str, scheme: &str) -> Vec<&'r Run> {
    results.select(experiment, &[(STANDARD, standard), (VARIANT, scheme)])
}

/// Flows of data; the others are calls.
fn data(run: &Run) -> impl Iterator<Item = &FlowSummary> {
    run.summary.flows.iter().filter(|flow| !flow.name.starts_with("voice"))
}

fn mbps(flow: &FlowSummary) -> f64 {
    flow.goodput_bps as f64 / 1e6
}

fn total(run: &Run) -> f64 {
    data(run).map(mbps).sum()
}

fn fairness(run: &Run) -> f64 {
    stats::jain(&data(run).map(mbps).collect::<Vec<f64>>()).unwrap_or(f64::NAN)
}

fn rate_to(name: &'static str) -> impl Fn(&Run) -> f64 {
    move |run| data(run).filter(|flow| flow.name.starts_with(name)).map(mbps).sum()
}

/// The delay that 95 of 100 packets of the calls to a station, or group, do not exceed, in ms: the
/// mean of its calls.
fn voice_p95(name: &'static str) -> impl Fn(&Run) -> f64 {
    move |run| {
        let calls = run.summary.flows.iter().filter(|flow| flow.name.starts_with(name));
        let delays = calls.filter_map(|flow| flow.datagrams.as_ref()?.delay.as_ref());
        let delays: Vec<f64> = delays.map(|delay| delay.p95_ns as f64 / 1e6).collect();
        stats::mean(&delays).unwrap_or(f64::NAN)
    }
}

/// Calls' packets that were lost, of all, in per cent.
fn voice_loss(run: &Run) -> f64 {
    let calls = run.summary.flows.iter().filter(|flow| flow.name.starts_with("voice"));
    let (lost, all) = calls
        .filter_map(|flow| flow.datagrams.as_ref())
        .fold((0, 0), |sum, seen| (sum.0 + seen.lost, sum.1 + seen.lost + seen.received));
    100.0 * fairwave_study::measure::ratio(lost, all)
}

/// Mean weights of stations under the schemes by reports: (standard, scheme, station).
#[derive(Clone, Debug)]
pub(super) struct Weighed {
    standard: String,
    scheme: String,
    far: f64,
    walker: f64,
}

/// Reads mean weights of the runs that keep series.
pub(super) fn read(results: &Results) -> Result<Vec<Weighed>, Error> {
    let mut all = Vec::new();
    for run in results.runs.get(MODERN_TCP).into_iter().flatten() {
        let scheme = run.axis(VARIANT).to_owned();
        let (Some(directory), PW | RATE) = (&run.directory, &*scheme) else { continue };
        let series = Series::read(directory, "soc.parquet", &["t_ns", "station", "weight_ppm"])?;
        let mean = |station| -> Result<f64, Error> {
            let points = series.points(&[("station", station)], "weight_ppm", 1e-6)?;
            let weights: Vec<f64> = points.into_iter().map(|(_, weight)| weight).collect();
            Ok(stats::mean(&weights).unwrap_or(f64::NAN))
        };
        let (far, walker) = (mean("far")?, mean("walker")?);
        all.push(Weighed { standard: run.axis(STANDARD).to_owned(), scheme, far, walker });
    }
    Ok(all)
}

pub(super) fn claim(results: &Results, weighed: &[Weighed]) -> Claim {
    let mut measured = Evidence::of(results, &[MODERN_TCP]);
    let [n, ax] = STANDARDS.map(|(standard, short)| {
        let runs = |scheme: &str| of(results, MODERN_TCP, standard, scheme);
        let mut put = |name: &str, estimate| measured.estimate(format!("{short}_{name}"), estimate);
        put("pw_rate_over_airtime", ratio(&runs(RATE), &runs(AIRTIME), total));
        put("pw_mbps", over(&runs(PW), total));
        put("airtime_mbps", over(&runs(AIRTIME), total));
        let voice = voice_p95("voice-near");
        put("pw_voice_p95_over_airtime", ratio(&runs(PW), &runs(AIRTIME), voice));
        let over_fq_codel = put("pw_over_fq_codel", ratio(&runs(PW), &runs(FQ), total));
        let over_airtime = put("pw_over_airtime", ratio(&runs(PW), &runs(AIRTIME), total));
        (over_fq_codel.mean, over_airtime.mean)
    });
    Claim::judge(
        Criterion {
            id: "SOC-X3",
            statement: "Ours: on 802.11n and ax with rate control and aggregation, SoCPS carries \
                        more than FQ-CoDel and about as much as airtime fairness",
            meaning: "ratios of the total goodput of TCP to five stations, three near, one far, \
                      one walking; pw has the paper's knots, pw_rate knots that follow what rate a \
                      level carries; voice_p95: of calls to near stations, beside TCP",
        },
        measured.tested([
            n.0.at_least(1.05),
            ax.0.at_least(1.05),
            n.1.at_least(0.95),
            ax.1.at_least(0.95),
        ]),
        note(results, weighed),
    )
    .ours()
}

/// Weights beside the proportions of the stations' rates.
fn note(results: &Results, weighed: &[Weighed]) -> String {
    let mut parts = Vec::new();
    for (standard, _) in STANDARDS {
        let airtime = of(results, MODERN_TCP, standard, AIRTIME);
        let near = |run: &Run| rate_to("near")(run) / 3.0;
        let part = |name: &'static str| over(&airtime, |run| rate_to(name)(run) / near(run));
        parts.push(format!(
            "{standard}: with equal airtime the far station gets {} and the walker {} of a near \
             one's goodput, which is what their rates are worth;",
            show(part("far"), 2),
            show(part("walker"), 2),
        ));
        for scheme in [PW, RATE] {
            let of = || weighed.iter().filter(|w| w.standard == standard && w.scheme == scheme);
            let mean =
                |value: fn(&Weighed) -> f64| Estimate::of(&of().map(value).collect::<Vec<f64>>());
            parts.push(format!(
                "{scheme} weighs them {} and {} by bytes.",
                show(mean(|w| w.far), 2),
                show(mean(|w| w.walker), 2)
            ));
        }
    }
    parts.push(
        "Rate control turns a bad channel into a slow one rather than a lossy one: a byte to the \
         far station takes longer, and weights by bytes charge nobody for that."
            .to_owned(),
    );
    parts.join(" ")
}

fn schemes(results: &Results) -> Vec<String> {
    results.axis(MODERN_TCP, VARIANT)
}

pub(super) fn exhibits(results: &Results) -> Vec<Exhibit> {
    let groups = schemes(results);
    let bars = |value: &dyn Fn(&Run) -> f64| {
        let series = STANDARDS.map(|(standard, _)| BarSeries {
            label: standard.to_owned(),
            values: groups
                .iter()
                .map(|scheme| over(&of(results, MODERN_TCP, standard, scheme), value))
                .map(|estimate| estimate.map(Interval::from))
                .collect(),
        });
        Content::Bars { groups: groups.clone(), series: series.into() }
    };
    let exhibit = |id: &str, ours: &str, y_label: &str, content| Exhibit {
        id: id.to_owned(),
        claims: &["SOC-X3"],
        paper: "Nothing: the paper compares with FIFO, at 2 Mbps.".into(),
        ours: ours.to_owned(),
        figure: Figure {
            title: ours.to_owned(),
            x_label: "Queue of the access point".into(),
            y_label: y_label.to_owned(),
            y_range: None,
            content,
        },
    };
    vec![
        exhibit(
            "soc-x3-total",
            "Total of TCP with rate control",
            "Total goodput (Mbps)",
            bars(&total),
        ),
        exhibit(
            "soc-x3-voice",
            "Delay of calls to near stations beside TCP",
            "95th percentile (ms)",
            bars(&voice_p95("voice-near")),
        ),
    ]
}

pub(super) fn tables(results: &Results) -> Vec<ResultTable> {
    [(MODERN_TCP, "TCP"), (MODERN_UDP, "datagrams")]
        .map(|(experiment, traffic)| table(results, experiment, traffic))
        .into()
}

fn table(results: &Results, experiment: &str, traffic: &str) -> ResultTable {
    let mut rows = Vec::new();
    for (standard, _) in STANDARDS {
        for scheme in results.axis(experiment, VARIANT) {
            let runs = of(results, experiment, standard, &scheme);
            let mut row = vec![standard.to_owned(), scheme];
            row.push(show(over(&runs, total), 1));
            row.push(show(over(&runs, fairness), 2));
            row.push(show(over(&runs, |run| rate_to("near")(run) / 3.0), 1));
            row.extend(["far", "walker"].map(|name| show(over(&runs, rate_to(name)), 1)));
            let delays = ["voice-near", "voice-far", "voice-walker"];
            row.extend(delays.map(|name| show(over(&runs, voice_p95(name)), 0)));
            row.push(show(over(&runs, voice_loss), 1));
            rows.push(row);
        }
    }
    let header = [
        "Standard",
        "Queue",
        "Total (Mbps)",
        "Jain",
        "Each near (Mbps)",
        "Far (Mbps)",
        "Walker (Mbps)",
        "Calls near p95 (ms)",
        "Far p95 (ms)",
        "Walker p95 (ms)",
        "Calls lost (%)",
    ];
    ResultTable {
        title: format!("802.11n and ax with rate control: {traffic} and calls to five stations"),
        header: header.map(str::to_owned).into(),
        rows,
    }
}
