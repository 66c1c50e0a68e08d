//! Many connections of one endpoint: the example `connections` of `fairwave-dccp-host`.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use xtask::shell::{Outcome, cargo, run_aside};
use xtask::workspace;

/// Clients of a process: each has four files, of which a process may usually have 1,024.
const A_PROCESS: usize = 200;

/// Opens connections from several processes, and prints the server's figures.
pub(super) fn bench(count: usize, profile: &[&str]) -> Outcome {
    let example = ["--package", "fairwave-dccp-host", "--example", "connections"];
    run_aside(cargo(&[&["build"], profile, &example].concat()))?;
    let built = workspace::target().join(if profile.is_empty() { "debug" } else { "release" });
    let program = built.join("examples/connections");
    let fault = |error| format!("{}: {error}", program.display());
    let mut server = Command::new(&program);
    server.args(["serve", &count.to_string()]).stdout(Stdio::piped());
    let mut server = server.spawn().map_err(fault)?;
    let mut lines = server.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines());
    let mut line =
        || lines.next().ok_or("the server has ended")?.map_err(|error| error.to_string());
    let address = line()?;
    let mut clients = Vec::new();
    for first in (0..count).step_by(A_PROCESS) {
        let some = A_PROCESS.min(count - first).to_string();
        let mut client = Command::new(&program);
        client.args(["open", &some, &address]).stdin(Stdio::piped());
        clients.push(client.spawn().map_err(fault)?);
    }
    println!("{}", line()?);
    // Their standard input ends.
    clients.iter_mut().for_each(|client| drop(client.stdin.take()));
    for process in clients.iter_mut().chain([&mut server]) {
        let status = process.wait().map_err(fault)?;
        if !status.success() {
            return Err(format!("{}: {status}", program.display()));
        }
    }
    Ok(())
}
