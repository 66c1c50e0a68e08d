//! The TUN device of a node.

use crate::Error;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes of the virtio header before each packet that is read or written.
pub const VNET_HEADER_LENGTH: usize = 10;

/// A TUN device, `fw0` in its namespace.
#[derive(Debug)]
pub struct Tun {
    fd: OwnedFd,
    node: String,
    usable: bool,
}

impl Tun {
    /// Reads one packet with its virtio header; `None` where there is none now.
    ///
    /// # Errors
    ///
    /// [`Error::Vanished`] where the interface has been deleted.
    pub fn receive(&self, _buffer: &mut [u8]) -> Result<Option<usize>, Error> {
        Err(Error::Vanished(self.node.clone()))
    }

    /// Writes one packet with its virtio header; `false` where the kernel has no room or the
    /// interface is down: the packet is lost.
    ///
    /// # Errors
    ///
    /// [`Error::Vanished`] where the interface has been deleted.
    pub fn send(&self, _packet: &[u8]) -> Result<bool, Error> {
        Err(Error::Vanished(self.node.clone()))
    }

    /// Whether segments of UDP can come too (Linux 6.2).
    pub fn cuts_udp(&self) -> bool {
        self.usable
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
