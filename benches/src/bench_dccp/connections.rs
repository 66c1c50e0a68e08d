//! Many connections of one endpoint: the example `connections` of `fairwave-dccp-host`.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;
use xtask::shell::{Outcome, cargo, run_aside};
use xtask::workspace;

/// Clients of a process: each has four files, of which a process may usually have 1,024.
const A_PROCESS: usize = 200;
/// Time between two looks at processes that may have ended.
const LOOK: Duration = Duration::from_millis(100);

/// A process, which ends at the latest when this is dropped, and its name in errors.
struct Process {
    name: String,
    child: Child,
}

impl Process {
    fn start(name: String, command: &mut Command) -> Result<Self, String> {
        let child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        Ok(Self { name, child })
    }

    /// The error of a process that has ended, although it was to go on.
    fn ended_early(&mut self) -> Option<String> {
        let status = self.child.try_wait().transpose()?;
        let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        Some(format!("{} ended early: {status}", self.name))
    }

    /// Waits for its end, which must be a success.
    fn finish(&mut self) -> Outcome {
        // It may be waiting for the end of its standard input.
        drop(self.child.stdin.take());
        let status = self.child.wait().map_err(|error| format!("{}: {error}", self.name))?;
        if status.success() { Ok(()) } else { Err(format!("{}: {status}", self.name)) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // After an error, it may still run.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lines of a process, as they come.
fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        BufReader::new(from).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    receiver
}

/// The server's next line; an error names the client that has ended before it.
fn next_line(lines: &Receiver<String>, clients: &mut [Process]) -> Result<String, String> {
    loop {
        match lines.recv_timeout(LOOK) {
            Ok(line) => return Ok(line),
            Err(RecvTimeoutError::Disconnected) => return Err("the server has ended".to_owned()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(error) = clients.iter_mut().find_map(Process::ended_early) {
            return Err(error);
        }
    }
}

/// Opens connections from several processes, and prints the server's figures.
pub(super) fn bench(count: usize, profile: &[&str]) -> Outcome {
    let example = ["--package", "fairwave-dccp-host", "--example", "connections"];
    run_aside(cargo(&[&["build"], profile, &example].concat()))?;
    let built = workspace::target().join(if profile.is_empty() { "debug" } else { "release" });
    let program = built.join("examples/connections");
    let mut command = Command::new(&program);
    command.args(["serve", &count.to_string()]).stdout(Stdio::piped());
    let mut server = Process::start("the server".to_owned(), &mut command)?;
    let lines = lines(server.child.stdout.take().ok_or("the server has no output")?);
    let address = next_line(&lines, &mut [])?;
    let mut clients = Vec::new();
    for first in (0..count).step_by(A_PROCESS) {
        let some = A_PROCESS.min(count - first);
        let name = format!("the process with clients {} to {}", first + 1, first + some);
        let mut command = Command::new(&program);
        command.args(["open", &some.to_string(), &address]).stdin(Stdio::piped());
        clients.push(Process::start(name, &mut command)?);
    }
    println!("{}", next_line(&lines, &mut clients)?);
    clients.iter_mut().for_each(|client| drop(client.child.stdin.take()));
    clients.iter_mut().chain([&mut server]).try_for_each(Process::finish)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(name: &str, script: &str) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        Process::start(name.to_owned(), &mut command).expect("there is a shell")
    }

    /// The server waits for ever for connections of a client that is gone.
    #[test]
    fn a_client_that_ends_early_is_an_error_with_its_name() {
        let mut server = shell("the server", "read never");
        let lines = lines(server.child.stdout.take().expect("it is piped"));
        let mut clients = [shell("client 1", "read never"), shell("client 2", "exit 3")];
        let error = next_line(&lines, &mut clients).expect_err("no line comes");
        assert_eq!(error, "client 2 ended early: exit status: 3");
    }

    #[test]
    fn lines_come_one_by_one_until_the_server_ends() {
        let mut server = shell("the server", "echo one; echo two");
        let lines = lines(server.child.stdout.take().expect("it is piped"));
        let mut clients = [shell("client 1", "read never")];
        let mut next = || next_line(&lines, &mut clients);
        assert_eq!((next(), next()), (Ok("one".to_owned()), Ok("two".to_owned())));
        assert_eq!(next(), Err("the server has ended".to_owned()));
        server.finish().expect("it succeeds");
        clients[0].child.stdin.take();
        assert!(clients[0].finish().is_err(), "nothing to read");
    }
}
