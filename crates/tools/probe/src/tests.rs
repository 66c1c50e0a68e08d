//! Over loopback, IPv4 and IPv6: real sockets, real time, no claim about how long it takes.

use super::session::Line;
use super::*;
use fairwave_console::peer::key_of;
use fairwave_linux::clock::Clock;
use fairwave_probe::{Account, Plan, Trial};
use fairwave_probe::{Pinger, PingerInput};
use fairwave_sockets::Outgoing;
use fairwave_sockets::Transport;
use fairwave_sockets::Udp;
use fairwave_units::{BitRate, Duration, Instant};
use fairwave_wire::probe::{Limits, Record};
use fairwave_wire::seal::Key;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

fn key() -> Key {
    key_of(b"a secret of these tests\n").unwrap()
}

fn limits() -> Limits {
    Limits { rate: BitRate::mbps(20), packets: 500, duration: Duration::from_secs(20) }
}

/// Does something beside a server, which ends afterwards; what it told, and how many datagrams it
/// rejected.
fn beside<T>(listen: &str, job: impl FnOnce(SocketAddr) -> T) -> (T, Vec<ServerEvent>, u64) {
    let config = ServeConfig { listen: listen.parse().unwrap(), key: key(), limits: limits() };
    let mut server = Server::open(config).unwrap();
    let (address, stop) = (server.address().unwrap(), AtomicBool::new(false));
    thread::scope(|scope| {
        let served = scope.spawn(|| {
            let mut events = Vec::new();
            server.run(|| stop.load(Ordering::Relaxed), |event| events.push(event)).unwrap();
            (events, server.rejected(), server.counts())
        });
        let done = job(address);
        stop.store(true, Ordering::Relaxed);
        let (events, rejected, counts) = served.join().unwrap();
        assert!(counts.sent_bytes <= counts.received_bytes, "{counts:?}");
        (done, events, rejected)
    })
}

fn session(server: SocketAddr, key: &Key, train: u32) -> (Vec<Account>, Option<Error>) {
    let stop = AtomicBool::new(false);
    let line = Line { server, key, clock: Clock::start(), stop: &stop };
    let interval = Duration::from_millis(1);
    let trial = Trial { payload_bytes: 300, spaced: 3, interval, train };
    let session =
        line.session(Way::There, limits(), Plan { trials: vec![trial], rest: Duration::ZERO });
    (session.accounts, session.error)
}

#[test]
fn a_session_over_ipv4_and_ipv6_accounts_for_every_packet() {
    for listen in ["127.0.0.1:0", "[::1]:0"] {
        let ((accounts, error), events, rejected) =
            beside(listen, |server| session(server, &key(), 50));
        assert!(error.is_none(), "{listen}: {error:?}");
        let account = &accounts[0];
        let numbers: Vec<u32> = account.arrived.iter().map(|record| record.number).collect();
        assert_eq!((numbers, rejected), ((0..53).collect(), 0), "{listen}");
        assert!(account.sent.windows(2).all(|pair| pair[0] <= pair[1]));
        assert!(
            matches!(events[..], [ServerEvent::Agreed(..), ServerEvent::Ended(..)]),
            "{events:?}"
        );
    }
}

/// 127.0.0.2 is an address of every Linux host; the kernel itself would answer from 127.0.0.1.
#[test]
fn a_server_of_all_addresses_answers_from_the_one_addressed() {
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let ((accounts, error), ..) = beside(listen, |server| {
            session(SocketAddr::from(([127, 0, 0, 2], server.port())), &key(), 5)
        });
        assert!(error.is_none(), "{listen}: {error:?}");
        assert_eq!(accounts[0].arrived.len(), 8, "{listen}");
    }
}

#[test]
fn a_session_ends_where_the_grant_ends() {
    let ((accounts, error), ..) = beside("127.0.0.1:0", |server| session(server, &key(), 900));
    let reported = error.unwrap().to_string();
    assert!(reported.contains("--max-bytes"), "{reported}");
    assert_eq!(accounts[0].sent.len(), 500, "what was measured is kept");
}

#[test]
fn another_key_gets_no_byte() {
    let unknown = key_of(b"another secret of them").unwrap();
    let (answered, events, rejected) = beside("127.0.0.1:0", |server| {
        let udp = Udp::connect(server).unwrap();
        let mut driver = fairwave_sockets::Driver::new(udp, Clock::start());
        let config = fairwave_probe::PingerConfig {
            key: unknown,
            receiver: server,
            first: 1,
            nonce: 2,
            interval: Duration::from_millis(1),
            payload_bytes: 0,
        };
        let mut pinger = Pinger::new(config);
        let mut events = Vec::new();
        driver.report(&mut pinger, PingerInput::Start, &mut events);
        while pinger.pings().len() < 20 {
            let until = driver.now() + Duration::from_millis(5);
            driver.turn(&mut pinger, until, &mut events).unwrap();
        }
        // One with the right key behind them: by its answer the server has seen them all.
        let (_, error) = session(server, &key(), 1);
        assert!(error.is_none(), "{error:?}");
        events.len()
    });
    assert_eq!((answered, events.len(), rejected), (0, 2, 20));
}

/// A train of 1000 bytes of IP packets, one each `apart`, all of which arrive.
fn train(apart: Duration) -> Account {
    let trial = Trial { payload_bytes: 972, spaced: 0, interval: apart, train: 100 };
    let at =
        |number: u32| Instant::ZERO + Duration::from_nanos(apart.as_nanos() * u64::from(number));
    Account {
        trial,
        sent: (0..trial.train).map(at).collect(),
        arrived: (0..trial.train).map(|number| Record { number, arrived: at(number) }).collect(),
    }
}

#[test]
fn a_load_that_is_not_sent_as_asked_is_known_until_it_is() {
    let mut found = Measured::new(Way::There, "192.0.2.1:1".parse().unwrap());
    let [late, even] = [Duration::from_millis(1), Duration::from_micros(420)].map(train);
    let requested = BitRate::mbps(20);
    found.take_speed(Loaded::Both, Way::There, &late, requested);
    found.take_speed(Loaded::Both, Way::Back, &late, requested);
    let ways = |found: &Measured| found.held_back.iter().map(|held| held.way).collect::<Vec<_>>();
    assert_eq!(ways(&found), [Way::There, Way::Back]);
    assert!((found.held_back[0].sent_mbps - 8.0).abs() < 1e-9, "{:?}", found.held_back);
    found.take_speed(Loaded::Both, Way::There, &even, requested);
    assert_eq!(ways(&found), [Way::Back]);
}

#[test]
fn nobody_there_is_an_error_that_says_what_to_do() {
    let udp = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = udp.address().unwrap();
    drop(udp);
    let (accounts, error) = session(address, &key(), 1);
    let reported = error.unwrap().to_string();
    assert!(
        reported.contains("fairwave probe serve") && reported.contains("refused"),
        "{reported}"
    );
    assert!(accounts.is_empty());
}

/// Floods with noise, with a truncated greeting, and with the same whole one again and again.
fn flood(server: SocketAddr) {
    let mut udp = Udp::connect(server).unwrap();
    let mut hello = Vec::new();
    let greeting = fairwave_wire::probe::Message::Hello { nonce: 9 };
    greeting.write(9, &key(), fairwave_wire::probe::CHALLENGE_LEN, &mut hello).unwrap();
    for _ in 0..1_000 {
        for bytes in [&hello[..], &hello[..30], &[0xff; 600][..], &[][..]] {
            // What finds no room is as good as lost on the way.
            let _ = udp.send(&[Outgoing::new(server, bytes.to_vec())]);
        }
    }
}

#[test]
fn hostile_clients_leave_the_session_of_another_whole() {
    let ((accounts, error), events, rejected) = beside("127.0.0.1:0", |server| {
        thread::scope(|scope| {
            scope.spawn(|| flood(server));
            session(server, &key(), 20)
        })
    });
    assert!(error.is_none(), "{error:?}");
    // Packets may be lost in the flood; those that arrived are accounted for, each once.
    let mut numbers: Vec<u32> = accounts[0].arrived.iter().map(|record| record.number).collect();
    let arrived = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), arrived, "{numbers:?}");
    assert!(rejected > 0, "the noise is counted");
    // The farewell has no answer, and may be lost in the flood.
    assert!(matches!(events[..], [ServerEvent::Agreed(..), ..]), "{events:?}");
}

/// Clients that take all sessions but one and say nothing more cost who has the last nothing. A
/// ninth is told that there is no room, and what the slow ones repeat brings them nothing.
#[test]
fn slow_and_repeating_clients_leave_a_session_whole() {
    let ((whole, refused), events, _) = beside("127.0.0.1:0", |server| {
        let mut slow: Vec<Slow> = (0..7).map(|number| Slow::begin(server, number)).collect();
        let (accounts, error) = session(server, &key(), 50);
        assert!(error.is_none(), "{error:?}");
        let mut eighth = Slow::begin(server, 7);
        slow.iter_mut().chain([&mut eighth]).for_each(Slow::repeat);
        let refused = session(server, &key(), 1).1.expect("no room for a ninth");
        (accounts[0].arrived.len(), refused.to_string())
    });
    assert_eq!(whole, 53);
    assert!(refused.contains("as many sessions as it may"), "{refused}");
    let agreed = events.iter().filter(|events| matches!(events, ServerEvent::Agreed(..))).count();
    assert_eq!(agreed, 7 + 1 + 1, "{events:?}");
}

/// A client that has begun a session and then says nothing more.
struct Slow {
    udp: Udp,
    server: SocketAddr,
    start: Vec<u8>,
}

impl Slow {
    fn begin(server: SocketAddr, number: u64) -> Self {
        use fairwave_wire::probe::{CHALLENGE_LEN, Message, open};
        let mut udp = Udp::connect(server).unwrap();
        let mut say = |message: &Message, len| {
            let mut bytes = Vec::new();
            message.write(number, &key(), len, &mut bytes).unwrap();
            udp.send(&[Outgoing::new(server, bytes.clone())]).unwrap();
            let mut taken = Vec::new();
            while taken.is_empty() {
                udp.wait(false, Duration::from_secs(1)).unwrap();
                udp.receive(&mut taken).unwrap();
            }
            (bytes, taken.swap_remove(0).datagram.bytes)
        };
        let (_, challenge) = say(&Message::Hello { nonce: number }, CHALLENGE_LEN);
        let Ok((_, Message::Challenge { cookie })) = open(&challenge, &key()) else { panic!() };
        let (start, _) = say(&Message::Start { nonce: number, cookie, wanted: limits() }, 0);
        Self { udp, server, start }
    }

    /// Says again how it began. What finds no room is as good as lost on the way.
    fn repeat(&mut self) {
        let again = vec![Outgoing::new(self.server, self.start.clone()); 20];
        drop(self.udp.send(&again));
    }
}

/// As a host does that crashes: its socket is closed while a train is under way.
#[test]
fn a_server_that_goes_in_mid_run_is_named() {
    let config = ServeConfig {
        listen: "127.0.0.1:0".parse().unwrap(),
        key: key(),
        limits: Limits { packets: 1 << 20, ..limits() },
    };
    let mut server = Server::open(config).unwrap();
    let address = server.address().unwrap();
    let (key, stop) = (key(), AtomicBool::new(false));
    let line = Line { server: address, key: &key, clock: Clock::start(), stop: &stop };
    let interval = Duration::from_millis(1);
    let short = Trial { payload_bytes: 300, spaced: 3, interval, train: 3 };
    let endless = Trial { train: 100_000, ..short };
    let plan = Plan { trials: vec![short, endless], rest: Duration::ZERO };
    let wanted = Limits { packets: 1 << 20, ..limits() };
    let session = thread::scope(|scope| {
        scope.spawn(move || {
            let has_begun = std::cell::Cell::new(false);
            let events = |reported| has_begun.set(matches!(reported, ServerEvent::Agreed(..)));
            // Agreed: after one more turn the socket is closed with the value.
            server.run(|| has_begun.get(), events).unwrap();
        });
        line.session(Way::There, wanted, plan)
    });
    let reported = session.error.unwrap().to_string();
    assert!(reported.contains("stopped answering during the run"), "{reported}");
}
