//! One connection over several paths: its state, and the parts that every change rests on.

mod acks;
mod input;
mod machine;
mod output;
mod paths;
mod priority;
mod standby;
mod timers;

use crate::growth::Window;
use crate::path::{Flight, Path, State};
use crate::receiver::Receiver;
use crate::scoreboard::Scoreboard;
use crate::{Config, PathView, Priority, Rules};
use fairwave_tcp::{Payload, Store};
use fairwave_units::{BitRate, Duration, Instant, Seed, Stream};
use fairwave_wire::shake::{Echo, Header, Leave, Reason, Side};
use std::collections::VecDeque;

/// A message and its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment<P> {
    /// All but the payload.
    pub header: Header,
    /// The payload; empty for everything but data.
    pub payload: P,
}

/// Inputs of a connection.
#[derive(Clone, Debug)]
pub enum Input<P> {
    /// There is a path. The opener joins it, at first or again; the first join opens the
    /// connection. For the acceptor this is the bandwidth of a path that the opener has joined.
    Join {
        /// Its id.
        path: u8,
        /// Its bandwidth, if it is known.
        nominal: Option<BitRate>,
    },
    /// A path is to be used no more. Its data in flight is sent on others.
    Leave {
        /// Its id.
        path: u8,
    },
    /// A path has this priority from now on, also if it joins later.
    Prioritize {
        /// Its id.
        path: u8,
        /// Its priority.
        priority: Priority,
    },
    /// Bytes to send. Bytes beyond [`Connection::send_space`] are not taken.
    Write(P),
    /// The paths take packets of another size: segments have this number of bytes at most from now
    /// on. Larger ones that have not arrived are cut and retransmitted.
    Mss(u32),
    /// Nothing more will be written: the stream ends behind the data so far (half-close).
    Finish,
    /// As `Finish`, and without a reader any more: new data resets the connection.
    Close,
    /// The connection is given up.
    Abort,
    /// This end has reset the connection, which the peer may have missed: the reset is sent again
    /// on a path, of whatever state.
    Repeat {
        /// Its id.
        path: u8,
    },
    /// A message arrived, and its seal fits.
    Segment(Segment<P>),
}

/// Events of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A first path has been confirmed.
    Opened,
    /// A path carries data, at first or again.
    PathUp {
        /// Its id.
        path: u8,
    },
    /// A path seems dead: only probes are sent on it until one is acknowledged.
    PathDead {
        /// Its id.
        path: u8,
    },
    /// A path has been left, by this end or the other. The other's leaving is reported even when
    /// the connection is closed, as the peer may lack a path to learn of that.
    PathLeft {
        /// Its id.
        path: u8,
    },
    /// There are bytes to read.
    Readable,
    /// There is room to write that was not there.
    Writable,
    /// The peer's stream has ended; the rest can be read.
    Finished,
    /// Both streams have ended and are acknowledged. The host keeps the machine for a while, so
    /// that it can answer a peer that missed the last acknowledgement.
    Closed,
    /// The connection is over before its end.
    Reset {
        /// Reason.
        reason: Reason,
        /// Whether the peer reported it.
        by_peer: bool,
    },
}

/// Counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Messages of data sent, copies among them.
    pub segments: u64,
    /// Retransmissions of data taken for lost among them.
    pub retransmissions: u64,
    /// Copies among them of data that another path holds back.
    pub reinjections: u64,
    /// Further copies among them of data on another path, by a redundant scheduler or on a path on
    /// standby.
    pub copies: u64,
    /// Copies among them that try a path.
    pub probes: u64,
    /// Losses found before a timer expired.
    pub losses_found: u64,
    /// Timers that expired.
    pub timeouts: u64,
    /// Messages of data received.
    pub received: u64,
    /// Segments looked at to see whether a block covers them: one for each that does, and at most
    /// one more a block, whatever the peer repeats.
    pub looked_at: u64,
    /// Refused messages.
    pub refused: Refused,
}

/// Messages that were not believed, and parts of them, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Of another connection, or of this end itself.
    pub foreign: u64,
    /// On a path that there is not, or one more than there may be.
    pub unknown_path: u64,
    /// A number that was there before, or is too old to decide.
    pub replayed: u64,
    /// On a path that has not been confirmed.
    pub unanswered: u64,
    /// Challenges, responses and leaves that answer nothing.
    pub stray: u64,
    /// Acknowledgements of data never sent.
    pub ack_of_unsent: u64,
    /// Blocks of data never sent.
    pub block_of_unsent: u64,
    /// Echoes of messages never sent.
    pub echo_of_unsent: u64,
    /// Windows that end before an earlier one.
    pub window_shrunk: u64,
    /// Data beyond the window.
    pub beyond_window: u64,
    /// Data between which too much is missing.
    pub no_room: u64,
    /// Data that contradicts where the stream ends.
    pub contradiction: u64,
    /// Bytes written without room for them.
    pub unwritten: u64,
}

/// A path as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathReport {
    /// Its id.
    pub id: u8,
    /// Whether it carries data: it was confirmed, is not left and not dead.
    pub is_up: bool,
    /// Congestion window in bytes.
    pub cwnd: u32,
    /// Slow start threshold in bytes.
    pub ssthresh: u32,
    /// Bytes sent on it and neither acknowledged nor lost.
    pub flight: u32,
    /// Smoothed round-trip time, once there is a sample.
    pub srtt: Option<Duration>,
    /// Timeout in force.
    pub rto: Duration,
    /// Bytes that arrived over it, those sent twice among them; by counts
    /// ([`TimeoutRule::Counts`](crate::TimeoutRule::Counts)) those of acknowledgements received.
    pub delivered: u64,
    /// Timers that expired.
    pub timeouts: u64,
}

/// State of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No path has been confirmed.
    Opening,
    Open,
    /// Both streams have ended.
    Closed,
    /// Over, for this reason; `told` by the peer.
    Reset {
        reason: Reason,
        reported: bool,
    },
}

/// Messages to send before data. Paths are indices.
#[derive(Clone, Copy, Debug)]
enum Control {
    Join(usize),
    Challenge(usize),
    Response {
        path: usize,
        answers: u64,
    },
    Ack {
        path: usize,
        echo: Option<Echo>,
    },
    /// The window has opened: acknowledgements say so on the paths that this chooses.
    WindowUpdate,
    Leave(usize),
    Left {
        path: usize,
        leave: Leave,
    },
    Reset {
        path: usize,
        reason: Reason,
    },
    Probe(usize),
    /// Whatever shows whether the path works.
    Check(usize),
    /// A byte beyond a closed window.
    Persist,
}

/// One end of a connection: see the crate's documentation.
#[derive(Debug)]
pub struct Connection<P: Payload> {
    config: Config,
    rules: Rules,
    side: Side,
    id: u64,
    phase: Phase,
    nonces: Stream,
    paths: Vec<Path>,
    /// Paths that may carry data now, and their indices.
    views: Vec<PathView>,
    view_paths: Vec<usize>,
    /// The first of `views` are not on standby.
    in_use: usize,
    /// Whether the paths on standby were chosen since the last input.
    is_judged: bool,
    /// Priorities of path ids that are not regular.
    priorities: Vec<(u8, Priority)>,
    /// Whether more bytes wait than the regular paths carry in time.
    is_backlogged: bool,
    windows: Vec<Window>,
    board: Scoreboard,
    /// Bytes from `board.una()` on.
    store: P::Store,
    /// Bytes written.
    written: u64,
    finishing: bool,
    fin_sent: bool,
    /// End of the peer's window, the highest reported.
    edge: u64,
    duplicates: u32,
    /// Time at which pacing lets a path send that could otherwise.
    pace_at: Option<Instant>,
    /// Time at which a segment that may hold the line up should have been acknowledged.
    overdue_at: Option<Instant>,
    persist_at: Option<Instant>,
    persist_backoff: u32,
    pathless_since: Option<Instant>,
    receiver: Receiver<P>,
    /// Index of the path on which data came last.
    last_arrival: usize,
    control: VecDeque<Control>,
    events: VecDeque<Event>,
    /// An opened window waits to be reported: many small reads make one message.
    update_due: bool,
    readable_reported: bool,
    writable_wanted: bool,
    finished_reported: bool,
    lost: Vec<Flight>,
    stats: Stats,
}

impl<P: Payload> Connection<P> {
    /// An end that has no path yet. `id` is the connection's on the wire, drawn at random by the
    /// opener; nonces are drawn from `seed`, which must differ between the two ends.
    pub fn new(config: Config, rules: Rules, side: Side, id: u64, seed: Seed) -> Self {
        Self {
            config,
            rules,
            side,
            id,
            phase: Phase::Opening,
            nonces: seed.stream("shake/nonces"),
            paths: Vec::new(),
            views: Vec::new(),
            view_paths: Vec::new(),
            in_use: 0,
            is_judged: false,
            priorities: Vec::new(),
            is_backlogged: false,
            windows: Vec::new(),
            board: Scoreboard::default(),
            store: P::Store::default(),
            written: 0,
            finishing: false,
            fin_sent: false,
            edge: 0,
            duplicates: 0,
            pace_at: None,
            overdue_at: None,
            persist_at: None,
            persist_backoff: 0,
            pathless_since: None,
            receiver: Receiver::new(config.receive_buffer),
            last_arrival: 0,
            control: VecDeque::new(),
            events: VecDeque::new(),
            update_due: false,
            readable_reported: false,
            writable_wanted: false,
            finished_reported: false,
            lost: Vec::new(),
            stats: Stats::default(),
        }
    }

    /// Bytes that [`Input::Write`] takes now.
    pub fn send_space(&self) -> u32 {
        if self.finishing || self.is_over() {
            return 0;
        }
        u64::from(self.config.send_buffer).saturating_sub(self.store.len()) as u32
    }

    /// Takes up to `most` bytes that arrived; `None` if there are none. Afterwards the machine may
    /// have something to transmit.
    pub fn read(&mut self, max: u32) -> Option<P> {
        let data = self.receiver.read(max)?;
        self.readable_reported = self.receiver.readable() > 0;
        if self.receiver.window_has_opened() && !self.is_over() && !self.update_due {
            self.update_due = true;
            self.control.push_back(Control::WindowUpdate);
        }
        Some(data)
    }

    /// Whether the peer's stream has ended and was read completely.
    pub fn is_read_to_the_end(&self) -> bool {
        self.receiver.is_finished() && self.receiver.readable() == 0
    }

    /// Bytes of the peer's stream that arrived in order, the end of the stream as one.
    pub fn received(&self) -> u64 {
        self.receiver.cumulative()
    }

    /// Bytes written that the peer has acknowledged in order.
    pub fn acknowledged(&self) -> u64 {
        self.board.una().min(self.written)
    }

    /// Bytes written that were never sent.
    pub fn unsent(&self) -> u64 {
        self.written.saturating_sub(self.board.next())
    }

    /// Whether the connection has ended, one way or the other.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Closed | Phase::Reset { .. })
    }

    /// Whether this end has reset the connection. The peer may have missed that.
    pub fn has_reset(&self) -> bool {
        matches!(self.phase, Phase::Reset { reported: false, .. })
    }

    /// Frees the buffers of a connection that is over and has no reader any more.
    pub fn discard(&mut self) {
        if self.is_over() {
            self.store = P::Store::default();
            self.board.discard();
            self.receiver.discard();
        }
    }

    /// Returns the counters.
    pub fn stats(&self) -> Stats {
        Stats { looked_at: self.board.looked_at(), ..self.stats }
    }

    /// The paths, in the order in which they were first joined.
    pub fn paths(&self) -> impl Iterator<Item = PathReport> {
        self.paths.iter().map(|path| PathReport {
            id: path.id(),
            is_up: path.life.is_up(),
            cwnd: path.cwnd(),
            ssthresh: path.ssthresh(),
            flight: path.flight(),
            srtt: path.rtt.srtt(),
            rto: path.rtt.rto(),
            delivered: path.delivered(),
            timeouts: path.timeouts(),
        })
    }

    /// Reports to the host, unless the connection is over: a peer that missed the last
    /// acknowledgement may still move paths to ask for it, and the host need know only when they
    /// are left.
    fn report(&mut self, event: Event) {
        if !self.is_over() {
            self.events.push_back(event);
        }
    }

    fn index_of(&self, id: u8) -> Option<usize> {
        self.paths.iter().position(|path| path.id() == id)
    }

    fn is_opening(&self) -> bool {
        self.phase == Phase::Opening
    }

    /// Returns the path that works, without timeout if there is one, and has the minimum round-trip
    /// time.
    fn best_path(&self, not: Option<usize>) -> Option<usize> {
        let works = |index: &usize| self.paths[*index].life.is_joined() && Some(*index) != not;
        (0..self.paths.len()).filter(works).min_by_key(|index| {
            let path = &self.paths[*index];
            (path.life.is_dead(), path.is_suspect(), path.window().srtt)
        })
    }

    /// Ends the connection before its end.
    fn reset(&mut self, reason: Reason, by_peer: bool) {
        if self.is_over() {
            return;
        }
        self.phase = Phase::Reset { reason, reported: by_peer };
        self.control.clear();
        if let Some(path) = self.best_path(None).filter(|_| !by_peer) {
            self.control.push_back(Control::Reset { path, reason });
        }
        self.silence();
        self.events.push_back(Event::Reset { reason, by_peer });
    }

    /// No timer runs any more.
    fn silence(&mut self) {
        for path in &mut self.paths {
            path.lose_all(&mut self.lost);
            path.life.set_check(None);
            if !path.life.is_up() {
                path.life.enter(State::Left);
            }
        }
        self.lost.clear();
        (self.persist_at, self.pathless_since) = (None, None);
        (self.pace_at, self.overdue_at) = (None, None);
    }

    /// Both streams have ended, and the peer knows.
    fn close_if_done(&mut self) {
        let sent_all = self.fin_sent && self.board.is_empty();
        if sent_all && self.receiver.is_finished() && self.phase == Phase::Open {
            self.phase = Phase::Closed;
            self.silence();
            self.events.push_back(Event::Closed);
        }
    }
}
