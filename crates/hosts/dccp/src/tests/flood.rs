//! Floods of Requests at a listener, and its Init Cookies (RFC 4340 section 8.1.4).

use super::*;
use crate::shared::Shared;
use fairwave_wire::dccp::{Kind, Options, Value};

/// Connections whose handshake may be incomplete, as in [`settings`].
const MAX_HALF_OPEN: u64 = 8;

/// Headers of IPv4 and UDP in bytes.
const HEADERS: usize = 28;

fn server() -> Connections {
    Connections::new(settings(Over::Udp, addresses(false), 2, false))
}

/// A datagram for the server from a host of this number.
fn from(host: u8, bytes: Vec<u8>) -> Fact {
    let from = SocketAddr::new([198, 51, 100, host].into(), 9);
    Fact::Arrived(Incoming { from, to: Some(addresses(false)[1].ip()), ecn: Ecn::NotEct, bytes })
}

/// Answers of an end to a fact.
fn answers(end: &mut Connections, ms: u64, fact: Fact) -> Vec<Vec<u8>> {
    end.handle(at(ms), fact);
    std::iter::from_fn(|| end.poll(at(ms))).map(|answer| answer.bytes).collect()
}

/// A client, and its Request.
fn client(port: u16) -> (Connections, Vec<u8>) {
    let mut settings = settings(Over::Udp, addresses(false), 2, true);
    settings.connection.local_port = port;
    let mut client = Connections::new(settings);
    client.handle(at(0), Fact::Start);
    let request = client.poll(at(0)).expect("a Request").bytes;
    (client, request)
}

/// The client's answer to a datagram of the server.
fn reply(client: &mut Connections, ms: u64, bytes: Vec<u8>) -> Vec<u8> {
    let [_, from] = addresses(false);
    let datagram = Incoming { from, to: None, ecn: Ecn::NotEct, bytes };
    answers(client, ms, Fact::Arrived(datagram)).remove(0)
}

fn count(server: &mut Connections) -> usize {
    std::iter::from_fn(|| server.event())
        .filter(|event| matches!(event, PortEvent::Established(_)))
        .count()
}

/// Fills the server's table of incomplete handshakes.
fn crowded() -> Connections {
    let mut server = server();
    for port in 0..MAX_HALF_OPEN as u16 {
        let (_, request) = client(port);
        assert_eq!(answers(&mut server, 0, from(port as u8, request)).len(), 1);
    }
    server
}

/// A server whose table is full, a client, and that client's packet with the cookie of the server.
fn returned() -> (Connections, Connections, Vec<u8>) {
    let mut server = crowded();
    let (mut client, request) = client(250);
    let response = answers(&mut server, 10, from(250, request)).remove(0);
    let packet = reply(&mut client, 20, response);
    (server, client, packet)
}

/// Forged addresses get one Response for each Request, of at most three times its length with the
/// headers of IPv4 and UDP, and make no more than eight connections. An honest client gets in among
/// them at once.
#[test]
fn a_flood_of_requests_is_bounded_and_an_honest_client_gets_in() {
    let (mut asked, mut answered) = (0, 0);
    let mut server = server();
    for port in 0..200 {
        let (_, request) = client(port);
        asked += HEADERS + request.len();
        answered += HEADERS + answers(&mut server, 0, from(port as u8, request))[0].len();
    }
    assert!(answered < 3 * asked, "{answered} B for {asked} B");
    let cookies = server.cookies();
    assert_eq!((cookies.half_open_max, cookies.sent), (MAX_HALF_OPEN, 200 - MAX_HALF_OPEN));
    let (mut honest, request) = client(250);
    let response = answers(&mut server, 10, from(250, request)).remove(0);
    let packet = reply(&mut honest, 20, response);
    answers(&mut server, 30, from(250, packet));
    assert_eq!((count(&mut server), count(&mut honest)), (1, 1));
    assert_eq!((server.cookies().returned, server.ignored().turned_away), (1, 0));
}

/// As Linux's: its Ack without the cookie gets a Reset, "No Connection", so that it does not wait.
#[test]
fn a_client_that_does_not_return_the_cookie_is_reset() {
    let mut server = crowded();
    let (_, request) = client(250);
    assert_eq!(answers(&mut server, 10, from(250, request)).len(), 1);
    let [port, response] = [250_u16, PORT].map(u16::to_be_bytes);
    // An Ack, type 3, with numbers of 48 bits.
    let head = [&port[..], &response, &[6, 0, 0, 0, 3 << 1 | 1, 0]].concat();
    let ack = [&head[..], &[0, 0, 0, 0, 0, 9], &[0, 0, 0, 0, 0, 0, 0, 7]].concat();
    let reset = answers(&mut server, 20, from(250, ack));
    assert!(matches!(&reset[..], [bytes] if bytes[8] == 7 << 1 | 1 && bytes[24] == 3), "{reset:?}");
}

/// Clients that do not return cookies get in once others had 5 s to answer.
#[test]
fn handshakes_that_nobody_completes_make_room() {
    let mut server = crowded();
    let with_cookie = |server: &mut Connections, ms, host| {
        let (_, request) = client(host);
        let sent = server.cookies().sent;
        answers(server, ms, from(host as u8, request));
        server.cookies().sent > sent
    };
    assert!(with_cookie(&mut server, 4_000, 100));
    assert!(!with_cookie(&mut server, 6_000, 101));
    assert_eq!(server.cookies().half_open_max, MAX_HALF_OPEN);
}

#[test]
fn a_cookie_is_that_of_an_address_and_of_a_time() {
    for (host, ms, is_good) in [(250, 30, true), (249, 30, false), (250, 70_000, false)] {
        let (mut server, _, packet) = returned();
        let answer = answers(&mut server, ms, from(host, packet));
        assert_eq!(count(&mut server) == 1, is_good, "{host} {ms}");
        let Cookies { returned, refused, .. } = server.cookies();
        assert_eq!((returned, refused), if is_good { (1, 0) } else { (0, 1) });
        // "Bad Init Cookie", 10.
        assert!(is_good || answer[0][24] == 10, "{answer:?}");
    }
}

/// Ports, acknowledged number, and every byte of the cookie: the options of the Request and the
/// seal.
#[test]
fn a_changed_cookie_opens_nothing() {
    let (_, _, packet) = returned();
    let header = 24;
    let options = Options::from_bytes(&packet[header..]);
    let cookie = options.items().find(|item| matches!(item.value(), Ok(Value::InitCookie(_))));
    let cookie = cookie.expect("it is there");
    let at_cookie = header + cookie.offset + 2;
    let changes = [1, 21, 23].into_iter().chain(at_cookie..at_cookie + cookie.data.len());
    for place in changes {
        let (mut server, _, mut packet) = returned();
        packet[place] ^= 1;
        answers(&mut server, 30, from(250, packet));
        assert_eq!((count(&mut server), server.cookies().refused), (0, 1), "{place}");
    }
}

/// A listener that is not crowded sends no cookie.
#[test]
fn a_cookie_needs_a_crowd() {
    let mut server = server();
    let (_, request) = client(1);
    let response = answers(&mut server, 0, from(1, request)).remove(0);
    let read = fairwave_wire::dccp::parse_in_udp(&response).expect("a packet");
    assert!(matches!(read.header.kind, Kind::Response { .. }));
    let options = Options::from_bytes(read.options);
    assert!(options.values().all(|value| !matches!(value, Value::InitCookie(_))));
}

/// The application takes no connection, and its clients fall silent: of those that are over no more
/// are kept than the listener has places.
#[test]
fn connections_that_nobody_accepts_are_forgotten() {
    let shared = Shared::new(settings(Over::Udp, addresses(false), 2, false));
    shared.with(|state| {
        for host in 0..50u8 {
            let ms = 200_000 * u64::from(host);
            let (mut client, request) = client(u16::from(host));
            let response = answers(&mut state.machine, ms, from(host, request)).remove(0);
            let packet = reply(&mut client, 10, response);
            answers(&mut state.machine, ms + 10, from(host, packet));
            // After 150 s without a packet it ends.
            for later in [160_000, 180_000] {
                state.machine.wake(at(ms + later));
                while state.machine.poll(at(ms + later)).is_some() {}
            }
            state.take_events();
        }
        assert_eq!((state.accepted.len(), state.slots.len()), (16, 16));
        assert!(state.slots.values().all(|slot| slot.ended.is_some()));
    });
}
