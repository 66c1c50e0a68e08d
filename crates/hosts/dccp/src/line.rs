//! One connection of a port, and the connections after it where it was lost and opened again.

use crate::carry::{Over, Peer};
use crate::silence::Silence;
use bytes::Bytes;
use fairwave_dccp::{Config, Connection, Feature, Input, Packet, Standard, Stats};
use fairwave_dccp::{Unsent, Waiting};
use fairwave_machine::Machine;
use fairwave_sockets::Outgoing;
use fairwave_units::{Duration, Instant};
use fairwave_wire::dccp::{Kind, ResetCode, Seq48, Side};
use std::fmt;
use std::net::IpAddr;

/// Time for which a connection that has ended is kept, to answer packets that still arrive.
const AFTERWARDS: Duration = Duration::from_secs(2);
/// Longest time between two Requests of a connection that is opened again.
const RETRY: Duration = Duration::from_secs(2);

/// Ending of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was closed in order.
    Closed,
    /// The server closed it in order before the client did.
    ClosedEarly,
    /// The peer reset it.
    Reset(ResetCode, [u8; 3]),
    /// This end reset it, because the peer violated the protocol.
    Failed(ResetCode),
    /// The peer was silent for too long.
    TimedOut,
    /// The peer is silent, and its host refuses packets to it.
    Refused,
}

/// Datagrams of the application that were not sent, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// The send queue was full.
    pub queue_full: u64,
    /// Their deadline was over.
    pub too_old: u64,
    /// They are longer than a packet may be.
    pub too_long: u64,
    /// The connection was closing or closed.
    pub closed: u64,
}

/// Measurements of a connection so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Account {
    /// Time at which it was established.
    pub established: Option<Instant>,
    /// Time at which the first and the last application data arrived.
    pub arrived: Option<(Instant, Instant)>,
    /// Number of the peer's packets that are missing between the first and the last received one,
    /// after the handshake.
    pub missing: u64,
    /// Counters, and the state of congestion control.
    pub stats: Stats,
    /// Datagrams that were not sent.
    pub dropped: Dropped,
    /// Times that it was lost, or its address changed, and it was established again.
    pub restored: u64,
    /// Whether it was lost, or its address changed, and the peer has not answered yet. The state of
    /// congestion control in `stats` may be that of the connection before.
    pub is_reopening: bool,
    /// Largest packet of DCCP in bytes that is known to get through the path whole; `None` if it is
    /// not searched.
    pub path_size: Option<u32>,
    /// Congestion control profiles of the data from this end, and of the data to it.
    pub profiles: (u8, u8),
}

/// Options of one connection.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) now: Instant,
    pub(crate) number: Seq48,
    pub(crate) config: Config,
    pub(crate) profiles: Standard,
    pub(crate) local: Option<IpAddr>,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) connection: Connection<Bytes>,
    pub(crate) peer: Peer,
    /// Destination address of the peer's packets.
    local: Option<IpAddr>,
    pub(crate) began: Instant,
    pub(crate) established: Option<Instant>,
    arrived: Option<(Instant, Instant)>,
    /// Its progress at the end of the handshake.
    before: Option<(Seq48, u64)>,
    pub(crate) ended: Option<Instant>,
    /// The application has closed it.
    pub(crate) is_closing: bool,
    /// It was lost, and the peer has not answered the next Request.
    pub(crate) is_reopening: bool,
    /// Since the peer's last packet.
    silence: Silence,
    /// Counters of the connections before, and the packets missing in them.
    past: Option<(Stats, u64)>,
    restored: u64,
    dropped: Dropped,
    pub(crate) is_ready: bool,
    /// Room in the send queue is to be reported.
    pub(crate) wants_room: bool,
    pub(crate) armed: Option<Instant>,
}

fn connection(opening: &Opening) -> Connection<Bytes> {
    let profiles = Box::new(opening.profiles);
    Connection::new(opening.config.clone(), opening.number, profiles)
}

impl Line {
    pub(crate) fn new(opening: &Opening, peer: Peer) -> Self {
        Self {
            connection: connection(opening),
            peer,
            local: opening.local,
            began: opening.now,
            established: None,
            arrived: None,
            before: None,
            ended: None,
            is_closing: false,
            is_reopening: false,
            silence: Silence::new(opening.now),
            past: None,
            restored: 0,
            dropped: Dropped::default(),
            is_ready: false,
            wants_room: false,
            armed: None,
        }
    }

    /// The DCCP port of this end.
    pub(crate) fn port(&self) -> u16 {
        self.connection.config().local_port
    }

    /// Takes away the datagrams that wait, for a connection in the place of this one.
    pub(crate) fn take_waiting(&mut self) -> Vec<Waiting<Bytes>> {
        self.connection.take_waiting().collect()
    }

    /// Begins anew with another connection. What waits to be sent waits there.
    pub(crate) fn reopen(&mut self, mut opening: Opening, waiting: Vec<Waiting<Bytes>>) {
        let now = opening.now;
        let account = self.account();
        self.past = Some((account.stats, account.missing));
        opening.config.request_max = RETRY;
        self.connection = connection(&opening);
        self.local = opening.local;
        self.before = None;
        self.is_reopening = true;
        self.silence = Silence::new(now);
        self.connection.handle(now, Input::Open);
        for one in waiting {
            self.connection.handle(now, Input::SendBefore(one));
        }
    }

    /// Notes the end of a handshake; returns whether it is the first.
    pub(crate) fn establish(&mut self, now: Instant) -> bool {
        self.before = Some(self.progress());
        self.is_reopening = false;
        let is_first = self.established.is_none();
        self.restored += u64::from(!is_first);
        self.established.get_or_insert(now);
        is_first
    }

    pub(crate) fn note_data(&mut self, now: Instant) {
        let first = self.arrived.map_or(now, |(first, _)| first);
        self.arrived = Some((first, now));
    }

    pub(crate) const fn note_unsent(&mut self, why: Unsent) {
        let count = match why {
            Unsent::QueueFull => &mut self.dropped.queue_full,
            Unsent::TooOld => &mut self.dropped.too_old,
            Unsent::TooLong => &mut self.dropped.too_long,
            Unsent::Closed => &mut self.dropped.closed,
        };
        *count += 1;
    }

    /// Greatest sequence number received, and number of packets received.
    fn progress(&self) -> (Seq48, u64) {
        (self.connection.greatest_received(), self.connection.stats().packets_received)
    }

    /// Whether it was established and is not over.
    pub(crate) fn is_open(&self) -> bool {
        self.established.is_some() && self.ended.is_none()
    }

    /// Whether it is not over, established or not.
    pub(crate) fn is_alive(&self) -> bool {
        self.ended.is_none()
    }

    /// Whether it has been over for so long that nothing more is to be answered.
    pub(crate) fn is_forgotten(&self, now: Instant) -> bool {
        self.ended.is_some_and(|at| now >= at + AFTERWARDS)
    }

    /// Number of datagrams in the send queue; `None` if it takes no more.
    pub(crate) fn queued(&self) -> Option<usize> {
        let accepts = self.is_alive() && self.connection.accepts_data();
        accepts.then(|| self.connection.queued())
    }

    /// Hands over a packet. Only packets that the connection accepts show that the peer lives, and
    /// of these a Sync acknowledges no data (RFC 4340 section 5.7): a peer that refuses all of this
    /// end's packets answers with one.
    pub(crate) fn take(&mut self, now: Instant, packet: Packet<Bytes>) {
        let is_sync = matches!(packet.header.kind, Kind::Sync { .. });
        let (_, before) = self.progress();
        self.connection.handle(now, Input::Packet(packet));
        if self.progress().1 > before {
            self.silence.note_received(now, is_sync);
        }
    }

    pub(crate) fn poll(&mut self, now: Instant) -> Option<Packet<Bytes>> {
        let packet = self.connection.poll(now)?;
        self.silence.note_sent(now, &packet);
        Some(packet)
    }

    /// Time at which an open connection ends because its peer is silent.
    pub(crate) fn silent_at(&self) -> Option<Instant> {
        (self.is_open() && !self.is_reopening).then(|| self.silence.ends_at())
    }

    /// Reason to end the connection after an ICMP error.
    pub(crate) fn refused(&self, now: Instant) -> Option<End> {
        (self.silence.is_doubtful(now) && !self.is_reopening).then_some(End::Refused)
    }

    pub(crate) fn outgoing(&self, over: Over, packet: &Packet<Bytes>) -> Option<Outgoing> {
        let to = self.peer.address;
        let bytes = over.write(packet, self.local, to)?;
        Some(Outgoing { to, from: self.local, ecn: packet.ecn, bytes })
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        let over = self.ended.map(|at| at + AFTERWARDS);
        [over, self.connection.deadline(), self.silent_at()].into_iter().flatten().min()
    }

    pub(crate) fn account(&self) -> Account {
        let missing = self.before.map_or(0, |(first, count)| {
            let (last, received) = self.progress();
            last.distance(first).saturating_sub(received - count)
        });
        let ccid = |side| self.connection.feature(side, Feature::Ccid) as u8;
        let mut stats = self.connection.stats();
        let mut missing_before = 0;
        if let Some((past, missing)) = &self.past {
            add(&mut stats, past);
            missing_before = *missing;
        }
        Account {
            established: self.established,
            arrived: self.arrived,
            missing: missing + missing_before,
            stats,
            dropped: self.dropped,
            restored: self.restored,
            is_reopening: self.is_reopening,
            path_size: self.connection.path_size(),
            profiles: (ccid(Side::Local), ccid(Side::Remote)),
        }
    }
}

/// Adds the counters of a connection before. The state is that of the present one, once it has any.
fn add(stats: &mut Stats, past: &Stats) {
    stats.sender = stats.sender.or(past.sender);
    stats.receiver = stats.receiver.or(past.receiver);
    stats.packets_sent += past.packets_sent;
    stats.data_packets_sent += past.data_packets_sent;
    stats.data_bytes_sent += past.data_bytes_sent;
    stats.packets_received += past.packets_received;
    stats.data_packets_delivered += past.data_packets_delivered;
    stats.data_bytes_delivered += past.data_bytes_delivered;
    stats.duplicates += past.duplicates;
    stats.invalid += past.invalid;
    stats.syncs_sent += past.syncs_sent;
    stats.unsent += past.unsent;
}

impl End {
    /// Whether the peer was lost, and may come back.
    pub fn is_loss(self) -> bool {
        match self {
            Self::TimedOut | Self::Refused => true,
            Self::Reset(code, _) => code == ResetCode::NO_CONNECTION,
            Self::Closed | Self::ClosedEarly | Self::Failed(_) => false,
        }
    }
}

/// The ending in words.
impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("closed"),
            Self::ClosedEarly => f.write_str("closed early by the other end"),
            Self::Reset(code, data) => {
                write!(f, "reset by the other end: {} ({}), {data:?}", code.name(), code.0)
            }
            Self::Failed(code) => write!(f, "reset by this end: {} ({})", code.name(), code.0),
            Self::TimedOut => f.write_str("the other end is silent"),
            Self::Refused => f.write_str("the other end is silent, and its host refuses packets"),
        }
    }
}
