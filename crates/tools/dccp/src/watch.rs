//! `fairwave dccp watch`: the figures of a relay over time.

use crate::options::Watch;
use crate::report::{RateLine, page, rate_words};
use crate::tasks::{on_runtime, std_of, stopped};
use fairwave_console::{Console, Failure};
use serde_json::json;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::sleep;

/// Shows the lines of a relay's socket, or of a file.
///
/// # Errors
/// If there is no such socket or file, a line is not a relay's, or the page cannot be written.
pub(crate) fn run(console: &dyn Console, watch: &Watch) -> Result<(), Failure> {
    let path = &watch.path;
    let kind = fs::metadata(path).map_err(Failure::at(path))?.file_type();
    let lines = if kind.is_socket() {
        let stop = console.stop()?;
        on_runtime(follow(console, watch, &stop))?
    } else {
        let mut text = String::new();
        let read = File::open(path).and_then(|mut file| file.read_to_string(&mut text));
        read.map_err(Failure::at(path))?;
        let lines: Vec<_> =
            text.lines().map(|line| parsed(path, line)).collect::<Result<_, _>>()?;
        lines.iter().try_for_each(|line| show(console, line))?;
        lines
    };
    let Some(file) = &watch.page else { return Ok(()) };
    let title = format!("DCCP relay, {}", path.display());
    let page = page(&title, &lines).map_err(Failure::run)?;
    fs::write(file, page).map_err(Failure::at(file))
}

/// Shows the lines of a socket until it ends.
async fn follow(
    console: &dyn Console,
    watch: &Watch,
    stop: &AtomicBool,
) -> Result<Vec<RateLine>, Failure> {
    let path = &watch.path;
    let connected = UnixStream::connect(path).await;
    let stream = connected.map_err(|error| {
        Failure::Run(format!("{}: {error}; does the relay still run?", path.display()))
    })?;
    let mut lines = BufReader::new(stream).lines();
    let mut taken = Vec::new();
    let over = async {
        match watch.time {
            Some(time) => sleep(std_of(time)).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(over);
    loop {
        let next = tokio::select! {
            next = lines.next_line() => next.map_err(Failure::at(path))?,
            () = &mut over => None,
            () = stopped(stop) => None,
        };
        let Some(line) = next else { return Ok(taken) };
        let line = parsed(path, &line)?;
        show(console, &line)?;
        taken.push(line);
    }
}

fn parsed(path: &Path, line: &str) -> Result<RateLine, Failure> {
    serde_json::from_str(line).map_err(|error| {
        let wanted = "lines of `fairwave dccp relay --rate-socket` are expected";
        Failure::Run(format!("{}: {error}; {wanted}", path.display()))
    })
}

fn show(console: &dyn Console, line: &RateLine) -> Result<(), Failure> {
    match console.is_json() {
        true => console.print_json_line(&json!(line)),
        false => console.print(&rate_words(line)),
    }
}
