//! Ours, beyond the paper: other remedies beside the paper's. The paper leaves the throughput
//! that its own remedy costs to future work.

use super::experiments::{ALGORITHM, REMEDIES, REMEDIES_UP_DOWN};
use super::measure::{self, over, paired, show};
use fairwave_lab::plot::{BarSeries, Content, Figure, Interval};
use fairwave_lab::run::Run;
use fairwave_lab::stats::Estimate;
use fairwave_study::{Claim, Criterion, Evidence, Exhibit, ResultTable, Results};
use fairwave_units::math;

const QUEUE: &str = "node.ap.queue.discipline";
const LIMIT: &str = "node.ap.queue.limit";
/// The paper's room at the access point.
const PAPERS_LIMIT: &str = "100 packets";
/// By how much Jain's index may be below the paper's remedy's for "as fair".
const AS_FAIR: f64 = -0.02;
/// Share of the total without a remedy that counts as "without losing throughput".
const KEPT: f64 = 0.98;

/// A queue of the access point with an algorithm of the senders.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Remedy {
    queue: String,
    limit: String,
    algorithm: String,
}

impl Remedy {
    fn new(queue: &str, limit: &str, algorithm: &str) -> Self {
        Self { queue: queue.to_owned(), limit: limit.to_owned(), algorithm: algorithm.to_owned() }
    }

    fn none() -> Self {
        Self::new("drop-tail", PAPERS_LIMIT, "compound")
    }

    fn of_the_paper() -> Self {
        Self::new("drop-tail", PAPERS_LIMIT, "ack-loss-literal+compound")
    }

    fn name(&self) -> String {
        format!("{} of {} with {}", self.queue, self.limit, self.algorithm)
    }

    fn runs<'r>(&self, results: &'r Results, experiment: &str) -> Vec<&'r Run> {
        let axes = [(QUEUE, &*self.queue), (LIMIT, &self.limit), (ALGORITHM, &self.algorithm)];
        results.select(experiment, &axes)
    }
}

/// Every point of an experiment, in the order of its plan.
fn remedies(results: &Results, experiment: &str) -> Vec<Remedy> {
    let mut all = Vec::new();
    for queue in results.axis(experiment, QUEUE) {
        for limit in results.axis(experiment, LIMIT) {
            let algorithms = results.axis(experiment, ALGORITHM);
            all.extend(algorithms.iter().map(|algorithm| Remedy::new(&queue, &limit, algorithm)));
        }
    }
    all
}

/// Results of a remedy in one experiment.
struct Balance {
    jain: Option<Estimate>,
    /// Jain's index less the paper's remedy's, of runs with the same seed.
    jain_change: Option<Estimate>,
    /// Share of the total without a remedy.
    kept: f64,
}

impl Balance {
    fn of(results: &Results, experiment: &str, remedy: &Remedy) -> Option<Self> {
        let runs = remedy.runs(results, experiment);
        let papers = Remedy::of_the_paper().runs(results, experiment);
        let total = over(&runs, measure::total_mbps)?.mean;
        let without = over(&Remedy::none().runs(results, experiment), measure::total_mbps)?.mean;
        Some(Self {
            jain: over(&runs, measure::jain),
            jain_change: paired(&runs, &papers, measure::jain),
            kept: if without > 0.0 { total / without } else { 0.0 },
        })
    }

    fn is_fair(&self) -> bool {
        self.jain_change.is_some_and(|e| e.half_width.is_some() && e.low() > AS_FAIR)
    }

    /// Fair remedies come before others: of the fair ones the largest total first, of the others
    /// the fairest.
    fn rank(&self) -> (bool, f64) {
        let change = self.jain_change.map_or(f64::NEG_INFINITY, |estimate| estimate.mean);
        if self.is_fair() { (true, self.kept) } else { (false, change) }
    }

    fn line(&self, remedy: &Remedy) -> String {
        let (name, jain) = (remedy.name(), show(self.jain, 3));
        format!("{name}: Jain {jain}, {:.1} % of the total", 100.0 * self.kept)
    }
}

/// All that is neither nothing nor the paper's remedy, the best first.
fn candidates(results: &Results, experiment: &str) -> Vec<(Remedy, Balance)> {
    let known = [Remedy::none(), Remedy::of_the_paper()];
    let others = remedies(results, experiment).into_iter().filter(|r| !known.contains(r));
    let weigh = |remedy| Balance::of(results, experiment, &remedy).map(|b| (remedy, b));
    let mut candidates: Vec<_> = others.filter_map(weigh).collect();
    candidates.sort_by(|(_, a), (_, b)| {
        let (a, b) = (a.rank(), b.rank());
        b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    candidates
}

pub(super) fn claims(results: &Results) -> [Claim; 2] {
    let uploads = "Ours, on the paper's future work: for 16 uploads some remedy is as fair as the \
                   paper's and does not lose throughput";
    let both = "Ours, on the paper's future work: for 8 uploads and 8 downloads some remedy is as \
                fair as the paper's and does not lose throughput";
    [claim(results, REMEDIES, "ACK-X1", uploads), claim(results, REMEDIES_UP_DOWN, "ACK-X2", both)]
}

fn claim(results: &Results, experiment: &str, id: &'static str, statement: &'static str) -> Claim {
    let candidates = candidates(results, experiment);
    let mut measured = Evidence::of(results, &[experiment]);
    measured.fact("remedies", candidates.len());
    let fair = candidates.iter().filter(|(_, balance)| balance.is_fair());
    measured.fact("as_fair", fair.count());
    let best = candidates.first();
    if let Some((remedy, _)) = best {
        measured.fact("best", remedy.name());
    }
    let of_best = |value: fn(&Balance) -> Option<Estimate>| value(&best?.1);
    measured.estimate("jain", of_best(|balance| balance.jain));
    let jain_change = measured.estimate("jain_change", of_best(|balance| balance.jain_change));
    let kept = measured.number("kept", best.map(|(_, balance)| balance.kept));
    let papers = Remedy::of_the_paper();
    let first = Balance::of(results, experiment, &papers).map(|balance| (papers, balance));
    let shown = first.iter().chain(candidates.iter().take(3));
    let lines: Vec<String> = shown.map(|(remedy, balance)| balance.line(remedy)).collect();
    Claim::judge(
        Criterion {
            id,
            statement,
            meaning: "Of the best remedy. jain_change is Jain's index less that of the paper's \
                      remedy over runs with the same seed, of which the 95 % confidence interval \
                      must end above -0.02; kept is the share of the total without a remedy. The \
                      best is the one that keeps most of those as fair, or else the fairest, found \
                      from the same runs",
        },
        measured.tested([jain_change.low.above(AS_FAIR), kept.at_least(KEPT)]),
        format!("The paper's remedy, then the best others. {}.", lines.join(". ")),
    )
    .ours()
}

pub(super) fn tables(results: &Results) -> Vec<ResultTable> {
    [
        (REMEDIES, "Ours: remedies for 16 uploads"),
        (REMEDIES_UP_DOWN, "Ours: remedies for 8 uploads and 8 downloads"),
    ]
    .map(|(experiment, title)| table(results, experiment, title))
    .into()
}

fn table(results: &Results, experiment: &str, title: &str) -> ResultTable {
    type Measure = fn(&Run) -> f64;
    let columns: [(&str, Measure, usize); 8] = [
        ("Jain", measure::jain, 3),
        ("Total (Mbps)", measure::total_mbps, 2),
        ("Flows below a tenth of fair", measure::starved_by_share, 1),
        ("ACKs dropped (share)", measure::ack_drop_share, 3),
        ("ACKs filtered (share)", measure::ack_filtered_share, 3),
        ("Dropped by AQM (share)", measure::aqm_share, 3),
        ("AP queue (packets)", measure::mean_ap_queue, 1),
        ("Timeouts per flow", measure::timeouts_per_flow, 1),
    ];
    let row = |remedy: Remedy| {
        let runs = remedy.runs(results, experiment);
        let kept = Balance::of(results, experiment, &remedy).map(|balance| balance.kept);
        let kept = kept.map_or(String::new(), |kept| format!("{kept:.3}"));
        let ratio = over(&runs, measure::log_ratio).map(|log| math::exp(log.mean));
        let down = runs.iter().any(|run| run.summary.totals.down_bps > 0);
        let ratio = ratio.filter(|_| down).map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
        let values = columns.iter().map(|&(_, value, digits)| show(over(&runs, value), digits));
        let Remedy { queue, limit, algorithm } = remedy;
        let first = [queue, limit, algorithm, runs.len().to_string(), kept, ratio];
        first.into_iter().chain(values).collect()
    };
    let rows = remedies(results, experiment).into_iter().map(row).collect();
    let fixed =
        ["Queue of the AP", "Limit", "Algorithm", "Seeds", "Total kept (share)", "Up / down"];
    let names = columns.map(|column| column.0);
    let header = fixed.iter().chain(&names).map(|&name| name.to_owned()).collect();
    ResultTable { title: title.to_owned(), header, rows }
}

pub(super) fn exhibits(results: &Results) -> Vec<Exhibit> {
    let total = ("total", "Total goodput (Mbps)", measure::total_mbps as fn(&Run) -> f64);
    let jain = ("jain", "Jain's index", measure::jain as fn(&Run) -> f64);
    let mut exhibits = Vec::new();
    for (experiment, what) in
        [(REMEDIES, "16 uploads"), (REMEDIES_UP_DOWN, "8 uploads and 8 downloads")]
    {
        for (id, label, value) in [jain, total] {
            exhibits.push(bars(results, experiment, what, id, label, value));
        }
    }
    exhibits
}

fn bars(
    results: &Results,
    experiment: &str,
    what: &str,
    id: &str,
    label: &str,
    value: fn(&Run) -> f64,
) -> Exhibit {
    let groups = results.axis(experiment, QUEUE);
    let series = |limit: &str, algorithm: &str| {
        let of = |queue: &String| {
            let runs = Remedy::new(queue, limit, algorithm).runs(results, experiment);
            over(&runs, value).map(Interval::from)
        };
        let values = groups.iter().map(of).collect();
        BarSeries { label: format!("{algorithm}, {limit}"), values }
    };
    let (limits, algorithms) =
        (results.axis(experiment, LIMIT), results.axis(experiment, ALGORITHM));
    let series =
        limits.iter().flat_map(|limit| algorithms.iter().map(|algorithm| series(limit, algorithm)));
    let short = label.split(" (").next().unwrap_or_default();
    Exhibit {
        id: format!("{experiment}-{id}"),
        claims: if experiment == REMEDIES { &["ACK-X1"] } else { &["ACK-X2"] },
        paper: "Not in the paper, which names better remedies as future work.".into(),
        ours: format!(
            "{short} of {what} by the queue of the access point and the senders' algorithm, with \
             95 % confidence intervals over seeds. Drop-tail of {PAPERS_LIMIT} with compound is no \
             remedy, with ack-loss-literal+compound it is the paper's."
        ),
        figure: Figure {
            title: format!("{short} of {what} under each remedy"),
            x_label: "Queue of the access point".into(),
            y_label: label.to_owned(),
            y_range: None,
            content: Content::Bars { series: series.collect(), groups: groups.clone() },
        },
    }
}
