//! What clients ask for, and what they are answered.

use crate::{FOUR, Proxy, ask_socks, config, read_head, server};
use fairwave_proxy::{Limits, Refusals};
use fairwave_units::Duration;
use socket2::{Domain, Socket, Type};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

/// An address where nobody listens.
fn nowhere() -> SocketAddr {
    let listener = TcpListener::bind((FOUR, 0)).expect("a port");
    listener.local_addr().expect("its address")
}

/// A server that answers no connection attempt, as the queue of its listener is full; it does so as
/// long as the value lives.
pub(crate) fn silent() -> (SocketAddr, impl Drop) {
    struct Silent {
        _listener: Socket,
        _queued: TcpStream,
    }
    impl Drop for Silent {
        fn drop(&mut self) {}
    }
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    listener.bind(&SocketAddr::new(FOUR, 0).into()).expect("a port");
    // A queue of length 0 has room for one connection (listen(2)).
    listener.listen(0).expect("it listens");
    let address = listener.local_addr().ok().and_then(|at| at.as_socket()).expect("its address");
    let queued = TcpStream::connect(address).expect("room for one");
    (address, Silent { _listener: listener, _queued: queued })
}

/// What a client hears that says this.
fn reported(proxy: &Proxy, bytes: &[u8]) -> Vec<u8> {
    let mut client = proxy.connect();
    client.write_all(bytes).expect("it reads");
    let mut answer = Vec::new();
    // It may end by a reset.
    let _ = client.read_to_end(&mut answer);
    answer
}

#[test]
fn a_name_is_resolved_and_what_follows_a_request_at_once_is_the_servers() {
    let proxy = Proxy::start(config());
    let (address, served) = server(FOUR, |mut client| {
        let mut bytes = [0; 5];
        client.read_exact(&mut bytes).map(|()| bytes)
    });
    let mut client = proxy.connect();
    write!(client, "CONNECT localhost:{} HTTP/1.1\r\n\r\nearly", address.port()).expect("it reads");
    assert!(read_head(&mut client).starts_with("HTTP/1.1 200 "));
    assert_eq!(&served.join().expect("no panic").expect("bytes"), b"early");
}

#[test]
fn each_protocol_says_why_a_server_is_not_reached() {
    let proxy = Proxy::start(config());
    // RFC 1928 section 6: 5 is "connection refused", 7 "command not supported".
    assert_eq!(ask_socks(&mut proxy.connect(), 1, nowhere()), 5);
    assert_eq!(ask_socks(&mut proxy.connect(), 2, nowhere()), 7);
    let connect = format!("CONNECT {} HTTP/1.1\r\n\r\n", nowhere());
    let get = "GET http://example.org/ HTTP/1.1\r\n\r\n";
    for (request, status) in [(connect.as_str(), "502"), (get, "405"), ("\0\r\n\r\n", "400")] {
        let answer = reported(&proxy, request.as_bytes());
        assert!(answer.starts_with(format!("HTTP/1.1 {status} ").as_bytes()), "{request}");
    }
    let endless = [b"CONNECT x:1 HTTP/1.1\r\nX: ".as_slice(), &[b'x'; 20_000]].concat();
    assert!(!reported(&proxy, &endless).starts_with(b"HTTP/1.1 200"));
    // No way to authenticate in common, then an address of an unknown type.
    assert_eq!(reported(&proxy, &[5, 1, 2]), [5, 0xff]);
    assert_eq!(reported(&proxy, &[5, 1, 0, 5, 1, 0, 9, 0, 0])[..4], [5, 0, 5, 8]);
    let report = proxy.end();
    assert_eq!(report.opened, 0);
    let expected = Refusals { malformed: 6, unreachable: 2, ..Refusals::default() };
    assert_eq!(report.refused, expected);
}

#[test]
fn a_server_without_an_answer_is_reported_and_is_no_fault_of_the_client() {
    let limits = Limits { opening: Duration::from_secs(1), ..config().limits };
    let proxy = Proxy::start(fairwave_proxy::Config { limits, ..config() });
    let (address, _silent) = silent();
    // RFC 1928 section 6: 4 is "host unreachable".
    assert_eq!(ask_socks(&mut proxy.connect(), 1, address), 4);
    let answer = reported(&proxy, format!("CONNECT {address} HTTP/1.1\r\n\r\n").as_bytes());
    assert!(answer.starts_with(b"HTTP/1.1 504 "), "{answer:?}");
    let expected = Refusals { unreachable: 2, ..Refusals::default() };
    assert_eq!(proxy.end().refused, expected);
}

#[test]
fn a_client_without_the_password_of_a_user_is_refused() {
    let users = Some(fairwave_proxy::Users::parse("ann:s3cret\n").expect("valid"));
    let proxy = Proxy::start(fairwave_proxy::Config { users, ..config() });
    // RFC 1928 section 3: none of the client's methods is acceptable.
    assert_eq!(reported(&proxy, &[5, 1, 0]), [5, 0xff]);
    let asked = |name: &[u8], password: &[u8]| {
        // RFC 1929 section 2.
        let (lengths, version) = ([name, password].map(|text| text.len() as u8), 1);
        [&[5, 1, 2, version, lengths[0]], name, &[lengths[1]], password].concat()
    };
    assert_eq!(reported(&proxy, &asked(b"ann", b"other"))[..3], [5, 2, 1]);
    let connect = format!("CONNECT {} HTTP/1.1\r\n\r\n", nowhere());
    let answer = reported(&proxy, connect.as_bytes());
    assert!(answer.starts_with(b"HTTP/1.1 407 "), "{answer:?}");
    let text = String::from_utf8(answer).expect("text");
    assert!(text.contains("\r\nProxy-Authenticate: Basic realm="), "{text}");

    let mut client = proxy.connect();
    client.write_all(&asked(b"ann", b"s3cret")).expect("it reads");
    let mut answer = [0; 4];
    client.read_exact(&mut answer).expect("it answers");
    assert_eq!(answer, [5, 2, 1, 0]);
    let (address, served) = server(FOUR, |mut client| client.read(&mut [0]).is_ok());
    let port = address.port().to_be_bytes();
    client.write_all(&[5, 1, 0, 1, 127, 0, 0, 1, port[0], port[1]]).expect("it reads");
    client.read_exact(&mut answer).expect("it answers");
    assert_eq!(answer[..2], [5, 0]);
    drop(client);
    served.join().expect("no panic");
    let refused = proxy.end().refused;
    assert_eq!((refused.not_allowed, refused.malformed), (3, 0));
}

#[test]
fn who_asks_for_nothing_or_carries_nothing_is_ended() {
    let second = Duration::from_secs(1);
    let limits = Limits { opening: second, idle: second, ..config().limits };
    let proxy = Proxy::start(fairwave_proxy::Config { limits, ..config() });
    let mut silent = proxy.connect();
    assert_eq!(silent.read(&mut [0]).expect("an end"), 0);
    let (address, served) = server(FOUR, |mut client| client.read(&mut [0]).is_err());
    let mut client = proxy.socks(address);
    assert!(client.read(&mut [0]).is_err(), "a reset");
    assert!(served.join().expect("no panic"), "a reset");
    let report = proxy.end();
    assert_eq!((report.idle, report.refused.malformed, report.active), (1, 1, 0));
}

#[test]
fn clients_beyond_the_limit_are_turned_away() {
    let limits = Limits { flows: Some(1), ..config().limits };
    let proxy = Proxy::start(fairwave_proxy::Config { limits, ..config() });
    let (address, _served) = server(FOUR, |mut client| client.read(&mut [0]).is_ok());
    let client = proxy.socks(address);
    let second = TcpStream::connect(proxy.at[0]).and_then(|mut second| second.read(&mut [0]));
    assert!(second.is_err(), "a reset");
    drop(client);
    proxy.until(|report, _| report.active == 0);
    let (address, _served) = server(FOUR, |mut client| client.read(&mut [0]).is_ok());
    drop(proxy.socks(address));
    assert_eq!(proxy.end().refused.busy, 1);
}
