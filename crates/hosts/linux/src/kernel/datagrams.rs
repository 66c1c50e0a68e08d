//! Many datagrams a system call, each with its control messages, and socket options by number.

#![allow(
    unsafe_code,
    reason = "many datagrams a call, each with its own control messages; options by number"
)]

use std::ffi::{c_int, c_long, c_void};
use std::io::{self, IoSlice};
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// Maximum number of datagrams of a call.
pub const BATCH: usize = 32;
/// Room for the address of a datagram, and for its control messages.
const NAME_BYTES: usize = size_of::<libc::sockaddr_in6>();
const CONTROL_BYTES: usize = 192;

/// The kernel's information on a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ancillary {
    /// Length of its payload in bytes.
    pub len: usize,
    /// The sender, if its address is one of IP.
    pub from: Option<SocketAddr>,
    /// The address of this host to answer from: the one that it was sent to, or, of a broadcast,
    /// that of the interface.
    pub to: Option<IpAddr>,
    /// Its differentiated services and ECN byte.
    pub class: Option<u8>,
    /// Time at which it arrived, by the wall clock, in nanoseconds since 1970.
    pub stamp_ns: Option<u64>,
    /// Length of each of the datagrams that the kernel has joined, but for the last (UDP GRO);
    /// `None` for one datagram.
    pub segment: Option<u16>,
    /// Datagrams that found no room in the socket's buffer since the socket was opened.
    pub dropped: Option<u32>,
}

/// A message to be sent: a datagram, or several of `segment` bytes that the kernel cuts (GSO).
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The destination.
    pub to: SocketAddr,
    /// The address to send from, if the kernel is not to choose.
    pub from: Option<IpAddr>,
    /// Differentiated services and ECN byte.
    pub class: u8,
    /// The payload in pieces.
    pub parts: &'a [IoSlice<'a>],
    /// Bytes of each datagram that the kernel cuts from the payload (UDP GSO); `None` for one.
    pub segment: Option<u16>,
}

/// Memory of a call.
#[derive(Clone, Debug)]
#[repr(C, align(8))]
struct Slot {
    control: [u8; CONTROL_BYTES],
    name: [u8; NAME_BYTES],
    control_len: usize,
    name_len: usize,
}

/// Memory of all messages of a call.
#[derive(Clone, Debug)]
pub struct Slots(Vec<Slot>);

impl Default for Slots {
    fn default() -> Self {
        let empty = Slot {
            control: [0; CONTROL_BYTES],
            name: [0; NAME_BYTES],
            control_len: 0,
            name_len: 0,
        };
        Self(vec![empty; BATCH])
    }
}

/// Takes the arrived datagrams, as many as there are parts of `each` bytes in `buffer`, at most
/// [`BATCH`]. Their information goes to `reported`, which is cleared.
///
/// # Errors
/// `WouldBlock` if nothing has arrived; the error of an earlier datagram of this socket.
pub fn receive(
    socket: BorrowedFd<'_>,
    slots: &mut Slots,
    buffer: &mut [u8],
    each: usize,
    reported: &mut Vec<Ancillary>,
) -> io::Result<()> {
    reported.clear();
    let mut vectors = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; BATCH];
    // SAFETY: all bytes zero are a message without address, data and control messages.
    let mut headers: [libc::mmsghdr; BATCH] = unsafe { mem::zeroed() };
    let mut count: c_long = 0;
    let parts = buffer.chunks_exact_mut(each).zip(&mut vectors).zip(&mut headers);
    for (((part, vector), header), slot) in parts.zip(&mut slots.0) {
        *vector = libc::iovec { iov_base: part.as_mut_ptr().cast(), iov_len: each };
        let header = &mut header.msg_hdr;
        header.msg_name = slot.name.as_mut_ptr().cast();
        header.msg_namelen = NAME_BYTES as _;
        header.msg_iov = ptr::from_mut(vector);
        header.msg_iovlen = 1;
        header.msg_control = slot.control.as_mut_ptr().cast();
        header.msg_controllen = CONTROL_BYTES as _;
        count += 1;
    }
    // SAFETY: each of the first `count` headers points to a vector, a name and control messages of
    // the lengths that it states. They live until the end of this function, and nobody else uses
    // them meanwhile. A null timeout is allowed.
    let taken = unsafe {
        let (socket, flags) = (c_long::from(socket.as_raw_fd()), c_long::from(libc::MSG_DONTWAIT));
        let no_timeout = ptr::null_mut::<libc::timespec>();
        // By its number, as not all C libraries have a function for it.
        libc::syscall(libc::SYS_recvmmsg, socket, headers.as_mut_ptr(), count, flags, no_timeout)
    };
    let taken = usize::try_from(taken).map_err(|_| io::Error::last_os_error())?;
    for (header, slot) in headers.iter().zip(&slots.0).take(taken) {
        let name_len = header.msg_hdr.msg_namelen;
        #[allow(clippy::unnecessary_cast, reason = "some C libraries have 32 bits for it")]
        let control_len = header.msg_hdr.msg_controllen as usize;
        let mut one = Ancillary {
            len: header.msg_len as usize,
            from: address_of(slot.name.get(..name_len as usize).unwrap_or_default()),
            ..Ancillary::default()
        };
        controls(slot.control.get(..control_len).unwrap_or_default(), &mut one);
        reported.push(one);
    }
    Ok(())
}

/// Hands messages to the kernel, at most [`BATCH`]; how many of them it took, at least one.
///
/// # Errors
/// Reason for which it did not take the first one.
pub fn send(
    socket: BorrowedFd<'_>,
    slots: &mut Slots,
    messages: &[Message<'_>],
) -> io::Result<usize> {
    // SAFETY: all bytes zero are a message without address, data and control messages.
    let mut headers: [libc::mmsghdr; BATCH] = unsafe { mem::zeroed() };
    let mut count: c_long = 0;
    for ((message, header), slot) in messages.iter().zip(&mut headers).zip(&mut slots.0) {
        slot.fill(message);
        let header = &mut header.msg_hdr;
        header.msg_name = slot.name.as_mut_ptr().cast();
        header.msg_namelen = slot.name_len as _;
        // An `IoSlice` has the layout of an `iovec`, as its documentation promises.
        header.msg_iov = message.parts.as_ptr().cast_mut().cast();
        header.msg_iovlen = message.parts.len() as _;
        if slot.control_len > 0 {
            header.msg_control = slot.control.as_mut_ptr().cast();
            header.msg_controllen = slot.control_len as _;
        }
        count += 1;
    }
    // SAFETY: each of the first `count` headers points to parts, a name and control messages of
    // the lengths that it states, which the call only reads and which live until it returns.
    let sent = unsafe {
        let flags = c_long::from(libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL);
        let socket = c_long::from(socket.as_raw_fd());
        libc::syscall(libc::SYS_sendmmsg, socket, headers.as_mut_ptr(), count, flags)
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Accepts datagrams of the same size and sender joined (UDP GRO).
///
/// # Errors
/// If the kernel is older than Linux 5.0.
pub fn accept_joined(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_option(socket, libc::SOL_UDP, libc::UDP_GRO, &c_int::from(true).to_ne_bytes())
}

/// Sets an option of a socket that is a number.
pub fn set_option(
    socket: BorrowedFd<'_>,
    level: c_int,
    name: c_int,
    value: &[u8],
) -> io::Result<()> {
    let (pointer, len) = (value.as_ptr().cast::<c_void>(), value.len() as libc::socklen_t);
    // SAFETY: the call reads `len` bytes at the pointer.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, pointer, len) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Reads an option of a socket into `value`; how many bytes it has.
pub fn option(
    socket: BorrowedFd<'_>,
    level: c_int,
    name: c_int,
    value: &mut [u8],
) -> io::Result<usize> {
    let (pointer, mut len) = (value.as_mut_ptr().cast::<c_void>(), value.len() as libc::socklen_t);
    // SAFETY: the call writes at most `len` bytes at the pointer, and how many into `len`.
    match unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, pointer, &raw mut len) } {
        0 => Ok(len as usize),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Slot {
    /// Writes address and control messages of a message.
    fn fill(&mut self, message: &Message<'_>) {
        self.name_len = write_address(message.to, &mut self.name);
        self.control_len = 0;
        let is_four = message.to.ip().to_canonical().is_ipv4();
        if message.class != 0 && is_four {
            self.control(libc::IPPROTO_IP, libc::IP_TOS, &c_int::from(message.class).to_ne_bytes());
        } else if message.class != 0 {
            let class = c_int::from(message.class).to_ne_bytes();
            self.control(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &class);
        }
        match message.from.map(|from| from.to_canonical()) {
            // `struct in_pktinfo`: interface, address to send from, and one that is not read.
            Some(IpAddr::V4(from)) => {
                let info = [[0; 4], from.octets(), [0; 4]];
                self.control(libc::IPPROTO_IP, libc::IP_PKTINFO, info.as_flattened());
            }
            // `struct in6_pktinfo`: address, interface.
            Some(IpAddr::V6(from)) => {
                let mut info = [0; 20];
                info[..16].copy_from_slice(&from.octets());
                self.control(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &info);
            }
            None => {}
        }
        if let Some(segment) = message.segment {
            self.control(libc::SOL_UDP, libc::UDP_SEGMENT, &segment.to_ne_bytes());
        }
    }

    /// Adds a control message: `struct cmsghdr` is a length, a level and a type.
    fn control(&mut self, level: c_int, kind: c_int, data: &[u8]) {
        let header = size_of::<libc::cmsghdr>();
        let at = self.control_len;
        let len = header + data.len();
        let end = at + aligned(len);
        let room = &mut self.control[at..end];
        room.fill(0);
        room[..size_of::<usize>()].copy_from_slice(&len.to_ne_bytes());
        room[header - 8..header - 4].copy_from_slice(&level.to_ne_bytes());
        room[header - 4..header].copy_from_slice(&kind.to_ne_bytes());
        room[header..len].copy_from_slice(data);
        self.control_len = end;
    }
}

/// Control messages begin at multiples of the size of a word.
const fn aligned(len: usize) -> usize {
    len.next_multiple_of(size_of::<usize>())
}

/// Reads control messages.
fn controls(mut bytes: &[u8], reported: &mut Ancillary) {
    let header = size_of::<libc::cmsghdr>();
    while let Some(len) = word(bytes) {
        let (Some(level), Some(kind)) = (int(bytes, header - 8), int(bytes, header - 4)) else {
            return;
        };
        let Some(data) = bytes.get(header..len) else { return };
        read_control(level, kind, data, reported);
        bytes = bytes.get(aligned(len)..).unwrap_or_default();
    }
}

fn read_control(level: c_int, kind: c_int, data: &[u8], reported: &mut Ancillary) {
    match (level, kind) {
        (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
            let halves = data.split_at_checked(size_of::<libc::timespec>() / 2);
            let parts = halves.and_then(|(seconds, rest)| Some((word(seconds)?, word(rest)?)));
            reported.stamp_ns = parts.map(|(s, ns)| s as u64 * 1_000_000_000 + ns as u64);
        }
        (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => reported.dropped = int(data, 0).map(|n| n as u32),
        (libc::SOL_UDP, libc::UDP_GRO) => {
            reported.segment = int(data, 0).and_then(|len| u16::try_from(len).ok());
        }
        (libc::IPPROTO_IP, libc::IP_TOS) => reported.class = data.first().copied(),
        (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => reported.class = int(data, 0).map(|n| n as u8),
        // `struct in_pktinfo`: interface, address to answer from, and the one in the header.
        (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
            let octets = data.get(4..).and_then(|data| data.first_chunk::<4>());
            reported.to = octets.map(|octets| Ipv4Addr::from(*octets).into());
        }
        (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
            reported.to = data.first_chunk::<16>().map(|octets| Ipv6Addr::from(*octets).into());
        }
        _ => {}
    }
}

/// The word of the kernel at the beginning.
fn word(bytes: &[u8]) -> Option<usize> {
    bytes.first_chunk().map(|word| usize::from_ne_bytes(*word))
}

fn int(bytes: &[u8], at: usize) -> Option<c_int> {
    bytes.get(at..)?.first_chunk().map(|int| c_int::from_ne_bytes(*int))
}

/// Writes a `sockaddr_in` or `sockaddr_in6`; its length.
fn write_address(address: SocketAddr, name: &mut [u8; NAME_BYTES]) -> usize {
    name.fill(0);
    name[2..4].copy_from_slice(&address.port().to_be_bytes());
    let (family, len) = match address {
        SocketAddr::V4(four) => {
            name[4..8].copy_from_slice(&four.ip().octets());
            (libc::AF_INET, size_of::<libc::sockaddr_in>())
        }
        SocketAddr::V6(six) => {
            name[4..8].copy_from_slice(&six.flowinfo().to_be_bytes());
            name[8..24].copy_from_slice(&six.ip().octets());
            name[24..28].copy_from_slice(&six.scope_id().to_ne_bytes());
            (libc::AF_INET6, NAME_BYTES)
        }
    };
    name[..2].copy_from_slice(&(family as libc::sa_family_t).to_ne_bytes());
    len
}

/// Reads a `sockaddr_in` or `sockaddr_in6`; `None` if it is neither.
fn address_of(name: &[u8]) -> Option<SocketAddr> {
    let family = c_int::from(libc::sa_family_t::from_ne_bytes(*name.first_chunk()?));
    let port = u16::from_be_bytes(*name.get(2..)?.first_chunk()?);
    match family {
        libc::AF_INET => {
            let ip = Ipv4Addr::from(*name.get(4..)?.first_chunk::<4>()?);
            Some(SocketAddrV4::new(ip, port).into())
        }
        libc::AF_INET6 => {
            let flow = u32::from_be_bytes(*name.get(4..)?.first_chunk()?);
            let ip = Ipv6Addr::from(*name.get(8..)?.first_chunk::<16>()?);
            let scope = u32::from_ne_bytes(*name.get(24..)?.first_chunk()?);
            Some(SocketAddrV6::new(ip, port, flow, scope).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slot() -> Slot {
        Slots::default().0.remove(0)
    }

    proptest! {
        #[test]
        fn an_address_is_read_as_it_was_written(six: bool, ip: [u8; 16], port: u16, scope: u32) {
            let address = match six {
                true => SocketAddrV6::new(ip.into(), port, 0, scope).into(),
                false => SocketAddr::from(([ip[0], ip[1], ip[2], ip[3]], port)),
            };
            let mut name = [0xff; NAME_BYTES];
            let len = write_address(address, &mut name);
            prop_assert_eq!(address_of(&name[..len]), Some(address));
        }

        #[test]
        fn any_control_messages_are_read(
            bytes in prop::collection::vec(any::<u8>(), 0..CONTROL_BYTES),
        ) {
            controls(&bytes, &mut Ancillary::default());
        }
    }

    /// A length of zero would never end.
    #[test]
    fn a_control_message_without_a_length_ends_the_list() {
        controls(&[0; CONTROL_BYTES], &mut Ancillary::default());
    }

    #[test]
    fn several_control_messages_stand_behind_each_other() {
        let (mut slot, mut reported) = (slot(), Ancillary::default());
        slot.control(libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &7u32.to_ne_bytes());
        slot.control(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &3u32.to_ne_bytes());
        let stamp = [2usize.to_ne_bytes(), 500usize.to_ne_bytes()];
        slot.control(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, stamp.as_flattened());
        controls(&slot.control[..slot.control_len], &mut reported);
        assert_eq!((reported.dropped, reported.class), (Some(7), Some(3)));
        assert_eq!(reported.stamp_ns, Some(2_000_000_500));
    }
}
