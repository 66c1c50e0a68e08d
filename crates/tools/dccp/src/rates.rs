//! The Unix socket of a relay: the rate for the encoder, as lines of JSON.

use crate::report::RateLine;
use fairwave_console::Failure;
use serde_json::json;
use std::cell::RefCell;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener as StdListener, UnixStream as StdStream};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::spawn_local;

/// Maximum number of clients; the oldest has to go.
const CLIENTS: usize = 16;

/// A socket that is open. Its file is removed with it.
#[derive(Debug)]
pub(crate) struct Listening {
    listener: StdListener,
    path: PathBuf,
}

impl Listening {
    /// Opens the socket, in place of one that nobody listens at.
    ///
    /// # Errors
    /// If the path is in use, or no socket can be made there.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let is_socket = fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket());
        if is_socket && StdStream::connect(path).is_err() {
            fs::remove_file(path).map_err(Failure::at(path))?;
        }
        let listener = StdListener::bind(path).map_err(Failure::at(path))?;
        listener.set_nonblocking(true).map_err(Failure::at(path))?;
        Ok(Self { listener, path: path.to_owned() })
    }
}

/// Clients of the socket.
#[derive(Debug)]
pub(crate) struct Rates {
    clients: Rc<RefCell<Vec<UnixStream>>>,
    path: PathBuf,
}

impl Rates {
    /// Accepts clients from now on.
    ///
    /// # Errors
    /// If the runtime does not take the socket.
    pub(crate) fn new(listening: Listening) -> io::Result<Self> {
        let listener = UnixListener::from_std(listening.listener)?;
        let clients = Rc::new(RefCell::new(Vec::new()));
        let accepted = Rc::clone(&clients);
        spawn_local(async move {
            // Without descriptors there are no more clients.
            while let Ok((client, _)) = listener.accept().await {
                let mut clients = accepted.borrow_mut();
                if clients.len() == CLIENTS {
                    clients.remove(0);
                }
                clients.push(client);
            }
        });
        Ok(Self { clients, path: listening.path })
    }

    /// Writes a line to all clients. One that does not read in time loses the whole line.
    pub(crate) fn publish(&self, line: &RateLine) {
        let bytes = format!("{}\n", json!(line));
        self.clients.borrow_mut().retain(|client| match client.try_write(bytes.as_bytes()) {
            // A part of a line would spoil the next.
            Ok(count) => count == bytes.len(),
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        });
    }
}

impl Drop for Rates {
    fn drop(&mut self) {
        // Without privileges it may stay; the next relay takes its place.
        let _ = fs::remove_file(&self.path);
    }
}
