//! A UDP socket whose datagrams are stamped by the kernel when they arrive.

use crate::clock;
use fairwave_units::Duration;
use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt,
};
use nix::sys::time::TimeSpec;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

/// Bytes of both of the socket's buffers that are asked for; the kernel gives at most what
/// `net.core.rmem_max` and `net.core.wmem_max` allow.
const BUFFER_BYTES: usize = 4 << 20;
/// Largest payload of a datagram.
const MOST_BYTES: usize = 65_535;

/// A socket that never blocks.
#[derive(Debug)]
pub struct Udp {
    socket: UdpSocket,
    buffer: Vec<u8>,
    beside: Vec<u8>,
}

/// A datagram that was taken from the socket.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) from: SocketAddr,
    pub(crate) bytes: Vec<u8>,
    /// How long it waited in the socket.
    pub(crate) waited: Duration,
    /// Datagrams that found no room in the socket's buffer since the socket was opened.
    pub(crate) dropped: Option<u32>,
}

impl Udp {
    /// A socket at an address. Port 0 lets the kernel choose one.
    ///
    /// # Errors
    /// Whatever the kernel refuses, such as an address in use.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        setsockopt(&socket, sockopt::RxqOvfl, &1)?;
        // A kernel that gives less than was asked for says nothing.
        setsockopt(&socket, sockopt::RcvBuf, &BUFFER_BYTES)?;
        setsockopt(&socket, sockopt::SndBuf, &BUFFER_BYTES)?;
        let beside = nix::cmsg_space!(TimeSpec, u32);
        Ok(Self { socket, buffer: vec![0; MOST_BYTES], beside })
    }

    /// A socket that speaks with one peer alone, from an address of the same family. The kernel
    /// drops what comes from others, and says when nobody listens at the peer's port.
    ///
    /// # Errors
    /// If there is no route to the peer, or no socket is to be had.
    pub fn connect(peer: SocketAddr) -> io::Result<Self> {
        let any = match peer.ip() {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let udp = Self::bind(SocketAddr::new(any, 0))?;
        udp.socket.connect(peer)?;
        Ok(udp)
    }

    /// Its own address, with the port that the kernel chose.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The address from which the kernel sends to a peer now, with any port.
    ///
    /// # Errors
    /// If there is no way to the peer.
    pub(crate) fn source(peer: SocketAddr) -> io::Result<IpAddr> {
        Ok(Self::connect(peer)?.address()?.ip())
    }

    /// Takes a datagram; `None` if there is none.
    pub(crate) fn receive(&mut self) -> io::Result<Option<Taken>> {
        let mut parts = [IoSliceMut::new(&mut self.buffer)];
        let (socket, flags) = (self.socket.as_raw_fd(), MsgFlags::MSG_DONTWAIT);
        let taken = recvmsg::<SockaddrStorage>(socket, &mut parts, Some(&mut self.beside), flags);
        let message = match taken {
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
            taken => taken?,
        };
        let (mut waited, mut dropped) = (Duration::ZERO, None);
        for told in message.cmsgs()? {
            match told {
                ControlMessageOwned::ScmTimestampns(stamp) => waited = since(&stamp),
                ControlMessageOwned::RxqOvfl(count) => dropped = Some(count),
                _ => {}
            }
        }
        let (from, len) = (message.address.as_ref().and_then(peer), message.bytes);
        let Some(from) = from else { return Ok(None) };
        Ok(Some(Taken { from, bytes: self.buffer[..len].to_vec(), waited, dropped }))
    }

    /// Hands a datagram to the kernel, which may have no room for it now.
    pub(crate) fn send(&self, to: SocketAddr, bytes: &[u8]) -> io::Result<()> {
        self.socket.send_to(bytes, to).map(|_| ())
    }

    /// Waits until there is something to take, or room to send, for at most so long.
    pub(crate) fn wait(&self, for_room: bool, most: Duration) -> io::Result<()> {
        let flags = if for_room { PollFlags::OUT } else { PollFlags::IN };
        let nanos = most.as_nanos();
        let most = Timespec {
            tv_sec: i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: (nanos % 1_000_000_000) as _,
        };
        match poll(&mut [PollFd::new(&self.socket, flags)], Some(&most)) {
            // The caller looks at the clock in any case.
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// How long ago the kernel's stamp was set. If the wall clock was set back meanwhile, the
/// datagram counts as just arrived.
fn since(stamp: &TimeSpec) -> Duration {
    let arrived_ns = stamp.tv_sec() as u64 * 1_000_000_000 + stamp.tv_nsec() as u64;
    Duration::from_nanos(clock::wall_ns().saturating_sub(arrived_ns))
}

fn peer(address: &SockaddrStorage) -> Option<SocketAddr> {
    let four = address.as_sockaddr_in().map(|four| SocketAddr::V4((*four).into()));
    four.or_else(|| address.as_sockaddr_in6().map(|six| SocketAddr::V6((*six).into())))
}
