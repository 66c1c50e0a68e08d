//! Flows of datagrams: all flows of a server use one socket, each flow of a host its own.

use super::counter::Counter;
use fairwave_linux::kernel::datagrams::{self, BATCH, Message, Slots};
use fairwave_machine::Replay;
use fairwave_sockets::report_own_addresses;
use fairwave_wire::fairness::{FlowLabel, GREETING, OPENING_LEN, Opening, verify};
use fairwave_wire::seal::Key;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Maximum wait for a datagram, after which the caller checks whether to stop.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Room for a received datagram in bytes.
const EACH: usize = 2 * Datagrams::BYTES;
/// Maximum number of greetings of a flow, and maximum wait for each answer.
const GREETINGS: usize = 20;
const PATIENCE: Duration = Duration::from_millis(250);

/// Host of a flow, as the server's socket reaches it.
#[derive(Clone, Copy, Debug)]
struct Peer {
    address: SocketAddr,
    /// Address of the server that the host sends to, and so expects datagrams from.
    own: Option<IpAddr>,
}

impl Peer {
    /// Sends a datagram. Waits for room in the socket's buffer.
    fn send(self, socket: &UdpSocket, slots: &mut Slots, bytes: &[u8]) -> io::Result<()> {
        let parts = [IoSlice::new(bytes)];
        let Self { address: to, own: from } = self;
        let message = Message { to, from, class: 0, parts: &parts, segment: None };
        loop {
            match datagrams::send(socket.as_fd(), slots, &[message]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&LOOK))?;
                }
                sent => return sent.map(drop),
            }
        }
    }
}

/// One end of a flow of datagrams.
#[derive(Debug)]
pub(super) struct Datagrams {
    socket: UdpSocket,
    /// `None` for a connected socket.
    peer: Option<Peer>,
    /// Memory for sending to a peer.
    slots: Slots,
    label: FlowLabel,
    key: Key,
    buffer: Vec<u8>,
}

impl Datagrams {
    /// Payload of each datagram in bytes: it fits links and tunnels with an MTU of 1500.
    pub(super) const BYTES: usize = 1_400;

    /// Opens the host's end. It sends greetings until the server answers, so that a firewall is
    /// detected before the run, and the server learns the port.
    ///
    /// # Errors
    /// If there is no socket, or no answer.
    pub(super) fn open(server: SocketAddr, label: FlowLabel, key: Key) -> io::Result<Self> {
        let any = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any)?;
        socket.connect(server)?;
        let (slots, buffer) = (Slots::default(), vec![0; 2 * Self::BYTES]);
        let mut opened = Self { socket, peer: None, slots, label, key, buffer };
        for _ in 0..GREETINGS {
            // An error, such as port unreachable, belongs to an earlier greeting; the next may
            // succeed.
            let _ = opened.send(GREETING, 0);
            if opened.receive_any(PATIENCE).is_some_and(|arrived| arrived.number == GREETING) {
                return Ok(opened);
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// Sends a datagram with the time of its departure. A greeting has the length of an opening
    /// only.
    pub(super) fn send(&mut self, number: u32, sent_ns: u64) -> io::Result<()> {
        let mut bytes = [0; Self::BYTES];
        let opening = Opening::Datagram(self.label, number).write(&self.key);
        bytes[..OPENING_LEN].copy_from_slice(&opening);
        bytes[STAMP].copy_from_slice(&sent_ns.to_be_bytes());
        let bytes = if number == GREETING { &bytes[..OPENING_LEN] } else { &bytes[..] };
        match self.peer {
            Some(peer) => peer.send(&self.socket, &mut self.slots, bytes),
            None => self.socket.send(bytes).map(drop),
        }
    }

    /// Receives the next datagram of this flow that carries data.
    pub(super) fn receive(&mut self, patience: Duration) -> Option<Arrived> {
        self.receive_any(patience).filter(|arrived| arrived.number != GREETING)
    }

    fn receive_any(&mut self, patience: Duration) -> Option<Arrived> {
        self.socket.set_read_timeout(Some(patience)).ok()?;
        let len = self.socket.recv(&mut self.buffer).ok()?;
        let bytes = &self.buffer[..len];
        match Opening::read(bytes) {
            Ok(Opening::Datagram(label, number)) if label == self.label => {
                verify(bytes, &self.key).ok()?;
                Some(Arrived { number, bytes: len, sent_ns: stamp(bytes) })
            }
            _ => None,
        }
    }
}

/// A datagram that arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    pub(super) number: u32,
    /// Its length.
    pub(super) bytes: usize,
    /// Time of its departure by the sender's clock.
    pub(super) sent_ns: u64,
}

/// Place of the time of departure. The seal does not cover it: it changes the jitter alone.
const STAMP: std::ops::Range<usize> = OPENING_LEN..OPENING_LEN + 8;

/// The time of departure in a datagram; zero in a greeting.
fn stamp(bytes: &[u8]) -> u64 {
    let stamp = bytes.get(STAMP).and_then(|stamp| stamp.try_into().ok());
    stamp.map_or(0, u64::from_be_bytes)
}

/// A flow that the hub expects.
#[derive(Debug)]
struct Known {
    key: Key,
    /// The address of the host's control connection: datagrams are sent to no other.
    ip: IpAddr,
    peer: Option<Peer>,
    counter: Option<Arc<Counter>>,
    /// Numbers of the datagrams that were counted, so that duplicates are not.
    seen: Replay,
}

/// The server's socket, and the flows that use it.
#[derive(Debug)]
pub(super) struct Hub {
    socket: UdpSocket,
    known: Mutex<BTreeMap<FlowLabel, Known>>,
}

impl Hub {
    pub(super) fn open(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        report_own_addresses(socket.as_fd(), address)?;
        Ok(Self { socket, known: Mutex::default() })
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeMap<FlowLabel, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a flow, whose greetings are answered from now on.
    pub(super) fn expect(&self, label: FlowLabel, key: Key, ip: IpAddr) {
        self.known()
            .insert(label, Known { key, ip, peer: None, counter: None, seen: Replay::default() });
    }

    /// Counts the datagrams of a flow from now on.
    pub(super) fn count(&self, label: FlowLabel, counter: Arc<Counter>) {
        if let Some(known) = self.known().get_mut(&label) {
            known.counter = Some(counter);
        }
    }

    /// The server's end of a flow that has sent a greeting.
    pub(super) fn sender(&self, label: FlowLabel) -> Option<Datagrams> {
        let known = self.known();
        let flow = known.get(&label)?;
        let socket = self.socket.try_clone().ok()?;
        Some(Datagrams {
            socket,
            peer: flow.peer,
            slots: Slots::default(),
            label,
            key: flow.key.clone(),
            buffer: Vec::new(),
        })
        .filter(|datagrams| datagrams.peer.is_some())
    }

    /// Removes the flows of a session.
    pub(super) fn forget(&self, session: u64) {
        self.known().retain(|label, _| label.session != session);
    }

    /// Receives and dispatches datagrams until `stop`.
    pub(super) fn run(&self, stop: &AtomicBool) {
        let mut buffer = vec![0; BATCH * EACH];
        let (mut slots, mut taken) = (Slots::default(), Vec::with_capacity(BATCH));
        while !stop.load(Ordering::Relaxed) {
            let socket = self.socket.as_fd();
            // Errors such as port unreachable, caused by an earlier datagram, do not end the loop.
            let _ = poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&LOOK));
            if datagrams::receive(socket, &mut slots, &mut buffer, EACH, &mut taken).is_err() {
                continue;
            }
            for (one, bytes) in taken.iter().zip(buffer.chunks_exact(EACH)) {
                if let (Some(address), Some(bytes)) = (one.from, bytes.get(..one.len)) {
                    self.arrived(bytes, Peer { address, own: one.to }, &mut slots);
                }
            }
        }
    }

    fn arrived(&self, bytes: &[u8], from: Peer, slots: &mut Slots) {
        let Ok(Opening::Datagram(label, number)) = Opening::read(bytes) else { return };
        let mut known = self.known();
        let Some(flow) = known.get_mut(&label) else { return };
        let is_peer = flow.ip == from.address.ip().to_canonical();
        if !is_peer || verify(bytes, &flow.key).is_err() {
            return;
        }
        if number == GREETING {
            flow.peer = Some(from);
            // The answer is no longer than the greeting, so that the server cannot amplify an
            // attack. If it is lost, the host sends another greeting.
            let _ = from.send(&self.socket, slots, &bytes[..OPENING_LEN]);
        } else if let Some(counter) = &flow.counter
            && flow.seen.admit(NonZeroU64::MIN.saturating_add(number.into()))
        {
            counter.count_datagram(number, bytes.len(), stamp(bytes));
        }
    }
}
