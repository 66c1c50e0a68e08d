//! The server: it accepts connections, and passes their events to the run.

use super::Error;
use super::link::{self, Inbox, Link};
use super::message::{Limits, ToHost, ToServer};
use super::round::{Event, Newcomer, Round, ServerEvent};
use super::udp::Hub;
use fairwave_linux::clock::Clock;
use fairwave_linux::random::random;
use fairwave_units::Duration;
use fairwave_wire::fairness::{FlowLabel, OPENING_LEN, Opening, verify};
use fairwave_wire::seal::Key;
use portable_atomic::AtomicU64;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Maximum number of connections that have not yet proved that they have the key: of all addresses,
/// and of one.
const MAX_PENDING: usize = 256;
const MAX_PENDING_OF_ONE: usize = 160;
/// Maximum number of messages that wait to be handled; hosts that send more are delayed.
const MAX_EVENTS: usize = 256;
/// Period at which the loop checks the time.
const LOOK: std::time::Duration = std::time::Duration::from_millis(20);
/// Time after which a silent host counts as gone, unless a repetition is under way.
pub(super) const SILENCE: Duration = Duration::from_secs(15);
/// Number of ports to try until one is free for TCP and UDP.
const TRIES: usize = 16;

/// Options of a server.
#[derive(Debug)]
pub struct ServeConfig {
    /// Address to listen at, for TCP and UDP.
    pub listen: SocketAddr,
    /// The secret that both ends share.
    pub key: Key,
    /// Limits for each host.
    pub limits: Limits,
}

/// State that the threads share.
#[derive(Debug)]
struct Shared {
    key: Key,
    clock: Clock,
    hub: Hub,
    sessions: Mutex<BTreeMap<u64, Key>>,
    pending: Mutex<BTreeMap<IpAddr, usize>>,
    rejected: AtomicU64,
    is_over: AtomicBool,
    /// Whether a repetition is under way, in which hosts are busy and their frames may be starved.
    is_running: AtomicBool,
}

/// A server whose sockets are open.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    limits: Limits,
    shared: Arc<Shared>,
}

impl Server {
    /// Opens its sockets.
    ///
    /// # Errors
    /// If the kernel refuses the address.
    pub fn open(config: ServeConfig) -> Result<Self, Error> {
        let address = config.listen;
        let (listener, hub) = sockets(address).map_err(|cause| Error::Socket { address, cause })?;
        listener.set_nonblocking(true)?;
        let shared = Shared {
            key: config.key,
            clock: Clock::start(),
            hub,
            sessions: Mutex::default(),
            pending: Mutex::default(),
            rejected: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            is_running: AtomicBool::new(false),
        };
        Ok(Self { listener, limits: config.limits, shared: Arc::new(shared) })
    }

    /// Address at which it listens, with the port that the kernel chose.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub fn address(&self) -> Result<SocketAddr, Error> {
        Ok(self.listener.local_addr()?)
    }

    /// Number of connections that failed to prove that they have the key, or that exceeded a limit.
    pub fn rejected(&self) -> u64 {
        self.shared.rejected.load(Ordering::Relaxed)
    }

    /// Serves until `stop` returns true. A run that is under way is cut off, and its hosts get the
    /// results so far.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn run(
        &mut self,
        mut stop: impl FnMut() -> bool,
        mut send_to: impl FnMut(ServerEvent),
    ) -> Result<(), Error> {
        let (events, inbox) = sync_channel(MAX_EVENTS);
        let hub = Arc::clone(&self.shared);
        let datagrams = thread::spawn(move || hub.hub.run(&hub.is_over));
        let served = self.serve(&mut stop, &mut send_to, &events, &inbox);
        self.shared.is_over.store(true, Ordering::Relaxed);
        datagrams.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        served
    }

    fn serve(
        &self,
        stop: &mut dyn FnMut() -> bool,
        send_to: &mut dyn FnMut(ServerEvent),
        events: &SyncSender<Event>,
        inbox: &Receiver<Event>,
    ) -> Result<(), Error> {
        let shared = &self.shared;
        let mut round = Round::new(shared.clock, self.limits);
        while !stop() {
            self.accept(events)?;
            match inbox.recv_timeout(LOOK) {
                Ok(event) => round.handle(event, &shared.hub),
                Err(RecvTimeoutError::Timeout) => {}
                // Cannot occur: this function holds a sender.
                Err(RecvTimeoutError::Disconnected) => break,
            }
            while let Ok(event) = inbox.try_recv() {
                round.handle(event, &shared.hub);
            }
            round.tick(&shared.hub);
            shared.is_running.store(round.is_running(), Ordering::Relaxed);
            for session in round.take_ended() {
                lock(&shared.sessions).remove(&session);
            }
            round.take_events().into_iter().for_each(&mut *send_to);
        }
        round.cut_off();
        Ok(())
    }

    /// Accepts the waiting connections, with a thread each.
    fn accept(&self, events: &SyncSender<Event>) -> io::Result<()> {
        // A poll without waiting: the loop calls this every few milliseconds.
        poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&Timespec::default()))?;
        loop {
            let (stream, from) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // For example, a connection was reset in the queue, or no file descriptor is left.
                Err(_) => return Ok(()),
            };
            let ip = from.ip().to_canonical();
            if !self.shared.admit(ip) {
                self.shared.reject();
                continue;
            }
            let (shared, events) = (Arc::clone(&self.shared), events.clone());
            let served = move || {
                let opened = shared.open(stream);
                shared.dismiss(ip);
                match opened {
                    Ok(Opened::Control(halves)) => {
                        let (link, inbox, key) = *halves;
                        shared.converse(ip, &Arc::new(link), inbox, key, &events);
                    }
                    // If the run is over, the flow is no longer needed.
                    Ok(Opened::Flow(label, stream)) => {
                        drop(events.send(Event::Flow(label, stream)));
                    }
                    Err(_) => shared.reject(),
                }
            };
            if thread::Builder::new().spawn(served).is_err() {
                self.shared.dismiss(ip);
            }
        }
    }
}

/// Opens sockets for TCP and UDP at one port.
fn sockets(address: SocketAddr) -> io::Result<(TcpListener, Hub)> {
    let mut tries = 0;
    loop {
        let listener = TcpListener::bind(address)?;
        match Hub::open(listener.local_addr()?) {
            Ok(hub) => return Ok((listener, hub)),
            // Another program uses the port that the kernel chose for UDP; another one is tried.
            Err(_) if address.port() == 0 && tries < TRIES => tries += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Purpose of a connection.
enum Opened {
    Control(Box<(Link, Inbox, Key)>),
    Flow(FlowLabel, TcpStream),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn reject(&self) {
        self.rejected.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether one more unauthenticated connection of this address is allowed.
    fn admit(&self, ip: IpAddr) -> bool {
        let mut pending = lock(&self.pending);
        let all: usize = pending.values().sum();
        let of_one = pending.get(&ip).copied().unwrap_or(0);
        let fits = all < MAX_PENDING && of_one < MAX_PENDING_OF_ONE;
        // A refused stranger costs no memory.
        if fits {
            pending.insert(ip, of_one + 1);
        }
        fits
    }

    fn dismiss(&self, ip: IpAddr) {
        let mut pending = lock(&self.pending);
        let left = pending.get(&ip).map_or(0, |count| count.saturating_sub(1));
        if left == 0 {
            pending.remove(&ip);
        } else {
            pending.insert(ip, left);
        }
    }

    /// Authenticates a connection and determines its purpose.
    fn open(&self, mut stream: TcpStream) -> io::Result<Opened> {
        stream.set_nonblocking(false)?;
        let mut bytes = [0; OPENING_LEN];
        link::read_exact(&mut stream, &mut bytes, self.clock, self.clock.now() + link::PATIENCE)?;
        let refused = || io::Error::from(io::ErrorKind::PermissionDenied);
        match Opening::read(&bytes).map_err(|_| refused())? {
            Opening::Control(host) => {
                verify(&bytes, &self.key).map_err(|_| refused())?;
                let halves = link::answer(stream, &self.key, &host)?;
                Ok(Opened::Control(Box::new(halves)))
            }
            Opening::Flow(label) => {
                let key = lock(&self.sessions).get(&label.session).cloned();
                verify(&bytes, &key.ok_or_else(refused)?).map_err(|_| refused())?;
                Ok(Opened::Flow(label, stream))
            }
            Opening::Datagram(..) => Err(refused()),
        }
    }

    /// Handles the messages of a host. Its first message shows that it has derived the session's
    /// key.
    fn converse(
        &self,
        ip: IpAddr,
        link: &Arc<Link>,
        mut inbox: Inbox,
        key: Key,
        events: &SyncSender<Event>,
    ) {
        let Some(join) = self.join(&mut inbox) else { return self.reject() };
        let Ok(session) = random() else { return };
        lock(&self.sessions).insert(session, key.clone());
        let newcomer = Newcomer { session, ip, link: Arc::clone(link), key, join };
        let mut received = self.clock.now();
        let mut sent = events.send(Event::Joined(newcomer));
        while sent.is_ok() && !self.is_over.load(Ordering::Relaxed) {
            match inbox.next(10 * LOOK) {
                Ok(Some(ToServer::Ping { sent_ns })) => {
                    let server_ns = self.clock.now().as_nanos();
                    // If the message is lost, the connection to the host is failing.
                    let _ = link.send(&ToHost::Pong { sent_ns, server_ns });
                }
                Ok(Some(message)) => sent = events.send(Event::Said(session, message)),
                Ok(None) => {
                    let is_silent = received + SILENCE < self.clock.now();
                    if is_silent && !self.is_running.load(Ordering::Relaxed) {
                        break;
                    }
                    continue;
                }
                Err(_) => break,
            }
            received = self.clock.now();
        }
        link.close();
        // Sending fails only if the server has ended.
        let _ = events.send(Event::Gone(session));
    }

    fn join(&self, inbox: &mut Inbox) -> Option<super::message::Join> {
        let deadline = self.clock.now() + link::PATIENCE;
        while self.clock.now() < deadline {
            match inbox.next(10 * LOOK) {
                Ok(Some(ToServer::Join(join))) => return Some(join),
                Ok(None) => {}
                Ok(Some(_)) | Err(_) => return None,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_connections_are_not_kept() {
        let limits = Limits { rate_bps: None, bytes: 1, time_ns: 1 };
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let key = Key::new(b"a secret of these tests").expect("long enough");
        let server = Server::open(ServeConfig { listen, key, limits }).expect("a port");
        let from = |host: u32| IpAddr::from((0x0a00_0000 + host).to_be_bytes());
        let admitted = (0..1_000).filter(|host| server.shared.admit(from(*host))).count();
        assert_eq!((admitted, lock(&server.shared.pending).len()), (MAX_PENDING, MAX_PENDING));
        (0..1_000).for_each(|host| server.shared.dismiss(from(host)));
        let of_one = (0..1_000).filter(|_| server.shared.admit(from(0))).count();
        assert_eq!(of_one, MAX_PENDING_OF_ONE);
    }
}
