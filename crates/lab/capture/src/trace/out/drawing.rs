//! Figures of a connection, whose points are collected while the capture is read.

use super::thin::{Span, Thinned};
use fairwave_lab::plot::{self, Content, Figure, Form, SpanSeries};
use fairwave_trace::analysis::{Interval, Kind, Mark, Point, Side, SpellKind};
use fairwave_units::{Duration, Instant};

/// Label of the series of the window's edge.
const EDGE: &str = "window's edge";

/// Maximum number of spells of starvation that are drawn; each lasts a second or more.
const MAX_STARVED: usize = 1_000;

/// Collected points of a connection.
#[derive(Clone, Debug)]
pub(super) struct Drawing {
    interval: Duration,
    ways: [Way; 2],
}

/// Collected points of one direction.
#[derive(Clone, Debug, Default)]
struct Way {
    data: Thinned,
    again: Thinned,
    timeouts: Thinned,
    disorder: Thinned,
    acks: Thinned,
    sacks: Thinned,
    edge: Thinned,
    rtt: Thinned,
    flight: Thinned,
    packets: Thinned,
    resent: Thinned,
    pure_acks: Thinned,
    /// Spells of starvation, the first [`MAX_STARVED`].
    starved: Vec<Span>,
    /// End of the highest sequence number sent.
    end: i64,
    /// Highest sequence number acknowledged.
    acked: i64,
}

impl Drawing {
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, ways: [Way::default(), Way::default()] }
    }

    /// Adds a point of the connection.
    pub(super) fn add(&mut self, point: &Point) {
        let (at, side) = (point.at, point.side);
        match point.mark {
            Mark::Segment { start, end, kind, .. } => {
                self.way(side).segment(at, start, end, kind);
            }
            Mark::Ack { ack, edge, .. } => self.way(side.other()).ack(at, ack, edge),
            Mark::Sack { left, right, .. } => self.way(side.other()).sacks.add(at, left, right),
            Mark::Rtt(rtt) => {
                self.way(side).rtt.value(at, rtt.as_nanos().min(i64::MAX as u64) as i64);
            }
            Mark::Interval(counts) => {
                let length = self.interval;
                self.way(side).interval(at, length, counts);
            }
            Mark::Spell { kind: SpellKind::Starvation, length } => {
                self.way(side).starvation(at, length);
            }
            Mark::Spell { .. } => {}
        }
    }

    fn way(&mut self, side: Side) -> &mut Way {
        &mut self.ways[side.index()]
    }

    /// The figures of one direction. Times are relative to `origin`, and only those within
    /// `seconds` are shown.
    pub(super) fn figures(
        &self,
        name: &str,
        side: Side,
        origin: Instant,
        seconds: (f64, f64),
    ) -> Vec<Figure> {
        let (way, other) = (&self.ways[side.index()], &self.ways[side.other().index()]);
        let scale = Scale { origin, seconds, unit: 1.0 };
        let figures = [
            way.sequence(name, Scale { unit: 1e3, ..scale }),
            packets(name, way, other, self.interval, scale),
            round_trips(name, way, Scale { unit: 1e6, ..scale }),
            in_flight(name, way, Scale { unit: 1e3, ..scale }),
        ];
        figures.map(|figure| way.mark_starvation(figure, scale)).into()
    }
}

impl Way {
    fn segment(&mut self, at: Instant, start: i64, end: i64, kind: Kind) {
        let series = match kind {
            Kind::Timeout => &mut self.timeouts,
            Kind::OutOfOrder => &mut self.disorder,
            kind if kind.is_retransmission() => &mut self.again,
            Kind::Syn | Kind::Data => &mut self.data,
            _ => return,
        };
        series.add(at, start, end);
        self.end = self.end.max(end);
        self.outstanding(at);
    }

    fn ack(&mut self, at: Instant, ack: i64, edge: i64) {
        self.acks.value(at, ack);
        self.edge.value(at, edge);
        self.acked = self.acked.max(ack);
        self.outstanding(at);
    }

    fn outstanding(&mut self, at: Instant) {
        self.flight.value(at, (self.end - self.acked).max(0));
    }

    /// Adds the counts of an interval. Intervals without packets are not reported; zeros are drawn
    /// for them.
    fn interval(&mut self, at: Instant, length: Duration, counts: Interval) {
        let quiet = self.packets.last().map(|last| last.to + length).filter(|end| *end < at);
        if let Some(begin) = quiet {
            self.count(begin, Interval::default());
            let last = Instant::from_nanos(at.as_nanos() - length.as_nanos());
            self.count(last, Interval::default());
        }
        self.count(at, counts);
    }

    fn count(&mut self, at: Instant, counts: Interval) {
        self.packets.value(at, i64::from(counts.packets - counts.pure_acks.min(counts.packets)));
        self.resent.value(at, i64::from(counts.retransmissions));
        self.pure_acks.value(at, i64::from(counts.pure_acks));
    }

    fn starvation(&mut self, at: Instant, length: Duration) {
        if self.starved.len() < MAX_STARVED {
            self.starved.push(Span { from: at, to: at + length, low: 0, high: 0 });
        }
    }

    /// Adds the spells of starvation, if there are any, as bands to a figure.
    fn mark_starvation(&self, mut figure: Figure, scale: Scale) -> Figure {
        if let (Content::Spans { series, .. }, false) =
            (&mut figure.content, self.starved.is_empty())
        {
            let spans = self.starved.iter().map(|span| scale.span(span)).collect();
            series.push(SpanSeries { label: "starved".to_owned(), spans, form: Form::Bands });
        }
        figure
    }

    fn sequence(&self, name: &str, scale: Scale) -> Figure {
        let series = vec![
            scale.series("data", &self.data, Form::Bars),
            scale.series("sent again", &self.again, Form::Bars),
            scale.series("ACK", &self.acks, Form::Steps),
            scale.series("SACK", &self.sacks, Form::Bars),
            scale.series(EDGE, &self.edge, Form::Steps),
            scale.series("out of order", &self.disorder, Form::Bars),
            scale.series("after timeout", &self.timeouts, Form::Bars),
        ];
        let title = format!("{name}: time and sequence");
        Figure {
            y_range: sequence_range(&series),
            ..scale.figure(title, "sequence number [kB]", series)
        }
    }
}

fn packets(name: &str, way: &Way, other: &Way, interval: Duration, scale: Scale) -> Figure {
    let mut series = vec![
        scale.series("data", &way.packets, Form::Steps),
        scale.series("sent again", &way.resent, Form::Steps),
        scale.series("ACKs of the other end", &other.pure_acks, Form::Steps),
    ];
    // A count applies to its whole interval: otherwise a single one would draw no line.
    let end = |at: f64| (at + interval.as_secs_f64()).min(scale.seconds.1);
    for last in series.iter_mut().filter_map(|one| one.spans.last_mut()) {
        last.to = last.to.max(end(last.to));
    }
    scale.figure(format!("{name}: packets"), &format!("packets per {interval}"), series)
}

fn round_trips(name: &str, way: &Way, scale: Scale) -> Figure {
    let series = vec![scale.series("round-trip time", &way.rtt, Form::Dots)];
    scale.figure(format!("{name}: round-trip times"), "time [ms]", series)
}

fn in_flight(name: &str, way: &Way, scale: Scale) -> Figure {
    let series = vec![scale.series("outstanding", &way.flight, Form::Steps)];
    scale.figure(format!("{name}: in flight"), "bytes [kB]", series)
}

/// Bounds of the sequence axis. The window's edge is included only if it is near, as a distant edge
/// would compress the data.
fn sequence_range(series: &[SpanSeries]) -> Option<(f64, f64)> {
    let (edge, rest): (Vec<_>, Vec<_>) = series.iter().partition(|one| one.label == EDGE);
    let highest = |some: &[&SpanSeries]| {
        some.iter().flat_map(|one| &one.spans).map(|span| span.high).fold(0.0, f64::max)
    };
    let lowest = rest.iter().flat_map(|one| &one.spans).map(|span| span.low).reduce(f64::min)?;
    let (edge, top) = (highest(&edge), highest(&rest));
    let top = if edge < 2.0 * top { top.max(edge) } else { top };
    Some((lowest, lowest + (top - lowest).max(1.0) * 1.05))
}

/// Conversion of times and numbers to axis values.
#[derive(Clone, Copy)]
struct Scale {
    origin: Instant,
    /// Bounds of the time axis.
    seconds: (f64, f64),
    /// Number of units per axis unit.
    unit: f64,
}

impl Scale {
    /// A figure over time whose y axis begins at zero.
    fn figure(self, title: String, y_label: &str, series: Vec<SpanSeries>) -> Figure {
        let spans = series.iter().flat_map(|one| &one.spans);
        let highest = spans.map(|span| span.high).fold(0.0, f64::max);
        let top = if highest > 0.0 { highest * 1.06 } else { 1.0 };
        Figure {
            title,
            x_label: "time from the first packet of the capture [s]".to_owned(),
            y_label: y_label.to_owned(),
            y_range: Some((0.0, top)),
            content: Content::Spans { series, x_range: Some(self.seconds) },
        }
    }

    fn series(self, label: &str, thinned: &Thinned, form: Form) -> SpanSeries {
        let spans = thinned.spans().iter().map(|span| self.span(span)).collect();
        SpanSeries { label: label.to_owned(), spans, form }
    }

    fn span(self, span: &Span) -> plot::Span {
        let seconds = |at: Instant| at.since(self.origin.min(at)).as_secs_f64();
        plot::Span {
            from: seconds(span.from),
            to: seconds(span.to),
            low: span.low as f64 / self.unit,
            high: span.high as f64 / self.unit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_trace::analysis::StreamId;

    /// A regression: the figure of a capture shorter than the interval was empty, as one point is
    /// no line.
    #[test]
    fn a_single_interval_is_drawn_as_long_as_it_is() {
        let mut drawing = Drawing::new(Duration::from_secs(1));
        let counts = Interval { packets: 7, ..Interval::default() };
        let (at, stream) = (Instant::from_nanos(5_000_000_000), StreamId::Tcp(0));
        drawing.add(&Point { at, stream, side: Side::A, mark: Mark::Interval(counts) });
        let figures = drawing.figures("Connection 0", Side::A, at, (0.0, 0.482));
        let Content::Spans { series, .. } = &figures[1].content else { panic!("no spans") };
        let [span] = &series[0].spans[..] else { panic!("{:?}", series[0].spans) };
        assert_eq!((span.from, span.to, span.high), (0.0, 0.482, 7.0));
    }

    #[test]
    fn starvation_is_on_the_ground_of_every_figure() {
        let mut drawing = Drawing::new(Duration::from_secs(1));
        let stream = StreamId::Tcp(0);
        let spell = |kind, at_s: u64, side| Point {
            at: Instant::from_nanos(at_s * 1_000_000_000),
            stream,
            side,
            mark: Mark::Spell { kind, length: Duration::from_secs(2) },
        };
        drawing.add(&spell(SpellKind::Starvation, 3, Side::A));
        drawing.add(&spell(SpellKind::Idle, 6, Side::A));
        drawing.add(&spell(SpellKind::Starvation, 8, Side::B));
        for figure in drawing.figures("Connection 0", Side::A, Instant::ZERO, (0.0, 10.0)) {
            let Content::Spans { series, .. } = &figure.content else { panic!("no spans") };
            let starved = series.last().filter(|last| last.form == Form::Bands);
            let spans: Vec<_> = starved.expect(&figure.title).spans.iter().collect();
            assert!(matches!(spans[..], [span] if (span.from, span.to) == (3.0, 5.0)), "{spans:?}");
            let svg = figure.to_svg().expect("it can be drawn");
            assert!(svg.contains("starved") && svg.contains("#F0E442"), "{svg}");
        }
    }
}
