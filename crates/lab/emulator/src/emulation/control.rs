//! Control socket of a run: JSON lines in both directions, in the run directory.
//!
//! Only processes of the same user can open the socket. A client cannot delay the loop: lines and
//! clients are bounded, each client has its own thread, and its commands wait in a bounded queue.

use crate::drive::Control;
use crate::emulation::live::Live;
use fairwave_linux::clock::Clock;
use fairwave_scenario::Steering;
use fairwave_units::Instant;
use serde_json::{Value, json};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Scope};
use std::time::Duration;

/// The socket in the run directory.
pub const SOCKET: &str = "control.sock";
/// Maximum length of a line in bytes.
const MAX_LINE: usize = 16 << 10;
/// Maximum number of simultaneous clients.
const MAX_CLIENTS: usize = 16;
/// Maximum number of changes that wait for the loop.
const WAITING: usize = 64;
/// Period of the checks for new clients.
const ACCEPT_EVERY: fairwave_units::Duration = fairwave_units::Duration::from_millis(20);
/// Period at which threads check whether the run is over.
const LOOK: Duration = Duration::from_millis(50);
/// Maximum time for a client to read, and for the loop to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A listening socket, whose file is removed when it is dropped.
pub(crate) struct Listener {
    socket: UnixListener,
    path: PathBuf,
    /// The run directory. `fairwave web` finds it among the open files of this process, wherever it
    /// lies.
    _directory: File,
}

/// State that all clients share.
pub(crate) struct ControlState<'a> {
    pub(crate) clock: Clock,
    pub(crate) live: &'a Live,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) over: &'a AtomicBool,
    changes: Mutex<Changes>,
    controls: SyncSender<Control>,
    clients: AtomicUsize,
}

impl Listener {
    /// Listens in `directory`. The socket is created in a private directory and then moved, so that
    /// other users cannot open it at any time.
    pub(crate) fn bind(directory: &Path) -> io::Result<Self> {
        let path = directory.join(SOCKET);
        let private = directory.join(".control");
        let here = |error| named(&private, &error);
        match fs::remove_dir_all(&private) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(here(error)),
            _ => DirBuilder::new().mode(0o700).create(&private).map_err(here)?,
        }
        let socket = through(&private, SOCKET, |path| UnixListener::bind(path)).map_err(here)?;
        fs::set_permissions(private.join(SOCKET), Permissions::from_mode(0o600))?;
        if let Err(error) = fs::rename(private.join(SOCKET), &path) {
            // The error to report is that of the rename.
            let _ = fs::remove_dir_all(&private);
            return Err(named(&path, &error));
        }
        fs::remove_dir(&private).map_err(here)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, path, _directory: File::open(directory)? })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // At worst, a socket file without listener remains.
        let _ = fs::remove_file(&self.path);
    }
}

/// Adds a path to an error.
fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Opens a socket in a directory by way of the directory's descriptor: a socket's path has at most
/// 107 bytes, and that of a directory may be longer.
fn through<T>(
    directory: &Path,
    name: &str,
    open: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<T> {
    let directory = File::open(directory)?;
    let fd = directory.as_raw_fd();
    open(Path::new(&format!("/proc/self/fd/{fd}/{name}")))
}

/// Sends a line to the run that writes into `directory`. Returns its answer, a line of JSON.
///
/// # Errors
/// If no run listens there, or it ends before it answers.
pub fn ask(directory: &Path, line: &str) -> io::Result<String> {
    let mut stream = through(directory, SOCKET, |path| UnixStream::connect(path))?;
    stream.set_read_timeout(Some(2 * PATIENCE))?;
    stream.write_all(format!("{}\n", line.replace('\n', " ")).as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    match answer.is_empty() {
        true => Err(io::Error::other("the run ended without an answer")),
        false => Ok(answer.trim_end().to_owned()),
    }
}

impl<'a> ControlState<'a> {
    /// Creates the state, and the channel of changes for the loop.
    pub(crate) fn new(
        steering: Steering,
        clock: Clock,
        live: &'a Live,
        stop: Arc<AtomicBool>,
        over: &'a AtomicBool,
    ) -> (Self, Receiver<Control>) {
        let (controls, taken) = sync_channel(WAITING);
        let changes = Mutex::new(Changes { steering, unanswered: None });
        let clients = AtomicUsize::new(0);
        (Self { clock, live, stop, over, changes, controls, clients }, taken)
    }

    /// Serves clients until the run is over.
    pub(crate) fn attend<'scope>(
        &'scope self,
        listener: &Listener,
        scope: &'scope Scope<'scope, '_>,
    ) {
        while !self.over.load(Ordering::Relaxed) {
            match listener.socket.accept() {
                Ok((stream, _)) => self.admit(stream, scope),
                // No client waits, or no descriptor is left for it.
                Err(_) => self.clock.sleep_until(self.clock.now() + ACCEPT_EVERY),
            }
        }
    }

    fn admit<'scope>(&'scope self, stream: UnixStream, scope: &'scope Scope<'scope, '_>) {
        if self.clients.fetch_add(1, Ordering::Relaxed) >= MAX_CLIENTS {
            self.clients.fetch_sub(1, Ordering::Relaxed);
            let _ = stream.set_nonblocking(true);
            let _ = (&stream).write_all(b"{\"error\":\"too many clients\"}\n");
            return;
        }
        let serve = move || {
            // A client that breaks off affects no other client.
            let _ = self.serve(&stream);
            self.clients.fetch_sub(1, Ordering::Relaxed);
        };
        let builder = thread::Builder::new().name("fairwave-control".to_owned());
        if builder.spawn_scoped(scope, serve).is_err() {
            self.clients.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Answers a client line by line.
    fn serve(&self, mut stream: &UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(LOOK))?;
        let mut line = Vec::new();
        let mut chunk = [0; 4096];
        while !self.over.load(Ordering::Relaxed) {
            let count = match stream.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if is_early(&error) => continue,
                Err(error) => return Err(error),
            };
            for byte in &chunk[..count] {
                if *byte == b'\n' {
                    let answer = self.answer(&line);
                    line.clear();
                    self.report(stream, &answer)?;
                } else if line.len() < MAX_LINE {
                    line.push(*byte);
                } else {
                    let printed =
                        json!({ "error": format!("a line has at most {MAX_LINE} bytes") });
                    return self.report(stream, &printed);
                }
            }
        }
        Ok(())
    }

    /// Writes an answer. A client that does not read is dropped after a time, and at the end of the
    /// run at once, so that the run does not wait for it.
    fn report(&self, mut stream: &UnixStream, answer: &Value) -> io::Result<()> {
        let line = format!("{answer}\n");
        let mut rest = line.as_bytes();
        let mut waited = Duration::ZERO;
        while !rest.is_empty() {
            match stream.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if is_early(&error) && waited < PATIENCE => {
                    if self.over.load(Ordering::Relaxed) {
                        return Err(error);
                    }
                    waited += LOOK;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn answer(&self, line: &[u8]) -> Value {
        let done = core::str::from_utf8(line).map_err(|_| "not UTF-8".to_owned());
        done.and_then(|line| self.perform(line)).unwrap_or_else(|error| json!({ "error": error }))
    }

    fn perform(&self, line: &str) -> Result<Value, String> {
        let word = match serde_json::from_str(line) {
            Ok(Value::String(word)) => Some(word),
            Ok(Value::Object(map)) if map.len() == 1 => map.keys().next().cloned(),
            _ => None,
        };
        match word.as_deref() {
            Some("status") => Ok(self.live.state().to_json()),
            Some("stop") => {
                self.stop.store(true, Ordering::Relaxed);
                Ok(json!({ "ok": true, "at_ns": self.clock.now().as_nanos() }))
            }
            _ => self.change(line).map_err(|error| match word {
                Some(word) if !Steering::WORDS.contains(&&*word) => {
                    format!("{error}; beside changes there are status and stop")
                }
                _ => error,
            }),
        }
    }

    /// Changes the world. Clients take turns, as a change may keep values that an earlier one has
    /// set.
    fn change(&self, line: &str) -> Result<Value, String> {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.note_unanswered()?;
        let (command, text) = changes.steering.read(self.clock.now(), line)?;
        let (done, received) = sync_channel(1);
        let control = Control { command, text: text.clone(), done };
        let busy = |_| "the emulator is busy; nothing was changed".to_owned();
        self.controls.try_send(control).map_err(busy)?;
        match received.recv_timeout(PATIENCE) {
            Ok(at) => {
                let at = at?;
                changes.steering.note(at, &text);
                Ok(json!({ "ok": true, "at_ns": at.as_nanos() }))
            }
            Err(RecvTimeoutError::Timeout) => {
                changes.unanswered = Some((received, text));
                Err("the emulator did not answer in time; the change may act later".to_owned())
            }
            Err(RecvTimeoutError::Disconnected) => Err("the run has ended".to_owned()),
        }
    }
}

/// Changes of the world so far, and one that the loop has not answered in time.
struct Changes {
    steering: Steering,
    unanswered: Option<(Receiver<Result<Instant, String>>, String)>,
}

impl Changes {
    /// Notes the change that was not answered in time, if it has acted since.
    ///
    /// # Errors
    /// If it may still act: a further change would not know which values it keeps.
    fn note_unanswered(&mut self) -> Result<(), String> {
        let Some((received, text)) = self.unanswered.take() else { return Ok(()) };
        match received.try_recv() {
            Ok(Ok(at)) => self.steering.note(at, &text),
            // It was refused, or the loop has ended.
            Ok(Err(_)) | Err(TryRecvError::Disconnected) => {}
            Err(TryRecvError::Empty) => {
                let error = format!("{text} has not acted yet; nothing was changed");
                self.unanswered = Some((received, text));
                return Err(error);
            }
        }
        Ok(())
    }
}

fn is_early(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwave_scenario::Scenario;

    const HOME: &str = "duration = \"9 s\"\ncell = { standard = \"802.11a\" }\n\
        [[node]]\nname = \"ap\"\nkind = \"access-point\"\n\
        [[node]]\nname = \"server\"\nkind = \"host\"\n\
        [[link]]\nname = \"isp\"\nends = [\"ap\", \"server\"]\nrate = \"50 Mbps\"\n";
    const DOWN: &str = r#"{"link": {"name": "isp", "up": false}}"#;
    const SLOW: &str = r#"{"link": {"name": "isp", "rate": "1 Mbps"}}"#;

    fn up_after(changes: &Changes) -> String {
        changes.steering.read(Instant::ZERO, SLOW).expect("a change of the link").1
    }

    /// The next change keeps the values of one that acted after its client was answered.
    #[test]
    fn a_change_that_acts_late_is_noted_before_the_next() {
        let scenario = Scenario::parse("s", HOME).expect("it is valid");
        let steering = Steering::new(&scenario, &scenario.to_world(1));
        let (_, text) = steering.read(Instant::ZERO, DOWN).expect("a change of the link");
        let (done, received) = sync_channel(1);
        let mut changes = Changes { steering, unanswered: Some((received, text.clone())) };
        let before = up_after(&changes);
        let error = changes.note_unanswered().expect_err("it may still act");
        assert!(error.contains("has not acted yet"), "{error}");
        done.send(Ok(Instant::ZERO)).expect("it is received");
        assert_eq!(changes.note_unanswered(), Ok(()));
        assert!(changes.unanswered.is_none());
        let after = up_after(&changes);
        assert!(before != after && after.contains("false"), "{before} and {after}");
        // One that was refused changes nothing.
        let (done, received) = sync_channel(1);
        changes.unanswered = Some((received, text));
        done.send(Err("refused".to_owned())).expect("it is received");
        assert_eq!((changes.note_unanswered(), up_after(&changes)), (Ok(()), after));
    }
}
