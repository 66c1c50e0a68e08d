//! Linux's own DCCP sockets, up to 6.15: the reference for ours (`cargo xtask vm dccp`).
//!
//! Numbers and structures are those of `linux/dccp.h` and `linux/tfrc.h`.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType,
    acceptfrom_with, bind, connect, listen, recv, send, shutdown, socket_with,
};
use std::ffi::c_int;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZero;
use std::os::fd::{AsFd, OwnedFd};

use fairwave_linux::clock::timespec;
use fairwave_units::Duration;

/// `SOCK_DCCP`, and the protocol's number.
const SOCK_DCCP: u32 = 6;
const PROTOCOL: NonZero<u32> = NonZero::new(33).expect("33 is not zero");
/// `SOL_DCCP` and its options.
const SOL_DCCP: c_int = 269;
const SERVICE: c_int = 2;
const CCID: c_int = 13;
const TX_CCID: c_int = 14;
const RX_CCID: c_int = 15;
const CCID_RX_INFO: c_int = 128;
const CCID_TX_INFO: c_int = 192;

/// State of the kernel's CCID 3 sender (`struct tfrc_tx_info`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderInfo {
    /// Allowed sending rate X in bytes per second.
    pub rate: f64,
    /// Receive rate X_recv in bytes per second.
    pub receive_rate: f64,
    /// Rate of the throughput equation in bytes per second; zero before the first loss.
    pub computed_rate: f64,
    /// Round-trip time in seconds.
    pub rtt: f64,
    /// Loss event rate p.
    pub loss_event_rate: f64,
}

/// State of the kernel's CCID 3 receiver (`struct tfrc_rx_info`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReceiverInfo {
    /// Receive rate X_recv in bytes per second.
    pub receive_rate: f64,
    /// Round-trip time in seconds.
    pub rtt: f64,
    /// Loss event rate p; zero before the first loss.
    pub loss_event_rate: f64,
}

/// A socket of the kernel's DCCP.
#[derive(Debug)]
pub struct LinuxSocket {
    socket: OwnedFd,
}

impl LinuxSocket {
    /// Opens a socket of an address family, with the same congestion control profile in both
    /// directions.
    ///
    /// # Errors
    /// If the kernel lacks DCCP, or this profile.
    pub fn new(is_six: bool, ccid: u8, service: u32) -> io::Result<Self> {
        let family = if is_six { AddressFamily::INET6 } else { AddressFamily::INET };
        let (kind, protocol) = (SocketType::from_raw(SOCK_DCCP), Protocol::from_raw(PROTOCOL));
        let socket = socket_with(family, kind, SocketFlags::CLOEXEC, Some(protocol))?;
        let it = Self { socket };
        it.set(SERVICE, &service.to_be_bytes())?;
        it.set(CCID, &[ccid])?;
        Ok(it)
    }

    fn set(&self, name: c_int, value: &[u8]) -> io::Result<()> {
        fairwave_linux::kernel::datagrams::set_option(self.socket.as_fd(), SOL_DCCP, name, value)
    }

    fn get<const N: usize>(&self, name: c_int) -> io::Result<[u8; N]> {
        let mut value = [0; N];
        match fairwave_linux::kernel::datagrams::option(
            self.socket.as_fd(),
            SOL_DCCP,
            name,
            &mut value,
        )? {
            len if len == N => Ok(value),
            len => Err(io::Error::other(format!("option {name} has {len} bytes, not {N}"))),
        }
    }

    /// Connects.
    ///
    /// # Errors
    /// If the peer refuses or does not answer.
    pub fn connect(&self, to: SocketAddr) -> io::Result<()> {
        Ok(connect(&self.socket, &to)?)
    }

    /// Waits at a port for one connection.
    ///
    /// # Errors
    /// If the port is not available.
    pub fn accept(&self, port: u16, is_six: bool, ready: impl FnOnce()) -> io::Result<Self> {
        let any = match is_six {
            true => SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
            false => SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
        };
        bind(&self.socket, &any)?;
        listen(&self.socket, 1)?;
        ready();
        let (socket, _) = acceptfrom_with(&self.socket, SocketFlags::CLOEXEC)?;
        Ok(Self { socket })
    }

    /// Congestion control profiles of the data from this end, and of the data to it.
    ///
    /// # Errors
    /// If the kernel does not report them.
    pub fn profiles(&self) -> io::Result<(u8, u8)> {
        let one = |name| self.get::<4>(name).map(|bytes| bytes[0]);
        Ok((one(TX_CCID)?, one(RX_CCID)?))
    }

    /// Passes a datagram to the kernel; `false` if its queue is full.
    ///
    /// # Errors
    /// If the connection is over.
    pub fn send(&self, data: &[u8]) -> io::Result<bool> {
        match send(&self.socket, data, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(_) => Ok(true),
            Err(rustix::io::Errno::AGAIN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for a datagram, for at most `most`. Returns its length; `Some(None)` if none arrived,
    /// `None` if the connection has ended.
    ///
    /// # Errors
    /// If the connection was reset.
    pub fn receive(&self, buffer: &mut [u8], max: Duration) -> io::Result<Option<Option<usize>>> {
        let mut waiting = [PollFd::new(&self.socket, PollFlags::IN)];
        match poll(&mut waiting, Some(&timespec(max.as_nanos()))) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Some(None)),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        match recv(&self.socket, buffer, RecvFlags::DONTWAIT) {
            Ok((0, _)) => Ok(None),
            Ok((len, _)) => Ok(Some(Some(len))),
            Err(rustix::io::Errno::AGAIN) => Ok(Some(None)),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends sending.
    ///
    /// # Errors
    /// If the connection has already ended.
    pub fn shutdown(&self) -> io::Result<()> {
        Ok(shutdown(&self.socket, Shutdown::Both)?)
    }

    /// State of the sender.
    ///
    /// # Errors
    /// If the profile is not CCID 3.
    pub fn sender_info(&self) -> io::Result<SenderInfo> {
        let bytes = self.get::<40>(CCID_TX_INFO)?;
        let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight"));
        let int = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four"));
        Ok(SenderInfo {
            // The 64-bit rates are in units of 1/64 byte per second.
            rate: long(0) as f64 / 64.0,
            receive_rate: long(8) as f64 / 64.0,
            computed_rate: f64::from(int(16)),
            rtt: f64::from(int(20)) / 1e6,
            loss_event_rate: f64::from(int(24)) / 1e6,
        })
    }

    /// State of the receiver.
    ///
    /// # Errors
    /// If the profile is not CCID 3.
    pub fn receiver_info(&self) -> io::Result<ReceiverInfo> {
        let bytes = self.get::<12>(CCID_RX_INFO)?;
        let int = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four"));
        let p = int(8);
        Ok(ReceiverInfo {
            receive_rate: f64::from(int(0)),
            rtt: f64::from(int(4)) / 1e6,
            loss_event_rate: if p == u32::MAX { 0.0 } else { f64::from(p) / 1e6 },
        })
    }
}
