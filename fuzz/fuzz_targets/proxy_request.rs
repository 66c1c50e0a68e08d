//! Requests of the proxy's clients, SOCKS5 and HTTP CONNECT: for any division into pieces, the same
//! server is requested, and no byte behind the request is lost.
//!
//! A fuzzer finds requests of SOCKS5 by itself, but none of HTTP. The bytes are therefore tried as
//! they are, and then as the target of a CONNECT.

#![no_main]

use fairwave_proxy::{Request, Server};
use libfuzzer_sys::fuzz_target;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncReadExt, join};

/// The proxy's own address towards servers.
const FAR: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 0, 2, 1), 40_000);
/// Maximum length of an HTTP head.
const HEAD_BYTES: usize = 8192;
/// Maximum length of a SOCKS5 request: 257 bytes to negotiate, and 262 with the longest name.
const SOCKS_BYTES: usize = 519;

/// Result of a future whose input is always available.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing is there to wait for"),
    }
}

/// The server that these bytes request, and the bytes after the request; `None` if they are no
/// valid request.
fn asked(bytes: &[u8], cut: usize) -> Option<(Server, Vec<u8>)> {
    let (first, second) = bytes.split_at(cut);
    let mut reported = Vec::new();
    let found = {
        let client = join(first.chain(second), &mut reported);
        let request = now(Request::read_from(client, bytes[0], None)).ok()?;
        let server = request.server.clone();
        let granted = now(request.grant(FAR.into()));
        let (client, mut behind) = granted.expect("memory does not fail");
        now(client.into_inner().0.read_to_end(&mut behind)).expect("memory does not fail");
        (server, behind)
    };
    let is_granted = reported.ends_with(b"HTTP/1.1 200 Connection established\r\n\r\n");
    assert!(is_granted || reported[0] == 5, "a request is granted: {reported:?}");
    Some(found)
}

/// The same request in HTTP.
fn in_http(server: &Server) -> Vec<u8> {
    let host = match server {
        Server::At(address) => SocketAddr::to_string(address),
        Server::Named(name, port) => format!("{name}:{port}"),
    };
    format!("CONNECT {host} HTTP/1.1\r\n\r\n").into_bytes()
}

fn judge(bytes: &[u8]) {
    let [first, .., last] = bytes else { return };
    let whole = asked(bytes, bytes.len());
    let cut = usize::from(*last) * 31 % bytes.len();
    assert_eq!(whole, asked(bytes, cut), "cut at {cut}");
    let Some((server, behind)) = whole else { return };
    assert!(bytes.ends_with(&behind), "what follows is the client's");
    let max = if *first == 5 { SOCKS_BYTES } else { HEAD_BYTES };
    assert!(bytes.len() - behind.len() <= max, "{max} bytes are the longest request");
    // A name in SOCKS5 may contain characters that no name in HTTP may. Only requests by HTTP can
    // therefore be repeated by HTTP.
    if *first != 5 {
        let again = in_http(&server);
        assert_eq!(asked(&again, again.len()), Some((server, Vec::new())));
    }
}

fuzz_target!(|bytes: &[u8]| {
    judge(bytes);
    let tail = bytes.len().min(64);
    judge(&[b"CONNECT ", bytes, b" HTTP/1.1\r\n\r\n", &bytes[..tail]].concat());
});
