//! A user that reads web pages.
//!
//! The model is the HTTP source of 3GPP2 C.R1002-0 (also IEEE 802.16m-08/004r5):
//! a page is a main object and a number of embedded ones; the user reads it before the next. The
//! main object comes first; once it has been parsed, its embedded objects are fetched over
//! several connections at once, one after another on each, as HTTP/1.1 does without pipelining
//! (RFC 9112 section 9.3).

use crate::draw::{self, Size};
use fairwave_machine::Machine;
use fairwave_units::{Duration, Instant, Stream};
use std::collections::VecDeque;

#[cfg(test)]
mod tests;

/// Properties of pages. The default has the values of 3GPP2 C.R1002-0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Page {
    /// Size of the main object.
    pub main: Size,
    /// Size of each embedded object.
    pub embedded: Size,
    /// Number of embedded objects.
    pub objects: Objects,
    /// Mean time from the end of a page to the beginning of the next, exponential.
    pub reading: Duration,
    /// Mean time from the end of the main object to the first embedded ones, exponential.
    pub parsing: Duration,
    /// Size of a request, in bytes.
    pub request_bytes: u32,
    /// Connections at once; at least one.
    pub connections: u32,
}

/// Number of embedded objects of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objects {
    /// Always the same number.
    Constant(u32),
    /// A Pareto number, cut off, less its minimum: from 0 to `most - least`.
    Pareto {
        /// Minimum before it is taken off.
        least: u32,
        /// The exponent, above 0.
        shape: f64,
        /// Greatest value before `least` is taken off.
        most: u32,
    },
}

impl Objects {
    fn draw(self, random: &mut Stream) -> u32 {
        match self {
            Self::Constant(n) => n,
            Self::Pareto { least, shape, most } => {
                // Drawn in thousandths, so that the whole numbers keep the distribution's mean.
                let [least, most] = [least, most].map(|n| u64::from(n) * 1000);
                let n = Size::Pareto { least, shape, most }.draw(random) - least;
                ((n + 500) / 1000) as u32
            }
        }
    }
}

impl Page {
    /// Whether its objects have sizes and its numbers are in order.
    pub fn is_sound(&self) -> bool {
        let objects = match self.objects {
            Objects::Constant(_) => true,
            Objects::Pareto { least, shape, most } => {
                least <= most && shape > 0.0 && shape.is_finite()
            }
        };
        self.main.is_sound() && self.embedded.is_sound() && objects
    }
}

impl Default for Page {
    fn default() -> Self {
        let (least, most) = (100, 2_000_000);
        Self {
            main: Size::LogNormal { mean: 10_710.0, deviation: 25_032.0, least, most },
            embedded: Size::LogNormal { mean: 7_758.0, deviation: 126_168.0, least: 50, most },
            objects: Objects::Pareto { least: 2, shape: 1.1, most: 55 },
            reading: Duration::from_secs(30),
            parsing: Duration::from_millis(130),
            request_bytes: 350,
            connections: 6,
        }
    }
}

/// Inputs of a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The first page may begin.
    Start,
    /// The object asked for on this connection has arrived whole.
    Arrived(u32),
    /// The connection broke; its object will not arrive.
    Broken(u32),
    /// No page begins from now on.
    Stop,
}

/// Fetch an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// Over this connection, `0..connections`.
    pub connection: u32,
    /// It is the connection's first of a page: open it anew.
    pub opens: bool,
    /// Size of the object.
    pub bytes: u64,
}

/// Observations of a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// An object took so long from its request on.
    Object(Duration),
    /// An object was lost with its connection.
    Lost,
    /// All objects of the page are there or lost. It took so long; its connections can close.
    Page(Duration),
}

/// One connection's use.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Since when an object is awaited.
    asked: Option<Instant>,
    used: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No page under way; the next begins then, if at all.
    Reading { until: Option<Instant> },
    /// The main object is under way.
    Main { began: Instant },
    /// The main object is read until then.
    Parsing { began: Instant, until: Instant },
    /// This number of embedded objects has not been asked for.
    Embedded { began: Instant, left: u32 },
}

/// A user of the web. A host opens the connections that [`Fetch`] names, asks for the object, and
/// reports its arrival.
#[derive(Clone, Debug)]
pub struct Browser {
    page: Page,
    random: Stream,
    phase: Phase,
    stopped: bool,
    lines: Vec<Line>,
    fetches: VecDeque<Fetch>,
    progress: VecDeque<Progress>,
}

impl Browser {
    /// A user that has not begun.
    pub fn new(page: Page, random: Stream) -> Self {
        Self {
            random,
            phase: Phase::Reading { until: None },
            stopped: false,
            lines: vec![Line::default(); page.connections.max(1) as usize],
            fetches: VecDeque::new(),
            progress: VecDeque::new(),
            page,
        }
    }

    fn begin(&mut self, now: Instant) {
        self.lines.fill(Line::default());
        self.phase = Phase::Main { began: now };
        let bytes = self.page.main.draw(&mut self.random);
        self.fetch(0, bytes, now);
    }

    fn fetch(&mut self, connection: u32, bytes: u64, now: Instant) {
        let line = &mut self.lines[connection as usize];
        debug_assert!(line.asked.is_none(), "connection {connection} awaits an object");
        self.fetches.push_back(Fetch { connection, opens: !line.used, bytes });
        *line = Line { asked: Some(now), used: true };
    }

    /// Handles an object that has come or is lost.
    fn go_on(&mut self, now: Instant) {
        match self.phase {
            Phase::Main { began } => {
                let until = now + draw::exponential(self.page.parsing, &mut self.random);
                self.phase = Phase::Parsing { began, until };
            }
            Phase::Embedded { began, left } => self.fetch_embedded(began, left, now),
            Phase::Reading { .. } | Phase::Parsing { .. } => {}
        }
        self.wake(now);
    }

    /// Gives every idle connection an object, while there are any.
    fn fetch_embedded(&mut self, began: Instant, mut left: u32, now: Instant) {
        for connection in 0..self.lines.len() {
            if left > 0 && self.lines[connection].asked.is_none() {
                let bytes = self.page.embedded.draw(&mut self.random);
                self.fetch(connection as u32, bytes, now);
                left -= 1;
            }
        }
        self.phase = Phase::Embedded { began, left };
        if self.lines.iter().all(|line| line.asked.is_none()) {
            debug_assert_eq!(left, 0, "the page ends before its objects");
            self.end_page(began, now);
        }
    }

    fn end_page(&mut self, began: Instant, now: Instant) {
        self.progress.push_back(Progress::Page(now.since(began)));
        let reading = draw::exponential(self.page.reading, &mut self.random);
        // A page never begins at the instant at which the one before ended: time must move on.
        let until = now + reading.max(Duration::from_nanos(1));
        self.phase = Phase::Reading { until: (!self.stopped).then_some(until) };
    }
}

impl Machine for Browser {
    type Input = Input;
    type Output = Fetch;
    type Event = Progress;

    fn handle(&mut self, now: Instant, input: Input) {
        match input {
            Input::Start if !self.stopped => self.begin(now),
            Input::Start => {}
            Input::Arrived(connection) | Input::Broken(connection) => {
                let line = &mut self.lines[connection as usize];
                let Some(asked) = line.asked.take() else { return };
                let broken = matches!(input, Input::Broken(_));
                line.used = !broken;
                let took = now.since(asked);
                let progress = if broken { Progress::Lost } else { Progress::Object(took) };
                self.progress.push_back(progress);
                self.go_on(now);
            }
            Input::Stop => {
                self.stopped = true;
                if let Phase::Reading { until } = &mut self.phase {
                    *until = None;
                }
            }
        }
    }

    fn wake(&mut self, now: Instant) {
        match self.phase {
            Phase::Reading { until: Some(until) } if until <= now => self.begin(now),
            Phase::Parsing { began, until } if until <= now => {
                let objects = self.page.objects.draw(&mut self.random);
                self.fetch_embedded(began, objects, now);
            }
            _ => {}
        }
    }

    fn poll(&mut self, _: Instant) -> Option<Fetch> {
        self.fetches.pop_front()
    }

    fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Reading { until } => until,
            Phase::Parsing { until, .. } => Some(until),
            Phase::Main { .. } | Phase::Embedded { .. } => None,
        }
    }

    fn event(&mut self) -> Option<Progress> {
        self.progress.pop_front()
    }
}
