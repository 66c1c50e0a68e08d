//! The paper's bars and curves with ours beside them, its tables of weights, and every scheme in
//! every setting.

use super::claims::{is_voice, with_others};
use super::experiments::{
    BAD_CBR, BAD_MIXED, BAD_TCP, BAD_VOIP, BESIDE, FIFO, GOOD_TCP, GOOD_VOIP, MOVING,
};
use super::experiments::{CONTROLS, OTHERS, WEIGHTED};
use super::measure::{self, Profile, goodput, of};
use fairwave_lab::plot::{BarSeries, Content, Curve, Figure, Interval, Mark};
use fairwave_lab::run::Run;
use fairwave_lab::stats;
use fairwave_soc::{AllZero, POLICIES, shares};
use fairwave_study::measure::{over, show, total_mbps};
use fairwave_study::{Exhibit, ResultTable, Results};
use fairwave_units::Db;

/// A scheme as the paper calls it.
pub(super) fn label(scheme: &str) -> String {
    scheme.to_uppercase()
}

fn paper_schemes() -> impl Iterator<Item = &'static str> {
    [FIFO].into_iter().chain(WEIGHTED)
}

fn all_schemes() -> impl Iterator<Item = &'static str> {
    paper_schemes().chain(BESIDE)
}

/// Goodput of each host in bins of 3 s: C1 a line, the others dots, as in the paper.
pub(super) fn over_time(title: &str, run: Option<&Run>) -> Figure {
    let bins = |i: usize| run.map_or_else(Vec::new, |run| measure::bins(run, i));
    let at = |(bin, rate): (usize, f64)| (measure::middle(bin), Interval::exact(rate));
    let mut others: Vec<(f64, Interval)> =
        (1..8).flat_map(|i| bins(i).into_iter().enumerate().map(at)).collect();
    others.sort_by(|a, b| a.0.total_cmp(&b.0));
    let c1 = bins(0).into_iter().enumerate().map(at).collect();
    Figure {
        title: title.into(),
        x_label: "Time (s)".into(),
        y_label: "Goodput in 3 s (Mbps)".into(),
        y_range: None,
        content: Content::Curves(vec![
            Curve { label: "C2 to C8".into(), points: others, mark: Mark::Dots },
            Curve { label: "C1".into(), points: c1, mark: Mark::Line },
        ]),
    }
}

pub(super) fn exhibits(results: &Results) -> Vec<Exhibit> {
    let mut exhibits = snapshots(results);
    exhibits.push(by_host(
        results,
        GOOD_TCP,
        &[FIFO, "gb1"],
        "fig13",
        "Fig. 13: totals over 300 s are even between hosts, and the same for FIFO and SoCPS.",
    ));
    exhibits.push(by_scheme(
        results,
        BAD_TCP,
        "fig14",
        "Fig. 14: GB1 carries more than GB2, GB3 and PW, and about as much as FIFO.",
    ));
    exhibits.push(by_host(
        results,
        GOOD_VOIP,
        &[FIFO, "pw"],
        "fig15",
        "Fig. 15: FIFO is uneven and deviates (error bars are standard deviations); PW does not.",
    ));
    exhibits.push(by_scheme(
        results,
        BAD_VOIP,
        "fig16",
        "Fig. 16: weights by SoC raise the total; GB3 is about as FIFO.",
    ));
    exhibits.extend([by_number(results), mixed(results)]);
    exhibits
}

fn snapshots(results: &Results) -> Vec<Exhibit> {
    let of = |scheme, id: &str, paper: &str| {
        let runs = of(results, GOOD_TCP, scheme, Profile::WaveLan);
        let title = format!("Goodput under {}, Env_g, Tr_tcp", label(scheme));
        Exhibit {
            id: id.into(),
            claims: shows(GOOD_TCP),
            paper: paper.into(),
            ours: format!(
                "One run without ARQ. The standard deviation of a host's bins is {} Mbps over all \
                 runs.",
                show(over(&runs, measure::deviation), 3)
            ),
            figure: over_time(&title, runs.first().copied()),
        }
    };
    vec![
        of(FIFO, "fig11", "Fig. 11: each host's throughput swings over some ten seconds."),
        of("gb1", "fig12", "Fig. 12: under GB1 it does not."),
    ]
}

/// Each host's goodput, with the standard deviation of its 3 s bins.
fn by_host(
    results: &Results,
    experiment: &str,
    schemes: &[&str],
    id: &str,
    paper: &str,
) -> Exhibit {
    let series = schemes.iter().map(|scheme| {
        let runs = of(results, experiment, scheme, Profile::WaveLan);
        let host = |i: usize| {
            let mean = over(&runs, |run| goodput(run, |host| host == i as u32 + 1))?.mean;
            let spread = over(&runs, |run| stats::std_dev(&measure::bins(run, i)))?.mean;
            Some(Interval { mean, low: mean - spread, high: mean + spread })
        };
        BarSeries { label: label(scheme), values: (0..8).map(host).collect() }
    });
    Exhibit {
        id: id.into(),
        claims: shows(experiment),
        paper: paper.into(),
        ours: "Without ARQ, mean over seeds; error bars are standard deviations over 3 s bins."
            .into(),
        figure: Figure {
            title: format!("Goodput of each host, {}", setting(experiment)),
            x_label: "Host".into(),
            y_label: "Goodput (Mbps)".into(),
            y_range: None,
            content: Content::Bars {
                groups: (1..=8).map(|i| format!("C{i}")).collect(),
                series: series.collect(),
            },
        },
    }
}

/// The claim that figures of an experiment show.
fn shows(experiment: &str) -> &'static [&'static str] {
    match experiment {
        GOOD_TCP => &["SOC-1"],
        BAD_TCP => &["SOC-2"],
        GOOD_VOIP => &["SOC-3"],
        BAD_VOIP => &["SOC-4"],
        BAD_CBR => &["SOC-5"],
        BAD_MIXED => &["SOC-6"],
        _ => &[],
    }
}

fn setting(experiment: &str) -> &'static str {
    match experiment {
        GOOD_TCP => "Env_g, Tr_tcp",
        GOOD_VOIP => "Env_g, Tr_voip",
        BAD_TCP => "Env_b, Tr_tcp",
        BAD_VOIP => "Env_b, Tr_voip",
        BAD_CBR => "Env_b, Tr_cbr, 8 hosts",
        BAD_MIXED => "Env_b, Tr_tv",
        _ => "Env_m, Tr_tcp",
    }
}

/// Totals of the paper's schemes on both profiles.
fn by_scheme(results: &Results, experiment: &str, id: &str, paper: &str) -> Exhibit {
    let series = Profile::ALL.map(|profile| BarSeries {
        label: profile.name().into(),
        values: paper_schemes()
            .map(|scheme| {
                let runs = of(results, experiment, scheme, profile);
                over(&runs, total_mbps).map(Interval::from)
            })
            .collect(),
    });
    Exhibit {
        id: id.into(),
        claims: shows(experiment),
        paper: paper.into(),
        ours: "Totals on both profiles; error bars are 95 % confidence intervals over seeds."
            .into(),
        figure: Figure {
            title: format!("Total goodput, {}", setting(experiment)),
            x_label: "Scheme".into(),
            y_label: "Total goodput (Mbps)".into(),
            y_range: None,
            content: Content::Bars {
                groups: paper_schemes().map(label).collect(),
                series: series.into(),
            },
        },
    }
}

fn by_number(results: &Results) -> Exhibit {
    let counts = results.axis(BAD_CBR, OTHERS);
    let curve = |scheme: &str| {
        let point = |others: &String| {
            let runs = with_others(results, scheme, Profile::WaveLan, others);
            let hosts = 1.0 + others.parse::<f64>().ok()?;
            Some((hosts, Interval::from(over(&runs, total_mbps)?)))
        };
        let points = counts.iter().filter_map(point).collect();
        Curve { label: label(scheme), points, mark: Mark::DottedLine }
    };
    Exhibit {
        id: "fig17".into(),
        claims: shows(BAD_CBR),
        paper: "Fig. 17: total over the number of clients; SoCPS is ahead of FIFO.".into(),
        ours: "Total over the number of hosts, C1 among them, without ARQ.".into(),
        figure: Figure {
            title: "Total goodput, Env_b, Tr_cbr".into(),
            x_label: "Hosts".into(),
            y_label: "Total goodput (Mbps)".into(),
            y_range: None,
            content: Content::Curves(paper_schemes().map(curve).collect()),
        },
    }
}

fn mixed(results: &Results) -> Exhibit {
    let bars = |name: &str, which: fn(u32) -> bool| BarSeries {
        label: name.into(),
        values: paper_schemes()
            .map(|scheme| {
                let runs = of(results, BAD_MIXED, scheme, Profile::WaveLan);
                over(&runs, |run| goodput(run, which)).map(Interval::from)
            })
            .collect(),
    };
    Exhibit {
        id: "fig18".into(),
        claims: shows(BAD_MIXED),
        paper: "Fig. 18: voice gets about the same under all; TCP more under PW, GB1 and GB2."
            .into(),
        ours: "Totals of C1 to C4 (voice) and of C5 to C8 (TCP), without ARQ.".into(),
        figure: Figure {
            title: "Total goodput, Env_b, Tr_tv".into(),
            x_label: "Scheme".into(),
            y_label: "Total goodput (Mbps)".into(),
            y_range: None,
            content: Content::Bars {
                groups: paper_schemes().map(label).collect(),
                series: vec![bars("Voice", is_voice), bars("TCP", |host| !is_voice(host))],
            },
        },
    }
}

pub(super) fn tables(results: &Results) -> Vec<ResultTable> {
    let mut tables = vec![
        weights("Table 1: GB with D = 5 dB", &["gb-example"], &[2.0, 4.0, 6.0, 8.0]),
        weights(
            "Table 2: PW through 2, 4, 6 and 8 dB, by both rules",
            &["pw-example", "pw-example-step"],
            &[1.0, 3.0, 5.0, 9.0],
        ),
    ];
    tables.extend(Profile::ALL.map(|profile| every_scheme(results, profile)));
    tables
}

/// Weights and shares of four hosts, by each of some policies.
fn weights(title: &str, policies: &[&str], levels: &[f64; 4]) -> ResultTable {
    let mut header = vec!["Host".to_owned(), "SoC (dB)".to_owned()];
    let hosts = ["A", "B", "C", "D"].iter().zip(levels);
    let mut rows: Vec<Vec<String>> =
        hosts.map(|(host, soc)| vec![(*host).to_owned(), soc.to_string()]).collect();
    let known = policies.iter().filter_map(|name| POLICIES.iter().find(|p| p.name == *name));
    for policy in known {
        let curve = (policy.curve)();
        let weights: Vec<f64> = levels.iter().map(|soc| curve.at(Db(*soc))).collect();
        header.extend([format!("w, {}", policy.name), format!("C, {}", policy.name)]);
        let shares = shares(&weights, AllZero::Nothing);
        for ((row, weight), share) in rows.iter_mut().zip(&weights).zip(shares) {
            row.extend([format!("{weight:.2}"), format!("{share:.2}")]);
        }
    }
    ResultTable { title: title.into(), header, rows }
}

const SETTINGS: [&str; 7] = [GOOD_TCP, GOOD_VOIP, BAD_TCP, BAD_VOIP, BAD_CBR, BAD_MIXED, MOVING];

/// The runs of a scheme in a setting; with eight hosts where their number varies.
fn in_setting<'r>(
    results: &'r Results,
    scheme: &str,
    experiment: &str,
    profile: Profile,
) -> Vec<&'r Run> {
    match experiment {
        BAD_CBR => with_others(results, scheme, profile, "7"),
        _ => of(results, experiment, scheme, profile),
    }
}

/// The scheme with the largest total in each setting, beside FIFO and PW.
pub(super) fn best(results: &Results) -> String {
    let mut parts = Vec::new();
    for profile in Profile::ALL {
        for experiment in SETTINGS {
            let total =
                |scheme: &str| over(&in_setting(results, scheme, experiment, profile), total_mbps);
            let all = all_schemes().filter_map(|scheme| Some((scheme, total(scheme)?)));
            let max = all.max_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
            let Some((scheme, estimate)) = max else { continue };
            parts.push(format!(
                "{}, {}: {} {}, FIFO {}, PW {}",
                setting(experiment),
                profile.name(),
                label(scheme),
                show(Some(estimate), 3),
                show(total(FIFO), 3),
                show(total("pw"), 3),
            ));
        }
    }
    format!(
        "Who carries most, in Mbps: {}. FIFO and SoCPS carry reports besides; the others are told \
         nothing, or the truth for nothing.",
        parts.join("; ")
    )
}

/// Range of goodput over time where all links are good for TCP, by scheme.
pub(super) fn evenness(results: &Results) -> ResultTable {
    let row = |scheme: &str| {
        let cells = Profile::ALL.map(|profile| {
            let runs = of(results, GOOD_TCP, scheme, profile);
            [
                show(over(&runs, measure::deviation), 3),
                show(over(&runs, measure::total_deviation), 3),
                show(over(&runs, total_mbps), 3),
            ]
        });
        [label(scheme)].into_iter().chain(cells.into_iter().flatten()).collect()
    };
    let header = Profile::ALL.map(|profile| {
        ["a host", "the total", "total"].map(|what| format!("{what}, {}", profile.name()))
    });
    ResultTable {
        title: "Standard deviation of 3 s bins of a host and of the total, and the total, Env_g, \
                Tr_tcp (Mbps)"
            .into(),
        header: ["Scheme".to_owned()].into_iter().chain(header.into_iter().flatten()).collect(),
        rows: all_schemes().chain(CONTROLS).map(row).collect(),
    }
}

/// Totals of every scheme in every setting.
fn every_scheme(results: &Results, profile: Profile) -> ResultTable {
    let header = ["Scheme".to_owned()].into_iter();
    let header = header.chain(SETTINGS.map(|experiment| setting(experiment).to_owned()));
    let cell = |scheme: &str, experiment: &str| {
        show(over(&in_setting(results, scheme, experiment, profile), total_mbps), 3)
    };
    let row = |scheme: &str| {
        let cells = SETTINGS.map(|experiment| cell(scheme, experiment));
        [label(scheme)].into_iter().chain(cells).collect()
    };
    ResultTable {
        title: format!("Total goodput of every scheme, {} (Mbps)", profile.name()),
        header: header.collect(),
        rows: all_schemes().map(row).collect(),
    }
}
