//! Changes of the host's links, addresses and routes.

use fairwave_linux::Changes;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::time::{sleep, timeout};

/// Changes come in bursts, such as those of a new lease: they are looked at once after this time.
const BURST: Duration = Duration::from_millis(20);
/// Time after which the interfaces are looked at without a change, as one may be usable that could
/// not be used at the last look; without notifications the shorter one.
const SELDOM: Duration = Duration::from_secs(5);
const OFTEN: Duration = Duration::from_millis(250);

/// Notifications of the kernel; without them the interfaces are looked at often.
#[derive(Debug)]
pub(crate) struct Monitor(Option<AsyncFd<Changes>>);

impl Monitor {
    /// Asks the kernel for notifications.
    #[expect(
        deprecated,
        reason = "the other way wants a proof that the file stays open, as it does in both"
    )]
    pub(crate) fn open() -> Self {
        Self(Changes::open().and_then(AsyncFd::new).ok())
    }

    /// Waits until the interfaces are to be looked at.
    pub(crate) async fn changed(&self) {
        let Some(changes) = &self.0 else { return sleep(OFTEN).await };
        let notified = async {
            while let Ok(mut guard) = changes.readable().await {
                guard.clear_ready();
                if changes.get_ref().take() {
                    return;
                }
            }
        };
        // The time without a change is over, or there was one.
        if timeout(SELDOM, notified).await.is_ok() {
            sleep(BURST).await;
            changes.get_ref().take();
        }
    }
}
