//! A stream of datagrams over RTP with GCC, beside `fairwave dccp relay` in `cargo xtask
//! bench-video`: `rtc-relay send 127.0.0.1:5004 HOST:PORT` takes datagrams of an application and
//! sends each as the payload of an RTP packet, paced by GCC; `rtc-relay receive PORT
//! 127.0.0.1:5004` passes them on in the order of their arrival, and returns feedback. An encoder
//! that follows GCC's target is not part of it: the application sends at a rate of its own, and the
//! pacer holds a datagram for at most two seconds. Prints the target once a second.

#![expect(clippy::print_stdout, reason = "its output is the log of a measurement")]

use fairwave_linux::clock::Clock;
use fairwave_machine::Machine;
use fairwave_rtc::gcc::Bounds;
use fairwave_rtc::gcc::trend::Threshold;
use fairwave_rtc::{Frame, Receiver, ReceiverConfig, Sender, SenderConfig, SenderInput};
use fairwave_units::{BitRate, Duration, Instant};
use fairwave_wire::rtp::Header;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};

const USAGE: &str = "usage: rtc-relay send APPLICATION HOST:PORT | receive PORT APPLICATION";
/// MPEG transport streams over RTP (RFC 3551 section 6).
const PAYLOAD_TYPE: u8 = 33;
/// Seven packets of a transport stream, as ffmpeg sends them.
const PAYLOAD_BYTES: u32 = 1316;
/// Between these rates GCC stays; libwebrtc starts at 300 kbps.
const BOUNDS: Bounds =
    Bounds { min: BitRate(50_000), start: BitRate(300_000), max: BitRate(4_000_000) };
/// Datagrams whose packets may wait in the pacer.
const MAX_WAITING: usize = 16_384;
const SECOND: Duration = Duration::from_secs(1);

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["send", application, peer] => send(application, peer),
        ["receive", port, application] => receive(port, application),
        _ => Err(USAGE.to_owned()),
    }
}

fn send(application: &str, peer: &str) -> Result<(), String> {
    let (application, net) = (bound(application)?, bound("0.0.0.0:0")?);
    let peer = peer.to_socket_addrs().map_err(|error| format!("{peer}: {error}"))?.next();
    let peer = peer.ok_or("the host has no address")?;
    let clock = Clock::start();
    let mut sender = Sender::new(SenderConfig {
        ssrc: 1,
        payload_type: PAYLOAD_TYPE,
        first_sequence: 0,
        payload_bytes: PAYLOAD_BYTES,
        bounds: BOUNDS,
        threshold: Threshold::Libwebrtc,
    });
    // Datagrams whose packets wait, and the number of the first.
    let (mut waiting, mut first) = (VecDeque::<Vec<u8>>::new(), 0);
    let mut next_line = Instant::ZERO + SECOND;
    loop {
        let deadline = sender.deadline().map_or(next_line, |at| at.min(next_line));
        wait(&[&application, &net], deadline.since(clock.now()))?;
        while let Some((datagram, _)) = taken(&application) {
            let now = clock.now();
            // 90 kHz is nine ticks in 100 us.
            let timestamp = (now.as_nanos() / 100_000 * 9) as u32;
            let bytes = datagram.len().min(PAYLOAD_BYTES as usize) as u64;
            sender.handle(now, SenderInput::Frame(Frame { bytes, timestamp }));
            waiting.push_back(datagram);
        }
        while let Some((feedback, _)) = taken(&net) {
            sender.handle(clock.now(), SenderInput::Feedback(feedback));
        }
        let now = clock.now();
        sender.wake(now);
        while let Some(packet) = sender.poll(now) {
            // The pacer keeps the order; numbers that it left out were dropped.
            while first < packet.unit {
                waiting.pop_front();
                first += 1;
            }
            let payload = waiting.pop_front().ok_or("a packet of no datagram")?;
            first += 1;
            // A network without carrier refuses it, or the kernel drops it.
            let _ = net.send_to(&[&packet.header.bytes()[..], &payload].concat(), peer);
        }
        while sender.event().is_some() {}
        if waiting.len() > MAX_WAITING {
            return Err(format!("{} datagrams wait", waiting.len()));
        }
        if now >= next_line {
            let stats = sender.stats();
            println!(
                "{now}: target {}, {} bytes wait, {} of {} packets reported missing",
                stats.target, stats.waiting_bytes, stats.missing, stats.packets
            );
            next_line = now + SECOND;
        }
    }
}

fn receive(port: &str, application: &str) -> Result<(), String> {
    let net = bound(&format!("0.0.0.0:{port}"))?;
    let out = bound("127.0.0.1:0")?;
    let clock = Clock::start();
    let mut receiver =
        Receiver::new(ReceiverConfig { ssrc: 2, interval: ReceiverConfig::INTERVAL });
    let mut peer = None;
    loop {
        let now = clock.now();
        wait(&[&net], receiver.deadline().map_or(SECOND, |at| at.since(now)))?;
        while let Some((datagram, from)) = taken(&net) {
            let Ok((header, payload)) = Header::parse(&datagram) else { continue };
            peer = Some(from);
            receiver.handle(clock.now(), header);
            // A player that is not there yet loses its datagrams.
            let _ = out.send_to(payload, application);
        }
        while receiver.event().is_some() {}
        let now = clock.now();
        receiver.wake(now);
        while let (Some(feedback), Some(peer)) = (receiver.poll(now), peer) {
            let _ = net.send_to(&feedback, peer);
        }
    }
}

fn bound(at: &str) -> Result<UdpSocket, String> {
    let fault = |error| format!("{at}: {error}");
    let socket = UdpSocket::bind(at).map_err(fault)?;
    socket.set_nonblocking(true).map_err(fault)?;
    Ok(socket)
}

/// Waits for a datagram at one of the sockets, at most so long.
fn wait(sockets: &[&UdpSocket], limit: Duration) -> Result<(), String> {
    let mut polled: Vec<PollFd<'_>> =
        sockets.iter().map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
    let ns = limit.as_nanos().cast_signed();
    let limit = Timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 };
    match poll(&mut polled, Some(&limit)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// The next datagram that has arrived.
fn taken(socket: &UdpSocket) -> Option<(Vec<u8>, SocketAddr)> {
    let mut bytes = vec![0; 2_048];
    loop {
        match socket.recv_from(&mut bytes) {
            Ok((length, from)) => {
                bytes.truncate(length);
                return Some((bytes, from));
            }
            // A port that is closed answers an earlier datagram.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_is_taken_with_its_sender() {
        let (a, b) = (bound("127.0.0.1:0").expect("a"), bound("127.0.0.1:0").expect("b"));
        a.send_to(b"frame", b.local_addr().expect("bound")).expect("sent");
        wait(&[&b], SECOND * 60).expect("it arrives");
        assert_eq!(taken(&b), Some((b"frame".to_vec(), a.local_addr().expect("bound"))));
        assert_eq!(taken(&b), None);
    }
}
