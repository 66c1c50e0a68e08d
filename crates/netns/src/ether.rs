//! Frames of one EtherType at one interface, for protocols that run below IP.

use crate::Error;
use crate::kernel::ether_socket;
use crate::netlink::Netlink;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A socket for frames of one EtherType. Each has its Ethernet header before it. Reads and writes
/// do not block.
#[derive(Debug)]
pub struct EtherSocket {
    fd: OwnedFd,
    address: [u8; 6],
}

impl EtherSocket {
    /// Opens a socket at an interface of the calling thread's network namespace.
    ///
    /// # Errors
    /// Where there is no such interface, it has no link address, or the user may not (CAP_NET_RAW).
    pub fn open(interface: &str, ether_type: u16) -> Result<Self, Error> {
        let opened = || -> io::Result<Self> {
            let mut netlink = Netlink::open()?;
            let index = netlink.index(interface)?;
            let address = netlink.link_address(index)?;
            Ok(Self { fd: ether_socket(index, ether_type)?, address })
        };
        opened().map_err(Error::at(format!("interface `{interface}`")))
    }

    /// The link address of the interface.
    pub const fn address(&self) -> [u8; 6] {
        self.address
    }

    /// Reads one frame; returns its length, or `None` where none waits. What does not fit is cut
    /// off.
    ///
    /// # Errors
    /// If the interface has been deleted.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match recv(&self.fd, buffer, RecvFlags::empty()) {
            Ok((_, length)) => Ok(Some(length)),
            // The latter is said once when the interface goes down.
            Err(Errno::AGAIN | Errno::INTR | Errno::NETDOWN) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Sends one frame. Returns `false` where it is lost, as the interface is down or has no room.
    ///
    /// # Errors
    /// If the interface has been deleted.
    pub fn send(&self, frame: &[u8]) -> io::Result<bool> {
        match send(&self.fd, frame, SendFlags::empty()) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS | Errno::NETDOWN) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl AsFd for EtherSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
