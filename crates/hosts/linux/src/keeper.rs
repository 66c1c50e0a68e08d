//! The keeper: a process that outlives a crash of the emulator just long enough to clean up.
//!
//! It is init (process 1) of the PID namespace of all programs. It reads a pipe whose other end the
//! emulator holds. When the emulator exits, however it does, the pipe ends; the keeper then
//! restores the changes outside of the namespaces, and exits, and the kernel kills every process of
//! the PID namespace. Namespaces and devices go with the last process and descriptor.

use crate::kernel::{be_ordinary, unshare};
pub use crate::plan::COMMAND;
use crate::undo::Undo;
use crate::{Error, KeeperCommand, mounts, terminal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{WaitOptions, getpid, wait};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::thread;

/// Argument of a process that only mounts `/proc` for a node.
const SHOW_PROCESSES: &str = "show-processes";

/// Argument of a keeper that only restores, and is init of nothing.
const WITHOUT_PROGRAMS: &str = "without-programs";

/// Argument before the command of a process that starts it on a terminal of its own.
const ON_TERMINAL: &str = "on-terminal";

/// The keeper's messages when it is ready, and when it has recorded an undo.
const DONE: &str = "done\n";

/// Interval at which orphans are reaped.
const REAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Entry point of the hidden subcommand [`COMMAND`], before it starts threads. Commands come on
/// standard input; `arguments` are those behind the subcommand. Returns the exit code.
pub fn main(arguments: &[OsString]) -> u8 {
    let mut arguments = arguments.iter();
    match arguments.next().and_then(|word| word.to_str()) {
        Some(SHOW_PROCESSES) => {
            return mounts::show_processes().map_or(1, |()| 0);
        }
        Some(ON_TERMINAL) => {
            let mut command =
                Command::new(arguments.next().map_or(OsStr::new(""), OsString::as_os_str));
            command.args(arguments);
            return terminal::lead_session(command);
        }
        Some(WITHOUT_PROGRAMS) => {}
        _ if getpid().is_init() => {}
        _ => {
            complain("this command is started by an emulation, not by hand");
            return 2;
        }
    }
    keep_and_restore()
}

/// Ignores the signals that end a service or a session: they may reach a command and its keeper at
/// once, and the keeper has to restore after the command. It ends at the end of its pipe.
fn outlive_signals() -> io::Result<()> {
    // A handler, since programs that the keeper starts would inherit that a signal is ignored.
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, Arc::default())?;
    }
    Ok(())
}

fn keep_and_restore() -> u8 {
    let mut undos = Vec::new();
    let kept = keep(&mut undos);
    // In reverse, since a later change may rest on an earlier one. A failure does not stop the
    // rest.
    let failures: Vec<String> = undos.iter().rev().filter_map(failure).collect();
    failures.iter().for_each(|failure| complain(failure));
    u8::from(kept.is_err() || !failures.is_empty())
}

/// Takes a change back; returns the message for the user where that fails.
fn failure(undo: &Undo) -> Option<String> {
    undo.run().err().map(|error| format!("cannot restore {undo:?}: {error}"))
}

fn complain(what: &str) {
    let _ = writeln!(io::stderr(), "fairwave keeper: {what}");
}

/// Records undos, and reaps orphans, until the emulator is gone.
fn keep(undos: &mut Vec<Undo>) -> io::Result<()> {
    // The directory in which the emulator was started can be unmounted while the keeper runs.
    std::env::set_current_dir("/")?;
    outlive_signals()?;
    io::stdout().write_all(DONE.as_bytes())?;
    io::stdout().flush()?;
    let mut pending = Vec::new();
    loop {
        let stdin = io::stdin();
        let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
        // As init it is the parent of orphans. Nothing on the pipe reports their exits: hence a
        // timeout.
        let ready = retry_on_intr(|| poll(&mut polled, Some(&REAP)))? > 0;
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        if ready && !take_lines(&mut pending, undos)? {
            return Ok(());
        }
    }
}

/// Adds a change, in place of an earlier one with the same key.
fn learn(undos: &mut Vec<Undo>, undo: Undo) {
    let Undo::Program { key, words } = &undo else { return undos.push(undo) };
    undos.retain(|one| !matches!(one, Undo::Program { key: known, .. } if known == key));
    if !words.is_empty() {
        undos.push(undo);
    }
}

/// Reads the content of the pipe; `false` at its end.
fn take_lines(pending: &mut Vec<u8>, undos: &mut Vec<Undo>) -> io::Result<bool> {
    let mut piece = [0; 4096];
    let length = retry_on_intr(|| rustix::io::read(io::stdin().as_fd(), &mut piece))?;
    pending.extend_from_slice(&piece[..length]);
    while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
        let line: Vec<u8> = pending.drain(..=end).collect();
        let line = String::from_utf8_lossy(&line);
        learn(undos, Undo::parse(line.trim_end_matches('\n')).ok_or(io::ErrorKind::InvalidData)?);
        io::stdout().write_all(DONE.as_bytes())?;
        io::stdout().flush()?;
    }
    Ok(length > 0)
}

/// The keeper as the emulator sees it.
#[derive(Debug)]
pub struct Keeper {
    child: Child,
    answers: BufReader<ChildStdout>,
    undos: Vec<Undo>,
    programs: File,
}

/// The PID namespace of programs.
#[derive(Debug)]
pub struct ProcessNamespace(File);

impl Keeper {
    /// Starts the keeper as init of a new PID namespace.
    pub fn start(command: &KeeperCommand) -> Result<Self, Error> {
        Self::of(spawn_as_init(command)?)
    }

    /// Starts a keeper that only restores: no programs are to be started beside it.
    pub fn start_without_programs(command: &KeeperCommand) -> Result<Self, Error> {
        let mut keeper = keeper_process(command);
        keeper.arg(WITHOUT_PROGRAMS);
        Self::of(keeper.spawn().map_err(Error::at("keeper process"))?)
    }

    fn of(mut child: Child) -> Result<Self, Error> {
        let stdout = child.stdout.take().ok_or_else(|| Error::Keeper("has no output".into()))?;
        let of_child = format!("/proc/{}/ns/pid", child.id());
        let programs = File::open(&of_child).map_err(Error::at(of_child))?;
        let answers = BufReader::new(stdout);
        let mut keeper = Self { child, answers, undos: Vec::new(), programs };
        keeper.read_answer()?;
        Ok(keeper)
    }

    /// The PID namespace whose init the keeper is.
    pub fn programs(&self) -> Result<ProcessNamespace, Error> {
        self.programs.try_clone().map(ProcessNamespace).map_err(Error::at("PID namespace"))
    }

    /// Lets the keeper record an undo. To be called before the change.
    pub fn note(&mut self, undo: Undo) -> Result<(), Error> {
        let line = undo.line();
        learn(&mut self.undos, undo);
        let pipe = self.child.stdin.as_mut().ok_or_else(|| Error::Keeper("has no pipe".into()))?;
        pipe.write_all(line.as_bytes()).map_err(|error| Error::Keeper(error.to_string()))?;
        // The change may only be made when the keeper holds its undo: this process may be killed at
        // any time after it.
        self.read_answer()
    }

    /// Whether the keeper still runs.
    pub fn check(&mut self) -> Result<(), Error> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(Error::Keeper(format!("has ended ({status})"))),
            Err(error) => Err(Error::Keeper(error.to_string())),
        }
    }

    /// Like [`Keeper::check`], but awaits a keeper that has begun to exit. The kernel closes its
    /// pipe, then kills the programs, and ends the keeper when all of them have been waited for:
    /// the caller has done so.
    pub fn check_after_programs(&mut self) -> Result<(), Error> {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut polled = [PollFd::new(self.answers.get_ref(), PollFlags::empty())];
        let ready = retry_on_intr(|| poll(&mut polled, Some(&at_once)));
        ready.map_err(|error| Error::Keeper(error.to_string()))?;
        if polled[0].revents().contains(PollFlags::HUP) {
            self.child.wait().map_err(|error| Error::Keeper(error.to_string()))?;
        }
        self.check()
    }

    fn read_answer(&mut self) -> Result<(), Error> {
        let mut answer = String::new();
        match self.answers.read_line(&mut answer) {
            Ok(_) if answer == DONE => Ok(()),
            Ok(_) => {
                Err(Error::Keeper(format!("did not start or has ended: it answered {answer:?}")))
            }
            Err(error) => Err(Error::Keeper(error.to_string())),
        }
    }
}

/// A keeper for changes that this crate does not know: it runs this very program for each of them
/// when this process is gone, however it ends.
#[derive(Debug)]
pub struct Watchdog(Keeper);

impl Watchdog {
    /// Starts it.
    ///
    /// # Errors
    /// If the process cannot be started.
    pub fn start(command: &KeeperCommand) -> Result<Self, Error> {
        Keeper::start_without_programs(command).map(Self)
    }

    /// Lets it run the program, behind [`COMMAND`], with these words. An earlier task of the same
    /// `key` is forgotten, so that it holds one change for each key. To be called before the change
    /// that this takes back. Neither key nor words may have tabs or ends of lines.
    ///
    /// # Errors
    /// If the keeper is gone.
    pub fn note(&mut self, key: &str, words: &[&str]) -> Result<(), Error> {
        let (key, words) = (key.to_owned(), words.iter().map(|word| (*word).to_owned()).collect());
        self.0.note(Undo::Program { key, words })
    }

    /// Lets it forget the task of a key.
    ///
    /// # Errors
    /// As [`Watchdog::note`].
    pub fn forget(&mut self, key: &str) -> Result<(), Error> {
        self.0.note(Undo::Program { key: key.to_owned(), words: Vec::new() })
    }
}

impl Drop for Keeper {
    /// Ends the pipe and waits until the keeper has restored everything and all programs are dead.
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let ended = self.child.wait();
        if !ended.is_ok_and(|status| status.success()) {
            // Somebody killed it, or it could not: what can be restored from here is.
            let failures = self.undos.iter().rev().filter_map(failure);
            failures.for_each(|failure| complain(&failure));
        }
    }
}

impl ProcessNamespace {
    /// From now on processes that the calling thread starts are in the namespace. It can start no
    /// threads any more.
    pub fn enter(&self) -> io::Result<()> {
        Ok(move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::ProcessID))?)
    }
}

/// Process that mounts `/proc` for a node, in the PID namespace of programs.
pub fn showing_processes(command: &KeeperCommand) -> Command {
    let mut shower = Command::new(&command.program);
    shower.args(&command.arguments).arg(SHOW_PROCESSES);
    shower.stdin(Stdio::null()).stdout(Stdio::null());
    shower
}

/// The same command on a terminal, which is given to it.
pub fn on_terminal(keeper: &KeeperCommand, command: &Command) -> Command {
    let mut starter = Command::new(&keeper.program);
    starter.args(&keeper.arguments).arg(ON_TERMINAL);
    starter.arg(command.get_program()).args(command.get_args());
    starter
}

/// A keeper, with pipes to it and from it.
fn keeper_process(command: &KeeperCommand) -> Command {
    let mut keeper = Command::new(&command.program);
    keeper.arg0("fairwave-keeper").args(&command.arguments);
    keeper.stdin(Stdio::piped()).stdout(Stdio::piped());
    // Not in the terminal's foreground group: Ctrl-C is for the emulator.
    keeper.process_group(0);
    keeper
}

/// A thread's first child after it has asked for a new PID namespace is init of that namespace.
fn spawn_as_init(command: &KeeperCommand) -> Result<Child, Error> {
    let mut keeper = keeper_process(command);
    let started = thread::spawn(move || {
        be_ordinary()?;
        unshare(UnshareFlags::NEWPID)?;
        keeper.spawn()
    });
    let joined = started.join().map_err(|_| Error::Keeper("could not be started".into()))?;
    joined.map_err(Error::at("new PID namespace with its keeper process"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::undo::Place;

    #[test]
    fn a_key_has_one_change_which_is_the_last() {
        let program = |key: &str, words: &[&str]| Undo::Program {
            key: key.to_owned(),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
        };
        let qdisc = Undo::Qdisc(Place { interface: "wlan0".to_owned(), index: 7 });
        let mut undos = vec![qdisc.clone()];
        for undo in [program("a", &["1"]), program("b", &["2"]), program("a", &["3"])] {
            learn(&mut undos, undo);
        }
        assert_eq!(undos, [qdisc.clone(), program("b", &["2"]), program("a", &["3"])]);
        learn(&mut undos, program("b", &[]));
        learn(&mut undos, program("c", &[]));
        assert_eq!(undos, [qdisc, program("a", &["3"])]);
    }
}
