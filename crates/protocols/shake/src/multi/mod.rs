//! Multi-connection SHAKE: one stream over several ordinary TCP connections, one for each path.
//!
//! The predecessor of TCP SHAKE (Iida, Ishihara and Mizuno, section 3.2.4), as a library above TCP:
//! [`Multi`] is one end. It cuts the application's data into blocks, gives each block as a whole to
//! a connection by a [`Split`], and at the other end puts the blocks in order again. With the
//! splits of the paper a block's connection is fixed by the order of turns: where that one has no
//! room, everything waits. [`Split::Adaptive`] looks at the state of the connections.

mod block;
mod config;
mod fault;
mod incoming;
mod leg;
mod mark;
mod outgoing;

pub use config::{Config, ConfigError, Dial, MAX_CONNECTIONS, MIN_BLOCK, Split};
pub use fault::Fault;
pub use mark::{Mark, MarkError, Marked};

use core::fmt;
use fairwave_machine::Machine;
use fairwave_tcp::{self as tcp, Segment};
use fairwave_units::Instant;
use fairwave_wire::multi::{Header, Preface};
use fairwave_wire::shake::Reason;
use incoming::Incoming;
use leg::{Leg, Reading};
use outgoing::Outgoing;
use std::collections::VecDeque;
use std::num::NonZeroU8;

/// Timeouts in a row after which [`Split::Adaptive`] takes a connection for stalled: one can be a
/// lost retransmission, two are at least three times the timeout of silence.
const STALLED_AFTER: u32 = 2;

/// A fact for one end.
#[derive(Clone, Debug)]
pub enum Input<P> {
    /// Open all connections, or wait for them.
    Start,
    /// A segment arrived for this connection.
    Segment(u8, Segment<P>),
    /// The application writes. At most [`Multi::send_space`] bytes are taken; [`Event::Refused`]
    /// reports the rest.
    Write(P),
    /// The application will write no more; it may go on reading.
    Close,
    /// As `Close`, and without a reader any more: new data resets all connections.
    Release,
    /// Reset all connections.
    Abort,
    /// For payload with lengths only: a mark that the other end put on this connection's stream
    /// ([`Multi::reported`]). It must come before the segment that carries it.
    Told(u8, Mark),
}

/// Events of one end for its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// This connection carries blocks.
    Up(u8),
    /// This connection has failed.
    Down(u8, Cause),
    /// There is data for [`Multi::read`]. Reported once until the next read.
    Readable,
    /// There is space to write again.
    SendSpace,
    /// This number of bytes of a write was not taken.
    Refused(u32),
    /// The peer's stream has come whole; its rest can be read.
    RemoteClosed,
    /// Both streams were delivered and all connections have ended.
    Closed,
    /// The streams cannot be completed any more. Data in order can be read.
    Broken,
}

/// Reason for which a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The peer reset or refused it.
    Reset,
    /// The peer was silent for too long.
    TimedOut,
    /// The peer closed it without saying where its stream ends.
    Cut,
    /// The peer's message was impossible; the connection was reset for it.
    Fault(Fault),
}

/// Counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes that the application has written.
    pub bytes_written: u64,
    /// Bytes among them, from the first on, that the peer's TCP has received.
    pub bytes_arrived: u64,
    /// Bytes that the application has read.
    pub bytes_read: u64,
    /// Bytes in order that wait to be read.
    pub bytes_ready: u64,
    /// Blocks that were sent again over another connection.
    pub blocks_resent: u64,
    /// Bytes that came again.
    pub bytes_repeated: u64,
}

/// A connection as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionReport {
    /// TCP's counters.
    pub tcp: tcp::Stats,
    /// Whether blocks may go on it: it is open, has not failed, and does not seem stalled.
    pub is_up: bool,
    /// Blocks put on it.
    pub blocks: u64,
    /// Bytes among them that had been put on a connection before.
    pub repeated: u64,
    /// Bytes of its blocks that the peer's TCP has got.
    pub arrived: u64,
    /// Bytes of the peer's blocks that came over it, duplicates included.
    pub delivered: u64,
}

/// One end of a set of connections.
pub struct Multi<P: Marked> {
    legs: Vec<Leg<P>>,
    tx: Outgoing<P>,
    rx: Incoming<P>,
    split: Split,
    buffer: u32,
    opens: bool,
    is_started: bool,
    /// The set's id, for the end that waits.
    set: Option<u64>,
    now: Instant,
    broken: Option<Reason>,
    is_remote_closed_reported: bool,
    is_closed_reported: bool,
    events: VecDeque<Event>,
}

impl<P: Marked> Multi<P> {
    /// The end that opens a set of connections. `set` is drawn at random by the host.
    ///
    /// # Errors
    /// If there can be no such set.
    pub fn opener(config: &Config, set: u64, dials: Vec<Dial>) -> Result<Self, ConfigError> {
        Self::new(config, Some(set), dials)
    }

    /// The end that waits for one. Which connection of the set a stream is stands in its preface;
    /// the host gives each its place by its ports.
    ///
    /// # Errors
    /// If there can be no such set.
    pub fn acceptor(config: &Config, dials: Vec<Dial>) -> Result<Self, ConfigError> {
        Self::new(config, None, dials)
    }

    fn new(config: &Config, set: Option<u64>, dials: Vec<Dial>) -> Result<Self, ConfigError> {
        let connections: Vec<_> = dials.iter().map(|dial| dial.config).collect();
        config.check(&connections)?;
        Ok(Self {
            legs: dials.into_iter().map(Leg::new).collect(),
            tx: Outgoing::new(config, connections.len()),
            rx: Incoming::new(config.receive_buffer),
            split: config.split,
            buffer: config.receive_buffer,
            opens: set.is_some(),
            is_started: false,
            set,
            now: Instant::ZERO,
            broken: None,
            is_remote_closed_reported: false,
            is_closed_reported: false,
            events: VecDeque::new(),
        })
    }

    /// Takes up to `max` bytes that came in order. Drain [`Machine::poll`] afterwards: windows
    /// may have opened.
    pub fn read(&mut self, max: u32) -> Option<P> {
        let data = self.rx.take(max)?;
        self.advance();
        Some(data)
    }

    /// Bytes that a write would take now.
    pub fn send_space(&self) -> u32 {
        if self.broken.is_some() { 0 } else { self.tx.space() }
    }

    /// Whether the peer's stream has come whole and was read.
    pub fn is_read_to_the_end(&self) -> bool {
        self.rx.is_complete() && self.rx.bytes_ready() == 0
    }

    /// Returns the counters.
    pub fn stats(&self) -> Stats {
        Stats {
            bytes_written: self.tx.written(),
            bytes_arrived: self.tx.arrived_to(),
            bytes_read: self.rx.read,
            bytes_ready: self.rx.bytes_ready(),
            blocks_resent: self.tx.resent,
            bytes_repeated: self.rx.repeated,
        }
    }

    /// The connections as they are now, in order.
    pub fn connections(&self) -> impl ExactSizeIterator<Item = ConnectionReport> {
        self.legs.iter().map(|leg| ConnectionReport {
            tcp: leg.connection.stats(),
            is_up: leg.is_up && !leg.is_stalled && !leg.is_over(),
            blocks: leg.blocks,
            repeated: leg.repeated,
            arrived: leg.arrived,
            delivered: leg.delivered,
        })
    }

    /// Whether nothing is left to do: all connections have ended, or wait for nothing but the
    /// peer's FIN, which a peer that is done as well may never send.
    pub fn is_over(&self) -> bool {
        let is_done = self.is_done();
        self.legs.iter().all(|leg| leg.is_over() || is_done && leg.is_end_delivered())
    }

    /// Reason for which its streams cannot be completed any more. A set that the peer has reset
    /// has [`Reason::NoPath`], as a segment with RST carries no reason.
    pub fn broken(&self) -> Option<Reason> {
        self.broken
    }

    /// Frees the buffers of a set whose connections have all ended, and that has no reader any
    /// more. Returns whether they have: until then a peer may fill the buffers.
    pub fn discard(&mut self) -> bool {
        if !self.legs.iter().all(Leg::is_over) {
            return false;
        }
        if !self.is_done() {
            self.broken.get_or_insert(Reason::NoPath);
        }
        self.legs.iter_mut().for_each(Leg::discard);
        self.rx.discard();
        self.tx.discard();
        true
    }

    /// For payload with lengths only: the next mark that this end has put on the stream of a
    /// connection, for [`Input::Told`] at the other end. Take them before segments.
    pub fn reported(&mut self, connection: u8) -> Option<Mark> {
        self.legs.get_mut(usize::from(connection))?.to_report.pop_front()
    }

    fn start(&mut self, now: Instant) {
        self.is_started = true;
        for leg in &mut self.legs {
            let input = if self.opens { tcp::Input::Open } else { tcp::Input::Listen };
            leg.connection.handle(now, input);
        }
    }

    fn write(&mut self, data: P) {
        let len = data.len();
        let taken = if self.broken.is_some() { 0 } else { self.tx.write(data) };
        if taken < len {
            self.tx.wants_space = true;
            self.events.push_back(Event::Refused(len - taken));
        }
    }

    fn preface(&self, connection: usize) -> Option<Preface> {
        let connections = NonZeroU8::new(self.legs.len() as u8)?;
        Some(Preface {
            set: self.set?,
            connection: connection as u8,
            connections,
            buffer: self.buffer,
        })
    }

    /// Lets blocks go on a connection, once it is established and the set is known.
    fn begin(&mut self, index: usize) {
        let Some(preface) = self.preface(index) else { return };
        self.legs[index].begin(self.now, preface);
        self.events.push_back(Event::Up(index as u8));
    }

    /// Handles the events of a connection.
    fn receive(&mut self, index: usize) {
        while let Some(event) = self.legs[index].connection.event() {
            match event {
                tcp::Event::Established if self.opens => self.begin(index),
                tcp::Event::Timeout(row) if row >= STALLED_AFTER => self.stall(index),
                tcp::Event::RemoteClosed => self.legs[index].is_finished = true,
                tcp::Event::Reset => self.fail(index, Cause::Reset),
                tcp::Event::TimedOut => self.fail(index, Cause::TimedOut),
                tcp::Event::Closed => self.legs[index].end_well(),
                _ => {}
            }
        }
        while let Some(offset) = self.legs[index].next_delivered() {
            self.tx.delivered(offset);
        }
    }

    fn stall(&mut self, index: usize) {
        if self.split.resends() && !self.legs[index].is_stalled {
            self.legs[index].is_stalled = true;
            self.tx.give_up_on(self.legs[index].undelivered());
        }
    }

    /// A connection has failed. With a fixed split that is the end of the set.
    fn fail(&mut self, index: usize, cause: Cause) {
        let leg = &mut self.legs[index];
        if core::mem::replace(&mut leg.is_dead, true) || self.is_done() {
            return;
        }
        self.legs[index].abort(self.now);
        self.events.push_back(Event::Down(index as u8, cause));
        self.tx.give_up_on(self.legs[index].undelivered());
        if !self.split.resends() {
            self.break_off(Reason::NoPath);
        }
    }

    /// Both streams have come whole.
    fn is_done(&self) -> bool {
        self.rx.is_complete() && self.tx.is_delivered()
    }

    fn break_off(&mut self, reason: Reason) {
        if self.broken.is_none() {
            self.broken = Some(reason);
            self.legs.iter_mut().for_each(|leg| leg.abort(self.now));
            self.events.push_back(Event::Broken);
        }
    }

    /// Reads from connections as much as the buffer takes. Data in order over one may make room for
    /// data that waits in another.
    fn pull(&mut self) {
        let mut goes_on = true;
        while goes_on {
            goes_on = false;
            for index in 0..self.legs.len() {
                while self.legs[index].bytes_ready() > 0 {
                    match self.pull_one(index) {
                        Ok(true) => goes_on = true,
                        Ok(false) => break,
                        Err(fault) => {
                            self.legs[index].reading = Reading::Broken;
                            self.fail(index, Cause::Fault(fault));
                        }
                    }
                }
            }
        }
        for index in 0..self.legs.len() {
            let leg = &self.legs[index];
            let is_cut = leg.is_finished && leg.bytes_ready() == 0 && leg.reading != Reading::Ended;
            if is_cut && !leg.is_dead {
                self.fail(index, Cause::Cut);
            }
        }
    }

    /// Reads the next thing of a connection; false if it is not there or must wait.
    fn pull_one(&mut self, index: usize) -> Result<bool, Fault> {
        let leg = &mut self.legs[index];
        match leg.reading {
            Reading::Preface => {
                let Some(preface) = leg.read_preface()? else { return Ok(false) };
                self.meet(index, &preface)?;
            }
            Reading::Header => {
                let Some(header) = leg.read_header()? else { return Ok(false) };
                self.rx.check(&header)?;
                if let Header::End { offset } = header {
                    self.rx.ends_at(offset)?;
                }
            }
            Reading::Block { .. } => return Ok(self.rx.pull(leg)),
            Reading::Ended => return Err(Fault::BehindEnd),
            Reading::Broken => return Ok(false),
        }
        Ok(true)
    }

    /// The peer's preface on a connection.
    fn meet(&mut self, index: usize, preface: &Preface) -> Result<(), Fault> {
        let Preface { connection, connections, set, buffer } = *preface;
        let (expected, connections) = (index as u8, connections.get());
        if connection != expected || usize::from(connections) != self.legs.len() {
            return Err(Fault::OtherConnection { connection, connections, expected });
        }
        if *self.set.get_or_insert(set) != set {
            return Err(Fault::OtherSet(set));
        }
        self.tx.peer_buffer = Some(buffer);
        if !self.opens && !self.legs[index].is_dead {
            self.begin(index);
        }
        Ok(())
    }

    /// Ends this direction of connections on which nothing will go any more: with a fixed split
    /// behind their last blocks, with an adaptive one when all has arrived, over whichever.
    fn finish(&mut self) {
        let is_done = if self.split.resends() { self.tx.is_delivered() } else { self.tx.is_cut() };
        if !is_done || self.broken.is_some() {
            return;
        }
        let length = self.tx.written();
        for leg in &mut self.legs {
            if leg.has_room(0) {
                leg.end(self.now, length);
            }
        }
        // The peer knows of the end: what is stuck on a path that is gone need not come any more.
        let knows = |leg: &Leg<P>| leg.is_ended && !leg.is_dead && leg.is_end_delivered();
        if self.split.resends() && self.is_done() && self.legs.iter().any(knows) {
            let is_stuck = |leg: &&mut Leg<P>| !leg.is_over() && (leg.is_stalled || !leg.is_up);
            for leg in self.legs.iter_mut().filter(is_stuck) {
                leg.is_dead = true;
                leg.abort(self.now);
            }
        }
    }

    /// Does all that can be done now.
    fn advance(&mut self) {
        (0..self.legs.len()).for_each(|index| self.receive(index));
        self.pull();
        if self.rx.is_unread() {
            self.break_off(Reason::NotReading);
        }
        if self.broken.is_none() {
            self.tx.fill(self.now, &mut self.legs);
            self.finish();
            if self.tx.is_barred(&self.legs) {
                self.break_off(Reason::NoPath);
            }
        }
        (0..self.legs.len()).for_each(|index| self.receive(index));
        self.report();
    }

    fn report(&mut self) {
        if self.rx.bytes_ready() > 0 && !self.rx.is_readable_reported {
            self.rx.is_readable_reported = true;
            self.events.push_back(Event::Readable);
        }
        if self.tx.wants_space && self.send_space() > 0 {
            self.tx.wants_space = false;
            self.events.push_back(Event::SendSpace);
        }
        if self.rx.is_complete() && !self.is_remote_closed_reported {
            self.is_remote_closed_reported = true;
            self.events.push_back(Event::RemoteClosed);
        }
        let is_ended = self.broken.is_some() || self.is_closed_reported;
        if !self.is_over() || is_ended || !self.is_started {
            return;
        }
        if self.is_done() {
            self.is_closed_reported = true;
            self.events.push_back(Event::Closed);
        } else if self.rx.bytes_ready() == 0 {
            self.break_off(Reason::NoPath);
        }
    }
}

impl<P: Marked> Machine for Multi<P> {
    type Input = Input<P>;
    /// A segment, and the connection that sends it.
    type Output = (u8, Segment<P>);
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input<P>) {
        self.now = now;
        match input {
            Input::Start => self.start(now),
            Input::Segment(connection, segment) => {
                if let Some(leg) = self.legs.get_mut(usize::from(connection)) {
                    leg.connection.handle(now, tcp::Input::Segment(segment));
                }
            }
            Input::Write(data) => self.write(data),
            Input::Close => self.tx.finish = true,
            Input::Release => {
                self.tx.finish = true;
                self.rx.close();
            }
            Input::Abort => {
                self.broken.get_or_insert(Reason::Abort);
                self.legs.iter_mut().for_each(|leg| leg.abort(now));
            }
            Input::Told(connection, mark) => {
                if let Some(leg) = self.legs.get_mut(usize::from(connection)) {
                    leg.reported.push_back(mark);
                }
                return;
            }
        }
        self.advance();
    }

    fn wake(&mut self, now: Instant) {
        if self.deadline().is_some_and(|at| at <= now) {
            self.now = now;
            self.legs.iter_mut().for_each(|leg| leg.connection.wake(now));
            self.advance();
        }
    }

    fn poll(&mut self, now: Instant) -> Option<(u8, Segment<P>)> {
        let poll =
            |(index, leg): (usize, &mut Leg<P>)| Some((index as u8, leg.connection.poll(now)?));
        self.legs.iter_mut().enumerate().find_map(poll)
    }

    fn deadline(&self) -> Option<Instant> {
        self.legs.iter().filter_map(|leg| leg.connection.deadline()).min()
    }

    fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}

impl<P: Marked> fmt::Debug for Multi<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Multi")
            .field("legs", &self.legs)
            .field("tx", &self.tx)
            .field("rx", &self.rx)
            .finish_non_exhaustive()
    }
}
