//! Tasks that send, mostly without the driver's.

use super::*;
use crate::shared::{Shared, State};
use fairwave_dccp::{QueueLimits, WhenFull};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A client's connection whose queue has room for one datagram and is full.
fn full() -> (Arc<Shared>, Connection) {
    let addresses = addresses(false);
    let mut client = settings(Over::Udp, addresses, 2, true);
    client.connection.queue =
        QueueLimits { datagrams: 1, when_full: WhenFull::RefuseNewest, age: None };
    let mut server = Connections::new(settings(Over::Udp, addresses, 2, false));
    let shared = Arc::new(Shared::new(client));
    let id = shared.with(|state| {
        state.report(Fact::Start);
        let id = state.machine.newest().expect("it opens one");
        state.open_slot(id);
        let now = state.now();
        let request = state.machine.poll(now).expect("a Request");
        let arrives = |from: usize, bytes| {
            let (from, to) = (addresses[from], Some(addresses[1 - from].ip()));
            Fact::Arrived(Incoming { from, to, ecn: Ecn::NotEct, bytes })
        };
        server.handle(now, arrives(0, request.bytes));
        let response = server.poll(now).expect("a Response");
        state.report(arrives(1, response.bytes));
        state.take_events();
        id
    });
    let connection = Connection::new(Arc::clone(&shared), id);
    connection.send(Bytes::from_static(b"first"), None).expect("there is room");
    assert_eq!(connection.send(Bytes::from_static(b"next"), None), Err(SendError::Full));
    (shared, connection)
}

#[test]
fn those_who_wait_for_room_learn_that_nothing_leaves_any_more() {
    let (shared, connection) = full();
    let mut context = Context::from_waker(Waker::noop());
    let mut sent = pin!(connection.send_wait(Bytes::from_static(b"next"), None));
    let mut room = pin!(connection.wait_for_room());
    assert_eq!(sent.as_mut().poll(&mut context), Poll::Pending);
    assert_eq!(room.as_mut().poll(&mut context), Poll::Pending);
    shared.with(State::end);
    assert_eq!(sent.poll(&mut context), Poll::Ready(Err(SendError::Closed)));
    assert_eq!(room.poll(&mut context), Poll::Ready(false));
    assert_eq!(connection.queued(), None);
}

/// The time for which it waits for room is part of its deadline.
#[test]
fn a_datagram_that_waited_for_room_has_no_longer_time() {
    let (shared, connection) = full();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a runtime");
    let _on = runtime.enter();
    let mut context = Context::from_waker(Waker::noop());
    let deadline = Duration::from_secs(100);
    let mut sent = pin!(connection.send_wait(Bytes::from_static(b"next"), Some(deadline)));
    assert_eq!(sent.as_mut().poll(&mut context), Poll::Pending);
    let began = shared.with(State::now);
    while shared.with(State::now) == began {}
    shared.with(|state| {
        let now = state.now();
        while state.machine.poll(now).is_some() {}
        state.take_events();
    });
    assert_eq!(sent.poll(&mut context), Poll::Ready(Ok(())));
    let late = began + deadline + Duration::from_nanos(1);
    shared.with(|state| while state.machine.poll(late).is_some() {});
    let account = connection.account().expect("it is there");
    assert_eq!(account.dropped.too_old, 1);
}

/// The first datagrams go out at the rate of a new connection.
#[test]
fn what_was_sent_leaves_before_the_last_handle_is_gone() {
    let (server, client) = blocking_ends();
    let connection = client.connect().expect("a connection");
    for _ in 0..40 {
        connection.send(Bytes::from(vec![1; 1_000]), None).expect("it is open");
    }
    drop((client, connection));
    let accepted = server.accept().expect("a connection");
    let received = std::iter::from_fn(|| accepted.recv()).count();
    assert_eq!((received, accepted.close().map(|(end, _)| end)), (40, Some(End::Closed)));
}
