//! System calls that no crate offers in a safe form: the only file with exempt code.

#![allow(unsafe_code, reason = "ioctls of TUN devices, options of packet sockets, unshare")]

use rustix::ioctl::{IntegerSetter, Opcode, Updater, ioctl, opcode};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::thread::UnshareFlags;
use std::ffi::{c_int, c_uint};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// `TUNSETIFF` and `TUNSETOFFLOAD` of `linux/if_tun.h`.
const TUNSETIFF: Opcode = opcode::write::<c_int>(b'T', 202);
const TUNSETOFFLOAD: Opcode = opcode::write::<c_uint>(b'T', 208);

/// Flags of `TUNSETIFF`: packets of IP, nothing before them but a virtio header.
const IFF_TUN: i16 = 0x0001;
const IFF_NO_PI: i16 = 0x1000;
const IFF_VNET_HDR: i16 = 0x4000;

/// What the reader of a TUN takes upon itself: checksums.
pub(crate) const TUN_F_CSUM: usize = 0x01;
/// Segmentation of TCP over IPv4 and IPv6.
pub(crate) const TUN_F_TSO: usize = 0x02 | 0x04;
/// Segmentation of UDP over IPv4 and IPv6 (Linux 6.2), which go together.
pub(crate) const TUN_F_USO: usize = 0x20 | 0x40;

/// `struct ifreq` with flags.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: i16,
    rest: [u8; 22],
}

/// Moves the calling thread (user namespaces: the process) into new namespaces.
pub(crate) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    assert!(!flags.contains(UnshareFlags::FILES), "descriptors are shared by all threads");
    // SAFETY: all that this call can break is sharing of descriptors, which is excluded above.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Makes the calling thread, and what it will start, one among others for the scheduler: under
/// `chrt --fifo` the emulator comes before all others, and two programs that never sleep would keep
/// it and the whole machine waiting if they inherited that.
pub(crate) fn be_ordinary() -> io::Result<()> {
    // SAFETY: all bytes zero are a priority of zero, which ordinary threads have.
    let ordinary: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the call reads one `sched_param`; 0 means the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const ordinary) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Attaches an open `/dev/net/tun` to a new device in the thread's network namespace.
pub(crate) fn create_tun(tun: impl AsFd, name: &str) -> io::Result<()> {
    assert!(name.len() < 16, "the kernel's names have at most 15 bytes");
    let flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
    let mut request = InterfaceRequest { name: [0; 16], flags, rest: [0; 22] };
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq`, which `request` is laid out as.
    Ok(unsafe { ioctl(tun, Updater::<TUNSETIFF, _>::new(&mut request)) }?)
}

/// Says what the kernel may leave to the reader of a TUN: a sum of `TUN_F_` flags.
pub(crate) fn set_tun_offload(tun: impl AsFd, flags: usize) -> io::Result<()> {
    // SAFETY: TUNSETOFFLOAD takes a number, no pointer.
    Ok(unsafe { ioctl(tun, IntegerSetter::<TUNSETOFFLOAD>::new_usize(flags)) }?)
}

/// A socket for all frames that arrive at an interface, with virtio headers, promiscuous.
pub(crate) fn packet_socket(interface: u32) -> io::Result<OwnedFd> {
    // With a protocol given here, frames of all interfaces would come until it is bound.
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
    let interface = c_int::try_from(interface).map_err(io::Error::other)?;
    set_option(&socket, libc::PACKET_VNET_HDR, &1_i32)?;
    set_option(&socket, libc::PACKET_IGNORE_OUTGOING, &1_i32)?;
    let promiscuous = libc::packet_mreq {
        mr_ifindex: interface,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set_option(&socket, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)?;
    bind_packet_socket(&socket, interface)?;
    Ok(socket)
}

/// A socket for the frames of one EtherType that arrive at an interface.
///
/// It asks for all types and has the kernel filter them: a socket for one type is not served where
/// the interface is a port of a bridge.
pub(crate) fn ether_socket(interface: u32, ether_type: u16) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
    let interface = c_int::try_from(interface).map_err(io::Error::other)?;
    set_option(&socket, libc::PACKET_IGNORE_OUTGOING, &1_i32)?;
    let step = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
    // Classic BPF: load the half-word at 12; unless it is the type, skip one; accept; drop.
    let steps = [
        step(0x28, 0, 12),
        step(0x15, 1, u32::from(ether_type)),
        step(0x06, 0, u32::from(u16::MAX)),
        step(0x06, 0, 0),
    ];
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_ptr().cast_mut() };
    let length = size_of::<libc::sock_fprog>() as libc::socklen_t;
    // SAFETY: pointer and length are those of `program`; the kernel copies it and its steps, which
    // live through the call, and writes neither.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            length,
        )
    };
    if set != 0 {
        return Err(io::Error::last_os_error());
    }
    bind_packet_socket(&socket, interface)?;
    Ok(socket)
}

fn bind_packet_socket(socket: &OwnedFd, interface: c_int) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        sll_ifindex: interface,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of `address`, which lives through the call.
    let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if bound == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets an option of a packet socket. `T` is the type that packet(7) names for the option.
fn set_option<T: Copy>(socket: &OwnedFd, option: c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    let value: *const T = value;
    // SAFETY: the pointer and the length are those of `value`, which the kernel only reads.
    let set = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, value.cast(), length)
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Gives the calling thread a real-time priority, which threads and processes that it starts do
/// not inherit.
pub(crate) fn become_realtime(priority: c_int) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the kernel only reads `parameters`, which lives through the call; 0 is this thread.
    let set =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const parameters) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
