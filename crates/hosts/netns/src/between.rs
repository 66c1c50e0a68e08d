//! Two real interfaces, for a bridge between them.

use crate::Error;
use fairwave_linux::error::{Lack, Missing};
use fairwave_linux::kernel::packet_socket;
use fairwave_linux::netlink::Netlink;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A socket that takes every frame that arrives at an interface, and sends frames by it.
///
/// Each frame has the virtio header of [`VNET_HEADER_LENGTH`](crate::VNET_HEADER_LENGTH) before
/// it, and then its Ethernet header. A VLAN tag that the interface takes off is not seen.
#[derive(Debug)]
pub struct FrameSocket {
    fd: OwnedFd,
    interface: String,
}

impl FrameSocket {
    /// Opens a socket at an interface of the calling thread's network namespace. The interface is
    /// promiscuous for as long as the socket exists. Frames that the machine itself sends by the
    /// interface are not seen. Reads and writes do not block.
    ///
    /// # Errors
    ///
    /// If there is no such interface, or the user may not.
    pub fn open(interface: &str) -> Result<Self, Error> {
        let step = format!("interface `{interface}`");
        let index = Netlink::open()
            .and_then(|netlink| netlink.index(interface))
            .map_err(Error::at(step.clone()))?;
        let fd = packet_socket(index).map_err(|error| refused(error, step))?;
        Ok(Self { fd, interface: interface.to_owned() })
    }

    /// Reads one frame with its virtio header. Returns its bytes, or `None` where none waits. A
    /// frame can have 64 KiB, as the interface may have joined several; one that does not fit is
    /// cut.
    ///
    /// # Errors
    ///
    /// [`Error::Vanished`] where the interface has been deleted.
    pub fn receive(&self, buffer: &mut [u8]) -> Result<Option<usize>, Error> {
        match recv(&self.fd, buffer, RecvFlags::empty()) {
            Ok((_, length)) => Ok(Some(length)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            // Said once when the interface goes down or is deleted.
            Err(Errno::NETDOWN) => self.check().map(|()| None),
            Err(errno) => Err(self.broken("read", errno)),
        }
    }

    /// Writes one frame with its virtio header. Returns `false` where the frame is lost because the
    /// interface is down or has no room.
    ///
    /// # Errors
    ///
    /// [`Error::Vanished`] where the interface has been deleted; [`Error::Kernel`] where the frame
    /// is longer than the interface's MTU or is no frame.
    pub fn send(&self, frame: &[u8]) -> Result<bool, Error> {
        match send(&self.fd, frame, SendFlags::empty()) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => Ok(false),
            Err(Errno::NETDOWN) => self.check().map(|()| false),
            Err(errno) => Err(self.broken("write", errno)),
        }
    }

    /// Whether the interface is still there, in the calling thread's network namespace.
    ///
    /// # Errors
    ///
    /// [`Error::Vanished`].
    pub fn check(&self) -> Result<(), Error> {
        let found = Netlink::open().and_then(|netlink| netlink.index(&self.interface));
        found.map(drop).map_err(|_| self.vanished())
    }

    fn vanished(&self) -> Error {
        let interface = &self.interface;
        let what = format!("interface `{interface}` is gone: another program has deleted it");
        Error::Vanished(what)
    }

    fn broken(&self, what: &str, errno: Errno) -> Error {
        match errno {
            Errno::NODEV | Errno::NXIO => self.vanished(),
            _ => {
                Error::at(format!("{what} interface `{}`", self.interface))(io::Error::from(errno))
            }
        }
    }
}

impl AsFd for FrameSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn refused(error: io::Error, step: String) -> Error {
    if Errno::from_io_error(&error) != Some(Errno::PERM) {
        return Error::at(step)(error);
    }
    let what = format!("{step}: only root may read the frames of the machine's interfaces");
    Missing(vec![Lack { what, remedy: "run as root (sudo)".to_owned() }]).into()
}

/// Opens both ends of `--between ONE,OTHER`.
///
/// # Errors
///
/// As [`FrameSocket::open`], and where both are one interface.
pub fn open(one: &str, other: &str) -> Result<[FrameSocket; 2], Error> {
    if one == other {
        return Err(Error::Plan(format!("`{one}` cannot be bridged with itself")));
    }
    Ok([FrameSocket::open(one)?, FrameSocket::open(other)?])
}
