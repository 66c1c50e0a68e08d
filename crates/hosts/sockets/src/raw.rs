//! A raw socket of IPv4, IPv6 or both, for one protocol of IP, as a transport of datagrams.
//!
//! It needs `CAP_NET_RAW` while it is opened, and not afterwards. A mark (`SO_MARK`) on what is
//! sent lets rules of routing and of filters know it. The kernel gives a raw socket a copy of every
//! packet of its protocol, before the protocol itself: a kernel that speaks the protocol too
//! answers the same packets. One that does not stays silent while a raw socket is open; else it
//! answers with ICMP.

use crate::port::{self, Port};
use crate::transport::{Left, Taken, Transport};
use fairwave_linux::kernel::accept_port;
use fairwave_linux::kernel::datagrams::{BATCH, Message};
use fairwave_machine::datagram::{Incoming, Outgoing};
use fairwave_units::Duration;
use fairwave_wire::ipv4::Ecn;
use nix::sys::socket::{setsockopt, sockopt};
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, connect, socket_with};
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZero;
use std::os::fd::OwnedFd;

/// Minimum length of an IPv4 header.
const IPV4_HEADER: usize = 20;

/// A raw socket, or one of each family, that never blocks.
#[derive(Debug)]
pub struct Raw {
    four: Option<Port>,
    six: Option<Port>,
    unreadable: u64,
}

impl Raw {
    /// A socket for packets of a protocol from anybody: of IPv6, of IPv4, or of both where an
    /// address of IPv6 says "any".
    ///
    /// # Errors
    /// Without `CAP_NET_RAW`, or if the address is not one of this host's.
    pub fn bind(address: IpAddr, protocol: NonZero<u8>, mark: Option<u32>) -> io::Result<Self> {
        let bound = |address| bound(address, protocol, mark);
        let (four, six) = match address {
            IpAddr::V4(_) => (Some(bound(address)?), None),
            IpAddr::V6(six) if six.is_unspecified() => {
                let four = bound(Ipv4Addr::UNSPECIFIED.into())?;
                // A kernel without IPv6 is no hindrance.
                (Some(four), bound(address).ok())
            }
            IpAddr::V6(_) => (None, Some(bound(address)?)),
        };
        Ok(Self { four, six, unreadable: 0 })
    }

    /// A socket that speaks with one peer alone, whose port does not count. The kernel drops
    /// packets from others, and reports if the peer does not speak the protocol.
    ///
    /// # Errors
    /// Without `CAP_NET_RAW`, or if there is no route to the peer.
    pub fn connect(peer: SocketAddr, protocol: NonZero<u8>, mark: Option<u32>) -> io::Result<Self> {
        let socket = open(peer.ip(), protocol, mark)?;
        connect(&socket, &without_port(peer))?;
        let port = Port::new(socket)?;
        Ok(match peer {
            SocketAddr::V4(_) => Self { four: Some(port), six: None, unreadable: 0 },
            SocketAddr::V6(_) => Self { four: None, six: Some(port), unreadable: 0 },
        })
    }

    /// Copies of the sockets' descriptors, for a runtime that waits for them.
    ///
    /// # Errors
    /// If the process has no descriptor left.
    pub fn descriptors(&self) -> io::Result<Vec<OwnedFd>> {
        self.four.iter().chain(&self.six).map(|port| port.socket().try_clone()).collect()
    }

    /// Leaves packets for other ports to the kernel, which drops them: on a loopback those are half
    /// of all packets, namely this socket's own. The protocol has its destination port in the third
    /// and fourth byte.
    ///
    /// # Errors
    /// If the kernel refuses the filter.
    pub fn accept_port(&self, port: u16) -> io::Result<()> {
        let one = |of: &Option<Port>, is_ipv4| {
            of.as_ref().map_or(Ok(()), |of| accept_port(of.socket(), is_ipv4, port))
        };
        one(&self.four, true)?;
        one(&self.six, false)
    }

    /// The address that it is bound to or sends from.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn address(&self) -> io::Result<IpAddr> {
        let port = self.six.as_ref().or(self.four.as_ref());
        let Some(port) = port else { return Err(io::ErrorKind::NotConnected.into()) };
        let address = rustix::net::getsockname(port.socket())?;
        Ok(SocketAddr::try_from(address)?.ip())
    }
}

/// A raw socket of the family of `address`.
fn open(address: IpAddr, protocol: NonZero<u8>, mark: Option<u32>) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let protocol = Protocol::from_raw(NonZero::<u32>::from(protocol));
    let socket = socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, Some(protocol))?;
    // Before there is a route, which may depend on it.
    mark.map_or(Ok(()), |mark| setsockopt(&socket, sockopt::Mark, &mark))?;
    // The header of IPv4 comes with each packet; that of IPv6 does not.
    if address.is_ipv6() {
        setsockopt(&socket, sockopt::Ipv6RecvTClass, &true)?;
        setsockopt(&socket, sockopt::Ipv6RecvPacketInfo, &true)?;
    }
    Ok(socket)
}

fn bound(address: IpAddr, protocol: NonZero<u8>, mark: Option<u32>) -> io::Result<Port> {
    let socket = open(address, protocol, mark)?;
    if !address.is_unspecified() {
        rustix::net::bind(&socket, &SocketAddr::new(address, 0))?;
    }
    Port::new(socket)
}

/// To a raw socket of IPv6 a port is a protocol number, which it has already.
fn without_port(mut address: SocketAddr) -> SocketAddr {
    address.set_port(0);
    address
}

/// Returns the payload of an IPv4 packet, and the fields destination and class of its header.
fn behind_header(packet: &[u8]) -> Option<(&[u8], Ipv4Addr, u8)> {
    let header = usize::from(packet.first()? & 0xf) * 4;
    let to = Ipv4Addr::from(*packet.get(16..)?.first_chunk::<4>()?);
    let payload = packet.get(header.max(IPV4_HEADER)..)?;
    Some((payload, to, packet[1]))
}

impl Transport for Raw {
    fn receive(&mut self, into: &mut Vec<Taken>) -> io::Result<Left> {
        let Self { four, six, unreadable } = self;
        let mut left = Left::Nothing;
        if let Some(four) = four {
            let more = four.receive(|arrival, waited, packet| {
                match (arrival.from, behind_header(packet)) {
                    (Some(from), Some((bytes, to, class))) => {
                        let (to, ecn, bytes) = (Some(to.into()), Ecn::of(class), bytes.to_vec());
                        let datagram = Incoming { from: without_port(from), to, ecn, bytes };
                        into.push(Taken { datagram, waited });
                    }
                    _ => *unreadable += 1,
                }
            })?;
            left = if more == Left::Perhaps { more } else { left };
        }
        let of_four = into.len();
        if let Some(six) = six {
            let more = six.receive(|arrival, waited, bytes| {
                let Some(from) = arrival.from.map(without_port) else {
                    *unreadable += 1;
                    return;
                };
                let ecn = Ecn::of(arrival.class.unwrap_or(0));
                let datagram = Incoming { from, to: arrival.to, ecn, bytes: bytes.to_vec() };
                into.push(Taken { datagram, waited });
            })?;
            left = if more == Left::Perhaps { more } else { left };
        }
        if of_four > 0 && of_four < into.len() {
            // Two sockets, one order: what has waited longest came first.
            into.sort_by_key(|taken| std::cmp::Reverse(taken.waited));
        }
        Ok(left)
    }

    fn send(&mut self, queue: &[Outgoing]) -> io::Result<usize> {
        let Some(first) = queue.first() else { return Ok(0) };
        let is_four = first.to.is_ipv4();
        let port = if is_four { &mut self.four } else { &mut self.six };
        let Some(port) = port else { return Err(io::ErrorKind::AddrNotAvailable.into()) };
        // What goes over the other socket has its turn in the next call.
        let alike = queue.iter().take(BATCH).take_while(|one| one.to.is_ipv4() == is_four);
        let parts: Vec<_> = alike.clone().map(|one| [IoSlice::new(&one.bytes)]).collect();
        let messages: Vec<_> = alike
            .zip(&parts)
            .map(|(one, parts)| Message {
                to: without_port(one.to),
                from: one.from,
                class: one.ecn.put(0),
                parts,
                segment: None,
            })
            .collect();
        port.send(&messages)
    }

    fn wait(&self, for_room: bool, maximum: Duration) -> io::Result<()> {
        port::wait(self.four.iter().chain(&self.six), for_room, maximum)
    }

    fn calls(&self) -> (u64, u64) {
        let calls = self.four.iter().chain(&self.six).map(Port::calls);
        calls.fold((0, 0), |(receives, sends), (r, s)| (receives + r, sends + s))
    }

    fn dropped(&self) -> u64 {
        self.four.iter().chain(&self.six).map(Port::dropped).sum()
    }

    fn unreadable(&self) -> u64 {
        self.unreadable + self.four.iter().chain(&self.six).map(Port::cut).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_behind_a_header_with_options_is_found() {
        let mut packet = vec![0; 28];
        (packet[0], packet[1], packet[16], packet[24]) = (0x46, 0x03, 10, 9);
        let (payload, to, class) = behind_header(&packet).unwrap();
        assert_eq!((payload, to, class), (&[9, 0, 0, 0][..], Ipv4Addr::new(10, 0, 0, 0), 3));
        assert_eq!(behind_header(&packet[..19]), None);
        assert_eq!(behind_header(&packet[..23]), None);
    }

    proptest! {
        #[test]
        fn any_packet_is_taken(packet in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Some((payload, ..)) = behind_header(&packet) {
                prop_assert!(payload.len() + IPV4_HEADER <= packet.len());
            }
        }
    }
}
