//! `fairwave cc load --for`: a separate process holds each algorithm, which is unloaded when that
//! process ends, for any reason.

use crate::outcome::{announce, done, failure};
use fairwave_bpf::{Algorithm, Life, Store, find, load, unload};
use fairwave_console::{Console, Failure};
use fairwave_units::Duration;
use rustix::time::Timespec;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Line that the keeper prints when the algorithm is loaded.
const READY: &str = "ready";

/// Starts a keeper for each algorithm, and waits until all are loaded. If one is not, those before
/// it are unloaded.
pub(crate) fn start(
    console: &dyn Console,
    pin: Option<&Path>,
    algorithms: &[&'static Algorithm],
    lasts: Duration,
) -> Result<(), Failure> {
    let store = Store::ready(pin).map_err(failure)?;
    announce(console, &store);
    for (place, algorithm) in algorithms.iter().enumerate() {
        if let Err(error) = start_one(pin, algorithm, lasts) {
            for earlier in &algorithms[..place] {
                if let Err(error) = unload(&store, earlier) {
                    console.warn(&format!("{}: {error}", earlier.name));
                }
            }
            return Err(error);
        }
    }
    done(console, "loaded", &algorithms.iter().map(|one| one.name).collect::<Vec<_>>())
}

/// Starts the keeper of an algorithm, and waits until it is loaded. Unloading an algorithm ends its
/// keeper, which therefore must not hold others.
fn start_one(pin: Option<&Path>, algorithm: &Algorithm, lasts: Duration) -> Result<(), Failure> {
    let mut keeper = Command::new(std::env::current_exe().map_err(Failure::run)?);
    keeper.args(["cc", "keep", "--for", &format!("{}ns", lasts.as_nanos()), algorithm.name]);
    keeper.args(pin.iter().flat_map(|pin| [Path::new("--pin"), pin]));
    // Like a daemon, the keeper works in `/`, so that it keeps no mounted file system busy.
    keeper.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped());
    let mut keeper = keeper.stderr(Stdio::piped()).spawn().map_err(Failure::run)?;
    let mut line = String::new();
    let read = keeper.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
    if read.is_some_and(|read| read.is_ok()) && line.trim() == READY {
        return Ok(());
    }
    let output = keeper.wait_with_output().map_err(Failure::run)?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(Failure::Run(text.trim().trim_start_matches("error: ").to_owned()))
}

/// Holds the algorithm for the time.
pub(crate) fn keep(
    console: &dyn Console,
    pin: Option<&Path>,
    name: &str,
    lasts: Duration,
) -> Result<(), Failure> {
    // A new session: closing the terminal that started the command must not end the keeper.
    let _ = rustix::process::setsid();
    let store = Store::ready(pin).map_err(failure)?;
    let held = find(name).and_then(|algorithm| load(&store, algorithm, Life::Held));
    let held = held.map_err(failure)?;
    console.print_raw(format!("{READY}\n").as_bytes())?;
    // The parent reads no further output. Printing into the closed pipe would fail and end the
    // process.
    let _ = rustix::stdio::dup2_stdout(std::fs::File::open("/dev/null").map_err(Failure::run)?);
    wait(lasts);
    drop(held);
    Ok(())
}

/// Sleeps for the time for which the algorithm stays loaded.
fn wait(lasts: Duration) {
    let second = 1_000_000_000;
    let time = Timespec {
        tv_sec: i64::try_from(lasts.as_nanos() / second).unwrap_or(i64::MAX),
        tv_nsec: (lasts.as_nanos() % second) as _,
    };
    let mut left = time;
    while let rustix::thread::NanosleepRelativeResult::Interrupted(rest) =
        rustix::thread::nanosleep(&left)
    {
        // A signal that does not end the process must not shorten the time.
        left = rest;
    }
}
