//! Datagrams of a session for tasks.

use crate::endpoint::{DatagramError, DatagramStats};
use crate::host::Session;
use bytes::Bytes;
use fairwave_units::Duration;
use std::future::poll_fn;
use std::task::Poll;

/// Takes the waker of a flow away with the future that waits for a datagram of it: most wait beside
/// other events, and are dropped.
struct Waiting<'a>(&'a Session, u32);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Self(session, flow) = *self;
        // The waker is dropped without the lock.
        let _ = session.shared.with(|state| state.flows.remove(&(session.number, flow)));
    }
}

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
        let mut waiting = None;
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
                waiting.get_or_insert_with(|| Waiting(self, flow));
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

#[cfg(test)]
mod tests {
    use crate::{Config, Host, Psk, Udp};
    use fairwave_units::Duration;
    use fairwave_wire::seal::Key;
    use std::task::{Context, Waker};

    #[test]
    fn a_receiver_that_is_dropped_leaves_no_waker() {
        let config = Config::new(Psk::of(&Key::new(b"a secret of the two ends").unwrap()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let socket = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
            let server = Host::server(config.clone(), socket).unwrap();
            let at = server.address().unwrap();
            let client = Host::client(config).unwrap();
            client.path_up(0, Udp::over("lo", at).unwrap(), at);
            let session = client.connect(Duration::from_secs(60)).await.unwrap();
            let flows = || session.shared.with(|state| state.flows.len());
            let mut cx = Context::from_waker(Waker::noop());
            for flow in 0..1_000 {
                let mut receiving = Box::pin(session.receive_datagram(flow));
                assert!(receiving.as_mut().poll(&mut cx).is_pending());
                assert_eq!(flows(), 1);
            }
            assert_eq!(flows(), 0);
            client.close().await;
            server.close().await;
        });
    }
}
