//! A real node: where its packets come from and go to.

use crate::address;
use crate::offload::{Gso, Header, Segments};
use fairwave_linux::clock::timespec;
use fairwave_sim::world::{Role, World};
use fairwave_trace::NodeId;
use fairwave_units::Instant;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, read, write, writev};
use std::io::IoSlice;

/// Whether an end takes and gives unfinished packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// Each packet has the header of [`crate::offload`] in front (`IFF_VNET_HDR`).
    On,
    /// Packets are as on the wire (`IFF_NO_PI` alone).
    Off,
}

/// A real node of the world.
#[derive(Debug)]
pub struct End {
    /// The node.
    pub node: NodeId,
    /// Gives one packet a read and takes one a write, without blocking.
    pub fd: OwnedFd,
    /// What is in front of packets.
    pub offload: Offload,
    /// Where what it gives leaves the world.
    pub way: Way,
}

/// Where what an end gives leaves the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The end gives IP packets. Each leaves at the node that it is addressed to.
    Addressed {
        /// Where packets leave that are for no node of the world; without it they come back with
        /// an error.
        gateway: Option<NodeId>,
    },
    /// The end gives whole Ethernet frames, as a packet socket with `PACKET_VNET_HDR` does. All of
    /// them leave at one node, which is bridged too.
    Bridged {
        /// The node.
        to: NodeId,
    },
}

/// What passed an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndCounts {
    /// Packets read, after large segments were cut.
    pub packets_in: u64,
    /// Large segments read, which were cut into several packets.
    pub large_in: u64,
    /// Bytes of the packets read, from the IP header on.
    pub bytes_in: u64,
    /// Packets written.
    pub packets_out: u64,
    /// Their bytes.
    pub bytes_out: u64,
    /// Lost in the emulator: the interface did not take them, or was down.
    pub lost_at_write: u64,
    /// Lost in the emulator: there was no memory for so many under way, or the frame could not
    /// be cut.
    pub lost_at_read: u64,
    /// Read, and no IP packets.
    pub malformed: u64,
    /// Read, and for many or for nobody in particular: multicast and broadcast, which do not enter.
    pub for_many: u64,
    /// Read, and for no node that can be reached; answered by ICMP.
    pub unreachable: u64,
}

impl EndCounts {
    /// Packets that the emulator itself lost.
    pub const fn lost(&self) -> u64 {
        self.lost_at_write + self.lost_at_read
    }
}

/// An end at work.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) end: End,
    /// Whose errors it gets: its next router.
    pub(super) router: NodeId,
    /// Since when there has always been a frame left to be read, if there has.
    pub(super) backlog_since: Option<Instant>,
    /// Whether datagrams of UDP may be written as one, as far as is known.
    pub(super) joins_udp: bool,
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Yes,
    /// The interface is full or down.
    No,
    /// The kernel refuses the packet for what is in it.
    Refused,
}

impl Port {
    pub(super) fn new(end: End, world: &World) -> Self {
        let router = router(world, end.node);
        Self { end, router, backlog_since: None, joins_udp: true }
    }

    /// Reads a frame; `None` if there is none now.
    ///
    /// # Errors
    /// The interface has vanished.
    pub(super) fn read(&self, frame: &mut [u8]) -> Result<Option<usize>, Errno> {
        loop {
            return match read(&self.end.fd, &mut *frame) {
                // The other side of a socket pair is gone; a device never says that.
                Ok(0) => Err(Errno::PIPE),
                Ok(len) => Ok(Some(len)),
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => Ok(None),
                // A packet socket says once that its interface went down, or away.
                Err(Errno::NETDOWN) if !self.is_gone() => Ok(None),
                Err(errno) => Err(errno),
            };
        }
    }

    /// Whether there is something to be read now.
    pub(super) fn has_more(&self) -> bool {
        let mut fds = [PollFd::new(&self.end.fd, PollFlags::IN)];
        poll(&mut fds, Some(&timespec(0))).is_ok_and(|ready| ready > 0)
    }

    /// Whether the interface of a packet socket has been deleted. A write tells: of a byte, which
    /// is no frame and goes nowhere.
    fn is_gone(&self) -> bool {
        write(&self.end.fd, &[0]) == Err(Errno::NXIO)
    }

    /// Writes a packet with what goes in front of it. Its header is used if the end takes one.
    ///
    /// # Errors
    /// The interface has vanished.
    pub(super) fn write(
        &self,
        header: &Header,
        front: &[u8],
        packet: &[u8],
    ) -> Result<Written, Errno> {
        let head = header.bytes();
        let all = [IoSlice::new(&head), IoSlice::new(front), IoSlice::new(packet)];
        let parts = match self.end.offload {
            Offload::On => &all[..],
            Offload::Off => &all[1..],
        };
        loop {
            return match writev(&self.end.fd, parts) {
                Ok(_) => Ok(Written::Yes),
                Err(Errno::INTR) => continue,
                Err(Errno::INVAL | Errno::MSGSIZE) => Ok(Written::Refused),
                // It is full, or it is down (EIO, ENETDOWN) and may come up again.
                Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM | Errno::IO | Errno::NETDOWN) => {
                    Ok(Written::No)
                }
                Err(errno) => Err(errno),
            };
        }
    }
}

impl Port {
    /// Writes packets that were joined: as one, or one by one where the kernel cannot cut UDP
    /// (before Linux 6.2). `Written::Yes` says that all were taken.
    ///
    /// # Errors
    /// The interface has vanished.
    pub(super) fn write_all(&mut self, header: &Header, packet: &[u8]) -> Result<Written, Errno> {
        let written = self.write(header, &[], packet)?;
        if (written, header.gso) != (Written::Refused, Gso::Udp) {
            return Ok(written);
        }
        self.joins_udp = false;
        let Ok(mut parts) = Segments::new(header, packet) else { return Ok(Written::Refused) };
        let header = Header { is_verified: true, ..Header::default() };
        let (mut part, mut all) = (Vec::new(), Written::Yes);
        while parts.next_into(&mut part) {
            match self.write(&header, &[], &part)? {
                Written::Yes => {}
                other => all = other,
            }
        }
        Ok(all)
    }
}

/// The node whose address errors to `node` bear: its access point, or the other end of its link. A
/// kernel would not believe errors that come from itself.
fn router(world: &World, node: NodeId) -> NodeId {
    let radio = world.nodes.get(node.0 as usize).and_then(|node| node.radio.as_ref());
    if let Some(Role::Station { ap }) = radio.map(|radio| radio.role) {
        return ap;
    }
    let neighbour = world.links.iter().find_map(|link| match link.ends {
        (a, b) if a == node => Some(b),
        (a, b) if b == node => Some(a),
        _ => None,
    });
    let other = NodeId(u32::from(node.0 == 0));
    debug_assert_ne!(address::v4(other), address::v4(node));
    neighbour.unwrap_or(other)
}
