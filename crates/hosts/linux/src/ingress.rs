//! Frames of one EtherType that arrive at an interface, and a way to have others arrive there.
//!
//! A protocol that stands between Ethernet and the payload, as a tag of VLANs does, takes its part
//! of a frame off and has the rest arrive at the same interface: by a TAP device, whose frames the
//! kernel redirects there (mirred, to ingress). So the rest goes the way of all other frames, into
//! a bridge, too. The device is gone with this program, however it ends.

use crate::Error;
use crate::egress::{Pieces, tap};
use crate::kernel::{tagged, whole_frame_socket};
use crate::netlink::Netlink;
use crate::virtio::VNET_HEADER_LENGTH;
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes of a frame beside the packet in it: Ethernet's header and two tags of VLANs. The buffer
/// has four more, with which the outer tag is put back.
const AROUND: usize = 14 + 2 * 4 + 4;

/// Frames of one EtherType, for as long as this lives.
#[derive(Debug)]
pub struct Ingress {
    frames: OwnedFd,
    tap: OwnedFd,
    longest: usize,
}

impl Ingress {
    /// Opens the way at an interface of the calling thread's network namespace.
    ///
    /// # Errors
    /// If there is no such interface, it is no Ethernet's, the kernel lacks TAP devices, clsact,
    /// u32 or mirred, or the user may not (CAP_NET_ADMIN, CAP_NET_RAW).
    pub fn open(interface: &str, ether_type: u16) -> Result<Self, Error> {
        let step = |what: &str| Error::at(format!("interface `{interface}`: {what}"));
        let mut netlink = Netlink::open().map_err(step("netlink"))?;
        let index = netlink.index(interface).map_err(step("its index"))?;
        let address = netlink.link_address(index).map_err(step("its link address"))?;
        let mtu = netlink.mtu(index).map_err(step("its MTU"))?;
        let frames = whole_frame_socket(index, ether_type).map_err(step("a socket for frames"))?;
        let beside = "a TAP device beside it";
        let (tap, own) = tap(&mut netlink, Pieces::Cut).map_err(step(beside))?;
        // Frames to another link address than the device's would not count as this host's.
        netlink.set_link_address(own, address).map_err(step(beside))?;
        netlink.size(own, mtu, 1000).map_err(step(beside))?;
        netlink.redirect_ingress(own, index).map_err(step("clsact, u32 and mirred"))?;
        Ok(Self { frames, tap, longest: mtu as usize + AROUND })
    }

    /// Bytes of the buffer for the longest frame.
    pub const fn longest(&self) -> usize {
        self.longest
    }

    /// Takes the next frame, with all its VLAN tags; returns its length, or `None` where none
    /// waits. One that does not fit is cut. This does not block. From an interface that has been
    /// deleted none comes, which [`Presence`](crate::Presence) notices.
    ///
    /// # Errors
    /// The socket's.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match tagged::receive(&self.frames, buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) => match Errno::from_io_error(&error) {
                // The latter is said once when the interface goes down, for ever or for a while.
                Some(Errno::AGAIN | Errno::INTR | Errno::NETDOWN) => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// Has a frame arrive at the interface. Returns `false` where it is lost.
    ///
    /// # Errors
    /// If another program has deleted the TAP device.
    pub fn arrive(&self, frame: &[u8]) -> io::Result<bool> {
        let bytes = [&[0; VNET_HEADER_LENGTH], frame].concat();
        match rustix::io::write(&self.tap, &bytes) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::INTR | Errno::NOMEM | Errno::NOBUFS | Errno::INVAL) => {
                Ok(false)
            }
            Err(errno) => Err(errno.into()),
        }
    }
}

impl AsFd for Ingress {
    /// Readable when a frame waits.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.frames.as_fd()
    }
}
