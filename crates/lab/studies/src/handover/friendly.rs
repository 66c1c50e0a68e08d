//! Whether one TFRC shares a wired bottleneck with one TCP.

use super::experiments::FRIENDLY;
use fairwave_lab::results::FlowSummary;
use fairwave_lab::run::Run;
use fairwave_lab::stats;
use fairwave_study::{Claim, Criterion, Evidence, ResultTable, Results};

const DELAY: &str = "link.bottleneck.delay";
const LOSS: &str = "link.bottleneck.loss";
/// Bins of half a second that are over when the warm-up of 10 s is.
const WARM_UP_BINS: usize = 20;

/// Result of one point, the mean over seeds.
struct Point {
    delay: String,
    loss: String,
    tfrc_mbps: f64,
    tcp_mbps: f64,
    /// `None` where nothing arrived in some run.
    tfrc_variation: Option<f64>,
    tcp_variation: Option<f64>,
    timeouts: f64,
}

/// The points.
pub(super) struct Friendly(Vec<Point>);

fn flow<'r>(run: &'r Run, name: &str) -> Option<&'r FlowSummary> {
    run.summary.flows.iter().find(|flow| flow.name == name)
}

/// Standard deviation over mean of the goodput in bins of half a second; `None` where nothing
/// arrives.
fn variation(flow: &FlowSummary) -> Option<f64> {
    let bins = flow.bins_bps.iter().skip(WARM_UP_BINS).map(|bps| *bps as f64);
    let bins: Vec<f64> = bins.collect();
    let mean = stats::mean(&bins).filter(|mean| *mean > 0.0)?;
    Some(stats::std_dev(&bins) / mean)
}

/// The mean variation of a flow over runs, if it has one in each.
fn mean_variation(runs: &[&Run], name: &str) -> Option<f64> {
    let values: Option<Vec<f64>> =
        runs.iter().map(|run| flow(run, name).and_then(variation)).collect();
    stats::mean(&values?)
}

impl Friendly {
    pub(super) fn read(results: &Results) -> Self {
        let mut points = Vec::new();
        for delay in results.axis(FRIENDLY, DELAY) {
            for loss in results.axis(FRIENDLY, LOSS) {
                let runs = results.select(FRIENDLY, &[(DELAY, &delay), (LOSS, &loss)]);
                let mean = |name: &str, value: &dyn Fn(&FlowSummary) -> f64| {
                    let values = runs.iter().filter_map(|run| flow(run, name)).map(value);
                    stats::mean(&values.collect::<Vec<f64>>()).unwrap_or(0.0)
                };
                let mbps = |flow: &FlowSummary| flow.goodput_bps as f64 / 1e6;
                points.push(Point {
                    tfrc_mbps: mean("tfrc", &mbps),
                    tcp_mbps: mean("tcp", &mbps),
                    tfrc_variation: mean_variation(&runs, "tfrc"),
                    tcp_variation: mean_variation(&runs, "tcp"),
                    timeouts: mean("tcp", &|flow| flow.timeouts as f64),
                    delay: delay.clone(),
                    loss,
                });
            }
        }
        Self(points)
    }

    pub(super) fn claim(&self) -> Claim {
        let mut measured = Evidence::default();
        let ratios = || self.0.iter().map(Point::ratio);
        let maximum = measured.number("most_ratio", ratios().reduce(f64::max));
        let minimum = measured.number("least_ratio", ratios().reduce(f64::min));
        let smooth: Option<Vec<f64>> =
            self.0.iter().map(|p| Some(p.tfrc_variation? / p.tcp_variation?)).collect();
        let roughest = smooth.and_then(|ratios| ratios.into_iter().reduce(f64::max));
        let roughest = measured.number("most_variation_over_tcp", roughest);
        let fair = ratios().filter(|ratio| (1.0 / 1.5..1.5).contains(ratio)).count();
        Claim::judge(
            Criterion {
                id: "HO-X1",
                statement: "One TFRC beside one TCP on a wired bottleneck gets between two thirds \
                            and one and a half times its goodput over 60 s, for round trips of 20 \
                            to 200 ms and 0.1 to 5 % loss, and more smoothly",
                meaning: "Goodput of the one over that of the other, mean over seeds, at every \
                          round trip and loss; variation is the standard deviation of goodput in \
                          bins of 0.5 s over its mean",
            },
            measured.tested([maximum.below(1.5), minimum.above(1.0 / 1.5), roughest.below(1.0)]),
            format!(
                "{fair} of {} points share within the factor. {} The equation takes a timeout of 4 \
                 R (RFC 5348 section 3.1), but TCP waits 1 s at least (RFC 6298 section 2.4): at a \
                 short round trip and heavy loss it is silent for much longer than the equation \
                 says.",
                self.0.len(),
                self.worst()
            ),
        )
        .ours()
    }

    /// The points that are furthest apart, in words.
    fn worst(&self) -> String {
        let by = |a: &&Point, b: &&Point| a.ratio().total_cmp(&b.ratio());
        let say = |point: Option<&Point>| {
            point.map_or_else(String::new, |p| {
                format!(
                    "{:.2} at {} each way and a loss of {} (TFRC {:.2}, TCP {:.2} Mbps with {:.0} \
                     timeouts)",
                    p.ratio(),
                    p.delay,
                    p.loss,
                    p.tfrc_mbps,
                    p.tcp_mbps,
                    p.timeouts
                )
            })
        };
        format!("Least {}; most {}.", say(self.0.iter().min_by(by)), say(self.0.iter().max_by(by)))
    }

    pub(super) fn table(&self) -> ResultTable {
        let variation = |value: Option<f64>| value.map_or("-".into(), |v| format!("{v:.2}"));
        let row = |p: &Point| {
            vec![
                p.delay.clone(),
                p.loss.clone(),
                format!("{:.2}", p.tfrc_mbps),
                format!("{:.2}", p.tcp_mbps),
                format!("{:.2}", p.ratio()),
                variation(p.tfrc_variation),
                variation(p.tcp_variation),
                format!("{:.1}", p.timeouts),
            ]
        };
        let header = [
            "Delay each way",
            "Loss",
            "TFRC (Mbps)",
            "TCP (Mbps)",
            "Ratio",
            "Variation of TFRC",
            "of TCP",
            "Timeouts of TCP",
        ];
        ResultTable {
            title: "One TFRC beside one TCP over 10 Mbps".into(),
            header: header.map(str::to_owned).to_vec(),
            rows: self.0.iter().map(row).collect(),
        }
    }
}

impl Point {
    fn ratio(&self) -> f64 {
        self.tfrc_mbps / self.tcp_mbps
    }
}
