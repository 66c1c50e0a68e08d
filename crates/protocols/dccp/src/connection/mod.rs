//! The connection: states (RFC 4340 section 8), the five verbs, and their foundations.

mod closing;
mod cookie;
mod input;
mod opening;
mod options;
mod output;

use crate::ack_vector::Arrivals;
use crate::ccid::{Handover, Receiver, ReceiverStats, Sender, SenderStats};
use crate::features::{Feature, Features};
use crate::path::Search;
use crate::queue::{SendQueue, Waiting};
use crate::sequence::Numbers;
use crate::{Ccid, Config, Payload, Profiles, Unsent};
use core::fmt;
use fairwave_machine::Machine;
use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::{Header, Options, ResetCode, Seq48, Side};
use fairwave_wire::ipv4::Ecn;
use std::collections::VecDeque;

/// Round-trip time where none is known (RFC 4340 section 3.4).
pub(crate) const DEFAULT_RTT: Duration = Duration::from_millis(200);
/// Control packets that may wait; further ones are answered when they are repeated.
const CONTROL_MAX: usize = 16;
/// Events that wait beyond which datagrams that were not sent are counted and not reported.
const EVENTS_MAX: usize = 4096;

/// A DCCP packet: header and options, its datagram's congestion mark, application data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<P> {
    /// The header.
    pub header: Header,
    /// The options.
    pub options: Options,
    /// ECN field of the datagram around it: to send, or as received.
    pub ecn: Ecn,
    /// Application data; `None` differs from data of no bytes (RFC 4340 section 5.4).
    pub payload: Option<P>,
}

impl<P: Payload> Packet<P> {
    /// Header and payload, in bytes.
    pub fn wire_len(&self) -> u32 {
        self.header.wire_len() as u32 + self.payload.as_ref().map_or(0, Payload::len)
    }
}

/// State of a connection (RFC 4340 section 8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// There is no connection.
    Closed,
    /// Waiting for a Request.
    Listen,
    /// Request sent.
    Request,
    /// Response sent, the client has not acknowledged.
    Respond,
    /// Response received; the server may not know it.
    PartOpen,
    /// Data flow both ways.
    Open,
    /// A server asked its client to close.
    CloseReq,
    /// Close sent.
    Closing,
    /// Waiting for old packets to die out.
    TimeWait,
}

/// A fact for the connection.
#[derive(Clone, Debug)]
pub enum Input<P> {
    /// Active open: send a Request. Ignored unless closed and never used.
    Open,
    /// Passive open: wait for a Request. Ignored unless closed and never used.
    Listen,
    /// A packet arrived whose checksum and addresses are right.
    Packet(Packet<P>),
    /// The application sends a datagram; [`Event::Unsent`] reports those that never went out.
    Send(P),
    /// The same with a deadline of its own, after which it is dropped instead of sent.
    SendBefore(Waiting<P>),
    /// The application sends no more. Waiting data has [`Config::linger`] to go out.
    Close,
    /// Drop the connection and reset the other end.
    Abort,
    /// The same for another end that is lost: if it is there after all, the code of its Reset, "No
    /// Connection", does not forbid it another connection.
    Forget,
    /// Whether the application has trouble to follow: the other end is asked not to go faster.
    Slow(bool),
    /// A handover, which congestion control may heed.
    Handover(Handover),
    /// The host learned, by ICMP for example, that the path takes packets of this many bytes at
    /// most.
    PathTakes(u32),
}

/// Events for the application and the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<P> {
    /// The handshake is complete.
    Established,
    /// Application data arrived.
    Data {
        /// Number of the packet: data may come out of order, and some never.
        seq: Seq48,
        /// The data.
        payload: P,
        /// Whether they are known to be damaged.
        corrupt: bool,
    },
    /// Data of the application were dropped instead of sent. If more than 4096 events wait, such
    /// data are counted in [`Stats::unsent`] only.
    Unsent {
        /// The data.
        payload: P,
        /// Reason.
        why: Unsent,
    },
    /// The connection has ended in good order, or by [`Input::Abort`] or
    /// [`Input::Forget`].
    Closed,
    /// The other end reset or refused the connection.
    Reset {
        /// Reason.
        code: ResetCode,
        /// Three bytes about it.
        data: [u8; 3],
    },
    /// This end reset the connection, because the other one broke the protocol.
    Failed {
        /// Reason.
        code: ResetCode,
    },
    /// The other end was silent for too long.
    TimedOut,
}

/// Counters and state, cheap to take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stats {
    /// State of the connection.
    pub state: State,
    /// State of the sender of this end, once its profile is agreed.
    pub sender: Option<SenderStats>,
    /// State of the receiver of this end, once its profile is agreed.
    pub receiver: Option<ReceiverStats>,
    /// Datagrams that wait to be sent.
    pub queued: usize,
    /// Their bytes.
    pub queued_bytes: u64,
    /// Packets sent, of any kind.
    pub packets_sent: u64,
    /// Packets sent with application data.
    pub data_packets_sent: u64,
    /// Application bytes sent.
    pub data_bytes_sent: u64,
    /// Packets received that were valid and new.
    pub packets_received: u64,
    /// Packets received with application data that were delivered.
    pub data_packets_delivered: u64,
    /// Application bytes delivered.
    pub data_bytes_delivered: u64,
    /// Packets that came twice.
    pub duplicates: u64,
    /// Packets whose numbers were not believed.
    pub invalid: u64,
    /// Syncs sent.
    pub syncs_sent: u64,
    /// Datagrams of the application that were dropped instead of sent.
    pub unsent: u64,
}

/// A packet that goes out before any data.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Control {
    Response,
    Sync {
        ack: Seq48,
    },
    SyncAck {
        ack: Seq48,
    },
    Reset {
        ack: Seq48,
        code: ResetCode,
        data: [u8; 3],
    },
    /// Makes a packet with numbers of its own, for use outside the connection.
    Stray(Header, Options),
}

/// One end of a DCCP connection.
pub struct Connection<P: Payload> {
    config: Config,
    state: State,
    is_server: bool,
    used: bool,
    profiles: Box<dyn Profiles>,
    numbers: Numbers,
    features: Features,
    /// The profiles, of this end's data and of the other one's, whose dependent features this end
    /// has asked for.
    dependent: [Option<Ccid>; 2],
    tx: Option<Box<dyn Sender>>,
    rx: Option<Box<dyn Receiver>>,
    arrivals: Arrivals,
    queue: SendQueue<P>,
    received: usize,
    control: VecDeque<Control>,
    events: VecDeque<Event<P>>,
    /// The next Request, Close or the like, and how long to wait after it.
    retry_at: Option<Instant>,
    retry_after: Duration,
    /// The retry timer's packet is to be sent now.
    retry: bool,
    /// Time of a client's Request, if there was only one.
    requested_at: Option<Instant>,
    /// Time at which the present state has lasted too long.
    give_up_at: Option<Instant>,
    time_wait: Option<Instant>,
    /// The application closes: until when its data may go out.
    close_by: Option<Instant>,
    /// Returns the time at which congestion control lets the next datagram go.
    pace: Option<Instant>,
    /// A clock to return, and when it came.
    echo: Option<(u32, Instant)>,
    /// Packets without data since the last one with.
    ndp_run: u64,
    /// Init Cookies to return while in PARTOPEN, as options.
    cookies: Options,
    last_received: Option<Instant>,
    last_sent: Instant,
    path: Option<Search>,
    /// Since when Syncs are counted, and how many there were.
    syncs: Option<(Instant, u32)>,
    is_slow: bool,
    stats: Stats,
}

impl<P: Payload> Connection<P> {
    /// A closed connection. `iss` is the initial sequence number, which the host draws
    /// (RFC 4340 section 7.2); `profiles` makes congestion control once it is agreed.
    pub fn new(config: Config, iss: Seq48, profiles: Box<dyn Profiles>) -> Self {
        let numbers = Numbers::new(iss, Feature::SequenceWindow.initial());
        Self {
            state: State::Closed,
            is_server: false,
            used: false,
            profiles,
            numbers,
            features: Features::new(false),
            dependent: [None; 2],
            tx: None,
            rx: None,
            arrivals: Arrivals::new(),
            queue: SendQueue::new(config.queue),
            received: 0,
            control: VecDeque::with_capacity(CONTROL_MAX),
            events: VecDeque::new(),
            retry_at: None,
            retry_after: config.retry_first,
            retry: false,
            requested_at: None,
            give_up_at: None,
            time_wait: None,
            close_by: None,
            pace: None,
            echo: None,
            ndp_run: 0,
            cookies: Options::new(),
            last_received: None,
            last_sent: Instant::ZERO,
            path: config.path.map(Search::new),
            syncs: None,
            is_slow: false,
            stats: Stats::new(),
            config,
        }
    }

    /// The state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Its configuration; a listener learns the other end's port here.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Datagrams that wait to be sent.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Whether the application may send data: a connection that closes or has ended drops them.
    pub fn accepts_data(&self) -> bool {
        self.close_by.is_none() && self.state <= State::Open && !self.used_up()
    }

    /// Counters and state now.
    pub fn stats(&self) -> Stats {
        Stats {
            state: self.state,
            sender: self.tx.as_ref().map(|tx| tx.stats()),
            receiver: self.rx.as_ref().map(|rx| rx.stats()),
            queued: self.queue.len(),
            queued_bytes: self.queue.bytes(),
            ..self.stats
        }
    }

    /// Largest packet in bytes that is known to get through the path, header included; `None` if it
    /// is not searched.
    pub fn path_size(&self) -> Option<u32> {
        self.path.as_ref().map(Search::size)
    }

    /// The value of a feature that is in force, of this end or of the other one.
    pub fn feature(&self, side: Side, feature: Feature) -> u64 {
        self.features.value(side, feature)
    }

    /// Greatest sequence number sent.
    pub const fn greatest_sent(&self) -> Seq48 {
        self.numbers.gss
    }

    /// Greatest sequence number received on a valid packet.
    pub const fn greatest_received(&self) -> Seq48 {
        self.numbers.gsr
    }

    /// Smoothed round-trip time as the sender has it.
    fn rtt(&self) -> Option<Duration> {
        self.tx.as_ref().and_then(|tx| tx.stats().rtt)
    }

    /// Takes away the datagrams that wait to be sent, for another connection.
    pub fn take_waiting(&mut self) -> impl Iterator<Item = Waiting<P>> + use<P> {
        self.queue.take_all().into_iter()
    }

    fn send(&mut self, now: Instant, Waiting { deadline, payload }: Waiting<P>) {
        if !self.accepts_data() {
            self.unsent(payload, Unsent::Closed);
        } else if payload.len() > self.config.max_payload {
            self.unsent(payload, Unsent::TooLong);
        } else if let Some(gone) = self.queue.push(now, deadline, payload) {
            self.unsent(gone, Unsent::QueueFull);
        }
    }

    fn used_up(&self) -> bool {
        self.used && self.state == State::Closed
    }

    fn unsent(&mut self, payload: P, why: Unsent) {
        self.stats.unsent += 1;
        // An application that does not take its events must not fill the memory with them.
        if self.events.len() < EVENTS_MAX {
            self.events.push_back(Event::Unsent { payload, why });
        }
    }

    /// Drops data that has waited too long.
    fn expire_queue(&mut self, now: Instant) {
        while let Some(old) = self.queue.pop_old(now) {
            self.unsent(old, Unsent::TooOld);
        }
    }

    fn push_control(&mut self, control: Control) {
        if self.control.len() < CONTROL_MAX {
            self.control.push_back(control);
        }
    }

    fn on_handover(&mut self, now: Instant, handover: Handover) {
        if let Some(tx) = &mut self.tx {
            tx.on_handover(now, handover);
        }
        if let Some(rx) = &mut self.rx {
            rx.on_handover(now, handover);
        }
        if let (Some(path), Handover::Ended { .. }) = (&mut self.path, handover) {
            path.doubt(now);
        }
    }

    /// Time at which this end has been silent for too long. A client whose server has nothing to
    /// send stays in PARTOPEN until a Sync of its own is answered.
    fn silent_at(&self) -> Option<Instant> {
        let is_open = matches!(self.state, State::PartOpen | State::Open);
        self.config.keep_alive.filter(|_| is_open).map(|it| self.last_sent + it)
    }

    /// Time of the next step of the search for the largest packet.
    fn path_at(&self) -> Option<Instant> {
        let may_probe = matches!(self.state, State::PartOpen | State::Open);
        self.path.as_ref().filter(|_| may_probe).and_then(Search::deadline)
    }

    /// Sets the retry timer for the next try of the packet just sent.
    fn arm_retry(&mut self, now: Instant) {
        self.retry = false;
        self.retry_at = Some(now + self.retry_after);
        let max = match self.state {
            State::Request => self.config.request_max,
            _ => self.config.retry_max,
        };
        self.retry_after = (self.retry_after * 2).min(max);
    }
}

impl Stats {
    const fn new() -> Self {
        Self {
            state: State::Closed,
            sender: None,
            receiver: None,
            queued: 0,
            queued_bytes: 0,
            packets_sent: 0,
            data_packets_sent: 0,
            data_bytes_sent: 0,
            packets_received: 0,
            data_packets_delivered: 0,
            data_bytes_delivered: 0,
            duplicates: 0,
            invalid: 0,
            syncs_sent: 0,
            unsent: 0,
        }
    }
}

impl<P: Payload> Machine for Connection<P> {
    type Input = Input<P>;
    type Output = Packet<P>;
    type Event = Event<P>;

    fn handle(&mut self, now: Instant, input: Input<P>) {
        match input {
            Input::Open => self.open(now),
            Input::Listen => self.listen(),
            Input::Packet(packet) => self.on_packet(now, packet),
            Input::Send(payload) => self.send(now, Waiting { deadline: None, payload }),
            Input::SendBefore(waiting) => self.send(now, waiting),
            Input::Close => self.close(now),
            Input::Abort => self.abort(ResetCode::ABORTED),
            Input::Forget => self.abort(ResetCode::NO_CONNECTION),
            Input::Slow(is_slow) => self.is_slow = is_slow,
            Input::Handover(handover) => self.on_handover(now, handover),
            Input::PathTakes(bytes) => {
                if let Some(path) = &mut self.path {
                    path.hint(now, bytes);
                }
            }
        }
    }

    fn wake(&mut self, now: Instant) {
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if is_due(self.time_wait) {
            self.time_wait = None;
            self.state = State::Closed;
        }
        if is_due(self.give_up_at) {
            self.give_up();
        }
        if is_due(self.retry_at) {
            self.retry_at = None;
            self.retry = true;
        }
        self.expire_queue(now);
        if let Some(path) = &mut self.path {
            path.wake(now, self.numbers.gar);
        }
        if let Some(tx) = self.tx.as_mut().filter(|tx| is_due(tx.deadline())) {
            tx.wake(now);
            self.state_wanted_ack_ratio();
        }
        if let Some(rx) = self.rx.as_mut().filter(|rx| is_due(rx.deadline())) {
            rx.wake(now);
        }
    }

    fn poll(&mut self, now: Instant) -> Option<Packet<P>> {
        self.next_packet(now)
    }

    fn deadline(&self) -> Option<Instant> {
        let lives = matches!(self.state, State::PartOpen | State::Open);
        let halves = [
            self.tx.as_ref().and_then(|tx| tx.deadline()),
            self.rx.as_ref().and_then(|rx| rx.deadline()),
            self.features.deadline(),
            self.pace,
            self.close_by.filter(|_| !self.queue.is_empty()),
        ];
        let own = [self.retry_at, self.give_up_at, self.time_wait, self.queue.deadline()];
        own.into_iter()
            .chain([self.silent_at(), self.path_at()])
            .chain(halves.into_iter().map(|at| at.filter(|_| lives)))
            .flatten()
            .min()
    }

    fn event(&mut self) -> Option<Event<P>> {
        let event = self.events.pop_front();
        if matches!(event, Some(Event::Data { .. })) {
            self.received -= 1;
        }
        event
    }
}

impl<P: Payload> fmt::Debug for Connection<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("state", &self.state)
            .field("numbers", &self.numbers)
            .field("tx", &self.tx)
            .field("rx", &self.rx)
            .finish_non_exhaustive()
    }
}
