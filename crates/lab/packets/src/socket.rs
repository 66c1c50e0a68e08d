//! Sockets as scripts set them up, and the settings of their namespace.

use crate::settings::Settings;
use crate::world::Played;
use fairwave_tcp::Config;
use nix::sys::socket::{setsockopt, sockopt::SetStruct, sockopt::TcpMaxSeg};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, accept_with, bind, connect, ipproto, listen,
    socket_with, sockopt,
};
use std::fmt::Display;
use std::fs;
use std::net::SocketAddr;

/// `SO_RCVLOWAT`: how many bytes must wait before the application is woken.
#[derive(Clone, Copy, Debug)]
struct LowWater;

nix::setsockopt_impl!(LowWater, libc::SOL_SOCKET, libc::SO_RCVLOWAT, i32, SetStruct<i32>);

const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);
/// Bytes that a script may write at once, where it says nothing of the send buffer.
const SEND_BUFFER: usize = 200_000;

/// Bytes more than any script sends.
const LOW_WATER: i32 = 50_000;

/// A socket in the namespace of the calling thread, that connects to `peer` or else listens.
pub(crate) fn open(
    settings: &Settings,
    own: SocketAddr,
    peer: Option<SocketAddr>,
) -> Played<OwnedFd> {
    let config = &settings.config;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, FLAGS, Some(ipproto::TCP));
    let socket = socket.map_err(refused("a socket"))?;
    sockopt::set_socket_reuseaddr(&socket, true).map_err(refused("SO_REUSEADDR"))?;
    sockopt::set_tcp_congestion(&socket, algorithm(&settings.algorithm))
        .map_err(refused("TCP_CONGESTION"))?;
    sockopt::set_tcp_nodelay(&socket, !config.nagle).map_err(refused("TCP_NODELAY"))?;
    setsockopt(&socket, TcpMaxSeg, &u32::from(config.mss)).map_err(refused("TCP_MAXSEG"))?;
    let send =
        if settings.gives("send_buffer") { config.send_buffer as usize } else { SEND_BUFFER };
    sockopt::set_socket_send_buffer_size(&socket, send).map_err(refused("SO_SNDBUF"))?;
    if config.receive_buffer_max.is_none() {
        let bytes = config.receive_buffer as usize;
        let set = sockopt::set_socket_recv_buffer_size_force(&socket, bytes);
        set.map_err(refused("SO_RCVBUFFORCE"))?;
    }
    if !settings.gives("receive_buffer") {
        // Linux delays ACKs while data waits that the application was woken for, and scripts
        // hardly read.
        setsockopt(&socket, LowWater, &LOW_WATER).map_err(refused("SO_RCVLOWAT"))?;
    }
    bind(&socket, &own).map_err(refused("bind"))?;
    match peer {
        None => listen(&socket, 8).map_err(refused("listen"))?,
        Some(peer) => match connect(&socket, &peer) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(errno) => return Err(refused("connect")(errno)),
        },
    }
    Ok(socket)
}

/// The connection of a listener, if there is one.
pub(crate) fn accept(listener: &OwnedFd) -> Played<Option<OwnedFd>> {
    match accept_with(listener, FLAGS) {
        Ok(socket) => Ok(Some(socket)),
        Err(Errno::AGAIN) => Ok(None),
        Err(errno) => Err(refused("accept")(errno)),
    }
}

/// The kernel's name of an algorithm: its Reno recovers as NewReno does.
fn algorithm(name: &str) -> &str {
    if name == "newreno" { "reno" } else { name }
}

fn refused<E: Display>(what: &'static str) -> impl Fn(E) -> String {
    move |error| format!("the kernel refused {what}: {error}")
}

/// Settings of a namespace that follow a configuration, below `net/ipv4`.
pub(crate) fn sysctls(config: &Config) -> Vec<(&'static str, String)> {
    let on = |on: bool| u8::from(on).to_string();
    let max_rto = config.max_rto.as_millis().clamp(1_000, 120_000);
    let scale_free = config.receive_buffer.min(0xffff);
    vec![
        ("tcp_sack", on(config.sack)),
        ("tcp_dsack", on(config.dsack)),
        ("tcp_timestamps", on(config.timestamps)),
        ("tcp_window_scaling", on(config.window_scaling)),
        ("tcp_ecn", if config.ecn { "1" } else { "0" }.to_owned()),
        ("tcp_recovery", on(config.rack)),
        ("tcp_early_retrans", if config.rack { "3" } else { "0" }.to_owned()),
        ("tcp_frto", if config.frto { "2" } else { "0" }.to_owned()),
        ("tcp_rto_min_us", (config.min_rto.as_nanos() / 1_000).to_string()),
        ("tcp_rto_max_ms", max_rto.to_string()),
        ("tcp_retries2", config.max_retries.min(255).to_string()),
        ("tcp_slow_start_after_idle", on(config.slow_start_after_idle)),
        ("tcp_challenge_ack_limit", config.challenge_acks.to_string()),
        ("tcp_no_metrics_save", "1".to_owned()),
        ("tcp_no_ssthresh_metrics_save", "0".to_owned()),
        ("tcp_invalid_ratelimit", "0".to_owned()),
        ("tcp_autocorking", "0".to_owned()),
        ("tcp_rmem", format!("4096 {} 6291456", 2 * scale_free.max(2_048))),
    ]
}

/// Applies settings in the namespace of the calling thread.
pub(crate) fn apply(sysctls: &[(&'static str, String)]) -> Played<()> {
    for (key, value) in sysctls {
        let path = format!("/proc/sys/net/ipv4/{key}");
        fs::write(path, value).map_err(refused(key))?;
    }
    Ok(())
}
