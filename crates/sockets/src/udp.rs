//! A UDP socket whose datagrams are stamped by the kernel when they arrive.

use crate::arrival::{self, Beside};
use crate::clock::timespec;
use fairwave_units::Duration;
use nix::sys::socket::{setsockopt, sockopt};
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

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
    beside: Beside,
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
        Ok(Self { socket, buffer: vec![0; MOST_BYTES], beside: Beside::default() })
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
        let taken = arrival::receive(&self.socket, &mut self.buffer, &mut self.beside)?;
        let Some((taken, from)) = taken.and_then(|taken| Some((taken, taken.from?))) else {
            return Ok(None);
        };
        let bytes = self.buffer[..taken.len].to_vec();
        Ok(Some(Taken { from, bytes, waited: taken.waited, dropped: taken.dropped }))
    }

    /// Hands a datagram to the kernel, which may have no room for it now.
    pub(crate) fn send(&self, to: SocketAddr, bytes: &[u8]) -> io::Result<()> {
        self.socket.send_to(bytes, to).map(|_| ())
    }

    /// Waits until there is something to take, or room to send, for at most so long.
    pub(crate) fn wait(&self, for_room: bool, most: Duration) -> io::Result<()> {
        let flags = if for_room { PollFlags::OUT } else { PollFlags::IN };
        let most = timespec(most.as_nanos());
        match poll(&mut [PollFd::new(&self.socket, flags)], Some(&most)) {
            // The caller looks at the clock in any case.
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
