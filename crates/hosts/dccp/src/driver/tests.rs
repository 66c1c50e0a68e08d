//! Turns of the driver, one by one.

use super::*;
use crate::socket::{Addressee, Port};
use crate::tests::wakers::waker;
use crate::tests::{PORT, over_udp};
use std::net::UdpSocket;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Waker;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// A client that no task runs, and its server's socket. The runtime makes no turns either.
struct Client {
    driver: Driver,
    shared: Arc<Shared>,
    server: UdpSocket,
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

impl Client {
    /// Opens its socket; a runtime has to be there.
    fn new() -> Self {
        let server = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        server.set_read_timeout(Some(Duration::from_secs(60))).expect("it has one");
        let to = server.local_addr().expect("it is bound");
        let with = Addressee::Server(SocketAddr::new(to.ip(), PORT));
        let Port { socket, settings, .. } =
            Port::open(&over_udp(with, 3, to.port())).expect("a socket");
        let of_client = settings.server;
        let shared = Arc::new(Shared::new(settings));
        let driver = Driver::new(Arc::clone(&shared), socket, of_client).expect("it runs");
        Self { driver, shared, server }
    }

    fn report(&self, fact: Fact) {
        self.shared.with(|state| state.report(fact));
    }

    /// Lets the driver have a turn, after which it waits.
    fn turn(&mut self, waker: &Waker) {
        let polled = Pin::new(&mut self.driver).poll(&mut Context::from_waker(waker));
        assert!(polled.is_pending(), "{polled:?}");
    }

    fn has_moved(&self) -> bool {
        self.shared.with(|state| state.has_moved)
    }
}

/// A waker, and how often it has woken its task.
fn counting() -> (Waker, impl Fn() -> usize) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let waker = waker(move || {
        counted.fetch_add(1, Relaxed);
    });
    (waker, move || count.load(Relaxed))
}

#[test]
fn an_input_wakes_the_task_that_polled_the_driver_last() {
    let runtime = runtime();
    let _on = runtime.enter();
    let mut client = Client::new();
    let ((first, of_first), (second, of_second)) = (counting(), counting());
    client.turn(&first);
    client.turn(&second);
    assert_eq!((of_first(), of_second()), (0, 0));
    client.report(Fact::Start);
    assert_eq!((of_first(), of_second()), (0, 1));
}

/// The socket fails while the driver sends: a task that waits for such a change stops the endpoint
/// at once, after the driver has taken the last packet of the machine.
#[test]
fn an_input_in_the_middle_of_a_turn_wakes_the_driver_again() {
    let runtime = runtime();
    let _on = runtime.enter();
    let mut client = Client::new();
    let (task, woken) = counting();
    client.turn(&task);
    client.report(Fact::Start);
    assert_eq!(woken(), 1);
    for socket in client.driver.socket.descriptors().expect("copies") {
        rustix::net::shutdown(socket, rustix::net::Shutdown::Write).expect("it is connected");
    }
    let shared = Arc::clone(&client.shared);
    let stops = waker(move || shared.with(|state| state.report(Fact::Stop)));
    let of_changes = Arc::clone(&client.shared);
    let mut changed = pin!(of_changes.changed.notified());
    assert!(changed.as_mut().poll(&mut Context::from_waker(&stops)).is_pending());
    client.turn(&task);
    assert!(changed.poll(&mut Context::from_waker(Waker::noop())).is_ready(), "it has not failed");
    assert_eq!(woken(), 2);
}

/// The address changes while the server has not answered yet, and the new route is missing again
/// when the driver looks for it. The next turns try once more.
#[test]
fn a_connection_that_is_being_opened_moves_once_there_is_a_route() {
    let runtime = runtime();
    let _on = runtime.enter();
    let mut client = Client::new();
    let (task, _) = counting();
    let mut buffer = [0; 1_500];
    client.report(Fact::Start);
    client.turn(&task);
    let (_, first) = client.server.recv_from(&mut buffer).expect("a Request");
    // The kernel connects no socket to this address, with a route or without.
    let to = client.driver.server.replace("255.255.255.255:9".parse().expect("an address"));
    client.shared.with(|state| state.has_moved = true);
    for _ in 0..3 {
        client.turn(&task);
        assert!(client.has_moved());
        assert_eq!(client.driver.socket.address().expect("it is open").port(), first.port());
    }
    client.driver.server = to;
    client.turn(&task);
    assert!(!client.has_moved());
    let (_, second) = client.server.recv_from(&mut buffer).expect("another Request");
    assert_ne!(second, first);
    assert_eq!(client.driver.socket.address().expect("it is open"), second);
}
