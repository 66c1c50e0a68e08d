//! Figures of a running command for other programs of its user, such as `fairwave web`.
//!
//! The command listens at an abstract Unix socket, `fairwave-live/COMMAND/PID`. Such a socket
//! belongs to the network namespace, has no file, and vanishes with the process. Each program of
//! the same user, and of root, gets the figures as one JSON value.

use rustix::process::geteuid;
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener as StdListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{UnixListener, UnixStream};
use tokio::time::{sleep, timeout};

/// First part of the sockets' names.
const NAME: &str = "fairwave-live/";
/// The kernel's list of the Unix sockets of the network namespace of the calling thread.
const SOCKETS: &str = "/proc/thread-self/net/unix";
/// Maximum size of this list in bytes: tens of thousands of sockets.
const MAX_LIST: u64 = 8 << 20;
/// Timeout for a reader.
const PATIENCE: Duration = Duration::from_secs(1);

/// The socket of a command that does not answer yet.
///
/// It is opened before the command gives its privileges up, so that the command's user can read the
/// figures, and answers from [`Self::publish`] on, since privileges are given up without threads.
#[derive(Debug)]
pub struct LiveSocket {
    listener: StdListener,
    owner: u32,
}

/// The latest figures, which a command replaces now and then.
#[derive(Clone, Debug, Default)]
pub struct Latest(Arc<Mutex<Value>>);

impl Latest {
    /// Replaces the figures.
    pub fn set(&self, figures: Value) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = figures;
    }

    /// The figures now.
    pub fn get(&self) -> Value {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl LiveSocket {
    /// Opens the socket of a command such as `shake connect`; `None` if the kernel refuses it, in
    /// which case the command works without.
    pub fn open(command: &str) -> Option<Self> {
        let name = format!("{NAME}{}/{}", command.replace(' ', "-"), std::process::id());
        let address = SocketAddr::from_abstract_name(name).ok()?;
        let listener = StdListener::bind_addr(&address).ok()?;
        listener.set_nonblocking(true).ok()?;
        Some(Self { listener, owner: geteuid().as_raw() })
    }

    /// Answers with `figures` on a thread of its own, until the process ends.
    ///
    /// # Errors
    /// If there can be no thread.
    pub fn publish(self, figures: impl Fn() -> Value + Send + 'static) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let run = move || runtime.block_on(self.attend(figures));
        std::thread::Builder::new().name("fairwave-live".to_owned()).spawn(run)?;
        Ok(())
    }

    async fn attend(self, figures: impl Fn() -> Value) {
        let Ok(listener) = UnixListener::from_std(self.listener) else { return };
        loop {
            let Ok((client, _)) = listener.accept().await else {
                // File descriptors have run out.
                sleep(PATIENCE).await;
                continue;
            };
            let user = client.peer_cred().map(|of| of.uid());
            if user.is_ok_and(|user| user == 0 || user == self.owner) {
                answer(client, &figures()).await;
            }
        }
    }
}

/// Writes the figures. A reader that is too slow gets a part, which is no JSON.
async fn answer(mut client: UnixStream, figures: &Value) {
    let text = figures.to_string();
    let _ = timeout(PATIENCE, client.write_all(text.as_bytes())).await;
}

/// A command with such a socket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Running {
    /// The command, such as `shake connect`.
    pub command: String,
    /// Its process.
    pub process: u32,
}

impl Running {
    /// Name of its socket, with the byte 0 that abstract names begin with.
    pub fn address(&self) -> String {
        format!("\0{NAME}{}/{}", self.command.replace(' ', "-"), self.process)
    }
}

/// Names of the abstract Unix sockets that begin with `prefix`, without it, sorted: those of the
/// network namespace of the calling thread. Connections under way have the name of their listener,
/// so that names repeat.
///
/// # Errors
/// If the kernel's list cannot be read.
pub fn sockets(prefix: &str) -> io::Result<Vec<String>> {
    let mut list = Vec::new();
    File::open(SOCKETS)?.take(MAX_LIST).read_to_end(&mut list)?;
    // Any user may choose a name that is no text.
    Ok(named(&String::from_utf8_lossy(&list), prefix))
}

/// The commands in the network namespace of the calling thread whose figures can be asked for,
/// sorted.
///
/// # Errors
/// If the kernel's list of sockets cannot be read.
pub fn running() -> io::Result<Vec<Running>> {
    Ok(sockets(NAME)?.iter().filter_map(|name| parsed(name)).collect())
}

/// The last column of the kernel's list is the name, which begins with `@` if it is abstract.
fn named(list: &str, prefix: &str) -> Vec<String> {
    let names = list.lines().filter_map(|line| line.split_whitespace().nth(7));
    let found = names.filter_map(|name| name.strip_prefix('@')?.strip_prefix(prefix));
    let mut found: Vec<String> = found.map(str::to_owned).collect();
    found.sort();
    found.dedup();
    found
}

fn parsed(name: &str) -> Option<Running> {
    let (command, process) = name.split_once('/')?;
    Some(Running { command: command.replace('-', " "), process: process.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tokio::io::AsyncReadExt;

    #[test]
    fn commands_are_found_among_the_sockets() {
        let list = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 1 @fairwave-live/shake-connect/7\n\
            0000000000000000: 00000002 00000000 00000000 0001 03 2 @fairwave-live/shake-connect/7\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 3\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 4 /run/fairwave-live/a/8\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 5 @fairwave-live/dccp-send/x\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 6 @fairwave-live/dccp-send/9\n";
        let names = named(list, NAME);
        let found: Vec<_> = names.iter().filter_map(|name| parsed(name)).collect();
        let of = |command: &str, process| Running { command: command.to_owned(), process };
        assert_eq!(found, [of("dccp send", 9), of("shake connect", 7)]);
        assert_eq!(found[1].address(), "\0fairwave-live/shake-connect/7");
    }

    #[tokio::test]
    async fn figures_are_the_latest_at_each_request() {
        let latest = Latest::default();
        let socket = LiveSocket::open("test of live").expect("the name is free");
        let shown = latest.clone();
        socket.publish(move || shown.get()).expect("a thread");
        let own = running().expect("a list").into_iter();
        let mut own = own.filter(|one| one.process == std::process::id());
        let address = own.find(|one| one.command == "test of live").expect("it is there").address();
        for count in 0..3 {
            latest.set(json!({ "count": count }));
            let mut text = String::new();
            let mut client = UnixStream::connect(&address).await.expect("it listens");
            client.read_to_string(&mut text).await.expect("text");
            assert_eq!(text, format!("{{\"count\":{count}}}"));
        }
        assert!(LiveSocket::open("test of live").is_none(), "a name is given once");
    }
}
