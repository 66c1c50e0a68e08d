//! Times at both ends, packets per interval, and the share that arrives over the load.

use super::claims::INTERVAL;
use super::passages::{Passages, Way};
use super::shown::{Point, Shown};
use fairwave_lab::plot::{Content, Curve, Figure, Interval, Mark};
use fairwave_study::measure::show;
use fairwave_study::{Exhibit, ResultTable};
use fairwave_units::{Duration, Instant};

/// The paper enlarges the first half second of UDP.
const FIRST: Duration = Duration::from_millis(500);

pub(super) fn exhibits(shown: &Shown<'_>) -> Vec<Exhibit> {
    let tcp = shown.tcp[0].passages.first();
    let udp = shown.udp[0].passages.first();
    let figures = [
        tcp.map(times_of_tcp),
        tcp.map(|passages| intervals(passages, "fig19-20-intervals", TCP_PAPER, "TCP")),
        udp.map(times_of_udp),
        udp.map(|passages| intervals(passages, "fig23-24", UDP_COUNTS_PAPER, "UDP at 54 Mbps")),
        by_load(shown),
    ];
    figures.into_iter().flatten().collect()
}

const TCP_PAPER: &str = "Figs. 19 and 20: when data and ACKs pass the server and the client; the \
                         text sees no difference between the two.";
const UDP_PAPER: &str = "Figs. 21 and 22: when datagrams pass the server and the client in the \
                         first 0.5 s; the text sees a difference.";
const UDP_COUNTS_PAPER: &str = "Figs. 23 and 24: packets per interval at the client and at the \
                                server; at the server about half.";

fn curve(label: &str, points: Vec<(f64, f64)>) -> Curve {
    let points = points.into_iter().map(|(x, y)| (x, Interval::exact(y))).collect();
    Curve { label: label.to_owned(), points, mark: Mark::Line }
}

fn so_far(title: &str, curves: Vec<Curve>) -> Figure {
    Figure {
        title: title.to_owned(),
        x_label: "Time (s)".into(),
        y_label: "Packets so far".into(),
        y_range: None,
        content: Content::Curves(curves),
    }
}

fn times_of_tcp(passages: &Passages) -> Exhibit {
    let until = Instant::ZERO + FIRST;
    let Passages { data, acks } = passages;
    let curves = vec![
        curve("data at the client", data.so_far(false, until)),
        curve("data at the server", data.so_far(true, until)),
        curve("ACKs at the server", acks.so_far(false, until)),
        curve("ACKs at the client", acks.so_far(true, until)),
    ];
    let delay = |way: &Way| way.delay_ms().unwrap_or(0.0);
    Exhibit {
        id: "fig19-20".into(),
        claims: &["BUF-5"],
        paper: TCP_PAPER.into(),
        ours: format!(
            "Packets at both ends of one TCP upload behind a converter in the first 0.5 s: the \
             same curves, {:.1} ms apart for data and {:.1} ms for ACKs.",
            delay(data),
            delay(acks),
        ),
        figure: so_far("TCP behind a converter, at both ends", curves),
    }
}

fn times_of_udp(passages: &Passages) -> Exhibit {
    let until = Instant::ZERO + FIRST;
    let [sent, arrived] = [false, true].map(|arrived| passages.data.so_far(arrived, until));
    let (at_client, at_server) = (sent.len(), arrived.len());
    let curves = vec![curve("at the client", sent), curve("at the server", arrived)];
    Exhibit {
        id: "fig21-22".into(),
        claims: &["BUF-5"],
        paper: UDP_PAPER.into(),
        ours: format!(
            "Datagrams at both ends, 54 Mbps offered to a converter: after 0.5 s {at_client} at \
             the client and {at_server} at the server."
        ),
        figure: so_far("UDP behind a converter, at both ends", curves),
    }
}

fn intervals(passages: &Passages, id: &str, paper: &str, what: &str) -> Exhibit {
    let counts = passages.data.in_intervals(INTERVAL);
    let whole = &counts[..counts.len().saturating_sub(1)];
    let width = INTERVAL.as_secs_f64();
    let of = |place: usize| {
        let points = whole.iter().enumerate();
        points.map(|(i, count)| (i as f64 * width, f64::from(count[place]))).collect()
    };
    let mean = |place: usize| {
        let sum: u32 = whole.iter().map(|count| count[place]).sum();
        f64::from(sum) / whole.len().max(1) as f64
    };
    Exhibit {
        id: id.into(),
        claims: &["BUF-5"],
        paper: paper.into(),
        ours: format!(
            "{what} behind a converter: {:.0} packets of data in 100 ms at the client, {:.0} at \
             the server, on average.",
            mean(0),
            mean(1),
        ),
        figure: Figure {
            title: format!("{what}: packets of data in 100 ms"),
            x_label: "Time (s)".into(),
            y_label: "Packets in 100 ms".into(),
            y_range: None,
            content: Content::Curves(vec![
                curve("at the client", of(0)),
                curve("at the server", of(1)),
            ]),
        },
    }
}

fn by_load(shown: &Shown<'_>) -> Option<Exhibit> {
    let capacity = shown.capacity_mbps()?;
    let (first, last) = (shown.loads.first()?, shown.loads.last()?);
    let points = shown.loads.iter().map(|load| (load.offered_mbps, Interval::from(load.share)));
    let measured =
        Curve { label: "measured".into(), points: points.collect(), mark: Mark::DottedLine };
    let steps = (first.offered_mbps.round() as u32)..=(last.offered_mbps.round() as u32);
    let rule = |mbps: u32| (f64::from(mbps), (capacity / f64::from(mbps)).min(1.0));
    let label = format!("{capacity:.1} Mbps over the load");
    let curves = vec![measured, curve(&label, steps.map(rule).collect())];
    Some(Exhibit {
        id: "converter-load".into(),
        claims: &["BUF-X5"],
        paper: "Not in the paper, which has one load and does not state it.".into(),
        ours: format!(
            "Share of the datagrams that arrive from behind a converter over the offered load: \
             all up to {capacity:.1} Mbps, half at {:.1} Mbps, {} at {:.0} Mbps.",
            2.0 * capacity,
            show(Some(last.share), 2),
            last.offered_mbps,
        ),
        figure: Figure {
            title: "UDP through a converter, by the offered load".into(),
            x_label: "Offered load (Mbps)".into(),
            y_label: "Share that arrives".into(),
            y_range: Some((0.0, 1.02)),
            content: Content::Curves(curves),
        },
    })
}

pub(super) fn tables(shown: &Shown<'_>) -> Vec<ResultTable> {
    let captured = [
        ("TCP, behind a converter", &shown.tcp[0]),
        ("TCP, from a station", &shown.tcp[1]),
        ("UDP at 54 Mbps, behind a converter", &shown.udp[0]),
        ("UDP at 54 Mbps, from a station", &shown.udp[1]),
    ];
    let blocking = ["behind a converter", "from a station"].iter().zip(&shown.blocking);
    let blocking = blocking.filter_map(|(from, found)| {
        let (share, mbps) = (*found)?;
        let lost = format!("{:.4}", (1.0 - share.mean).max(0.0));
        let name = format!("UDP as fast as the interface takes it, {from}");
        Some(vec![name, format!("{mbps:.2}"), lost, String::new(), String::new(), String::new()])
    });
    let mut rows: Vec<Vec<String>> = captured
        .into_iter()
        .filter(|(_, point)| !point.passages.is_empty())
        .map(|(name, point)| row(name, point))
        .collect();
    rows.extend(blocking);
    let header = [
        "Sender",
        "Goodput (Mbps)",
        "Share of data lost",
        "Delay of data (ms)",
        "Delay of ACKs (ms)",
        "Difference per 100 ms",
    ];
    let header = header.map(str::to_owned).into();
    vec![ResultTable { title: "Between terminal and wired host".into(), header, rows }]
}

fn row(name: &str, point: &Point<'_>) -> Vec<String> {
    let is_tcp = point.passages.iter().any(|passages| !passages.acks.packets.is_empty());
    let mbps: Vec<f64> = point.runs.iter().map(|run| super::shown::goodput_mbps(run)).collect();
    let acks = show(point.over(|p| p.acks.delay_ms()), 2);
    vec![
        name.to_owned(),
        format!("{:.2}", fairwave_lab::stats::mean(&mbps).unwrap_or(0.0)),
        show(point.over(Passages::lost), 4),
        show(point.over(|p| p.data.delay_ms()), 2),
        if is_tcp { acks } else { String::new() },
        show(point.over(|p| p.data.interval_difference(INTERVAL)), 3),
    ]
}
