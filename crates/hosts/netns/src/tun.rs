//! The TUN device of a node: packets of IP, each with a virtio header before it.

use crate::{Error, Offload};
use fairwave_linux::kernel::{TUN_F_CSUM, TUN_F_TSO, TUN_F_USO, create_tun, set_tun_offload};
use fairwave_linux::virtio::CLONE_DEVICE;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Name of the device in each namespace.
pub const DEVICE: &str = "fw0";

/// A TUN device, `fw0` in its namespace. Reads and writes do not block.
#[derive(Debug)]
pub struct Tun {
    fd: OwnedFd,
    node: String,
    cuts_udp: bool,
}

impl Tun {
    /// Makes the device in the network namespace of the calling thread.
    pub(crate) fn create(node: &str, offload: Offload) -> Result<Self, Error> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::open(CLONE_DEVICE, flags, Mode::empty())
            .map_err(Error::at(format!("{node}: {CLONE_DEVICE}")))?;
        create_tun(&fd, DEVICE).map_err(Error::at(format!("{node}: TUN device {DEVICE}")))?;
        let cuts_udp = set_offload(&fd, offload)
            .map_err(Error::at(format!("{node}: offloads of {DEVICE}")))?;
        Ok(Self { fd, node: node.to_owned(), cuts_udp })
    }

    /// Reads one packet with its virtio header. Returns its bytes, or `None` where no packet waits.
    /// A packet can have 64 KiB with [`Offload::On`]; one that does not fit is cut.
    ///
    /// # Errors
    ///
    /// [`Error::Vanished`] where the interface has been deleted.
    pub fn receive(&self, buffer: &mut [u8]) -> Result<Option<usize>, Error> {
        match rustix::io::read(&self.fd, buffer) {
            Ok(length) => Ok(Some(length)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(errno) => Err(self.broken("read", errno)),
        }
    }

    /// Writes one packet with its virtio header. Returns `false` where the packet is lost because
    /// the interface is down or the kernel has no room.
    ///
    /// # Errors
    ///
    /// [`Error::Vanished`] where the interface has been deleted; [`Error::Kernel`] where the bytes
    /// are no IP packet or the virtio header does not fit it.
    pub fn send(&self, packet: &[u8]) -> Result<bool, Error> {
        match rustix::io::write(&self.fd, packet) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::INTR | Errno::IO | Errno::NOBUFS | Errno::NOMEM) => Ok(false),
            Err(errno) => Err(self.broken("write", errno)),
        }
    }

    /// A copy of its descriptor.
    pub(crate) fn copy(&self) -> io::Result<OwnedFd> {
        self.fd.try_clone()
    }

    /// Whether large segments of UDP can come too (Linux 6.2).
    pub fn cuts_udp(&self) -> bool {
        self.cuts_udp
    }

    fn broken(&self, what: &str, errno: Errno) -> Error {
        if errno == Errno::BADFD {
            return vanished(&self.node);
        }
        Error::at(format!("{}: {what} {DEVICE}", self.node))(io::Error::from(errno))
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The interface of a node was deleted, which only a program inside can have done.
pub(crate) fn vanished(node: &str) -> Error {
    Error::Vanished(format!(
        "{node}: interface {DEVICE} is gone: a program in the node's namespace has deleted it"
    ))
}

/// Sets offloads, those of UDP where the kernel has them; returns whether it has.
fn set_offload(fd: &OwnedFd, offload: Offload) -> io::Result<bool> {
    if offload == Offload::Off {
        return set_tun_offload(fd, 0).map(|()| false);
    }
    let without = TUN_F_CSUM | TUN_F_TSO;
    set_tun_offload(fd, without | TUN_F_USO)
        .map(|()| true)
        .or_else(|_| set_tun_offload(fd, without).map(|()| false))
}
