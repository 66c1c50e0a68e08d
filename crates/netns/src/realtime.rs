//! Priority over the other programs of the machine.

use crate::{Error, kernel};

/// Above all threads without a real-time priority, and below those of the kernel that have one.
const PRIORITY: i32 = 10;

/// Gives the calling thread a real-time priority (`SCHED_FIFO`). Threads and programs that it
/// starts later do not inherit it.
///
/// # Errors
///
/// Where the user may not: it takes root (outside of user namespaces), or a limit on real-time
/// priorities (`ulimit -r`) that is not zero.
pub fn become_realtime() -> Result<(), Error> {
    kernel::become_realtime(PRIORITY).map_err(Error::at("real-time priority"))
}
