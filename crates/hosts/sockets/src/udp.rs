//! UDP, over IPv4 and IPv6, as a transport of datagrams.

use crate::port::{self, Port};
use crate::transport::{Left, Taken, Transport};
use fairwave_linux::kernel::datagrams::{BATCH, Message};
use fairwave_machine::datagram::{Incoming, Outgoing};
use fairwave_units::Duration;
use fairwave_wire::ipv4::Ecn;
use nix::sys::socket::{setsockopt, sockopt};
use rustix::io::Errno;
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
};
use std::ffi::OsString;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// Maximum number of datagrams that the kernel cuts out of one message (`UDP_MAX_SEGMENTS` before
/// Linux 6.9), and the maximum bytes of such a message.
const MAX_SEGMENTS: usize = 64;
const MAX_TOGETHER: usize = 65_507;

/// A socket that never blocks. Datagrams sent at once go in one system call.
#[derive(Debug)]
pub struct Udp {
    port: Port,
    address: SocketAddr,
    with_gso: bool,
    unreadable: u64,
}

impl Udp {
    /// A socket at an address. Port 0 lets the kernel choose one.
    ///
    /// # Errors
    /// Whatever the kernel refuses, such as an address in use.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::of(UdpSocket::bind(address)?)
    }

    /// A socket that speaks with one peer alone, from an address of the same family. The kernel
    /// drops datagrams from others, and reports a closed port at the peer.
    ///
    /// # Errors
    /// If there is no route to the peer, or no socket is to be had.
    pub fn connect(peer: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(any_like(peer))?;
        socket.connect(peer)?;
        Self::of(socket)
    }

    /// A socket for one peer, over one interface only, whatever the routes of others
    /// (SO_BINDTODEVICE).
    ///
    /// # Errors
    /// If there is no such interface, or the kernel refuses the socket.
    pub fn over(interface: &str, peer: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(any_like(peer))?;
        setsockopt(&socket, sockopt::BindToDevice, &OsString::from(interface))?;
        Self::of(socket)
    }

    /// Reports the address of this host to which each datagram was sent, for answers from the same.
    ///
    /// # Errors
    /// If the kernel refuses the option.
    pub fn with_own_addresses(self) -> io::Result<Self> {
        report_own_addresses(self.port.socket().as_fd(), self.address)?;
        Ok(self)
    }

    fn of(socket: UdpSocket) -> io::Result<Self> {
        let address = socket.local_addr()?;
        if address.is_ipv6() {
            setsockopt(&socket, sockopt::Ipv6RecvTClass, &true)?;
        }
        // A socket of IPv6 that speaks IPv4 as well has the options of both.
        let four = setsockopt(&socket, sockopt::IpRecvTos, &true);
        if address.is_ipv4() {
            four?;
        }
        let port = Port::new(OwnedFd::from(socket))?;
        Ok(Self { port, address, with_gso: false, unreadable: 0 })
    }

    /// Lets the kernel cut messages into datagrams (GSO, Linux 4.18) where several of the same size
    /// go to one destination at once. A queue of this host then takes or drops them as one packet,
    /// so whoever measures queues should not ask for it.
    pub const fn allow_gso(&mut self) {
        self.with_gso = true;
    }

    /// Takes several datagrams of a sender as one message (GRO, Linux 5.0). They have the stamp of
    /// the first, so whoever measures delays should not ask for it.
    pub fn allow_gro(&mut self) {
        self.port.join_arrivals();
    }

    /// Sends datagrams whole or not at all (IP_PMTUDISC_DO): one that is longer than an MTU of the
    /// path is an error of this host or is lost, and no router cuts it.
    ///
    /// # Errors
    /// If the kernel refuses the option.
    pub fn without_fragments(self) -> io::Result<Self> {
        let socket = self.port.socket();
        // A socket of IPv6 that speaks IPv4 as well has the options of both.
        let four = set_ip_mtu_discover(socket, Ipv4PathMtuDiscovery::DO);
        if self.address.is_ipv6() {
            set_ipv6_mtu_discover(socket, Ipv6PathMtuDiscovery::DO)?;
        } else {
            four?;
        }
        Ok(self)
    }

    /// Its own address, with the port that the kernel chose.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn address(&self) -> io::Result<SocketAddr> {
        let address = rustix::net::getsockname(self.port.socket())?;
        SocketAddr::try_from(address).or(Ok(self.address))
    }

    /// A copy of its descriptor, for a runtime that waits for it.
    ///
    /// # Errors
    /// If the process has no descriptor left.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        self.port.socket().try_clone()
    }

    /// The address from which the kernel sends to a peer now, with any port.
    ///
    /// # Errors
    /// If there is no way to the peer.
    pub fn source(peer: SocketAddr) -> io::Result<IpAddr> {
        Ok(Self::connect(peer)?.address()?.ip())
    }
}

/// Has the kernel report the address of this host to which each datagram of a socket was sent. The
/// socket is bound to `address`.
///
/// # Errors
/// If the kernel refuses the option.
pub fn report_own_addresses(socket: BorrowedFd<'_>, address: SocketAddr) -> io::Result<()> {
    // A socket of IPv6 that speaks IPv4 as well has the options of both.
    let four = setsockopt(&socket, sockopt::Ipv4PacketInfo, &true);
    if address.is_ipv6() {
        setsockopt(&socket, sockopt::Ipv6RecvPacketInfo, &true)?;
    } else {
        four?;
    }
    Ok(())
}

/// Any address of a family, and any port.
const fn any_like(peer: SocketAddr) -> SocketAddr {
    let any = match peer.ip() {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    SocketAddr::new(any, 0)
}

impl AsRawFd for Udp {
    fn as_raw_fd(&self) -> RawFd {
        self.port.socket().as_raw_fd()
    }
}

impl Transport for Udp {
    fn receive(&mut self, into: &mut Vec<Taken>) -> io::Result<Left> {
        let unreadable = &mut self.unreadable;
        self.port.receive(|arrival, waited, bytes| {
            let Some(from) = arrival.from else {
                *unreadable += 1;
                return;
            };
            let ecn = Ecn::of(arrival.class.unwrap_or(0));
            let datagram = Incoming { from, to: arrival.to, ecn, bytes: bytes.to_vec() };
            into.push(Taken { datagram, waited });
        })
    }

    fn send(&mut self, queue: &[Outgoing]) -> io::Result<usize> {
        self.send_by(queue, self.with_gso)
    }

    fn wait(&self, for_room: bool, max: Duration) -> io::Result<()> {
        port::wait(std::iter::once(&self.port), for_room, max)
    }

    fn calls(&self) -> (u64, u64) {
        self.port.calls()
    }

    fn dropped(&self) -> u64 {
        self.port.dropped()
    }

    fn unreadable(&self) -> u64 {
        self.unreadable + self.port.cut()
    }
}

impl Udp {
    /// Sends the first datagrams of a queue, with GSO or without; returns their number.
    fn send_by(&mut self, queue: &[Outgoing], with_gso: bool) -> io::Result<usize> {
        let parts: Vec<IoSlice<'_>> =
            queue.iter().take(BATCH).map(|one| IoSlice::new(&one.bytes)).collect();
        let mut messages = Vec::with_capacity(parts.len());
        let mut counts = Vec::with_capacity(parts.len());
        let mut at = 0;
        while at < parts.len() {
            let run = if with_gso { together(&queue[at..parts.len()]) } else { 1 };
            let first = &queue[at];
            // A message of one datagram is cut into none.
            let segment = u16::try_from(first.bytes.len()).ok().filter(|_| run > 1);
            let (class, parts) = (first.ecn.put(0), &parts[at..at + run]);
            messages.push(Message { to: first.to, from: first.from, class, parts, segment });
            counts.push(run);
            at += run;
        }
        match self.port.send(&messages) {
            Ok(sent) => Ok(counts[..sent].iter().sum()),
            Err(error) if counts[0] > 1 && error.kind() != io::ErrorKind::WouldBlock => {
                // Other errors are of this batch, such as an MTU that is too small for it just now.
                self.with_gso = !is_without_gso(&error);
                self.send_by(queue, false)
            }
            Err(error) => Err(error),
        }
    }
}

/// Whether the kernel or the card cannot cut messages into datagrams.
fn is_without_gso(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::IO | Errno::OPNOTSUPP))
}

/// Returns the number of datagrams from the first on that can be one message: all have the same
/// route and size, but for the last, which may be smaller.
fn together(queue: &[Outgoing]) -> usize {
    let Some((first, rest)) = queue.split_first() else { return 0 };
    let (size, mut count, mut bytes) = (first.bytes.len(), 1, first.bytes.len());
    if size == 0 {
        return 1;
    }
    for next in rest.iter().take(MAX_SEGMENTS - 1) {
        let len = next.bytes.len();
        let is_like = (next.to, next.from, next.ecn) == (first.to, first.from, first.ecn);
        if !is_like || len > size || len == 0 || bytes + len > MAX_TOGETHER {
            break;
        }
        count += 1;
        bytes += len;
        if len < size {
            break;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9);

    fn of(sizes: &[usize]) -> Vec<Outgoing> {
        sizes.iter().map(|size| Outgoing::new(HERE, vec![7; *size])).collect()
    }

    #[test]
    fn equal_sizes_go_together_and_a_smaller_one_ends_them() {
        assert_eq!(together(&of(&[100, 100, 100])), 3);
        assert_eq!(together(&of(&[100, 100, 40, 100])), 3);
        assert_eq!(together(&of(&[100, 101])), 1);
        assert_eq!(together(&of(&[100, 0])), 1);
        assert_eq!(together(&of(&[0, 0])), 1);
        assert_eq!(together(&of(&[1; 100])), MAX_SEGMENTS);
        assert_eq!(together(&of(&[40_000, 40_000])), 1);
        let mut marked = of(&[100, 100]);
        marked[1].ecn = Ecn::Ect0;
        assert_eq!(together(&marked), 1);
    }

    /// Sends datagrams of some sizes over a loopback of a family; returns the arrivals, and the
    /// calls.
    fn carried(any: &str, sizes: &[usize], with_gso: bool) -> (Vec<Taken>, (u64, u64), u64) {
        let mut there = Udp::bind(any.parse().unwrap()).unwrap();
        let to = there.address().unwrap();
        let mut here = Udp::connect(to).unwrap();
        here.with_gso = with_gso;
        let mut queue: Vec<_> = sizes
            .iter()
            .enumerate()
            .map(|(n, len)| Outgoing::new(to, vec![n as u8; *len]))
            .collect();
        queue.iter_mut().for_each(|one| one.ecn = Ecn::Ect0);
        let mut left = &queue[..];
        while !left.is_empty() {
            left = &left[here.send(left).unwrap()..];
        }
        let mut taken = Vec::new();
        while taken.len() < sizes.len() {
            there.wait(false, Duration::from_secs(10)).unwrap();
            there.receive(&mut taken).unwrap();
        }
        let (receives, _) = there.calls();
        let (_, sends) = here.calls();
        (taken, (receives, sends), there.unreadable())
    }

    #[test]
    fn both_families_carry_bytes_and_marks_in_one_call_with_gso_and_without() {
        for any in ["127.0.0.1:0", "[::1]:0"] {
            for with_gso in [false, true] {
                let sizes = [500, 500, 500, 20, 700];
                let (taken, (_, sends), unreadable) = carried(any, &sizes, with_gso);
                assert_eq!(sends, 1, "{any} {with_gso}");
                assert_eq!(unreadable, 0);
                for (n, (one, len)) in taken.iter().zip(sizes).enumerate() {
                    assert_eq!(one.datagram.bytes, vec![n as u8; len], "{any} {with_gso}");
                    assert_eq!(one.datagram.ecn, Ecn::Ect0, "{any} {with_gso}");
                }
            }
        }
    }

    /// The kernel refuses datagrams to a broadcast address, one by one as well as cut.
    #[test]
    fn a_refused_batch_leaves_gso_to_the_next() {
        let mut here = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        here.allow_gso();
        let broadcast = SocketAddr::from(([255, 255, 255, 255], 9));
        let batch = [[7; 100], [7; 100]].map(|bytes| Outgoing::new(broadcast, bytes.to_vec()));
        let refused = here.send(&batch).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        assert!(here.with_gso);
        assert_eq!(here.send(&of(&[100, 100])).unwrap(), 2);
        assert!(is_without_gso(&Errno::IO.into()) && !is_without_gso(&Errno::MSGSIZE.into()));
    }

    /// 127.0.0.2 is an address of every Linux host; the kernel itself would answer from 127.0.0.1.
    #[test]
    fn a_socket_of_all_addresses_sees_the_one_addressed_and_answers_from_it() {
        for any in ["0.0.0.0:0", "[::]:0"] {
            let there = Udp::bind(any.parse().unwrap()).unwrap();
            let mut there = there.with_own_addresses().unwrap();
            let to = SocketAddr::from(([127, 0, 0, 2], there.address().unwrap().port()));
            let mut here = Udp::connect(to).unwrap();
            here.send(&[Outgoing::new(to, vec![1])]).unwrap();
            let mut taken = Vec::new();
            there.wait(false, Duration::from_secs(10)).unwrap();
            there.receive(&mut taken).unwrap();
            let asked = taken[0].datagram.clone();
            assert_eq!(asked.to.map(|to| to.to_canonical()), Some(to.ip()), "{any}");
            let answer = Outgoing { from: asked.to, ..Outgoing::new(asked.from, vec![2]) };
            there.send(&[answer]).unwrap();
            here.wait(false, Duration::from_secs(10)).unwrap();
            here.receive(&mut taken).unwrap();
            assert_eq!(taken[1].datagram.from, to, "{any}");
        }
    }

    /// `[::]` takes datagrams of IPv4, too, and their marks are in another place.
    #[test]
    fn a_socket_of_both_families_sees_the_marks_of_ipv4() {
        let mut there = Udp::bind("[::]:0".parse().unwrap()).unwrap();
        let port = there.address().unwrap().port();
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut here = Udp::connect(to).unwrap();
        let outgoing = Outgoing { ecn: Ecn::Ce, ..Outgoing::new(to, b"marked".to_vec()) };
        assert_eq!(here.send(&[outgoing]).unwrap(), 1);
        let mut taken = Vec::new();
        there.wait(false, Duration::from_secs(10)).unwrap();
        assert_eq!(there.receive(&mut taken).unwrap(), Left::Nothing);
        assert_eq!(taken[0].datagram.ecn, Ecn::Ce);
        // And the answer goes back marked.
        let back = Outgoing { ecn: Ecn::Ect1, ..Outgoing::new(taken[0].datagram.from, vec![1]) };
        assert_eq!(there.send(&[back]).unwrap(), 1);
        here.wait(false, Duration::from_secs(10)).unwrap();
        here.receive(&mut taken).unwrap();
        assert_eq!(taken[1].datagram.ecn, Ecn::Ect1);
    }
}
