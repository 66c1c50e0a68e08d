//! Our endpoint in virtual time: nothing is late, and everything is compared.

use crate::parse::Shape;
use crate::script::Script;
use crate::segment::{Exactness, Numbers, Seen};
use crate::settings::Settings;
use crate::world::{Answer, Call, Played, World};
use crate::{player, report};
use fairwave_cc::Initial;
use fairwave_machine::Machine;
use fairwave_tcp::{Connection, Event, Input, Payload, Segment, Virtual};
use fairwave_units::{Duration, Instant, Seq32};
use std::collections::VecDeque;

/// Initial sequence numbers: ours wraps early.
pub(crate) const NUMBERS: Numbers = Numbers { iss: Seq32(u32::MAX - 3000), irs: Seq32(7_000) };

/// Plays a script against our endpoint in virtual time.
///
/// # Errors
/// The first difference, after name and line of the script.
pub fn simulate(script: &Script) -> Result<(), String> {
    player::play(script, &mut Simulated::new(&script.settings))
}

/// A connection as scripts set it up.
pub(crate) fn connection<P: Payload>(settings: &Settings) -> Connection<P> {
    let algorithm = settings.algorithm.clone();
    let build = move |initial: Initial| {
        fairwave_cc::build(&algorithm, initial).expect("a listed algorithm")
    };
    Connection::new(settings.config, NUMBERS.iss, Box::new(build))
}

struct Simulated {
    end: Connection<Virtual>,
    now: Instant,
    sent: VecDeque<Seen>,
    last_event: Option<Event>,
}

impl Simulated {
    fn new(settings: &Settings) -> Self {
        let end = connection(settings);
        Self { end, now: Instant::ZERO, sent: VecDeque::new(), last_event: None }
    }

    fn input(&mut self, input: Input<Virtual>) {
        self.end.handle(self.now, input);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(segment) = self.end.poll(self.now) {
            let Segment { header, ecn, payload } = &segment;
            self.sent.push_back(NUMBERS.seen(self.now, header, *ecn, payload.0));
        }
        while let Some(event) = self.end.event() {
            self.last_event = Some(event);
        }
    }
}

impl World for Simulated {
    fn departure(&mut self, until: Instant) -> Played<Option<Seen>> {
        while self.sent.is_empty() {
            let Some(at) = self.end.deadline().filter(|at| *at <= until) else {
                self.now = self.now.max(until);
                return Ok(None);
            };
            self.now = at;
            self.end.wake(at);
            self.drain();
        }
        Ok(self.sent.pop_front())
    }

    fn call(&mut self, call: Call) -> Played<()> {
        match call {
            Call::Open => self.input(Input::Open),
            Call::Listen => self.input(Input::Listen),
            Call::Write(bytes) => self.input(Input::Write(Virtual(bytes))),
            Call::Close => self.input(Input::Close),
            Call::Abort => self.input(Input::Abort),
            Call::Read(bytes) => {
                self.end.read(bytes);
                self.drain();
            }
        }
        Ok(())
    }

    fn arrive(&mut self, shape: &Shape) -> Played<()> {
        let header = NUMBERS.header(shape, |echo| echo);
        let ecn = shape.ecn.unwrap_or_default();
        self.input(Input::Segment(Segment { header, ecn, payload: Virtual(shape.len) }));
        Ok(())
    }

    fn answer(&mut self, key: &str) -> Played<Answer> {
        report::answer(&self.end, self.last_event, key).map(Answer::Exactly)
    }

    fn note_stamp(&mut self, _: u32, _: u32) {}

    fn exactness(&self) -> Exactness {
        Exactness::Whole
    }

    fn slack(&self, _: Duration) -> (Duration, Duration) {
        (Duration::ZERO, Duration::ZERO)
    }
}
