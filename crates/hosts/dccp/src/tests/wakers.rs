//! Futures that are handed from one task to another.

use super::*;
use crate::Endpoint;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use tokio::sync::mpsc::unbounded_channel;

struct Act<F>(F);

impl<F: Fn() + Send + Sync + 'static> Wake for Act<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

/// The waker of a task, which acts when the task is woken.
pub(crate) fn waker(act: impl Fn() + Send + Sync + 'static) -> Waker {
    Arc::new(Act(act)).into()
}

/// Polls a future by two tasks, causes an event, and returns the output. Only the second task may
/// be woken.
async fn handed_over<T>(future: impl Future<Output = T>, cause: impl FnOnce()) -> T {
    let mut future = pin!(future);
    let (woken, mut order) = unbounded_channel();
    let wakers = [1, 2].map(|task| {
        let woken = woken.clone();
        waker(move || woken.send(task).expect("it is open"))
    });
    for waker in &wakers {
        assert!(future.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
    }
    cause();
    loop {
        assert_eq!(order.recv().await, Some(2));
        let polled = future.as_mut().poll(&mut Context::from_waker(&wakers[1]));
        if let Poll::Ready(output) = polled {
            return output;
        }
    }
}

#[test]
fn the_task_that_polled_a_future_last_is_woken() {
    let at = "127.0.0.1:17983".parse().expect("an address");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let endpoint = |request: &Request| {
            Endpoint::new(Port::open(request).expect("a socket")).expect("it runs")
        };
        let server = endpoint(&over_udp(Addressee::Anybody(at), 3, 0));
        let mut request = over_udp(Addressee::Server(at), 3, server.address().port());
        request.queue.datagrams = 1;
        let client = endpoint(&request);
        let (connected, accepted) =
            tokio::join!(handed_over(client.connect(), || {}), handed_over(server.accept(), || {}));
        let (connection, accepted) = (connected.expect("an answer"), accepted.expect("a client"));
        let [one, other] = [1, 2].map(|byte| Bytes::from(vec![byte; 500]));
        let send = || connection.send(one.clone(), None).expect("it is open");
        assert_eq!(handed_over(accepted.recv(), send).await, Some(one.clone()));
        // The driver had no turn yet, so that the queue of one place is full.
        send();
        let sent = handed_over(connection.send_wait(other.clone(), None), || {}).await;
        assert_eq!(sent, Ok(()));
        let closed = handed_over(accepted.closed(), || connection.close()).await;
        assert_eq!(closed.map(|(end, _)| end), Some(End::Closed));
        assert_eq!([accepted.recv().await, accepted.recv().await], [Some(one), Some(other)]);
    });
}
