//! A neighbour without the secret, who captures the datagrams between two hosts and sends what they
//! must not believe to both: from their own addresses, and from many others.

use crate::common::{client, exchange, psk, run, server, streams};
use fairwave_shake_host::endpoint::Refused;
use fairwave_shake_host::noise::Initiator;
use fairwave_shake_host::{Config, Psk};
use fairwave_units::{Seed, Stream as Draws};
use fairwave_wire::seal::Key;
use fairwave_wire::shake::record::{Datagram, NUMBER_LIMIT, Record};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use tokio::net::UdpSocket;

/// Datagrams that the neighbour remembers.
const CAPTURED: usize = 256;
/// Addresses from which it floods the server.
const PORTS: usize = 40;
/// Bytes of the honest stream in each direction.
const LEN: usize = 1_500_000;

/// Choices of the neighbour, and what it has captured in one direction.
struct Forger {
    draws: Draws,
    captured: VecDeque<Vec<u8>>,
}

impl Forger {
    fn new(seed: Seed, name: &str) -> Self {
        Self { draws: seed.stream(name), captured: VecDeque::new() }
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.draws.next_u64() % limit as u64) as usize
    }

    fn noise(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.draws.next_u64() as u8).collect()
    }

    fn capture(&mut self, bytes: &[u8]) {
        if self.captured.len() == CAPTURED {
            self.captured.pop_front();
        }
        self.captured.push_back(bytes.to_vec());
    }

    /// Something to send after a captured datagram: it, an old one, or a change of one of them.
    fn forge(&mut self) -> Vec<u8> {
        let place = self.below(self.captured.len());
        let mut bytes = self.captured[place].clone();
        match self.below(9) {
            0 | 1 => {}
            2 => {
                let at = self.below(bytes.len());
                bytes[at] ^= 1 << self.below(8);
            }
            3 => bytes.truncate(self.below(bytes.len())),
            4 => {
                let more = self.below(40);
                bytes.extend(self.noise(more));
            }
            5 => bytes = self.noise(bytes.len()),
            _ => return self.forge_head(&bytes),
        }
        bytes
    }

    /// A record with another session, path or number, far ahead of those that are in use.
    fn forge_head(&mut self, bytes: &[u8]) -> Vec<u8> {
        let Ok(Datagram::Record(record)) = Datagram::parse(bytes) else { return bytes.to_vec() };
        let number = 1 + self.draws.next_u64() % (NUMBER_LIMIT - 1);
        let number = NonZeroU64::new(number).expect("at least 1");
        let forged = match self.below(3) {
            0 => Record { to: self.draws.next_u64() as u32, ..record },
            1 => Record { path: self.draws.next_u64() as u8, ..record },
            _ => Record { number, ..record },
        };
        let mut bytes = Vec::new();
        Datagram::Record(forged).write(&mut bytes);
        bytes
    }

    /// The first message of a handshake: of a stranger, or of a host with the secret.
    fn initiation(&mut self, psk: &Psk) -> Vec<u8> {
        let (_, noise) = Initiator::new(psk, &[0, 0, 0, 0, 1]);
        let mut bytes = Vec::new();
        let from = self.draws.next_u64() as u32;
        Datagram::Initiation { from, noise: &noise }.write(&mut bytes);
        bytes
    }
}

/// Forwards datagrams between a client and the server, and forges others, until it is dropped.
async fn tap(front: UdpSocket, server: SocketAddr, seed: Seed) {
    let back = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    let [mut up, mut down] = ["up", "down"].map(|name| Forger::new(seed, name));
    let (mut one, mut other) = (vec![0; 65_536], vec![0; 65_536]);
    let mut from = None;
    loop {
        // A full socket is a loss, as in a queue of the network.
        let sent = tokio::select! {
            Ok((len, sender)) = front.recv_from(&mut one) => {
                from = Some(sender);
                up.capture(&one[..len]);
                let forged = up.forge();
                let _ = back.send_to(&one[..len], server).await;
                back.send_to(&forged, server).await
            }
            Ok((len, _)) = back.recv_from(&mut other) => {
                let Some(client) = from else { continue };
                down.capture(&other[..len]);
                let forged = down.forge();
                let _ = front.send_to(&other[..len], client).await;
                front.send_to(&forged, client).await
            }
            else => return,
        };
        let _ = sent;
    }
}

/// Floods the server from many addresses, until it is dropped.
async fn flood(server: SocketAddr, seed: Seed) {
    let mut forger = Forger::new(seed, "flood");
    let stranger = Psk::of(&Key::new(b"a secret of other hosts").expect("long enough"));
    let insider = psk();
    let mut sockets = Vec::new();
    for _ in 0..PORTS {
        sockets.push(UdpSocket::bind("127.0.0.1:0").await.expect("a socket"));
    }
    for turn in (0..PORTS).cycle() {
        let bytes = match forger.below(3) {
            0 => forger.initiation(&stranger),
            1 => forger.initiation(&insider),
            _ => {
                let len = forger.below(1_500);
                forger.noise(len)
            }
        };
        forger.capture(&bytes);
        let _ = sockets[turn].send_to(&bytes, server).await;
        let again = forger.forge();
        let _ = sockets[turn].send_to(&again, server).await;
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

fn all(refused: &Refused) -> u64 {
    let Refused { malformed, unknown, forged, strangers, crowded } = *refused;
    malformed + unknown + forged + strangers + crowded
}

/// Sessions without a confirmed peer are 64 at most; the honest one and the latest are beside them.
const MAX_SESSIONS: usize = 66;

fn withstands(seed: Seed) {
    run(async {
        let config = Config { max_buffered: 64 << 20, ..Config::new(psk()) };
        let server = server(config.clone());
        let at = server.address().expect("a server's");
        let (mut fronts, mut attackers) = (Vec::new(), Vec::new());
        for path in 0..2 {
            let front = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
            fronts.push(front.local_addr().expect("bound"));
            attackers.push(tokio::spawn(tap(front, at, Seed(2 * seed.0 + path))));
        }
        attackers.push(tokio::spawn(flood(at, seed)));
        let client = client(config, &fronts);
        let (mut here, mut there) = streams(&client, &server).await;
        let sessions = [client.session().expect("connected"), server.session_of(&there)];
        let look = || {
            assert!(server.counts().0 <= MAX_SESSIONS, "{}", server.counts().0);
            assert_eq!(client.counts().0, 1);
            for session in &sessions {
                let in_flight = session.paths().iter().map(|path| path.in_flight).sum::<u64>();
                assert!(in_flight + session.unsent() <= 64 << 20);
                assert!(session.paths().len() <= 2, "a path was invented");
            }
        };
        exchange(&mut here, &mut there, LEN, look).await;
        let (refused, at_client) = (server.counts().1, client.counts().1);
        let Refused { malformed, unknown, forged, strangers, .. } = refused;
        let kinds = [malformed, unknown, forged, strangers];
        assert!(kinds.iter().all(|count| *count > 0), "{refused:?}");
        assert!(all(&refused) > 500 && all(&at_client) > 500, "{refused:?}, {at_client:?}");
        assert!(at_client.forged > 100, "{at_client:?}");
        assert_eq!(client.session().map(|session| session.number()), Some(sessions[0].number()));
        attackers.iter().for_each(tokio::task::JoinHandle::abort);
        client.close().await;
        server.close().await;
        assert_eq!((client.counts().0, server.counts().0), (0, 0));
    });
}

#[test]
fn a_stream_passes_a_neighbour_that_repeats_changes_and_invents_datagrams() {
    for seed in 1..=3 {
        withstands(Seed(seed));
    }
}
