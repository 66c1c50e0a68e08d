//! The paper's figures with ours beside them, and the tables.

use super::claims::Editions;
use super::experiments::{CCID2, GCC, PAPERS, STEP_S, TCP, UDP, VARIANT};
use super::points::{Point, at, points};
use fairwave_lab::plot::{Content, Curve, Figure, Interval, Mark};
use fairwave_study::measure::show;
use fairwave_study::{Error, Exhibit, ResultTable, Results};

/// Seconds after the handover that curves show.
const SHOWN_S: f64 = 15.0;

pub(super) fn exhibits(plain: &Editions) -> Vec<Exhibit> {
    let mut exhibits: Vec<Exhibit> =
        [1.5, 2.5, 3.0, 3.5].iter().map(|&seconds| figure_3(plain, seconds)).collect();
    exhibits.extend([figure_4(plain), figure_5(plain), figure_6(plain)]);
    exhibits
}

fn papers(plain: &Editions) -> &[Point] {
    plain.get(PAPERS).map_or(&[][..], Vec::as_slice)
}

/// A curve from its values every step.
fn line(label: &str, values: &[f64]) -> Curve {
    let points = values.iter().enumerate().map(|(k, value)| (k as f64 * STEP_S, *value));
    curve(label, points)
}

fn curve(label: &str, points: impl Iterator<Item = (f64, f64)>) -> Curve {
    let shown = points.take_while(|(t, _)| *t <= SHOWN_S);
    let points = shown.map(|(t, value)| (t, Interval::exact(value))).collect();
    Curve { label: label.to_owned(), points, mark: Mark::Line }
}

fn figure_3(plain: &Editions, seconds: f64) -> Exhibit {
    let point = at(papers(plain), seconds);
    let curves = point.map_or_else(Vec::new, |point| {
        vec![line("mobile", &point.mobile), line("residents", &point.residents)]
    });
    let ours = point.and_then(|point| point.caught_up);
    let paper =
        if seconds < 3.0 { "below the residents for more than 10 s" } else { "back in 2-3 s" };
    Exhibit {
        id: format!("fig3-{seconds}"),
        claims: &["HO-1"],
        paper: format!("Fig. 3: after {seconds} s the mobile is {paper}."),
        ours: ours.map_or("The mobile does not come to 90 % of the residents' rate.".into(), |s| {
            format!("The mobile comes to 90 % of the residents' rate after {s:.1} s.")
        }),
        figure: Figure {
            title: format!("Mean sending rates after {seconds} s without an access point"),
            x_label: "Time since the handover (s)".into(),
            y_label: "Sending rate (kbps)".into(),
            y_range: Some((0.0, 550.0)),
            content: Content::Curves(curves),
        },
    }
}

fn figure_4(plain: &Editions) -> Exhibit {
    let curves = plain.iter().map(|(profile, points)| Curve {
        label: profile.clone(),
        points: points
            .iter()
            .filter_map(|p| Some((p.disconnection, Interval::from(p.recovery?))))
            .collect(),
        mark: Mark::DottedLine,
    });
    Exhibit {
        id: "fig4".into(),
        claims: &["HO-1"],
        paper:
            "Fig. 4: recovery takes long below 3 s without an access point, and short from 3 s on."
                .into(),
        ours: "Recovery does not get shorter with the time without an access point.".into(),
        figure: Figure {
            title: "Recovery time: until the ten rates' standard deviation is below 85 kbps".into(),
            x_label: "Time without an access point (s)".into(),
            y_label: "Recovery time (s)".into(),
            y_range: None,
            content: Content::Curves(curves.collect()),
        },
    }
}

/// Curves of some disconnections.
fn some(plain: &Editions, curve_of: impl Fn(&Point) -> Vec<(f64, f64)>) -> Content {
    let shown = [0.5, 1.5, 2.5, 3.5, 4.5, 6.0].iter().filter_map(|&s| at(papers(plain), s));
    let curves = shown
        .map(|point| curve(&format!("{} s", point.disconnection), curve_of(point).into_iter()));
    Content::Curves(curves.collect())
}

fn figure_5(plain: &Editions) -> Exhibit {
    Exhibit {
        id: "fig5".into(),
        claims: &["HO-2"],
        paper:
            "Fig. 5: short disconnections make the mean loss interval fall, long ones make it far \
                too high, about 4000 from 4.5 s on."
                .into(),
        ours: "The first loss interval stands for the rate received after the gap, whatever its \
               length."
            .into(),
        figure: Figure {
            title: "Mean loss interval of the mobile".into(),
            x_label: "Time since the handover (s)".into(),
            y_label: "Mean loss interval (packets)".into(),
            y_range: None,
            content: some(plain, |point| point.interval.clone()),
        },
    }
}

fn figure_6(plain: &Editions) -> Exhibit {
    Exhibit {
        id: "fig6".into(),
        claims: &["HO-3"],
        paper:
            "Fig. 6: up to 3.5 s the mobile's round-trip time is above the residents', from 4.5 s \
                on it is equal or lower."
                .into(),
        ours: "The first samples are as long as the gap.".into(),
        figure: Figure {
            title: "Smoothed round-trip time of the mobile".into(),
            x_label: "Time since the handover (s)".into(),
            y_label: "Round-trip time (s)".into(),
            y_range: None,
            content: some(plain, |point| point.rtt.clone()),
        },
    }
}

fn or_dash(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".into(), |value| format!("{value:.digits$}"))
}

fn row(name: &str, point: &Point) -> Vec<String> {
    vec![
        name.to_owned(),
        format!("{}", point.disconnection),
        show(point.recovery, 1),
        or_dash(point.caught_up, 1),
        or_dash(point.within, 1),
        or_dash(point.interval_after(), 0),
        or_dash(point.residents_interval, 0),
        or_dash(point.rtt_ratio(), 1),
        or_dash(point.first_second, 2),
        or_dash(point.second_second, 2),
        show(point.residents_goodput, 0),
    ]
}

const HEADER: [&str; 11] = [
    "Transport",
    "Without AP (s)",
    "Recovery (s)",
    "90 % of the residents (s)",
    "Within 20 % (s)",
    "Loss interval, 10 s",
    "Residents'",
    "RTT over residents', 2 s",
    "Goodput over residents', 1st s",
    "2nd s",
    "Residents (kbps)",
];

fn table(title: &str, rows: Vec<Vec<String>>) -> ResultTable {
    let header = HEADER.map(str::to_owned).to_vec();
    ResultTable { title: title.to_owned(), header, rows }
}

pub(super) fn by_disconnection(plain: &Editions) -> ResultTable {
    let rows = plain.iter().flat_map(|(profile, points)| {
        points.iter().map(move |point| row(&format!("CCID 3, {profile}"), point))
    });
    table("Without remedies", rows.collect())
}

/// Other transports in the same handover.
pub(super) fn others(results: &Results) -> Result<Vec<ResultTable>, Error> {
    let mut rows = Vec::new();
    for (name, experiment) in [("CCID 2", CCID2), ("UDP", UDP), ("TCP", TCP), ("GCC", GCC)] {
        for (variant, points) in points(results, experiment, VARIANT)? {
            let name = format!("{name}, {variant}");
            rows.extend(points.iter().map(|point| row(&name, point)));
        }
    }
    let title = "Other transports. The rate of GCC is its target, that of the others what \
                 arrived in half a second";
    Ok(vec![table(title, rows)])
}
