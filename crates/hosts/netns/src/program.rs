//! Programs in namespaces: started, watched, ended.

use crate::Error;
use fairwave_linux::terminal::Terminal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Command to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invocation {
    /// A program and its arguments.
    Arguments(Vec<OsString>),
    /// A line for `/bin/sh -c`.
    Shell(String),
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arguments(words) => {
                let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
                write!(f, "`{}`", words.join(" "))
            }
            Self::Shell(line) => write!(f, "`{line}`"),
        }
    }
}

/// Start of a program. Its standard input is empty. It leads a process group of its own, so that
/// Ctrl-C in the emulator's terminal does not reach it.
#[derive(Debug)]
pub struct ProgramPlan {
    /// The command.
    pub invocation: Invocation,
    /// File of its output and its errors.
    pub output: File,
    /// Variables beside those of this process and `FAIRWAVE_NODE`, the name of the node.
    pub environment: Vec<(OsString, OsString)>,
    /// Working directory; `None` is that of this process.
    pub directory: Option<PathBuf>,
}

impl Invocation {
    /// The command, with the words of the shell before its line.
    pub(crate) fn command(&self) -> Result<Command, Error> {
        match self {
            Self::Arguments(words) => {
                let [program, arguments @ ..] = &words[..] else {
                    return Err(Error::Plan("a program without a name".to_owned()));
                };
                let mut command = Command::new(program);
                command.args(arguments);
                Ok(command)
            }
            Self::Shell(line) => {
                let mut command = Command::new("/bin/sh");
                command.arg("-c").arg(line);
                Ok(command)
            }
        }
    }
}

impl ProgramPlan {
    /// The command as it is started on the thread of `node`.
    pub(crate) fn command(self, node: &str) -> Result<Command, Error> {
        let mut command = self.invocation.command()?;
        let copy = self.output.try_clone().map_err(Error::at(format!("{node}: output")))?;
        command.stdin(Stdio::null()).stdout(copy).stderr(self.output);
        command.env("FAIRWAVE_NODE", node).envs(self.environment).process_group(0);
        if let Some(directory) = self.directory {
            command.current_dir(directory);
        }
        Ok(command)
    }
}

/// A program that was started. Dropping it kills the program and its process group, without time
/// to end well: see [`Program::terminate`].
#[derive(Debug)]
pub struct Program {
    shared: Arc<Shared>,
    /// Thread that carries between its terminal and ours, if it has one.
    terminal: Option<JoinHandle<io::Result<()>>>,
}

/// A child that both its [`Program`] and the namespaces can end.
#[derive(Debug)]
pub(crate) struct Shared {
    pid: u32,
    pidfd: OwnedFd,
    child: Mutex<Running>,
}

/// A child, and whether it was reaped: its id may then be another process's.
#[derive(Debug)]
struct Running {
    child: Child,
    /// Whether it has a process group of its own.
    leads: bool,
    reaped: bool,
}

impl Program {
    /// Takes a child that was just started.
    pub(crate) fn of(child: Child) -> io::Result<Self> {
        Self::taken(child, true)
    }

    /// The same of a child that leads no process group yet, or never will: its signals go to it
    /// alone, and the end of its session to its descendants.
    pub(crate) fn attached(child: Child) -> io::Result<Self> {
        Self::taken(child, false)
    }

    fn taken(mut child: Child, leads: bool) -> io::Result<Self> {
        let pid = child.id();
        let open = || {
            let id = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::Other)?;
            Ok(pidfd_open(id, PidfdFlags::empty())?)
        };
        match open() {
            Ok(pidfd) => {
                let child = Mutex::new(Running { child, leads, reaped: false });
                let shared = Shared { pid, pidfd, child };
                Ok(Self { shared: Arc::new(shared), terminal: None })
            }
            Err(error) => {
                let _ = child.kill().and_then(|()| child.wait());
                Err(error)
            }
        }
    }

    /// Has the terminal that it was given show it, until it ends.
    pub(crate) fn show_on(&mut self, terminal: Terminal) -> io::Result<()> {
        self.terminal = Some(terminal.serve(self.shared.pidfd.try_clone()?)?);
        Ok(())
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Process id, as this process sees it.
    pub fn pid(&self) -> u32 {
        self.shared.pid
    }

    /// Returns the exit status of the program; `None` while it runs.
    ///
    /// # Errors
    ///
    /// If the kernel does not answer.
    pub fn try_wait(&self) -> Result<Option<ExitStatus>, Error> {
        self.shared.try_wait().map_err(Error::at(format!("process {}", self.pid())))
    }

    /// Waits for the program's end.
    ///
    /// # Errors
    ///
    /// If the kernel does not report its exit status.
    pub fn wait(&self) -> Result<ExitStatus, Error> {
        let step = || format!("process {}", self.pid());
        let mut polled = [PollFd::new(&self.shared.pidfd, PollFlags::IN)];
        let polled = retry_on_intr(|| poll(&mut polled, None)).map_err(io::Error::from);
        polled.and_then(|_| self.shared.wait()).map_err(Error::at(step()))
    }

    /// Asks the program and its process group to end (SIGTERM). Returns at once.
    pub fn request_end(&self) {
        self.shared.signal(Signal::TERM);
    }

    /// Kills the program and its process group (SIGKILL) and waits for the program's end.
    ///
    /// # Errors
    ///
    /// If the kernel does not report its exit status.
    pub fn kill(&self) -> Result<ExitStatus, Error> {
        self.shared.kill().map_err(Error::at(format!("process {}", self.pid())))
    }

    /// Asks the program to end, waits for at most `grace`, then kills it and the rest of its
    /// process group. Returns its exit status.
    ///
    /// # Errors
    ///
    /// If the kernel does not answer.
    pub fn terminate(&self, grace: Duration) -> Result<ExitStatus, Error> {
        self.request_end();
        self.kill_after(grace)
    }

    /// Waits for at most `grace` until the program ends, then kills it and the rest of its process
    /// group. Returns its exit status. For a program that was asked to end: another SIGTERM would
    /// interrupt one that is ending.
    ///
    /// # Errors
    ///
    /// If the kernel does not answer.
    pub fn kill_after(&self, grace: Duration) -> Result<ExitStatus, Error> {
        let step = format!("process {}", self.pid());
        self.shared.await_end(grace).map_err(Error::at(step))?;
        self.kill()
    }
}

impl AsFd for Program {
    /// The pidfd: readable when the program has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.pidfd.as_fd()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.shared.kill();
        // Then the terminal of this process is as before.
        if let Some(terminal) = self.terminal.take() {
            let _ = terminal.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Running> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_wait(&self) -> io::Result<Option<ExitStatus>> {
        let mut running = self.lock();
        let ended = running.child.try_wait()?;
        running.reaped |= ended.is_some();
        Ok(ended)
    }

    fn wait(&self) -> io::Result<ExitStatus> {
        let mut running = self.lock();
        running.reaped = true;
        running.child.wait()
    }

    fn signal(&self, signal: Signal) {
        self.lock().signal(signal);
    }

    /// Kills the process group and waits for the program's end.
    pub(crate) fn kill(&self) -> io::Result<ExitStatus> {
        let mut running = self.lock();
        running.signal(Signal::KILL);
        running.reaped = true;
        running.child.wait()
    }

    fn await_end(&self, grace: Duration) -> io::Result<()> {
        let timeout = Timespec::try_from(grace).map_err(io::Error::other)?;
        let mut polled = [PollFd::new(&self.pidfd, PollFlags::IN)];
        retry_on_intr(|| poll(&mut polled, Some(&timeout)))?;
        Ok(())
    }
}

impl Running {
    /// Sends a signal to the process group, or to a child that has none of its own.
    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(id) = id.filter(|_| !self.reaped) {
            let _ = match self.leads {
                true => kill_process_group(id, signal),
                false => kill_process(id, signal),
            };
        }
    }
}
