//! The five verbs: inputs and outputs of the connection.

use super::{Connection, Event, Input, Segment, State};
use crate::Payload;
use fairwave_machine::Machine;
use fairwave_units::Instant;

impl<P: Payload> Connection<P> {
    fn write(&mut self, data: P) {
        let len = data.len();
        let taken = if self.close_requested { 0 } else { self.tx.write(data) };
        if taken < len {
            self.events.push_back(Event::Refused(len - taken));
        }
    }

    /// RFC 9293 section 3.10.4.
    fn close(&mut self) {
        self.close_requested = true;
        match self.state {
            State::Closed | State::Listen | State::SynSent => self.end(Event::Closed),
            State::Established => self.send_fin(State::FinWait1),
            State::CloseWait => self.send_fin(State::LastAck),
            // SYN-RECEIVED: the FIN follows once the handshake is complete.
            _ => {}
        }
    }

    /// RFC 9293 section 3.10.5.
    fn abort(&mut self) {
        match self.state {
            State::Closed | State::TimeWait => {}
            State::Listen | State::SynSent => self.end(Event::Closed),
            _ => {
                let mut header = self.header(self.tx.next());
                header.flags.rst = true;
                header.flags.ack = true;
                header.ack = self.rx_seq(self.rx.next());
                self.end(Event::Closed);
                self.reply = Some(header);
            }
        }
    }

    /// The retransmission timer expired.
    fn on_timer(&mut self, now: Instant) {
        let silent = match self.state {
            State::Closed | State::Listen | State::TimeWait => return,
            State::SynSent | State::SynReceived => {
                self.syn.pending = true;
                self.syn.retransmissions += 1;
                let linear = match self.state {
                    State::SynSent => self.config.linear_syn_timeouts,
                    _ => 0,
                };
                self.tx.expire_silently(now, linear)
            }
            _ => {
                if let Some(backoff) = self.tx.on_timer(now) {
                    self.events.push_back(Event::Timeout(backoff));
                }
                self.tx.silent_expiries()
            }
        };
        if silent > self.config.max_retries {
            self.end(Event::TimedOut);
        }
    }

    /// Asserts that the state agrees with the data sent and received (RFC 9293 section 3.3.2).
    fn check(&self) {
        let state = self.state;
        let waits = self.time_wait.is_some();
        debug_assert_eq!(waits, state == State::TimeWait, "the timer of TIME-WAIT in {state:?}");
        let (ours, theirs) = match state {
            State::Established | State::FinWait1 => (false, false),
            State::FinWait2 => (true, false),
            State::CloseWait | State::Closing | State::LastAck => (false, true),
            State::TimeWait => (true, true),
            State::Closed | State::Listen | State::SynSent | State::SynReceived => return,
        };
        debug_assert_eq!(self.tx.fin_is_acked(), ours, "own FIN acknowledged in {state:?}");
        debug_assert_eq!(self.rx.fin_is_received(), theirs, "FIN received in {state:?}");
    }
}

impl<P: Payload> Machine for Connection<P> {
    type Input = Input<P>;
    type Output = Segment<P>;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input<P>) {
        match input {
            Input::Open => self.open(now),
            Input::Listen => self.listen(),
            Input::Segment(segment) => self.on_segment(now, segment),
            Input::Write(data) => self.write(data),
            Input::Close => self.close(),
            Input::Abort => self.abort(),
        }
        self.check();
    }

    fn wake(&mut self, now: Instant) {
        self.rx.wake(now);
        if self.time_wait.is_some_and(|at| at <= now) {
            self.end(Event::Closed);
        }
        if self.tx.on_early_timers(now) {
            self.events.push_back(Event::RecoveryBegan);
        }
        if self.tx.timer().is_some_and(|at| at <= now) {
            self.on_timer(now);
        }
        let next = self.tx.deadline();
        debug_assert!(next.is_none_or(|at| at > now), "{next:?} is over at {now:?}");
        self.check();
    }

    fn poll(&mut self, now: Instant) -> Option<Segment<P>> {
        self.next_segment(now)
    }

    fn deadline(&self) -> Option<Instant> {
        let open = self.state != State::Closed;
        let rx = if open { self.rx.deadline() } else { None };
        let machine = Instant::first_of(self.tx.deadline(), rx);
        Instant::first_of(machine, Instant::first_of(self.time_wait, self.pace))
    }

    fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}
