//! A host on tokio: its sessions with others, and their streams.

use crate::driver::{Change, Driver};
use crate::endpoint::{Config, Endpoint, Input, PathStats, Priority, Refused};
use crate::shared::Shared;
use crate::stream::Stream;
use fairwave_linux::random::random;
use fairwave_sockets::Udp;
use fairwave_units::{Duration, Seed};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Reason for which there is no session or no stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// No answer on any path.
    #[error(
        "no answer on any path: is `fairwave shake serve` running there, with the same key, and \
         does UDP pass?"
    )]
    NoAnswer,
    /// The session is over, or has as many streams as it may have.
    #[error("the session is over, or has as many streams as it may have")]
    NoStream,
}

/// A host: its sockets, its sessions, and the task that runs them. A host that is dropped closes
/// its sessions, as [`Host::close`] does, without waiting for that.
///
/// It has to be made within a tokio runtime, and lives on it.
///
/// ```
/// use fairwave_shake_host::{Config, Host, Psk, Udp};
/// use fairwave_units::Duration;
/// use fairwave_wire::seal::Key;
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// # runtime.block_on(async {
/// let config = Config::new(Psk::of(&Key::new(b"a secret of the two hosts")?));
/// let server = Host::server(config.clone(), Udp::bind("127.0.0.1:0".parse()?)?)?;
/// let at = server.address().expect("a server's");
///
/// // Two paths, here over the same interface.
/// let client = Host::client(config)?;
/// for path in 0..2 {
///     client.path_up(path, Udp::over("lo", at)?, at);
/// }
/// let session = client.connect(Duration::from_secs(5)).await?;
/// let mut stream = session.open()?;
/// stream.write_all(b"hello").await?;
/// stream.shutdown().await?;
///
/// let mut text = String::new();
/// server.accept().await.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// assert_eq!(session.paths().len(), 2);
/// client.close().await;
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Debug)]
pub struct Host {
    shared: Arc<Shared>,
    changes: UnboundedSender<Change>,
    task: Mutex<Option<JoinHandle<io::Result<()>>>>,
    address: Option<SocketAddr>,
}

impl Host {
    /// A host to which others open sessions, on one socket.
    ///
    /// # Errors
    /// If the kernel refuses a step of the loop.
    pub fn server(config: Config, socket: Udp) -> io::Result<Self> {
        let address = socket.address()?;
        let mut socket = socket.with_own_addresses()?.without_fragments()?;
        socket.allow_gso();
        Self::start(config, Some(socket), Some(address))
    }

    /// A host that opens a session; it has no paths yet.
    ///
    /// # Errors
    /// If the kernel refuses a step of the loop.
    pub fn client(config: Config) -> io::Result<Self> {
        Self::start(config, None, None)
    }

    fn start(config: Config, socket: Option<Udp>, address: Option<SocketAddr>) -> io::Result<Self> {
        let machine = Endpoint::new(config, Seed(random()?));
        let shared = Arc::new(Shared::new(machine));
        let (changes, receiver) = unbounded_channel();
        let driver = Driver::new(Arc::clone(&shared), socket, receiver)?;
        let task = Mutex::new(Some(tokio::spawn(driver)));
        Ok(Self { shared, changes, task, address })
    }

    /// The address of a server.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Gives a path its socket and the peer's address, at first or again. Its id is below
    /// [`crate::endpoint::MAX_PATHS`].
    pub fn path_up(&self, path: u8, socket: Udp, peer: SocketAddr) {
        // The receiver lives as long as the task, which a closed host has ended.
        let _ = self.changes.send(Change::Up(path, socket, peer));
    }

    /// Takes a path away: its data in flight goes over others.
    pub fn path_down(&self, path: u8) {
        let _ = self.changes.send(Change::Down(path));
    }

    /// Changes the priority of a path, in the present session and later ones.
    pub fn prioritize(&self, path: u8, priority: Priority) {
        self.shared.with(|state| {
            state.report(Input::Prioritize(path, priority));
            state.poke();
        });
    }

    /// Opens a session over the paths that there are, and waits until one of them has answered.
    /// When the peer goes, the host opens the next one by itself.
    ///
    /// # Errors
    /// [`ConnectError::NoAnswer`] after `within`.
    pub async fn connect(&self, within: Duration) -> Result<Session, ConnectError> {
        self.shared.with(|state| {
            state.report(Input::Connect);
            state.poke();
        });
        let within = std::time::Duration::from_nanos(within.as_nanos());
        let ready = async {
            loop {
                let changed = self.shared.changed.notified();
                match self.session() {
                    Some(session) if session.has_answered() => return session,
                    _ => changed.await,
                }
            }
        };
        timeout(within, ready).await.map_err(|_| ConnectError::NoAnswer)
    }

    /// The session that this host opened, while it lasts.
    pub fn session(&self) -> Option<Session> {
        let number = self.shared.with(|state| state.endpoint.session())?;
        Some(Session { shared: Arc::clone(&self.shared), number })
    }

    /// The session of a stream, for datagrams beside it.
    pub fn session_of(&self, stream: &Stream) -> Session {
        Session { shared: Arc::clone(&self.shared), number: stream.session() }
    }

    /// Waits for a stream that a peer opens.
    pub async fn accept(&self) -> Stream {
        loop {
            let arrived = self.shared.arrived.notified();
            let (next, are_more) = self.shared.with(|state| {
                let next = state.accepted.pop_front();
                (next, !state.accepted.is_empty())
            });
            if are_more {
                // Streams that came together woke one task.
                self.shared.arrived.notify_one();
            }
            if let Some((session, stream)) = next {
                return Stream::new(Arc::clone(&self.shared), session, stream);
            }
            arrived.await;
        }
    }

    /// Number of sessions, and counts of refused datagrams.
    pub fn counts(&self) -> (usize, Refused) {
        self.shared.with(|state| (state.endpoint.sessions(), state.endpoint.refused()))
    }

    /// Ends all sessions, and tells the peers. Nothing works any more afterwards.
    pub async fn close(&self) {
        /// The loop has nothing to wait for; this is for a kernel that fails.
        const LONGEST: std::time::Duration = std::time::Duration::from_secs(1);
        self.shared.with(|state| {
            state.close();
            state.poke();
        });
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut task) = task else { return };
        if timeout(LONGEST, &mut task).await.is_err() {
            task.abort();
        }
    }
}

/// A session of this host.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) shared: Arc<Shared>,
    pub(crate) number: usize,
}

impl Session {
    /// Opens a stream over all paths.
    ///
    /// # Errors
    /// [`ConnectError::NoStream`].
    pub fn open(&self) -> Result<Stream, ConnectError> {
        let stream = self.shared.with(|state| {
            let now = state.now();
            let stream = state.endpoint.open(now, self.number);
            state.poke();
            stream
        });
        let stream = stream.ok_or(ConnectError::NoStream)?;
        Ok(Stream::new(Arc::clone(&self.shared), self.number, stream))
    }

    /// The paths and their counts.
    pub fn paths(&self) -> Vec<PathStats> {
        self.shared.with(|state| {
            let now = state.now();
            state.endpoint.paths(now, self.number)
        })
    }

    /// Bytes of all its streams that were written and never sent.
    pub fn unsent(&self) -> u64 {
        self.shared.with(|state| state.endpoint.unsent(self.number))
    }

    /// Asks the paths for their round-trip times, which is done each second anyway.
    pub fn ask(&self) {
        self.shared.with(|state| {
            let now = state.now();
            state.endpoint.ask(now, self.number);
            state.poke();
        });
    }

    /// Its number, which no other session of this host has.
    pub fn number(&self) -> usize {
        self.number
    }

    fn has_answered(&self) -> bool {
        self.paths().iter().any(|path| path.mtu.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Psk;
    use fairwave_wire::seal::Key;
    use std::pin::pin;
    use std::task::{Context, Waker};

    #[test]
    fn streams_that_come_together_reach_two_tasks() {
        let config = Config::new(Psk::of(&Key::new(b"a secret of the two ends").unwrap()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let host = Host::client(config).unwrap();
            let mut cx = Context::from_waker(Waker::noop());
            let (mut one, mut other) = (pin!(host.accept()), pin!(host.accept()));
            assert!(one.as_mut().poll(&mut cx).is_pending());
            assert!(other.as_mut().poll(&mut cx).is_pending());
            host.shared.with(|state| state.accepted.extend([(0, 0), (0, 1)]));
            assert!(one.as_mut().poll(&mut cx).is_ready());
            assert!(other.as_mut().poll(&mut cx).is_ready());
        });
    }
}
