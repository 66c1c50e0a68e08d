//! Which congestion controls the kernel has.

use crate::Error;
use rustix::time::Timespec;
use std::fs;
use std::path::Path;

/// The names of all congestion controls that are registered.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// Times that they are read, a hundredth of a second apart, until a law is gone.
const PATIENCE: u32 = 1000;

/// Names of the congestion controls that the kernel offers, built-in ones among them.
///
/// # Errors
/// Where /proc cannot be read.
pub fn registered() -> Result<Vec<String>, Error> {
    let text = fs::read_to_string(AVAILABLE).map_err(Error::file(Path::new(AVAILABLE)))?;
    Ok(text.split_ascii_whitespace().map(str::to_owned).collect())
}

/// Waits until the kernel has let go of laws whose pins are gone: it frees a link some time after
/// its last reference.
pub(crate) fn await_unregistered(laws: &[String]) -> Result<(), Error> {
    for _ in 0..PATIENCE {
        let found = registered()?;
        if !laws.iter().any(|name| found.contains(name)) {
            return Ok(());
        }
        // No file and no signal tells when.
        let _ = rustix::thread::nanosleep(&Timespec { tv_sec: 0, tv_nsec: 10_000_000 });
    }
    Err(Error::Lingers { name: laws.join(", ") })
}
