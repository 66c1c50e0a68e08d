//! Options of TCP connections whose bytes a program relays.

use rustix::fd::AsFd;
use socket2::{SockRef, TcpKeepalive};
use std::io;
use std::time::Duration;

/// Keep-alive: idle time before the first probe, time between probes, and number of probes.
const KEEP_ALIVE: (Duration, Duration, u32) = (Duration::from_secs(60), Duration::from_secs(15), 4);

/// Sets the options of a relayed connection: no Nagle delay, as bytes come in pieces of which none
/// has to wait for the next, and keep-alive, which detects a peer that vanished within 2 minutes.
///
/// # Errors
/// If the kernel refuses an option, as for a connection that is over.
pub fn prepare_relayed(connection: &impl AsFd) -> io::Result<()> {
    let (silence, again, times) = KEEP_ALIVE;
    let keep_alive =
        TcpKeepalive::new().with_time(silence).with_interval(again).with_retries(times);
    let socket = SockRef::from(connection);
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_keepalive(&keep_alive)
}

/// Makes a connection end with a reset when it is closed, also by the end of the process.
pub fn reset_on_close(connection: &impl AsFd) {
    // A socket that the peer has already reset needs no reset.
    let _ = SockRef::from(connection).set_linger(Some(Duration::ZERO));
}

/// Makes the kernel still deliver the data of a connection that is closed.
pub fn keep_on_close(connection: &impl AsFd) {
    // A socket that the peer has already reset delivers nothing.
    let _ = SockRef::from(connection).set_linger(None);
}
