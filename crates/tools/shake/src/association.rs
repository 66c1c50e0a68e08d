//! SOCKS5's UDP ASSOCIATE (RFC 1928 section 7): datagrams of applications beside their streams.
//!
//! An association is a stream whose request names, in place of an address, the number of its flow
//! (as an IPv4 address) and the time in milliseconds after which a datagram is of no use (as the
//! port). It lasts as long as the stream. The session's datagrams of this flow have SOCKS5's head
//! of a datagram, which names the target or the sender, and the payload.

use crate::limits::Limits;
use crate::names::Names;
use crate::socks::{accept, is_allowed, refuse, request};
use bytes::Bytes;
use fairwave_shake_host::{Session, Stream};
use fairwave_units::Duration;
use fast_socks5::server::{Socks5ServerProtocol, states::CommandRead};
use fast_socks5::util::target_addr::TargetAddr;
use fast_socks5::{ReplyError, consts, new_udp_header, parse_udp_request};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

/// Associations of a client at a time.
const MAX_ASSOCIATIONS: usize = 256;
/// Targets of one association. Only targets may answer.
const MAX_TARGETS: usize = 256;
/// Time without a datagram after which an association ends (RFC 4787 section 4.3).
const IDLE: time::Duration = time::Duration::from_secs(300);
/// Longest datagram of UDP.
const MAX_LEN: usize = 1 << 16;

/// The associations of a client.
#[derive(Debug)]
pub(crate) struct Associations {
    places: Semaphore,
    next: Cell<u32>,
    /// Time after which a datagram is of no use.
    lifetime: Duration,
}

impl Associations {
    pub(crate) fn new(lifetime: Duration) -> Self {
        Self { places: Semaphore::new(MAX_ASSOCIATIONS), next: Cell::new(0), lifetime }
    }

    /// An association's address in the tunnel, and its flow.
    fn next_flow(&self) -> (u32, TargetAddr) {
        let flow = self.next.get();
        self.next.set(flow.wrapping_add(1));
        let ms = self.lifetime.as_millis().try_into().unwrap_or(u16::MAX);
        (flow, TargetAddr::Ip(SocketAddr::from((Ipv4Addr::from(flow), ms))))
    }
}

fn idle_at() -> Instant {
    Instant::now() + IDLE
}

/// Waits until a peer has closed its stream; its bytes have no meaning.
async fn closed(stream: &mut (impl AsyncRead + Unpin)) {
    let mut bytes = [0; 64];
    while stream.read(&mut bytes).await.is_ok_and(|len| len > 0) {}
}

/// The client's end: gives an application a port for its datagrams, until the application closes
/// `socks`, whose addresses are `own` and `application`.
///
/// # Errors
/// If there is no place for it here or at the other end, or a socket or one of the two connections
/// fails.
pub(crate) async fn offer(
    socks: Socks5ServerProtocol<TcpStream, CommandRead>,
    [own, application]: [SocketAddr; 2],
    session: Session,
    stream: Stream,
    all: &Associations,
) -> io::Result<()> {
    let Ok(_place) = all.places.try_acquire() else {
        return refuse(socks, ReplyError::GeneralFailure).await;
    };
    let (flow, address) = all.next_flow();
    let mut stream = match request(stream, consts::SOCKS5_CMD_UDP_ASSOCIATE, &address).await {
        Ok(stream) => stream,
        Err(why) => return refuse(socks, why).await,
    };
    let socket = UdpSocket::bind((own.ip(), 0)).await?;
    let at = socket.local_addr()?;
    // A socket of both families has IPv4's addresses in IPv6's form.
    let at = SocketAddr::new(at.ip().to_canonical(), at.port());
    let mut control = socks.reply_success(at).await.map_err(io::Error::other)?;
    let (mut sender, mut idle) = (None, idle_at());
    let mut buffer = vec![0; MAX_LEN];
    loop {
        tokio::select! {
            got = socket.recv_from(&mut buffer) => {
                let (len, from) = got?;
                // Other programs of the host, and other hosts, are not the application.
                if from.ip() == application.ip() && *sender.get_or_insert(from) == from {
                    idle = idle_at();
                    let datagram = Bytes::copy_from_slice(&buffer[..len]);
                    // One that is too long is lost, as on a link with a small MTU, and counted.
                    let _ = session.send_datagram(flow, datagram, all.lifetime);
                }
            }
            got = session.receive_datagram(flow) => {
                let datagram = got.map_err(io::Error::other)?;
                if let Some(sender) = sender {
                    idle = idle_at();
                    // An application that has closed its port gets nothing.
                    let _ = socket.send_to(&datagram, sender).await;
                }
            }
            () = closed(&mut control) => return Ok(()),
            () = closed(&mut stream) => return Ok(()),
            () = sleep_until(idle) => return Ok(()),
        }
    }
}

/// The server's sockets of an association, and the targets that may answer.
struct Relay<'a> {
    limits: &'a Limits,
    four: UdpSocket,
    /// `None` on a host without IPv6.
    six: Option<UdpSocket>,
    targets: BTreeSet<SocketAddr>,
}

impl Relay<'_> {
    /// Sends a datagram of the client to its target, if that is named whole: now, or when the
    /// address of its name is found.
    async fn take(&mut self, datagram: &Bytes, names: &mut Names) {
        let Ok((0, target, payload)) = parse_udp_request(datagram).await else { return };
        let to = match target {
            TargetAddr::Ip(address) => {
                Some(SocketAddr::new(address.ip().to_canonical(), address.port()))
            }
            TargetAddr::Domain(name, port) => {
                names.find(Instant::now(), (name, port), datagram.slice_ref(payload))
            }
        };
        if let Some(to) = to {
            self.send(to, payload).await;
        }
    }

    fn allows(&self, target: &SocketAddr) -> bool {
        is_allowed(target.ip(), &self.limits.allow)
    }

    /// Sends a payload to a target, if that is allowed.
    async fn send(&mut self, to: SocketAddr, payload: &[u8]) {
        let is_new = !self.targets.contains(&to);
        if !self.allows(&to) || (is_new && self.targets.len() >= MAX_TARGETS) {
            return;
        }
        let socket = if to.is_ipv4() { Some(&self.four) } else { self.six.as_ref() };
        if let Some(socket) = socket {
            self.targets.insert(to);
            // A target that cannot be reached answers nothing.
            let _ = socket.send_to(payload, to).await;
        }
    }

    /// Waits for an answer; returns it behind SOCKS5's head.
    async fn receive(&self, buffers: &mut [Vec<u8>; 2]) -> io::Result<Option<Bytes>> {
        let [four, six] = buffers;
        let of_six = async {
            match &self.six {
                Some(socket) => socket.recv_from(six).await,
                None => std::future::pending().await,
            }
        };
        let (got, is_six) = tokio::select! {
            got = self.four.recv_from(four) => (got, false),
            got = of_six => (got, true),
        };
        // An error is that of a datagram before, such as a closed port.
        let Ok((len, from)) = got else { return Ok(None) };
        if !self.targets.contains(&from) {
            return Ok(None);
        }
        let mut datagram = new_udp_header(from).map_err(io::Error::other)?;
        let [four, six] = buffers;
        datagram.extend_from_slice(if is_six { &six[..len] } else { &four[..len] });
        Ok(Some(datagram.into()))
    }
}

/// The server's end: sends the datagrams of the flow that `address` names to their targets, if
/// these are allowed, and returns the answers.
///
/// # Errors
/// If there is no place or no socket, or the stream fails.
pub(crate) async fn relay(
    socks: Socks5ServerProtocol<Stream, CommandRead>,
    address: &TargetAddr,
    session: &Session,
    limits: &Limits,
) -> io::Result<()> {
    let place = limits.associations.try_take(session.number());
    let (Some(_place), TargetAddr::Ip(SocketAddr::V4(address))) = (place, address) else {
        return refuse(socks, ReplyError::GeneralFailure).await;
    };
    let (flow, lifetime) = (u32::from(*address.ip()), Duration::from_millis(address.port().into()));
    let Ok(four) = UdpSocket::bind((IpAddr::from(Ipv4Addr::UNSPECIFIED), 0)).await else {
        return refuse(socks, ReplyError::GeneralFailure).await;
    };
    let mut relay = Relay {
        limits,
        four,
        six: UdpSocket::bind((IpAddr::from(Ipv6Addr::UNSPECIFIED), 0)).await.ok(),
        targets: BTreeSet::new(),
    };
    let mut names = Names::new(session.number(), Arc::clone(&limits.resolvers));
    let own = relay.four.local_addr()?;
    let mut stream = accept(socks, own).await?;
    let mut buffers = [vec![0; MAX_LEN], vec![0; MAX_LEN]];
    let mut idle = idle_at();
    loop {
        tokio::select! {
            got = session.receive_datagram(flow) => {
                idle = idle_at();
                relay.take(&got.map_err(io::Error::other)?, &mut names).await;
            }
            (to, waiting) = names.found(|address| relay.allows(address)) => {
                for payload in &waiting {
                    relay.send(to, payload).await;
                }
            }
            answer = relay.receive(&mut buffers) => {
                if let Some(datagram) = answer? {
                    idle = idle_at();
                    // One that is too long is lost, as on a link with a small MTU, and counted.
                    let _ = session.send_datagram(flow, datagram, lifetime);
                }
            }
            () = closed(&mut stream) => return Ok(()),
            () = sleep_until(idle) => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Waker};

    #[test]
    fn a_name_that_is_looked_up_does_not_stop_the_association() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let limits = Limits::new(&[]);
            let mut relay = Relay {
                limits: &limits,
                four: UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap(),
                six: None,
                targets: BTreeSet::new(),
            };
            let mut names = Names::new(0, Arc::clone(&limits.resolvers));
            let head = [&[0, 0, 0, consts::SOCKS5_ADDR_TYPE_DOMAIN_NAME, 9][..], b"localhost"];
            let datagram = Bytes::from([&head.concat()[..], &[0, 53, 1]].concat());
            let mut taken = std::pin::pin!(relay.take(&datagram, &mut names));
            let polled = taken.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_ready());
        });
    }
}
