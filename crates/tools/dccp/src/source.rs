//! Traffic of an application over a connection: unlimited, or datagrams at a constant rate.

use crate::tasks::std_of;
use bytes::Bytes;
use fairwave_dccp_host::{Connection, SendError};
use fairwave_units::{BitRate, Duration};
use std::cell::Cell;
use std::rc::Rc;
use tokio::time::{Instant, sleep_until};

/// Delay from which a source does not catch up.
const BEHIND: Duration = Duration::from_secs(1);

/// Options of the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// Application data of each datagram in bytes.
    pub(crate) bytes: u32,
    /// Rate of application data in bits per second; `None` sends as much as congestion control
    /// allows.
    pub(crate) rate: Option<BitRate>,
}

impl Traffic {
    /// Sends until the connection accepts no more. `unsent` counts datagrams for which the send
    /// queue had no room.
    pub(crate) async fn send(self, connection: Connection, unsent: Rc<Cell<u64>>) {
        let data = Bytes::from(vec![0; self.bytes as usize]);
        let Some(rate) = self.rate else {
            while connection.send_wait(data.clone(), None).await.is_ok() {}
            return;
        };
        let each = std_of(rate.time_for(self.bytes.into()).max(Duration::from_nanos(1)));
        let mut next = Instant::now();
        loop {
            match connection.send(data.clone(), None) {
                Ok(()) => {}
                Err(SendError::Full) => unsent.set(unsent.get() + 1),
                Err(_) => return,
            }
            next += each;
            if next.elapsed() > std_of(BEHIND) {
                next = Instant::now();
            }
            sleep_until(next).await;
        }
    }
}
