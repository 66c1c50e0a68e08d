//! A real node's end: source and destination of its packets.

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

/// Whether an end receives and sends packets with offloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// Each packet is preceded by the header of [`crate::offload`] (`IFF_VNET_HDR`).
    On,
    /// Packets have their form on the wire (`IFF_NO_PI` alone).
    Off,
}

/// A real node of the world.
#[derive(Debug)]
pub struct End {
    /// The node.
    pub node: NodeId,
    /// Returns one packet per read and accepts one per write, without blocking.
    pub fd: OwnedFd,
    /// Form of the packets.
    pub offload: Offload,
    /// Routing of the packets that are read from it.
    pub way: Way,
}

/// Routing of the packets from an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The end sends IP packets. Each leaves the world at the node of its destination address.
    Addressed {
        /// Node at which packets leave that are addressed to no node of the world. Without it, an
        /// ICMP error is returned.
        gateway: Option<NodeId>,
    },
    /// The end sends Ethernet frames, as a packet socket with `PACKET_VNET_HDR` does. All of them
    /// leave at one node, which is bridged too.
    Bridged {
        /// The node.
        to: NodeId,
    },
}

/// Counters of the packets at an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndCounts {
    /// Packets read, after large segments were divided.
    pub packets_in: u64,
    /// Large segments read, each of which was divided into several packets.
    pub large_in: u64,
    /// Bytes of the packets read, IP headers included.
    pub bytes_in: u64,
    /// Packets written.
    pub packets_out: u64,
    /// Bytes of the packets written.
    pub bytes_out: u64,
    /// Packets that the emulator lost because the interface did not accept them, or was down.
    pub lost_at_write: u64,
    /// Packets that the emulator lost because the memory for packets under way was full, or because
    /// the segment could not be divided.
    pub lost_at_read: u64,
    /// Packets that the kernel dropped as the device had no carrier. They did not reach the
    /// emulator.
    pub without_carrier: u64,
    /// Packets read that were not valid IP packets.
    pub malformed: u64,
    /// Multicast and broadcast packets read, which do not enter the world.
    pub multicast: u64,
    /// Packets read with an unreachable destination; they are answered by ICMP.
    pub unreachable: u64,
}

impl EndCounts {
    /// Packets that the emulator itself lost.
    pub const fn lost(&self) -> u64 {
        self.lost_at_write + self.lost_at_read
    }
}

/// An end in operation.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) end: End,
    /// The node that appears as the sender of ICMP errors: its next router.
    pub(super) router: NodeId,
    /// Time since which frames have always waited to be read; `None` if none waits.
    pub(super) backlog_since: Option<Instant>,
    /// Whether UDP datagrams may be written as one; `false` after the kernel has refused that.
    pub(super) joins_udp: bool,
}

/// Result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Yes,
    /// The interface is full or down.
    No,
    /// The kernel refuses the packet because of its content.
    Refused,
}

impl Port {
    pub(super) fn new(end: End, world: &World) -> Self {
        let router = router(world, end.node);
        Self { end, router, backlog_since: None, joins_udp: true }
    }

    /// Reads a frame; `None` if none waits.
    ///
    /// # Errors
    /// If the interface has vanished.
    pub(super) fn read(&self, frame: &mut [u8]) -> Result<Option<usize>, Errno> {
        loop {
            return match read(&self.end.fd, &mut *frame) {
                // The peer of a socket pair is gone; a device never returns this.
                Ok(0) => Err(Errno::PIPE),
                Ok(len) => Ok(Some(len)),
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => Ok(None),
                // A packet socket reports once that its interface went down or was deleted.
                Err(Errno::NETDOWN) if !self.is_gone() => Ok(None),
                Err(errno) => Err(errno),
            };
        }
    }

    /// Whether a frame waits to be read.
    pub(super) fn has_more(&self) -> bool {
        let mut fds = [PollFd::new(&self.end.fd, PollFlags::IN)];
        poll(&mut fds, Some(&timespec(0))).is_ok_and(|ready| ready > 0)
    }

    /// Whether the interface of a packet socket has been deleted. A write of one byte shows this:
    /// it is too short for a frame, so that nothing is sent.
    fn is_gone(&self) -> bool {
        write(&self.end.fd, &[0]) == Err(Errno::NXIO)
    }

    /// Writes a packet with its link-layer header. `header` is only used if the end has offloads.
    ///
    /// # Errors
    /// If the interface has vanished.
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
                // The interface is full, or it is down (EIO, ENETDOWN) and may come up again.
                Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM | Errno::IO | Errno::NETDOWN) => {
                    Ok(Written::No)
                }
                Err(errno) => Err(errno),
            };
        }
    }
}

impl Port {
    /// Writes joined packets: as one, or one by one if the kernel cannot divide UDP (before Linux
    /// 6.2). `Written::Yes` means that all were accepted.
    ///
    /// # Errors
    /// If the interface has vanished.
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

/// The node whose address is the source of ICMP errors to `node`: its access point, or the other
/// end of its link. A kernel would discard errors from its own address.
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
