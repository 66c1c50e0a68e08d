//! Frames of a packet socket together with the VLAN tag that the kernel has taken off them.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};

/// Bytes of both addresses of Ethernet, behind which a tag stands.
const ADDRESSES: usize = 12;
/// Bytes of a tag (IEEE 802.1Q clause 9).
const TAG: usize = 4;

/// Room for one `struct tpacket_auxdata` and its header, aligned as the kernel's headers are.
#[repr(C, align(8))]
struct Control([MaybeUninit<u8>; 64]);

/// Receives a frame from a packet socket with `PACKET_AUXDATA`, its outer VLAN tag back in its
/// place. Returns the length of the frame. One that does not fit into the buffer without its last
/// four bytes is cut. Does not block.
pub fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    let Some(behind) = buffer.get_mut(TAG..) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut control = Control([MaybeUninit::uninit(); 64]);
    let mut part = libc::iovec { iov_base: behind.as_mut_ptr().cast(), iov_len: behind.len() };
    // SAFETY: all bytes zero are a message without address, parts and control data.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = size_of::<Control>() as _;
    // SAFETY: the part and the control buffer live through the call and have the lengths given.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    let Some(tag) = tag(&message).filter(|_| length >= ADDRESSES) else {
        buffer.copy_within(TAG..TAG + length, 0);
        return Ok(length);
    };
    buffer.copy_within(TAG..TAG + ADDRESSES, 0);
    buffer[ADDRESSES..ADDRESSES + TAG].copy_from_slice(&tag);
    Ok(TAG + length)
}

/// The outer tag of a frame that has just been received.
fn tag(message: &libc::msghdr) -> Option<[u8; TAG]> {
    // SAFETY: the kernel has written the control data of this message and their length.
    let first = unsafe { libc::CMSG_FIRSTHDR(message).as_ref() }?;
    let length = size_of::<libc::tpacket_auxdata>();
    // SAFETY: this computes a length.
    let whole = unsafe { libc::CMSG_LEN(length as u32) } as usize;
    let is_meant = (first.cmsg_level, first.cmsg_type) == (libc::SOL_PACKET, libc::PACKET_AUXDATA);
    if !is_meant || (first.cmsg_len as usize) < whole {
        return None;
    }
    // SAFETY: data of this kind and of at least this length follow the header.
    let about: libc::tpacket_auxdata =
        unsafe { std::ptr::read_unaligned(libc::CMSG_DATA(first).cast()) };
    if about.tp_status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let has_type = about.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    let kind = if has_type { about.tp_vlan_tpid } else { libc::ETH_P_8021Q as u16 };
    let ([a, b], [c, d]) = (kind.to_be_bytes(), about.tp_vlan_tci.to_be_bytes());
    Some([a, b, c, d])
}
