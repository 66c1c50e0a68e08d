//! The same endpoints and connections for programs without tokio: their calls block.

use crate::endpoint::{ConnectError, SendError};
use crate::line::{Account, End};
use crate::socket::Port;
use bytes::Bytes;
use fairwave_units::Duration;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// A thread with the runtime on which endpoints live.
#[derive(Debug)]
struct Background {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Runs an open port on a thread of its own.
    fn start(port: Port) -> io::Result<(crate::Endpoint, Self)> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let inner = {
            let _on = handle.enter();
            crate::Endpoint::new(port)?
        };
        let ending = inner.ending();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("dccp".to_owned()).spawn(move || {
            runtime.block_on(async {
                // An error is that of a sender that is gone: the end as well.
                let _ = stopped.await;
                ending.await;
            });
        })?;
        Ok((inner, Self { handle, stop: Some(stop), thread: Some(thread) }))
    }
}

/// The endpoint and its connections are gone before: it waits for their ends.
impl Drop for Background {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has panicked only if the runtime has.
            let _ = thread.join();
        }
    }
}

/// A port of DCCP whose calls block: see [`crate::Endpoint`]. The last of it and its connections
/// that is dropped waits until all are closed in good order, up to 7 s.
#[derive(Debug)]
pub struct Endpoint {
    inner: crate::Endpoint,
    background: Arc<Background>,
}

/// A connection whose calls block: see [`crate::Connection`].
#[derive(Clone, Debug)]
pub struct Connection {
    inner: crate::Connection,
    background: Arc<Background>,
}

impl Endpoint {
    /// Runs an open port on a thread of its own.
    ///
    /// # Errors
    /// If there is no thread, or the kernel refuses a step of the loop.
    pub fn new(port: Port) -> io::Result<Self> {
        let (inner, background) = Background::start(port)?;
        Ok(Self { inner, background: Arc::new(background) })
    }

    /// The address of this host, with the port of UDP where that is below.
    pub fn address(&self) -> SocketAddr {
        self.inner.address()
    }

    /// Opens a connection to the server, and waits for its answer.
    ///
    /// # Errors
    /// If the server does not answer, or refuses.
    pub fn connect(&self) -> Result<Connection, ConnectError> {
        let inner = self.background.handle.block_on(self.inner.connect())?;
        Ok(Connection { inner, background: Arc::clone(&self.background) })
    }

    /// Waits for a connection that a client opens; `None` once the endpoint is closed.
    pub fn accept(&self) -> Option<Connection> {
        let inner = self.background.handle.block_on(self.inner.accept())?;
        Some(Connection { inner, background: Arc::clone(&self.background) })
    }

    /// Closes all connections in good order.
    ///
    /// # Errors
    /// If the socket has failed.
    pub fn close(&self) -> io::Result<()> {
        self.background.handle.block_on(self.inner.close())
    }
}

impl Connection {
    /// Sends a datagram, and waits for room in the queue first. If it has not left before the
    /// `deadline`, it is dropped.
    ///
    /// # Errors
    /// If the connection does not accept it, or its deadline passes.
    pub fn send(&self, data: Bytes, deadline: Option<Duration>) -> Result<(), SendError> {
        self.background.handle.block_on(self.inner.send_wait(data, deadline))
    }

    /// Waits for a datagram; `None` once the connection is over and all were taken.
    pub fn recv(&self) -> Option<Bytes> {
        self.background.handle.block_on(self.inner.recv())
    }

    /// Measurements so far.
    pub fn account(&self) -> Option<Account> {
        self.inner.account()
    }

    /// Closes it in good order and waits for its end.
    pub fn close(&self) -> Option<(End, Account)> {
        self.inner.close();
        self.background.handle.block_on(self.inner.closed())
    }
}
