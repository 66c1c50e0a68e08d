//! A program on this process's terminal, by a terminal of its own in between.
//!
//! The program gets a session and a pseudo-terminal of its own. Its job control works therefore,
//! although the process group of the emulator is not visible in its PID namespace, and Ctrl-C goes
//! to the program and not to the emulator.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read, retry_on_intr, write};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize,
};
use std::io::{self, Stdin, stdin, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread::{self, JoinHandle};

/// Interval at which the size of the window is read.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Both ends of a pseudo-terminal.
pub struct Terminal {
    ours: OwnedFd,
    theirs: OwnedFd,
}

impl Terminal {
    /// Makes a new one; `None` where this process has no terminal, so that the program can do as
    /// well with this process's files.
    pub fn open() -> io::Result<Option<Self>> {
        if !(isatty(stdin()) && isatty(stdout())) {
            return Ok(None);
        }
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let theirs = open(ptsname(&ours, Vec::new())?, flags, Mode::empty())?;
        tcsetattr(&theirs, OptionalActions::Now, &tcgetattr(stdin())?)?;
        Ok(Some(Self { ours, theirs }))
    }

    /// Makes the program's end its standard input, output and errors.
    pub fn give(&self, command: &mut Command) -> io::Result<()> {
        command.stdin(self.theirs.try_clone()?);
        command.stdout(self.theirs.try_clone()?).stderr(self.theirs.try_clone()?);
        Ok(())
    }

    /// Carries bytes between both terminals on a thread of its own, until the program that
    /// `process`, its pidfd, stands for has ended.
    pub fn serve(self, process: OwnedFd) -> io::Result<JoinHandle<io::Result<()>>> {
        let Self { ours, theirs } = self;
        // Once the program has ended, nobody holds its end any more: then reads of ours fail.
        drop(theirs);
        let raw = Raw::enter(stdin())?;
        let carry = move || carry_until_end(&ours, &process, &raw);
        thread::Builder::new().name("fairwave-terminal".to_owned()).spawn(carry)
    }
}

/// Carries bytes while this process's terminal is raw.
fn carry_until_end(ours: &OwnedFd, process: &OwnedFd, _raw: &Raw) -> io::Result<()> {
    let mut reads_input = true;
    loop {
        fit(ours);
        let seen = wait(ours, process, reads_input)?;
        if seen.typed {
            reads_input = carry(stdin(), ours)?;
        }
        let more = !seen.shown || carry(ours, stdout())?;
        // What it wrote last comes before its end.
        if !more || (seen.ended && !seen.shown) {
            return Ok(());
        }
    }
}

/// Work to do.
struct Seen {
    /// The user typed.
    typed: bool,
    /// The program wrote.
    shown: bool,
    /// The program has ended.
    ended: bool,
}

/// Waits for bytes, for the program's end, or for a tick.
fn wait(ours: &OwnedFd, process: &OwnedFd, reads_input: bool) -> io::Result<Seen> {
    let input = stdin();
    let requested = if reads_input { PollFlags::IN } else { PollFlags::empty() };
    let mut polled = [
        PollFd::new(ours, PollFlags::IN),
        PollFd::new(process, PollFlags::IN),
        PollFd::new(&input, requested),
    ];
    retry_on_intr(|| poll(&mut polled, Some(&TICK)))?;
    let [shown, ended, typed] = [0, 1, 2].map(|place: usize| !polled[place].revents().is_empty());
    Ok(Seen { typed: reads_input && typed, shown, ended })
}

/// Carries the available data; `false` at its end.
fn carry(from: impl AsFd, to: impl AsFd) -> io::Result<bool> {
    let mut bytes = [0; 4096];
    let length = match retry_on_intr(|| read(&from, &mut bytes)) {
        // The other end of a pseudo-terminal is closed.
        Ok(0) | Err(Errno::IO) => return Ok(false),
        Ok(length) => length,
        Err(errno) => return Err(errno.into()),
    };
    let mut rest = &bytes[..length];
    while !rest.is_empty() {
        rest = &rest[retry_on_intr(|| write(&to, rest))?..];
    }
    Ok(true)
}

/// Gives the program's terminal the size of this one.
fn fit(ours: &OwnedFd) {
    let sizes = tcgetwinsize(stdin()).and_then(|size| Ok((size, tcgetwinsize(ours)?)));
    if let Ok((size, theirs)) = sizes
        && (size.ws_row, size.ws_col) != (theirs.ws_row, theirs.ws_col)
    {
        let _ = tcsetwinsize(ours, size);
    }
}

/// This process's terminal while it hands on each key.
struct Raw {
    terminal: Stdin,
    before: Termios,
}

impl Raw {
    fn enter(terminal: Stdin) -> io::Result<Self> {
        let before = tcgetattr(&terminal)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&terminal, OptionalActions::Now, &raw)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

/// First action of the program's process: it makes its standard input the terminal of a session of
/// its own. Returns an exit code, only where that or the program's start fails.
pub fn lead_session(mut command: Command) -> u8 {
    let led = rustix::process::setsid().and_then(|_| rustix::process::ioctl_tiocsctty(stdin()));
    let error = led.map_or_else(io::Error::from, |()| command.exec());
    let _ = io::Write::write_fmt(&mut io::stderr(), format_args!("{command:?}: {error}\n"));
    // As shells do for a program that they cannot start.
    127
}
