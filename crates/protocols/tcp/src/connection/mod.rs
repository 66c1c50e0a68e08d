//! The connection: its state (RFC 9293 section 3.3.2), and the parts that every change rests on.

mod handshake;
mod input;
mod limit;
mod machine;
mod output;

use crate::agreed::Agreed;
use crate::receiver::Receiver;
use crate::sender::Sender;
use crate::{Config, Payload};
use core::fmt;
use fairwave_cc::{Controller, Initial};
use fairwave_units::{Duration, Instant, Seq32};
use fairwave_wire::ipv4::Ecn;
use fairwave_wire::tcp::Header;
use limit::AckLimit;
use std::collections::VecDeque;

/// Makes the congestion controller once the handshake has settled the segment size.
pub type BuildController = Box<dyn FnOnce(Initial) -> Box<dyn Controller> + Send>;

/// A TCP segment: header and payload, and the congestion mark of its datagram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment<P> {
    /// The header.
    pub header: Header,
    /// ECN field of the datagram around it (RFC 3168): to send, or as received.
    pub ecn: Ecn,
    /// The payload.
    pub payload: P,
}

impl<P: Payload> Segment<P> {
    /// Header and payload, in bytes.
    pub fn wire_len(&self) -> u32 {
        self.header.wire_len() as u32 + self.payload.len()
    }

    /// Whether it carries an acknowledgement and nothing else.
    pub fn is_pure_ack(&self) -> bool {
        let f = self.header.flags;
        f.ack && !f.syn && !f.fin && !f.rst && self.payload.is_empty()
    }
}

/// State of a connection (RFC 9293 section 3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no connection.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// SYN sent, no SYN received.
    SynSent,
    /// SYN received and sent, not acknowledged.
    SynReceived,
    /// Data flows both ways.
    Established,
    /// This end has closed; its FIN is not acknowledged.
    FinWait1,
    /// This end's FIN is acknowledged; the other end has not closed.
    FinWait2,
    /// The other end has closed; this one has not.
    CloseWait,
    /// Both have closed at once; this end's FIN is not acknowledged.
    Closing,
    /// The other end closed first; this end's FIN is not acknowledged.
    LastAck,
    /// Waiting for old segments to die out.
    TimeWait,
}

/// A fact for the connection.
#[derive(Clone, Debug)]
pub enum Input<P> {
    /// Active open: send a SYN. Ignored unless closed and never used.
    Open,
    /// Passive open: wait for a SYN. Ignored unless closed and never used.
    Listen,
    /// A segment arrived whose checksum and addresses are right.
    Segment(Segment<P>),
    /// The application writes. At most [`Connection::send_space`] bytes are taken, in any state
    /// before [`Input::Close`]; [`Event::Refused`] reports the rest.
    Write(P),
    /// The application will write no more; it may go on reading.
    Close,
    /// Drop the connection and reset the peer.
    Abort,
}

/// Events for the application and the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Established,
    /// There is data for [`Connection::read`]. Reported once until the next read.
    Readable,
    /// There is space to write at least a segment again, after there was too little.
    SendSpace,
    /// This number of bytes of a write was not taken.
    Refused(u32),
    /// The peer will send no more; received data may still be read.
    RemoteClosed,
    /// The connection has ended in good order, or by [`Input::Abort`].
    Closed,
    /// The peer reset or refused the connection.
    Reset,
    /// The peer was silent for too long.
    TimedOut,
    /// Fast recovery began.
    RecoveryBegan,
    /// Fast recovery ended.
    RecoveryEnded,
    /// The retransmission timer expired, for the nth time for the same data.
    Timeout(u32),
}

/// Counters and state, cheap to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// State of the connection.
    pub state: State,
    /// Congestion window in bytes, as the controller has it; zero before the handshake.
    pub cwnd: u32,
    /// Congestion window with fast recovery's inflation, in bytes.
    pub effective_window: u32,
    /// Slow start threshold in bytes; `u32::MAX` while unset.
    pub ssthresh: u32,
    /// Bytes sent and not cumulatively acknowledged (FlightSize of RFC 5681).
    pub flight: u32,
    /// Smoothed round-trip time, once sampled.
    pub srtt: Option<Duration>,
    /// Retransmission timeout in force.
    pub rto: Duration,
    /// Segments sent, of any kind.
    pub segments_sent: u64,
    /// Segments sent with payload or FIN, retransmissions included.
    pub data_segments_sent: u64,
    /// Segments sent with nothing but an acknowledgement.
    pub acks_sent: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Entries into fast recovery.
    pub fast_recoveries: u64,
    /// Lost ACKs that the controller inferred.
    pub acks_lost: u64,
    /// Reductions of the window for echoed congestion marks (RFC 3168).
    pub ecn_responses: u64,
    /// Tail loss probes sent (RFC 8985 section 7).
    pub tail_probes: u64,
    /// Timeouts and recoveries found to be needless and undone (RFC 3522).
    pub spurious: u64,
    /// Bytes that the application has read.
    pub bytes_read: u64,
    /// Bytes received in order that wait to be read.
    pub bytes_ready: u64,
    /// Bytes of data that the peer has acknowledged; a FIN is none.
    pub bytes_acked: u64,
    /// Size of the send buffer in bytes.
    pub send_buffer: u32,
    /// Size of the receive buffer in bytes.
    pub receive_buffer: u32,
}

/// The SYN of this end.
#[derive(Clone, Copy, Debug, Default)]
struct Syn {
    pending: bool,
    /// Time at which the first one left.
    first: Option<Instant>,
    /// Time at which the latest left.
    sent: Option<Instant>,
    retransmissions: u32,
    /// A listener for peers of any port learned this one's from its SYN.
    learned_port: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    segments: u64,
    data_segments: u64,
    acks: u64,
}

/// One end of a TCP connection.
///
/// Between a write (or read) and the next wake, call [`fairwave_machine::Machine::poll`] until
/// `None`, as after every [`fairwave_machine::Machine::handle`].
pub struct Connection<P: Payload> {
    config: Config,
    state: State,
    iss: Seq32,
    irs: Seq32,
    passive: bool,
    build: Option<BuildController>,
    tx: Sender<P>,
    rx: Receiver<P>,
    syn: Syn,
    agreed: Agreed,
    /// A congestion mark arrived, and no CWR since: every ACK echoes it (RFC 3168 section 6.1.3).
    echo_marks: bool,
    /// SND.WL1 and SND.WL2.
    window_seq: Seq32,
    window_ack: Seq32,
    /// A segment that answers one outside the connection: a reset.
    reply: Option<Header>,
    close_requested: bool,
    used: bool,
    challenges: AckLimit,
    /// Limit of the answers to unacceptable segments without data.
    answers: AckLimit,
    time_wait: Option<Instant>,
    pace: Option<Instant>,
    events: VecDeque<Event>,
    counters: Counters,
}

impl<P: Payload> Connection<P> {
    /// A closed connection. `iss` is the initial sequence number, which the host draws
    /// (RFC 9293 section 3.4.1).
    pub fn new(config: Config, iss: Seq32, build: BuildController) -> Self {
        Self {
            tx: Sender::new(&config),
            rx: Receiver::new(&config),
            config,
            state: State::Closed,
            iss,
            irs: Seq32(0),
            passive: false,
            build: Some(build),
            syn: Syn::default(),
            agreed: Agreed::default(),
            echo_marks: false,
            window_seq: Seq32(0),
            window_ack: Seq32(0),
            reply: None,
            close_requested: false,
            used: false,
            challenges: AckLimit::default(),
            answers: AckLimit::default(),
            time_wait: None,
            pace: None,
            events: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Takes up to `max` bytes that arrived in order. Drain [`fairwave_machine::Machine::poll`]
    /// afterwards: the window may have opened.
    pub fn read(&mut self, max: u32) -> Option<P> {
        self.rx.read(max)
    }

    /// Frees the buffers of a connection in CLOSED or TIME-WAIT, whose application reads no more.
    /// Unread bytes count as read.
    pub fn discard(&mut self) {
        if matches!(self.state, State::Closed | State::TimeWait) {
            self.tx.discard();
            self.rx.discard();
        }
    }

    /// Bytes that a write would take now.
    pub fn send_space(&self) -> u32 {
        if self.close_requested { 0 } else { self.tx.space() }
    }

    /// As in [`Stats::bytes_ready`], for callers at each packet.
    pub fn bytes_ready(&self) -> u64 {
        self.rx.bytes_ready()
    }

    /// As in [`Stats::bytes_acked`], for callers at each packet.
    pub fn bytes_acked(&self) -> u64 {
        self.tx.bytes_acked()
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Its configuration; a listener learns the peer's port here.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Counters and state now.
    pub fn stats(&self) -> Stats {
        let tx = self.tx.stats();
        Stats {
            state: self.state,
            cwnd: tx.cwnd,
            effective_window: tx.effective_window,
            ssthresh: tx.ssthresh,
            flight: tx.flight,
            srtt: tx.srtt,
            rto: tx.rto,
            segments_sent: self.counters.segments,
            data_segments_sent: self.counters.data_segments,
            acks_sent: self.counters.acks,
            retransmissions: tx.retransmissions,
            timeouts: tx.timeouts,
            fast_recoveries: tx.fast_recoveries,
            acks_lost: tx.acks_lost,
            ecn_responses: tx.ecn_responses,
            tail_probes: tx.tail_probes,
            spurious: tx.spurious,
            bytes_read: self.rx.bytes_read(),
            bytes_ready: self.rx.bytes_ready(),
            bytes_acked: self.tx.bytes_acked(),
            send_buffer: self.tx.capacity(),
            receive_buffer: self.rx.capacity(),
        }
    }

    fn send_fin(&mut self, state: State) {
        self.tx.close();
        self.state = state;
    }

    /// Enters CLOSED for good.
    fn end(&mut self, event: Event) {
        if self.state == State::Closed && self.used {
            return;
        }
        self.state = State::Closed;
        self.used = true;
        self.tx.stop();
        self.syn.pending = false;
        self.reply = None;
        self.time_wait = None;
        self.pace = None;
        self.events.push_back(event);
    }

    /// Sequence number of this end's stream offset.
    fn tx_seq(&self, offset: u64) -> Seq32 {
        self.iss + 1 + offset as u32
    }

    /// Sequence number of the peer's stream offset.
    fn rx_seq(&self, offset: u64) -> Seq32 {
        self.irs + 1 + offset as u32
    }

    /// A header for the segment at stream offset `offset`.
    fn header(&self, offset: u64) -> Header {
        Header {
            source_port: self.config.local_port,
            destination_port: self.config.remote_port,
            seq: self.tx_seq(offset),
            ..Header::default()
        }
    }

    /// The timestamp clock (RFC 7323 section 5.4).
    fn clock(&self, now: Instant) -> u32 {
        (now.as_nanos() / self.config.timestamp_tick.as_nanos().max(1)) as u32
    }
}

impl<P: Payload> fmt::Debug for Connection<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("state", &self.state)
            .field("tx", &self.tx)
            .field("rx", &self.rx)
            .finish_non_exhaustive()
    }
}
