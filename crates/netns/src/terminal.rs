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
use std::process::{Child, Command, ExitCode, ExitStatus};

/// How often the size of the window is looked at.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Both ends of a pseudo-terminal.
pub(crate) struct Terminal {
    ours: OwnedFd,
    theirs: OwnedFd,
}

impl Terminal {
    /// A new one; `None` where this process has no terminal, so that the program can do as well
    /// with what this process has.
    pub(crate) fn open() -> io::Result<Option<Self>> {
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
    pub(crate) fn give(&self, command: &mut Command) -> io::Result<()> {
        command.stdin(self.theirs.try_clone()?);
        command.stdout(self.theirs.try_clone()?).stderr(self.theirs.try_clone()?);
        Ok(())
    }

    /// Carries bytes between both terminals until the program ends.
    pub(crate) fn serve(self, child: &mut Child) -> io::Result<ExitStatus> {
        let Self { ours, theirs } = self;
        // Once the program has ended, nobody holds its end any more: then reads of ours fail.
        drop(theirs);
        let _raw = Raw::enter(stdin())?;
        let mut reads_input = true;
        loop {
            fit(&ours);
            let (typed, shown) = wait(&ours, reads_input)?;
            if typed {
                reads_input = carry(stdin(), &ours)?;
            }
            let more = !shown || carry(&ours, stdout())?;
            if !more || (!shown && child.try_wait()?.is_some()) {
                return child.wait();
            }
        }
    }
}

/// Waits for bytes, or for a tick: whether the user typed, whether the program wrote.
fn wait(ours: &OwnedFd, reads_input: bool) -> io::Result<(bool, bool)> {
    let input = stdin();
    let asked = if reads_input { PollFlags::IN } else { PollFlags::empty() };
    let mut polled = [PollFd::new(ours, PollFlags::IN), PollFd::new(&input, asked)];
    retry_on_intr(|| poll(&mut polled, Some(&TICK)))?;
    let typed = reads_input && !polled[1].revents().is_empty();
    Ok((typed, !polled[0].revents().is_empty()))
}

/// Carries what there is; `false` at its end.
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

/// What the program's process does first: it makes its standard input the terminal of a session
/// of its own. Returns only where that or the program's start fails.
pub(crate) fn lead_session(mut command: Command) -> ExitCode {
    let led = rustix::process::setsid().and_then(|_| rustix::process::ioctl_tiocsctty(stdin()));
    let error = led.map_or_else(io::Error::from, |()| command.exec());
    let _ = io::Write::write_fmt(&mut io::stderr(), format_args!("{command:?}: {error}\n"));
    // As shells do for a program that they cannot start.
    ExitCode::from(127)
}
