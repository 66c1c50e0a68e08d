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
    // The loop has its turn after each turn of the endpoint's task. By default it has it after 61,
    // and an endpoint at its limit drops what the loop has not taken.
    let runtime = Builder::new_current_thread().enable_all().event_interval(1).build();
    let runtime = runtime.map_err(Failure::run)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::task::Poll;
    use tokio::sync::oneshot;

    #[test]
    fn a_busy_task_leaves_the_loop_its_turns() {
        let turns = on_runtime(async {
            let turns = Arc::new(AtomicUsize::new(0));
            let ((begin, begun), counter) = (oneshot::channel(), Arc::clone(&turns));
            let mut begin = Some(begin);
            // Like the endpoint's task, which wakes itself while there is more to do.
            tokio::spawn(poll_fn(move |cx| {
                begin.take().map(|begin| begin.send(()));
                cx.waker().wake_by_ref();
                if counter.fetch_add(1, Ordering::Relaxed) < 100 {
                    Poll::Pending
                } else {
                    Poll::Ready(())
                }
            }));
            begun.await.map_err(Failure::run)?;
            Ok(turns.load(Ordering::Relaxed))
        });
        assert!(turns.is_ok_and(|turns| turns <= 2));
    }
}
