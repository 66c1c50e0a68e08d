//! `fairwave dccp watch`: the figures of a relay over time.

use crate::options::Watch;
use crate::report::{RateLine, page, rate_words};
use crate::tasks::{on_runtime, std_of, stopped};
use fairwave_console::{Console, Failure};
use serde_json::json;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::sleep;

/// Lines of a socket that a page shows: the last five and a half hours.
const LINES: usize = 100_000;

/// Shows the lines of a relay's socket, or of a file.
///
/// # Errors
/// If there is no such socket or file, a line is not a relay's, or the page cannot be written.
pub(crate) fn run(console: &dyn Console, watch: &Watch) -> Result<(), Failure> {
    let path = &watch.path;
    let kind = fs::metadata(path).map_err(Failure::at(path))?.file_type();
    let lines = if kind.is_socket() {
        let stop = console.stop()?;
        on_runtime(async {
            let stream = UnixStream::connect(path).await.map_err(|error| {
                Failure::Run(format!("{}: {error}; does the relay still run?", path.display()))
            })?;
            follow(watch, stream, &stop, |line| show(console, line)).await
        })?
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

/// Shows the lines of a socket until it ends; returns those for the page, if there is to be one.
async fn follow(
    watch: &Watch,
    stream: UnixStream,
    stop: &AtomicBool,
    show: impl Fn(&RateLine) -> Result<(), Failure>,
) -> Result<Vec<RateLine>, Failure> {
    let path = &watch.path;
    let mut lines = BufReader::new(stream).lines();
    let mut taken = VecDeque::new();
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
        let Some(line) = next else { return Ok(taken.into()) };
        let line = parsed(path, &line)?;
        show(&line)?;
        if watch.page.is_some() {
            if taken.len() == LINES {
                taken.pop_front();
            }
            taken.push_back(line);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use tokio::io::AsyncWriteExt;

    #[test]
    fn lines_are_kept_for_a_page_alone() {
        for page in [None, Some(PathBuf::from("page.html"))] {
            let count = if page.is_some() { 2 } else { 0 };
            let watch = Watch { path: PathBuf::from("socket"), page, time: None };
            let stop = AtomicBool::new(false);
            let kept = on_runtime(async {
                let (stream, mut relay) = UnixStream::pair().map_err(Failure::run)?;
                let line = format!("{}\n", json!(RateLine::default()));
                relay.write_all(line.repeat(2).as_bytes()).await.map_err(Failure::run)?;
                drop(relay);
                follow(&watch, stream, &stop, |_| Ok(())).await
            });
            assert_eq!(kept.expect("lines").len(), count);
        }
    }
}
