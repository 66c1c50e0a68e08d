//! Over loopback, IPv4 and IPv6: real sockets, real time, no claim about how long it takes.

use super::session::Line;
use super::*;
use crate::clock::Clock;
use crate::udp::Udp;
use fairwave_probe::{Account, Plan, Trial};
use fairwave_units::{BitRate, Duration};
use fairwave_wire::probe::Limits;
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
fn beside<T>(listen: &str, job: impl FnOnce(SocketAddr) -> T) -> (T, Vec<News>, u64) {
    let config = ServeConfig { listen: listen.parse().unwrap(), key: key(), limits: limits() };
    let mut server = Server::open(config).unwrap();
    let (address, stop) = (server.address().unwrap(), AtomicBool::new(false));
    thread::scope(|scope| {
        let served = scope.spawn(|| {
            let mut news = Vec::new();
            server.run(|| stop.load(Ordering::Relaxed), |told| news.push(told)).unwrap();
            (news, server.rejected(), server.counts())
        });
        let done = job(address);
        stop.store(true, Ordering::Relaxed);
        let (news, rejected, counts) = served.join().unwrap();
        assert!(counts.sent_bytes <= counts.received_bytes, "{counts:?}");
        (done, news, rejected)
    })
}

fn session(server: SocketAddr, key: &Key, train: u32) -> (Vec<Account>, Option<Error>) {
    let stop = AtomicBool::new(false);
    let line = Line { server, key, clock: Clock::start(), stop: &stop };
    let interval = Duration::from_millis(1);
    let trial = Trial { payload_bytes: 300, spaced: 3, interval, train };
    let session = line.session(limits(), Plan { trials: vec![trial], rest: Duration::ZERO });
    (session.accounts, session.error)
}

#[test]
fn a_session_over_ipv4_and_ipv6_accounts_for_every_packet() {
    for listen in ["127.0.0.1:0", "[::1]:0"] {
        let ((accounts, error), news, rejected) =
            beside(listen, |server| session(server, &key(), 50));
        assert!(error.is_none(), "{listen}: {error:?}");
        let account = &accounts[0];
        let numbers: Vec<u32> = account.arrived.iter().map(|record| record.number).collect();
        assert_eq!((numbers, rejected), ((0..53).collect(), 0), "{listen}");
        assert!(account.sent.windows(2).all(|pair| pair[0] <= pair[1]));
        assert!(matches!(news[..], [News::Agreed(..), News::Ended(..)]), "{news:?}");
    }
}

#[test]
fn a_session_ends_where_the_grant_ends() {
    let ((accounts, error), ..) = beside("127.0.0.1:0", |server| session(server, &key(), 900));
    let told = error.unwrap().to_string();
    assert!(told.contains("--max-bytes"), "{told}");
    assert_eq!(accounts[0].sent.len(), 500, "what was measured is kept");
}

#[test]
fn another_key_gets_no_byte() {
    let stranger = key_of(b"another secret of them").unwrap();
    let (answered, news, rejected) = beside("127.0.0.1:0", |server| {
        let udp = Udp::connect(server).unwrap();
        let mut driver = crate::Driver::new(udp, Clock::start());
        let config = fairwave_probe::PingerConfig {
            key: stranger,
            receiver: server,
            first: 1,
            nonce: 2,
            interval: Duration::from_millis(1),
        };
        let mut pinger = Pinger::new(config);
        let mut events = Vec::new();
        driver.tell(&mut pinger, PingerInput::Start, &mut events);
        while pinger.pings().len() < 20 {
            let until = driver.now() + Duration::from_millis(5);
            driver.turn(&mut pinger, until, &mut events).unwrap();
        }
        // One with the right key behind them: by its answer the server has seen them all.
        let (_, error) = session(server, &key(), 1);
        assert!(error.is_none(), "{error:?}");
        events.len()
    });
    assert_eq!((answered, news.len(), rejected), (0, 2, 20));
}

#[test]
fn nobody_there_is_an_error_that_says_what_to_do() {
    let udp = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = udp.address().unwrap();
    drop(udp);
    let (accounts, error) = session(address, &key(), 1);
    let told = error.unwrap().to_string();
    assert!(told.contains("fairwave probe serve") && told.contains("refused"), "{told}");
    assert!(accounts.is_empty());
}

#[test]
fn pairing_codes_make_keys_and_differ() {
    let [one, other] = [pairing_code().unwrap(), pairing_code().unwrap()];
    assert_ne!(one, other);
    assert!(key_of(one.as_bytes()).is_ok() && key_of(b"  short secret  ").is_err());
}
