//! Transport of reports from a station to its access point: in Ethernet frames, or past a router in
//! datagrams.

use crate::Error;
use fairwave_linux::{EtherSocket, link_address};
use fairwave_wire::ethernet::{self, Mac};
use fairwave_wire::seal::Key;
use fairwave_wire::soc::routed::{self, Reply, Token};
use fairwave_wire::soc::{self, Answer, KeyRefused, Session};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// Bytes of a frame or a datagram that are read.
const MAX: usize = 128;

/// Destination of reports, and sender of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// A link address; the broadcast address for any access point.
    Link(Mac),
    /// An access point behind routers.
    Address(SocketAddr),
}

impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(mac) => mac.fmt(f),
            Self::Address(address) => address.fmt(f),
        }
    }
}

/// An answer with a valid seal.
pub(crate) struct Answered {
    pub(crate) by: Listener,
    pub(crate) station: Mac,
    pub(crate) sequence: u64,
    /// Session for which the next reports are sealed.
    pub(crate) session: Session,
    /// Token that the next datagrams carry.
    pub(crate) token: Token,
}

/// A message that a station receives.
pub(crate) enum Received {
    /// With a valid seal.
    Answer(Answered),
    /// An access point refuses the key of a greeting. This has no seal.
    KeyRefused {
        by: Listener,
        notice: KeyRefused,
    },
    Other,
}

/// The path to the access point.
pub(crate) enum Path {
    Frames(EtherSocket),
    Datagrams(Datagrams),
}

pub(crate) struct Datagrams {
    socket: UdpSocket,
    to: SocketAddr,
    station: Mac,
    /// The most recent token that the access point sent to this station's address.
    token: Token,
}

impl Path {
    /// Opens the path at an interface; with `to`, by datagrams.
    pub(crate) fn open(interface: &str, to: Option<SocketAddr>) -> Result<Self, Error> {
        let Some(to) = to else {
            return Ok(Self::Frames(EtherSocket::open(interface, soc::ETHER_TYPE.number())?));
        };
        let any = match to.ip() {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let opened = UdpSocket::bind((any, 0)).and_then(|socket| {
            socket.set_nonblocking(true)?;
            Ok(socket)
        });
        let socket = opened.map_err(Error::at("socket for datagrams"))?;
        let station = Mac(link_address(interface)?);
        Ok(Self::Datagrams(Datagrams { socket, to, station, token: Token::default() }))
    }

    /// The link address that identifies the station.
    pub(crate) const fn station(&self) -> Mac {
        match self {
            Self::Frames(socket) => Mac(socket.address()),
            Self::Datagrams(Datagrams { station, .. }) => *station,
        }
    }

    /// Destination of reports while no access point answers.
    pub(crate) const fn everybody(&self) -> Listener {
        match self {
            Self::Frames(_) => Listener::Link(Mac::BROADCAST),
            Self::Datagrams(Datagrams { to, .. }) => Listener::Address(*to),
        }
    }

    /// Destination of reports after the radio has associated with this access point.
    pub(crate) const fn associated(&self, with: Mac) -> Listener {
        match self {
            Self::Frames(_) => Listener::Link(with),
            Self::Datagrams(Datagrams { to, .. }) => Listener::Address(*to),
        }
    }

    /// Stores the token of a new answer.
    pub(crate) const fn accept(&mut self, answer: &Answered) {
        if let Self::Datagrams(path) = self {
            path.token = answer.token;
        }
    }

    /// Sends a report or a greeting. Returns `false` if it is lost, such as while there is no
    /// route.
    pub(crate) fn send(&self, report: &[u8], to: Listener) -> io::Result<bool> {
        match (self, to) {
            (Self::Frames(socket), Listener::Link(to)) => {
                socket.send(&soc::frame(self.station(), to, report))
            }
            (Self::Datagrams(Datagrams { socket, token, .. }), Listener::Address(to)) => {
                // Datagrams have sealed reports alone.
                let Some(report) = report.first_chunk() else { return Ok(false) };
                Ok(socket.send_to(&routed::datagram(report, *token), to).is_ok())
            }
            // Answers arrive by the path's own kind of transport only.
            (Self::Frames(_), Listener::Address(_)) | (Self::Datagrams(_), Listener::Link(_)) => {
                Ok(false)
            }
        }
    }

    /// Receives a message that waits; `None` if nothing waits. Without a key none is an answer.
    pub(crate) fn receive(&mut self, key: Option<&Key>) -> io::Result<Option<Received>> {
        let mut bytes = [0; MAX];
        match self {
            Self::Frames(socket) => {
                let Some(length) = socket.receive(&mut bytes)? else { return Ok(None) };
                Ok(Some(received_in(&bytes[..length.min(MAX)], key)))
            }
            Self::Datagrams(path) => path.receive(&mut bytes, key),
        }
    }
}

impl AsFd for Path {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Frames(socket) => socket.as_fd(),
            Self::Datagrams(path) => path.socket.as_fd(),
        }
    }
}

impl Datagrams {
    fn receive(&self, bytes: &mut [u8], key: Option<&Key>) -> io::Result<Option<Received>> {
        let (length, from) = match self.socket.recv_from(bytes) {
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(None),
            Err(error) => return Err(error),
        };
        let (bytes, by) = (&bytes[..length], Listener::Address(from));
        if from != self.to {
            return Ok(Some(Received::Other));
        }
        let Some(Ok(reply)) = key.map(|key| Reply::open(bytes, key)) else {
            return Ok(Some(refused_in(bytes, by)));
        };
        let Reply { station, sequence, session, token, .. } = reply;
        Ok(Some(Received::Answer(Answered { by, station, sequence, session, token })))
    }
}

fn received_in(frame: &[u8], key: Option<&Key>) -> Received {
    let Ok((header, payload)) = ethernet::parse(frame) else { return Received::Other };
    let (by, token) = (Listener::Link(header.source), Token::default());
    let Some(Ok(answer)) = key.map(|key| Answer::open(payload, key)) else {
        return refused_in(payload, by);
    };
    let Answer { station, sequence, session } = answer;
    Received::Answer(Answered { by, station, sequence, session, token })
}

fn refused_in(payload: &[u8], by: Listener) -> Received {
    let notice = KeyRefused::parse(payload);
    notice.map_or(Received::Other, |notice| Received::KeyRefused { by, notice })
}
