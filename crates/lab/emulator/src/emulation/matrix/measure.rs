//! Results of one run of a matrix.

use super::grid::{Entry, Flows};
use super::{ALGORITHM, COMPETING, HOST, SIMULATOR};
use fairwave_lab::metrics::Metric;
use fairwave_lab::points::Digest;
use fairwave_lab::results::{Error, FlowSummary, Series, Summary};
use fairwave_lab::run::Run;
use fairwave_lab::stats::{jain, mean};
use std::path::Path;

/// A figure of a matrix.
pub struct Figure {
    /// Its name in tables for programs.
    pub name: &'static str,
    /// Its name for people, with the unit.
    pub title: &'static str,
    /// The heading of its column in a table, with the unit.
    pub head: &'static str,
    /// Number of decimals in tables.
    pub digits: usize,
    /// Explanation of the figure.
    pub help: &'static str,
    /// The range of its colours; `None` if it follows from the data.
    pub range: Option<(f64, f64)>,
}

/// Every figure, in the order of tables.
pub const FIGURES: [Figure; 6] = [
    Figure {
        name: "goodput_mbps",
        title: "Throughput (Mbps)",
        head: "Mbps",
        digits: 3,
        help: "Goodput of the algorithm's flows together after the warm-up.",
        range: None,
    },
    Figure {
        name: "rtt_ms",
        title: "Round-trip time (ms)",
        head: "RTT ms",
        digits: 1,
        help: "The mean of their smoothed round-trip times after the warm-up, as their senders \
               know them: the path's own delay and the wait in its queues.",
        range: None,
    },
    Figure {
        name: "share_percent",
        title: "Share beside another algorithm (%)",
        head: "share %",
        digits: 1,
        help: "Share of a flow of the algorithm in the goodput of it and the flow beside it. 50 is \
               fair; more is taken from the other.",
        range: Some((0.0, 100.0)),
    },
    Figure {
        name: "other_mbps",
        title: "Throughput of the flow beside it (Mbps)",
        head: "other's Mbps",
        digits: 3,
        help: "Goodput of the flow of the other algorithm.",
        range: None,
    },
    Figure {
        name: "jain",
        title: "Fairness among all (Jain's index)",
        head: "Jain",
        digits: 3,
        help: "Over the flows of the algorithm and those beside it: 1 where all deliver the same, \
               1 / n where one of n has everything.",
        range: Some((0.0, 1.0)),
    },
    Figure {
        name: "retransmitted_percent",
        title: "Retransmitted (%)",
        head: "retransmitted %",
        digits: 2,
        help: "Segments of the algorithm's flows that were retransmissions.",
        range: None,
    },
];

/// The figures of a run on `host`.
///
/// # Errors
/// If its series cannot be read.
pub(super) fn digest(host: &str, entry: &Entry, run: &Run) -> Result<Digest, Error> {
    let own =
        [(HOST, host), (ALGORITHM, &entry.algorithm), (COMPETING, &entry.competing.to_string())]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
    let plain = |(key, value): &(String, String)| (key.clone(), value.trim_matches('"').to_owned());
    let axes = own.into_iter().chain(entry.axes.iter().map(plain)).collect();
    let rtt = match &run.directory {
        Some(directory) => rtt_ms(directory, &run.summary, &entry.flows)?,
        None => None,
    };
    Ok(Digest {
        axes,
        seed: run.seed,
        is_simulated: host == SIMULATOR,
        metrics: figures(&run.summary, &entry.flows, rtt),
    })
}

/// The figures of a run, in the order of [`FIGURES`], as far as it has them.
fn figures(summary: &Summary, flows: &Flows, rtt_ms: Option<f64>) -> Vec<Metric> {
    let of = |names: &[String]| -> Vec<&FlowSummary> {
        summary.flows.iter().filter(|flow| names.contains(&flow.name)).collect()
    };
    let (own, others) = (of(&flows.own), of(&flows.others));
    let rates = |flows: &[&FlowSummary]| -> Vec<f64> {
        flows.iter().map(|flow| flow.goodput_bps as f64 / 1e6).collect()
    };
    let (own_mbps, others_mbps) = (rates(&own), rates(&others));
    let all: Vec<f64> = own_mbps.iter().chain(&others_mbps).copied().collect();
    let sent: u64 = own.iter().map(|flow| flow.sent_packets).sum();
    let again: u64 = own.iter().map(|flow| flow.retransmissions).sum();
    let share = match (mean(&own_mbps), mean(&others_mbps)) {
        (Some(own), Some(other)) if own + other > 0.0 => Some(100.0 * own / (own + other)),
        _ => None,
    };
    let values = [
        Some(own_mbps.iter().sum()),
        rtt_ms,
        share,
        (!others.is_empty()).then(|| others_mbps.iter().sum()),
        (all.len() > 1).then(|| jain(&all)).flatten(),
        (sent > 0).then(|| 100.0 * again as f64 / sent as f64),
    ];
    let named = FIGURES.iter().zip(values);
    named.filter_map(|(figure, value)| Some((figure.name.to_owned(), value?))).collect()
}

/// Mean of the round-trip times that the algorithm's flows measured after the warm-up.
fn rtt_ms(directory: &Path, summary: &Summary, flows: &Flows) -> Result<Option<f64>, Error> {
    let series = Series::read(directory, "flows.parquet", &["t_ns", "flow", "srtt_ns"])?;
    let begin_s = summary.simulated_ns.saturating_sub(summary.measured_ns) as f64 / 1e9;
    let mut values = Vec::new();
    for flow in &flows.own {
        let points = series.points(&[("flow", flow)], "srtt_ns", 1e-6)?;
        values.extend(points.into_iter().filter(|(at, _)| *at > begin_s).map(|(_, rtt)| rtt));
    }
    Ok(mean(&values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_lab::results::{Names, Stretches};
    use fairwave_scenario::plan::Plan;
    use fairwave_sim::{FlowOutcome, Outcome};
    use fairwave_trace::FlowSample;
    use fairwave_units::{BitRate, Duration};

    const SCENARIO: &str = r#"# Made by hand.
node = [{ name = "a", kind = "host" }, { name = "b", kind = "host" }]
flow = [{ name = "x", from = "a", to = "b" }, { name = "y", from = "a", to = "b" }]
link = [{ ends = ["a", "b"] }]
"#;

    /// 30 and 10 Mbps, and 3 of 200 segments of the first that were retransmissions.
    fn summary() -> Summary {
        let plan = Plan::parse("made.toml", SCENARIO, &[]).expect("a scenario");
        let names = Names::of(&plan.points[0].scenario.to_world(1));
        let flow = |name: &str, mbps, sent_packets, retransmissions| FlowOutcome {
            name: name.to_owned(),
            goodput: BitRate::mbps(mbps),
            at_end: FlowSample { sent_packets, retransmissions, ..FlowSample::default() },
            ..FlowOutcome::default()
        };
        let flows = vec![flow("x", 30, 200, 3), flow("y", 10, 90, 9)];
        let measured = Duration::from_secs(1);
        let outcome = Outcome {
            simulated: measured,
            measured,
            bin: None,
            flows,
            queues: Vec::new(),
            stations: Vec::new(),
            pairs: Vec::new(),
            frames: 0,
            events: 0,
        };
        Summary::new(&names, &outcome, &Stretches::new(&names))
    }

    fn of(own: &[&str], others: &[&str], rtt: Option<f64>) -> Vec<(String, f64)> {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
        figures(&summary(), &Flows { own: names(own), others: names(others) }, rtt)
    }

    /// 30 of 40 Mbps are 75 %; Jain: 40^2 / (2 (30^2 + 10^2)) = 0.8.
    #[test]
    fn a_flow_beside_another_has_a_share() {
        let names = |(name, value): (&str, f64)| (name.to_owned(), value);
        let expected = [
            ("goodput_mbps", 30.0),
            ("rtt_ms", 21.5),
            ("share_percent", 75.0),
            ("other_mbps", 10.0),
            ("jain", 0.8),
            ("retransmitted_percent", 1.5),
        ];
        assert_eq!(of(&["x"], &["y"], Some(21.5)), expected.map(names));
    }

    /// 12 of 290 segments.
    #[test]
    fn flows_of_one_algorithm_have_a_sum_and_a_flow_alone_no_fairness() {
        let both = of(&["x", "y"], &[], None);
        let names: Vec<&str> = both.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["goodput_mbps", "jain", "retransmitted_percent"]);
        assert_eq!((both[0].1, both[2].1), (40.0, 100.0 * 12.0 / 290.0));
        assert_eq!(of(&["x"], &[], None).len(), 2);
    }
}
