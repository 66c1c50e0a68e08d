//! The ends of flows, with a thread for each.

use super::counter::Counter;
use super::is_transient;
use super::message::Protocol;
use super::path::Sender;
use super::udp::{Arrived, Datagrams};
use fairwave_linux::congestion;
use fairwave_units::Duration;
use nix::sys::socket::{setsockopt, sockopt};
use rustix::net::sockopt::{set_socket_linger, tcp_congestion};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;

nix::setsockopt_impl!(
    MaxPacingRate,
    libc::SOL_SOCKET,
    libc::SO_MAX_PACING_RATE,
    u64,
    sockopt::SetStruct<u64>
);

/// The option `SO_MAX_PACING_RATE`, in bytes per second.
#[derive(Clone, Copy, Debug)]
struct MaxPacingRate;

/// Period at which an end checks the time while nothing is sent or received.
const LOOK: std::time::Duration = std::time::Duration::from_millis(50);
/// Bytes per system call.
const CHUNK: usize = 128 << 10;
/// Datagrams that are due within this time are sent together.
const PACE: Duration = Duration::from_micros(500);

/// Sets the options of a flow's connection. Returns the congestion control algorithm, if this end
/// is the sender.
///
/// # Errors
/// If the kernel refuses the algorithm ([`io::ErrorKind::NotFound`] if it has none of this name) or
/// another option.
pub(super) fn prepare(
    stream: &TcpStream,
    protocol: &Protocol,
    is_sender: bool,
) -> io::Result<Option<String>> {
    // Data that is still queued at the end must not disturb the next repetition.
    set_socket_linger(stream, Some(std::time::Duration::ZERO))?;
    stream.set_write_timeout(Some(LOOK))?;
    stream.set_read_timeout(Some(LOOK))?;
    let Protocol::Tcp { algorithm, rate_bps, buffer_bytes } = protocol else { return Ok(None) };
    if let Some(bytes) = buffer_bytes.map(|bytes| bytes as usize) {
        // The kernel may silently set a smaller buffer.
        setsockopt(stream, sockopt::SndBuf, &bytes)?;
        setsockopt(stream, sockopt::RcvBuf, &bytes)?;
    }
    if !is_sender {
        return Ok(None);
    }
    if let Some(algorithm) = algorithm {
        congestion::set(stream, algorithm)?;
    }
    if let Some(bps) = rate_bps {
        setsockopt(stream, MaxPacingRate, &bps.div_ceil(8))?;
    }
    Ok(tcp_congestion(stream).ok())
}

/// Runs one end of a flow on a thread, if the end exists.
pub(super) fn spawn<T: Send + 'static>(
    counter: &Arc<Counter>,
    end: Option<T>,
    run: impl FnOnce(T, &Counter) + Send + 'static,
) {
    let Some(end) = end else { return counter.break_off() };
    let theirs = Arc::clone(counter);
    if thread::Builder::new().spawn(move || run(end, &theirs)).is_err() {
        counter.break_off();
    }
}

/// Sends until the end of the window.
pub(super) fn send(mut stream: &TcpStream, counter: &Counter) {
    let chunk = vec![0; CHUNK];
    counter.begin();
    while counter.goes_on() {
        counter.sample_tcp(|| Sender::of(stream));
        match stream.write(&chunk) {
            Ok(bytes) => counter.count(bytes),
            Err(error) if is_transient(&error) => {}
            Err(_) => return counter.ended(),
        }
    }
    counter.sample_tcp(|| Sender::of(stream));
}

/// Receives until the end of the window.
pub(super) fn receive(mut stream: &TcpStream, counter: &Counter) {
    let mut chunk = vec![0; CHUNK];
    counter.begin();
    while counter.goes_on() {
        match stream.read(&mut chunk) {
            Ok(0) => return counter.ended(),
            Ok(bytes) => counter.count(bytes),
            Err(error) if is_transient(&error) => {}
            Err(_) => return counter.ended(),
        }
    }
}

/// Sends datagrams at a constant rate until the end of the window.
pub(super) fn send_datagrams(datagrams: &mut Datagrams, rate_bps: u64, counter: &Counter) {
    counter.begin();
    let mut number = 0;
    while counter.goes_on() {
        let now = counter.window.clock.now();
        let since = now.since(counter.window.begin) + PACE;
        let due = u128::from(since.as_nanos()) * u128::from(rate_bps) / 8_000_000_000;
        while u128::from(number) * (Datagrams::BYTES as u128) < due && number < u32::MAX - 1 {
            // A datagram for which the kernel has no memory is lost like any other.
            let sent_ns = counter.window.clock.now().as_nanos();
            if datagrams.send(number, sent_ns).is_ok() {
                counter.count(Datagrams::BYTES);
            }
            number += 1;
        }
        counter.window.clock.wait_until(now + PACE);
    }
}

/// Receives datagrams until the end of the window.
pub(super) fn receive_datagrams(datagrams: &mut Datagrams, counter: &Counter) {
    counter.begin();
    while counter.goes_on() {
        if let Some(Arrived { number, bytes, sent_ns }) = datagrams.receive(LOOK) {
            counter.count_datagram(number, bytes, sent_ns);
        }
    }
}
