//! A split TCP connection: a relay between a client and a server that ends the TCP of both.
//!
//! [`Proxy`] is one [`Machine`] made of two [`Connection`]s back to back: the *near* one answers
//! the client that opens, the *far* one opens towards the server, and data that one has received in
//! order the other sends. Client and server keep their TCP as it is; each side of the proxy has its
//! own configuration and its own congestion control (performance enhancing proxies of RFC 3135,
//! section 2.4 of which describes the split).
//!
//! Data waits in the receive buffer of the side it came by and in the send buffer of the side it
//! leaves by, and nowhere else. The free space of the former is the window that its sender
//! sees, so a slow far side slows the near one down, and the other way round.

use crate::{BuildController, Config, Connection, Event, Input, Payload, Segment, State};
use core::fmt;
use fairwave_machine::Machine;
use fairwave_units::{Instant, Seq32};
use std::collections::VecDeque;

/// A side of the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Towards the client, which opens the connection.
    Near,
    /// Towards the server.
    Far,
}

impl Side {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Near, Self::Far];

    /// The opposite side.
    pub const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }
}

/// Time at which the client is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opening {
    /// Once the server has accepted: a refusal reaches the client as one, for a round trip more.
    #[default]
    AfterFar,
    /// At once: the client may send before it is known whether the server accepts.
    AtOnce,
}

/// Configuration of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyConfig {
    /// The connection with the client. Its ports are the server's and the client's.
    pub near: Config,
    /// The connection with the server. Its ports are the client's and the server's.
    pub far: Config,
    /// Time at which the client is answered.
    pub opening: Opening,
}

/// One connection that passes a proxy.
pub struct Proxy<P: Payload> {
    near: Leg<P>,
    far: Leg<P>,
    opening: Opening,
    /// The client's SYN, while it waits for the server.
    syn: Option<Segment<P>>,
    /// The client's SYN has come, and the far side opens.
    opened: bool,
    /// The near side has got the SYN.
    admitted: bool,
    events: VecDeque<(Side, Event)>,
}

/// One side's connection, and the state of its peer.
struct Leg<P: Payload> {
    connection: Connection<P>,
    established: bool,
    /// The peer will send no more.
    finished: bool,
    /// This side was asked to close.
    closed: bool,
}

impl<P: Payload> Leg<P> {
    fn new(config: Config, iss: Seq32, congestion_control: BuildController) -> Self {
        let connection = Connection::new(config, iss, congestion_control);
        Self { connection, established: false, finished: false, closed: false }
    }

    fn is_over(&self) -> bool {
        matches!(self.connection.state(), State::Closed | State::TimeWait)
    }
}

impl<P: Payload> Proxy<P> {
    /// A proxy that waits for a client. `iss` are the initial sequence numbers of the near and
    /// the far connection, `algorithms` make their congestion control.
    pub fn new(
        config: ProxyConfig,
        iss: (Seq32, Seq32),
        algorithms: (BuildController, BuildController),
    ) -> Self {
        let mut near = Leg::new(config.near, iss.0, algorithms.0);
        near.connection.handle(Instant::ZERO, Input::Listen);
        Self {
            near,
            far: Leg::new(config.far, iss.1, algorithms.1),
            opening: config.opening,
            syn: None,
            opened: false,
            admitted: false,
            events: VecDeque::new(),
        }
    }

    /// The connection of a side: its statistics and its state.
    pub fn side(&self, side: Side) -> &Connection<P> {
        match side {
            Side::Near => &self.near.connection,
            Side::Far => &self.far.connection,
        }
    }

    /// Bytes that have come in order by `from` and that the peer of the other side has not
    /// acknowledged: at most the receive buffer of the one and the send buffer of the other.
    pub fn held(&self, from: Side) -> u64 {
        let (here, there) = (self.side(from).stats(), self.side(from.other()).stats());
        (here.bytes_read + here.bytes_ready).saturating_sub(there.bytes_acked)
    }

    /// Whether both connections have ended.
    pub fn is_over(&self) -> bool {
        self.opened && self.near.is_over() && self.far.is_over()
    }

    fn leg(&mut self, side: Side) -> &mut Leg<P> {
        match side {
            Side::Near => &mut self.near,
            Side::Far => &mut self.far,
        }
    }

    /// A segment from the client, which is not let in before its SYN.
    fn on_near(&mut self, now: Instant, segment: Segment<P>) {
        let flags = segment.header.flags;
        let opens = flags.syn && !flags.ack && !flags.rst && !self.admitted;
        if opens && !self.opened {
            self.opened = true;
            self.far.connection.handle(now, Input::Open);
        }
        // Once this side has ended, it is the one that refuses, as often as it is asked.
        let waits = self.opening == Opening::AfterFar && !self.far.established;
        if opens && waits && !self.near.is_over() {
            self.syn = Some(segment);
        } else if self.takes_back(&segment) {
            self.give_up(now);
        } else {
            self.admitted |= opens;
            self.near.connection.handle(now, Input::Segment(segment));
        }
    }

    /// Returns whether a segment resets the client's SYN that waits. As in RFC 5961 section 3.2 the
    /// number must be the next exactly: a host that has not seen the SYN cannot take it back.
    fn takes_back(&self, segment: &Segment<P>) -> bool {
        let next = self.syn.as_ref().map(|syn| syn.header.seq + 1);
        segment.header.flags.rst && next == Some(segment.header.seq)
    }

    /// The server has accepted: the client's SYN is answered.
    fn admit(&mut self, now: Instant) {
        if let Some(syn) = self.syn.take_if(|_| self.far.established) {
            self.admitted = true;
            self.near.connection.handle(now, Input::Segment(syn));
        }
    }

    /// Ends a connection that has not begun: the client took its SYN back.
    fn give_up(&mut self, now: Instant) {
        self.syn = None;
        for side in Side::ALL {
            self.leg(side).connection.handle(now, Input::Abort);
        }
    }

    /// Takes the events of one side, and passes those that concern the other.
    fn take_events(&mut self, now: Instant, side: Side) {
        while let Some(event) = self.leg(side).connection.event() {
            match event {
                Event::Established => self.leg(side).established = true,
                Event::RemoteClosed => self.leg(side).finished = true,
                Event::Reset | Event::TimedOut => self.break_off(now, side.other()),
                _ => {}
            }
            self.events.push_back((side, event));
        }
        // A refused passive open listens again: what the far side opened for it is gone.
        if self.admitted && self.near.connection.state() == State::Listen {
            self.give_up(now);
        }
    }

    /// The peer of one side is gone: resets that of `other`.
    fn break_off(&mut self, now: Instant, other: Side) {
        self.leg(other).connection.handle(now, Input::Abort);
        // One that still waited for its SYN-ACK is refused by the connection that ended.
        if let Some(syn) = self.syn.take() {
            self.near.connection.handle(now, Input::Segment(syn));
        }
    }

    /// Moves data received in order by `from` to the other side, and its end after it.
    fn pump(&mut self, now: Instant, from: Side) {
        loop {
            let space = self.leg(from.other()).connection.send_space();
            let data = self.leg(from).connection.read(space).filter(|_| space > 0);
            let Some(data) = data else { break };
            debug_assert!(data.len() <= space, "{} B for {space}", data.len());
            self.leg(from.other()).connection.handle(now, Input::Write(data));
        }
        let drained = self.leg(from).connection.bytes_ready() == 0;
        let ended = self.leg(from).finished && drained;
        let to = self.leg(from.other());
        // A connection that is told to close before it is synchronised ends at once.
        if ended && to.established && !to.closed {
            to.closed = true;
            to.connection.handle(now, Input::Close);
        }
    }

    fn relay(&mut self, now: Instant) {
        Side::ALL.into_iter().for_each(|side| self.take_events(now, side));
        self.admit(now);
        debug_assert!(self.opened || !self.admitted, "the near side opened first");
        debug_assert!(self.syn.is_none() || !self.admitted, "a SYN waits after it was answered");
        Side::ALL.into_iter().for_each(|side| self.pump(now, side));
        // Closing and writing make events of their own.
        Side::ALL.into_iter().for_each(|side| self.take_events(now, side));
    }
}

impl<P: Payload> Machine for Proxy<P> {
    type Input = (Side, Segment<P>);
    type Output = (Side, Segment<P>);
    /// Handles an event of the connection of a side.
    type Event = (Side, Event);

    fn handle(&mut self, now: Instant, input: Self::Input) {
        let (side, segment) = input;
        match side {
            Side::Near => self.on_near(now, segment),
            Side::Far => self.far.connection.handle(now, Input::Segment(segment)),
        }
        self.relay(now);
    }

    fn wake(&mut self, now: Instant) {
        Side::ALL.into_iter().for_each(|side| self.leg(side).connection.wake(now));
        self.relay(now);
    }

    fn poll(&mut self, now: Instant) -> Option<(Side, Segment<P>)> {
        let poll = |side: Side| Some((side, self.leg(side).connection.poll(now)?));
        Side::ALL.into_iter().find_map(poll)
    }

    fn deadline(&self) -> Option<Instant> {
        Side::ALL.into_iter().filter_map(|side| self.side(side).deadline()).min()
    }

    fn event(&mut self) -> Option<(Side, Event)> {
        self.events.pop_front()
    }
}

impl<P: Payload> fmt::Debug for Proxy<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy")
            .field("near", &self.near.connection)
            .field("far", &self.far.connection)
            .finish_non_exhaustive()
    }
}
