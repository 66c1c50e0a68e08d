//! Common parts of both ends' loops: the runtime, the end, and the count of connections.

use fairwave_console::Failure;
use fairwave_units::Duration;
use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time;
use tokio::runtime::Builder;
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep};

/// Period at which a loop checks whether it shall end.
const GLANCE: time::Duration = time::Duration::from_millis(50);

/// Runs a loop on one thread.
///
/// # Errors
/// Those of the loop, or if there can be no runtime.
pub(crate) fn on_runtime<T>(run: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::run)?;
    let result = LocalSet::new().block_on(&runtime, run);
    // The result of a name that is still being resolved has no use any more.
    runtime.shutdown_background();
    result
}

/// Waits until `stop` is set, or for `lasts`.
pub(crate) async fn until_stopped(stop: &AtomicBool, lasts: Option<Duration>) {
    let end = lasts.map(|lasts| Instant::now() + time::Duration::from_nanos(lasts.as_nanos()));
    while !stop.load(Ordering::Relaxed) && end.is_none_or(|end| Instant::now() < end) {
        sleep(GLANCE).await;
    }
}

/// Connections of applications.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) connections: Cell<u64>,
    pub(crate) failed: Cell<u64>,
}

impl Tally {
    /// Counts a connection while it is carried.
    pub(crate) async fn count(&self, carried: impl Future<Output = io::Result<()>>) {
        self.connections.set(self.connections.get() + 1);
        if carried.await.is_err() {
            self.failed.set(self.failed.get() + 1);
        }
    }
}
