//! The application's side of a relay: UDP, with RTCP on the same port or on the next one.

use fairwave_console::Failure;
use fairwave_wire::rtp::{Header, Remb, is_rtcp};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket as StdSocket};
use tokio::net::UdpSocket;

/// Longest datagram of UDP.
const MAX_BYTES: usize = 1 << 16;
/// Packets of RTP in the order of their numbers after which a payload counts as RTP.
const IN_ORDER: u8 = 3;
/// SSRC of the relay's own feedback.
const OWN_SSRC: u32 = 1;

/// Sockets that are open, one for media, and one for RTCP if it has a port of its own.
#[derive(Debug)]
pub(crate) struct Bound(pub(crate) Vec<(StdSocket, Option<SocketAddr>)>);

impl Bound {
    /// Sockets to which an application sends.
    ///
    /// # Errors
    /// If the address is in use, or not one of this host.
    pub(crate) fn listening(at: SocketAddr, with_rtcp: bool) -> Result<Self, Failure> {
        let bound = |at: SocketAddr| {
            let why = |error| {
                let remedy = "does another program use it, or is the address another host's?";
                Failure::Run(format!("--from udp:{at}: {error}; {remedy}"))
            };
            StdSocket::bind(at).map(|socket| (socket, None)).map_err(why)
        };
        legs(at, with_rtcp)?.into_iter().map(bound).collect::<Result<_, _>>().map(Self)
    }

    /// Sockets that send to an application.
    ///
    /// # Errors
    /// If the kernel has no socket of this family.
    pub(crate) fn towards(to: SocketAddr, with_rtcp: bool) -> Result<Self, Failure> {
        let any = match to.ip() {
            IpAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let bound = |to: SocketAddr| {
            let socket = StdSocket::bind(SocketAddr::new(any, 0));
            socket
                .map(|socket| (socket, Some(to)))
                .map_err(|error| Failure::Run(format!("--to udp:{to}: {error}")))
        };
        legs(to, with_rtcp)?.into_iter().map(bound).collect::<Result<_, _>>().map(Self)
    }
}

/// The port of the media, and the next one if RTCP is there.
fn legs(at: SocketAddr, with_rtcp: bool) -> Result<Vec<SocketAddr>, Failure> {
    if !with_rtcp {
        return Ok(vec![at]);
    }
    let next = at.port().checked_add(1).ok_or_else(|| {
        Failure::Usage("--rtcp: there is no port behind 65535; choose a lower one".to_owned())
    })?;
    Ok(vec![at, SocketAddr::new(at.ip(), next)])
}

/// One socket of the application's side.
#[derive(Debug)]
struct Leg {
    socket: UdpSocket,
    /// The application's address, where the user stated it.
    stated: Option<SocketAddr>,
    /// Sender of the last datagram.
    last: Option<SocketAddr>,
}

impl Leg {
    fn application(&self) -> Option<SocketAddr> {
        self.stated.or(self.last)
    }
}

/// The application's side of a relay.
#[derive(Debug)]
pub(crate) struct Application {
    legs: Vec<Leg>,
    buffer: Vec<u8>,
    stream: Stream,
}

impl Application {
    /// Takes over the sockets, within a runtime.
    ///
    /// # Errors
    /// If the runtime does not take them.
    pub(crate) fn new(bound: Bound) -> io::Result<Self> {
        let leg = |(socket, stated): (StdSocket, Option<SocketAddr>)| {
            socket.set_nonblocking(true)?;
            Ok(Leg { socket: UdpSocket::from_std(socket)?, stated, last: None })
        };
        let legs = bound.0.into_iter().map(leg).collect::<io::Result<Vec<_>>>()?;
        Ok(Self { legs, buffer: vec![0; MAX_BYTES], stream: Stream::default() })
    }

    /// Waits until there may be a datagram to take.
    pub(crate) async fn readable(&self) {
        match &self.legs[..] {
            [one] => drop(one.socket.readable().await),
            [one, other, ..] => tokio::select! {
                _ = one.socket.readable() => {}
                _ = other.socket.readable() => {}
            },
            [] => std::future::pending().await,
        }
    }

    /// Takes a datagram of the application, if there is one.
    pub(crate) fn take(&mut self) -> Option<&[u8]> {
        for (number, leg) in self.legs.iter_mut().enumerate() {
            let Ok((len, from)) = leg.socket.try_recv_from(&mut self.buffer) else { continue };
            if leg.stated.is_some_and(|stated| stated.ip() != from.ip()) {
                continue;
            }
            leg.last = Some(from);
            let data = &self.buffer[..len];
            if number == 0 {
                self.stream.note(data);
            }
            return Some(data);
        }
        None
    }

    /// Sends a datagram to the application. RTCP goes to its port if there is one.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotConnected`] if its address is unknown, or the kernel's error.
    pub(crate) fn deliver(&self, data: &[u8]) -> io::Result<()> {
        let place = usize::from(is_rtcp(data)).min(self.legs.len() - 1);
        let leg = &self.legs[place];
        let to = leg.application().ok_or(io::ErrorKind::NotConnected)?;
        leg.socket.try_send_to(data, to).map(drop)
    }

    /// Tells the application its rate, if it sends RTP.
    pub(crate) fn limit(&self, bps: u64) {
        let Some(media_ssrc) = self.stream.ssrc() else { return };
        let remb = Remb { sender_ssrc: OWN_SSRC, media_ssrc, bps };
        let to = self.legs.iter().rev().find(|leg| leg.application().is_some());
        if let Some((leg, to)) = to.and_then(|leg| Some((leg, leg.application()?))) {
            // The next one comes soon.
            let _ = leg.socket.try_send_to(&remb.bytes(), to);
        }
    }
}

/// Whether a payload is RTP, and its source.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    latest: Option<(u32, u16)>,
    in_order: u8,
}

impl Stream {
    fn note(&mut self, data: &[u8]) {
        // RTCP may be on the same port.
        if is_rtcp(data) {
            return;
        }
        let Ok((header, _)) = Header::parse(data) else {
            *self = Self::default();
            return;
        };
        let follows = |(ssrc, number): (u32, u16)| {
            ssrc == header.ssrc && header.sequence == number.wrapping_add(1)
        };
        match self.latest {
            Some(latest) if follows(latest) => self.in_order = (self.in_order + 1).min(IN_ORDER),
            // A packet that is missing or late is no other stream.
            Some((ssrc, _)) if ssrc == header.ssrc => {}
            _ => self.in_order = 1,
        }
        self.latest = Some((header.ssrc, header.sequence));
    }

    fn ssrc(self) -> Option<u32> {
        self.latest.filter(|_| self.in_order >= IN_ORDER).map(|(ssrc, _)| ssrc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rtp(ssrc: u32, sequence: u16) -> Vec<u8> {
        let header = Header {
            payload_type: 96,
            marker: false,
            sequence,
            timestamp: 0,
            ssrc,
            transport_sequence: None,
        };
        [&header.bytes()[..], b"media"].concat()
    }

    #[test]
    fn packets_in_order_are_rtp_and_other_bytes_are_not() {
        let mut stream = Stream::default();
        for number in [65_534, 65_535] {
            stream.note(&rtp(7, number));
            assert_eq!(stream.ssrc(), None);
        }
        stream.note(&rtp(7, 0));
        assert_eq!(stream.ssrc(), Some(7));
        stream.note(&rtp(7, 5));
        assert_eq!(stream.ssrc(), Some(7), "four packets were lost");
        let remb = Remb { sender_ssrc: 1, media_ssrc: 7, bps: 1 };
        stream.note(&remb.bytes());
        assert_eq!(stream.ssrc(), Some(7), "RTCP of the same port");
        stream.note(b"no media");
        assert_eq!(stream.ssrc(), None);
    }
}
