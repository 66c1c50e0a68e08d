//! Figures of live tools that run on this machine, collected from their sockets.
//!
//! A tool is found by its socket, and only asked for figures, never for a change. A socket of
//! another user than this process's own and root is not read: its figures could be invented.

use crate::processes::{
    Namespace, Process, directories, directory, identity, namespaces, processes, socket_in,
};
use fairwave_console::live::{running, sockets};
use fairwave_linux::is_trusted;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::geteuid;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{Mutex, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

/// Maximum number of tools that are asked.
const MAX_TOOLS: usize = 32;
/// Maximum size of the figures of a tool in bytes: 1024 stations of an access point take half.
const MAX_FIGURES: u64 = 1 << 20;
/// Maximum number of directories in which control sockets are looked for, and their maximum depth.
const MAX_DIRECTORIES: usize = 1000;
const MAX_DEPTH: usize = 3;
/// Timeout for the answer of a tool.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time for which an answer serves all clients.
const FRESH: Duration = Duration::from_millis(500);
/// First part of the names of access points' sockets; the interface's name follows.
const ACCESS_POINT: &str = "fairwave-soc-";
/// Control socket of an emulation, in its run directory.
const CONTROL: &str = "control.sock";

/// The tools of this machine, with their figures.
#[derive(Debug)]
pub(crate) struct Live {
    /// Directory of runs: emulations below it are found.
    root: PathBuf,
    latest: Mutex<Option<(Instant, Vec<u8>)>>,
}

/// A tool that runs, and the connection to it.
#[derive(Debug)]
struct Tool {
    /// Its command, such as `shake connect`.
    command: String,
    /// Its process, interface or run directory, and its network namespace if that is another one.
    name: String,
    socket: Socket,
}

#[derive(Debug)]
enum Socket {
    /// An abstract socket, which writes its figures and closes.
    Abstract(io::Result<StdStream>),
    /// The control socket of an emulation, which answers commands.
    Control(io::Result<StdStream>),
}

/// A tool as the page gets it.
#[derive(Debug, Serialize)]
struct ToolOutput {
    command: String,
    name: String,
    /// Its figures, as it has them.
    figures: Option<Value>,
    /// Reason why there are none.
    refused: Option<String>,
}

impl Live {
    /// Tools of this machine, with emulations below `root` named from there.
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), latest: Mutex::new(None) }
    }

    /// All tools as JSON. Clients that ask at the same time get the same answer.
    pub(crate) async fn answer(&self) -> Vec<u8> {
        let mut latest = self.latest.lock().await;
        let fresh = latest.as_ref().filter(|(at, _)| at.elapsed() < FRESH);
        if let Some((_, answer)) = fresh {
            return answer.clone();
        }
        let root = self.root.clone();
        let (sender, receiver) = oneshot::channel();
        // A thread that has entered a network namespace stays there: none of the runtime's may.
        let search = move || drop(sender.send(tools(&root)));
        let _ = std::thread::Builder::new().name("fairwave-tools".to_owned()).spawn(search);
        let found = receiver.await.unwrap_or_default();
        let answer = serde_json::to_vec(&collect(found).await).unwrap_or_default();
        *latest = Some((Instant::now(), answer.clone()));
        answer
    }
}

/// The tools that run, sorted, at most [`MAX_TOOLS`]. The calling thread may be in another network
/// namespace afterwards.
fn tools(root: &Path) -> Vec<Tool> {
    let processes = processes();
    let mut found = in_namespace(None, MAX_TOOLS);
    found.extend(emulating(root, &processes).into_iter().take(MAX_TOOLS - found.len()));
    for namespace in namespaces(&processes) {
        // Only root may enter.
        if namespace.enter().is_ok() {
            found.extend(in_namespace(Some(&namespace), MAX_TOOLS - found.len()));
        }
    }
    found.sort_by(|a, b| (&a.command, &a.name).cmp(&(&b.command, &b.name)));
    found
}

/// The first `room` tools with abstract sockets in the network namespace of the calling thread:
/// `namespace`, or that of this process for `None`.
fn in_namespace(namespace: Option<&Namespace>, room: usize) -> Vec<Tool> {
    let commands = running().unwrap_or_default().into_iter();
    let commands = commands.map(|one| (one.address(), one.command, one.process.to_string()));
    let interfaces = sockets(ACCESS_POINT).unwrap_or_default().into_iter();
    let interfaces =
        interfaces.map(|name| (format!("\0{ACCESS_POINT}{name}"), "soc ap".to_owned(), name));
    let tool = |(address, command, name): (String, String, String)| {
        let name = match namespace {
            Some(Namespace { name: of, .. }) => format!("{name} in namespace {of}"),
            None => name,
        };
        let address = SocketAddrUnix::new_abstract_name(&address.as_bytes()[1..]);
        let socket = Socket::Abstract(address.map_err(io::Error::from).and_then(|at| join(&at)));
        Tool { command, name, socket }
    };
    commands.chain(interfaces).take(room).map(tool).collect()
}

/// A connection, without waiting for a tool that accepts none.
fn join(address: &SocketAddrUnix) -> io::Result<StdStream> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, address)?;
    Ok(socket.into())
}

/// Emulations whose run directories lie below `root`, or are open in a process: those elsewhere.
fn emulating(root: &Path, processes: &[Process]) -> Vec<Tool> {
    let below = emulations(root).into_iter();
    let below = below.filter_map(|path| Some((directory(&path).ok()?, path)));
    let open = processes.iter().flat_map(directories);
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for (directory, path) in below.chain(open.map(|(path, directory)| (directory, path))) {
        let Ok(socket) = socket_in(&directory, CONTROL) else { continue };
        if identity(&socket).is_ok_and(|one| known.insert(one)) {
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            let socket = Socket::Control(at_file(&socket));
            found.push(Tool { command: "emulate".to_owned(), name, socket });
        }
    }
    found
}

/// A connection to an open socket's file. Its path may be longer than the 107 bytes of an address,
/// and may lead elsewhere by now.
fn at_file(socket: &OwnedFd) -> io::Result<StdStream> {
    join(&SocketAddrUnix::new(format!("/proc/self/fd/{}", socket.as_raw_fd()))?)
}

/// Directories below `root` with a control socket. Links to other directories are not followed.
fn emulations(root: &Path) -> Vec<PathBuf> {
    let (mut waiting, mut found, mut seen) = (vec![(root.to_owned(), 0)], Vec::new(), 0);
    while let Some((directory, depth)) = waiting.pop() {
        seen += 1;
        let control = fs::symlink_metadata(directory.join(CONTROL));
        if control.is_ok_and(|of| of.file_type().is_socket()) {
            found.push(directory);
            continue;
        }
        if depth == MAX_DEPTH || seen == MAX_DIRECTORIES {
            continue;
        }
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|of| of.is_dir()));
        let room = MAX_DIRECTORIES.saturating_sub(seen + waiting.len());
        waiting.extend(below.take(room).map(|entry| (entry.path(), depth + 1)));
    }
    found
}

/// Asks all tools at once.
async fn collect(tools: Vec<Tool>) -> Vec<ToolOutput> {
    let mut asked = JoinSet::new();
    for (place, Tool { command, name, socket }) in tools.into_iter().enumerate() {
        asked.spawn(async move {
            let figures = match timeout(PATIENCE, ask(socket)).await {
                Ok(found) => found,
                Err(_) => Err(io::Error::other("it does not answer")),
            };
            let (figures, refused) = match figures {
                Ok(figures) => (Some(figures), None),
                Err(error) => (None, Some(error.to_string())),
            };
            (place, ToolOutput { command, name, figures, refused })
        });
    }
    let mut found = asked.join_all().await;
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, tool)| tool).collect()
}

/// Asks one tool for its figures.
async fn ask(socket: Socket) -> io::Result<Value> {
    let mut text = String::new();
    match socket {
        Socket::Abstract(client) => {
            admitted(client?)?.take(MAX_FIGURES).read_to_string(&mut text).await?;
        }
        Socket::Control(client) => {
            let mut client = admitted(client?)?;
            client.write_all(b"\"status\"\n").await?;
            BufReader::new(client.take(MAX_FIGURES)).read_line(&mut text).await?;
        }
    }
    match text.is_empty() {
        true => Err(io::Error::other(format!("it answers its own user alone, not {}", user()))),
        false => serde_json::from_str(&text).map_err(io::Error::other),
    }
}

/// A connection to a tool of this user or of root.
fn admitted(client: StdStream) -> io::Result<UnixStream> {
    let client = UnixStream::from_std(client)?;
    let of = client.peer_cred()?.uid();
    match is_trusted(of) {
        true => Ok(client),
        false => Err(io::Error::other(format!("it belongs to user {of}, not to {}", user()))),
    }
}

/// The user of this process, in words.
fn user() -> String {
    format!("user {}", geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_console::live::LiveSocket;
    use serde_json::json;
    use std::os::unix::net::UnixListener as StdListener;
    use tokio::net::UnixListener;

    async fn shown(root: &Path, command: &str, name: &str) -> Value {
        let answer = Live::new(root).answer().await;
        let tools: Vec<Value> = serde_json::from_slice(&answer).expect("JSON");
        let found = |tool: &&Value| tool["command"] == command && tool["name"] == name;
        tools.iter().find(found).cloned().unwrap_or_default()
    }

    #[tokio::test]
    async fn a_command_shows_its_figures() {
        let place = tempfile::tempdir().expect("a directory");
        let own = std::process::id().to_string();
        assert_eq!(shown(place.path(), "test of web", &own).await, Value::Null);
        let socket = LiveSocket::open("test of web").expect("the name is free");
        socket.publish(|| json!({ "rate_mbps": 1.5 })).expect("a thread");
        let tool = shown(place.path(), "test of web", &own).await;
        assert_eq!((&tool["figures"]["rate_mbps"], &tool["refused"]), (&1.5.into(), &Value::Null));
    }

    #[tokio::test]
    async fn one_that_hangs_or_answers_no_json_is_named_with_its_reason() {
        let place = tempfile::tempdir().expect("a directory");
        let (hangs, broken) = (place.path().join("hangs"), place.path().join("a/b/broken"));
        let long = place.path().join("a".repeat(120));
        for directory in [&hangs, &broken, &long] {
            fs::create_dir_all(directory).expect("ours");
        }
        let _silent = StdListener::bind(hangs.join(CONTROL)).expect("a socket");
        let answering = UnixListener::bind(broken.join(CONTROL)).expect("a socket");
        tokio::spawn(async move {
            loop {
                let (mut client, _) = answering.accept().await.expect("a client");
                client.read_exact(&mut [0; 9]).await.expect("a command");
                client.write_all(b"{\"a\":\n").await.expect("it reads");
            }
        });
        let hanging = shown(place.path(), "emulate", "hangs").await;
        assert_eq!(hanging["refused"], "it does not answer");
        let broken = shown(place.path(), "emulate", "a/b/broken").await;
        assert!(broken["refused"].as_str().is_some_and(|text| text.contains("EOF")), "{broken}");
    }

    #[tokio::test]
    async fn an_emulation_is_asked_for_its_status_alone() {
        let place = tempfile::tempdir().expect("a directory");
        let run = place.path().join("home-1");
        fs::create_dir(&run).expect("ours");
        let control = UnixListener::bind(run.join(CONTROL)).expect("a socket");
        let asked = tokio::spawn(async move {
            let (client, _) = control.accept().await.expect("a client");
            let mut client = BufReader::new(client);
            let mut line = String::new();
            client.read_line(&mut line).await.expect("a line");
            client.write_all(b"{\"under_way\":3}\n").await.expect("it reads");
            line
        });
        let tool = shown(place.path(), "emulate", "home-1").await;
        assert_eq!(tool["figures"]["under_way"], 3, "{tool}");
        assert_eq!(asked.await.expect("it was asked"), "\"status\"\n");
        // A directory elsewhere is found while a process has it open. This test's is none of
        // Fairwave's, so that it names itself.
        let elsewhere = tempfile::tempdir().expect("a directory");
        let held = fs::File::open(&run).expect("ours");
        let own = [Process::at(PathBuf::from("/proc/self")).expect("it runs")];
        let names: Vec<String> =
            emulating(elsewhere.path(), &own).into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, [run.display().to_string()]);
        assert_eq!(emulating(place.path(), &own).len(), 1, "it is the same");
        drop(held);
        assert!(emulating(elsewhere.path(), &own).is_empty());
        // What is no socket, is a link, or lies too deep is none.
        fs::write(place.path().join(CONTROL), "").expect("ours");
        std::os::unix::fs::symlink(&run, place.path().join("link")).expect("ours");
        fs::create_dir_all(place.path().join("a/b/c/d")).expect("ours");
        let _deep =
            StdListener::bind(place.path().join("a/b/c/d").join(CONTROL)).expect("a socket");
        assert_eq!(emulations(place.path()), [run]);
    }

    #[tokio::test]
    async fn clients_at_the_same_time_share_an_answer() {
        let place = tempfile::tempdir().expect("a directory");
        let run = place.path().join("run");
        fs::create_dir(&run).expect("ours");
        let control = UnixListener::bind(run.join(CONTROL)).expect("a socket");
        let live = Live::new(place.path());
        let first = async {
            let (mut client, _) = control.accept().await.expect("a client");
            client.write_all(b"{\"count\":1}\n").await.expect("it reads");
            client
        };
        let (one, two, _client) = tokio::join!(live.answer(), live.answer(), first);
        assert_eq!(one, two);
        assert!(String::from_utf8_lossy(&one).contains("\"count\":1"));
    }
}
