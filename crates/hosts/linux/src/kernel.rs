//! System calls that no crate offers in a safe form: the only file with exempt code.

#![allow(
    unsafe_code,
    reason = "ioctls of TUN devices, options and rings of packet sockets, unshare"
)]

pub mod datagrams;
pub mod tagged;

use rustix::ioctl::{IntegerSetter, Opcode, Updater, ioctl, opcode};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::thread::UnshareFlags;
use std::ffi::{c_int, c_uint};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

/// `TUNSETIFF`, `TUNSETOFFLOAD` and `TUNSETCARRIER` (Linux 4.20) of `linux/if_tun.h`.
const TUNSETIFF: Opcode = opcode::write::<c_int>(b'T', 202);
const TUNSETOFFLOAD: Opcode = opcode::write::<c_uint>(b'T', 208);
const TUNSETCARRIER: Opcode = opcode::write::<c_int>(b'T', 226);

/// Flags of `TUNSETIFF`: packets of IP or frames, nothing before them but a virtio header.
const IFF_TUN: i16 = 0x0001;
const IFF_TAP: i16 = 0x0002;
const IFF_NO_PI: i16 = 0x1000;
const IFF_VNET_HDR: i16 = 0x4000;

/// Task of a TUN's reader: checksums.
pub const TUN_F_CSUM: usize = 0x01;
/// Segmentation of TCP over IPv4 and IPv6.
pub const TUN_F_TSO: usize = 0x02 | 0x04;
/// Segmentation of UDP over IPv4 and IPv6 (Linux 6.2), which go together.
pub const TUN_F_USO: usize = 0x20 | 0x40;

/// `struct ifreq` with flags.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: i16,
    rest: [u8; 22],
}

/// Moves the calling thread (user namespaces: the process) into new namespaces.
pub fn unshare(flags: UnshareFlags) -> io::Result<()> {
    assert!(!flags.contains(UnshareFlags::FILES), "descriptors are shared by all threads");
    // SAFETY: all that this call can break is sharing of descriptors, which is excluded above.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Gives the calling thread, and its later threads, the default scheduling policy: under `chrt
/// --fifo` the emulator comes before all others, and two programs that never sleep would keep it
/// and the whole machine waiting if they inherited that.
pub fn be_ordinary() -> io::Result<()> {
    // SAFETY: all bytes zero are a priority of zero, which ordinary threads have.
    let ordinary: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the call reads one `sched_param`; 0 means the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const ordinary) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Attaches an open `/dev/net/tun` to a new device in the thread's network namespace.
pub fn create_tun(tun: impl AsFd, name: &str) -> io::Result<()> {
    attach(tun, name, IFF_TUN | IFF_NO_PI | IFF_VNET_HDR).map(drop)
}

/// The same for a device of whole frames, whose name has a number of the kernel's choice for `%d`;
/// the name.
pub fn create_tap(tap: impl AsFd, template: &str) -> io::Result<String> {
    attach(tap, template, IFF_TAP | IFF_NO_PI | IFF_VNET_HDR)
}

fn attach(tun: impl AsFd, name: &str, flags: i16) -> io::Result<String> {
    assert!(name.len() < 16, "the kernel's names have at most 15 bytes");
    let mut request = InterfaceRequest { name: [0; 16], flags, rest: [0; 22] };
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq`, which `request` is laid out as.
    unsafe { ioctl(tun, Updater::<TUNSETIFF, _>::new(&mut request)) }?;
    let name = request.name.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8(name.to_vec()).map_err(io::Error::other)
}

/// Sets the tasks that the kernel may leave to the reader of a TUN: a sum of `TUN_F_` flags.
pub fn set_tun_offload(tun: impl AsFd, flags: usize) -> io::Result<()> {
    // SAFETY: TUNSETOFFLOAD takes a number, no pointer.
    Ok(unsafe { ioctl(tun, IntegerSetter::<TUNSETOFFLOAD>::new_usize(flags)) }?)
}

/// Sets whether the device of a TUN has a carrier. [`crate::netlink::Netlink::settle`] has the
/// kernel act on that at once.
pub fn set_tun_carrier(tun: impl AsFd, has_carrier: bool) -> io::Result<()> {
    let mut value = c_int::from(has_carrier);
    // SAFETY: TUNSETCARRIER reads one int.
    Ok(unsafe { ioctl(tun, Updater::<TUNSETCARRIER, _>::new(&mut value)) }?)
}

/// A socket for all frames that arrive at an interface, with virtio headers, promiscuous.
pub fn packet_socket(interface: u32) -> io::Result<OwnedFd> {
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
    bind_packet_socket(&socket, interface, libc::ETH_P_ALL as u16)?;
    Ok(socket)
}

/// A socket that hands frames with virtio headers to an interface's driver, past its qdisc and
/// whatever is asked before that (packet(7), `PACKET_QDISC_BYPASS`), and receives none.
pub fn driver_socket(interface: u32) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
    set_option(&socket, libc::PACKET_VNET_HDR, &1_i32)?;
    set_option(&socket, PACKET_QDISC_BYPASS, &1_i32)?;
    bind_packet_socket(&socket, c_int::try_from(interface).map_err(io::Error::other)?, 0)?;
    Ok(socket)
}

/// Of `linux/if_packet.h`.
const PACKET_QDISC_BYPASS: c_int = 20;

/// A socket for the frames of one EtherType that arrive at an interface.
///
/// It asks for all types and has the kernel filter them: a socket for one type is not served where
/// the interface is a port of a bridge.
pub fn ether_socket(interface: u32, ether_type: u16) -> io::Result<(OwnedFd, FrameRing)> {
    let socket = typed_socket(ether_type)?;
    let ring = FrameRing::attach(&socket)?;
    let interface = c_int::try_from(interface).map_err(io::Error::other)?;
    bind_packet_socket(&socket, interface, libc::ETH_P_ALL as u16)?;
    Ok((socket, ring))
}

/// The same without a ring, for whole frames of any length, which [`tagged::receive`] reads.
pub fn whole_frame_socket(interface: u32, ether_type: u16) -> io::Result<OwnedFd> {
    let socket = typed_socket(ether_type)?;
    set_option(&socket, libc::PACKET_AUXDATA, &1_i32)?;
    let interface = c_int::try_from(interface).map_err(io::Error::other)?;
    bind_packet_socket(&socket, interface, libc::ETH_P_ALL as u16)?;
    Ok(socket)
}

/// A socket that is not bound yet, for frames of one EtherType, behind up to two VLAN tags. The
/// kernel has taken the outer tag off before it asks the filter.
fn typed_socket(ether_type: u16) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
    set_option(&socket, libc::PACKET_IGNORE_OUTGOING, &1_i32)?;
    // Classic BPF: load the half-word at 12, and that at 16 if the first is the type of a tag;
    // unless it is the wanted type, skip one; accept; drop.
    let steps = [
        step(0x28, 0, 12),
        libc::sock_filter { code: 0x15, jt: 1, jf: 0, k: libc::ETH_P_8021Q as u32 },
        step(0x15, 1, libc::ETH_P_8021AD as u32),
        step(0x28, 0, 16),
        step(0x15, 1, u32::from(ether_type)),
        step(0x06, 0, u32::from(u16::MAX)),
        step(0x06, 0, 0),
    ];
    attach_filter(&socket, &steps)?;
    Ok(socket)
}

/// Has the kernel drop the packets that arrive at a raw socket of IP for other ports. The protocol
/// has its destination port where TCP, UDP, DCCP and SCTP have it, in the third and fourth byte.
///
/// # Errors
/// If the kernel refuses the filter.
pub fn accept_port(socket: &OwnedFd, is_ipv4: bool, port: u16) -> io::Result<()> {
    // Classic BPF, over a packet that begins with its header in IPv4, and behind it in IPv6: load
    // the header's length, and the half-word at 2 behind it; or that at 2 alone.
    let header = [step(0xb1, 0, 0), step(0x48, 0, 2)];
    let load = if is_ipv4 { &header[..] } else { &[step(0x28, 0, 2)] };
    let rest = [step(0x15, 1, u32::from(port)), step(0x06, 0, u32::MAX), step(0x06, 0, 0)];
    attach_filter(socket, &[load, &rest].concat())
}

/// A step of a program in classic BPF; `jf` is the number of steps to skip where it compares two
/// values that differ.
const fn step(code: u16, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt: 0, jf, k }
}

/// Attaches a program in classic BPF to a socket (`SO_ATTACH_FILTER`).
fn attach_filter(socket: &OwnedFd, steps: &[libc::sock_filter]) -> io::Result<()> {
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
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Bytes of a slot of a [`FrameRing`], of which the kernel's header takes 66 before the frame.
const SLOT: usize = 256;
/// The kernel allocates a ring in blocks, each of which is a multiple of any page size.
const BLOCK: usize = 1 << 16;
const BLOCKS: usize = 4;
const SLOTS: usize = BLOCKS * BLOCK / SLOT;

/// Frames that wait at a packet socket, in memory that the kernel writes: reading one is no system
/// call (packet(7), `PACKET_RX_RING` with `TPACKET_V2`). Frames over 190 bytes are cut. While 1024
/// wait, more are lost.
#[derive(Debug)]
pub struct FrameRing {
    memory: NonNull<u8>,
    /// The slot that is read next.
    next: usize,
}

// SAFETY: the memory is this value's alone, but for the kernel, with which the status of each slot
// is agreed.
unsafe impl Send for FrameRing {}

impl FrameRing {
    /// Gives a socket a ring, before it is bound. From then on its frames come by that alone.
    fn attach(socket: &OwnedFd) -> io::Result<Self> {
        set_option(socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as c_int))?;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as c_uint,
            tp_block_nr: BLOCKS as c_uint,
            tp_frame_size: SLOT as c_uint,
            tp_frame_nr: SLOTS as c_uint,
        };
        set_option(socket, libc::PACKET_RX_RING, &request)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let fd = socket.as_raw_fd();
        // SAFETY: a new mapping at an address of the kernel's choice touches no other memory.
        let memory = unsafe {
            libc::mmap(ptr::null_mut(), BLOCKS * BLOCK, protection, libc::MAP_SHARED, fd, 0)
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { memory, next: 0 })
    }

    /// Takes the next frame, cut to the buffer; returns its length there.
    pub fn take(&mut self, buffer: &mut [u8]) -> Option<usize> {
        debug_assert!(self.next < SLOTS, "slot {}", self.next);
        // SAFETY: `next` is below SLOTS, and the mapping has that many slots.
        let slot = unsafe { self.memory.add(self.next * SLOT) };
        let header: *mut libc::tpacket2_hdr = slot.as_ptr().cast();
        // SAFETY: each slot begins with such a header, aligned to 16; the kernel and this process
        // both write its status as a whole.
        let status = unsafe { AtomicU32::from_ptr(&raw mut (*header).tp_status) };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the status says that the slot is ours: the kernel writes nothing until it is
        // given back.
        let (begin, length) = unsafe { ((*header).tp_mac, (*header).tp_snaplen) };
        let begin = usize::from(begin).min(SLOT);
        let length = (length as usize).min(SLOT - begin).min(buffer.len());
        // SAFETY: `begin + length` is within the slot, `length` within the buffer, and no mapping
        // of the kernel's is part of a buffer of ours.
        unsafe { ptr::copy_nonoverlapping(slot.as_ptr().add(begin), buffer.as_mut_ptr(), length) };
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % SLOTS;
        Some(length)
    }
}

impl Drop for FrameRing {
    fn drop(&mut self) {
        // SAFETY: address and length are those of the mapping, and nobody has a pointer into it.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), BLOCKS * BLOCK) };
    }
}

/// With the protocol 0 nothing is received.
fn bind_packet_socket(socket: &OwnedFd, interface: c_int, protocol: u16) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: protocol.to_be(),
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
pub fn become_realtime(priority: c_int) -> io::Result<()> {
    // SAFETY: it is integers alone, of which musl has more than glibc.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the kernel only reads `parameters`, which lives through the call; 0 is this thread.
    let set =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const parameters) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
