//! Representation of real packets in the simulated network, and the network's changes to them.
//!
//! The world carries a [`Datagram`] and a length; the bytes stay with the host. The datagram has
//! the real values of all fields that queues and schedulers use: addresses, ports, ECN field, TCP
//! header and length on the wire. Its form is that of IPv4 without options; longer headers (IPv6,
//! IPv4 options, TCP options unknown to Fairwave) count as payload. An ACK filter therefore treats
//! IPv6 ACKs and those with unknown options as data, and passes them unchanged.

use crate::address;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use fairwave_dot11::AccessCategory;
use fairwave_sim::OutsidePacket;
use fairwave_trace::NodeId;
use fairwave_wire::datagram::{Datagram, IPV4_HEADER_LEN, Transport};
use fairwave_wire::ip::{self, Packet, Part};
use fairwave_wire::ipv4::Ecn;
use fairwave_wire::patch;

/// Number of bytes at the start of a packet that determine its treatment in the world. A replay of
/// a record with this number of bytes per packet gives the same world.
pub const HEAD_LEN: usize = 256;

/// Nodes at which a packet enters and leaves the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// The node at which it enters.
    pub source: NodeId,
    /// The node at which it is to leave.
    pub destination: NodeId,
}

/// Properties of a packet before it enters the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Description {
    /// Its source address.
    pub source: IpAddr,
    /// Its destination address.
    pub destination: IpAddr,
    /// Its access category, used if a cell has EDCA.
    pub category: AccessCategory,
    /// Its representation in the world. The identification is zero.
    pub datagram: Datagram,
}

/// Errors of bytes that are no packet for the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes are no IP packet.
    #[error(transparent)]
    Ip(#[from] ip::Error),
    /// The length in the header differs from that of the packet.
    #[error("the IP header says {stated} bytes, the packet has {len}")]
    Length {
        /// Length in the header, in bytes.
        stated: u32,
        /// Length of the packet in bytes.
        len: u32,
    },
}

/// Describes an IP packet of `len` bytes. `head` is the whole packet, or at least its first
/// [`HEAD_LEN`] bytes.
///
/// # Errors
/// If it is no IP packet, or its length contradicts its header.
pub fn describe(head: &[u8], len: u32) -> Result<Description, Error> {
    let head = &head[..head.len().min(HEAD_LEN)];
    let packet = ip::parse(head, len)?;
    if packet.len != len {
        return Err(Error::Length { stated: packet.len, len });
    }
    let transport = transport(&packet, len);
    let datagram = Datagram {
        source: stand_in(packet.source),
        destination: stand_in(packet.destination),
        id: 0,
        ttl: packet.hops,
        tos: packet.traffic_class,
        transport,
        payload_len: 0,
    };
    let payload_len = len.saturating_sub(datagram.wire_len());
    let Packet { source, destination, traffic_class, .. } = packet;
    let category = category(traffic_class);
    Ok(Description {
        source,
        destination,
        category,
        datagram: Datagram { payload_len, ..datagram },
    })
}

impl Description {
    /// The packet in the form in which it enters the world. It passes `via` first, if that is a
    /// node. `id` distinguishes it from others between the same addresses.
    pub fn enter(
        &self,
        handle: u64,
        ends: Endpoints,
        via: Option<NodeId>,
        id: u16,
    ) -> OutsidePacket {
        let Self { category, datagram, .. } = *self;
        let Endpoints { source, destination } = ends;
        OutsidePacket {
            handle,
            source,
            destination,
            via,
            category,
            datagram: Datagram { id, ..datagram },
        }
    }
}

/// Applies the changes of queues to a packet's bytes: a CE mark, a clamped window. Checksums are
/// updated incrementally.
pub fn apply(arrived: &Datagram, bytes: &mut [u8]) {
    if arrived.ecn() == Ecn::Ce {
        patch::mark_ce(bytes);
    }
    if let Transport::Tcp(header) = &arrived.transport {
        patch::clamp_window(bytes, header.window);
    }
}

/// The access category of a traffic class: DSCP to user priority (RFC 8325 section 4.3, RFC 8622
/// for LE), and user priority to category (802.11-2020 table 10-1). Code points without a
/// recommendation are best effort.
pub const fn category(traffic_class: u8) -> AccessCategory {
    match traffic_class >> 2 {
        // CS1, LE.
        8 | 1 => AccessCategory::Background,
        // AF31-33, CS3; AF41-43, CS4; CS5.
        24 | 26 | 28 | 30 | 32 | 34 | 36 | 38 | 40 => AccessCategory::Video,
        // VOICE-ADMIT, EF; CS6, CS7.
        44 | 46 | 48 | 56 => AccessCategory::Voice,
        _ => AccessCategory::BestEffort,
    }
}

/// The representation of the transport header of a packet of `len` bytes.
fn transport(packet: &Packet<'_>, len: u32) -> Transport {
    match packet.transport {
        ip::Transport::Tcp(segment) if packet.part() == Part::Whole => {
            let headers = IPV4_HEADER_LEN + segment.header.wire_len() as u32;
            // Options may be packed more tightly than ours would be. There may then be no space for
            // our header, or none for payload after it, and data would look like a pure ACK.
            let minimum = headers + u32::from(segment.payload_len > 0);
            let (source, destination) =
                (segment.header.source_port, segment.header.destination_port);
            if len >= minimum { Transport::Tcp(segment.header) } else { udp(source, destination) }
        }
        ip::Transport::Udp(datagram) if packet.part() == Part::Whole => {
            udp(datagram.source_port, datagram.destination_port)
        }
        _ => {
            let (source, destination) = identity(packet);
            udp(source, destination)
        }
    }
}

/// The representation of a packet that is not a whole TCP segment.
const fn udp(source_port: u16, destination_port: u16) -> Transport {
    Transport::Udp { source_port, destination_port }
}

const PROTOCOL_ICMP: u8 = 1;
const PROTOCOL_ICMPV6: u8 = 58;

/// Port numbers for a packet without ports: its protocol, and the identifier of an ICMP echo. All
/// fragments of a packet are one flow, though only the first has ports.
fn identity(packet: &Packet<'_>) -> (u16, u16) {
    let protocol = match packet.transport {
        ip::Transport::Tcp(_) => 6,
        ip::Transport::Udp(_) => 17,
        ip::Transport::Dccp(_) => 33,
        ip::Transport::Other(protocol) | ip::Transport::Unreadable(protocol) => protocol,
    };
    let echo = match (protocol, packet.body) {
        (PROTOCOL_ICMP, [0 | 8, _, _, _, high, low, ..])
        | (PROTOCOL_ICMPV6, [128 | 129, _, _, _, high, low, ..])
            if packet.part() == Part::Whole =>
        {
            u16::from_be_bytes([*high, *low])
        }
        _ => 0,
    };
    (u16::from(protocol), echo)
}

/// The IPv4 address that represents an address. A node's is its own; the words of another IPv6
/// address are mixed, so that flows remain distinct.
fn stand_in(address: IpAddr) -> Ipv4Addr {
    match address {
        IpAddr::V4(address) => address,
        IpAddr::V6(address) => match address::node(address.into()) {
            Some(node) => address::v4(node),
            None => Ipv4Addr::from(mixed(address)),
        },
    }
}

fn mixed(address: Ipv6Addr) -> u32 {
    let words = address.octets();
    let (words, _) = words.as_chunks::<4>();
    words.iter().fold(0, |sum: u32, word| sum.rotate_left(5) ^ u32::from_be_bytes(*word))
}

#[cfg(test)]
mod tests;
