//! Bytes, ends, stalls and resets.

use crate::{FOUR, Proxy, SIX, config, pattern, server};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// More than all buffers of a flow hold.
const LONG: usize = 24 << 20;

/// Sends everything back when the sender has ended, and ends.
fn returns(mut client: TcpStream) -> usize {
    let mut bytes = Vec::new();
    client.read_to_end(&mut bytes).expect("bytes");
    client.write_all(&bytes).expect("the client reads");
    bytes.len()
}

#[test]
fn a_half_closed_connection_goes_on_in_the_other_direction() {
    let proxy = Proxy::start(config());
    for (at, by_socks) in [(FOUR, true), (SIX, true), (FOUR, false), (SIX, false)] {
        let (address, served) = server(at, returns);
        let mut client =
            if by_socks { proxy.socks(address) } else { proxy.http(&address.to_string()) };
        let sent = pattern(300_000);
        client.write_all(&sent).expect("it reads");
        client.shutdown(Shutdown::Write).expect("open");
        let mut back = Vec::new();
        client.read_to_end(&mut back).expect("bytes");
        assert!(back == sent, "{address}: {} bytes", back.len());
        assert_eq!(served.join().expect("no panic"), 300_000);
    }
    let report = proxy.end();
    assert_eq!((report.opened, report.broken), (4, 0));
    assert_eq!((report.bytes_up, report.bytes_down), (1_200_000, 1_200_000));
}

#[test]
fn bytes_come_through_whole_while_both_ends_are_slow_in_turn() {
    let proxy = Proxy::start(config());
    let (address, served) = server(FOUR, |mut client| {
        let mut other = client.try_clone().expect("a descriptor");
        let sent = thread::spawn(move || {
            other.write_all(&pattern(LONG)).expect("the client reads");
            other.shutdown(Shutdown::Write).expect("open");
        });
        let mut bytes = Vec::new();
        client.read_to_end(&mut bytes).expect("bytes");
        sent.join().expect("no panic");
        bytes == pattern(LONG)
    });
    let mut client = proxy.http(&address.to_string());
    let mut other = client.try_clone().expect("a descriptor");
    let sending = thread::spawn(move || {
        // Odd lengths, so that pieces and segments do not coincide.
        pattern(LONG).chunks(70_001).for_each(|piece| other.write_all(piece).expect("it reads"));
        other.shutdown(Shutdown::Write).expect("open");
    });
    let mut back = Vec::new();
    client.read_to_end(&mut back).expect("bytes");
    sending.join().expect("no panic");
    assert!(back == pattern(LONG) && served.join().expect("no panic"));
}

#[test]
fn a_server_that_reads_nothing_stops_its_client() {
    let proxy = Proxy::start(config());
    let (go_on, waits) = channel::<()>();
    let (address, served) = server(FOUR, move |mut client| {
        waits.recv().expect("the test goes on");
        let mut bytes = Vec::new();
        client.read_to_end(&mut bytes).expect("bytes");
        bytes
    });
    let mut client = proxy.socks(address);
    client.set_write_timeout(Some(Duration::from_millis(500))).expect("an option");
    let mut sent = 0;
    let piece = pattern(1 << 16);
    let stopped = loop {
        match client.write(&piece[sent % piece.len()..]) {
            Ok(length) => sent += length,
            Err(error) => break error.kind(),
        }
        assert!(sent < 256 << 20, "nothing stops it");
    };
    assert_eq!(stopped, ErrorKind::WouldBlock);
    go_on.send(()).expect("the server waits");
    client.shutdown(Shutdown::Write).expect("open");
    let received = served.join().expect("no panic");
    assert_eq!(received.len(), sent);
    assert!(received.chunks(1 << 16).all(|part| part == &piece[..part.len()]));
}

/// Connections that a proxy cuts off do not look as if they had ended.
#[test]
fn the_end_of_the_proxy_resets_its_connections() {
    let proxy = Proxy::start(config());
    let (address, served) = server(FOUR, |mut client| {
        while client.write_all(&[0; 1 << 16]).is_ok() {}
        client.write(&[0]).map_err(|error| error.kind())
    });
    let mut client = proxy.socks(address);
    client.read_exact(&mut [0; 1 << 16]).expect("a part");
    proxy.end();
    let rest = client.read_to_end(&mut Vec::new());
    assert_eq!(rest.expect_err("a reset").kind(), ErrorKind::ConnectionReset);
    assert!(served.join().expect("no panic").is_err());
}

#[test]
fn a_reset_on_one_side_resets_the_other() {
    let proxy = Proxy::start(config());
    let (address, served) = server(FOUR, |mut client| {
        client.read_exact(&mut [0; 5]).expect("five bytes");
        // To close with bytes unread is to reset (RFC 9293 section 3.6.1).
        drop(client);
    });
    let mut client = proxy.socks(address);
    client.write_all(&pattern(100_000)).expect("it reads");
    served.join().expect("no panic");
    assert_eq!(client.read(&mut [0]).expect_err("a reset").kind(), ErrorKind::ConnectionReset);
    let (address, served) = server(FOUR, |mut client| {
        let mut bytes = [0; 1];
        client.write_all(&bytes).expect("the client is there");
        client.read(&mut bytes).map_err(|error| error.kind())
    });
    let client = proxy.socks(address);
    assert_eq!(client.peek(&mut [0]).expect("a byte"), 1);
    drop(client);
    assert_eq!(served.join().expect("no panic"), Err(ErrorKind::ConnectionReset));
    let (report, _) = proxy.until(|report, _| report.broken == 2);
    assert_eq!((report.opened, report.active), (2, 0));
}
