//! Endpoints and connections for programs on tokio.

use crate::carry::Peer;
use crate::driver::Driver;
use crate::line::{Account, End};
use crate::machine::{Cookies, Fact, Id, Ignored};
use crate::shared::{Counts, Notice, Refusal, Shared, State, refusal};
use crate::socket::{Error, Port};
use crate::watch;
use bytes::Bytes;
use fairwave_dccp::ccid::Handover;
use fairwave_dccp::{Waiting, WhenFull};
use fairwave_units::{Duration, Instant};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time;
use thiserror::Error as ThisError;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Maximum time for connections to close.
const CLOSING: time::Duration = time::Duration::from_secs(6);

/// Reason for which a connection was not established.
#[derive(Debug, ThisError)]
pub enum ConnectError {
    /// The server's host refuses packets.
    #[error(transparent)]
    Refused(#[from] Error),
    /// The handshake ended.
    #[error("no connection: {0}")]
    Ended(End),
    /// The endpoint is closed, or is that of a server.
    #[error("the endpoint opens no connections")]
    Closed,
}

/// Reason for which a datagram was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
pub enum SendError {
    /// The send queue is full.
    #[error("the send queue is full")]
    Full,
    /// It is longer than a packet may be.
    #[error("the datagram is longer than a packet may be")]
    TooLong,
    /// The connection is closing or over.
    #[error("the connection is closed")]
    Closed,
    /// Its deadline passed while the send queue was full.
    #[error("the deadline of the datagram is over")]
    Late,
}

/// A port of DCCP: its socket, its connections, and the task that runs them.
///
/// It has to be made within a tokio runtime, and lives on it. [`crate::blocking`] has the same for
/// programs without one.
///
/// ```
/// use bytes::Bytes;
/// use fairwave_dccp_host::{Addressee, Endpoint, End, Over, Port, Request};
/// use fairwave_units::Duration;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// # runtime.block_on(async {
/// // Inside UDP, where nobody needs privileges; port 0 lets the kernel choose.
/// let inside_udp = |with, udp_port| Request { over: Over::Udp, udp_port, ..Request::new(with) };
/// let at = Addressee::Anybody("127.0.0.1:5001".parse()?);
/// let server = Endpoint::new(Port::open(&inside_udp(at, 0))?)?;
///
/// let to = Addressee::Server("127.0.0.1:5001".parse()?);
/// let udp_port = server.address().port();
/// let client = Endpoint::new(Port::open(&inside_udp(to, udp_port))?)?;
/// let connection = client.connect().await?;
/// // A datagram that has not left after 100 ms is dropped.
/// connection.send(Bytes::from_static(b"hello"), Some(Duration::from_millis(100)))?;
///
/// let accepted = server.accept().await.expect("a connection");
/// assert_eq!(accepted.recv().await.as_deref(), Some(&b"hello"[..]));
/// accepted.send(Bytes::from_static(b"welcome"), None)?;
/// assert_eq!(connection.recv().await.as_deref(), Some(&b"welcome"[..]));
///
/// connection.close();
/// let (end, account) = connection.closed().await.expect("an end");
/// assert_eq!((end, account.stats.data_packets_sent), (End::Closed, 1));
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Debug)]
pub struct Endpoint {
    shared: Arc<Shared>,
    server: Option<SocketAddr>,
    address: SocketAddr,
    task: Mutex<Option<JoinHandle<io::Result<()>>>>,
    watch: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Runs an open port.
    ///
    /// # Errors
    /// If the kernel refuses a step of the loop.
    pub fn new(port: Port) -> io::Result<Self> {
        let address = port.address()?;
        let server = port.settings.server;
        let shared = Arc::new(Shared::new(port.settings));
        let driver = Driver::new(Arc::clone(&shared), port.socket, server)?;
        let watch = port.watch.then(|| tokio::spawn(watch::run(Arc::clone(&shared), server)));
        let task = Mutex::new(Some(tokio::spawn(driver)));
        Ok(Self { shared, server, address, task, watch })
    }

    /// The address of this host, with the port of UDP where that is below.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Opens a connection to the server, and waits for its answer. A client has one connection at a
    /// time; another one takes the place of the present one.
    ///
    /// # Errors
    /// If the server does not answer, or refuses.
    pub async fn connect(&self) -> Result<Connection, ConnectError> {
        let Some(server) = self.server else { return Err(ConnectError::Closed) };
        let id = self.shared.with(|state| {
            state.trouble = None;
            state.report(Fact::Start);
            let id = state.machine.newest()?;
            state.open_slot(id);
            Some(id)
        });
        let connection = self.connection(id.ok_or(ConnectError::Closed)?);
        loop {
            let changed = self.shared.changed.notified();
            if let Some(outcome) = self.shared.with(|state| connection.outcome(state, server)) {
                return outcome.map(|()| connection);
            }
            changed.await;
        }
    }

    /// Waits for a connection that a client opens; `None` once the endpoint is closed.
    pub async fn accept(&self) -> Option<Connection> {
        loop {
            let changed = self.shared.changed.notified();
            let (next, is_over) =
                self.shared.with(|state| (state.accepted.pop_front(), state.is_over));
            match next {
                Some(id) => return Some(self.connection(id)),
                None if is_over => return None,
                None => changed.await,
            }
        }
    }

    fn connection(&self, id: Id) -> Connection {
        Connection::new(Arc::clone(&self.shared), id)
    }

    /// Notifies the connections with a host of a handover on the way to it. With
    /// [`Request::watch`](crate::Request::watch) the endpoint does so itself.
    pub fn notify(&self, host: IpAddr, handover: Handover) {
        self.shared.with(|state| state.report(Fact::Handover(host, handover)));
    }

    /// Changes of the ways to the peers so far, the latest 1000 of them, without the first `seen`.
    pub fn notices(&self, seen: usize) -> Vec<Notice> {
        self.shared.with(|state| {
            let known = seen.saturating_sub(state.notices_before);
            state.notices.iter().skip(known).copied().collect()
        })
    }

    /// Time by the clock of this endpoint, as in [`Account`] and [`Notice`].
    pub fn now(&self) -> Instant {
        self.shared.with(State::now)
    }

    /// Counters of the socket, and datagrams that were not answered.
    pub fn counts(&self) -> (Counts, Ignored) {
        self.shared.with(|state| (state.counts, state.machine.ignored()))
    }

    /// Number of connections that this end keeps, as [`Connections::kept`] counts them.
    ///
    /// [`Connections::kept`]: crate::machine::Connections::kept
    pub fn connections(&self) -> usize {
        self.shared.with(|state| state.machine.kept())
    }

    /// Handshakes for which this end, a listener, kept no state.
    pub fn cookies(&self) -> Cookies {
        self.shared.with(|state| state.machine.cookies())
    }

    /// Closes all connections in good order, or drops them after 6 s. Nothing works any more
    /// afterwards.
    ///
    /// # Errors
    /// If the socket has failed.
    pub async fn close(&self) -> io::Result<()> {
        self.shared.with(State::close);
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut task) = task else { return Ok(()) };
        let ended = match timeout(CLOSING, &mut task).await {
            Ok(ended) => ended,
            Err(_) => {
                self.shared.with(|state| state.report(Fact::Abandon));
                // Connections that are not established have nothing to abandon.
                match timeout(CLOSING / 10, &mut task).await {
                    Ok(ended) => ended,
                    Err(_) => {
                        task.abort();
                        self.shared.with(State::end);
                        return Ok(());
                    }
                }
            }
        };
        ended.unwrap_or(Ok(()))
    }

    /// Waits for the end of the task after the endpoint was dropped, for as long as
    /// [`Endpoint::close`] does.
    pub(crate) fn ending(&self) -> impl Future<Output = ()> + Send + use<> {
        let shared = Arc::clone(&self.shared);
        async move {
            if timeout(CLOSING, shared.over()).await.is_err() {
                shared.with(|state| state.report(Fact::Abandon));
                // What is still there goes with the runtime.
                let _ = timeout(CLOSING / 10, shared.over()).await;
            }
        }
    }
}

impl Drop for Endpoint {
    /// The task ends when the connections are closed.
    fn drop(&mut self) {
        self.shared.with(State::close);
        self.watch.iter().for_each(JoinHandle::abort);
    }
}

/// A connection. Copies are of the same one; it is closed when the last of them is dropped.
#[derive(Clone, Debug)]
pub struct Connection {
    held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    shared: Arc<Shared>,
    id: Id,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.shared.with(|state| {
            let slot = state.slots.remove(&self.id);
            if slot.is_some_and(|slot| slot.ended.is_none()) {
                state.report(Fact::Close(self.id));
            }
        });
    }
}

impl Connection {
    pub(crate) fn new(shared: Arc<Shared>, id: Id) -> Self {
        Self { held: Arc::new(Held { shared, id }) }
    }

    /// The remote end.
    pub fn peer(&self) -> Peer {
        self.with(|state, id| state.slots.get(&id).map_or(Peer::NOBODY, |slot| slot.peer))
    }

    /// Sends a datagram. If it has not left before the `deadline`, it is dropped.
    ///
    /// # Errors
    /// If the connection does not accept it. A full queue is an error where it does not drop the
    /// oldest datagram instead.
    pub fn send(&self, data: Bytes, deadline: Option<Duration>) -> Result<(), SendError> {
        self.with(|state, id| {
            let by = state.by(deadline);
            state.send(id, data, by)
        })
    }

    /// Sends a datagram like [`Connection::send`], and waits for room in the queue first.
    ///
    /// # Errors
    /// If the connection does not accept it, or its deadline passes.
    pub async fn send_wait(
        &self,
        data: Bytes,
        deadline: Option<Duration>,
    ) -> Result<(), SendError> {
        let by = self.with(|state, _| state.by(deadline));
        let waited = async {
            loop {
                let changed = self.changed();
                let wanted = changed.as_ref().map(|changed| changed.notified());
                let sent = self.with(|state, id| {
                    let sent = state.send(id, data.clone(), by);
                    if sent == Err(SendError::Full) {
                        state.machine.want_room(id);
                    }
                    sent
                });
                match (sent, wanted) {
                    (Err(SendError::Full), Some(wanted)) => wanted.await,
                    (sent, _) => return sent,
                }
            }
        };
        match deadline {
            None => waited.await,
            Some(deadline) => {
                let within = time::Duration::from_nanos(deadline.as_nanos());
                timeout(within, waited).await.unwrap_or(Err(SendError::Late))
            }
        }
    }

    /// Waits for room in the send queue; returns `false` if the connection accepts no more.
    pub async fn wait_for_room(&self) -> bool {
        loop {
            let Some(changed) = self.changed() else { return false };
            let wanted = changed.notified();
            let room = self.with(|state, id| {
                let queued = state.queued(id)?;
                let is_full = queued >= state.machine.config().queue.datagrams;
                if is_full {
                    state.machine.want_room(id);
                }
                Some(!is_full)
            });
            match room {
                Some(false) => wanted.await,
                room => return room.is_some(),
            }
        }
    }

    /// Waits for a datagram; `None` once the connection is over and all were taken.
    pub async fn recv(&self) -> Option<Bytes> {
        loop {
            let changed = self.changed()?;
            let wanted = changed.notified();
            let (next, is_over) = self.with(|state, id| match state.slots.get_mut(&id) {
                Some(slot) => (slot.received.pop_front(), slot.ended.is_some() || state.is_over),
                None => (None, true),
            });
            match next {
                Some(data) => return Some(data),
                None if is_over => return None,
                None => wanted.await,
            }
        }
    }

    /// Measurements so far.
    pub fn account(&self) -> Option<Account> {
        self.with(|state, id| {
            let ended = state.slots.get(&id).and_then(|slot| slot.ended.as_ref());
            ended.map(|(_, account)| **account).or_else(|| state.machine.account(id))
        })
    }

    /// Number of datagrams that wait to be sent; `None` if it accepts no more.
    pub fn queued(&self) -> Option<usize> {
        self.with(|state, id| state.queued(id))
    }

    /// Number of datagrams that arrived and wait to be taken.
    pub fn available(&self) -> usize {
        self.with(|state, id| state.slots.get(&id).map_or(0, |slot| slot.received.len()))
    }

    /// Number of datagrams that arrived and were dropped, as 1000 others waited to be taken.
    pub fn not_taken(&self) -> u64 {
        self.with(|state, id| state.slots.get(&id).map_or(0, |slot| slot.not_taken))
    }

    /// Closes it in good order, once the datagrams that wait have left, or after 2 s.
    pub fn close(&self) {
        self.with(|state, id| state.report(Fact::Close(id)));
    }

    /// Ends it at once, with a Reset and without the datagrams that wait.
    pub fn abort(&self) {
        self.with(|state, id| state.report(Fact::Abort(id)));
    }

    /// Waits for its end; `None` if the endpoint was over before.
    pub async fn closed(&self) -> Option<(End, Account)> {
        loop {
            let changed = self.changed()?;
            let wanted = changed.notified();
            let (ended, is_over) = self.with(|state, id| {
                let ended = state.slots.get(&id).and_then(|slot| slot.ended.as_ref());
                (ended.map(|(end, account)| (*end, **account)), state.is_over)
            });
            match ended {
                Some(ended) => return Some(ended),
                None if is_over => return None,
                None => wanted.await,
            }
        }
    }

    /// Its end, if it is over.
    pub fn ended(&self) -> Option<(End, Account)> {
        self.with(|state, id| {
            let (end, account) = state.slots.get(&id)?.ended.as_ref()?;
            Some((*end, **account))
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut State, Id) -> T) -> T {
        self.held.shared.with(|state| act(state, self.held.id))
    }

    fn changed(&self) -> Option<Arc<tokio::sync::Notify>> {
        self.with(|state, id| state.slots.get(&id).map(|slot| Arc::clone(&slot.changed)))
    }

    /// Result of opening it, once there is one.
    fn outcome(&self, state: &mut State, server: SocketAddr) -> Option<Result<(), ConnectError>> {
        let slot = state.slots.get(&self.held.id)?;
        if slot.is_established {
            return Some(Ok(()));
        }
        if let Some((end, _)) = &slot.ended {
            return Some(Err(ConnectError::Ended(*end)));
        }
        let refused = state.trouble.take().as_ref().and_then(refusal).map(|why| match why {
            Refusal::Protocol => Error::NoProtocol(server.ip()),
            Refusal::Port => Error::NobodyListens(server),
        });
        match refused {
            Some(error) => Some(Err(error.into())),
            None => state.is_over.then_some(Err(ConnectError::Closed)),
        }
    }
}

impl State {
    fn close(&mut self) {
        self.is_closing = true;
        self.report(Fact::Stop);
    }

    /// Number of datagrams that wait to be sent; `None` if the connection accepts no more.
    fn queued(&self, id: Id) -> Option<usize> {
        // Without the driver's task nothing leaves the queue.
        self.machine.queued(id).filter(|_| !self.is_over)
    }

    /// The end of a time from now on.
    fn by(&mut self, deadline: Option<Duration>) -> Option<Instant> {
        deadline.map(|deadline| self.now() + deadline)
    }

    fn send(&mut self, id: Id, payload: Bytes, deadline: Option<Instant>) -> Result<(), SendError> {
        let queued = self.queued(id).ok_or(SendError::Closed)?;
        let config = self.machine.config();
        if payload.len() > config.max_payload as usize {
            return Err(SendError::TooLong);
        }
        let refuses = config.queue.when_full == WhenFull::RefuseNewest;
        if refuses && queued >= config.queue.datagrams {
            return Err(SendError::Full);
        }
        self.report(Fact::Send(id, Waiting { deadline, payload }));
        Ok(())
    }
}
