//! The five verbs: inputs and outputs of the connection.

use super::{Connection, Event, Input, Phase, Segment};
use crate::path::Path;
use fairwave_machine::Machine;
use fairwave_tcp::Payload;
use fairwave_units::Instant;
use fairwave_wire::shake::Reason;

impl<P: Payload> Machine for Connection<P> {
    type Input = Input<P>;
    type Output = Segment<P>;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Self::Input) {
        self.is_judged = false;
        match input {
            Input::Segment(segment) => self.take(now, segment),
            // A peer that lacks the last acknowledgement may need a path for it.
            Input::Join { path, nominal } => self.join(now, path, nominal),
            Input::Repeat { path } => self.repeat_reset(path),
            _ if self.is_over() => {}
            Input::Leave { path } => self.leave(now, path),
            Input::Prioritize { path, priority } => self.prioritize(path, priority),
            Input::Write(data) => self.write(&data),
            Input::Mss(mss) => {
                self.config.mss = mss.max(1);
                self.board.cut(self.config.mss);
            }
            Input::Finish => self.finishing = true,
            Input::Close => {
                self.finishing = true;
                self.receiver.close();
            }
            Input::Abort => self.reset(Reason::Abort, false),
        }
    }

    fn wake(&mut self, now: Instant) {
        self.is_judged = false;
        self.expire(now);
    }

    fn poll(&mut self, now: Instant) -> Option<Self::Output> {
        while let Some(control) = self.control.pop_front() {
            if let Some(segment) = self.control_segment(now, control) {
                return Some(segment);
            }
        }
        let data = if self.phase == Phase::Open { self.dispatch(now) } else { None };
        if data.is_none() {
            self.set_waits(now);
        }
        data
    }

    fn deadline(&self) -> Option<Instant> {
        let give_up = self.pathless_since.map(|since| since + self.config.give_up);
        let paths = self.paths.iter().filter_map(Path::deadline);
        let sending = self.persist_at.into_iter().chain(self.pace_at).chain(self.overdue_at);
        paths.chain(sending).chain(give_up).min()
    }

    fn event(&mut self) -> Option<Self::Event> {
        self.events.pop_front()
    }
}
