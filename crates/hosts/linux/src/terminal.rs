//! A program on this process's terminal, by a terminal of its own in between.
//!
//! The program gets a session and a pseudo-terminal of its own. Its job control works therefore,
//! although the process group of the emulator is not visible in its PID namespace, and Ctrl-C goes
//! to the program and not to the emulator.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};
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
        let carry = move || {
            let carried = carry_until_end(&ours, &process, &stdin(), &stdout());
            drop(raw);
            carried
        };
        thread::Builder::new().name("fairwave-terminal".to_owned()).spawn(carry)
    }
}

/// Carries bytes between the program's terminal and that of this process, which is raw.
///
/// A program that does not read, such as one that waits for room in its output, takes a few
/// kilobytes. The rest of a longer paste is held, and meanwhile output is still shown.
fn carry_until_end(
    ours: &OwnedFd,
    process: &OwnedFd,
    input: &impl AsFd,
    output: &impl AsFd,
) -> io::Result<()> {
    fcntl_setfl(ours, fcntl_getfl(ours)? | OFlags::NONBLOCK)?;
    let mut reads_input = true;
    let mut held = Vec::new();
    loop {
        fit(ours, input);
        let seen = wait(ours, process, input, reads_input, !held.is_empty())?;
        if seen.typed {
            reads_input = take(input, &mut held)?;
        }
        give(ours, &mut held)?;
        let mut bytes = Vec::new();
        let more = !seen.shown || take(ours, &mut bytes)?;
        write_all(output, &bytes)?;
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

/// Waits for bytes, for the program's end, or for a tick; with `is_held` for room in the program's
/// terminal, and not for more input.
fn wait(
    ours: &OwnedFd,
    process: &OwnedFd,
    input: &impl AsFd,
    reads_input: bool,
    is_held: bool,
) -> io::Result<Seen> {
    let reads_input = reads_input && !is_held;
    let requested = if reads_input { PollFlags::IN } else { PollFlags::empty() };
    let room = if is_held { PollFlags::OUT } else { PollFlags::empty() };
    let mut polled = [
        PollFd::new(ours, PollFlags::IN | room),
        PollFd::new(process, PollFlags::IN),
        PollFd::new(input, requested),
    ];
    retry_on_intr(|| poll(&mut polled, Some(&TICK)))?;
    let [shown, ended, typed] = [0, 1, 2]
        .map(|place: usize| !polled[place].revents().difference(PollFlags::OUT).is_empty());
    Ok(Seen { typed: reads_input && typed, shown, ended })
}

/// Reads the available data; `false` at its end.
fn take(from: &impl AsFd, taken: &mut Vec<u8>) -> io::Result<bool> {
    let mut bytes = [0; 4096];
    match retry_on_intr(|| read(from, &mut bytes)) {
        // The other end of a pseudo-terminal is closed.
        Ok(0) | Err(Errno::IO) => return Ok(false),
        Ok(length) => taken.extend_from_slice(&bytes[..length]),
        Err(Errno::AGAIN) => {}
        Err(errno) => return Err(errno.into()),
    }
    Ok(true)
}

/// Writes as much as the program's terminal takes now.
fn give(ours: &OwnedFd, held: &mut Vec<u8>) -> io::Result<()> {
    while !held.is_empty() {
        match retry_on_intr(|| write(ours, held)) {
            Ok(length) => drop(held.drain(..length)),
            Err(Errno::AGAIN) => break,
            // Nobody holds its other end, as the program has ended.
            Err(Errno::IO) => held.clear(),
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

fn write_all(to: &impl AsFd, mut rest: &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        rest = &rest[retry_on_intr(|| write(to, rest))?..];
    }
    Ok(())
}

/// Gives the program's terminal the size of this one.
fn fit(ours: &OwnedFd, terminal: &impl AsFd) {
    let sizes = tcgetwinsize(terminal).and_then(|size| Ok((size, tcgetwinsize(ours)?)));
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    use std::io::{Read, Write, pipe};

    /// A program that writes more than a terminal holds before it reads a paste that is longer than
    /// a terminal holds: each waited for the other.
    #[test]
    fn a_long_paste_waits_while_output_is_shown() {
        let (mine, ours) = {
            let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
            grantpt(&ours).unwrap();
            unlockpt(&ours).unwrap();
            let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
            (open(ptsname(&ours, Vec::new()).unwrap(), flags, Mode::empty()).unwrap(), ours)
        };
        let mut raw = tcgetattr(&mine).unwrap();
        raw.make_raw();
        tcsetattr(&mine, OptionalActions::Now, &raw).unwrap();
        let terminal = Terminal { ours, theirs: mine };
        let mut command = Command::new("sh");
        let line = "head -c 300000 /dev/zero; head -c 200000 | wc -c";
        terminal.give(command.args(["-c", line])).unwrap();
        let mut child = command.spawn().unwrap();
        // The command has the program's end, too.
        drop(command);
        let Terminal { ours, theirs } = terminal;
        drop(theirs);
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        let process = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        let [(input, mut typist), (mut screen, output)] = [pipe().unwrap(), pipe().unwrap()];
        let typing = thread::spawn(move || typist.write_all(&[b'x'; 200_000]));
        let watching = thread::spawn(move || {
            let mut all = Vec::new();
            screen.read_to_end(&mut all).map(|_| all)
        });
        carry_until_end(&ours, &process, &input, &output).unwrap();
        drop(output);
        typing.join().unwrap().unwrap();
        let all = watching.join().unwrap().unwrap();
        assert!(all[..300_000].iter().all(|byte| *byte == 0));
        assert_eq!(String::from_utf8_lossy(&all[300_000..]).trim(), "200000");
        assert!(child.wait().unwrap().success());
    }
}
