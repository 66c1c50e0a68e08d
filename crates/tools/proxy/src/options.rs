//! Options of TCP sockets.

use fairwave_units::BitRate;
use nix::sys::socket::{GetSockOpt, SetSockOpt, sockopt::GetStruct, sockopt::SetStruct};
use socket2::SockRef;
use std::io;
use std::os::fd::AsFd;
use tokio::net::TcpStream;

/// Maximum number of unsent bytes in the send buffer of a leg that may have a target. It bounds the
/// queue of a flow whose receiver is slower than its sender.
const UNSENT_BYTES: u32 = 128 << 10;

#[derive(Clone, Copy, Debug)]
struct MaxPacingRate;
nix::setsockopt_impl!(
    MaxPacingRate,
    libc::SOL_SOCKET,
    libc::SO_MAX_PACING_RATE,
    u64,
    SetStruct<'_, u64>
);

#[derive(Clone, Copy, Debug)]
struct TcpInfo;
nix::getsockopt_impl!(TcpInfo, libc::IPPROTO_TCP, libc::TCP_INFO, Info, GetStruct<Info>);

/// First fields of `struct tcp_info` of linux/tcp.h; the kernel fills as many bytes as are
/// requested.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Info {
    state: [u8; 3],
    probes: u8,
    options: [u8; 4],
    sizes: [u32; 4],
    unacked: u32,
    counters: [u32; 19],
    pacing: [u64; 2],
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
}

/// Window probes without an answer after which a peer counts as silent. One may be lost.
const PROBES: u8 = 4;

/// Limits the unsent bytes in the send buffer of a leg that may have a target.
pub(crate) fn bound_unsent(leg: &TcpStream) -> io::Result<()> {
    SockRef::from(leg).set_tcp_notsent_lowat(UNSENT_BYTES)
}

/// Limits the kernel's sending rate; `None` removes the limit.
pub(crate) fn set_max_pacing(socket: &impl AsFd, rate: Option<BitRate>) -> io::Result<()> {
    let bytes_per_second = rate.map_or(u64::MAX, |rate| (rate.0 / 8).max(1));
    Ok(MaxPacingRate.set(socket, &bytes_per_second)?)
}

/// Bytes of payload that the peer has acknowledged since the connection began.
pub(crate) fn acked_bytes(socket: &impl AsFd) -> io::Result<u64> {
    Ok(TcpInfo.get(socket)?.bytes_acked)
}

/// Segments of any kind that the peer has sent, and whether it owes an ACK: of data, or of window
/// probes, which a receiver that does not read answers for as long as it lives.
pub(crate) fn heard(socket: &impl AsFd) -> io::Result<(u32, bool)> {
    let info = TcpInfo.get(socket)?;
    Ok((info.segs_in, info.unacked > 0 || info.probes >= PROBES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::{Domain, Socket, Type};

    #[test]
    fn the_kernel_takes_the_options() {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        set_max_pacing(&socket, Some(BitRate::mbps(5))).expect("a rate");
        set_max_pacing(&socket, None).expect("no rate");
        assert_eq!(acked_bytes(&socket).expect("a count"), 0);
    }
}
