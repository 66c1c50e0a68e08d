//! Limits of this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of open files to `needed`, if permitted: up to the hard limit, or beyond it
/// where the process has the privilege. Returns the resulting limit.
pub fn allow_open_files(needed: u64) -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let more = limit.maximum.map(|most| most.max(needed));
    let raised = setrlimit(Resource::Nofile, Rlimit { current: more, maximum: more });
    if raised.is_err() {
        // Only root may raise a hard limit. If the kernel refuses this too, the limit stays as it
        // is.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
