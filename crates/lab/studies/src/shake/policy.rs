//! SHK-X2, the paper's future work: the repeating path by round-trip time and loss.
//!
//! The criterion, set before the first run: where the widest path is lossy, and where it is far,
//! choosing by round-trip time over delivery ends sooner than by bandwidth (95 %, seed by seed);
//! where the widest is the best, as in the paper, it costs no more than 2 %.

use super::experiments::{POLICY, POLICY_TODAY, RETRANSMISSION, VARIANT};
use super::measure::{all_end, counter, of, seconds};
use fairwave_lab::plot::{BarSeries, Content, Figure, Interval};
use fairwave_lab::run::Run;
use fairwave_study::measure::{over, paired_ratio, show};
use fairwave_study::{Claim, Criterion, Evidence, Exhibit, ResultTable, Results};

const WIDEST: &str = "widest";
/// Round-trip time over the part of messages that arrives.
const CHOSEN: &str = "least-rtt-over-delivery";
/// Circumstances at the paper's rates.
const SETTINGS: [&str; 3] = ["paper", "lossy", "far"];

fn at<'r>(results: &'r Results, file: &str, setting: &str, policy: &str) -> Vec<&'r Run> {
    results.select(file, &[(VARIANT, setting), (RETRANSMISSION, policy)])
}

pub(super) fn claim(results: &Results) -> Claim {
    let runs = |setting: &str, policy: &str| at(results, POLICY, setting, policy);
    let mut measured = Evidence::of(results, &[POLICY]);
    let [paper, lossy, far] = SETTINGS.map(|setting| {
        let widest = runs(setting, WIDEST);
        measured.estimate(format!("{setting}_widest_s"), over(&widest, seconds));
        let ratio = paired_ratio(&runs(setting, CHOSEN), &widest, seconds);
        measured.estimate(format!("{setting}_over_widest"), ratio)
    });
    let ends = all_end(&mut measured, &SETTINGS.map(|setting| of(results, POLICY, setting)));
    Claim::judge(
        Criterion {
            id: "SHK-X2",
            statement: "Ours, the paper's future work: repeating on the path of the least \
                        round-trip time over delivery beats the widest path where that is lossy or \
                        far, and costs nothing elsewhere",
            meaning: "Time of 500 KB with that choice over the time with the widest, seed by \
                      seed: as in the paper, where path 1 loses 10 % and the others 1 %, and where \
                      it takes 600 ms each way",
        },
        measured.tested([lossy.high.below(1.0), far.high.below(1.0), paper.mean.below(1.02), ends]),
        best(results),
    )
    .ours()
}

/// The fastest choice in every setting.
fn best(results: &Results) -> String {
    let mut texts = Vec::new();
    for (file, name) in [(POLICY, "Paper's rates"), (POLICY_TODAY, "Today's rates")] {
        for setting in results.axis(file, VARIANT) {
            let times = results.axis(file, RETRANSMISSION).into_iter().filter_map(|policy| {
                let time = over(&at(results, file, &setting, &policy), seconds)?;
                Some((time.mean, policy))
            });
            let Some((time, policy)) = times.min_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
            let widest = over(&at(results, file, &setting, WIDEST), seconds);
            texts.push(format!(
                "{name}, {setting}: {policy}, {time:.1} s (widest {} s)",
                show(widest, 1)
            ));
        }
    }
    format!("The fastest choices. {}.", texts.join("; "))
}

pub(super) fn exhibit(results: &Results) -> Exhibit {
    let policies = results.axis(POLICY, RETRANSMISSION);
    let series = SETTINGS.map(|setting| BarSeries {
        label: setting.to_owned(),
        values: policies
            .iter()
            .map(|policy| over(&at(results, POLICY, setting, policy), seconds).map(Interval::from))
            .collect(),
    });
    Exhibit {
        id: "shkx2".into(),
        claims: &["SHK-X2"],
        paper: "Nothing: future work.".into(),
        ours: "Time of 500 KB by the path that repeats, mean and 95 % interval over seeds".into(),
        figure: Figure {
            title: "Time by the choice of the repeating path".into(),
            x_label: "Repeating path".into(),
            y_label: "Time (s)".into(),
            y_range: None,
            content: Content::Bars { groups: policies, series: series.into() },
        },
    }
}

pub(super) fn tables(results: &Results) -> Vec<ResultTable> {
    [(POLICY, "500 KB at the paper's rates"), (POLICY_TODAY, "20 MB at today's rates")]
        .map(|(file, title)| table(results, file, title))
        .into()
}

fn table(results: &Results, file: &str, title: &str) -> ResultTable {
    let settings = results.axis(file, VARIANT);
    let row = |policy: String| {
        let cells = settings.iter().flat_map(|setting| {
            let runs = at(results, file, setting, &policy);
            [show(over(&runs, seconds), 2), show(counter(&runs, |flow| flow.timeouts), 1)]
        });
        [policy.clone()].into_iter().chain(cells).collect()
    };
    let columns =
        settings.iter().flat_map(|setting| [format!("{setting} (s)"), "timeouts".to_owned()]);
    ResultTable {
        title: format!("{title} by the path that repeats"),
        header: ["Repeating path".to_owned()].into_iter().chain(columns).collect(),
        rows: results.axis(file, RETRANSMISSION).into_iter().map(row).collect(),
    }
}
