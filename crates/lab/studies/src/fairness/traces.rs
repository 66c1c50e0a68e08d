//! Captures at a starved and at a fast terminal: Figs. 14 to 17 of the paper.

use super::experiments::DETAIL;
use super::measure::{terminal, worst_share};
use fairwave_capture::file::Capture;
use fairwave_capture::trace;
use fairwave_lab::plot::{Content, Curve, Figure, Interval, Mark};
use fairwave_lab::results::{FlowSummary, tap_file};
use fairwave_lab::run::Run;
use fairwave_lab::stats;
use fairwave_study::measure::ratio;
use fairwave_study::{Claim, Criterion, Error, Evidence, Exhibit, Results};
use fairwave_trace::analysis::{Config, Kind, Mark as Seen, Point, Points, Side, Stream, TcpWay};
use fairwave_units::{Duration, Instant};

/// A time without an ACK while data is outstanding counts as waiting from here on: 40 times the
/// round trip without queues.
const WAITING: Duration = Duration::from_millis(200);
/// Length of the piece that the time-sequence graphs show.
const PIECE_S: f64 = 30.0;
/// Time shown before the starved terminal's longest wait.
const BEFORE: f64 = 0.8;
/// Maximum number of dots of a curve: more are thinned.
const DOTS: usize = 1000;

/// An upload as the capture of its terminal shows it.
#[derive(Default)]
pub(super) struct Trace {
    /// Ends of new segments: time in seconds, sequence number.
    sent: Vec<(f64, f64)>,
    /// Ends of segments that the timer sent again.
    timeouts: Vec<(f64, f64)>,
    acks: Vec<(f64, f64)>,
    /// Packets in each second.
    packets: Vec<(f64, f64)>,
    stream: Option<Stream>,
    /// Length of the run: a capture ends with its last packet.
    length: Duration,
}

impl Points for Trace {
    fn stream(&mut self, stream: Stream) {
        self.stream.get_or_insert(stream);
    }

    fn point(&mut self, point: &Point) {
        let at = point.at.as_nanos() as f64 / 1e9;
        match (point.side, point.mark) {
            (Side::A, Seen::Segment { end, kind: Kind::Timeout, .. }) => {
                self.timeouts.push((at, end as f64));
            }
            (Side::A, Seen::Segment { end, .. }) => self.sent.push((at, end as f64)),
            (Side::B, Seen::Ack { ack, .. }) => self.acks.push((at, ack as f64)),
            (Side::A, Seen::Interval(interval)) => {
                self.packets.push((at, f64::from(interval.packets)));
            }
            _ => {}
        }
    }
}

impl Trace {
    fn read(run: &Run, flow: &FlowSummary) -> Result<Option<Self>, Error> {
        let Some(directory) = &run.directory else { return Ok(None) };
        let mut capture = Capture::open(&directory.join(tap_file(terminal(flow))))?;
        let config = Config { ack_gap: WAITING, ..Config::default() };
        let length = Duration::from_nanos(run.summary.simulated_ns);
        let mut trace = Self { length, ..Self::default() };
        trace::analyse(&mut capture, config, &mut trace, &mut |_| {})?;
        Ok(Some(trace))
    }

    fn way(&self) -> Option<&TcpWay> {
        self.stream.as_ref().map(|stream| &stream.ways[Side::A.index()].tcp)
    }

    fn mbps(&self) -> f64 {
        let way = self.stream.as_ref().map(|stream| &stream.ways[Side::A.index()]);
        way.map_or(0.0, |way| way.goodput_bps(self.length) / 1e6)
    }

    /// The share of the time in which it waited for an ACK. It waits to the end of the run if
    /// data is outstanding when the capture ends.
    fn waiting(&self) -> f64 {
        let (Some(stream), Some(way)) = (&self.stream, self.way()) else { return 0.0 };
        let outstanding = way.unique_bytes > way.acked_bytes;
        let end = Instant::from_nanos(self.length.as_nanos());
        let after = if outstanding { end.since(stream.last) } else { Duration::ZERO };
        let after = if after >= WAITING { after } else { Duration::ZERO };
        ratio((way.ack_gaps.total + after).as_nanos(), self.length.as_nanos())
    }

    fn timeouts(&self) -> u64 {
        self.way().map_or(0, |way| way.count(Kind::Timeout))
    }

    fn longest_wait(&self) -> (f64, f64) {
        let longest = self.way().and_then(|way| way.ack_gaps.longest);
        longest
            .map_or((0.0, 0.0), |(at, length)| (at.as_nanos() as f64 / 1e9, length.as_secs_f64()))
    }
}

/// The captures of the run's slowest and fastest terminal.
pub(super) struct Pair<'r> {
    run: &'r Run,
    starved: (&'r FlowSummary, Trace),
    fast: (&'r FlowSummary, Trace),
}

/// The captured run whose slowest terminal has the smallest part of the equal share.
fn most_unfair(results: &Results) -> Option<&Run> {
    let runs = results.select(DETAIL, &[]).into_iter();
    runs.min_by(|a, b| worst_share(a).total_cmp(&worst_share(b)))
}

/// That terminal's part of the equal share.
pub(super) fn min_share(results: &Results) -> Option<f64> {
    most_unfair(results).map(worst_share)
}

pub(super) fn read(results: &Results) -> Result<Option<Pair<'_>>, Error> {
    let Some(run) = most_unfair(results) else { return Ok(None) };
    let flows = || run.summary.flows.iter();
    let (Some(slow), Some(fast)) =
        (flows().min_by_key(|f| f.goodput_bps), flows().max_by_key(|f| f.goodput_bps))
    else {
        return Ok(None);
    };
    let (Some(of_slow), Some(of_fast)) = (Trace::read(run, slow)?, Trace::read(run, fast)?) else {
        return Ok(None);
    };
    Ok(Some(Pair { run, starved: (slow, of_slow), fast: (fast, of_fast) }))
}

pub(super) fn claim(pair: Option<&Pair<'_>>) -> Claim {
    let mut measured = Evidence::default();
    let starved = |value: fn(&Trace) -> f64| pair.map(|pair| value(&pair.starved.1));
    let fast = |value: fn(&Trace) -> f64| pair.map(|pair| value(&pair.fast.1));
    let of_equal = |pair: &Pair<'_>| {
        let equal = stats::mean(&pair.run.summary.goodputs()).unwrap_or(0.0) / 1e6;
        pair.starved.1.mbps() / equal.max(1e-9)
    };
    let timeouts = |trace: &Trace| trace.timeouts() as f64;
    measured.number("starved_mbps", starved(Trace::mbps));
    let share = measured.number("starved_of_equal_share", pair.map(of_equal));
    let starved_timeouts = measured.number("starved_timeouts", starved(timeouts));
    let starved_waiting = measured.number("starved_waiting", starved(Trace::waiting));
    measured.number("fast_mbps", fast(Trace::mbps));
    measured.number("fast_timeouts", fast(timeouts));
    let fast_waiting = measured.number("fast_waiting", fast(Trace::waiting));
    let mut note = "There is no run with captures.".to_owned();
    if let Some(Pair { run, starved: (slow, _), .. }) = pair {
        note = format!(
            "{} The simulator, which sees the queue, says that {} of the {} ACKs for the starved \
             terminal were dropped; of all others' {:.3}.",
            in_words(pair),
            slow.acks_dropped,
            slow.acks_sent,
            others_dropped(run, slow),
        );
    }
    Claim::judge(
        Criterion {
            id: "BUF-4",
            statement: "The starved terminal's trace shows data without ACKs and retransmission \
                        timeouts; the fast one streams",
            meaning: "Of captures at the slowest and the fastest terminal of an unfair run, \
                      through `fairwave trace`. waiting is the share of the time in which data was \
                      outstanding and no ACK came for 200 ms or more; timeouts are segments sent \
                      again by the timer, where the paper speaks of losses. All numbers are ours; \
                      that the run is unfair, below 5 % of the equal share, is what the paper \
                      starts from",
        },
        measured.tested([
            share.below(0.05),
            starved_timeouts.at_least(10.0),
            starved_waiting.at_least(0.5),
            fast_waiting.below(0.05),
        ]),
        note,
    )
}

fn others_dropped(run: &Run, slow: &FlowSummary) -> f64 {
    let others = || run.summary.flows.iter().filter(|flow| flow.name != slow.name);
    ratio(others().map(|f| f.acks_dropped).sum(), others().map(|f| f.acks_sent).sum())
}

fn in_words(pair: Option<&Pair<'_>>) -> String {
    let Some(Pair { starved, fast, .. }) = pair else { return String::new() };
    let line = |(flow, trace): &(&FlowSummary, Trace)| {
        let (at, length) = trace.longest_wait();
        format!(
            "{}: {:.3} Mbps, {} segments, {} ACKs, {} timeouts, waiting for {:.1} % of the time, \
             the longest from {at:.1} s on for {length:.1} s",
            terminal(flow),
            trace.mbps(),
            trace.sent.len() + trace.timeouts.len(),
            trace.acks.len(),
            trace.timeouts(),
            100.0 * trace.waiting(),
        )
    };
    format!("Captured at the terminals: {}. {}.", line(starved), line(fast))
}

pub(super) fn exhibits(pair: Option<&Pair<'_>>) -> Vec<Exhibit> {
    let Some(Pair { starved, fast, .. }) = pair else { return Vec::new() };
    let (at, _) = starved.1.longest_wait();
    let from = (at - BEFORE * PIECE_S).max(0.0);
    vec![
        sequence(
            fast.0,
            &fast.1,
            from,
            "fig14",
            "Fig. 14 (8.8 Mbps): data and ACKs follow one another.",
        ),
        sequence(
            starved.0,
            &starved.1,
            from,
            "fig15",
            "Fig. 15 (0.143 Mbps): wide gaps, and data for which no ACK comes.",
        ),
        packets(starved, fast),
    ]
}

fn exact(points: &[(f64, f64)]) -> Vec<(f64, Interval)> {
    let every = points.len().div_ceil(DOTS).max(1);
    points.iter().step_by(every).map(|&(x, y)| (x, Interval::exact(y))).collect()
}

fn sequence(flow: &FlowSummary, trace: &Trace, from: f64, id: &str, paper: &str) -> Exhibit {
    let inside = |&&(at, _): &&(f64, f64)| (from..from + PIECE_S).contains(&at);
    let every = |points: &[(f64, f64)]| points.iter().filter(inside).copied().collect::<Vec<_>>();
    let [sent, again, acks] = [&trace.sent, &trace.timeouts, &trace.acks].map(|p| every(p));
    let all = || sent.iter().chain(&again).chain(&acks).map(|&(_, y)| y);
    let low = all().fold(f64::INFINITY, f64::min);
    let high = all().fold(0.0, f64::max);
    let curve = |label: &str, points: Vec<(f64, f64)>, mark| {
        let points: Vec<_> = points.into_iter().map(|(x, y)| (x, (y - low) / 1e3)).collect();
        Curve { label: label.to_owned(), points: exact(&points), mark }
    };
    let top = ((high - low) / 1e3).max(1.0);
    Exhibit {
        id: id.to_owned(),
        claims: &["BUF-4"],
        paper: paper.to_owned(),
        ours: format!(
            "Time-sequence graph from the capture at {} ({:.3} Mbps): {} segments sent, {} of them \
             by the timer, and {} ACKs in these {PIECE_S} s. Where there are more than {DOTS} dots \
             some are left out.",
            terminal(flow),
            trace.mbps(),
            sent.len() + again.len(),
            again.len(),
            acks.len(),
        ),
        figure: Figure {
            title: format!("Data and ACKs at {} ({:.2} Mbps)", terminal(flow), trace.mbps()),
            x_label: "Time (s)".into(),
            y_label: "Sequence number (kB)".into(),
            y_range: Some((-0.05 * top, 1.06 * top)),
            content: Content::Curves(vec![
                curve("data", sent, Mark::Dots),
                curve("sent again by the timer", again, Mark::Strokes),
                curve("ACK", acks, Mark::Line),
            ]),
        },
    }
}

fn packets(starved: &(&FlowSummary, Trace), fast: &(&FlowSummary, Trace)) -> Exhibit {
    let curve = |(flow, trace): &(&FlowSummary, Trace)| Curve {
        label: format!("{} ({:.2} Mbps)", terminal(flow), trace.mbps()),
        points: exact(&trace.packets),
        mark: Mark::Line,
    };
    Exhibit {
        id: "fig16-17".into(),
        claims: &["BUF-4"],
        paper: "Figs. 16 (6.17 Mbps) and 17 (0.184 Mbps): packets over time. The fast terminal \
                sends without pause, the slow one loses packets again and again and never gets \
                its window open."
            .into(),
        ours: "Packets sent in each second, from the captures at the two terminals.".into(),
        figure: Figure {
            title: "Packets sent by a fast and a starved terminal".into(),
            x_label: "Time (s)".into(),
            y_label: "Packets per second".into(),
            y_range: None,
            content: Content::Curves(vec![curve(fast), curve(starved)]),
        },
    }
}
