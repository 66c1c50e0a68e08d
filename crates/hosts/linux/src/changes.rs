//! Notifications that links, addresses or routes of a network namespace have changed (rtnetlink).

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Multicast groups of `linux/rtnetlink.h`: links, and addresses and routes of either version.
const GROUPS: u32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400;
/// Bytes of one read.
const READ: usize = 8 * 1024;

/// A socket that becomes readable when a link, an address or a route changes. It belongs to the
/// network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Changes {
    socket: OwnedFd,
}

impl Changes {
    /// Opens the socket, which does not block.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        // NETLINK_ROUTE is protocol 0, the default.
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
        Ok(Self { socket })
    }

    /// Takes all notifications; returns whether there were any. The state itself is to be read
    /// afterwards, as a kernel that is short of memory drops notifications.
    pub fn take(&self) -> bool {
        let (mut any, mut buffer) = (false, [0; READ]);
        loop {
            match recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Ok(_) | Err(Errno::NOBUFS) => any = true,
                Err(Errno::INTR) => {}
                Err(_) => return any,
            }
        }
    }
}

impl AsRawFd for Changes {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}
