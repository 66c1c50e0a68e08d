//! Blind attackers and attackers on the path of a connection, over UDP sockets.
//!
//! DCCP inside UDP has no checksum of its own (RFC 6773 section 3.3), so that every changed packet
//! reaches the parser.

use super::*;
use crate::{Cookies, Endpoint, Ignored};
use fairwave_units::{Seed, Stream};
use fairwave_wire::dccp::parse_in_udp;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// Datagrams of a client, and their length in bytes.
const CONTENT: u32 = 400;
const BYTES: usize = 700;
/// Packets that a blind attacker sends for each datagram that the server's application received.
const BURST: usize = 4;
/// Packets that an attacker on the path looks at; it passes further ones as they are.
const MEDDLED: usize = 2_000;
/// Clients whose path has an attacker, and the other clients.
const ON_PATH: std::ops::Range<u8> = 0..3;
const DIRECT: u8 = 100;
const SPOOFED: u8 = 101;
const AFTERWARDS: u8 = 102;
/// Maximum number of connections of a port, as in [`Request::new`].
const MAX_CONNECTIONS: usize = 16;

/// A datagram of a client, which no other one equals.
fn content(client: u8, number: u32) -> Bytes {
    let [a, b, c, d] = number.to_be_bytes();
    let noise = (0..BYTES - 5).map(|at| (at as u32 * 7 + number) as u8 ^ client);
    [client, a, b, c, d].into_iter().chain(noise).collect()
}

/// Sends the content to a server, each datagram within `patience`, and closes. The queue has one
/// place, so that all have left once there is room for another one behind them.
fn send(to: SocketAddr, client: u8, patience: Option<Duration>) -> Option<(End, Account)> {
    let with = Addressee::Server(SocketAddr::new(to.ip(), PORT));
    let mut request = over_udp(with, 2 + client % 2, to.port());
    request.queue.datagrams = 1;
    let endpoint = blocking::Endpoint::new(Port::open(&request).expect("a socket")).expect("runs");
    let connection = match (endpoint.connect(), patience) {
        (Ok(connection), _) => connection,
        (Err(_), Some(_)) => return None,
        (Err(error), None) => panic!("client {client}: {error}"),
    };
    let is_late = || connection.account().is_none_or(|account| account.dropped.too_old > 0);
    let all_sent = (0..=CONTENT)
        .all(|number| connection.send(content(client, number), patience).is_ok() && !is_late());
    if patience.is_some() {
        // Its attacker may have ended or stalled it: after a forged packet with a number far ahead,
        // the peer's own packets lie below the sequence window.
        endpoint.close().expect("the socket works");
        return None;
    }
    assert!(all_sent, "client {client}: {:?}", connection.account());
    connection.close()
}

/// The end and the datagrams of one connection of the server.
type Received = (Option<End>, Vec<Bytes>);

/// Results of the server.
struct Served {
    received: Vec<Received>,
    ignored: Ignored,
    cookies: Cookies,
    /// Datagrams that found no room in the socket's buffer.
    dropped: u64,
    /// Maximum number of connections kept at one time.
    kept: u64,
}

async fn receive(
    server: Arc<Endpoint>,
    connection: Connection,
    progress: Sender<bool>,
    kept: Arc<AtomicU64>,
) -> Received {
    let mut received = Vec::new();
    while let Some(data) = connection.recv().await {
        received.push(data);
        kept.fetch_max(server.connections() as u64, Relaxed);
        // The attacker may be over.
        let _ = progress.send(true);
    }
    (connection.closed().await.map(|(end, _)| end), received)
}

/// Serves until it is stopped, and reports each datagram that an application received.
async fn serve(
    server: Endpoint,
    progress: Sender<bool>,
    mut stop: oneshot::Receiver<()>,
) -> Served {
    let (server, kept) = (Arc::new(server), Arc::new(AtomicU64::new(0)));
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            accepted = server.accept() => {
                let connection = accepted.expect("it is open");
                let (server, kept) = (Arc::clone(&server), Arc::clone(&kept));
                tasks.spawn(receive(server, connection, progress.clone(), kept));
            }
            _ = &mut stop => break,
        }
    }
    drop(progress);
    server.close().await.expect("the socket works");
    let received = tasks.join_all().await;
    let (counts, ignored) = server.counts();
    let dropped = counts.dropped_here;
    Served { received, ignored, cookies: server.cookies(), dropped, kept: kept.load(Relaxed) }
}

/// A packet with 48-bit numbers, and the options behind it.
pub(super) fn forged(
    random: &mut Stream,
    ports: [u16; 2],
    kind: u8,
    number: u64,
    options: &[u8],
) -> Vec<u8> {
    let mut bytes = ports.map(u16::to_be_bytes).concat();
    // The length of the longest header without options is that of a Reset.
    let header = 28;
    bytes.extend([((header + options.len()) / 4) as u8, 0, 0, 0, kind << 1 | 1, 0]);
    bytes.extend_from_slice(&number.to_be_bytes()[2..]);
    bytes.resize_with(header, || random.next_u64() as u8);
    [&bytes, options].concat()
}

fn noise(random: &mut Stream, max: u64) -> Vec<u8> {
    (0..random.below(max)).map(|_| random.next_u64() as u8).collect()
}

/// Changes some bytes, most of them in the header and the options, or cuts the packet off.
fn mutated(random: &mut Stream, packet: &[u8]) -> Vec<u8> {
    let mut bytes = packet.to_vec();
    let reach = if random.chance(0.8) { bytes.len().min(60) } else { bytes.len() } as u64;
    for _ in 0..=random.below(4) {
        bytes[random.below(reach) as usize] = random.next_u64() as u8;
    }
    if random.chance(0.2) {
        bytes.truncate(random.below(packet.len() as u64) as usize);
    }
    bytes
}

/// A packet of a blind attacker, from the port of a connection or from any.
fn blind(random: &mut Stream, port: Option<u16>) -> Vec<u8> {
    let (any, number) = (random.next_u64() as u16, random.next_u64());
    let ports = [port.unwrap_or(any), PORT];
    let kind = random.below(16) as u8;
    let mut options = noise(random, 80);
    options.truncate(options.len() & !3);
    match random.below(6) {
        0 => noise(random, 200),
        // Requests of a connection would have to be those of its client.
        1 if port.is_none() => request(any),
        2 => mutated(random, &request(ports[0])),
        // Ends within the first option, or an option of length 0.
        3 => forged(random, ports, kind, number, &[34, 200, 33, 0]),
        4 => forged(random, ports, 7, number, &[]),
        _ => forged(random, ports, kind, number, &options),
    }
}

/// Sends to the server as the applications there receive, until `progress` is false. Returns the
/// number of packets sent, and of those that are no packets of DCCP.
fn attack(to: SocketAddr, progress: &Receiver<bool>) -> (u64, u64) {
    let mut random = Seed(1).stream("blind");
    let socket = UdpSocket::bind(SocketAddr::new(to.ip(), 0)).expect("a socket");
    let (mut sent, mut broken) = (0, 0);
    while progress.recv() == Ok(true) {
        for _ in 0..BURST {
            let packet = blind(&mut random, None);
            broken += u64::from(parse_in_udp(&packet).is_err());
            sent += 1;
            socket.send_to(&packet, to).expect("the loopback takes it");
        }
    }
    (sent, broken)
}

/// Packets that come out of a relay for one that goes in, for each direction.
pub(super) type Change = Box<dyn FnMut(&[u8]) -> Vec<Vec<u8>> + Send>;

/// A relay between a client and the server. An empty datagram ends it.
struct Relay {
    address: SocketAddr,
    threads: Vec<thread::JoinHandle<u64>>,
}

/// Forwards from a socket by another one; returns the number of packets that are not DCCP.
fn forward(
    from: &UdpSocket,
    by: &UdpSocket,
    mut change: Change,
    to: impl Fn(SocketAddr) -> SocketAddr,
) -> u64 {
    let (mut buffer, mut broken) = (vec![0; 2_000], 0);
    loop {
        let (len, sender) = from.recv_from(&mut buffer).expect("the loopback works");
        let to = to(sender);
        if len == 0 {
            return broken;
        }
        for packet in change(&buffer[..len]) {
            broken += u64::from(parse_in_udp(&packet).is_err());
            by.send_to(&packet, to).expect("the loopback takes it");
        }
    }
}

impl Relay {
    fn new(server: SocketAddr, [up, down]: [Change; 2]) -> Self {
        let bound =
            || Arc::new(UdpSocket::bind(SocketAddr::new(server.ip(), 0)).expect("a socket"));
        let (front, back) = (bound(), bound());
        let address = front.local_addr().expect("it is bound");
        let client = Arc::new(OnceLock::new());
        let seen = Arc::clone(&client);
        let sockets = (Arc::clone(&front), Arc::clone(&back));
        let upwards = thread::spawn(move || {
            let to = |sender| {
                seen.get_or_init(|| sender);
                server
            };
            let broken = forward(&sockets.0, &sockets.1, up, to);
            let behind = sockets.1.local_addr().expect("it is bound");
            sockets.0.send_to(&[], behind).expect("the loopback takes it");
            broken
        });
        let downwards = thread::spawn(move || {
            let to = |sender| client.get().copied().unwrap_or(sender);
            forward(&back, &front, down, to)
        });
        Self { address, threads: vec![upwards, downwards] }
    }

    /// Ends it; returns the number of packets that are not DCCP, in each direction.
    fn stop(self) -> Vec<u64> {
        let socket = UdpSocket::bind(SocketAddr::new(self.address.ip(), 0)).expect("a socket");
        socket.send_to(&[], self.address).expect("the loopback takes it");
        self.threads.into_iter().map(|thread| thread.join().expect("it did not panic")).collect()
    }
}

/// Passes all packets, and adds to each one of a blind attacker who forges its addresses and ports.
fn spoofing() -> Change {
    let mut random = Seed(2).stream("spoofing");
    Box::new(move |packet| {
        let port = u16::from_be_bytes([packet[0], packet[1]]);
        let mut forged = blind(&mut random, Some(port));
        if let Some(ports) = forged.get_mut(..4) {
            ports.copy_from_slice(&packet[..4]);
        }
        vec![packet.to_vec(), forged]
    })
}

/// Changes, repeats, delays and forges packets with knowledge of those that it sees.
pub(super) fn meddling(seed: u8, way: &str) -> Change {
    let mut random = Seed(seed.into()).stream(way);
    let (mut count, mut held) = (0, None);
    Box::new(move |packet| {
        count += 1;
        if count > MEDDLED {
            return held.take().into_iter().chain([packet.to_vec()]).collect();
        }
        let mut out = vec![packet.to_vec()];
        match random.below(24) {
            0 | 1 => out.push(packet.to_vec()),
            2 | 3 => out.push(mutated(&mut random, packet)),
            4 => out = vec![mutated(&mut random, packet)],
            5 | 6 => {
                out.extend(held.replace(packet.to_vec()));
                out.remove(0);
            }
            7 if packet.len() >= 16 => {
                let number = u64::from_be_bytes(packet[8..16].try_into().expect("8 bytes"));
                let number = number + random.below(40);
                let ports = [0, 2].map(|at| u16::from_be_bytes([packet[at], packet[at + 1]]));
                let kind = random.below(10) as u8;
                out.push(forged(&mut random, ports, kind, number, &[]));
            }
            _ => out.extend(held.take()),
        }
        out
    })
}

/// Datagrams of a client in the order of their arrival; nothing else came over its connection.
fn whole(client: u8, received: &[Received]) -> usize {
    let of_client = |(_, data): &&Received| data.first().is_some_and(|data| data[0] == client);
    let [(end, data)] = &received.iter().filter(of_client).collect::<Vec<_>>()[..] else {
        panic!("client {client} has no connection, or several");
    };
    assert_eq!(*end, Some(End::Closed), "client {client}");
    let number = |data: &Bytes| u32::from_be_bytes(data[1..5].try_into().expect("4 bytes"));
    assert!(data.is_sorted_by_key(number), "client {client}");
    assert!(data.iter().all(|data| *data == content(client, number(data))), "client {client}");
    data.iter().filter(|data| number(data) < CONTENT).count()
}

/// Connections without an attacker on their path deliver everything and close in order. All packets
/// that are not DCCP are counted, and a flood makes at most eight half-open connections.
#[test]
fn attackers_harm_no_connection_whose_path_they_are_not_on() {
    let at = Addressee::Anybody(SocketAddr::new([127, 0, 0, 1].into(), PORT));
    let offer = Request { ccids: vec![Ccid(3), Ccid(2)], ..over_udp(at, 3, 0) };
    let port = Port::open(&offer).expect("a socket");
    let to = port.address().expect("it is bound");
    let ((progress, progressed), (stop, stopped)) = (channel(), oneshot::channel());
    let end = progress.clone();
    // A flood from the beginning on.
    (0..50).for_each(|_| progress.send(true).expect("it is open"));
    let server = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let serving =
            async { serve(Endpoint::new(port).expect("it runs"), progress, stopped).await };
        runtime.expect("a runtime").block_on(serving)
    });
    let attacker = thread::spawn(move || attack(to, &progressed));
    let spoofed = Relay::new(to, [spoofing(), spoofing()]);
    let relay = |seed| Relay::new(to, [meddling(seed, "up"), meddling(seed, "down")]);
    let mut relays: Vec<_> = ON_PATH.map(relay).collect();
    let ways = [(to, DIRECT, None), (spoofed.address, SPOOFED, None)];
    let patience = Some(Duration::from_millis(300));
    let victims =
        relays.iter().zip(ON_PATH).map(|(relay, client)| (relay.address, client, patience));
    let clients: Vec<_> = ways
        .into_iter()
        .chain(victims)
        .map(|(to, client, patience)| thread::spawn(move || send(to, client, patience)))
        .collect();
    let ends: Vec<_> = clients.into_iter().map(|it| it.join().expect("no panic")).collect();
    relays.push(spoofed);
    let broken: u64 = relays.into_iter().map(|relay| relay.stop()[0]).sum();
    end.send(false).expect("it receives");
    let (sent, blind_broken) = attacker.join().expect("no panic");
    let last = send(to, AFTERWARDS, None);
    stop.send(()).expect("it waits");
    let served = server.join().expect("no panic");
    for end in [ends[0], ends[1], last] {
        assert_eq!(end.map(|(end, _)| end), Some(End::Closed));
    }
    for client in [DIRECT, SPOOFED, AFTERWARDS] {
        let missing = CONTENT as usize - whole(client, &served.received);
        assert!(missing as u64 <= served.dropped, "{missing}, {} dropped", served.dropped);
    }
    let (ignored, broken) = (served.ignored.broken, broken + blind_broken);
    assert!(
        (broken - served.dropped.min(broken)..=broken).contains(&ignored),
        "{ignored} {broken}"
    );
    assert!(broken > sent / 20, "{broken} of {sent}");
    assert_eq!(served.cookies.half_open_max, 8);
    assert!(served.cookies.sent > 100, "{:?}", served.cookies);
    assert!(served.kept <= MAX_CONNECTIONS as u64, "{}", served.kept);
}
