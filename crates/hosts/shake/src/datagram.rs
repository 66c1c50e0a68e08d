//! Datagrams of a session for tasks.

use crate::endpoint::{DatagramError, DatagramStats};
use crate::host::Session;
use bytes::Bytes;
use fairwave_units::Duration;
use std::future::poll_fn;
use std::task::Poll;

impl Session {
    /// Sends a datagram of a flow, whose number both ends know. It is not retransmitted, and
    /// dropped where it would arrive later than `lifetime` from now (10 s at most).
    ///
    /// # Errors
    /// If it is longer than the paths take, or the session is over.
    pub fn send_datagram(
        &self,
        flow: u32,
        payload: Bytes,
        lifetime: Duration,
    ) -> Result<(), DatagramError> {
        self.shared.with(|state| {
            let now = state.now();
            let sent = state.endpoint.send_datagram(now, self.number, flow, payload, lifetime);
            state.poke();
            sent
        })
    }

    /// Waits for a datagram of a flow, for which no other task may wait.
    ///
    /// # Errors
    /// [`DatagramError::NoSession`] if the session is over.
    pub async fn receive_datagram(&self, flow: u32) -> Result<Bytes, DatagramError> {
        poll_fn(|cx| {
            self.shared.with(|state| {
                let now = state.now();
                if let Some(found) = state.endpoint.receive_datagram(now, self.number, flow) {
                    return Poll::Ready(Ok(found));
                }
                if !state.endpoint.has_session(self.number) {
                    return Poll::Ready(Err(DatagramError::NoSession));
                }
                state.flows.insert((self.number, flow), cx.waker().clone());
                Poll::Pending
            })
        })
        .await
    }

    /// Counters of its datagrams.
    pub fn datagrams(&self) -> DatagramStats {
        self.shared.with(|state| state.endpoint.datagrams(self.number))
    }
}
