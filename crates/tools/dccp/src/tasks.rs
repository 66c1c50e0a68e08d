//! The runtime of a command, and its end.

use fairwave_console::Failure;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::task::LocalSet;
use tokio::time::sleep;

/// Period at which a loop checks whether it shall end.
const GLANCE: Duration = Duration::from_millis(20);

/// Runs a loop on one thread.
///
/// # Errors
/// Those of the loop, or if there can be no runtime.
pub(crate) fn on_runtime<T>(run: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::run)?;
    LocalSet::new().block_on(&runtime, run)
}

/// Waits until `stop` is set.
pub(crate) async fn stopped(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        sleep(GLANCE).await;
    }
}

/// The same length of time for timers.
pub(crate) const fn std_of(duration: fairwave_units::Duration) -> Duration {
    Duration::from_nanos(duration.as_nanos())
}
