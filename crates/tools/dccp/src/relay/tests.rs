//! Relays and their peers within one process, inside UDP on the loopback.

use super::*;
use clap::Parser;
use fairwave_dccp_host::Port;
use std::cell::Cell;
use std::net::UdpSocket;
use std::sync::Arc;

/// Prints nothing.
struct Silent;

impl Console for Silent {
    fn is_json(&self) -> bool {
        false
    }
    fn is_quiet(&self) -> bool {
        true
    }
    fn print(&self, _: &str) -> Result<(), Failure> {
        Ok(())
    }
    fn print_raw(&self, _: &[u8]) -> Result<(), Failure> {
        Ok(())
    }
    fn note(&self, _: &str) {}
    fn warn(&self, _: &str) {}
    fn complain(&self, _: &str) {}
    fn stop(&self) -> Result<Arc<AtomicBool>, Failure> {
        Ok(Arc::default())
    }
}

#[derive(Parser)]
struct Words {
    #[command(flatten)]
    relay: Relay,
}

fn options(from: &str, to: &str) -> Relay {
    let words = ["relay", "--from", from, "--to", to, "--encapsulate", "--deadline", "50 s"];
    Words::try_parse_from(words).expect("options").relay
}

fn any() -> SocketAddr {
    "127.0.0.1:9".parse().expect("an address")
}

/// An endpoint, at a port of UDP that the kernel chooses for a listener.
fn endpoint(relay: &Relay, with: Addressee, udp_port: u16) -> Endpoint {
    let port = Port::open(&Request { udp_port, watch: false, ..request(relay, with) });
    Endpoint::new(port.expect("a socket")).expect("it runs")
}

fn under_way<'a>(relay: &'a Relay, endpoint: Endpoint, bound: Bound) -> UnderWay<'a> {
    UnderWay {
        console: &Silent,
        relay,
        application: Application::new(bound).expect("sockets"),
        rates: None,
        latest: Latest::default(),
        connection: None,
        early: VecDeque::new(),
        ticks: ticks(),
        figures: Figures::new(endpoint.now()),
        endpoint: Rc::new(endpoint),
    }
}

/// A relay that listens for another one, with an application that answers, and its address.
fn listening<'a>(relay: &'a Relay, application: &UdpSocket) -> (UnderWay<'a>, SocketAddr) {
    let to = application.local_addr().expect("it is bound");
    let bound = Bound::towards(to, false).expect("a socket");
    let (socket, _) = &bound.0[0];
    let own = SocketAddr::new(to.ip(), socket.local_addr().expect("it is bound").port());
    (under_way(relay, endpoint(relay, Addressee::Anybody(any()), 0), bound), own)
}

/// A line of figures is only there after the relay has had turns while it waited.
#[test]
fn datagrams_from_the_time_without_a_client_do_not_reach_the_next() {
    let relay = Relay {
        reconnect: fairwave_units::Duration::from_secs(5),
        ..options("dccp:127.0.0.1:9", "udp:127.0.0.1:1")
    };
    let (stop, is_over) = (AtomicBool::new(false), Cell::new(false));
    let done: Result<(), Failure> = on_runtime(async {
        let application = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let (mut here, own) = listening(&relay, &application);
        let udp_port = here.endpoint.address().port();
        let client = || endpoint(&relay, Addressee::Server(any()), udp_port);
        let first = client();
        let (accepted, lost) = tokio::join!(here.endpoint.accept(), first.connect());
        here.take_up(accepted.expect("a client"));
        here.let_go();
        drop(lost);
        let (next, latest) = (client(), here.latest.clone());
        let back = async {
            for _ in 0..10 {
                application.send_to(b"old", own).expect("it leaves");
            }
            while latest.get()["dropped"] != 10 && !is_over.get() {
                tokio::task::yield_now().await;
            }
            next.connect().await.expect("it comes back")
        };
        let waited = async {
            let waited = here.wait_again(&stop, End::TimedOut).await;
            is_over.set(true);
            waited
        };
        let (waited, back) = tokio::join!(waited, back);
        assert_eq!(waited, Ok(()));
        assert_eq!(latest.get()["rate_bps"], serde_json::Value::Null);
        assert_eq!(here.figures.totals.lost.no_connection, 10);
        application.send_to(b"new", own).expect("it leaves");
        let data = tokio::select! {
            data = back.recv() => data,
            ended = here.carry(true, &stop) => panic!("{ended:?}"),
        };
        assert_eq!(data.as_deref(), Some(&b"new"[..]));
        assert!(here.line().allowed_mbps.is_some());
        let account = here.connection.as_ref().and_then(Connection::account).expect("it is open");
        assert!(known(&account).rate.is_some());
        assert_eq!(known(&Account { is_reopening: true, ..account }), SenderStats::default());
        here.let_go();
        let line = here.line();
        assert_eq!((line.rate_bps, line.allowed_mbps, line.rtt_ms), (None, None, None));
        Ok(())
    });
    done.expect("a runtime");
}

/// The handshake is shorter than their deadline.
#[test]
fn datagrams_from_before_the_first_connection_wait_for_it() {
    let relay = options("udp:127.0.0.1:1", "dccp:127.0.0.1:9");
    let stop = AtomicBool::new(false);
    let done: Result<(), Failure> = on_runtime(async {
        let server = endpoint(&relay, Addressee::Anybody(any()), 0);
        let udp_port = server.address().port();
        let bound = Bound::listening("127.0.0.1:0".parse().expect("an address"), false);
        let bound = bound.expect("a socket");
        let own = bound.0[0].0.local_addr().expect("it is bound");
        let client = endpoint(&relay, Addressee::Server(any()), udp_port);
        let mut here = under_way(&relay, client, bound);
        let application = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        application.send_to(b"early", own).expect("it leaves");
        here.application.readable().await;
        here.forward();
        let there = async { server.accept().await.expect("a client").recv().await };
        let data = tokio::select! {
            data = there => data,
            ended = here.as_client(any(), &stop) => panic!("{ended:?}"),
        };
        assert_eq!(data.as_deref(), Some(&b"early"[..]));
        assert_eq!(here.figures.totals.lost, LostOutput::default());
        Ok(())
    });
    done.expect("a runtime");
}

/// Its deadline passes between two looks at the clock: it has no time left, not centuries.
#[test]
fn a_datagram_that_is_late_when_the_connection_comes_does_no_harm() {
    let deadline = fairwave_units::Duration::from_nanos(1);
    let relay = Relay { deadline, ..options("udp:127.0.0.1:1", "dccp:127.0.0.1:9") };
    let done: Result<(), Failure> = on_runtime(async {
        let server = endpoint(&relay, Addressee::Anybody(any()), 0);
        let udp_port = server.address().port();
        let bound = Bound::listening("127.0.0.1:0".parse().expect("an address"), false);
        let client = endpoint(&relay, Addressee::Server(any()), udp_port);
        let mut here = under_way(&relay, client, bound.expect("a socket"));
        let endpoint = Rc::clone(&here.endpoint);
        let (_there, connected) = tokio::join!(server.accept(), endpoint.connect());
        // Behind one that is not late.
        let times = [here.endpoint.now() + fairwave_units::Duration::from_secs(100), Instant::ZERO];
        here.early.extend(times.map(|at| (at, Bytes::from_static(b"early"))));
        here.take_up(connected.expect("a server"));
        assert!(here.early.is_empty());
        Ok(())
    });
    done.expect("a runtime");
}

#[test]
fn datagrams_that_find_no_first_connection_in_time_are_counted() {
    let relay = Relay {
        deadline: fairwave_units::Duration::from_nanos(1),
        ..options("udp:127.0.0.1:1", "dccp:127.0.0.1:9")
    };
    let done: Result<(), Failure> = on_runtime(async {
        let application = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let (mut here, own) = listening(&relay, &application);
        application.send_to(b"late", own).expect("it leaves");
        here.application.readable().await;
        here.forward();
        here.tell();
        assert_eq!(here.latest.get()["dropped"], 1);
        Ok(())
    });
    done.expect("a runtime");
}
