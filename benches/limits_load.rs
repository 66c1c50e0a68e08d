//! Loads from node to node for measuring the capacity.

use fairwave_linux::clock::Clock;
use fairwave_netns::Namespaces;
use fairwave_units::{Duration, Instant};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// Length of a load.
pub(crate) const LASTS: Duration = Duration::from_millis(500);
/// Interval between the sender's bursts: each has the packets that became due in such an interval.
const TICK: Duration = Duration::from_micros(200);
/// Port of the receiver.
const PORT: u16 = 5001;
/// Bytes of IPv4 and UDP headers.
const HEADERS: usize = 28;
/// Payload of a full segment with timestamps.
const SEGMENT: f64 = 1448.0;
/// Bytes in each write of a TCP sender.
const WRITE: usize = 16 << 10;
/// Size of the receive buffer for data that the receiver has not read yet.
const RECEIVE_BUFFER: usize = 32 << 20;

/// A load. Its unit is a datagram, or a byte of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Load {
    Datagrams { payload: usize },
    Stream,
}

/// Units that were offered, sent and received.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sent {
    pub(crate) seconds: f64,
    /// Units that the rate requires.
    pub(crate) asked: f64,
    pub(crate) units: f64,
    pub(crate) arrived: f64,
}

impl Load {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Datagrams { payload } => format!("UDP, {} B", payload + HEADERS),
            Self::Stream => "one TCP".to_owned(),
        }
    }

    /// Converts units to packets.
    pub(crate) fn packets(self, units: f64) -> f64 {
        match self {
            Self::Datagrams { .. } => units,
            Self::Stream => units / SEGMENT,
        }
    }

    /// Converts units per second to megabits per second of IP packets, or of a stream.
    pub(crate) fn mbps(self, units: f64) -> f64 {
        match self {
            Self::Datagrams { payload } => units * 8e-6 * (payload + HEADERS) as f64,
            Self::Stream => units * 8e-6,
        }
    }

    /// Sending time of a packet of this load, by [`Clock::now`] of the sender's clock; `None` for a
    /// stream, and for packets that do not belong to the load.
    pub(crate) fn stamp(self, packet: &[u8]) -> Option<Instant> {
        let Self::Datagrams { payload } = self else { return None };
        // Devices also send packets such as ICMPv6. The record of a packet may contain only its
        // head.
        let is_ours = packet.first() == Some(&0x45) && packet.get(9) == Some(&17);
        let total = u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]);
        if !is_ours || usize::from(total) != payload + HEADERS {
            return None;
        }
        let stamp = packet.get(HEADERS..)?.first_chunk::<8>()?;
        Some(Instant::from_nanos(u64::from_le_bytes(*stamp)))
    }

    /// Sends `rate` units a second from the first node to the second, whose address is `to`. Units
    /// that arrive until 20 ms after the end count. Datagrams carry their sending times by the
    /// clock `stamps`.
    pub(crate) fn send(
        self,
        namespaces: &Namespaces,
        to: Ipv4Addr,
        rate: f64,
        stamps: Clock,
    ) -> Result<Sent, String> {
        let (mut write, mut read) = self.connect(namespaces, to, stamps)?;
        let (arrived, over) = (AtomicU64::new(0), AtomicBool::new(false));
        let clock = Clock::start();
        thread::scope(|scope| {
            // A thread of its own reads: a sender that also read would be late with its bursts.
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    arrived.fetch_add(read(), Ordering::Relaxed);
                }
            });
            let mut units = 0;
            let mut elapsed = Duration::ZERO;
            while elapsed < LASTS {
                let due = (rate * elapsed.as_secs_f64()) as u64;
                // Writes may block, so the end of the load is checked within a burst too.
                while units < due && clock.now().as_nanos() < LASTS.as_nanos() {
                    units += write();
                }
                clock.sleep_until(clock.now() + TICK);
                elapsed = Duration::from_nanos(clock.now().as_nanos());
            }
            let seconds = elapsed.as_secs_f64();
            // Time for packets in flight. It is short, so that a queue of a tenth of a second
            // counts as loss.
            clock.sleep_until(clock.now() + Duration::from_millis(20));
            let arrived = arrived.load(Ordering::Relaxed) as f64;
            over.store(true, Ordering::Relaxed);
            Ok(Sent { seconds, asked: rate * LASTS.as_secs_f64(), units: units as f64, arrived })
        })
    }

    /// The functions that send and receive; each returns the number of units that it handled.
    fn connect(
        self,
        namespaces: &Namespaces,
        to: Ipv4Addr,
        stamps: Clock,
    ) -> Result<(Work, Work), String> {
        match self {
            Self::Datagrams { payload } => datagrams(namespaces, to, payload, stamps),
            Self::Stream => stream(namespaces, to),
        }
        .map_err(|error| error.to_string())
    }
}

type Work = Box<dyn FnMut() -> u64 + Send>;

/// Timeout of a reader's wait, after which it checks whether the load is over.
const LOOK: std::time::Duration = std::time::Duration::from_millis(50);

fn datagrams(
    namespaces: &Namespaces,
    to: Ipv4Addr,
    payload: usize,
    stamps: Clock,
) -> Result<(Work, Work), Box<dyn std::error::Error>> {
    let receiver = namespaces.within(1, move || UdpSocket::bind((to, PORT)))??;
    rustix::net::sockopt::set_socket_recv_buffer_size_force(&receiver, RECEIVE_BUFFER).or_else(
        |_| rustix::net::sockopt::set_socket_recv_buffer_size(&receiver, RECEIVE_BUFFER),
    )?;
    receiver.set_read_timeout(Some(LOOK))?;
    let sender = namespaces.within(0, move || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.connect((to, PORT)).map(|()| socket)
    })??;
    let (mut bytes, mut buffer) = (vec![7; payload], vec![0; payload]);
    Ok((
        Box::new(move || {
            bytes[..8].copy_from_slice(&stamps.now().as_nanos().to_le_bytes());
            u64::from(sender.send(&bytes).is_ok())
        }),
        Box::new(move || u64::from(receiver.recv(&mut buffer).is_ok())),
    ))
}

fn stream(
    namespaces: &Namespaces,
    to: Ipv4Addr,
) -> Result<(Work, Work), Box<dyn std::error::Error>> {
    let listener = namespaces.within(1, move || TcpListener::bind((to, PORT)))??;
    let mut sender = namespaces.within(0, move || TcpStream::connect((to, PORT)))??;
    sender.set_write_timeout(Some(LOOK))?;
    let (mut receiver, _) = listener.accept()?;
    receiver.set_read_timeout(Some(LOOK))?;
    let (bytes, mut buffer) = (vec![7; WRITE], vec![0; 4 * WRITE]);
    Ok((
        Box::new(move || sender.write(&bytes).unwrap_or(0) as u64),
        Box::new(move || receiver.read(&mut buffer).unwrap_or(0) as u64),
    ))
}
