//! Congestion control algorithms that are registered in the kernel.

use crate::Error;
use rustix::time::Timespec;
use std::fs;
use std::path::Path;

/// File with the names of all registered algorithms.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// Number of reads of that file, 10 ms apart, until an algorithm is gone.
const PATIENCE: u32 = 1000;

/// Names of the congestion control algorithms in the kernel, including built-in ones.
///
/// # Errors
/// If /proc cannot be read.
pub fn registered() -> Result<Vec<String>, Error> {
    let text = fs::read_to_string(AVAILABLE).map_err(Error::file(Path::new(AVAILABLE)))?;
    Ok(text.split_ascii_whitespace().map(str::to_owned).collect())
}

/// Waits until the kernel has released algorithms whose pins are gone: it frees a link some time
/// after the last reference.
pub(crate) fn await_unregistered(algorithms: &[String]) -> Result<(), Error> {
    for _ in 0..PATIENCE {
        let found = registered()?;
        if !algorithms.iter().any(|name| found.contains(name)) {
            return Ok(());
        }
        // Neither a file event nor a signal announces the release.
        let _ = rustix::thread::nanosleep(&Timespec { tv_sec: 0, tv_nsec: 10_000_000 });
    }
    Err(Error::Lingers { name: algorithms.join(", ") })
}
