//! Time series of six terminals: how long each is fast, and how long it recovers.

use super::experiments::{ACKS, SIX};
use super::measure::{acknowledges_all, terminal};
use fairwave_lab::plot::{BarSeries, Content, Curve, Figure, Interval, Mark};
use fairwave_lab::results::{FLOWS, FlowSummary, Series};
use fairwave_lab::run::Run;
use fairwave_lab::stats;
use fairwave_study::measure::{ack_drop_share, over};
use fairwave_study::{Error, Exhibit, ResultTable, Results};
use fairwave_units::math;

const SEGMENT: f64 = 1460.0;
/// Upper ends of the classes of windows, in segments.
const CLASSES: [f64; 5] = [2.0, 4.0, 8.0, 16.0, f64::INFINITY];
const CLASS_NAMES: [&str; 5] = ["up to 2", "3-4", "5-8", "9-16", "above 16"];
/// Largest window in segments that counts as recovering: two ACKs of a host that acknowledges every
/// second segment.
const RECOVERING: f64 = 4.0;
/// Every how many samples a curve has a point.
const THIN: usize = 5;

/// The samples of one terminal.
struct Terminal {
    name: String,
    at_s: Vec<f64>,
    window: Vec<f64>,
    rto_s: Vec<f64>,
    timeouts: Vec<f64>,
    delivered: Vec<f64>,
}

impl Terminal {
    fn read(run: &Run) -> Result<Vec<Self>, Error> {
        let Some(directory) = &run.directory else { return Ok(Vec::new()) };
        let columns = ["t_ns", "flow", "cwnd_bytes", "rto_ns", "timeouts", "delivered_bytes"];
        let series = Series::read(directory, FLOWS.file, &columns)?;
        let of = |flow: &FlowSummary| -> Result<Self, Error> {
            let column = |column, scale| series.points(&[("flow", &flow.name)], column, scale);
            let values = |points: Vec<(f64, f64)>| points.into_iter().map(|p| p.1).collect();
            let window = column("cwnd_bytes", 1.0 / SEGMENT)?;
            Ok(Self {
                name: terminal(flow).to_owned(),
                at_s: window.iter().map(|p| p.0).collect(),
                window: values(window),
                rto_s: values(column("rto_ns", 1e-9)?),
                timeouts: values(column("timeouts", 1.0)?),
                delivered: values(column("delivered_bytes", 1.0)?),
            })
        };
        run.summary.flows.iter().map(of).collect()
    }

    /// Lengths in seconds of the spells with a window of at most [`RECOVERING`] segments.
    fn recoveries(&self) -> Vec<f64> {
        let small: Vec<bool> = self.window.iter().map(|&w| w <= RECOVERING).collect();
        let times = self.at_s.iter().zip(&small);
        let mut lengths = Vec::new();
        let mut since = None;
        for (&at, &small) in times {
            match (small, since) {
                (true, None) => since = Some(at),
                (false, Some(from)) => {
                    lengths.push(at - from);
                    since = None;
                }
                _ => {}
            }
        }
        let last = self.at_s.last().copied().unwrap_or(0.0);
        lengths.extend(since.map(|from| last - from));
        lengths
    }
}

/// Counts of all terminals with windows of one class.
#[derive(Clone, Copy, Default)]
struct Class {
    samples: f64,
    timeouts: f64,
    bytes: f64,
}

/// Counts of the terminals of some runs, together.
pub(super) struct Spells {
    every_segment: bool,
    classes: [Class; 5],
    recoveries: Vec<f64>,
    rto_s: Vec<f64>,
    dropped: f64,
    interval_s: f64,
}

impl Spells {
    fn of(runs: &[&Run], every_segment: bool) -> Result<Self, Error> {
        let mut spells = Self {
            every_segment,
            classes: [Class::default(); 5],
            recoveries: Vec::new(),
            rto_s: Vec::new(),
            dropped: over(runs, ack_drop_share).map_or(0.0, |e| e.mean),
            interval_s: 0.1,
        };
        for run in runs {
            Terminal::read(run)?.iter().for_each(|terminal| spells.add(terminal));
        }
        Ok(spells)
    }

    fn add(&mut self, terminal: &Terminal) {
        if let [first, second, ..] = terminal.at_s[..] {
            self.interval_s = second - first;
        }
        self.recoveries.extend(terminal.recoveries());
        for i in 0..terminal.window.len().saturating_sub(1) {
            let window = terminal.window[i];
            let class = CLASSES.iter().position(|&most| window <= most).unwrap_or(4);
            let class = &mut self.classes[class];
            class.samples += 1.0;
            class.timeouts += terminal.timeouts[i + 1] - terminal.timeouts[i];
            class.bytes += terminal.delivered[i + 1] - terminal.delivered[i];
            if window <= RECOVERING {
                self.rto_s.push(terminal.rto_s[i]);
            }
        }
    }

    fn share(&self, class: usize) -> f64 {
        let all: f64 = self.classes.iter().map(|c| c.samples).sum();
        if all > 0.0 { self.classes[class].samples / all } else { 0.0 }
    }

    fn per_second(&self, class: usize, of: fn(&Class) -> f64) -> f64 {
        let time = self.classes[class].samples * self.interval_s;
        if time > 0.0 { of(&self.classes[class]) / time } else { 0.0 }
    }

    /// The probability that every ACK of a window is dropped, were drops independent.
    fn all_lost(&self, window: f64) -> f64 {
        let acks = (window / if self.every_segment { 1.0 } else { 2.0 }).max(1.0);
        math::pow(self.dropped, acks)
    }

    fn label(&self) -> &'static str {
        label(self.every_segment)
    }

    /// The mechanism in numbers.
    pub(super) fn in_words(&self) -> String {
        let quantile = |values: &[f64], q| stats::quantile(values, q).unwrap_or(0.0);
        let long = self.recoveries.iter().filter(|&&s| s >= 10.0).sum::<f64>();
        let all: f64 = self.recoveries.iter().sum();
        format!(
            "Six terminals, {}: {:.2} of the ACKs are dropped. Were drops independent, a window of \
             2 segments would lose all its ACKs with probability {:.2}, one of 4 with {:.2}, of 8 \
             with {:.3}, of 44 with {:.0e}. Windows of up to 2, 3-4, 5-8, 9-16 and more segments \
             take {} of the time; timeouts in a second of each are {}. There are {} recoveries \
             (windows of at most 4 segments), half of them shorter than {:.1} s, one in ten longer \
             than {:.1} s, the longest {:.0} s; those of 10 s and more make up {:.2} of the time \
             spent recovering. The timer in them is {:.1} s in the middle, {:.0} s for one sample \
             in ten.",
            self.label(),
            self.dropped,
            self.all_lost(2.0),
            self.all_lost(4.0),
            self.all_lost(8.0),
            self.all_lost(44.0),
            self.list(|i| format!("{:.2}", self.share(i))),
            self.list(|i| format!("{:.2}", self.per_second(i, |c| c.timeouts))),
            self.recoveries.len(),
            quantile(&self.recoveries, 0.5),
            quantile(&self.recoveries, 0.9),
            quantile(&self.recoveries, 1.0),
            if all > 0.0 { long / all } else { 0.0 },
            quantile(&self.rto_s, 0.5),
            quantile(&self.rto_s, 0.9),
        )
    }

    fn list(&self, text: impl Fn(usize) -> String) -> String {
        (0..self.classes.len()).map(text).collect::<Vec<_>>().join(", ")
    }
}

fn label(every_segment: bool) -> &'static str {
    if every_segment { "an ACK for every segment" } else { "an ACK for two segments" }
}

/// Of the runs of the experiment on six terminals, by how the host acknowledges.
pub(super) fn read(results: &Results) -> Result<Vec<Spells>, Error> {
    let of = |every_segment: bool| {
        let mut runs = results.select(SIX, &[]);
        runs.retain(|run| acknowledges_all(run) == every_segment);
        (!runs.is_empty()).then(|| Spells::of(&runs, every_segment))
    };
    [false, true].into_iter().filter_map(of).collect()
}

pub(super) fn exhibits(results: &Results, spells: &[Spells]) -> Result<Vec<Exhibit>, Error> {
    let mut exhibits = vec![classes(spells)];
    for acks in results.axis(SIX, ACKS) {
        if let Some(&run) = results.select(SIX, &[(ACKS, &acks)]).first() {
            exhibits.push(windows(run)?);
        }
    }
    Ok(exhibits)
}

fn classes(spells: &[Spells]) -> Exhibit {
    let series = |spells: &Spells| BarSeries {
        label: spells.label().to_owned(),
        values: (0..CLASSES.len()).map(|i| Some(Interval::exact(spells.share(i)))).collect(),
    };
    Exhibit {
        id: "six-windows".into(),
        claims: &["BUF-X3"],
        paper: "Not in the paper, which leaves the split of six terminals open.".into(),
        ours: "Share of the time that six terminals spend with windows of each size, over all \
               runs and terminals. Time at both ends and little in between: a terminal is either \
               fast or recovering."
            .into(),
        figure: Figure {
            title: "Windows of six terminals, access point with 31 packets".into(),
            x_label: "Congestion window (segments)".into(),
            y_label: "Share of the time".into(),
            y_range: Some((0.0, 1.0)),
            content: Content::Bars {
                groups: CLASS_NAMES.map(str::to_owned).into(),
                series: spells.iter().map(series).collect(),
            },
        },
    }
}

fn windows(run: &Run) -> Result<Exhibit, Error> {
    let curve = |terminal: Terminal| Curve {
        label: terminal.name,
        points: terminal
            .at_s
            .iter()
            .zip(&terminal.window)
            .step_by(THIN)
            .map(|(&x, &y)| (x, Interval::exact(y)))
            .collect(),
        mark: Mark::Line,
    };
    let every = if acknowledges_all(run) { 1 } else { 2 };
    let rates: Vec<String> = run
        .summary
        .flows
        .iter()
        .map(|flow| format!("{} {:.2}", terminal(flow), flow.goodput_bps as f64 / 1e6))
        .collect();
    Ok(Exhibit {
        id: format!("six-over-time-{every}"),
        claims: &["BUF-X3"],
        paper: "Not in the paper.".into(),
        ours: format!(
            "Congestion windows of six terminals in the first run. Goodput in Mbps: {}.",
            rates.join(", "),
        ),
        figure: Figure {
            title: format!("Windows of six terminals over time, {}", label(every == 1)),
            x_label: "Time (s)".into(),
            y_label: "Congestion window (segments)".into(),
            y_range: None,
            content: Content::Curves(Terminal::read(run)?.into_iter().map(curve).collect()),
        },
    })
}

pub(super) fn table(spells: &[Spells]) -> ResultTable {
    let header = [
        "Host sends",
        "Window (segments)",
        "Share of the time",
        "Timeouts per second",
        "Goodput (Mbps)",
    ];
    let row = |spells: &Spells, i: usize| {
        vec![
            spells.label().to_owned(),
            CLASS_NAMES[i].to_owned(),
            format!("{:.3}", spells.share(i)),
            format!("{:.3}", spells.per_second(i, |c| c.timeouts)),
            format!("{:.3}", spells.per_second(i, |c| c.bytes * 8e-6)),
        ]
    };
    let rows = spells.iter().flat_map(|s| (0..CLASSES.len()).map(move |i| row(s, i))).collect();
    let title = "Six terminals by the window that they have at the time".into();
    ResultTable { title, header: header.map(str::to_owned).into(), rows }
}
