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
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::spawn_local;
use tokio::time::sleep;

/// Maximum number of clients; the oldest has to go.
const CLIENTS: usize = 16;
/// Time until a client is accepted after a failure.
const PATIENCE: Duration = Duration::from_millis(100);

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
            attend(async || Ok(listener.accept().await?.0), &accepted).await;
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

/// Accepts clients without end.
async fn attend(
    accept: impl AsyncFn() -> io::Result<UnixStream>,
    clients: &RefCell<Vec<UnixStream>>,
) {
    loop {
        let Ok(client) = accept().await else {
            // File descriptors have run out.
            sleep(PATIENCE).await;
            continue;
        };
        let mut clients = clients.borrow_mut();
        if clients.len() == CLIENTS {
            clients.remove(0);
        }
        clients.push(client);
    }
}

impl Drop for Rates {
    fn drop(&mut self) {
        // Without privileges it may stay; the next relay takes its place.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::future::pending;
    use tokio::runtime::Builder;
    use tokio::sync::Notify;

    #[test]
    fn clients_are_accepted_after_a_lack_of_descriptors() {
        let runtime = Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let (clients, calls) = (RefCell::new(Vec::new()), Cell::new(0));
            let third = Notify::new();
            let accept = async || {
                calls.set(calls.get() + 1);
                match calls.get() {
                    1 => Err(io::ErrorKind::Other.into()),
                    2 => Ok(UnixStream::pair()?.0),
                    _ => {
                        third.notify_one();
                        pending().await
                    }
                }
            };
            tokio::select! {
                () = attend(accept, &clients) => {}
                () = third.notified() => {}
            }
            assert_eq!(clients.borrow().len(), 1);
        });
    }
}
